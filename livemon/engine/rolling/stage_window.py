"""One stage of one class over a window: count, sum, last, quantiles, lowest and highest per bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from livemon.engine.rolling.duration_bins import BINS, binned_quantile, counts_of
from livemon.engine.rolling.grid import Doubles, Grid
from livemon.engine.rolling.stage_rings import StageRing


def middle_and_p99(values: Doubles) -> Doubles:
    """P50 and P99 of each row of (rows, units), (rows, 2): what ``np.quantile`` gives, to the last bit.

    Of some hundred units sorting is a tenth of what ``np.quantile`` does around it.
    """
    ordered = np.sort(values, axis=1)
    last = ordered.shape[1] - 1
    out = np.empty((len(ordered), 2))
    for k, q in enumerate((0.5, 0.99)):
        place = q * last
        low = int(place)
        part = place - low
        below, above = ordered[:, low], ordered[:, min(low + 1, last)]
        step = above - below
        out[:, k] = above - step * (1 - part) if part >= 0.5 else below + step * part
    return out


@dataclass(slots=True)
class Window:
    """A stage in a window, from single units or, where they are no longer held, from seconds and minutes."""

    low: Doubles
    high: Doubles
    """(columns,) NaN where nothing came."""
    n: int = 0
    total_ms: float = 0.0
    last_ms: float | None = None
    last_ns: int | None = None
    values: Doubles = field(default_factory=lambda: np.zeros(0))
    """(units,) in ms; empty when only cells are held."""
    bins: Doubles | None = None
    """(BINS,) histogram, where single units are no longer held."""
    middle: tuple[float, float] | None = None
    """P50 and P99 in ms, where they were computed with those of the ring's other stages."""

    def quantiles(self) -> tuple[float | None, float | None]:
        """P50 and P99 in ms: exact from single units, else to half a bin (3.5 %)."""
        if self.middle is not None:
            return self.middle
        if len(self.values):
            ((p50, p99),) = middle_and_p99(self.values[None]).tolist()
            return p50, p99
        return binned_quantile(self.bins, 0.5), binned_quantile(self.bins, 0.99)

    def merge(self, other: Window) -> None:
        """Add what another ring of the same class holds of the stage."""
        self.low, self.high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        self.n += other.n
        self.total_ms += other.total_ms
        if other.last_ns is not None and (self.last_ns is None or other.last_ns >= self.last_ns):
            self.last_ns, self.last_ms = other.last_ns, other.last_ms
        if self.bins is None and other.bins is None:
            self.values = np.concatenate([self.values, other.values])
        else:
            self.bins = _as_bins(self) + _as_bins(other)
            self.values = np.zeros(0)
        self.middle = None


def _as_bins(window: Window) -> Doubles:
    if window.bins is not None:
        return window.bins
    return counts_of(window.values)


def ring_windows(ring: StageRing, grid: Grid, start_ns: int, end_ns: int) -> dict[str, Window]:
    """Every stage of a ring in ``[start_ns, end_ns]``; stages without a value are left out."""
    raw = ring.raw(start_ns, end_ns)
    if raw is None:
        return _from_cells(ring, grid, start_ns, end_ns)
    t_ns, values, _ = raw
    if not len(t_ns):
        return {}
    order = np.argsort(t_ns, kind="stable")
    t_ns, values = t_ns[order], np.ascontiguousarray(values[:, order])
    columns = t_ns // grid.bucket_ns - grid.first_bucket
    first, stop = np.searchsorted(columns, (0, grid.columns))
    low = np.full((len(ring.stages), grid.columns), np.nan)
    high = low.copy()
    if stop > first:
        inside = columns[first:stop]
        starts = np.flatnonzero(np.r_[True, inside[1:] != inside[:-1]])
        low[:, inside[starts]] = np.fmin.reduceat(values[:, first:stop], starts, axis=1)
        high[:, inside[starts]] = np.fmax.reduceat(values[:, first:stop], starts, axis=1)
    unknown = np.isnan(values)
    is_whole = not unknown.any()
    middles = middle_and_p99(values).tolist() if is_whole else None
    totals = (values if is_whole else np.where(unknown, 0.0, values)).sum(axis=1).tolist()
    found: dict[str, Window] = {}
    for k, stage in enumerate(ring.stages):
        mine, at = (values[k], t_ns) if is_whole else (values[k][~unknown[k]], t_ns[~unknown[k]])
        if len(mine):
            middle = (middles[k][0], middles[k][1]) if middles is not None else None
            last = float(mine[-1]), int(at[-1])
            found[stage] = Window(low[k], high[k], len(mine), totals[k], *last, mine, None, middle)
    return found


def _from_cells(ring: StageRing, grid: Grid, start_ns: int, end_ns: int) -> dict[str, Window]:
    width, cells = ring.cells(start_ns, end_ns, grid.bucket_ns)
    size = len(ring.stages)
    low, high = np.full((size, grid.columns), np.nan), np.full((size, grid.columns), np.nan)
    n, total_ns = 0, np.zeros(size, np.int64)
    for begin_ns, cell in cells:
        first, stop = grid.columns_of(begin_ns, width)
        low[:, first:stop] = np.fmin(low[:, first:stop], cell.low[:, None])
        high[:, first:stop] = np.fmax(high[:, first:stop], cell.high[:, None])
        n += cell.n
        total_ns += cell.total_ns
    bins = np.zeros((size, BINS))
    for cell in ring.minute_cells(start_ns, end_ns):
        if cell.bins is not None:
            bins += cell.bins.counts()
    found: dict[str, Window] = {}
    for k, stage in enumerate(ring.stages):
        if n and not np.isnan(low[k]).all():
            begin_ns, cell = cells[-1]
            last = float(cell.mean_ms()[k]), min(begin_ns + width, end_ns)
            found[stage] = Window(low[k], high[k], n, float(total_ns[k]) / 1e6, *last, bins=bins[k])
    return found


def class_windows(rings: Sequence[StageRing], grid: Grid, start_ns: int, end_ns: int) -> dict[str, Window]:
    """Every stage of a class, over all its kinds of lines."""
    found: dict[str, Window] = {}
    for ring in rings:
        for stage, window in ring_windows(ring, grid, start_ns, end_ns).items():
            if stage in found:
                found[stage].merge(window)
            else:
                found[stage] = window
    return found
