"""The threads that are being read: kept descriptors and their last readings.

The reading loop runs ten times a second over every thread, with caches that went to other programs
in between. Where livemon was built with a C compiler, ``CompiledTable`` reads all threads in one call
(``_threadreads.c``); else ``PythonTable`` does the same, and ``StatTable`` on kernels that keep no
``schedstat``. ``open_table`` is the one place that chooses. Removing a thread moves the last one into
its place.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from array import array
from itertools import compress, repeat
from operator import ne
from typing import TYPE_CHECKING, Any

from livemon.collect.procfs import GONE, read_file
from livemon.model.facts import Capability
from livemon.parse.procfs import Stat, are_schedstats, is_schedstat, last_cpu_of, parse_stat

if TYPE_CHECKING:
    from livemon.collect._threadreads import Readings

    Columns = tuple[array[int], array[int], array[int], array[int], array[int]]
    """``Thread.index``, CPU ns, run-queue delay ns, time slices, last CPU (``array('q')``)."""

SCHEDSTAT_BYTES = 80
STAT_BYTES = 1024
"""As much of these files is read; they are shorter."""
NO_DESCRIPTOR = -1
READER_VARIABLE = "LIVEMON_THREAD_READER"
"""An environment variable: with ``python`` in it, the compiled reader is left alone."""
_READER = "thread reader"
_PYTHON_COST = "pure Python, 1.4× the CPU time of the compiled one"
"""Of sampling 256 threads; see "livemon, sampling" in tests/benchmarks/recorder_overhead.py."""
_COMPILER_REMEDY = (
    "apt-get install gcc python3-dev  (as root, or what your system calls them),"
    " then in livemon's checkout: pip install --force-reinstall --no-deps ."
)

Reading = tuple[int, int, int]
"""CPU ns, run-queue delay ns, time slices; -1: unknown."""


class Thread:
    """One thread: its identity, its place in the table, and the facts that seldom change."""

    __slots__ = (
        "affinity",
        "fields_after_cpu",
        "index",
        "name",
        "nice",
        "pid",
        "policy",
        "position",
        "schedstat_fd",
        "seen",
        "start_ticks",
        "stat_fd",
        "task_fd",
        "tid",
    )

    def __init__(self, index: int, pid: int, tid: int, task_fd: int, start_ticks: int) -> None:
        self.index = index
        self.pid = pid
        self.tid = tid
        self.task_fd = task_fd
        self.start_ticks = start_ticks
        self.name = ""
        self.policy: str | None = None
        self.nice: int | None = None
        self.affinity: str | None = None
        self.fields_after_cpu = 13
        self.seen: tuple[bytes, ...] = ()
        """Of its ``stat``, what name, policy and nice were last read from."""
        self.schedstat_fd = NO_DESCRIPTOR
        self.stat_fd = NO_DESCRIPTOR
        self.position = -1

    def read_stat(self) -> bytes:
        """Its ``stat``, through the kept descriptor if there is one.

        Raises:
            OSError: it has ended or can't be read.
        """
        if self.stat_fd >= 0:
            return os.pread(self.stat_fd, STAT_BYTES, 0)
        return read_file(f"{self.tid}/stat", dir_fd=self.task_fd)

    def close(self) -> None:
        """Close what is kept open."""
        for descriptor in (self.schedstat_fd, self.stat_fd):
            if descriptor >= 0:
                os.close(descriptor)
        self.schedstat_fd = self.stat_fd = NO_DESCRIPTOR


def in_turn(first: int, count: int, total: int) -> list[int]:
    """So many positions from ``first`` on, each once at most; behind the last comes 0."""
    return [(first + i) % total for i in range(min(count, total))]


class ThreadTable(ABC):
    """Threads with kept descriptors, and the last reading of each."""

    def __init__(self) -> None:
        self.threads: list[Thread] = []
        self.moves = 0
        """How often threads were added or removed: while it stays the same, so do all positions."""
        self._changed: list[int] = []
        self._ran: list[Thread] | None = None

    def __len__(self) -> int:
        return len(self.threads)

    def descriptor_of(self, thread: Thread) -> int:
        """The descriptor that is read each tick."""
        return thread.schedstat_fd

    def add(self, thread: Thread, stat: Stat, reading: Reading) -> None:
        """Take a thread in with its first ``stat`` and ``schedstat``; the descriptors to read are open."""
        self._keep_ran()
        thread.position = len(self.threads)
        self.threads.append(thread)
        self._add(thread, stat, reading)

    def remove(self, thread: Thread) -> None:
        """Drop a thread; the last one takes its position."""
        self._keep_ran()
        position, last = thread.position, self.threads.pop()
        if last is not thread:
            self.threads[position] = last
            last.position = position
        thread.position = -1
        self._remove(position)

    def read(self) -> tuple[list[int], list[tuple[Thread, int]]]:
        """Read every thread once.

        A thread can't change its CPU without a switch-in, so the last CPU is read only of those whose
        slice count moved.

        Returns:
            The positions whose reading changed, and the threads that can't be read any more with the
            error number (``EBADMSG``: what comes makes no sense), both in order. The last reading of
            the latter stays as it was; the caller removes them.
        """
        self._changed, unreadable = self._read()
        self._ran = None
        return self._changed, [(self.threads[i], error) for i, error in unreadable]

    @property
    def ran(self) -> list[Thread]:
        """The threads whose reading changed in the last ``read``, whatever was added or removed since."""
        return [self.threads[i] for i in self._changed] if self._ran is None else self._ran

    def _keep_ran(self) -> None:
        """Positions are about to move. In most ticks none does, and no ``Thread`` has to be touched."""
        self._ran = self.ran
        self.moves += 1

    @abstractmethod
    def columns(self, positions: list[int] | None) -> Columns:
        """The last readings at these positions, in their order; ``None``: of all threads."""

    @abstractmethod
    def reading(self, position: int) -> Reading:
        """The last reading at a position."""

    @abstractmethod
    def last_cpu(self, position: int) -> int:
        """The CPU that the thread at a position ran on last; -1: unknown."""

    def look(self, first: int, count: int) -> list[int]:
        """Of ``count`` positions from ``first`` on, those whose name, nice, policy or affinity may have changed.

        Affinity is asked of the machine that livemon runs on.
        """
        return in_turn(first, count, len(self.threads))

    @abstractmethod
    def _add(self, thread: Thread, stat: Stat, reading: Reading) -> None: ...

    @abstractmethod
    def _remove(self, position: int) -> None: ...

    @abstractmethod
    def _read(self) -> tuple[list[int], list[tuple[int, int]]]: ...


class CompiledTable(ThreadTable):
    """Its readings lie in C arrays; all are taken in one call, without the interpreter lock."""

    def __init__(self, readings: Readings) -> None:
        super().__init__()
        self._readings = readings

    def columns(self, positions: list[int] | None) -> Columns:
        """See ``ThreadTable.columns``."""
        index, cpu_ns, run_delay_ns, slices, last_cpus = self._readings.columns(positions)
        return (
            array("q", index),
            array("q", cpu_ns),
            array("q", run_delay_ns),
            array("q", slices),
            array("q", last_cpus),
        )

    def reading(self, position: int) -> Reading:
        """See ``ThreadTable.reading``."""
        return self._readings.reading(position)

    def last_cpu(self, position: int) -> int:
        """See ``ThreadTable.last_cpu``."""
        return self._readings.last_cpu(position)

    def look(self, first: int, count: int) -> list[int]:
        """See ``ThreadTable.look``; only those are listed that have changed, or are looked at for the first time."""
        return self._readings.look(first, count)

    def _add(self, thread: Thread, stat: Stat, reading: Reading) -> None:
        files = thread.schedstat_fd, thread.stat_fd
        self._readings.add(thread.tid, *files, thread.fields_after_cpu, thread.index, reading, stat.last_cpu)

    def _remove(self, position: int) -> None:
        self._readings.remove(position)

    def _read(self) -> tuple[list[int], list[tuple[int, int]]]:
        return self._readings.read()


class PythonTable(ThreadTable):
    """The same without a compiler: parallel lists, read through ``map`` without a Python frame per thread.

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


def open_table(*, has_schedstat: bool, tick_ns: int) -> ThreadTable:
    """The fastest table for what this kernel keeps and how livemon was built.

    Args:
        has_schedstat: Whether the kernel keeps run times per thread.
        tick_ns: Length of the kernel's clock tick, for kernels that don't.
    """
    if not has_schedstat:
        return StatTable(tick_ns)
    readings = _compiled()
    return PythonTable() if isinstance(readings, Capability) else CompiledTable(readings)


def reader_capability(*, has_schedstat: bool) -> Capability:
    """Which table ``open_table`` takes, why, and how the fastest is to be had."""
    if not has_schedstat:
        return Capability(_READER, True, "pure Python, from stat: this kernel keeps no schedstat")
    readings = _compiled()
    return readings if isinstance(readings, Capability) else Capability(_READER, True, "compiled")


def _compiled() -> Readings | Capability:
    """Empty arrays of the compiled reader, or why it is the one in Python."""
    if os.environ.get(READER_VARIABLE) == "python":
        reason = f"{_PYTHON_COST}, as {READER_VARIABLE}=python asks for it"
        return Capability(_READER, True, reason, f"unset {READER_VARIABLE}")
    try:
        from livemon.collect._threadreads import Readings
    except ModuleNotFoundError:
        reason = f"{_PYTHON_COST}: no C compiler, or no headers of Python, when livemon was installed"
        return Capability(_READER, True, reason, _COMPILER_REMEDY)
    except ImportError as error:
        reason = f"{_PYTHON_COST}: the compiled one does not load ({error})"
        return Capability(_READER, True, reason, _COMPILER_REMEDY)
    return Readings()
