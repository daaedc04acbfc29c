"""The healthy state of the threads, and whether a tick's threads have left it.

Per thread name sums over quiet time with exponential forgetting; every figure is a ratio of sums, so a
thread counts by the CPU time it used: an idle thread that wakes on an efficiency core says little.
A tick's threads have *moved* when at least half of the busy ones with a known healthy state ran
25 points more on efficiency cores, at 0.8 times the cycle rate, or at 0.8 times the IPC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from livemon.engine.logbins import Floats, Ints
from livemon.engine.thread_work import (
    CPU,
    E_CPU,
    F_CPU,
    F_CYC_CPU,
    F_CYCLES,
    HOPS,
    IPC_CYCLES,
    IPC_INS,
    ROWS,
    Work,
)
from livemon.model.criteria import Causes

_BY_CLASS = slice(E_CPU, HOPS)
"""The rows that are empty without core classes."""
_KNOWN_TICKS = 5
_KNOWN_CPU_NS = 3_000_000
_BUSY_PART = 0.2
"""Of a thread's usual CPU time per tick: below it the thread has no vote."""
COLD_SHARE = 0.9
COLD_PART = 0.6
_COLD_TICK_NS = 3_000_000
_COLD_THREAD_NS = 600_000
"""CPU time in a tick of 100 ms before a cold start is looked for without units to go by."""

Flags = npt.NDArray[np.bool_]


def ratio(over: Floats | Ints, under: Floats | Ints) -> Floats:
    """Quotient where there is something below, else NaN."""
    out = np.full(over.shape, np.nan)
    np.divide(over, under, out=out, where=under > 0)
    return out


def is_awake(work: Ints, tick_ns: int) -> Flags:
    """Which names worked enough in a tick to be under load, where no units tell."""
    scale = max(tick_ns / 1e8, 0.1)
    enough = bool(work[CPU].sum() >= _COLD_TICK_NS * scale)
    awake: Flags = (work[CPU] >= _COLD_THREAD_NS * scale) & enough
    return awake


class Vote(NamedTuple):
    """What the threads of a tick say."""

    known: int
    """Busy names with a healthy state."""
    moved: int
    busy: int
    cold: int
    """Busy names that ran on efficiency cores almost alone."""

    @property
    def has_moved(self) -> bool:
        """At least half of those known, and two unless there is only one."""
        return self.moved >= min(2, self.known) > 0 and 2 * self.moved >= self.known

    @property
    def is_cold(self) -> bool:
        """Nearly all on efficiency cores, while no healthy state is known."""
        return self.known == 0 and self.cold >= 1 and self.cold > COLD_PART * self.busy


class ThreadHealth:
    """Sums of quiet time per name."""

    def __init__(self, causes: Causes) -> None:
        self._causes = causes
        self.sums: Floats = np.zeros((ROWS, 0))
        self.units = 0.0
        self.ticks: Floats = np.zeros(0)
        self._refresh()

    def _refresh(self) -> None:
        sums = self.sums
        self.known: Flags = (self.ticks >= _KNOWN_TICKS) & (sums[CPU] >= _KNOWN_CPU_NS)
        c = self._causes
        # What a tick is compared with; NaN for names whose healthy state is not known.
        self._least = np.where(self.known, _BUSY_PART * ratio(sums[CPU], self.ticks), np.nan)
        self._most_share = ratio(sums[E_CPU], sums[E_CPU] + sums[F_CPU]) + c.efficiency_share_points
        self._least_rate = c.cycle_rate_ratio * ratio(sums[F_CYCLES], sums[F_CYC_CPU])
        self._least_ipc = c.ipc_ratio * ratio(sums[IPC_INS], sums[IPC_CYCLES])

    def grow(self, names: int) -> None:
        """Make room for so many names."""
        more = names - len(self.ticks)
        if more > 0:
            self.sums = np.concatenate([self.sums, np.zeros((ROWS, more))], axis=1)
            self.ticks = np.concatenate([self.ticks, np.zeros(more)])
            self._refresh()

    def learn(self, sums: Ints, ticks: Ints, units: int, factor: float) -> None:
        """Take in quiet time: dense sums, ticks in which each name worked; ``factor``: forgetting."""
        self.sums *= factor
        self.ticks *= factor
        self.units = self.units * factor + units
        self.sums[:, : sums.shape[1]] += sums
        self.ticks[: len(ticks)] += ticks
        self._refresh()

    def reset(self) -> None:
        """Forget everything: what was learned was not healthy."""
        self.sums[:] = 0
        self.ticks[:] = 0
        self.units = 0.0
        self._refresh()

    def votes(self, ticks: Sequence[Work], *, has_units: bool) -> list[Vote]:
        """What the threads of each tick say."""
        if not ticks:
            return []
        c = self._causes
        counts = [len(numbers) for numbers, *_ in ticks]
        numbers = np.concatenate([numbers for numbers, *_ in ticks])
        work = np.concatenate([work for _, work, _ in ticks], axis=1)
        part = np.repeat([min(max(tick_ns / 1e8, 0.1), 1.0) for *_, tick_ns in ticks], counts)
        cpu = work[CPU]
        busy = cpu >= c.thread_busy_ms * 1e6
        known = busy & (cpu >= self._least[numbers] * part)
        awake = busy if has_units else np.concatenate([is_awake(work, tick_ns) for _, work, tick_ns in ticks])
        moved, cold = self._by_class(numbers, work) if work[_BY_CLASS].any() else np.zeros((2, len(cpu)), np.bool_)
        moved &= known
        cold &= awake
        starts = np.cumsum([0, *counts[:-1]])
        sums = np.add.reduceat(np.stack([known, moved, awake, cold]).astype(np.int64), starts, axis=1)
        return [Vote(*row) for row in sums.T.tolist()]

    def _by_class(self, numbers: Ints, work: Ints) -> tuple[Flags, Flags]:
        """Which entries have left their healthy state, and which ran on efficiency cores almost alone."""
        total = work[E_CPU] + work[F_CPU]
        # Comparisons with NaN are false: what is not known or not measured has not moved.
        moved = (work[E_CPU] >= self._most_share[numbers] * total) & (total > 0)
        fast = work[F_CYC_CPU]
        moved |= (work[F_CYCLES] <= self._least_rate[numbers] * fast) & (fast >= 0.5 * work[CPU]) & (fast > 0)
        cycles = work[IPC_CYCLES]
        moved |= (work[IPC_INS] <= self._least_ipc[numbers] * cycles) & (cycles > 0)
        return moved, work[E_CPU] > COLD_SHARE * total
