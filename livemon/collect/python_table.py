"""Reading threads without the compiled reader: what that one does, and what kernels without ``schedstat`` need."""

from __future__ import annotations

import errno
import os
from array import array
from itertools import compress, repeat
from operator import ne
from typing import TYPE_CHECKING, Any

from livemon.collect.procfs import GONE
from livemon.collect.procfs_table import SCHEDSTAT_BYTES, STAT_BYTES, Reading, Thread, ThreadTable
from livemon.parse.procfs import Stat, are_schedstats, is_schedstat, last_cpu_of, parse_stat

if TYPE_CHECKING:
    from livemon.collect.procfs_table import Columns


class PythonTable(ThreadTable):
    """Parallel lists, read through ``map`` without a Python frame per thread.

    Readings are kept and compared as bytes: only one that changed is ever turned into numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self._indices: list[int] = []
        self._fds: list[int] = []
        self._readings: list[bytes] = []
        """Last ``schedstat``, as it was read."""
        self._slices: list[bytes] = []
        self._last_cpus: list[int] = []

    def _columns(self) -> tuple[list[Any], ...]:
        return self._indices, self._fds, self._readings, self._slices, self._last_cpus

    def _add(self, thread: Thread, stat: Stat, reading: Reading) -> None:
        text = b"%d %d %d\n" % reading
        first = thread.index, self.descriptor_of(thread), text, text.rsplit(None, 1)[1], stat.last_cpu
        for column, value in zip(self._columns(), first, strict=True):
            column.append(value)

    def _remove(self, position: int) -> None:
        for column in self._columns():
            column[position] = column[-1]
            column.pop()

    def _read(self) -> tuple[list[int], list[tuple[int, int]]]:
        fds, old = self._fds, self._readings
        new: list[bytes] = []
        unreadable: dict[int, int] = {}
        pread = os.pread
        while len(new) < len(fds):
            rest = fds[len(new) :] if new else fds
            try:
                new.extend(map(pread, rest, repeat(SCHEDSTAT_BYTES), repeat(0)))
            except OSError as error:
                # What was read before the failing one has been taken in; go on behind it.
                unreadable[len(new)] = error.errno or errno.EIO
                new.append(old[len(new)])
        changed = list(compress(range(len(new)), map(ne, new, old)))
        if not are_schedstats([new[i] for i in changed]):
            for i in changed:
                if not is_schedstat(new[i]):
                    unreadable[i], new[i] = errno.EBADMSG, old[i]
            changed = [i for i in changed if i not in unreadable]
        self._readings = new
        self._refresh_cpus(changed)
        return changed, sorted(unreadable.items())

    def _refresh_cpus(self, positions: list[int]) -> None:
        """Read the last CPU of those that were switched in since it was read last."""
        readings, slices, threads = self._readings, self._slices, self.threads
        pread = os.pread
        for i in positions:
            count = readings[i].rsplit(None, 1)[1]
            if count == slices[i]:
                continue
            slices[i] = count
            thread = threads[i]
            try:
                self._last_cpus[i] = last_cpu_of(pread(thread.stat_fd, STAT_BYTES, 0), thread.fields_after_cpu)
            except OSError as error:
                if error.errno not in GONE:  # else it ended in between: the next read finds that
                    self._last_cpus[i] = -1

    def columns(self, positions: list[int] | None) -> Columns:
        """See ``ThreadTable.columns``."""
        at = range(len(self._fds)) if positions is None else positions
        numbers = array("q", map(int, b" ".join(map(self._readings.__getitem__, at)).split()))
        index = array("q", map(self._indices.__getitem__, at))
        return index, numbers[0::3], numbers[1::3], numbers[2::3], array("q", map(self._last_cpus.__getitem__, at))

    def reading(self, position: int) -> Reading:
        """See ``ThreadTable.reading``."""
        cpu_ns, run_delay_ns, slices = map(int, self._readings[position].split())
        return cpu_ns, run_delay_ns, slices

    def last_cpu(self, position: int) -> int:
        """See ``ThreadTable.last_cpu``."""
        return self._last_cpus[position]


class StatTable(PythonTable):
    """The same from ``stat`` alone, for kernels that keep no ``schedstat``.

    CPU time comes in clock ticks (10 ms as a rule); run-queue delay and slices are unknown. Readings
    are put into the shape of a ``schedstat`` with -1 for what is not known.
    """

    def __init__(self, tick_ns: int) -> None:
        super().__init__()
        self._tick_ns = tick_ns

    def descriptor_of(self, thread: Thread) -> int:
        """The descriptor that is read each tick."""
        return thread.stat_fd

    def _add(self, thread: Thread, stat: Stat, reading: Reading) -> None:
        super()._add(thread, stat, (stat.cpu_ticks * self._tick_ns, -1, -1))

    def _read(self) -> tuple[list[int], list[tuple[int, int]]]:
        changed: list[int] = []
        unreadable: list[tuple[int, int]] = []
        for i, thread in enumerate(self.threads):
            try:
                stat = parse_stat(thread.read_stat())
            except OSError as error:
                unreadable.append((i, error.errno or errno.EIO))
                continue
            except ValueError:
                unreadable.append((i, errno.EBADMSG))
                continue
            reading, cpu = b"%d -1 -1\n" % (stat.cpu_ticks * self._tick_ns), stat.last_cpu
            if reading != self._readings[i] or cpu != self._last_cpus[i]:
                self._readings[i], self._last_cpus[i] = reading, cpu
                changed.append(i)
        return changed, unreadable
