"""A document as values: what a report says, before it is text, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "critical", "unknown"]
LEVEL_WORDS: dict[Level, str] = {"ok": "OK", "warning": "WARNING", "critical": "CRITICAL", "unknown": "CAN'T TELL"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the document's title."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, wrapped by whoever prints it."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding, or the statement that there is none, in one sentence."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    is_number: bool = True
    keep: int = 1
    """1 is always shown; where space is short the highest numbers go first."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing; only HTML shows it."""

    svg: str
    caption: str


Block = Heading | Paragraph | Bullets | Verdict | Facts | Table | Figure
Blocks = Iterable[Block]


def columns(*titles: str) -> tuple[Column, ...]:
    """Columns from titles: a leading ``<`` makes it text, trailing ``?`` signs let it go when space is short.

    >>> columns("<stage", "n", "min??")[2]
    Column(title='min', is_number=True, keep=3)
    """
    return tuple(
        Column(t.removeprefix("<").rstrip("?"), not t.startswith("<"), 1 + len(t) - len(t.rstrip("?"))) for t in titles
    )
