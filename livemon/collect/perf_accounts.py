"""What was counted for a thread on each core class: adding up readings, and sharing out uncounted time.

A group's running time is the thread's time on that class, as long as the groups together ran for as
long as the thread did. If they did not, the kernel was sharing the PMU out (multiplexing): the missing
time goes to the classes in the proportion that was seen, or to the class of the last CPU if none was.
``enabled_ns`` is the class's time, ``running_ns`` the counted part of it. Counts are never extrapolated.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from livemon.collect.perf_groups import ClassEvents
from livemon.collect.perf_layer import Reading
from livemon.model.samples import UNKNOWN, ClassColumns

_NOTHING = Reading(0, 0, (0, 0))


class Account:
    """One thread on one class; goes on over a re-opening of its group."""

    __slots__ = ("cycles", "enabled_ns", "has_instructions", "instructions", "last", "members", "running_ns")

    def __init__(self) -> None:
        self.members: list[int] = []
        """Descriptors of the group, the leader first; empty while it is not attached."""
        self.has_instructions = True
        self.last = _NOTHING
        self.enabled_ns = 0
        self.running_ns = 0
        self.cycles = 0
        self.instructions = 0

    def reopen(self, members: list[int], has_instructions: bool) -> None:
        """A new group counts from 0; what was counted before stays."""
        self.members = members
        self.has_instructions = has_instructions
        self.last = _NOTHING

    def add(self, reading: Reading) -> tuple[int, int]:
        """Take a reading; returns the time that the thread ran and that the group counted since the last one."""
        last, self.last = self.last, reading
        running_ns = reading.running_ns - last.running_ns
        self.running_ns += running_ns
        self.cycles += reading.values[0] - last.values[0]
        if self.has_instructions:
            self.instructions += reading.values[1] - last.values[1]
        return reading.enabled_ns - last.enabled_ns, running_ns


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
        cpu_ns=array("q", [a.enabled_ns if a and events.is_exclusive else UNKNOWN for a in accounts]),
        cycles=array("q", [a.cycles if a else UNKNOWN for a in accounts]),
        instructions=array("q", [a.instructions if a and a.has_instructions else UNKNOWN for a in accounts]),
        enabled_ns=array("q", [a.enabled_ns if a else UNKNOWN for a in accounts]),
        running_ns=array("q", [a.running_ns if a else UNKNOWN for a in accounts]),
    )
