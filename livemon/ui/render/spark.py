"""Sparklines: a series in one row of cells; peaks survive, gaps stay gaps."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.snapshot import Series
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Span
from livemon.ui.render.scale import Scale

Point = tuple[float, float] | None
"""(minimum, maximum) of a cell; ``None`` is a gap."""

_LEFT = (0x00, 0x40, 0x44, 0x46, 0x47)
_RIGHT = (0x00, 0x80, 0xA0, 0xB0, 0xB8)


def points(series: Series, count: int) -> list[Point]:
    """The newest part of a series in ``count`` points, oldest first.

    When there are more buckets than points, neighbours merge on absolute bucket numbers (so a
    scrolling chart keeps its columns) and keep their minimum and maximum. When there are fewer,
    each bucket is repeated a whole number of times. Missing ones on the left are gaps.
    """
    have = len(series.high)
    if count <= 0:
        return []
    if have == 0:
        return [None] * count
    merged: list[Point] = []
    if have > count:
        factor = -(-have // count)
        group = None
        for offset in range(have):
            key = (series.first_bucket + offset) // factor
            low, high = series.low[offset], series.high[offset]
            if key != group:
                merged.append(None)
                group = key
            if high is None:
                continue
            low = high if low is None else low
            before = merged[-1]
            merged[-1] = (low, high) if before is None else (min(before[0], low), max(before[1], high))
    else:
        repeat = count // have
        for low, high in zip(series.low, series.high, strict=True):
            point: Point = None if high is None else (high if low is None else low, high)
            merged.extend([point] * repeat)
    if len(merged) < count:
        return [None] * (count - len(merged)) + merged
    return merged[-count:]


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
