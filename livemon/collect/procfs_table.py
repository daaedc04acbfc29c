"""The threads that are being read: kept descriptors and their last readings, in parallel lists.

The reading loop runs ten times a second over every thread, so what it touches lies in flat lists
(position = thread), is read through ``map`` without a Python frame per thread, and is compared as
bytes: only a ``schedstat`` that changed is ever turned into numbers. Removing a thread moves the
last one into its place.
"""

from __future__ import annotations

import os
from array import array
from itertools import compress, repeat
from operator import ne
from typing import Any

from livemon.collect.procfs import GONE, read_file
from livemon.parse.procfs import Stat, parse_stat

_SCHEDSTAT_BYTES = 80
NO_DESCRIPTOR = -1


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
            return os.pread(self.stat_fd, 1024, 0)
        return read_file(f"{self.tid}/stat", dir_fd=self.task_fd)

    def close(self) -> None:
        """Close what is kept open."""
        for descriptor in (self.schedstat_fd, self.stat_fd):
            if descriptor >= 0:
                os.close(descriptor)
        self.schedstat_fd = self.stat_fd = NO_DESCRIPTOR


class ThreadTable:
    """Threads with a kept ``schedstat``, and the last reading of each."""

    def __init__(self) -> None:
        self.threads: list[Thread] = []
        self.indices: list[int] = []
        """``Thread.index`` of each."""
        self.moves = 0
        """How often threads were added or removed: while it stays the same, so do all positions."""
        self.fds: list[int] = []
        self.readings: list[bytes] = []
        """Last ``schedstat``, as it was read."""
        self.slices: list[bytes] = []
        self.last_cpus: list[int] = []

    def __len__(self) -> int:
        return len(self.threads)

    def add(self, thread: Thread, stat: Stat, reading: bytes) -> None:
        """Take a thread in with its first ``stat`` and ``schedstat``; the descriptor to read is open."""
        thread.position = len(self.threads)
        self.moves += 1
        self.threads.append(thread)
        self.indices.append(thread.index)
        self.fds.append(self.descriptor_of(thread))
        self.readings.append(reading)
        self.slices.append(reading.rsplit(None, 1)[1])
        self.last_cpus.append(stat.last_cpu)

    def descriptor_of(self, thread: Thread) -> int:
        """The descriptor that is read each tick."""
        return thread.schedstat_fd

    def remove(self, thread: Thread) -> None:
        """Drop a thread; the last one takes its position."""
        position, last = thread.position, len(self.threads) - 1
        self.moves += 1
        for column in self._columns():
            column[position] = column[last]
            column.pop()
        if position != last:
            self.threads[position].position = position
        thread.position = -1

    def _columns(self) -> tuple[list[Any], ...]:
        return self.threads, self.indices, self.fds, self.readings, self.slices, self.last_cpus

    def read(self) -> tuple[list[int], list[Thread]]:
        """Read every ``schedstat`` once.

        Returns:
            The positions whose reading changed, and the threads that can't be read any more.
            Of those the last reading stays as it was; the caller removes them.
        """
        fds, old = self.fds, self.readings
        new: list[bytes] = []
        dead: list[Thread] = []
        pread = os.pread
        while len(new) < len(fds):
            rest = fds[len(new) :] if new else fds
            try:
                new.extend(map(pread, rest, repeat(_SCHEDSTAT_BYTES), repeat(0)))
            except OSError:
                # What was read before the failing one has been taken in; go on behind it.
                dead.append(self.threads[len(new)])
                new.append(old[len(new)])
        changed = list(compress(range(len(new)), map(ne, new, old)))
        self.readings = new
        return changed, dead

    def columns(self, positions: list[int]) -> tuple[array[int], array[int], array[int]]:
        """CPU ns, run-queue delay ns and time slices of the last readings at these positions."""
        numbers = array("q", map(int, b" ".join(map(self.readings.__getitem__, positions)).split()))
        return numbers[0::3], numbers[1::3], numbers[2::3]

    def refresh_cpus(self, positions: list[int]) -> None:
        """Read the last CPU of those that were switched in since it was read last.

        A thread can't change its CPU without a switch-in, so an unchanged slice count says that the
        number still holds.
        """
        readings, slices, threads, last_cpus = self.readings, self.slices, self.threads, self.last_cpus
        pread = os.pread
        for i in positions:
            count = readings[i].rsplit(None, 1)[1]
            if count == slices[i]:
                continue
            slices[i] = count
            thread = threads[i]
            try:
                data = pread(thread.stat_fd, 1024, 0) if thread.stat_fd >= 0 else thread.read_stat()
                last_cpus[i] = int(data.rsplit(None, thread.fields_after_cpu + 1)[1])
            except (OSError, ValueError, IndexError) as error:
                if isinstance(error, OSError) and error.errno in GONE:
                    continue  # it ended in between: the next read finds that
                last_cpus[i] = -1


class StatTable(ThreadTable):
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

    def add(self, thread: Thread, stat: Stat, reading: bytes) -> None:
        """Take a thread in with its first ``stat``; there is no other reading."""
        super().add(thread, stat, b"%d -1 -1\n" % (stat.cpu_ticks * self._tick_ns))

    def read(self) -> tuple[list[int], list[Thread]]:
        """Read every ``stat`` once; see ``ThreadTable.read``."""
        changed: list[int] = []
        dead: list[Thread] = []
        for i, thread in enumerate(self.threads):
            try:
                stat = parse_stat(thread.read_stat())
            except (OSError, ValueError):
                dead.append(thread)
                continue
            reading, cpu = b"%d -1 -1\n" % (stat.cpu_ticks * self._tick_ns), stat.last_cpu
            if reading != self.readings[i] or cpu != self.last_cpus[i]:
                self.readings[i], self.last_cpus[i] = reading, cpu
                changed.append(i)
        return changed, dead

    def refresh_cpus(self, positions: list[int]) -> None:
        """Nothing to do: ``read`` has seen them."""
