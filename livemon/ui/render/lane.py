"""The placement lane: the core class a thread ran on, over time, as a band of letters."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.snapshot import Lane
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Span
from livemon.ui.render.spark import end_cell

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


def lane(lane: Lane, cells: int, classes: Sequence[str], glyphs: Glyphs) -> list[Span]:
    """The newest part of a lane in ``cells`` cells.

    A letter is the class with most CPU time in the cell, in lower case when it was not clearly
    alone; ``·`` is idle, a blank is not observed.
    """
    if cells <= 0:
        return []
    letters = class_letters(classes)
    grouped = _grouped(lane, cells)
    out: list[Span] = []
    for weights in grouped:
        if weights is None:
            text, style = " ", "gap"
        elif not weights:
            text, style = glyphs.idle, "muted"
        else:
            total = sum(weights.values())
            name = max((key for key in weights if key), key=lambda key: weights[key])
            letter = letters.get(name, "?")
            is_mixed = weights[name] < MIXED_BELOW * total
            text, style = (letter.lower() if is_mixed else letter), class_style(name, classes)
        if out and out[-1][1] == style:
            out[-1] = (out[-1][0] + text, style)
        else:
            out.append((text, style))
    return out


def _grouped(lane: Lane, cells: int) -> list[dict[str, float] | None]:
    """CPU share by class for each cell (``""``: other classes); ``{}`` idle, ``None`` not observed.

    Buckets fall into cells by their absolute number, as in sparklines, so both scroll together.
    """
    have = len(lane.classes)
    if have == 0:
        return [None] * cells
    first = lane.first_bucket
    end = end_cell(first, have, cells)
    out: list[dict[str, float] | None] = [None] * cells
    if cells >= have:
        for place in range(cells):
            offset = (end - cells + place) * have // cells - first
            if 0 <= offset < have:
                out[place] = _add(None, lane.classes[offset], lane.shares[offset])
        return out
    for offset in range(have):
        place = max((first + offset) * cells // have - (end - cells), 0)
        out[place] = _add(out[place], lane.classes[offset], lane.shares[offset])
    return out


def _add(weights: dict[str, float] | None, name: str | None, share: float | None) -> dict[str, float] | None:
    if name is None:
        return weights
    weights = {} if weights is None else weights
    if name:
        part = 1.0 if share is None else share
        weights[name] = weights.get(name, 0.0) + part
        if part < 1.0:
            weights[""] = weights.get("", 0.0) + 1.0 - part
    return weights
