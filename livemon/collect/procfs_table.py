"""The threads that are being read: kept descriptors and their last readings.

The reading loop runs ten times a second over every thread, with caches that went to other programs
in between. Where livemon was built with a C compiler, ``CompiledTable`` reads all threads in one call
(``_threadreads.c``); else ``PythonTable`` does the same, and ``StatTable`` on kernels that keep no
``schedstat`` (both in ``python_table``). ``open_table`` is the one place that chooses. Removing a thread
moves the last one into its place.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from typing import TYPE_CHECKING

from livemon.collect.procfs import read_file
from livemon.model.facts import Capability
from livemon.parse.procfs import Stat

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
_INTERFACE = 1
"""Of ``_threadreads``: an older build may still lie in a checkout."""
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

    def links(self, descriptor: int) -> int:
        """How many links an open folder counts; of a ``task`` folder: its threads and two more.

        Raises:
            OSError: it can't be told.
        """
        return os.fstat(descriptor).st_nlink

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

    def links(self, descriptor: int) -> int:
        """See ``ThreadTable.links``: without a result object of twenty fields that cost more than the call."""
        return self._readings.links(descriptor)

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


def open_table(*, has_schedstat: bool, tick_ns: int) -> ThreadTable:
    """The fastest table for what this kernel keeps and how livemon was built.

    Args:
        has_schedstat: Whether the kernel keeps run times per thread.
        tick_ns: Length of the kernel's clock tick, for kernels that don't.
    """
    from livemon.collect.python_table import PythonTable, StatTable  # which import this module

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
        from livemon.collect._threadreads import INTERFACE, Readings
    except ModuleNotFoundError:
        reason = f"{_PYTHON_COST}: no C compiler, or no headers of Python, when livemon was installed"
        return Capability(_READER, True, reason, _COMPILER_REMEDY)
    except ImportError as error:
        reason = f"{_PYTHON_COST}: the compiled one does not load ({error})"
        return Capability(_READER, True, reason, _COMPILER_REMEDY)
    if INTERFACE != _INTERFACE:
        reason = f"{_PYTHON_COST}: the compiled one here is of another version of livemon"
        return Capability(_READER, True, reason, "in livemon's checkout: pip install -e .")
    return Readings()
