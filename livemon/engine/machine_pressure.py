"""Machine and cgroup pressure around an episode: rates during it against rates before it."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from livemon.model.samples import MachineSample

_KEPT = 16
_TICKS_PER_S = 100.0
"""What the kernel counts CPU time in (USER_HZ)."""
_SOFTIRQ = re.compile(r"^cpu(\d+)_(?:soft)?irq_ticks$")


@dataclass(frozen=True, slots=True)
class Rates:
    """Changes per second between two samples; a name that was not readable in both is missing."""

    per_s: dict[str, float]

    def get(self, *names: str) -> float | None:
        """The first of these names that is there."""
        return next((self.per_s[name] for name in names if name in self.per_s), None)

    @property
    def busiest_softirq(self) -> float | None:
        """Share of the CPU that spends most time in interrupts, 0..1."""
        by_cpu: dict[str, float] = {}
        for name, value in self.per_s.items():
            if match := _SOFTIRQ.match(name):
                by_cpu[match[1]] = by_cpu.get(match[1], 0.0) + value / _TICKS_PER_S
        return max(by_cpu.values(), default=None)

    @property
    def steal(self) -> float | None:
        """CPUs' worth of time the hypervisor took."""
        ticks = self.get("steal_ticks")
        return None if ticks is None else ticks / _TICKS_PER_S


def rates(first: MachineSample | None, last: MachineSample | None) -> Rates | None:
    """Rates between two samples; ``None`` without two of them in order."""
    if first is None or last is None or last.arrival_ns <= first.arrival_ns:
        return None
    seconds = (last.arrival_ns - first.arrival_ns) / 1e9
    before = dict(first.values)
    changes = {
        name: (value - before[name]) / seconds
        for name, value in last.values
        if name in before and value >= before[name] and value >= 0 and before[name] >= 0
    }
    return Rates(changes)


class PressureHistory:
    """The newest machine samples."""

    def __init__(self) -> None:
        self._kept: deque[MachineSample] = deque(maxlen=_KEPT)

    def add(self, sample: MachineSample) -> None:
        """Take the next sample."""
        self._kept.append(sample)

    def newest(self, t_ns: int) -> MachineSample | None:
        """The last sample before a moment."""
        return next((sample for sample in reversed(self._kept) if sample.arrival_ns < t_ns), None)

    def before(self, t_ns: int) -> tuple[MachineSample | None, MachineSample | None]:
        """The oldest sample kept and the last one at or before a moment."""
        earlier = [sample for sample in self._kept if sample.arrival_ns <= t_ns]
        return (earlier[0], earlier[-1]) if earlier else (None, None)
