"""Tagged timing lines: ``[c_api_timing dev=0] run= 3  prepare_ctx=0.69 … total=117.21``.

The tag is what tells that bare numbers are milliseconds. Several records may stand on one physical
line (writers that share a pipe, a lost newline): they are cut at the tag, and at a run counter that
comes a second time. A value that is glued to the next key is torn and is not read.
"""

from __future__ import annotations

import re
from typing import Final

from livemon.parse import keys, units
from livemon.parse.reading import Draft, Reading, take_pairs

TAG = re.compile(r"\[([A-Za-z]\w*_(?:timing|TIMING))(?: +([^\]\[]{0,500}))?\]")
_PAIR = re.compile(r"(?<![^\W\d_])([A-Za-z_][\w.\-]{0,80})=")
_HEAD = re.compile(r"\[mono_ns=\d+\]|\[STRACE\]")
_TAIL_KEY = re.compile(r"(?:^|\s)[A-Za-z_][\w.\-]*$")
_UNIT: Final = re.compile(units.UNIT)


def split_pairs(payload: str) -> tuple[list[tuple[str, str, bool]], str]:
    """``key=value`` pairs of a payload and what stands before the first key.

    A value reaches to the next key, so ``run= 0`` has one and ``validate=  total=1`` leaves
    ``validate`` empty.

    Returns:
        (key, value, is glued to the next key), …; and the leading text.
    """
    parts = _PAIR.split(payload)
    pairs: list[tuple[str, str, bool]] = []
    last = len(parts) - 2
    for i in range(1, len(parts), 2):
        raw = parts[i + 1]
        glued = i < last and raw != "" and not raw[-1].isspace() and raw[-1] not in ",;|("
        words = raw.split()
        if not words:
            value = ""
        elif len(words) > 1 and _UNIT.fullmatch(words[1].rstrip(",;")):
            value = words[0] + words[1]
        elif len(words) > 1 and (words[1][0].isdigit() or (i < last and words[1].isalpha())) and words[0][0].isdigit():
            # ``4 8.28``, ``48.28 parsec``: a number in two pieces or of an unknown unit, not its first piece.
            value = " ".join(words[:2])
        else:
            value = words[0]
        pairs.append((parts[i], value.strip("\"',;|"), glued))
    return pairs, parts[0]


def read_tagged(
    text: str, reading: Reading, declared: dict[str, str], bare_unit: str = "ms", *, decimal_comma: bool = False
) -> bool:
    """Read every tagged record of the text; false if there is no tag in it."""
    tags = list(TAG.finditer(text))
    if not tags:
        return False
    for n, tag in enumerate(tags):
        end = tags[n + 1].start() if n + 1 < len(tags) else len(text)
        payload = text[tag.end() : end]
        head = _HEAD.search(payload)
        is_cut = n + 1 < len(tags) or head is not None
        if head is not None:
            payload = payload[: head.start()]
        _read_record(tag[1], tag[2] or "", payload, is_cut, reading, declared, bare_unit, decimal_comma)
    return True


def _read_record(
    tag: str,
    inside: str,
    payload: str,
    is_cut: bool,
    reading: Reading,
    declared: dict[str, str],
    bare_unit: str,
    decimal_comma: bool,
) -> None:
    source = tag.lower()
    pairs, _ = split_pairs(payload)
    if not pairs:
        if payload.strip() and not is_cut:
            reading.remark = "a tag without key=value after it"
        else:
            reading.rule = source
            reading.problems.append("a tag without a payload")
        return
    reading.rule = source
    if is_cut and _TAIL_KEY.search(payload.rstrip()) and not _UNIT.fullmatch(payload.split()[-1]):
        reading.problems.append("a record cut off inside a key")
    around = [(key, value) for key, value, _ in split_pairs(inside)[0]]
    if any(key == "ev" for key, _, _ in pairs):
        _read_event(source, around, pairs, reading)
        return
    for group in _groups(pairs, reading):
        draft = Draft(source)
        draft.fields.extend(p for p in around if p[0] not in ("pid", "tid"))
        before = len(reading.problems)
        take_pairs(draft, reading, group, bare_unit=bare_unit, declared=declared, decimal_comma=decimal_comma)
        if draft.stages:
            if draft.unit is not None and "." in draft.unit and units_like(draft.unit):
                reading.problems.append(f"{draft.unit} is no run id")
                draft.unit = None
            reading.drafts.append(draft)
        elif len(reading.problems) == before:
            reading.problems.append("a timing record without a duration")


def units_like(text: str) -> bool:
    """Whether a text is a decimal number (so no id)."""
    return text.replace(".", "", 1).isdigit()


def _groups(pairs: list[tuple[str, str, bool]], reading: Reading) -> list[list[tuple[str, str]]]:
    """Pairs by record: a counter that comes again starts the next one; torn values go and are counted."""
    groups: list[list[tuple[str, str]]] = [[]]
    seen: set[str] = set()
    torn_key = False
    for key, value, glued in pairs:
        if key in seen and key.lower() in keys.RESTART_KEYS:
            groups.append([])
            seen = set()
            torn_key = False
        if key in seen:
            reading.problems.append(f"{key} twice in one record")
            continue
        seen.add(key)
        if torn_key and key.lower() not in keys.RESTART_KEYS:
            torn_key = glued
            continue
        torn_key = False
        if glued:
            reading.problems.append(f"{key}={value} runs into the next key")
            torn_key = True
            continue
        groups[-1].append((key, value))
    return [g for g in groups if g]


def _read_event(
    source: str, around: list[tuple[str, str]], pairs: list[tuple[str, str, bool]], reading: Reading
) -> None:
    """``clk=host name=host_wall ev=WALL us=121300.000``: the key is the unit, ``name`` the stage."""
    values = {key: value for key, value, _ in reversed(pairs)}
    name = values.get("name", "")
    unit = next((k for k in values if k in units.UNIT_MS), None)
    if not name or unit is None:
        reading.remark = "an event without a duration (begin or end of a span)"
        return
    draft = Draft(source, unit=values.get("run") or values.get("task"))
    try:
        draft.stages.append((name, units.milliseconds(values[unit], unit)))
    except units.MalformedError as problem:
        reading.problems.append(f"{name}: {problem}")
        return
    draft.is_untimed = values.get("clk") == "dev"
    draft.fields.extend(around)
    draft.fields.extend((k, v) for k, v, _ in pairs if k not in ("name", "run", "task", "pid", "tid", unit))
    reading.drafts.append(draft)
