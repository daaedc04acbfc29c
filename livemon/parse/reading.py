"""What the readers of one line hand on: drafts of records, what was wrong, and which rule it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

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
    is_start_stamped: bool = False
    """The line's stamp is the start of the unit."""


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
    labels: dict[str, str] | None = None
    ids: dict[str, str] | None = None
    seen: set[str] = set()
    bare: list[tuple[int, str, str]] = []
    stages = draft.stages
    has_units = False
    unmarked = not declared and bare_unit is None
    for pair in pairs:
        key, text = pair
        if key in seen:
            continue
        seen.add(key)
        trait = _TRAITS.get(key) or trait_of(key)
        if trait.is_plain and unmarked and (not text or text[-1] not in UNIT_ENDS or text[0] not in STARTS):
            draft.fields.append(pair)
            continue
        if trait.is_id and (text.isdigit() or not trait.is_counter):
            ids = {} if ids is None else ids
            ids.setdefault(trait.lowered, text)
            continue
        if trait.is_label and text:
            labels = {} if labels is None else labels
            labels.setdefault(trait.lowered, text)
        unit = (declared.get(key) or declared.get(key.rpartition(".")[2])) if declared else None
        if not text or (text[0] not in STARTS and unit is None and trait.unit is None and bare_unit is None):
            _take_field(draft, trait, text)
            continue
        is_measured = trait.is_measured or unit is not None or (bare_unit is not None and trait.is_timing)
        name = key
        try:
            value = units.duration(text, decimal_comma=decimal_comma) if text[-1] in UNIT_ENDS else None
            if value is not None:
                has_units = True
                if unit is None:
                    name = trait.stem
            elif unit is None and trait.unit is not None:
                name, unit = trait.stem, trait.unit
            if value is None:
                if unit is not None and is_measured and not units.is_absent(text):
                    value = units.milliseconds(text, unit, decimal_comma=decimal_comma)
                elif unit is None and bare_unit is not None and trait.may_be_bare and not _is_word(text):
                    bare.append((len(stages) + len(bare), key, text))
                    continue
                else:
                    _take_field(draft, trait, text)
                    continue
        except units.MalformedError as problem:
            if is_measured:
                reading.problems.append(f"{key}: {problem}")
            else:
                draft.fields.append((key, text))
            continue
        if is_measured:
            if name != key and any(name == other for other, _ in stages):
                name = key
            stages.append((name, value))
        else:
            draft.fields.append((key, text))
    if bare and bare_unit is not None:
        _take_bare(draft, reading, bare, bare_unit, has_units, decimal_comma)
    if ids:
        draft.unit = next((ids[k] for k in keys.ID_KEYS if ids.get(k)), draft.unit)
    if labels:
        draft.label = next((labels[k] for k in keys.LABEL_KEYS if k in labels), draft.label)


def may_have_durations(pairs: list[tuple[str, str]], declared: dict[str, str]) -> bool:
    """Whether any pair could be a duration: a look at first and last characters, and at the key."""
    for key, text in pairs:
        if text:
            if text[0] in STARTS and text[-1] in UNIT_ENDS:
                return True
            if (_TRAITS.get(key) or trait_of(key)).unit is not None:
                return True
    return any(key in declared or key.rpartition(".")[2] in declared for key, _ in pairs) if declared else False


class Trait(NamedTuple):
    """What a key says of its value, worked out once."""

    key: str
    lowered: str
    is_id: bool
    is_counter: bool
    """An id that is a number; with any other value the key is no id."""
    is_label: bool
    stem: str
    """The key without its unit."""
    unit: str | None
    is_measured: bool
    is_timing: bool
    """Measured where the format says that numbers are durations."""
    may_be_bare: bool
    is_plain: bool
    """Only its value can make it a duration."""


_TRAITS: Final[dict[str, Trait]] = {}
_MAX_TRAITS: Final = 4096


def trait_of(key: str) -> Trait:
    """What a key says of its value; made anew, and remembered."""
    lowered = key.lower()
    stem, unit = keys.unit_suffix(key) or (key, None)
    trait = Trait(
        key,
        lowered,
        lowered in keys.ID_KEYS,
        lowered in keys.COUNTER_KEYS,
        lowered in keys.LABEL_KEYS,
        stem,
        unit,
        keys.is_measured(key),
        keys.is_timing(key),
        keys.may_be_bare(key),
        unit is None and lowered not in _NAMED,
    )
    if len(_TRAITS) >= _MAX_TRAITS:
        _TRAITS.clear()
    _TRAITS[key] = trait
    return trait


_NAMED: Final = frozenset((*keys.ID_KEYS, *keys.LABEL_KEYS, "pid", "tid"))
STARTS: Final = frozenset("0123456789.+-nNiI")
"""What a duration starts with."""
UNIT_ENDS: Final = frozenset("smhcdoiynfNF")
"""What a duration with a unit ends with."""


def _take_field(draft: Draft, trait: Trait, text: str) -> None:
    lowered = trait.lowered
    if lowered in ("pid", "tid") and text.isdecimal() and text.isascii() and len(text) <= 10:
        setattr(draft, lowered, int(text))
    else:
        draft.fields.append((trait.key, text))


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
        if units.is_absent(text) or (has_units and text.isdigit()):
            draft.fields.append((key, text))
            continue
        try:
            value = units.milliseconds(text, unit, decimal_comma=decimal_comma)
        except units.MalformedError as problem:
            reading.problems.append(f"{key}: {problem}")
            continue
        draft.stages.insert(min(place, len(draft.stages)), (key, value))


def _is_word(text: str) -> bool:
    """Whether a value is plainly text, not a damaged number."""
    return bool(text) and text[0].isalpha() and text.lower() not in {"nan", "inf", "infinity"}
