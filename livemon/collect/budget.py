"""livemon's own CPU budget: when it is over, it cuts itself down and says so."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_WINDOW_NS = 5_000_000_000
_PATIENCE_NS = 30_000_000_000
"""So long it must have been well below the budget before a step is taken back."""
_SLOWEST_NS = 1_000_000_000
_ROOM = 0.4
"""A step is taken back below this share of the budget: it may cost up to twice as much again."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How to go on."""

    interval_ns: int
    counters: bool
    degraded: str
    """What is switched down and why, in words; empty if nothing."""
    changed: bool
    """Whether this differs from the decision before."""


class Budget:
    """Decides from livemon's own CPU time whether to read less: first without counters, then less often.

    Args:
        max_cpu_percent: Of one core, averaged over five seconds.
        interval_ns: The interval to keep while within the budget.
        counters: Whether hardware counters are wanted at all.

    >>> budget = Budget(max_cpu_percent=5.0, interval_ns=100_000_000, counters=False)
    >>> budget.update(0, 0).interval_ns
    100000000
    >>> budget.update(600_000_000, 5_000_000_000).degraded
    'livemon used 12.0 % of a core, over its 5 %: reading every 200 ms instead of every 100 ms'
    """

    def __init__(self, *, max_cpu_percent: float, interval_ns: int, counters: bool) -> None:
        self._max_percent = max_cpu_percent
        self._wanted_ns = interval_ns
        self._wants_counters = counters
        self._interval_ns = interval_ns
        self._counters = counters
        self._degraded = ""
        self._readings: deque[tuple[int, int]] = deque()
        self._changed_ns = 0

    def update(self, cpu_ns: int, now_ns: int) -> Decision:
        """Take livemon's cumulative CPU time at a moment; about once a second."""
        readings = self._readings
        readings.append((now_ns, cpu_ns))
        while len(readings) > 2 and now_ns - readings[1][0] >= _WINDOW_NS:
            readings.popleft()
        elapsed_ns = now_ns - readings[0][0]
        if elapsed_ns < _WINDOW_NS:
            return self._decide(changed=False)
        percent = (cpu_ns - readings[0][1]) / elapsed_ns * 100
        if percent > self._max_percent:
            return self._decide(changed=self._cut(percent, now_ns))
        is_cut = self._interval_ns != self._wanted_ns or self._counters != self._wants_counters
        if is_cut and percent < self._max_percent * _ROOM and now_ns - self._changed_ns >= _PATIENCE_NS:
            self._restore(now_ns)
            return self._decide(changed=True)
        return self._decide(changed=False)

    def _cut(self, percent: float, now_ns: int) -> bool:
        if self._counters:
            self._counters = False
        elif self._interval_ns < _SLOWEST_NS:
            self._interval_ns = min(self._interval_ns * 2, max(_SLOWEST_NS, self._wanted_ns))
        else:
            return False
        self._degraded = f"livemon used {percent:.1f} % of a core, over its {self._max_percent:g} %: {self._measures()}"
        self._moved(now_ns)
        return True

    def _restore(self, now_ns: int) -> None:
        if self._interval_ns != self._wanted_ns:
            self._interval_ns = max(self._interval_ns // 2, self._wanted_ns)
        else:
            self._counters = self._wants_counters
        measures = self._measures()
        self._degraded = f"to stay within {self._max_percent:g} % of a core: {measures}" if measures else ""
        self._moved(now_ns)

    def _measures(self) -> str:
        parts = []
        if self._interval_ns != self._wanted_ns:
            parts.append(
                f"reading every {self._interval_ns // 10**6} ms instead of every {self._wanted_ns // 10**6} ms"
            )
        if self._counters != self._wants_counters:
            parts.append("hardware counters off")
        return ", ".join(parts)

    def _moved(self, now_ns: int) -> None:
        self._changed_ns = now_ns
        self._readings.clear()  # what was used before says nothing about the new setting

    def _decide(self, *, changed: bool) -> Decision:
        return Decision(self._interval_ns, self._counters, self._degraded, changed)
