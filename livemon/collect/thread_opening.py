"""Opening a thread's files within the descriptor limit, and what to read where ``schedstat`` is missing."""

from __future__ import annotations

import os

from livemon.collect.process_tree import Process
from livemon.collect.procfs import GONE, NO_DESCRIPTORS, read_file
from livemon.collect.procfs_table import NO_DESCRIPTOR, SCHEDSTAT_BYTES, Reading, Thread
from livemon.model.facts import Capability
from livemon.parse.procfs import Stat, parse_schedstat, parse_stat

SCHEDSTAT_REMEDY = (
    "boot a kernel with CONFIG_SCHED_INFO=y (CONFIG_SCHEDSTATS, or CONFIG_TASK_DELAY_ACCT and 'delayacct')"
)
_FLAGS = os.O_RDONLY | os.O_CLOEXEC


class Descriptors:
    """How many more files may be kept open; threads and their counters draw on the same limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit


class ThreadOpener:
    """Opens threads within the descriptor limit.

    Args:
        descriptors: What may still be kept open.
    """

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self.has_schedstat = True
        """Whether this kernel keeps ``schedstat`` (see the function ``has_schedstat``)."""

    def open(self, process: Process, tid: int, index: int) -> tuple[Thread, Stat, Reading]:
        """A thread with its files kept open, its ``stat``, and its ``schedstat`` (of zeros where there is none).

        Without descriptors left, ``schedstat_fd`` and ``stat_fd`` stay closed, both: such a thread is
        read by opening its files each time.

        Raises:
            OSError: the thread has ended or can't be read.
            ValueError: its ``stat`` or ``schedstat`` makes no sense.
        """
        thread = Thread(index, process.pid, tid, process.task_fd, -1)
        try:
            if self.has_schedstat:
                thread.schedstat_fd = self._keep(f"{tid}/schedstat", process.task_fd)
            if thread.schedstat_fd >= 0 or not self.has_schedstat:
                thread.stat_fd = self._keep(f"{tid}/stat", process.task_fd)
            if thread.stat_fd < 0:
                self.close(thread)
            stat = parse_stat(thread.read_stat())
            reading = parse_schedstat(self.read_schedstat(thread)) if self.has_schedstat else (0, 0, 0)
        except (OSError, ValueError):
            self.close(thread)
            raise
        thread.start_ticks = stat.start_ticks
        thread.fields_after_cpu = stat.fields_after_cpu
        thread.name, thread.policy, thread.nice = stat.name, stat.policy, stat.nice
        return thread, stat, reading

    def read_schedstat(self, thread: Thread) -> bytes:
        """A thread's ``schedstat``, kept open or not.

        Raises:
            OSError: it has ended or can't be read.
        """
        if thread.schedstat_fd >= 0:
            return os.pread(thread.schedstat_fd, SCHEDSTAT_BYTES, 0)
        return read_file(f"{thread.tid}/schedstat", dir_fd=thread.task_fd)

    def close(self, thread: Thread) -> None:
        """Close a thread's files and take the descriptors back."""
        self._descriptors.left += (thread.schedstat_fd >= 0) + (thread.stat_fd >= 0)
        thread.close()

    def _keep(self, path: str, task_fd: int) -> int:
        if self._descriptors.left <= 0:
            return NO_DESCRIPTOR
        try:
            descriptor = os.open(path, _FLAGS, dir_fd=task_fd)
        except OSError as error:
            if error.errno in NO_DESCRIPTORS:
                self._descriptors.left = 0
                return NO_DESCRIPTOR
            raise
        self._descriptors.left -= 1
        return descriptor


def has_schedstat(process: Process) -> bool:
    """Whether the kernel keeps run times per thread: the file is there, is one, and not all zero.

    A kernel without scheduling statistics has no such file, or one that says ``0 0 0`` for threads
    that have run.
    """
    try:
        reading = read_file(f"{process.pid}/schedstat", dir_fd=process.task_fd)
    except OSError as error:
        if error.errno in GONE:
            return not _has_ended(process)
        return False
    try:
        if any(parse_schedstat(reading)):
            return True
    except ValueError:
        return False
    try:
        return parse_stat(read_file(f"{process.pid}/stat", dir_fd=process.task_fd)).cpu_ticks == 0
    except (OSError, ValueError):
        return True


def _has_ended(process: Process) -> bool:
    """Without the file but with the thread, it is the kernel that keeps none."""
    try:
        read_file(f"{process.pid}/stat", dir_fd=process.task_fd)
    except OSError:
        return False
    return True


def clock_tick_ns() -> int:
    """Length of the kernel's clock tick as ``/proc`` counts it."""
    return 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def schedstat_capabilities(has: bool) -> tuple[Capability, Capability]:
    """What a kernel with or without ``schedstat`` lets be read."""
    if has:
        return (
            Capability("thread CPU time", True, "in ns, from schedstat"),
            Capability("run-queue delay", True, "in ns, from schedstat"),
        )
    return (
        Capability("thread CPU time", True, "in steps of 10 ms: this kernel keeps no schedstat", SCHEDSTAT_REMEDY),
        Capability("run-queue delay", False, "this kernel keeps no schedstat", SCHEDSTAT_REMEDY),
    )
