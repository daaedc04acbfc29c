"""Columns: which fit into a width, how wide each is, their header and their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, fit, width


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    key: str
    title: str
    cells: int
    """Width without the space after it; for a stretching column its least width."""
    align: str = ">"
    priority: int = 0
    """Columns with the highest number go first when there is no room; 0 never goes."""
    stretch: int = 0
    """Share of the room that is left over; 0 keeps its width."""
    most: int = 1000
    """Greatest width of a stretching column."""
    from_width: int = 0
    """Least width of the whole panel at which it is shown: what others need more comes first."""
    about: str = ""
    """What it says, for the help."""


Widths = tuple[tuple[Column, int], ...]


def choose(columns: Sequence[Column], cells: int, hidden: Sequence[str] = ()) -> Widths:
    """The columns that fit into ``cells`` with their widths; they use all of it where one can stretch."""
    chosen = [
        column
        for column in columns
        if column.priority == 0 or (column.key not in hidden and cells >= column.from_width)
    ]

    def needed() -> int:
        return sum(column.cells for column in chosen) + max(len(chosen) - 1, 0)

    while needed() > cells and any(column.priority for column in chosen):
        chosen.remove(max(reversed(chosen), key=lambda column: column.priority))
    widths = {column.key: column.cells for column in chosen}
    left = cells - needed()
    while left > 0:
        growing = [c for c in chosen if c.stretch and widths[c.key] < c.most]
        if not growing:
            break
        total = sum(column.stretch for column in growing)
        given = 0
        for column in growing:
            extra = min(max(left * column.stretch // total, 1), column.most - widths[column.key], left - given)
            widths[column.key] += extra
            given += extra
        left -= given
    if left < 0 and chosen:
        first = chosen[0]
        widths[first.key] = max(widths[first.key] + left, 1)
    return tuple((column, widths[column.key]) for column in chosen)


def header(widths: Widths, titles: dict[str, tuple[str, ...]], glyphs: Glyphs, *, sorted_by: str = "") -> Line:
    """The line of titles; ``titles`` replaces single ones by the first that fits, the sort column carries ``▼``."""
    spans: list[Span] = []
    for position, (column, cells) in enumerate(widths):
        choices = titles.get(column.key, (column.title,))
        title = glyphs.ascii_only(next((text for text in choices if width(text) <= cells), choices[-1]))
        if column.key == sorted_by:
            title = title[: max(cells - 1, 0)] + glyphs.down
        spans.append((fit(title, cells, column.align, glyphs.more), "header"))
        if position + 1 < len(widths):
            spans.append((" ", "header"))
    return tuple(spans)


def column_at(widths: Widths, x: int) -> str | None:
    """Key of the column under a cell."""
    start = 0
    for column, cells in widths:
        if start <= x < start + cells:
            return column.key
        start += cells + 1
    return None
