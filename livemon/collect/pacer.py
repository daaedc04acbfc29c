"""Keeping a schedule: ticks at fixed times, however long the work between them takes."""

from __future__ import annotations


class Pacer:
    """Tells when the next tick is due and how late one came.

    Ticks lie on a grid from the start, so that lateness never adds up. A tick that comes more than
    an interval late takes the place of those that it missed: they are counted, never made up for.

    Args:
        interval_ns: Time between ticks.
        start_ns: Time of the first tick, on the clock that is used throughout.
    """

    def __init__(self, interval_ns: int, start_ns: int) -> None:
        if interval_ns <= 0:
            raise ValueError("the interval must be positive")
        self.interval_ns = interval_ns
        self.due_ns = start_ns
        self.ticks = 0
        self.late_ticks = 0
        """Ticks that came over half an interval late."""
        self.missed_ticks = 0

    def is_due(self, now_ns: int) -> bool:
        """Whether it is time."""
        return now_ns >= self.due_ns

    def take(self, now_ns: int) -> int:
        """Do the tick that is due; returns how late it is (ns)."""
        late_ns = max(now_ns - self.due_ns, 0)
        missed = late_ns // self.interval_ns
        self.ticks += 1
        self.missed_ticks += missed
        if late_ns * 2 > self.interval_ns:
            self.late_ticks += 1
        self.due_ns += self.interval_ns * (1 + missed)
        return late_ns

    def change_interval(self, interval_ns: int, now_ns: int) -> None:
        """Go on with another interval from now."""
        self.interval_ns = interval_ns
        self.due_ns = now_ns + interval_ns
