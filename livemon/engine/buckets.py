"""Time buckets aligned at a moment: what units and threads did before it, at it, and after it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from livemon.engine.logbins import Ints
from livemon.engine.quantiles import Quantiles
from livemon.engine.thread_health import Flags
from livemon.engine.thread_work import (
    CPU,
    E_CPU,
    E_CYC_CPU,
    E_CYCLES,
    F_CPU,
    F_CYC_CPU,
    F_CYCLES,
    IPC_CYCLES,
    IPC_INS,
    ROWS,
)
from livemon.model.findings import Bucket

EDGES_S: tuple[tuple[float, float], ...] = (
    (-2.0, 0.0),
    (0.0, 0.5),
    (0.5, 1.0),
    (1.0, 2.0),
    (2.0, 4.0),
    (4.0, 5.0),
    (5.0, 10.0),
    (10.0, 20.0),
)
"""Before, onset in growing steps, what follows it, and the steady state, without a hole; seconds from t0."""


@dataclass(slots=True)
class _Sums:
    walls: Quantiles = field(default_factory=Quantiles)
    slow: int = 0
    told: int = 0
    """Units of which it is known whether they were slow."""
    work: Ints = field(default_factory=lambda: np.zeros(ROWS, np.int64))
    ticks: int = 0


class AlignedBuckets:
    """The buckets around one moment.

    Args:
        t0_ns: The moment.
    """

    def __init__(self, t0_ns: int) -> None:
        self.t0_ns = t0_ns
        self._sums = tuple(_Sums() for _ in EDGES_S)

    def add_units(self, start: Ints, wall: Ints, slow: Flags, told: Flags) -> None:
        """Take units by their submission: ns columns, and flags whether slow and whether that is known."""
        since = start - self.t0_ns
        for sums, (low, high) in zip(self._sums, EDGES_S, strict=True):
            inside = (since >= low * 1e9) & (since < high * 1e9)
            if inside.any():
                sums.walls.add([ns / 1e6 for ns in wall[inside].tolist()])
                sums.slow += int(slow[inside].sum())
                sums.told += int(told[inside].sum())

    def add_tick(self, middle_ns: int, work: Ints) -> None:
        """Take a tick's work, (ROWS, names), by the middle of the tick."""
        since = middle_ns - self.t0_ns
        for sums, (low, high) in zip(self._sums, EDGES_S, strict=True):
            if low * 1e9 <= since < high * 1e9:
                sums.work += work.sum(axis=1)
                sums.ticks += 1

    def get(self) -> tuple[Bucket, ...]:
        """The buckets that saw anything."""
        return tuple(
            _bucket(low, high, sums)
            for sums, (low, high) in zip(self._sums, EDGES_S, strict=True)
            if sums.walls.n or sums.ticks
        )


def _quotient(over: float, under: float) -> float | None:
    return over / under if under > 0 else None


def _bucket(low: float, high: float, sums: _Sums) -> Bucket:
    work = [int(value) for value in sums.work]
    return Bucket(
        start_s=low,
        end_s=high,
        units=sums.walls.n,
        p50_ms=sums.walls.get(0.5),
        p99_ms=sums.walls.get(0.99),
        host_slow_share=_quotient(sums.slow, sums.told),
        cpu_ms_per_unit=_quotient(work[CPU] / 1e6, sums.walls.n) if sums.ticks else None,
        efficiency_share=_quotient(work[E_CPU], work[E_CPU] + work[F_CPU]),
        cycles_per_ns=_quotient(work[E_CYCLES] + work[F_CYCLES], work[E_CYC_CPU] + work[F_CYC_CPU]),
        ipc=_quotient(work[IPC_INS], work[IPC_CYCLES]),
    )
