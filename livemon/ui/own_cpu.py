"""What this viewer itself costs: its CPU time over the newest seconds."""

from __future__ import annotations

from collections import deque

_SPAN_NS = 5_000_000_000
_APART_NS = 500_000_000


class OwnCpu:
    """Percent of a core from readings of the process's CPU clock, about two a second."""

    def __init__(self) -> None:
        self._readings: deque[tuple[int, int]] = deque()

    def percent(self, now_ns: int, cpu_ns: int) -> float | None:
        """CPU of this process in percent of one core over the newest 5 s; ``None`` in the first half second.

        Args:
            now_ns: A monotonic clock.
            cpu_ns: CPU time of this process so far.
        """
        readings = self._readings
        if not readings or now_ns - readings[-1][0] >= _APART_NS:
            readings.append((now_ns, cpu_ns))
        while len(readings) > 2 and now_ns - readings[1][0] >= _SPAN_NS:
            readings.popleft()
        since_ns, before_ns = readings[0]
        return 100.0 * (cpu_ns - before_ns) / (now_ns - since_ns) if now_ns - since_ns >= _APART_NS else None
