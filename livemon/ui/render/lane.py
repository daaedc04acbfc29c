"""The placement lane: the core class a thread ran on, over time, as a band of letters."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.snapshot import Lane
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Span

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
    have = len(lane.classes)
    factor = max(-(-have // cells), 1)
    grouped: list[dict[str, float] | None] = []
    group = None
    for offset in range(have):
        key = (lane.first_bucket + offset) // factor
        if key != group:
            grouped.append(None)
            group = key
        name = lane.classes[offset]
        if name is None:
            continue
        weights = grouped[-1] if grouped[-1] is not None else {}
        share = lane.shares[offset]
        if name:
            part = 1.0 if share is None else share
            weights[name] = weights.get(name, 0.0) + part
            weights["/other"] = weights.get("/other", 0.0) + (1.0 - part)
        grouped[-1] = weights
    repeat = max(cells // max(len(grouped), 1), 1)
    out: list[Span] = []
    for weights in grouped:
        if weights is None:
            text, style = " ", "gap"
        elif not weights:
            text, style = glyphs.idle, "muted"
        else:
            other = weights.pop("/other", 0.0)
            name = max(weights, key=lambda key: weights[key])
            total = sum(weights.values()) + other
            letter = letters.get(name, "?")
            is_mixed = weights[name] < MIXED_BELOW * total
            text, style = (letter.lower() if is_mixed else letter), class_style(name, classes)
        for _ in range(repeat):
            if out and out[-1][1] == style:
                out[-1] = (out[-1][0] + text, style)
            else:
                out.append((text, style))
    filled = len(grouped) * repeat
    if filled < cells:
        return [(" " * (cells - filled), "gap"), *out]
    return _newest(out, cells, filled)


def _newest(spans: list[Span], cells: int, filled: int) -> list[Span]:
    skip = filled - cells
    out: list[Span] = []
    for text, style in spans:
        if skip >= len(text):
            skip -= len(text)
            continue
        out.append((text[skip:], style))
        skip = 0
    return out
