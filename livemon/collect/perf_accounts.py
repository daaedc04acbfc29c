"""What was counted for a thread on each core class: adding up readings, and sharing out uncounted time.

A group's running time is the thread's time on that class, as long as the groups together ran for as
long as the thread did. If they did not, the kernel was sharing the PMU out (multiplexing): the missing
time goes to the classes in the proportion that was seen, or to the class of the last CPU if none was.
``enabled_ns`` is the class's time, ``running_ns`` the counted part of it. Counts are never extrapolated.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from livemon.collect.perf_groups import ClassEvents, Counted
from livemon.collect.perf_layer import Reading
from livemon.model.samples import UNKNOWN, ClassColumns

_NOTHING = Reading(0, 0, (0, 0))


class Account:
    """One thread on one class; goes on over a re-opening of its groups."""

    __slots__ = ("cycles", "enabled_ns", "groups", "has", "instructions", "last", "running_ns")

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        """Descriptors of each group, the leader first; empty while it is not attached."""
        self.has = Counted(True, True)
        self.last = _NOTHING
        self.enabled_ns = 0
        self.running_ns = 0
        self.cycles = 0
        self.instructions = 0

    @property
    def descriptors(self) -> int:
        """How many are open."""
        return sum(map(len, self.groups))

    def reopen(self, groups: list[list[int]], has: Counted) -> None:
        """New groups count from 0; what was counted before stays."""
        self.groups = groups
        self.has = has
        self.last = _NOTHING

    def add(self, reading: Reading) -> tuple[int, int]:
        """Take a reading; returns the time that the thread ran and that the group counted since the last one."""
        last, self.last = self.last, reading
        running_ns = reading.running_ns - last.running_ns
        self.running_ns += running_ns
        # A group of one event has one value, which is its first and its last.
        if self.has.cycles:
            self.cycles += reading.values[0] - last.values[0]
        if self.has.instructions:
            self.instructions += reading.values[-1] - last.values[-1]
        return reading.enabled_ns - last.enabled_ns, running_ns

    def less(self, whole: Reading | None, parts: Sequence[Reading | None]) -> Reading | None:
        """What is left of a reading without what others counted of it; ``None`` if one of them is missing.

        The groups are read one after the other while the thread runs, so that a difference may seem to
        go back a little: it stays where it was until it has made up for that.
        """
        if whole is None:
            return None
        last = self.last
        running_ns, cycles, instructions = whole.running_ns, whole.values[0], whole.values[-1]
        for part in parts:
            if part is None:
                return None
            running_ns -= part.running_ns
            cycles -= part.values[0]
            instructions -= part.values[-1]
        return Reading(
            whole.enabled_ns,
            max(running_ns, last.running_ns),
            (max(cycles, last.values[0]), max(instructions, last.values[1])),
        )


def together(readings: Sequence[Reading | None]) -> Reading | None:
    """The readings of groups on several CPUs as one; ``None`` if one of them is missing."""
    if len(readings) == 1:
        return readings[0]
    enabled_ns = running_ns = cycles = instructions = 0
    for reading in readings:
        if reading is None:
            return None
        enabled_ns = max(enabled_ns, reading.enabled_ns)
        running_ns += reading.running_ns
        cycles += reading.values[0]
        instructions += reading.values[-1]
    return Reading(enabled_ns, running_ns, (cycles, instructions))


def share_out(accounts: Sequence[Account], deltas: Sequence[tuple[int, int]], likely: int) -> None:
    """Add the time since the last reading to each class.

    Args:
        accounts: One per class.
        deltas: What ``Account.add`` returned for each.
        likely: Position of the class to take if no group counted at all.
    """
    ran_ns = max(enabled for enabled, _ in deltas)
    counted_ns = sum(running for _, running in deltas)
    if counted_ns >= ran_ns - max(ran_ns // 50, 200_000):
        # All was counted: what is missing is that the groups are opened and read one after the other.
        for account, (_, running) in zip(accounts, deltas, strict=True):
            account.enabled_ns += running
    elif counted_ns > 0:
        for account, (_, running) in zip(accounts, deltas, strict=True):
            account.enabled_ns += ran_ns * running // counted_ns
    else:
        accounts[likely].enabled_ns += ran_ns


def class_columns(events: ClassEvents, accounts: Sequence[Account | None]) -> ClassColumns:
    """The columns of one class; ``None`` is a thread without counters."""
    return ClassColumns(
        core_class=events.core_class,
        cpu_ns=array("q", [a.enabled_ns if a else UNKNOWN for a in accounts]),
        cycles=array("q", [a.cycles if a and a.has.cycles else UNKNOWN for a in accounts]),
        instructions=array("q", [a.instructions if a and a.has.instructions else UNKNOWN for a in accounts]),
        enabled_ns=array("q", [a.enabled_ns if a else UNKNOWN for a in accounts]),
        running_ns=array("q", [a.running_ns if a else UNKNOWN for a in accounts]),
    )
