"""User patterns: regular expressions with named groups ``<stage>__<unit>``.

The unit in the group's name removes the ambiguity at the only place where the user knows it. Other
groups: ``id`` (the unit's id), ``ts`` (its time), ``label``, ``pid``, ``tid``, ``stage`` (names the
stage when the duration group is a plain ``elapsed``, ``duration``, ``time``, ``took``; else it is put
in front of the group's name). Any further group becomes a field.
"""

from __future__ import annotations

from typing import Final

from livemon.model.errors import UsageError
from livemon.model.expressions import expression
from livemon.parse import units
from livemon.parse.reading import Draft, Reading
from livemon.parse.timestamps import Calendar, read

_PLAIN: Final = frozenset(("elapsed", "duration", "time", "took", "dur", "value"))
_OWN: Final = frozenset(("id", "ts", "stage", "label", "pid", "tid"))
_MINUTES: Final = {"m": 60_000.0, "min": 60_000.0, "h": 3_600_000.0}
SEARCHED_CHARS: Final = 16_384
"""How much of a line a user's pattern gets: a bad pattern can't stall on a 5 MB line."""


class UserPattern:
    """One compiled pattern.

    Args:
        text: The regular expression.
        source: What records say they come from.

    Raises:
        UsageError: it does not compile, or no group says what it measures.
    """

    def __init__(self, text: str, source: str = "pattern") -> None:
        self._regex = expression(text, "--pattern")
        self._source = source
        self.text = text
        self._durations: list[tuple[str, str, str]] = []
        for group in self._regex.groupindex:
            stage, separator, unit = group.rpartition("__")
            if separator and stage:
                if unit.lower() not in units.UNIT_MS and unit.lower() not in (*_MINUTES, "go"):
                    raise UsageError(
                        f"--pattern: group {group!r} has no known unit after '__'",
                        "use ms, s, us, ns, m, h or go, such as (?P<request_time__s>[\\d.]+)",
                    )
                self._durations.append((group, stage, unit.lower()))
        self._others = [g for g in self._regex.groupindex if g not in _OWN and all(g != d[0] for d in self._durations)]

    @property
    def has_durations(self) -> bool:
        """Whether any group carries its unit in its name."""
        return bool(self._durations)

    @property
    def plain_groups(self) -> tuple[str, ...]:
        """Groups without a unit, for which ``--unit`` may declare one."""
        return tuple(self._others)

    def read(self, text: str, reading: Reading, declared: dict[str, str], calendar: Calendar) -> bool:
        """Read a line; false if the pattern does not match it."""
        match = self._regex.search(text, 0, SEARCHED_CHARS)
        if match is None:
            return False
        reading.rule = self._source
        draft = Draft(self._source)
        group = match.groupdict()
        stage = (group.get("stage") or "").strip()
        durations = self._durations + [(g, g, declared[g]) for g in self._others if g in declared]
        for name, base, unit in durations:
            value = group[name]
            if value is None or units.is_absent(value):
                continue
            try:
                ms = _milliseconds(value.strip(), unit)
            except units.MalformedError as problem:
                reading.problems.append(f"{base}: {problem}")
                continue
            if stage and base in _PLAIN and len(durations) == 1:
                base = stage
            elif stage:
                base = f"{stage}.{base}"
            draft.stages.append((base, ms))
        draft.unit = group.get("id") or None
        draft.label = group.get("label") or None
        for key in ("pid", "tid"):
            number = group.get(key) or ""
            if number.isdecimal() and number.isascii():
                setattr(draft, key, int(number))
        draft.fields = [(g, group[g]) for g in self._others if group[g] is not None and g not in declared]
        if group.get("ts"):
            draft.stamp = read(_number_or_text(group["ts"]), calendar)
        if draft.stages:
            reading.drafts.append(draft)
        elif not reading.problems:
            reading.remark = "the pattern matches, but no duration group has a value"
        return True


def _number_or_text(text: str) -> str:
    return text.strip()


def _milliseconds(text: str, unit: str) -> float:
    if unit == "go":
        value = units.duration(text)
        if value is None:
            raise units.MalformedError(f"{text} is no duration with a unit")
        return value
    if unit in _MINUTES:
        ms = units.number(text) * _MINUTES[unit]
        if not ms <= units.CEILING_MS:
            raise units.MalformedError(f"{text} {unit} is longer than a day")
        return ms
    return units.milliseconds(text, unit)
