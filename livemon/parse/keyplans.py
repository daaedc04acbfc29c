"""``key=value`` lines that are nothing but plain pairs, with keys in an order that was seen before.

Most logs write the same keys again and again. What the keys mean is worked out once for each order; from
then on a line takes one pattern made of these keys, and only its values are looked at. A line that any
other rule could have a say in is not read here: it goes the long way (``rules``), with the same outcome.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from livemon.parse import keys, units
from livemon.parse.context import WAITING_MARKS
from livemon.parse.keyvalue import ID_HINTS, QUERY_KEYS, id_in_text, pairs_of
from livemon.parse.presets import AUTOMATIC, LONGEST_ROW, Preset
from livemon.parse.reading import STARTS, UNIT_ENDS, Reading, Trait, trait_of
from livemon.parse.timestamps import SCANNED_CHARS, Calendar, Stamp, find

_MAX_PLANS: Final = 64
_MAX_HEADS: Final = 16
_MAX_KEYS: Final = 40
_PATIENCE: Final = 16
_MAX_SECONDS: Final = 4096
_VARYING: Final = b"0123456789abcdef"
"""Left out of a line's shape: lines that differ in numbers and hashes have one shape."""
_MAX_SHAPES: Final = 4096
_LONGEST_SHAPE: Final = 1024
_NEVER: Final = "\\\\\"'{}\\[\\]|<\\t\\x00-\\x08\\x0a-\\x1f\\x7f-\\xa0\\u2028\\u2029\\ufeff"
"""Characters that other readers look for, or that end a line or need cleaning."""
_SPACES: Final = " \\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000"
"""With ``_NEVER`` all that is white space; spelled out it is one table, several times as fast."""
_VALUE: Final = rf"(\"[^{_NEVER}]*\"|[^{_NEVER}{_SPACES},;()=>]+(?<![.:]))"
_KEY: Final = r"[A-Za-z_][A-Za-z0-9_]{0,80}"
_PLAIN_LINE = re.compile(rf"{_KEY}={_VALUE}(?: {_KEY}={_VALUE})*")
_STARTS_AS_UNIT = re.compile(rf"{units.UNIT}(?![\w=/%])")
_DOUBTFUL: Final = (
    "_timing", "_TIMING", "ETA", "s/it", "it/s", "progress =", *WAITING_MARKS)  # fmt: skip
"""What other rules know a line by."""
_ROWS: Final = tuple(
    p for p in AUTOMATIC if not any(c in hint for hint in p.row.hints for c in "\\'{}[]|<\t") and p.row.hints
)
"""Formats that a line of plain pairs could be of."""


class Found(NamedTuple):
    """What a line says."""

    stages: list[tuple[str, float]]
    fields: list[tuple[str, str]]
    unit: str | None
    label: str | None
    pid: int | None
    tid: int | None
    stamp: Stamp | None


class _Plan:
    """One order of keys."""

    def __init__(self, names: list[str]) -> None:
        self.match = re.compile(" ".join(f"{re.escape(name)}={_VALUE}" for name in names)).fullmatch
        self.idle = 0
        """Lines without a duration since the last one with one, while it is asked."""
        self.traits = [(name, trait_of(name), trait_of(name).is_plain) for name in names]


_SHARED: Final = ("━", " -", ": ")
"""Parts of the hints of several rows: without it a line is of none of them."""


def _by_part() -> tuple[tuple[str, tuple[Preset, ...]], ...]:
    """The rows by a text that a line of theirs has in it."""
    parts: dict[str, list[Preset]] = {}
    for preset in _ROWS:
        hints = preset.row.hints
        if preset.row.pattern.startswith("^ {2"):
            continue  # Plain pairs start with a key.
        if preset.row.pattern.startswith(r"\" (?P<unit>\d+)"):
            # A number behind a quote: of plain pairs only a value starts so.
            parts.setdefault('=" ', []).append(preset)
            continue
        part = next((p for p in _SHARED if any(p in hint for hint in hints)), max(hints, key=len))
        parts.setdefault(part, []).append(preset)
    return tuple((part, tuple(presets)) for part, presets in parts.items())


_ROWS_BY_PART: Final = _by_part()
_MARKS: Final = tuple(
    mark.encode().translate(None, _VARYING) for mark in (*_DOUBTFUL, *(part for part, _ in _ROWS_BY_PART))
)
_ID_MARKS: Final = tuple(hint.encode().translate(None, _VARYING) for hint in ID_HINTS)


class KeyPlans:
    """Reads lines of plain pairs; holds what the keys of the lines so far mean."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._heads: dict[str, list[_Plan]] = {}
        self._count = 0
        self._seconds: dict[str, int] = {}
        self._shapes: dict[bytes, tuple[bool, bool]] = {}

    def read(self, data: bytes) -> Found | None:
        """What a line says; ``None`` if it has to go the long way."""
        text = data.decode("utf-8", "replace")
        plans = self._heads.get(text[: text.find("=") + 1])
        for at, plan in enumerate(plans or ()):
            match = plan.match(text)
            if match is not None:
                if at and plans:
                    plans.insert(0, plans.pop(at))
                return self._values(plan, match.groups(), text, data.translate(None, _VARYING))
        self._learn(text)
        return None

    def _learn(self, text: str) -> None:
        """Make a plan of a line's keys, for the lines after it."""
        if self._count >= _MAX_PLANS or len(text) > LONGEST_ROW or _PLAIN_LINE.fullmatch(text) is None:
            return
        names = [key for key, _ in pairs_of(text)]
        if not names or len(names) > _MAX_KEYS or len(set(names)) < len(names):
            return
        head = f"{names[0]}="
        if len(self._heads.get(head, ())) >= _MAX_HEADS:
            return
        plan = _Plan(names)
        # A key that starts like a unit could be read as the unit of the value before it.
        # With a controller it may be of a program whose bare numbers are durations.
        if plan.match(text) is not None and not any(
            _STARTS_AS_UNIT.match(name) or name.endswith("controller") for name in names
        ):
            self._count += 1
            self._heads.setdefault(head, []).append(plan)

    def _marks(self, shape: bytes) -> tuple[bool, bool]:
        """Whether a shape has marks of other rules in it, and of ids in its text.

        Marks lack the same characters, so what is not in the shape is not in any line of it.
        """
        marks = self._shapes.get(shape)
        if marks is None:
            marks = any(mark in shape for mark in _MARKS), any(hint in shape for hint in _ID_MARKS)
            if len(self._shapes) < _MAX_SHAPES and len(shape) <= _LONGEST_SHAPE:
                self._shapes[shape] = marks
        return marks

    def _values(self, plan: _Plan, values: tuple[str, ...], text: str, shape: bytes) -> Found | None:
        if plan.idle > _PATIENCE and plan.idle % _PATIENCE:
            # Lines with these keys have no timing: they go the long way at once, but for a look now and then.
            plan.idle += 1
            return None
        has_marks, has_id = self._shapes.get(shape) or self._marks(shape)
        if len(text) > LONGEST_ROW or (has_marks and _is_doubtful(text)):
            return None
        stages: list[tuple[str, float]] = []
        fields: list[tuple[str, str]] = []
        ids: dict[str, str] | None = None
        labels: dict[str, str] | None = None
        pid = tid = None
        for (key, trait, is_plain), value in zip(plan.traits, values, strict=True):
            first = value[0]
            if first == '"':
                value = value[1:-1]
                first = value[:1]
            if is_plain and (first not in STARTS or value[-1] not in UNIT_ENDS):
                fields.append((key, value))
                continue
            if trait.is_id and (not trait.is_counter or value.isdigit()):
                ids = {} if ids is None else ids
                ids.setdefault(trait.lowered, value)
                continue
            if trait.is_label and value:
                labels = {} if labels is None else labels
                labels.setdefault(trait.lowered, value)
            try:
                stage = _stage(trait, value, first)
            except units.MalformedError:
                return None
            if stage is not None:
                if any(stage[0] == other for other, _ in stages):
                    stage = (key, stage[1])
                stages.append(stage)
            elif trait.lowered in ("pid", "tid") and value.isdecimal() and value.isascii() and len(value) <= 10:
                if trait.lowered == "pid":
                    pid = int(value)
                else:
                    tid = int(value)
            else:
                fields.append((key, value))
        if not stages:
            plan.idle += 1
            return None
        plan.idle = 0
        for name, _ in stages:
            if keys.is_statistic(name) or name in QUERY_KEYS:
                return None
        unit = next((ids[k] for k in keys.ID_KEYS if ids.get(k)), None) if ids else None
        label = next((labels[k] for k in keys.LABEL_KEYS if k in labels), None) if labels else None
        if has_id and unit is None:
            unit = id_in_text(text)
        return Found(stages, fields, unit, label, pid, tid, self._stamp(text))

    def _stamp(self, text: str) -> Stamp | None:
        """The line's stamp, as ``find`` gives it; ``2024-05-02T12:17:25.6Z`` is read here if it is the only one."""
        colon = text.find(":", 0, SCANNED_CHARS)
        if colon < 0:
            return None
        start = colon - 13
        end = colon + 6
        if start < 1 or text[start - 1] not in '="' or end > SCANNED_CHARS - 16:
            return find(text, self._calendar)
        second = self._seconds.get(text[start:end]) or self._second(text[start:end])
        fraction = 0
        if text[end : end + 1] == ".":
            digits = text[end + 1 : text.find("Z", end)]
            if not 1 <= len(digits) <= 9 or not (digits.isdigit() and digits.isascii()):
                return find(text, self._calendar)
            fraction = int(digits.ljust(9, "0"))
            end += len(digits) + 1
        if not second or text[end : end + 1] != "Z" or text[end + 1 : end + 2] not in ("", " ", '"'):
            return find(text, self._calendar)
        colon = text.find(":", end, SCANNED_CHARS)
        while colon >= 0:
            if text[colon + 3 : colon + 4] == ":":
                return find(text, self._calendar)
            colon = text.find(":", colon + 1, SCANNED_CHARS)
        return Stamp(second + fraction, "unix", 5)

    def _second(self, text: str) -> int:
        """Unix ns of ``2024-05-02T12:17:25``; 0 if it is none."""
        stamp = find(f"{text}Z", self._calendar) if text.isascii() and text[10:11] == "T" else None
        if stamp is None or stamp.rank != 5:
            return 0
        if len(self._seconds) >= _MAX_SECONDS:
            self._seconds.clear()
        self._seconds[text] = stamp.t_ns
        return stamp.t_ns


def _is_doubtful(text: str) -> bool:
    """Whether another rule may know the line."""
    for mark in _DOUBTFUL:
        if mark in text:
            return True
    for part, presets in _ROWS_BY_PART:
        if part in text and any(preset.read(text, Reading()) for preset in presets):
            return True
    return False


def _stage(trait: Trait, value: str, first: str) -> tuple[str, float] | None:
    """The name and ms of a value; ``None`` if it is no duration, or none that was measured.

    Raises:
        MalformedError: it should be one and isn't.
    """
    if not value or (first not in STARTS and trait.unit is None):
        return None
    ms = units.duration(value) if value[-1] in UNIT_ENDS else None
    if ms is None:
        if trait.unit is None or not trait.is_measured or units.is_absent(value):
            return None
        ms = units.milliseconds(value, trait.unit)
    return (trait.stem, ms) if trait.is_measured else None
