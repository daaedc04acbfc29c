"""Processes that are stopped: by a signal (``kill -STOP``, Ctrl-Z) or by a debugger."""

from __future__ import annotations

from typing import Literal

from livemon.collect.process_tree import Process, ProcessTree
from livemon.model.samples import TargetEvent

STATES = {"T": "stopped by a signal", "t": "stopped by a debugger"}
"""Of ``/proc/PID/stat``, in words."""
CONFIRMED_NS = 300_000_000
"""A shorter stop (a debugger that looks at the stack) is not told."""


class StoppedProcesses:
    """Tells when a process is stopped and when it goes on.

    The state comes with the look at every process about once a second; only one that was found stopped is
    looked at in every tick, until it goes on.
    """

    def __init__(self, tree: ProcessTree) -> None:
        self._tree = tree
        self.since: dict[Process, int] = {}
        """When each that is stopped was first found so; while empty there is nothing to follow."""
        self._told: set[Process] = set()

    def meet(self, process: Process, state: str, now_ns: int) -> None:
        """A look at a process found it in that state."""
        if state in STATES and not process.is_self:
            self.since.setdefault(process, now_ns)

    def follow(self, now_ns: int) -> list[TargetEvent]:
        """Look at those that were found stopped; what is to be told."""
        out: list[TargetEvent] = []
        for process, since_ns in list(self.since.items()):
            stat = self._tree.stat(process)
            state = "" if stat is None else stat.state
            if state not in STATES:
                del self.since[process]
                if process in self._told and stat is not None:
                    out.append(_event(process, "continued", now_ns, ""))
                self._told.discard(process)
            elif process not in self._told and now_ns - since_ns >= CONFIRMED_NS:
                self._told.add(process)
                out.append(_event(process, "stopped", now_ns, STATES[state]))
        return out


def _event(process: Process, what: Literal["stopped", "continued"], now_ns: int, detail: str) -> TargetEvent:
    return TargetEvent(now_ns, process.pid, process.name, what, detail=detail)
