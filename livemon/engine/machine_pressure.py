"""Machine and cgroup pressure around an episode: rates during it against rates before it."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from livemon.model.samples import MachineSample

_KEPT = 16
_TICKS_PER_S = 100.0
"""What the kernel counts CPU time in (USER_HZ)."""
_SOFTIRQ = re.compile(r"^cpu(\d+)_(?:soft)?irq_ticks$")


@dataclass(frozen=True, slots=True)
class Rates:
    """Changes per second between two samples; a name that was not readable in both is missing."""

    per_s: dict[str, float]
    mhz: float | None = None
    """Mean frequency of the fast CPUs that the watched threads ran on, by CPU time; ``None`` if not recorded."""

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


class Seen(NamedTuple):
    """A machine sample, and how fast the threads' CPUs had run by then."""

    sample: MachineSample
    speed: tuple[int, int] = (0, 0)
    """Cumulative; see ``CpuSpeed.sums``."""


def rates(first: Seen | None, last: Seen | None) -> Rates | None:
    """Rates between two samples; ``None`` without two of them in order."""
    if first is None or last is None or last.sample.arrival_ns <= first.sample.arrival_ns:
        return None
    seconds = (last.sample.arrival_ns - first.sample.arrival_ns) / 1e9
    before = dict(first.sample.values)
    changes = {
        name: (value - before[name]) / seconds
        for name, value in last.sample.values
        if name in before and value >= before[name] and value >= 0 and before[name] >= 0
    }
    ran_ns = last.speed[1] - first.speed[1]
    return Rates(changes, (last.speed[0] - first.speed[0]) / ran_ns / 1e3 if ran_ns > 0 else None)


class PressureHistory:
    """The newest machine samples."""

    def __init__(self) -> None:
        self._kept: deque[Seen] = deque(maxlen=_KEPT)

    def add(self, sample: MachineSample, speed: tuple[int, int]) -> None:
        """Take the next sample; ``speed``: ``CpuSpeed.sums`` with it."""
        self._kept.append(Seen(sample, speed))

    def newest(self, t_ns: int) -> Seen | None:
        """The last sample before a moment."""
        return next((seen for seen in reversed(self._kept) if seen.sample.arrival_ns < t_ns), None)

    def before(self, t_ns: int) -> tuple[Seen | None, Seen | None]:
        """The oldest sample kept and the last one at or before a moment."""
        earlier = [seen for seen in self._kept if seen.sample.arrival_ns <= t_ns]
        return (earlier[0], earlier[-1]) if earlier else (None, None)
