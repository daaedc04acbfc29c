"""Styled text with no terminal in sight: a line is a tuple of (text, style name) pairs.

Everything in ``ui/render`` returns these, so what is drawn can be tested as exact strings. Widths
are in terminal cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

Span = tuple[str, str]
"""Text and the name of its style (see ``ui/palettes.py``)."""
Line = tuple[Span, ...]
Row = tuple[Line, str]
"""A line and its base style: ``""``, ``sel`` (selected), ``head`` (panel title), ``bar``."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def width(text: str) -> int:
    """Cells that ``text`` takes."""
    return len(text) if text.isascii() else cell_len(text)


def clean(text: str) -> str:
    """Text from outside made safe to draw: escape sequences removed, tabs to spaces, controls to ``·``."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("·", _ANSI.sub("", text).replace("\t", "    "))


def fit(text: str, cells: int, align: str = "<", more: str = "…") -> str:
    """``text`` in exactly ``cells`` cells: padded (``<``, ``>`` or ``^``), or cut with ``more`` at the end."""
    if cells <= 0:
        return ""
    have = width(text)
    if have > cells:
        return set_cell_size(text, cells - 1) + more
    if have == cells:
        return text
    space = cells - have
    if align == ">":
        return " " * space + text
    if align == "^":
        return " " * (space // 2) + text + " " * (space - space // 2)
    return text + " " * space


def line_width(line: Iterable[Span]) -> int:
    """Cells of a whole line."""
    return sum(width(text) for text, _ in line)


def plain(line: Iterable[Span]) -> str:
    """The text of a line without its styles."""
    return "".join(text for text, _ in line)


def fit_line(line: Iterable[Span], cells: int, more: str = "…") -> Line:
    """The line in exactly ``cells`` cells, padded with spaces or cut with ``more``; runs of one style merged."""
    out: list[Span] = []
    left = cells
    spans = [span for span in line if span[0]]
    for position, (text, style) in enumerate(spans):
        have = width(text)
        if have > left or (have == left and position + 1 < len(spans) and any(t for t, _ in spans[position + 1 :])):
            kept = fit(text + " " if have == left else text, left, more=more)
            left = 0
        else:
            kept = text
            left -= have
        if out and out[-1][1] == style:
            out[-1] = (out[-1][0] + kept, style)
        elif kept:
            out.append((kept, style))
        if left <= 0:
            break
    if left > 0:
        if out and out[-1][1] in ("", "text"):
            out[-1] = (out[-1][0] + " " * left, out[-1][1])
        else:
            out.append((" " * left, "text"))
    return tuple(out)


_UNIT = re.compile(r"(?<=\d) (?=(?:n?s|ms|min|h|%|[kMG]?B|units?/s|×)(?![\w/]))")


def wrap(text: str, cells: int) -> list[str]:
    """Text broken at spaces into pieces of at most ``cells`` cells; a longer word is cut, a number keeps its unit."""
    cells = max(cells, 1)
    lines: list[str] = []
    current = ""
    for whole in _UNIT.sub("\0", text).split():
        word = whole.replace("\0", " ")
        while width(word) > cells:
            if current:
                lines.append(current)
                current = ""
            piece = set_cell_size(word, cells).rstrip() or word[:1]
            lines.append(piece)
            word = word[len(piece) :]
        if not word:
            continue
        if current and width(current) + 1 + width(word) > cells:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    if current or not lines:
        lines.append(current)
    return lines
