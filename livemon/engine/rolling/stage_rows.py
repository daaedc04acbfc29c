"""Rows of the stage table, a stage's distribution, and the share of host-slow units over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from livemon.engine.quantiles import median
from livemon.engine.roles import CPU, FINALIZE, HOST, TOTAL, UNACCOUNTED
from livemon.engine.rolling.grid import Doubles, Grid
from livemon.engine.rolling.stage_rings import BINS, Cell, StageRing, bin_edges_ms
from livemon.engine.rolling.thread_rings import SECOND
from livemon.model.criteria import Criteria
from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize
from livemon.model.snapshot import Series, StageDetail, StageRow

WARMUP_UNITS = 10
"""Units of a class before its figures count as settled."""
_SILENT_NS = 10 * SECOND
_ORDER = {HOST: 0, "wait": 0, "device": 0, FINALIZE: 0, UNACCOUNTED: 1, TOTAL: 2, CPU: 3}


@dataclass(slots=True)
class Window:
    """One stage of one class in the window, from single units or from cells."""

    values: Doubles
    """(units,) in ms, in order of time; empty when only cells are held."""
    low: Doubles
    high: Doubles
    """(columns,) NaN where nothing came."""
    n: int = 0
    total_ms: float = 0.0
    last_ms: float | None = None
    last_ns: int | None = None
    bins: Doubles = field(default_factory=lambda: np.zeros(BINS))
    """Histogram, where single units are no longer held."""

    def quantile(self, q: float) -> float | None:
        """Quantile in ms: exact from single units, else to half a bin (2.5 %)."""
        if len(self.values):
            return float(np.quantile(self.values, q))
        n = self.bins.sum()
        if not n:
            return None
        k = int(np.searchsorted(np.cumsum(self.bins), q * (n - 1), side="right"))
        edges = bin_edges_ms()
        return float(np.sqrt(edges[min(k, BINS - 1)] * edges[min(k, BINS - 1) + 1]))


def window_of(rings: Iterable[StageRing], stage: str, grid: Grid, start_ns: int, end_ns: int) -> Window:
    """What the rings of one class hold of a stage in ``[start_ns, end_ns]``."""
    columns = grid.columns
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    window = Window(np.zeros(0), low, high)
    parts: list[tuple[Doubles, Doubles]] = []
    is_whole = True
    for ring in rings:
        if stage not in ring.stages:
            continue
        k = ring.stages.index(stage)
        raw = ring.raw(start_ns, end_ns)
        if raw is not None:
            t_ns, all_values, _ = raw
            values = all_values[k]
            known = ~np.isnan(values)
            t_ns, values = t_ns[known], values[known]
            if not len(values):
                continue
            column = t_ns // grid.bucket_ns - grid.first_bucket
            inside = (column >= 0) & (column < columns)
            np.minimum.at(low, column[inside], values[inside])
            np.maximum.at(high, column[inside], values[inside])
            parts.append((t_ns.astype(np.float64), values))
            window.n += len(values)
            window.total_ms += float(values.sum())
            _last(window, int(t_ns[-1]), float(values[-1]))
            continue
        is_whole = False
        width, cells = ring.cells(start_ns, end_ns, grid.bucket_ns)
        for begin_ns, cell in cells:
            if np.isinf(cell.low[k]):
                continue
            first = max(grid.column(begin_ns), 0)
            stop = (
                max(min(grid.column(begin_ns + width - 1) + 1, columns), first + 1)
                if width > grid.bucket_ns
                else first + 1
            )
            low[first:stop] = np.minimum(low[first:stop], cell.low[k])
            high[first:stop] = np.maximum(high[first:stop], cell.high[k])
            window.n += cell.n
            window.total_ms += float(cell.total[k])
            _last(window, min(begin_ns + width, end_ns), float(cell.total[k] / cell.n))
        for cell in ring.minute_cells(start_ns, end_ns):
            if cell.bins is not None:
                window.bins += cell.bins[k]
    if is_whole and parts:
        t_all = np.concatenate([t for t, _ in parts])
        order = np.argsort(t_all, kind="stable")
        window.values = np.concatenate([values for _, values in parts])[order]
    elif parts:
        logs = np.log(np.maximum(np.concatenate([values for _, values in parts]), 1e-3) / 1e-3) / np.log(1.05)
        window.bins += np.bincount(np.minimum(logs.astype(np.int64), BINS - 1), minlength=BINS)
    low[np.isinf(low)] = np.nan
    high[np.isinf(high)] = np.nan
    return window


def _last(window: Window, t_ns: int, value: float) -> None:
    if window.last_ns is None or t_ns >= window.last_ns:
        window.last_ns, window.last_ms = t_ns, value


def optional(values: Doubles) -> tuple[float | None, ...]:
    """Values with ``None`` for NaN."""
    return tuple(None if value != value else value for value in values.tolist())


def by_class(rings: Sequence[StageRing]) -> dict[str | None, list[StageRing]]:
    """Rings by class, in the order of the report: no class, positions by number, labels by name."""
    found: dict[str | None, list[StageRing]] = {}
    for ring in rings:
        found.setdefault(ring.class_key, []).append(ring)
    return dict(sorted(found.items(), key=lambda item: class_order(item[0])))


def class_order(class_key: str | None) -> tuple[int, str, int, str]:
    """Sort key of classes."""
    if class_key is None:
        return 0, "", 0, ""
    position, slash, period = class_key.partition("/")
    if slash and position.isdecimal() and period.isdecimal():
        return 1, period.zfill(6), int(position), ""
    return 2, "", 0, class_key


def stage_rows(
    rings: Sequence[StageRing],
    grid: Grid,
    start_ns: int,
    at_ns: int,
    criteria: Criteria,
    findings: Sequence[Finding],
) -> tuple[StageRow, ...]:
    """Rows of every stage that had a record in the window.

    Args:
        rings: All of them.
        grid: Of the charts.
        start_ns: Start of the window.
        at_ns: The moment shown.
        criteria: For budgets.
        findings: As known at that moment.
    """
    is_slow = any(isinstance(f, HostSlowTransient) and f.end_ns is None for f in findings)
    over = {(f.class_key, f.stage) for f in findings if isinstance(f, OversizedFinalize) and f.end_ns is None}
    episodes = [(f.start_ns, f.end_ns) for f in findings if isinstance(f, HostSlowTransient)]
    rows = []
    for class_key, members in by_class(rings).items():
        roles: dict[str, str] = {}
        for ring in members:
            roles |= dict(zip(ring.stages, ring.roles, strict=True))
        windows = {stage: window_of(members, stage, grid, start_ns, at_ns) for stage in roles}
        totals = [windows[stage].total_ms for stage, role in roles.items() if role == TOTAL]
        whole = max(totals, default=0.0)
        for stage, role in sorted(roles.items(), key=lambda item: _ORDER.get(item[1], 0)):
            w = windows[stage]
            if not w.n:
                continue
            reference = _reference(members, stage, at_ns, episodes)
            p50 = w.quantile(0.5)
            state = "ok"
            if (class_key, stage) in over:
                state = "over"
            elif is_slow and role == HOST and reference and p50 and w.last_ms and w.last_ms > 1.3 * reference:
                state = "slow"
            elif sum(ring.units for ring in members) < WARMUP_UNITS:
                state = "warming"
            elif w.last_ns is not None and at_ns - w.last_ns > max(_SILENT_NS, 20 * _interval_ns(w, start_ns, at_ns)):
                state = "silent"
            rows.append(
                StageRow(
                    class_key=class_key,
                    stage=stage,
                    role=role,
                    n=w.n,
                    last_ms=w.last_ms,
                    p50_ms=p50,
                    p99_ms=w.quantile(0.99),
                    share=w.total_ms / whole if 0 < w.total_ms <= whole * 1.0001 and role != CPU else None,
                    budget_ms=criteria.finalize.budget_ms if role == FINALIZE else None,
                    state=state,  # type: ignore[arg-type]
                    series=grid.series(optional(w.low), optional(w.high)),
                    reference_ms=reference,
                )
            )
    return tuple(rows)


def _interval_ns(window: Window, start_ns: int, at_ns: int) -> float:
    return (at_ns - start_ns) / max(window.n, 1)


def _reference(
    rings: Sequence[StageRing], stage: str, at_ns: int, episodes: Sequence[tuple[int, int | None]]
) -> float | None:
    """Median of the stage in the seconds of the ten minutes before that lie in no episode."""
    seconds: list[float] = []
    for ring in rings:
        if stage not in ring.stages:
            continue
        k = ring.stages.index(stage)
        for begin_ns, cell in ring.cells(at_ns - 600 * SECOND, at_ns, SECOND)[1]:
            in_episode = any(begin_ns < (end or at_ns) and begin_ns + SECOND > start for start, end in episodes)
            if cell.n and not in_episode and not np.isinf(cell.low[k]):
                seconds.append(float(cell.total[k]) / cell.n)
    return median(seconds) if len(seconds) >= 5 else None


def units_between(rings: Sequence[StageRing], start_ns: int, end_ns: int) -> int:
    """Units of work in ``(start_ns, end_ns]``, of the rings that count units."""
    n = 0
    for ring in rings:
        raw = ring.raw(start_ns + 1, end_ns)
        n += len(raw[0]) if raw is not None else sum(c.n for _, c in ring.cells(start_ns, end_ns, SECOND)[1])
    return n


def unit_rings(rings: Sequence[StageRing]) -> list[StageRing]:
    """The rings whose records are units of work: of the format with the most records that state a total."""
    sources: dict[str, tuple[bool, int]] = {}
    for ring in rings:
        has_total, n = sources.get(ring.source, (False, 0))
        sources[ring.source] = (has_total or ring.shape.total is not None, n + ring.units)
    if not sources:
        return []
    main = max(sources, key=lambda source: (sources[source][0], sources[source][1]))
    needs_total = sources[main][0]
    return [ring for ring in rings if ring.source == main and (ring.shape.total is not None or not needs_total)]


def unit_walls(rings: Sequence[StageRing], start_ns: int, end_ns: int) -> Doubles:
    """Wall times in ms of the units in a window, where they are held."""
    parts: list[Doubles] = []
    for ring in rings:
        raw = ring.raw(start_ns, end_ns)
        if raw is None:
            continue
        values = raw[1]
        k = ring.shape.total
        parts.append(values[k] if k is not None else values[list(ring.shape.parts)].sum(axis=0))
    return np.concatenate(parts) if parts else np.zeros(0)


def host_slow_series(rings: Sequence[StageRing], grid: Grid, end_ns: int) -> Series:
    """Share of host-slow units per bucket, from the seconds or minutes of the rings with host stages."""
    columns = grid.columns
    n, slow = np.zeros(columns), np.zeros(columns)
    found: list[tuple[int, int, Cell]] = []
    for ring in rings:
        if HOST not in ring.roles:
            continue
        raw = ring.raw(grid.start_ns, end_ns) if grid.bucket_ns < SECOND else None
        if raw is not None:
            column = raw[0] // grid.bucket_ns - grid.first_bucket
            inside = (column >= 0) & (column < columns)
            n += np.bincount(column[inside], minlength=columns)
            slow += np.bincount(column[inside], raw[2][inside], columns)
        else:
            width, cells = ring.cells(grid.start_ns, end_ns, grid.bucket_ns)
            found += [(begin_ns, width, cell) for begin_ns, cell in cells]
    for begin_ns, width, cell in found:
        first = max(grid.column(begin_ns), 0)
        stop = (
            min(max(grid.column(begin_ns + width - 1) + 1, first + 1), columns) if width > grid.bucket_ns else first + 1
        )
        n[first:stop] += cell.n
        slow[first:stop] += cell.slow
    with np.errstate(invalid="ignore", divide="ignore"):
        share = optional(np.where(n > 0, slow / n, np.nan))
    return grid.series(share, share)


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
    w = window_of(members, stage, grid, start_ns, at_ns)
    if not w.n:
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
    used = np.flatnonzero(w.bins)
    if not len(used):
        return (), ()
    first, last = int(used[0]), int(used[-1])
    step = -(-(last - first + 1) // 60)
    edges = bin_edges_ms()[first : last + 1 + step : step]
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
            part = Window(np.zeros(0), np.zeros(0), np.zeros(0))
            for ring in members:
                for cell in ring.minute_cells(begin, begin + grid.bucket_ns - 1):
                    if cell.bins is not None:
                        part.bins += cell.bins[ring.stages.index(stage)]
            for row, q in enumerate((0.5, 0.9, 0.99)):
                value = part.quantile(q)
                out[row, column] = np.nan if value is None else value
    return tuple(grid.series(optional(row), optional(row)) for row in out)
