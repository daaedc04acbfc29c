"""Rows of the stage table, units of work, and the share of host-slow units over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from livemon.engine.roles import CPU, FINALIZE, HOST, TOTAL, UNACCOUNTED
from livemon.engine.rolling.grid import Doubles, Grid, optional
from livemon.engine.rolling.stage_rings import Cell, StageRing, shown_class
from livemon.engine.rolling.stage_window import class_windows
from livemon.engine.rolling.thread_rings import SECOND
from livemon.model.criteria import Criteria
from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize
from livemon.model.snapshot import Series, StageRow

WARMUP_UNITS = 10
"""Units of a class before its figures count as settled."""
REFERENCE_NS = 600 * SECOND
_SILENT_NS = 10 * SECOND
_ORDER = {HOST: 0, "wait": 0, "device": 0, FINALIZE: 0, UNACCOUNTED: 1, TOTAL: 2, CPU: 3}
State = Literal["ok", "over", "slow", "warming", "silent"]


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
    references: References,
) -> tuple[StageRow, ...]:
    """Rows of every stage that had a record in the window.

    Args:
        rings: All of them.
        grid: Of the charts.
        start_ns: Start of the window.
        at_ns: The moment shown.
        criteria: For budgets.
        findings: As known at that moment.
        references: From ``references_ms``.
    """
    is_slow = any(isinstance(f, HostSlowTransient) and f.end_ns is None for f in findings)
    over = {
        (shown_class(f.class_key), f.stage) for f in findings if isinstance(f, OversizedFinalize) and f.end_ns is None
    }
    rows = []
    for class_key, members in by_class(rings).items():
        windows = class_windows(members, grid, start_ns, at_ns)
        roles: dict[str, str] = {}
        for ring in members:
            roles |= {stage: role for stage, role in zip(ring.stages, ring.roles, strict=True) if stage in windows}
        whole = max((windows[stage].total_ms for stage, role in roles.items() if role == TOTAL), default=0.0)
        is_warming = sum(ring.units for ring in members) < WARMUP_UNITS
        for stage, role in sorted(roles.items(), key=lambda item: _ORDER.get(item[1], 0)):
            w = windows[stage]
            reference, reference_high = references.get((class_key, stage), (None, None))
            p50, p99 = w.quantiles()
            state: State = "ok"
            if (class_key, stage) in over:
                state = "over"
            elif is_slow and role == HOST and reference and w.last_ms and w.last_ms > 1.3 * reference:
                state = "slow"
            elif is_warming:
                state = "warming"
            elif w.last_ns is not None and at_ns - w.last_ns > max(_SILENT_NS, 20 * (at_ns - start_ns) // w.n):
                state = "silent"
            rows.append(
                StageRow(
                    class_key=class_key,
                    stage=stage,
                    role=role,
                    n=w.n,
                    last_ms=w.last_ms,
                    p50_ms=p50,
                    p99_ms=p99,
                    share=w.total_ms / whole if 0 < w.total_ms <= whole * 1.0001 and role != CPU else None,
                    budget_ms=criteria.finalize.budget_ms if role == FINALIZE else None,
                    state=state,
                    series=grid.series(optional(w.low), optional(w.high)),
                    reference_ms=reference,
                    reference_high_ms=reference_high,
                )
            )
    return tuple(rows)


References = dict[tuple[str | None, str], tuple[float, float]]
"""Usual duration and usual highest duration of a second in ms, by class and stage."""


def references_ms(rings: Sequence[StageRing], at_ns: int, episodes: Sequence[tuple[int, int | None]]) -> References:
    """Medians of the seconds' means and maxima in the ten minutes before, episodes left out."""
    found: References = {}
    for ring in rings:
        begins, means, highs = [], [], []
        for begin_ns, cell in ring.cells(at_ns - REFERENCE_NS, at_ns, SECOND)[1]:
            begins.append(begin_ns)
            means.append(cell.mean_ms())
            highs.append(cell.high)
        if not means:
            continue
        begin = np.array(begins)
        keep = np.ones(len(begin), np.bool_)
        for start, end in episodes:
            keep &= (begin >= (at_ns if end is None else end)) | (begin + SECOND <= start)
        if keep.sum() >= 5:
            middle = np.median(np.array(means)[keep], axis=0).tolist()
            high = np.median(np.array(highs)[keep], axis=0).tolist()
            found |= {
                (ring.class_key, stage): (middle[k], max(middle[k], high[k])) for k, stage in enumerate(ring.stages)
            }
    return found


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
        first, stop = grid.columns_of(begin_ns, width)
        n[first:stop] += cell.n
        slow[first:stop] += cell.slow
    with np.errstate(invalid="ignore", divide="ignore"):
        share = optional(np.where(n > 0, slow / n, np.nan))
    return grid.series(share, share)
