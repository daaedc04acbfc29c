"""Rows as cells, and where two of them differ: what a change on the screen costs is decided here.

A cell is one object for each letter in each style, so that rows are compared by identity: most of
what is drawn in a frame was drawn in the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.style import Style

JOIN_BYTES = 4
"""Unchanged text between two changes in one style that is as cheap to write again as to jump over."""
MOST_LETTERS = 4096
"""Letters that are remembered in a style; a log in many scripts begins anew beyond."""

Cell = tuple[str, "Style | None"]
"""A letter and its style."""
NO_CELL: Cell = ("", None)
"""Stands for a letter that is not one cell wide."""


class _Letters(dict[str, Cell]):
    """The cells of one style by letter, each made once."""

    def __init__(self, style: Style | None) -> None:
        self._style = style

    def __missing__(self, letter: str) -> Cell:
        if len(self) >= MOST_LETTERS:
            self.clear()
        cell = self[letter] = (letter, self._style) if cell_len(letter) == 1 else NO_CELL
        return cell


class CellTable:
    """Makes cells of text; cells of one table can be compared by identity.

    After a style has had ``MOST_LETTERS`` letters, equal cells may be two objects: more is then written than
    has changed, never less.
    """

    def __init__(self) -> None:
        self._styles: dict[Style | None, _Letters] = {}

    def letters(self, style: Style | None) -> _Letters:
        """The cells of a style; equal styles share them."""
        found = self._styles.get(style)
        if found is None:
            found = self._styles[style] = _Letters(style)
        return found

    def cells(self, segments: Sequence[Segment]) -> list[Cell] | None:
        """The cells of a row; ``None`` when a letter is not one cell wide."""
        out: list[Cell] = []
        for text, style, _ in segments:
            out += map(self.letters(style).__getitem__, text)
        return None if NO_CELL in out else out


def differences(was: Sequence[Cell], now: Sequence[Cell]) -> list[tuple[int, list[Segment]]]:
    """The stretches of ``now`` that differ from ``was``, a row of the same length: (first cell, segments)."""
    out: list[tuple[int, list[Segment]]] = []
    first = end = -1
    style: Style | None = None

    def close() -> None:
        if first >= 0:
            out.append((first, [Segment("".join([cell[0] for cell in now[first:end]]), style)]))

    for x in compress(range(len(now)), map(is_not, now, was)):
        if first >= 0 and now[x][1] is style and (x == end or _is_joined(now, end, x)):
            end = x + 1
            continue
        close()
        first, end, style = x, x + 1, now[x][1]
    close()
    return out


def _is_joined(cells: Sequence[Cell], end: int, x: int) -> bool:
    """Whether it is cheaper to write the cells between two changes again than to jump over them."""
    if x - end > JOIN_BYTES:
        return False
    between = cells[end:x]
    style = cells[x][1]
    if any(cell[1] is not style for cell in between):
        return False
    return len("".join([cell[0] for cell in between]).encode()) <= JOIN_BYTES
