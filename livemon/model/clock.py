"""Clocks: the one place that reads the time, and the mapping from session clock to wall clock."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol


class Clock(Protocol):
    """Where collectors and players take the time from."""

    def monotonic_ns(self) -> int:
        """``CLOCK_MONOTONIC`` in ns."""
        ...

    def wall_ns(self) -> int:
        """Unix time in ns."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clocks."""

    monotonic_ns = staticmethod(time.monotonic_ns)
    """``CLOCK_MONOTONIC`` in ns."""
    wall_ns = staticmethod(time.time_ns)
    """Unix time in ns."""

    def sleep(self, seconds: float) -> None:
        """Wait on the machine's clock."""
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when told, for tests and replays; it refuses to go back."""

    def __init__(self, mono_ns: int = 1_000_000_000_000, wall_ns: int = 1_750_000_000_000_000_000) -> None:
        self._mono_ns = mono_ns
        self._wall_ns = wall_ns

    def monotonic_ns(self) -> int:
        """The time it was set to."""
        return self._mono_ns

    def wall_ns(self) -> int:
        """The wall time that goes with it."""
        return self._wall_ns

    def sleep(self, seconds: float) -> None:
        """Advance by ``seconds``."""
        self.advance_ns(round(seconds * 1e9))

    def advance_ns(self, delta_ns: int) -> None:
        """Move both clocks on.

        Raises:
            ValueError: ``delta_ns`` is negative.
        """
        if delta_ns < 0:
            raise ValueError("time can't go backwards")
        self._mono_ns += delta_ns
        self._wall_ns += delta_ns


class WallMapping:
    """Maps session-clock ns to unix ns through recorded anchors.

    Between anchors the nearest earlier one counts, before the first one the first, so a stepped
    wall clock moves nothing but what came after the step. Without anchors nothing can be mapped.
    """

    def __init__(self, anchors: Iterable[tuple[int, int]] = ()) -> None:
        self._anchors = sorted(anchors)

    def add(self, mono_ns: int, wall_ns: int) -> None:
        """Take a further anchor; anchors come in order in a live session."""
        self._anchors.append((mono_ns, wall_ns))
        if len(self._anchors) > 1 and self._anchors[-2] > self._anchors[-1]:
            self._anchors.sort()

    @property
    def is_known(self) -> bool:
        """Whether there is any anchor at all."""
        return bool(self._anchors)

    def wall_ns(self, mono_ns: int) -> int | None:
        """Unix ns at that session time; ``None`` without an anchor."""
        if not self._anchors:
            return None
        low, high = 0, len(self._anchors)
        while low < high:
            middle = (low + high) // 2
            if self._anchors[middle][0] <= mono_ns:
                low = middle + 1
            else:
                high = middle
        anchor_mono, anchor_wall = self._anchors[max(low - 1, 0)]
        return anchor_wall + (mono_ns - anchor_mono)
