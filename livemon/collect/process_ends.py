"""Hearing at once that processes have ended, zombies that nobody has reaped yet included (Linux 5.3 and later)."""

from __future__ import annotations

import os
import select


class ProcessEnds:
    """Waits for the end of processes through one descriptor each.

    Where the system gives none, nothing is ever told: the caller finds ends by looking, only later.

    Args:
        is_real: Pids are those of this machine, not of a tree of files that looks like one.
    """

    def __init__(self, *, is_real: bool) -> None:
        self._is_on = is_real and hasattr(os, "pidfd_open")
        self._fds: dict[int, int] = {}
        self._pids: dict[int, int] = {}
        """By descriptor."""
        self._poller = select.poll() if hasattr(select, "poll") else None

    def watch(self, pid: int) -> int:
        """Wait for the end of this process too; returns how many descriptors that takes."""
        if not self._is_on or self._poller is None or pid in self._fds:
            return 0
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return 0  # no such call here, gone already, or no descriptor left
        self._fds[pid] = fd
        self._pids[fd] = pid
        self._poller.register(fd, select.POLLIN)
        return 1

    def poll(self) -> list[int]:
        """Pids that ended and were not forgotten yet."""
        if not self._fds or self._poller is None:
            return []
        ready = self._poller.poll(0)
        return [self._pids[fd] for fd, _ in ready] if ready else []

    def forget(self, pid: int) -> int:
        """Let go of a process; returns how many descriptors became free."""
        fd = self._fds.pop(pid, None)
        if fd is None or self._poller is None:
            return 0
        self._poller.unregister(fd)
        del self._pids[fd]
        os.close(fd)
        return 1

    def close(self) -> None:
        """Let go of all."""
        for pid in list(self._fds):
            self.forget(pid)
