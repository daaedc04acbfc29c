"""Sparklines: a series in one row of cells; peaks survive, gaps stay gaps."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Span
from livemon.ui.render.scale import Scale, thresholds

if TYPE_CHECKING:
    from livemon.model.snapshot import Series

Point = tuple[float, float] | None
"""(minimum, maximum) of a cell; ``None`` is a gap."""

_LEFT = (0x00, 0x40, 0x44, 0x46, 0x47)
_RIGHT = (0x00, 0x80, 0xA0, 0xB0, 0xB8)


def end_cell(first: int, have: int, cells: int) -> int:
    """The absolute cell after the newest one when ``have`` buckets from ``first`` are drawn on ``cells`` cells.

    Bucket ``b`` falls into cell ``b * cells // have``; with fewer buckets than cells, cell ``c`` shows
    bucket ``c * have // cells``.
    """
    if cells >= have:
        return -(-((first + have) * cells) // have)
    return (first + have - 1) * cells // have + 1


@lru_cache(maxsize=256)
def slices(phase: int, have: int, cells: int) -> tuple[slice, ...]:
    """The buckets of each of ``cells`` cells, oldest first; an empty slice for a cell before the oldest bucket.

    Several buckets may share a cell, and a bucket may fill several. Which cell a bucket falls into depends on
    its absolute number alone, so a scrolling chart moves without changing its shape.

    Args:
        phase: Number of the first bucket modulo ``have``: what is shared out repeats after so many.
        have: How many buckets.
        cells: How many cells.
    """
    end = end_cell(phase, have, cells)
    if cells >= have:
        offsets = [cell * have // cells - phase for cell in range(end - cells, end)]
        return tuple(slice(k, k + 1) if 0 <= k < have else slice(0, 0) for k in offsets)
    # What sticks out on the left by part of a cell goes into the first one.
    places = [max((phase + k) * cells // have - (end - cells), 0) for k in range(have)]
    return tuple(slice(bisect_left(places, cell), bisect_left(places, cell + 1)) for cell in range(cells))


def shared_out(series: Series, cells: int) -> tuple[slice, ...]:
    """The buckets of a series in each of ``cells`` cells, as ``slices``."""
    have = len(series.high)
    return slices(series.first_bucket % have, have, cells) if have and cells > 0 else (slice(0, 0),) * cells


def points(series: Series, count: int) -> list[Point]:
    """The series in exactly ``count`` points, oldest first; no point is lost and none is invented.

    Several buckets in one point keep their minimum and maximum.
    """
    low, high = series.low, series.high
    out: list[Point] = []
    for part in shared_out(series, count):
        known = [
            (top if least is None else least, top)
            for least, top in zip(low[part], high[part], strict=True)
            if top is not None
        ]
        out.append((min(least for least, _ in known), max(top for _, top in known)) if known else None)
    return out


@lru_cache(maxsize=256)
def _pickers(phase: int, have: int, cells: int) -> tuple[Callable[[Sequence[float]], tuple[float, ...]], ...]:
    """Take one bucket of each cell, then the next one of each, …; a value after the last one stands for none."""
    parts = slices(phase, have, cells)
    depth = max((part.stop - part.start for part in parts), default=0)
    columns = [
        [have if part.start == part.stop else min(part.start + k, part.stop - 1) for part in parts]
        for k in range(max(depth, 1))
    ]
    if cells == 1:
        return tuple(partial(_pick_one, column[0]) for column in columns)
    return tuple(itemgetter(*column) for column in columns)


def _pick_one(place: int, values: Sequence[float]) -> tuple[float, ...]:
    return (values[place],)


_NOTHING = -math.inf


def tops(series: Series, count: int) -> list[float]:
    """The maximum of each point; minus infinity for a gap."""
    have = series.buckets
    if not have or count <= 0:
        return [_NOTHING] * count
    prepared = series.prepared_tops(slices(series.first_bucket % have, have, count))
    if prepared is not None:
        return prepared
    high = series.high
    known = [_NOTHING if value is None else value for value in high]
    known.append(_NOTHING)
    columns = [pick(known) for pick in _pickers(series.first_bucket % have, have, count)]
    return list(map(max, *columns)) if len(columns) > 1 else list(columns[0])


def spark(
    series: Series,
    cells: int,
    scale: Scale,
    glyphs: Glyphs,
    *,
    divide_by: float | None = None,
    style: str = "spark",
) -> list[Span]:
    """A sparkline of exactly ``cells`` cells by each cell's maximum; values over the scale are styled ``peak``.

    Args:
        series: The values.
        cells: Cells to fill.
        scale: The shared scale.
        glyphs: The signs to use.
        divide_by: Each value is divided by this first (values against their own median).
        style: Style of the bars.
    """
    if cells <= 0:
        return []
    highs = tops(series, cells * 2 if glyphs.is_braille else cells)
    if divide_by:
        factor = 1.0 / divide_by
        highs = [high * factor for high in highs]
    if glyphs.is_braille:
        return merged(_braille_cells(highs, scale, glyphs, style))
    levels = map(partial(bisect_right, thresholds(scale, len(glyphs.blocks))), highs)
    text = "".join(map(glyphs.blocks.__getitem__, levels))
    if min(highs) > _NOTHING and not scale.is_over(max(highs)):
        return [(text, style)]
    first = next((k for k, high in enumerate(highs) if high > _NOTHING), len(highs))
    out: list[Span] = [(" " * first, "gap")] if first else []
    for letter, high in zip(text[first:], highs[first:], strict=True):
        if high == _NOTHING:
            out.append((glyphs.gap, "gap"))
        else:
            out.append((letter, "peak" if scale.is_over(high) else style))
    return merged(out)


def _braille_cells(highs: Sequence[float], scale: Scale, glyphs: Glyphs, style: str) -> list[Span]:
    out: list[Span] = []
    seen = False
    for position in range(0, len(highs), 2):
        pair = highs[position : position + 2]
        if max(pair) == _NOTHING:
            out.append((glyphs.gap if seen else " ", "gap"))
            continue
        seen = True
        dots = 0
        for value, table in zip(pair, (_LEFT, _RIGHT), strict=True):
            if value > _NOTHING:
                dots |= table[scale.level(value, 4) + 1]
        out.append((chr(0x2800 + dots), "peak" if scale.is_over(max(pair)) else style))
    return out


def merged(spans: Sequence[Span]) -> list[Span]:
    """Runs of one style as one span."""
    return [("".join([text for text, _ in run]), style) for style, run in groupby(spans, itemgetter(1))]


def bar(fraction: float | None, cells: int, glyphs: Glyphs) -> str:
    """A horizontal bar of ``cells`` cells, in half-cell steps, cut at full."""
    if fraction is None or cells <= 0:
        return " " * max(cells, 0)
    halves = round(min(max(fraction, 0.0), 1.0) * cells * 2)
    full, half = divmod(halves, 2)
    text = glyphs.bar_full * full + (glyphs.bar_half if half else "")
    return text + glyphs.bar_empty * (cells - len(text))
