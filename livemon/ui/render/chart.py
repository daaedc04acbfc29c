"""Charts of several rows: one series as bars, quantile bands, a histogram; scales on the left."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.snapshot import Series
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, fit
from livemon.ui.render.numbers import milliseconds
from livemon.ui.render.scale import Scale, nice_linear
from livemon.ui.render.spark import bar, points

LABEL = 9
"""Cells of the scale on the left."""


def scale_for(series: Sequence[Series], unit: str) -> Scale:
    """A linear scale that holds the greatest value of these series."""
    highs = [value for one in series for value in one.high if value is not None]
    return nice_linear(max(highs, default=1.0), unit)


def _label(row: int, height: int, scale: Scale) -> Span:
    if row == 0:
        return fit(f"{milliseconds(scale.high)} {scale.unit}", LABEL - 1, ">") + " ", "muted"
    if row == height - 1:
        return fit(milliseconds(scale.low), LABEL - 1, ">") + " ", "muted"
    return " " * LABEL, "muted"


def bars(series: Series, cells: int, height: int, scale: Scale, glyphs: Glyphs, *, style: str = "spark") -> list[Line]:
    """A series as columns of ``height`` rows by each cell's maximum; gaps are drawn along the bottom."""
    room = max(cells - LABEL, 1)
    columns = points(series, room)
    steps = len(glyphs.blocks)
    lines: list[Line] = []
    for row in range(height):
        floor = (height - 1 - row) * steps
        spans: list[Span] = [_label(row, height, scale)]
        text = ""
        for point in columns:
            if point is None:
                text += glyphs.gap if row == height - 1 else " "
                continue
            level = scale.level(point[1], steps * height) + 1 - floor
            text += " " if level <= 0 else glyphs.blocks[min(level, steps) - 1]
        spans.append((text, style))
        lines.append(tuple(spans))
    return lines


def bands(
    median: Series, p90: Series, p99: Series, cells: int, height: int, scale: Scale, glyphs: Glyphs
) -> list[Line]:
    """Median, P90 and P99 over time, each with its own sign (``5``, ``9``, ``^``), lines between them."""
    room = max(cells - LABEL, 1)
    columns = list(zip(points(median, room), points(p90, room), points(p99, room), strict=True))
    lines: list[Line] = []
    for row in range(height):
        level = height - 1 - row
        spans: list[Span] = [_label(row, height, scale)]
        for low, middle, high in columns:
            if low is None:
                sign: Span = (glyphs.gap if level == 0 else " ", "gap")
            else:
                at_low = scale.level(low[1], height)
                at_middle = at_low if middle is None else scale.level(middle[1], height)
                at_high = at_middle if high is None else scale.level(high[1], height)
                if level == at_low:
                    sign = ("5", "p50")
                elif level == at_middle:
                    sign = ("9", "p90")
                elif level == at_high:
                    sign = ("^", "p99")
                elif at_low < level < at_high:
                    sign = (glyphs.dot, "muted")
                else:
                    sign = (" ", "text")
            if spans[-1][1] == sign[1]:
                spans[-1] = (spans[-1][0] + sign[0], sign[1])
            else:
                spans.append(sign)
        lines.append(tuple(spans))
    return lines


def histogram(edges: Sequence[float], counts: Sequence[int], cells: int, most_rows: int, glyphs: Glyphs) -> list[Line]:
    """Bins as rows: from, to, a bar, the count; neighbouring bins merge until they fit into ``most_rows``."""
    first = next((n for n, count in enumerate(counts) if count), None)
    if first is None:
        return []
    last = max(n for n, count in enumerate(counts) if count)
    factor = max(-(-(last - first + 1) // max(most_rows, 1)), 1)
    bins: list[tuple[float, float, int]] = []
    for start in range(first, last + 1, factor):
        end = min(start + factor, last + 1)
        bins.append((edges[start], edges[end], sum(counts[start:end])))
    most = max(count for _, _, count in bins)
    room = max(cells - 26, 4)
    lines: list[Line] = []
    for low, high, count in bins:
        label = f"{fit(milliseconds(low), 6, '>')}–{fit(milliseconds(high), 6)} ms "
        lines.append(
            (
                (glyphs.ascii_only(label), "muted"),
                (bar(count / most, room, glyphs).replace(glyphs.bar_empty, " "), "spark"),
                (f" {count}", "text"),
            )
        )
    return lines
