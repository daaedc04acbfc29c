"""A document for a terminal: 80 columns by default, plain when piped."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator

from livemon.export.document import (
    LEVEL_WORDS,
    Block,
    Blocks,
    Bullets,
    Facts,
    Figure,
    Heading,
    Level,
    Paragraph,
    Table,
    Verdict,
)

_LEAST_TEXT = 12
"""A column of text is not made narrower than this."""
_CODE = re.compile(r"`[^`]+`")
_COLOURS: dict[Level, str] = {"ok": "32", "warning": "33", "critical": "31;1", "unknown": "36"}


def render_text(blocks: Blocks, *, width: int = 80, is_coloured: bool = False) -> str:
    """The document as lines of at most ``width`` columns (words longer than that stay whole)."""
    width = max(width, 40)
    lines: list[str] = []
    said: set[str] = set()
    for block in blocks:
        lines.extend(_lines(block, width, is_coloured, said))
    return "\n".join(lines).strip("\n") + "\n"


def _lines(block: Block, width: int, is_coloured: bool, said: set[str]) -> Iterator[str]:
    match block:
        case Heading(text, level):
            text = _clean(text)
            yield ""
            if level <= 2:
                yield _styled(text, "1", is_coloured)
                yield ("=" if level == 1 else "-") * min(cells(text), width)
            else:
                yield _styled(text, "1", is_coloured)
        case Paragraph(text):
            yield from _wrapped(text, width)
        case Bullets(items):
            for item in items:
                yield from _wrapped(item, width, "- ", "  ")
        case Verdict(level, text):
            word = LEVEL_WORDS[level]
            first, *rest = _wrapped(text, width, word + "  ", "  ")
            yield _styled(word, _COLOURS[level], is_coloured) + first[len(word) :]
            yield from rest
        case Facts(rows):
            label_width = max((cells(name) for name, _ in rows), default=0) + 2
            for name, value in rows:
                yield from _wrapped(value, width, _pad(name, label_width), " " * label_width)
        case Table():
            yield from _table(block, width, is_coloured, said)
        case Figure():
            return


def _table(table: Table, width: int, is_coloured: bool, said: set[str]) -> Iterator[str]:
    if table.caption:
        yield ""
        yield from _wrapped(table.caption, width)
    rows = [[_clean(cell) for cell in row] for row in table.rows]
    titles = [_clean(column.title) for column in table.columns]
    shown = list(range(len(table.columns)))
    widths = [max([cells(titles[i]), *(cells(row[i]) for row in rows)]) for i, column in enumerate(table.columns)]

    def total() -> int:
        return sum(widths[i] for i in shown) + 2 * (len(shown) - 1)

    left_out: list[str] = []
    while total() > width and max(table.columns[i].keep for i in shown) > 1:
        lowest = max(table.columns[i].keep for i in shown)
        gone = max(i for i in shown if table.columns[i].keep == lowest)
        shown.remove(gone)
        left_out.append(titles[gone])
    # Columns of text give way, the widest first. Words wrap under themselves; a name is cut with an ellipsis.
    texts = [i for i in shown if not table.columns[i].is_number]
    while total() > width and (wide := [i for i in texts if widths[i] > _LEAST_TEXT]):
        widths[max(wide, key=lambda i: (widths[i], i))] -= 1
    yield _styled(
        "  ".join(_cell(titles[i], widths[i], table.columns[i].is_number) for i in shown), "2", is_coloured
    ).rstrip()
    for row in rows:
        pieces = [_pieces(row[i], widths[i], is_last=i == shown[-1]) if i in texts else [row[i]] for i in shown]
        for n in range(max(map(len, pieces))):
            line = [part[n] if n < len(part) else "" for part in pieces]
            yield "  ".join(
                _cell(text, widths[i], table.columns[i].is_number) for i, text in zip(shown, line, strict=True)
            ).rstrip()
    note = f"(no room for: {', '.join(reversed(left_out))}; --json has all columns)"
    if left_out and note not in said:
        said.add(note)
        yield from _wrapped(note, width)


def _pieces(text: str, width: int, *, is_last: bool) -> list[str]:
    """A cell's text in lines, broken at spaces; a single word stays whole but in the last column."""
    if cells(text) <= width or (" " not in text and not is_last):
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=is_last) or [""]


def _cell(text: str, width: int, is_number: bool) -> str:
    if cells(text) > width:
        while cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return " " * (width - cells(text)) + text if is_number else _pad(text, width)


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    # A command in `code` is there to be copied: it is not broken over lines.
    whole = _CODE.sub(lambda match: match.group().replace(" ", "\0"), _clean(text))
    lines = textwrap.wrap(
        whole, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines] or [first.rstrip()]


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def cells(text: str) -> int:
    """Terminal cells that a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _clean(text: str) -> str:
    """Control characters from logs and thread names must not reach a terminal as commands."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _styled(text: str, code: str, is_coloured: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if is_coloured else text
