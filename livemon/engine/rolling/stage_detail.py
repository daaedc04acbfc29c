"""The distribution of one stage: histogram, quantile bands over time, what removing it would give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livemon.engine.roles import FINALIZE, TOTAL
from livemon.engine.rolling.duration_bins import BINS, EDGES_MS, binned_quantile
from livemon.engine.rolling.grid import Grid, optional
from livemon.engine.rolling.stage_rings import StageRing
from livemon.engine.rolling.stage_window import Window, class_windows
from livemon.engine.rolling.thread_rings import SECOND
from livemon.model.criteria import Criteria
from livemon.model.snapshot import Series, StageDetail


def stage_detail(
    rings: Sequence[StageRing],
    class_key: str | None,
    stage: str,
    grid: Grid,
    start_ns: int,
    at_ns: int,
    criteria: Criteria,
) -> StageDetail | None:
    """The distribution of one stage; ``None`` if it has no record in the window."""
    members = [ring for ring in rings if ring.class_key == class_key and stage in ring.stages]
    if not members:
        return None
    w = class_windows(members, grid, start_ns, at_ns).get(stage)
    if w is None:
        return None
    role = dict(zip(members[0].stages, members[0].roles, strict=True))[stage]
    edges, counts = _histogram(w)
    bands = _bands(members, stage, grid, start_ns, at_ns)
    mean = w.total_ms / w.n
    budget = criteria.finalize.budget_ms if role == FINALIZE else None
    return StageDetail(
        class_key=class_key,
        stage=stage,
        role=role,
        edges_ms=edges,
        counts=counts,
        p50=bands[0],
        p90=bands[1],
        p99=bands[2],
        n=w.n,
        mean_ms=mean,
        budget_ms=budget,
        saving_ms_per_step=None if role == TOTAL else mean,
        saving_to_budget_ms_per_step=None if budget is None else max(0.0, mean - budget),
    )


def _histogram(w: Window) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """At most 60 log-spaced bins over the values."""
    if len(w.values):
        low, high = max(float(w.values.min()), 1e-3), max(float(w.values.max()), 1e-3)
        bins = min(60, max(8, int(2 * len(w.values) ** 0.5)))
        edges = np.geomspace(low * 0.999, max(high * 1.001, low * 1.02), bins + 1)
        counts = np.histogram(np.maximum(w.values, 1e-3), edges)[0]
        return tuple(edges.tolist()), tuple(counts.tolist())
    used = np.flatnonzero(w.bins) if w.bins is not None else np.zeros(0, np.int64)
    if w.bins is None or not len(used):
        return (), ()
    first, last = int(used[0]), int(used[-1])
    step = -(-(last - first + 1) // 60)
    edges = EDGES_MS[first : last + 1 + step : step]
    padded = np.zeros((len(edges) - 1) * step)
    part = w.bins[first : first + len(padded)]
    padded[: len(part)] = part
    return tuple(edges.tolist()), tuple(int(n) for n in padded.reshape(-1, step).sum(axis=1))


def _bands(members: Sequence[StageRing], stage: str, grid: Grid, start_ns: int, at_ns: int) -> tuple[Series, ...]:
    """P50, P90 and P99 per bucket; gaps where single units and minutes are gone."""
    out = np.full((3, grid.columns), np.nan)
    column_parts, value_parts = [], []
    for ring in members:
        raw = ring.raw(start_ns, at_ns)
        k = ring.stages.index(stage)
        if raw is not None:
            values = raw[1][k]
            known = ~np.isnan(values)
            column_parts.append(raw[0][known] // grid.bucket_ns - grid.first_bucket)
            value_parts.append(values[known])
    if column_parts:
        columns, values = np.concatenate(column_parts), np.concatenate(value_parts)
        order = np.lexsort((values, columns))
        columns, values = columns[order], values[order]
        for column in np.unique(columns[(columns >= 0) & (columns < grid.columns)]).tolist():
            first, last = np.searchsorted(columns, [column, column + 1])
            out[:, column] = np.quantile(values[first:last], (0.5, 0.9, 0.99))
    elif grid.bucket_ns >= 60 * SECOND:
        for column in range(grid.columns):
            begin = (grid.first_bucket + column) * grid.bucket_ns
            bins = np.zeros(BINS)
            for ring in members:
                for cell in ring.minute_cells(begin, begin + grid.bucket_ns - 1):
                    if cell.bins is not None:
                        bins += cell.bins.counts()[ring.stages.index(stage)]
            for row, q in enumerate((0.5, 0.9, 0.99)):
                value = binned_quantile(bins, q)
                out[row, column] = np.nan if value is None else value
    return tuple(grid.series(optional(row), optional(row)) for row in out)
