"""The processes of the target through psutil: what is alive, what they fork. For systems without /proc."""

from __future__ import annotations

import os
from collections.abc import Sequence

import psutil

from livemon.model.errors import TargetError
from livemon.model.samples import Sample, TargetEvent

_SECOND_NS = 1_000_000_000


class PortableProcesses:
    """Live processes by pid; psutil compares start times, so a pid that is used again is another process."""

    def __init__(self, pids: Sequence[int], *, follow_children: bool, include_self: bool) -> None:
        self._processes: dict[int, psutil.Process] = {}
        self._names: dict[int, str] = {}
        self._pending: list[tuple[int, str]] = []
        self._follow_children = follow_children
        self._next_ns = 0
        for pid in pids:
            self.add(pid)
        if include_self and os.getpid() not in self._processes:
            self._take_in(psutil.Process())

    @property
    def is_anything_alive(self) -> bool:
        """Whether any process but livemon itself is left."""
        return any(pid != os.getpid() for pid in self._processes)

    @property
    def pids(self) -> tuple[int, ...]:
        """Those alive at the last ``poll``."""
        return tuple(self._processes)

    def facts(self) -> dict[int, tuple[str, bool]]:
        """By pid: name, and whether it is livemon itself."""
        return {pid: (self._names[pid], pid == os.getpid()) for pid in self._processes}

    def process(self, pid: int) -> psutil.Process:
        """The process of a pid that is in ``pids``."""
        return self._processes[pid]

    def add(self, pid: int) -> None:
        """Take a process in.

        Raises:
            TargetError: there is no such process.
        """
        try:
            self._take_in(psutil.Process(pid))
        except psutil.NoSuchProcess as error:
            raise TargetError(f"there is no process {pid}", "see 'ps -ax' for those that run") from error
        self._pending.append((pid, "found"))

    def poll(self, now_ns: int) -> list[Sample]:
        """Who ended; once a second also who was forked."""
        out: list[Sample] = []
        for pid, process in list(self._processes.items()):
            if not _is_alive(process):
                out.append(TargetEvent(now_ns, pid, self._names.pop(pid), "exited"))
                del self._processes[pid]
        if self._follow_children and now_ns >= self._next_ns:
            self._next_ns = now_ns + _SECOND_NS
            for process in [p for pid, p in self._processes.items() if pid != os.getpid()]:
                self._find_children(process)
        for pid, event in self._pending:
            if pid in self._names:
                out.append(TargetEvent(now_ns, pid, self._names[pid], "found" if event == "found" else "forked"))
        self._pending.clear()
        return out

    def _find_children(self, process: psutil.Process) -> None:
        try:
            children = process.children(recursive=True)
        except psutil.Error:
            return
        for child in children:
            if child.pid not in self._processes:
                try:
                    self._take_in(child)
                except psutil.NoSuchProcess:
                    continue
                self._pending.append((child.pid, "forked"))

    def _take_in(self, process: psutil.Process) -> None:
        try:
            name = process.name()
        except psutil.AccessDenied:
            name = str(process.pid)
        self._processes[process.pid] = process
        self._names[process.pid] = name


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
