"""Sparklines: a series in one row of cells; peaks survive, gaps stay gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Span
from livemon.ui.render.scale import Scale

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


def points(series: Series, count: int) -> list[Point]:
    """The series in exactly ``count`` points, oldest first; no point is lost and none is invented.

    Several buckets in one point keep their minimum and maximum; a bucket may also fill several
    points. Which point a bucket falls into depends on its absolute number alone, so a scrolling
    chart moves without changing its shape.
    """
    have = len(series.high)
    if count <= 0:
        return []
    if have == 0:
        return [None] * count
    low, high = series.low, series.high
    first = series.first_bucket
    end = end_cell(first, have, count)
    out: list[Point] = []
    if count >= have:
        for cell in range(end - count, end):
            offset = cell * have // count - first
            value = high[offset] if 0 <= offset < have else None
            out.append(None if value is None else (_or(low[offset], value), value))
        return out
    out = [None] * count
    base = end - count
    for offset in range(have):
        value = high[offset]
        if value is None:
            continue
        # What sticks out on the left by part of a point goes into the first one.
        place = max((first + offset) * count // have - base, 0)
        least = _or(low[offset], value)
        before = out[place]
        out[place] = (least, value) if before is None else (min(before[0], least), max(before[1], value))
    return out


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


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
    wanted = points(series, cells * 2 if glyphs.is_braille else cells)
    factor = 1.0 / divide_by if divide_by else 1.0
    highs = [None if point is None else point[1] * factor for point in wanted]
    if glyphs.is_braille:
        return _merge(_braille_cells(highs, scale, glyphs, style))
    steps = len(glyphs.blocks)
    out: list[Span] = []
    seen = False
    for high in highs:
        if high is None:
            out.append((glyphs.gap if seen else " ", "gap"))
            continue
        seen = True
        out.append((glyphs.blocks[scale.level(high, steps)], "peak" if scale.is_over(high) else style))
    return _merge(out)


def _braille_cells(highs: Sequence[float | None], scale: Scale, glyphs: Glyphs, style: str) -> list[Span]:
    out: list[Span] = []
    seen = False
    for position in range(0, len(highs), 2):
        left, right = highs[position], highs[position + 1]
        if left is None and right is None:
            out.append((glyphs.gap if seen else " ", "gap"))
            continue
        seen = True
        dots = 0
        is_over = False
        for value, table in ((left, _LEFT), (right, _RIGHT)):
            if value is not None:
                dots |= table[scale.level(value, 4) + 1]
                is_over = is_over or scale.is_over(value)
        out.append((chr(0x2800 + dots), "peak" if is_over else style))
    return out


def _merge(spans: Sequence[Span]) -> list[Span]:
    out: list[Span] = []
    for text, style in spans:
        if out and out[-1][1] == style:
            out[-1] = (out[-1][0] + text, style)
        else:
            out.append((text, style))
    return out


def bar(fraction: float | None, cells: int, glyphs: Glyphs) -> str:
    """A horizontal bar of ``cells`` cells, in half-cell steps, cut at full."""
    if fraction is None or cells <= 0:
        return " " * max(cells, 0)
    halves = round(min(max(fraction, 0.0), 1.0) * cells * 2)
    full, half = divmod(halves, 2)
    text = glyphs.bar_full * full + (glyphs.bar_half if half else "")
    return text + glyphs.bar_empty * (cells - len(text))
