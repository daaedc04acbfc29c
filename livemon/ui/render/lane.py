"""The placement lane: the core class a thread ran on, over time, as a band of letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from livemon.model.snapshot import Lane
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Span
from livemon.ui.render.spark import merged, slices

MIXED_BELOW = 0.75
"""A bucket whose main class has less than this share of its CPU time is drawn in lower case."""

Letters = dict[str, str]


def class_letters(classes: Sequence[str]) -> Letters:
    """One capital letter for each core class, its own initial where that is free; ``unknown`` is ``?``."""
    letters: Letters = {"unknown": "?"}
    taken = {"?"}
    for name in classes:
        if name in letters:
            continue
        wanted = [c.upper() for c in name if c.isascii() and c.isalnum()] + [chr(65 + n) for n in range(26)]
        letter = next((c for c in wanted if c not in taken), "?")
        letters[name] = letter
        taken.add(letter)
    return letters


def class_style(core_class: str | None, classes: Sequence[str]) -> str:
    """Style of a class: the fastest is ``class0``, the slowest of several ``class1``, those between ``class2``."""
    if core_class is None or core_class not in classes:
        return "muted"
    position = list(classes).index(core_class)
    if position == 0:
        return "class0"
    return "class1" if position == len(classes) - 1 else "class2"


@lru_cache(maxsize=64)
def _signs(classes: tuple[str, ...]) -> dict[str, Span]:
    """How each class is drawn where it is clearly alone."""
    letters = class_letters(classes)
    return {name: (letter, class_style(name, classes)) for name, letter in letters.items()}


class _Drawn(dict[tuple[str | None, bool], Span]):
    """A cell by its class and whether that was not clearly alone, each made once."""

    def __init__(self, classes: tuple[str, ...], glyphs: Glyphs) -> None:
        self._signs, self._idle = _signs(classes), glyphs.idle

    def __missing__(self, cell: tuple[str | None, bool]) -> Span:
        name, is_mixed = cell
        if not name:
            span = (" ", "gap") if name is None else (self._idle, "muted")
        else:
            letter, style = self._signs.get(name) or ("?", "muted")
            span = (letter.lower() if is_mixed else letter, style)
        self[cell] = span
        return span


@lru_cache(maxsize=16)
def _drawn(classes: tuple[str, ...], glyphs: Glyphs) -> _Drawn:
    return _Drawn(classes, glyphs)


def lane(lane: Lane, cells: int, classes: Sequence[str], glyphs: Glyphs) -> list[Span]:
    """The newest part of a lane in ``cells`` cells.

    A letter is the class with most CPU time in the cell, in lower case when it was not clearly
    alone; ``·`` is idle, a blank is not observed. Buckets fall into cells as in sparklines, so both
    scroll together.
    """
    if cells <= 0:
        return []
    if not lane.buckets:
        return [(" " * cells, "gap")]
    prepared = lane.prepared_mains(slices(lane.first_bucket % lane.buckets, lane.buckets, cells))
    if prepared is not None:
        # Of one thread after the other the same few cells come again and again.
        drawn = _drawn(tuple(classes), glyphs)
        return merged([drawn[name, share < MIXED_BELOW] for name, share in zip(*prepared, strict=True)])
    signs = _signs(tuple(classes))
    out: list[Span] = []
    for name, share in _cells(lane, cells):
        if not name:
            out.append((" ", "gap") if name is None else (glyphs.idle, "muted"))
            continue
        letter, style = signs.get(name) or ("?", "muted")
        out.append((letter.lower(), style) if share < MIXED_BELOW else (letter, style))
    return merged(out)


def _cells(lane: Lane, cells: int) -> Iterator[tuple[str | None, float]]:
    """The class with most CPU time in each cell and its share, as ``_most``."""
    have = lane.buckets
    parts = slices(lane.first_bucket % have, have, cells)
    names, shares = lane.classes, lane.shares
    if have > 2 * cells:
        yield from (_most(names[part], shares[part]) for part in parts)
        return
    for part in parts:
        # One bucket, or two that tell the same: as a rule.
        first, last = part.start, part.stop - 1
        if 0 <= last - first <= 1 and names[first] == names[last]:
            one, other = shares[first], shares[last]
            if one is not None and other is not None:
                yield names[first], (one + other) / 2
                continue
        yield _most(names[part], shares[part])


def _most(names: Sequence[str | None], shares: Sequence[float | None]) -> tuple[str | None, float]:
    """The class with most CPU time in some buckets and its share; ``""``: all are idle, ``None``: none is known."""
    found: str | None = None
    weight, busy, is_idle = 0.0, 0, False
    for name, share in zip(names, shares, strict=True):
        if not name:
            is_idle = is_idle or name is not None
            continue
        if found is not None and name != found:
            return _most_of_several(names, shares)
        found = name
        busy += 1
        weight += 1.0 if share is None else share
    if found is None:
        return ("" if is_idle else None), 1.0
    return found, weight / busy


def _most_of_several(names: Sequence[str | None], shares: Sequence[float | None]) -> tuple[str, float]:
    weights: dict[str, float] = {}
    busy = 0
    for name, share in zip(names, shares, strict=True):
        if name:
            busy += 1
            weights[name] = weights.get(name, 0.0) + (1.0 if share is None else share)
    most = max(weights, key=weights.__getitem__)
    return most, weights[most] / busy
