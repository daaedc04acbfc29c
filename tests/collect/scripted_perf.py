"""A script of the kernel's perf events: threads run on PMUs as the test says, and calls fail as it says."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

from livemon.collect.perf_layer import Reading

INSTRUCTIONS = (0xC0, 0x08, 1)
"""Encodings of the event: Intel's and AMD's, Arm's, the generic one."""


@dataclass
class Event:
    kind: int
    config: int
    tid: int
    leader: int
    flags: int
    cpu: int = -1
    is_open: bool = True


@dataclass
class ScriptedPerf:
    """What each open, read and close does.

    Args:
        refuse: By (kind, config): the errno of opening it; kind -1 is any.
        refuse_tids: By thread: the errno.
        refuse_cpus: By CPU that an event is bound to: the errno.
        kernel_refused: EACCES unless the kernel is left out.
        most_open: EMFILE beyond so many.
    """

    refuse: dict[tuple[int, int], int] = field(default_factory=dict)
    refuse_tids: dict[int, int] = field(default_factory=dict)
    refuse_cpus: dict[int, int] = field(default_factory=dict)
    kernel_refused: bool = False
    most_open: int = 1 << 20
    events: dict[int, Event] = field(default_factory=dict)
    vanished: set[int] = field(default_factory=set)
    """Kinds whose events have stopped counting."""
    _ran: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    _next: int = 1000

    def open(self, kind: int, config: int, tid: int, leader: int, flags: int, cpu: int = -1) -> int:
        code = self.refuse.get(
            (kind, config), self.refuse.get((-1, config), self.refuse_tids.get(tid, self.refuse_cpus.get(cpu)))
        )
        if code is None and self.kernel_refused and not flags:
            code = errno.EACCES
        if code is None and self.open_count >= self.most_open:
            code = errno.EMFILE
        if code is not None:
            raise OSError(code, os.strerror(code))
        self._next += 1
        self.events[self._next] = Event(kind, config, tid, leader, flags, cpu)
        event = self.events[self._next]
        # A group counts from its opening.
        self._ran[self._next, 0] = list(self._totals(event))
        return self._next

    def read(self, descriptor: int) -> Reading | None:
        event = self.events[descriptor]
        assert event.is_open, "read after close"
        assert event.leader == -1, "only a leader is read"
        if event.kind in self.vanished:
            return None
        first = self._ran[descriptor, 0]
        now = self._totals(event)
        enabled, running, cycles, instructions = (b - a for a, b in zip(first, now, strict=True))
        members = [e for e in self.events.values() if e.is_open and e.leader == descriptor]
        values = [instructions if e.config & 0xFF in INSTRUCTIONS else cycles for e in (event, *members)]
        return Reading(enabled, running, tuple(values))

    def close(self, descriptor: int) -> None:
        assert self.events[descriptor].is_open, "closed twice"
        self.events[descriptor].is_open = False

    @property
    def open_count(self) -> int:
        return sum(event.is_open for event in self.events.values())

    def tids_counted(self) -> set[int]:
        return {event.tid for event in self.events.values() if event.is_open}

    def run(
        self,
        tid: int,
        kind: int,
        ns: int,
        *,
        ipc: float = 1.0,
        cycles_per_ns: int = 2,
        active: float = 1.0,
        on: int | None = None,
    ) -> None:
        """A thread runs on the cores of a PMU, on CPU ``on`` if that matters.

        ``active`` is the share of the time its group has the PMU.
        """
        total = self._ran.setdefault((-tid, -1), [0, 0, 0, 0])
        total[0] += ns
        counted = round(ns * active)
        for cpu in {-1, -1 if on is None else on}:
            on_pmu = self._ran.setdefault((-tid, kind, cpu), [0, 0, 0, 0])
            on_pmu[1] += counted
            on_pmu[2] += counted * cycles_per_ns
            on_pmu[3] += round(counted * cycles_per_ns * ipc)

    def _totals(self, event: Event) -> tuple[int, int, int, int]:
        enabled = self._ran.get((-event.tid, -1), [0])[0]
        _, running, cycles, instructions = self._ran.get((-event.tid, event.kind, event.cpu), [0, 0, 0, 0])
        return enabled, running, cycles, instructions
