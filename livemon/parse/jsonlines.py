"""JSON lines, bare or behind a text prefix, and OTLP spans.

Units follow the same rule as in ``key=value`` text: in the value (``"took":"3.2ms"``), in the key
(``durationMillis``) or declared. Nested keys are joined with dots; a declared name matches the whole
path or its last part. Text inside the object (a message, a header) is never searched for numbers
once the object gave a duration, so nothing counts twice.
"""

from __future__ import annotations

import json
import string
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from livemon.parse import context, keys, units
from livemon.parse.json_nested import duration_under, has_unit_over, shown_path, unit_over
from livemon.parse.json_plans import ID_PATHS, JsonPlan, plan_of
from livemon.parse.json_units import units_of_object
from livemon.parse.reading import Draft, Reading
from livemon.parse.timestamps import Calendar, Stamp, read

MAX_DEPTH: Final = 8
MAX_FIELDS: Final = 64
LONGEST_FIELD: Final = 200
_LONGEST_PREFIX: Final = 400
MESSAGE_KEYS: Final = ("msg", "message", "MESSAGE", "log", "event", "body", "textPayload", "line")
_DECODER = json.JSONDecoder()
_SKIPPED: Final = frozenset(
    ("headers", "resp_headers", "request_headers", "response_headers", "attributes", "tags", "labels")
)
_NO_NUMBER: Final = frozenset(
    (*(letter for letter in string.ascii_letters if letter not in "niNI"), *"/{[(<\"':;,@#_=*$%&", "")
)
"""What no duration starts with."""
_ID_PATH_ENDS: Final = frozenset(path.rpartition(".")[2] for path in ID_PATHS)
_NO_UNIT: Final = frozenset("0123456789Z")
"""What no duration with a unit ends with."""
_WORD_STARTS: Final = frozenset("niNI")
_NO_SECONDS: Final = frozenset(string.ascii_letters) - {"s"}
"""``nan`` and ``inf`` count with a unit only; a word that ends so is neither."""
_NUMBERS: Final = (int, float)
_IDS: Final = frozenset(keys.ID_KEYS[:-1])
_LABELS: Final = frozenset(keys.LABEL_KEYS[:-1])


def is_array(text: str) -> bool:
    """Whether a line is the start of a JSON array of objects: many things, not one record."""
    start = text.find("{", 0, 8)
    return start > 0 and text[:start].strip() == "["


def split_objects(text: str, start: int) -> tuple[list[dict[str, Any]], bool] | None:
    """The objects of a line from ``start`` on, and whether the rest is damaged.

    Returns:
        ``None`` if there is no object: braces in prose, behind other text.
    """
    if start > _LONGEST_PREFIX:
        return None
    objects: list[dict[str, Any]] = []
    at = start
    end = len(text)
    while at < end:
        if text[at] != "{":
            return objects, text[at] == '"'
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return (objects, True) if objects or not text[:start].strip() else None
        objects.append(value)
        while at < end and text[at].isspace():
            at += 1
    return objects, False


def read_json(
    objects: list[dict[str, Any]],
    is_damaged: bool,
    reading: Reading,
    declared: dict[str, str],
    bare_unit: str | None,
    calendar: Calendar,
) -> str | None:
    """Read the objects of a line.

    Returns:
        The message text of the last object, if no object gave a duration: other rules may read it.
    """
    message = None
    for value in objects:
        if "resourceSpans" in value or ("startTimeUnixNano" in value and "endTimeUnixNano" in value):
            reading.rule = "otlp"
            _read_otlp(value, reading)
            continue
        draft = Draft("json")
        before = len(reading.problems)
        plan = None if declared or bare_unit is not None else plan_of(value)
        if plan is None or not _read_flat(value, plan, draft, reading, calendar):
            known = units_of_object(value)
            _walk(value, "", 0, draft, reading, {**known, **declared} if known else declared, bare_unit)
            _take_facts(value, draft, calendar)
        if draft.stages:
            reading.rule = "json"
            draft.stages = [stage for stage in draft.stages if not keys.is_statistic(stage[0])]
            if context.has_generic(draft.stages) and any(
                context.is_waiting(text) for k in MESSAGE_KEYS if isinstance(text := value.get(k), str)
            ):
                draft.stages = [stage for stage in draft.stages if stage[0] not in context.GENERIC]
            if not draft.stages:
                reading.remark = "a summary, or a plan: not a sample of one unit"
                continue
            reading.drafts.append(draft)
        elif len(reading.problems) > before:
            reading.rule = "json"
        else:
            message = next((value[k] for k in MESSAGE_KEYS if isinstance(value.get(k), str)), message)
    if is_damaged:
        reading.rule = "json"
        reading.problems.append("a JSON object that is cut off or damaged")
    return None if reading.rule else message


def _read_flat(value: dict[str, Any], plan: JsonPlan, draft: Draft, reading: Reading, calendar: Calendar) -> bool:
    """What ``_walk`` and ``_take_facts`` give for an object without objects in it; false: it has some."""
    stages: list[tuple[str, float]] = []
    fields: list[tuple[str, str]] = []
    problems: list[str] = []
    for (key, item), suffix in zip(value.items(), plan.suffixes, strict=True):
        kind = type(item)
        if kind is str:
            if len(item) <= LONGEST_FIELD:
                fields.append((key, item))
            if suffix is None:
                first, last = item[:1], item[-1:]
                if first in _NO_NUMBER or last in _NO_UNIT or (first in _WORD_STARTS and last in _NO_SECONDS):
                    continue
        elif kind is dict:
            return False
        else:
            if isinstance(item, _NUMBERS):
                fields.append((key, str(item)))
            if suffix is None:
                continue
        try:
            ms = _milliseconds(key, item, None if suffix is None else suffix[1], None)
        except units.MalformedError as problem:
            if keys.is_measured(key):
                problems.append(f"{key}: {problem}")
            continue
        if ms is not None and keys.is_measured(key):
            name = key if suffix is None else suffix[0]
            stages.append((key if any(name == other for other, _ in stages) else name, ms))
    reading.problems.extend(problems)
    draft.stages = stages
    draft.fields = fields
    if not stages:
        return True  # Nothing else of such a draft is used.
    draft.unit = next((str(value[key]) for k, key in plan.ids if _is_id(k, value[key])), None)
    draft.label = next((v for key in plan.labels if isinstance(v := value[key], str) and v), None)
    for k, key in plan.numbers:
        item = value[key]
        if isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**31:
            setattr(draft, k, item)
    for key in plan.times:
        item = value[key]
        stamp = None if item is None else read(item, calendar)
        if stamp is not None:
            draft.stamp = stamp
            break
    return True


def _walk(
    value: dict[str, Any],
    path: str,
    depth: int,
    draft: Draft,
    reading: Reading,
    declared: dict[str, str],
    bare_unit: str | None,
    unit_of_path: str | None = None,
) -> None:
    for key, item in value.items():
        if isinstance(item, dict):
            if not item and keys.unit_suffix(key):
                reading.problems.append(f"{key}: an object is no duration")
            elif depth < MAX_DEPTH and key.lower() not in _SKIPPED:
                if _take_nested(path, key, item, draft, reading, declared):
                    # Text beside it is the same value once more, for people.
                    item = {k: v for k, v in item.items() if not isinstance(v, str)}
                over = unit_over(path, key, unit_of_path)
                _walk(item, f"{path}{key}.", depth + 1, draft, reading, declared, bare_unit, over)
            continue
        unit = (declared.get(path + key) or declared.get(key)) if declared else None
        is_declared = unit is not None
        suffix = None
        if unit is None:
            suffix = keys.unit_suffix(key)
            if suffix is None and has_unit_over(key, item, unit_of_path):
                unit = unit_of_path
            elif suffix is None and (
                item[:1] in _NO_NUMBER if isinstance(item, str) else bare_unit is None or item is None
            ):
                continue
        name = path + key
        if not is_declared and suffix is None and unit is not None:
            name = shown_path(path) + key
        if suffix is not None:
            unit = suffix[1]
            name = path + suffix[0]
        try:
            ms = _milliseconds(key, item, unit, bare_unit)
        except units.MalformedError as problem:
            if is_declared or keys.is_measured(key):
                reading.problems.append(f"{key}: {problem}")
            continue
        if ms is not None and (is_declared or keys.is_measured(key)):
            if any(name == other for other, _ in draft.stages):
                name = path + key
            draft.stages.append((name, ms))


def _take_nested(
    path: str, key: str, item: dict[str, Any], draft: Draft, reading: Reading, declared: dict[str, str]
) -> bool:
    """Take an object that is one duration; false if it is none."""
    if declared and any(unit in declared or f"{path}{key}.{unit}" in declared for unit in item):
        return False
    try:
        ms = duration_under(path, key, item)
    except units.MalformedError as problem:
        reading.problems.append(f"{key}: {problem}")
        return False
    if ms is not None:
        draft.stages.append((path + key, ms))
    return ms is not None


def _milliseconds(key: str, item: object, unit: str | None, bare_unit: str | None) -> float | None:
    """Ms of one value, ``None`` if it is no duration at all.

    Raises:
        MalformedError: it should be one and isn't.
    """
    if item is None:
        return None
    if isinstance(item, str):
        if len(item) > 40:
            return None
        text = item.strip()
        value = units.duration(text) if text and (text[0].isdigit() or text[0] in "+-.ni") else None
        if value is not None or unit is None or units.is_absent(text):
            return value
        return units.milliseconds(text, unit)
    if unit is None:
        if (
            bare_unit is None
            or isinstance(item, bool | list)
            or key.lower() in keys.ID_KEYS
            or not keys.may_be_bare(key)
        ):
            return None
        unit = bare_unit
    if isinstance(item, bool | list):
        raise units.MalformedError(f"a {type(item).__name__} is no duration")
    if isinstance(item, int | float):
        if item == -1:
            return None
        if not 0 <= item < float("inf"):
            raise units.MalformedError(f"{item} is no duration")
        return units.scaled(float(item) if item < 1e30 else 1e30, unit)
    return None


def _flatten(value: dict[str, Any], path: str, depth: int, flat: dict[str, Any]) -> None:
    for key, item in value.items():
        if isinstance(item, dict):
            if depth < MAX_DEPTH:
                _flatten(item, f"{path}{key}.", depth + 1, flat)
        else:
            flat.setdefault(path + key, item)


def _take_facts(value: dict[str, Any], draft: Draft, calendar: Calendar) -> None:
    """Id, label, pid and time of an object; its plain values become fields."""
    flat: dict[str, Any] = {}
    _flatten(value, "", 0, flat)
    lowered: dict[str, Any] = {}
    for path, item in flat.items():
        lowered.setdefault(_last_part(path), item)
    names = lowered.keys()
    if not names.isdisjoint(_IDS):
        draft.unit = next((str(lowered[k]) for k in keys.ID_KEYS[:-1] if k in lowered and _is_id(k, lowered[k])), None)
    if draft.unit is None and not names.isdisjoint(_ID_PATH_ENDS):
        draft.unit = next((v for p in ID_PATHS for k, v in flat.items() if k.endswith(p) and isinstance(v, str)), None)
    if not names.isdisjoint(_LABELS):
        found = (lowered[k] for k in keys.LABEL_KEYS[:-1] if k in lowered)
        draft.label = next((v for v in found if isinstance(v, str) and v), None)
    for key in ("pid", "tid"):
        item = lowered.get(key)
        if isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**31:
            setattr(draft, key, item)
    draft.stamp = _time_of(value, lowered, calendar)
    draft.fields = [
        (path, item if isinstance(item, str) else str(item))
        for path, item in (flat.items() if len(flat) <= MAX_FIELDS else islice(flat.items(), MAX_FIELDS))
        if (len(item) <= LONGEST_FIELD if isinstance(item, str) else isinstance(item, _NUMBERS))
    ]


@lru_cache(maxsize=4096)
def _last_part(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _is_id(key: str, item: object) -> bool:
    if isinstance(item, bool) or not isinstance(item, str | int) or item == "":
        return False
    text = str(item)
    return len(text) <= 128 and (key not in keys.COUNTER_KEYS or text.isdigit())


def _time_of(value: dict[str, Any], lowered: dict[str, Any], calendar: Calendar) -> Stamp | None:
    for key in keys.TIME_KEYS:
        item = lowered.get(key)
        if item is None:
            if key != "t" or not isinstance(value.get("t"), dict):
                continue
            item = value["t"].get("$date")
        stamp = None if item is None else read(item, calendar)
        if stamp is not None:
            return stamp
    return None


def _read_otlp(value: dict[str, Any], reading: Reading) -> None:
    """Spans of the OpenTelemetry JSON encoding: end minus start, the span's name is the stage."""
    spans: list[Any] = []
    if "resourceSpans" in value:
        for resource in _dicts(value.get("resourceSpans")):
            for scope in (*_dicts(resource.get("scopeSpans")), *_dicts(resource.get("instrumentationLibrarySpans"))):
                spans.extend(_dicts(scope.get("spans")))
    else:
        spans.append(value)
    for span in spans:
        name = span.get("name")
        try:
            start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        except (KeyError, ValueError, TypeError, OverflowError):
            reading.problems.append("a span without start and end")
            continue
        if (
            not isinstance(name, str)
            or not name
            or not 0 < start < 2**63
            or not 0 <= end - start <= units.CEILING_MS * 1e6
        ):
            reading.problems.append("a span that ends before it starts, or has no name")
            continue
        unit = span.get("traceId")
        fields = [(k, v) for k in ("spanId", "parentSpanId") if isinstance(v := span.get(k), str) and v]
        reading.drafts.append(
            Draft(
                "otlp",
                [(name, (end - start) / 1e6)],
                unit if isinstance(unit, str) else None,
                name,
                fields=fields,
                stamp=Stamp(start, "unix", 9),
                start_ns=start,
            )
        )


def _dicts(value: object) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
