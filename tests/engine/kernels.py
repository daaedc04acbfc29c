"""Timing records of interleaved decode kernels, for tests: seeded, with everything that goes wrong in logs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from livemon.model.samples import TimingRecord

MS = 1_000_000
SECOND = 1_000 * MS
KERNELS: tuple[tuple[float, float], ...] = ((48.0, 56.0), (14.0, 20.0), (82.0, 91.0))
SMALL: tuple[tuple[float, float], ...] = ((2.6, 4.2), (2.0, 3.6), (3.0, 4.4))
Levels = Sequence[tuple[float, float]]


def kernel_runs(
    levels: Levels | Callable[[int], tuple[float, float]],
    n: int,
    *,
    seed: int = 1,
    first: int = 0,
    start_ns: int = 1_000 * SECOND,
    with_index: bool = True,
    labels: Sequence[str] | None = None,
    lost: float = 0.0,
    device_ms: Sequence[float] = (19.0, 34.4),
    gap_ms: float = 80.0,
) -> list[TimingRecord]:
    """Runs of a decode loop, one record each, stamped at their end."""
    r = random.Random(seed)
    records = []
    t = start_ns
    for i in range(first, first + n):
        low, high = levels(i) if callable(levels) else levels[i % len(levels)]
        finalize, device = r.uniform(low, high), r.choice(list(device_ms)) * r.uniform(0.97, 1.03)
        prepare, rest = r.uniform(0.58, 0.75), r.uniform(1.5, 3.0)
        total = prepare + device + finalize + rest
        if i == 0:
            finalize, device, total = finalize + 25.0, 2 * device, total + 380.0
        t += round(total * MS)
        stages = tuple(
            (name, round(value, 2))
            for name, value in (
                ("prepare_ctx", prepare),
                ("runner_run", device),
                ("validate", finalize),
                ("total", total),
            )
        )
        if i == 0 or r.random() >= lost:
            label = labels[i % len(labels)] if labels else None
            unit = str(i) if with_index else None
            records.append(
                TimingRecord(t + 200_000, t, "line", "c_api_timing", unit, label, stages, line=len(records) + 1)
            )
        t += round(gap_ms * r.uniform(0.85, 1.15) * MS)
    return records
