"""Log lines: time, number, text with the fields that were read from it highlighted."""

from __future__ import annotations

import re

from livemon.model.snapshot import LogLine
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, clean, fit
from livemon.ui.render.numbers import Stamps


def log_line(
    line: LogLine,
    stamps: Stamps,
    glyphs: Glyphs,
    *,
    is_cursor: bool,
    needles: tuple[str, ...] = (),
    first_column: int = 0,
) -> Line:
    """One line; ``▌`` at the one nearest to the time cursor; letters before ``first_column`` are out of sight."""
    sign: Span = (glyphs.cursor, "title") if is_cursor else (" ", "text")
    when = stamps.time(line.t_ns, places=3) if line.t_ns is not None else glyphs.missing
    head: list[Span] = [sign, (fit(when, 13), "muted"), (f"{line.line:>7} " if line.line else " " * 8, "muted")]
    if not line.is_text:
        return (*head, (glyphs.ascii_only(clean(line.text)), "warn"))
    text = clean(line.text)
    return (*head, *_from_column(highlighted(text, tuple(name for name, _ in line.stages), needles), first_column))


def _from_column(spans: list[Span], first: int) -> list[Span]:
    out: list[Span] = []
    for text, style in spans:
        if first < len(text):
            out.append((text[first:], style))
        first = max(first - len(text), 0)
    return out


def highlighted(text: str, names: tuple[str, ...], needles: tuple[str, ...]) -> list[Span]:
    """The text with ``name=value`` of these names marked as fields and the needles as matches."""
    marks = ["" for _ in text]
    for name in names:
        pattern = r"(?<![\w.])" + re.escape(name) + r"[\"']?\s*[=:]\s*[\d.eE+-]+\s*(?:ms|us|ns|s)?\b"
        for found in re.finditer(pattern, text):
            for place in range(*found.span()):
                marks[place] = "field"
    lowered = text.lower()
    for needle in needles:
        start = lowered.find(needle) if needle else -1
        while start >= 0 and len(lowered) == len(text):
            for place in range(start, start + len(needle)):
                marks[place] = "match"
            start = lowered.find(needle, start + len(needle))
    spans: list[Span] = []
    for letter, mark in zip(text, marks, strict=True):
        style = mark or "text"
        if spans and spans[-1][1] == style:
            spans[-1] = (spans[-1][0] + letter, style)
        else:
            spans.append((letter, style))
    return spans
