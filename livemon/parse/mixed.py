"""Lines that mix forms: ``step=12 prefill: 12.3ms decode=45ms total 60 ms``.

Prose is read only where asked for (``labels``). But a line with a measured ``key=value`` pair is a timing
line, and what stands beside the pair in the same line is read with it: ``name: 12.3 ms``, ``name 60 ms``,
``name (60 ms)``, ``name took 60 ms``, ``name (ms): 60``. The name must be clear: one to three words right
before the number that belong to no sentence. A counter (``step=12``) makes a timing line too, where a
colon or a second value says that it is no sentence. Quoted text and the pairs themselves are not searched.
"""

from __future__ import annotations

import re
from typing import Final

from livemon.parse import context, keys, labels, units
from livemon.parse.keyvalue import PAIR, id_in_text, is_progress, pairs_of, read_keyvalue
from livemon.parse.reading import Draft, Reading, take_pairs, trait_of

_REST = re.compile(rf"[ \t(\[:]\d[\d.,]*[ \t]?(?:{units.UNIT}(?![\w/])|[mh]\d)")
"""Looked for first: a number with a unit that is no value of a pair."""
_UNIT_FIRST = re.compile(rf"\({units.UNIT}\)|_{units.UNIT}[ ]{{0,8}}(?::|[ ]=)")
_UNIT_FIRST_HINTS: Final = ("s)", "s:", "c:", "s :", "c :", "s =", "c =")
_COUNTER_HINTS: Final = tuple(f"{key}=" for key in sorted(keys.COUNTER_KEYS))
_COUNTER = re.compile(
    rf"(?<![\w.\-/@#\"'=?&])(?:{'|'.join(sorted(keys.COUNTER_KEYS, key=len, reverse=True))})=[ ]?\d{{1,18}}(?![\w.])"
)
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<!\w)'[^']*'(?!\w)")
_FILL: Final = "|"
"""Stands for what is not searched; it bounds names as it does in prose."""
_BEFORE = re.compile(r"([A-Za-z][^|;\t\[\]{}<>\"]*?)[ \t]{0,8}[(\[]?[ \t]?$")
_WORD = re.compile(r"[A-Za-z_](?:[A-Za-z_.\-/+]|\d(?=[A-Za-z_]))*\d?")
_TOOK: Final = frozenset(("took", "takes"))
_LEADING: Final = frozenset(
    ("and", "then", "plus", "incl", "incl.", "including", "with", "done", "ok", "finished", "completed", "complete",
     "succeeded", "failed", "ended", "ready", "success", "processed", "info", "debug", "trace", "warn", "warning",
     "error")
)  # fmt: skip
"""Words before a name that are none of it: what joins it, how it went, how grave it is."""
_NOT_NAMES: Final = frozenset(
    ("error", "err", "warning", "note", "reason", "cause", "code", "msg", "message", "result", "hint", "GET", "POST",
     "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS",
     "until", "since", "up", "more", "less", "another", "exactly", "roughly",
     "approximately", "around", "nearly", "almost", "already", "still", "per", "each", "every", "ok", "when", "while",
     "if", "because", "was", "were", "are", "has", "had", "have", "not", "no")
)  # fmt: skip
"""Last words that name no stage."""
_LAST_VALUE = re.compile(rf"(?:^|[\s|,(\[])[\d.]+[ \t]?{units.UNIT}$")
_NEAR_CHARS: Final = 64
_LONGEST: Final = 3
"""Words of a name that no colon ends."""


def read_mixed(
    text: str,
    reading: Reading,
    declared: dict[str, str],
    bare_unit: str | None,
    *,
    decimal_comma: bool = False,
    with_prose: bool = False,
) -> bool:
    """Read the pairs of a line, and what is clear beside them; false if there is nothing that could be a duration.

    Args:
        text: The line.
        reading: Takes the outcome.
        declared: Name -> unit.
        bare_unit: Unit of bare numbers.
        decimal_comma: Whether ``0,60`` is a number.
        with_prose: Also read what only prose names, as ``labels`` does.
    """
    if "=" not in text:
        return False
    if read_keyvalue(text, reading, declared, bare_unit, decimal_comma=decimal_comma):
        if reading.drafts and _has_rest(text):
            _read_beside(text, reading.drafts[-1], reading, with_prose)
        return True
    for hint in _COUNTER_HINTS:
        if hint in text:
            return _COUNTER.search(text) is not None and _has_rest(text) and _read_counted(text, reading)
    return False


def _has_rest(text: str) -> bool:
    """Whether anything beside the pairs could be a duration."""
    if _REST.search(text) is not None:
        return True
    for hint in _UNIT_FIRST_HINTS:
        if hint in text:
            return _UNIT_FIRST.search(text) is not None
    return False


def _read_beside(text: str, draft: Draft, reading: Reading, with_prose: bool) -> None:
    """Add what stands beside the pairs that were read, in the order of the line."""
    own = context.own_text(text)
    beside = Draft(draft.source)
    places: dict[str, int] = {}
    before = len(reading.problems)

    def naming(rest: str, match: re.Match[str], named_from: int, taking: Draft) -> tuple[str, bool]:
        name, is_planned = _clear(rest, match, named_from, taking)
        if not name and not is_planned and with_prose:
            name, is_planned = labels.named(rest, match, named_from, taking)
        if name:
            places.setdefault(name, match.start())
        return name, is_planned

    rest = _without_pairs(own)
    labels.take_named(rest, beside, reading, naming)
    if not beside.stages and len(reading.problems) == before:
        return
    if context.has_generic(beside.stages) and context.is_waiting(context.message_of(text)):
        beside.stages = [stage for stage in beside.stages if stage[0] not in context.GENERIC]
    taken = {name for name, _ in draft.stages}
    added = [stage for stage in beside.stages if stage[0] not in taken]
    for match in PAIR.finditer(own):
        places.setdefault(match[1], match.start())
        places.setdefault(trait_of(match[1]).stem, match.start())
    draft.stages = sorted([*draft.stages, *added], key=lambda stage: places.get(stage[0], rest.find(stage[0])))
    if draft.unit is None:
        draft.unit = beside.unit


def _read_counted(text: str, reading: Reading) -> bool:
    """Read a line whose only pairs are a counter and other facts."""
    if is_progress(text):
        return False
    own = context.own_text(text)
    draft = Draft("keyvalue")
    before = len(reading.problems)
    take_pairs(draft, reading, pairs_of(own), bare_unit=None, declared={}, decimal_comma=False)
    beside = Draft("keyvalue")
    labels.take_named(_without_pairs(own), beside, reading, _clear)
    is_clear = len(beside.stages) > 1 or any(f"{name}:" in own or f"{name} :" in own for name, _ in beside.stages)
    if not is_clear or (context.has_generic(beside.stages) and context.is_waiting(context.message_of(text))):
        del reading.problems[before:]
        return False
    draft.stages = beside.stages
    draft.unit = draft.unit or id_in_text(text) or beside.unit
    reading.rule = "keyvalue"
    reading.drafts.append(draft)
    return True


def _without_pairs(text: str) -> str:
    """The text with ``|`` for each character of its pairs and quotes."""
    return PAIR.sub(_fill, _QUOTED.sub(_fill, text[: labels.SEARCHED_CHARS]))


def _fill(match: re.Match[str]) -> str:
    return _FILL * len(match[0])


def _clear(text: str, match: re.Match[str], named_from: int, draft: Draft) -> tuple[str, bool]:
    """The name of the value at ``match`` where it is clear, and whether the value is planned."""
    before = text[max(named_from, match.start() - 200) : match.start()]
    if labels.COLON.search(before):
        name, is_planned = labels.named(text, match, named_from, draft)
        return ("", False) if _is_no_name(name) else (name, is_planned)
    found = _BEFORE.search(before)
    if found is None or not _closes(text, match, before):
        return "", False
    clause = labels.last_clause(found[1])
    words = clause.replace(",", " ").split() if clause.rstrip().endswith(",") else clause.split()
    if labels.PLANNED.search(clause):
        return "", True
    if words and words[-1].lower() in _TOOK:
        words.pop()
    while words and words[0].lower() in _LEADING:
        words.pop(0)
    if not 1 <= len(words) <= _LONGEST or not all(_WORD.fullmatch(word) for word in words):
        return "", False
    start = before.rfind(clause)
    if named_from and not before[:start].strip(" \t") and _is_unnamed(text, named_from):
        return "", False
    if len(words) == 1 and words[0].endswith("s") and before[:start].rstrip()[-1:].isdigit():
        return "", False  # ``12 files 3 s``: several units
    name = " ".join(words)
    return ("", False) if _is_no_name(name) else (name, False)


def _is_no_name(name: str) -> bool:
    last = name.rpartition(" ")[2]
    return last in _NOT_NAMES or last.lower() in _NOT_NAMES or last.lower() in labels.NO_ENDS


def _closes(text: str, match: re.Match[str], before: str) -> bool:
    """Whether a bracket that opens right before the value closes right behind it, or holds another named value."""
    if before.rstrip()[-1:] not in ("(", "["):
        return True
    return text[match.end() : match.end() + 1] in (")", "]")


def _is_unnamed(text: str, end: int) -> bool:
    """Whether the value that ends at ``end`` has no name before it: ``1 ms pre 8 ms run``."""
    text = text[max(0, end - _NEAR_CHARS) : end]
    start = _LAST_VALUE.search(text)
    if start is None:
        return False
    head = text[: start.start() + 1].rstrip(" \t")
    return not head or not (head[-1].isalnum() or head[-1] in ":=)]([_") or head[-1].isdigit()
