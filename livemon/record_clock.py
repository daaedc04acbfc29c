"""Watching the clocks of a recording: anchors to the wall clock, steps of it, suspended machines."""

from __future__ import annotations

import time

from livemon.model.clock import Clock, WallMapping
from livemon.model.samples import ClockAnchor, Lost, Note, Sample

ANCHOR_EVERY_NS = 5_000_000_000
STEP_NS = 20_000_000
"""A wall clock that moved so much against the steady one was stepped; slewing moves it less between two looks."""
TOLD_STEP_NS = 1_000_000_000
SUSPENDED_NS = 500_000_000


class ClockWatch:
    """Reads the clocks together, again and again.

    Args:
        clock: Both clocks.
        wall: Gets each anchor.
    """

    def __init__(self, clock: Clock, wall: WallMapping) -> None:
        self._clock = clock
        self._wall = wall
        self._anchored_ns: int | None = None
        self._difference_ns = 0
        self._asleep_ns = _asleep_ns()
        self._looked_ns = clock.monotonic_ns()

    def look(self) -> list[Sample]:
        """An anchor when one is due, and what happened to the clocks since the last look."""
        mono_ns, wall_ns = self._clock.monotonic_ns(), self._clock.wall_ns()
        difference_ns = wall_ns - mono_ns
        stepped_ns = difference_ns - self._difference_ns
        out: list[Sample] = []
        is_first = self._anchored_ns is None
        asleep_ns = _asleep_ns()
        slept_ns, self._asleep_ns = asleep_ns - self._asleep_ns, asleep_ns
        if slept_ns > SUSPENDED_NS:
            out += self._suspended(slept_ns, mono_ns)
            stepped_ns -= slept_ns
        has_moved = is_first or abs(stepped_ns) > STEP_NS or slept_ns > SUSPENDED_NS
        if not is_first and abs(stepped_ns) > TOLD_STEP_NS:
            text = f"the wall clock was stepped by {stepped_ns / 1e9:+.1f} s; times in this recording are not affected"
            out.append(Note(mono_ns, "info", text))
        if has_moved or self._anchored_ns is None or mono_ns - self._anchored_ns >= ANCHOR_EVERY_NS:
            self._anchored_ns, self._difference_ns = mono_ns, difference_ns
            self._wall.add(mono_ns, wall_ns)
            out.append(ClockAnchor(mono_ns, mono_ns, wall_ns))
        self._looked_ns = mono_ns
        return out

    def _suspended(self, slept_ns: int, now_ns: int) -> list[Sample]:
        text = f"the machine was suspended for {slept_ns / 1e9:.1f} s"
        lost = Lost(now_ns, "session", 1, "gaps", text, start_ns=self._looked_ns, end_ns=now_ns)
        return [lost, Note(now_ns, "warning", text)]


def _asleep_ns() -> int:
    """Time the machine was suspended since it started; 0 where that can't be told."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
