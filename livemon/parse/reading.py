"""What the readers of one line hand on: drafts of records, what was wrong, and which rule it was."""

from __future__ import annotations

from dataclasses import dataclass, field

from livemon.parse import keys, units
from livemon.parse.timestamps import Stamp


@dataclass(slots=True)
class Draft:
    """A record in the making: no line number yet, and a time only where its own text gave one."""

    source: str
    stages: list[tuple[str, float]] = field(default_factory=list)
    unit: str | None = None
    label: str | None = None
    pid: int | None = None
    tid: int | None = None
    fields: list[tuple[str, str]] = field(default_factory=list)
    stamp: Stamp | None = None
    start_ns: int | None = None
    is_untimed: bool = False
    """The line's stamps are not this record's (a span on another clock)."""


@dataclass(slots=True)
class Reading:
    """The outcome for one line."""

    drafts: list[Draft] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One entry per malformed value or torn record, in words."""
    rule: str = ""
    """Which rule took the line; empty: none did."""
    remark: str = ""
    """Why the rule gave nothing, where it is not a problem (a summary, a begin event)."""


def take_pairs(
    draft: Draft,
    reading: Reading,
    pairs: list[tuple[str, str]],
    *,
    bare_unit: str | None,
    declared: dict[str, str],
    decimal_comma: bool,
) -> None:
    """Sort ``key=value`` pairs into stages, ids, labels and fields.

    Args:
        draft: Takes the result.
        reading: Takes the problems.
        pairs: In the order of the line.
        bare_unit: Unit of bare numbers, where the format (or ``--unit '*=ms'``) says so.
        declared: Name -> unit, from ``--unit``; ``*`` is not among them.
        decimal_comma: Whether ``0,60`` is a number.
    """
    labels: dict[str, str] = {}
    ids: dict[str, str] = {}
    seen: set[str] = set()
    bare: list[tuple[int, str, str]] = []
    has_units = False
    for key, text in pairs:
        lowered = key.lower()
        if lowered in _IDS:
            ids.setdefault(lowered, text)
        if lowered in _LABELS and text:
            labels.setdefault(lowered, text)
        if key in seen:
            continue
        seen.add(key)
        unit = declared.get(key) or declared.get(key.rpartition(".")[2])
        name = key
        try:
            if unit is None:
                value = units.duration(text, decimal_comma=decimal_comma) if text and text[-1] in _UNIT_ENDS else None
                if value is None:
                    suffix = keys.unit_suffix(key)
                    if suffix is not None:
                        name, unit = suffix
                else:
                    has_units = True
                    suffix = keys.unit_suffix(key)
                    name = suffix[0] if suffix else key
            else:
                value = units.duration(text, decimal_comma=decimal_comma) if text and text[-1] in _UNIT_ENDS else None
            if value is None:
                if unit is not None and keys.is_measured(key):
                    if units.is_absent(text):
                        draft.fields.append((key, text))
                        continue
                    value = units.scaled(units.number(text, decimal_comma=decimal_comma), unit)
                elif unit is None and bare_unit is not None and lowered not in _IDS and keys.may_be_bare(key):
                    bare.append((len(draft.stages) + len(bare), key, text))
                    continue
                else:
                    _take_field(draft, key, text)
                    continue
        except units.MalformedError as problem:
            if keys.is_measured(key):
                reading.problems.append(f"{key}: {problem}")
            else:
                draft.fields.append((key, text))
            continue
        if keys.is_measured(key):
            if any(name == other for other, _ in draft.stages):
                name = key
            draft.stages.append((name, value))
        else:
            draft.fields.append((key, text))
    if bare and bare_unit is not None:
        _take_bare(draft, reading, bare, bare_unit, has_units, decimal_comma)
    draft.unit = next((ids[k] for k in keys.ID_KEYS if ids.get(k)), draft.unit)
    draft.label = next((labels[k] for k in keys.LABEL_KEYS if k in labels), draft.label)


_IDS = frozenset(keys.ID_KEYS)
_LABELS = frozenset(keys.LABEL_KEYS)
_UNIT_ENDS = frozenset("smhcdoiynfNF")


def _take_field(draft: Draft, key: str, text: str) -> None:
    lowered = key.lower()
    if lowered == "pid" and text.isdigit():
        draft.pid = int(text)
    elif lowered == "tid" and text.isdigit():
        draft.tid = int(text)
    elif lowered not in _IDS:
        draft.fields.append((key, text))


def _take_bare(
    draft: Draft,
    reading: Reading,
    bare: list[tuple[int, str, str]],
    unit: str,
    has_units: bool,
    decimal_comma: bool,
) -> None:
    """Bare numbers, in their places; beside values with units a bare integer is a count."""
    for place, key, text in bare:
        if units.is_absent(text) or (has_units and text.isdigit()) or _is_word(text):
            draft.fields.append((key, text))
            place_gone = True
        else:
            place_gone = False
            try:
                value = units.scaled(units.number(text, decimal_comma=decimal_comma), unit)
            except units.MalformedError as problem:
                reading.problems.append(f"{key}: {problem}")
                place_gone = True
            else:
                draft.stages.insert(min(place, len(draft.stages)), (key, value))
        if place_gone:
            continue


def _is_word(text: str) -> bool:
    """Whether a value is plainly text, not a damaged number."""
    return bool(text) and text[0].isalpha() and text.lower() not in {"nan", "inf", "infinity"}
