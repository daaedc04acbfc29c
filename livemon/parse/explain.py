"""``livemon parse --explain``: for each line which rule read it, or why none did and what would.

Suggestions are tried, not guessed: an option is only named when reading the line with it gives a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from livemon.parse import keys, units
from livemon.parse.jsonlines import is_array
from livemon.parse.keyvalue import pairs_of
from livemon.parse.labels import read_labels
from livemon.parse.options import ParseOptions
from livemon.parse.presets import PRESETS
from livemon.parse.reading import Reading
from livemon.parse.record import ParsedRecord
from livemon.parse.rules import Rules
from livemon.parse.unread import unread
from livemon.parse.unwrap import Unwrapped

_SHOWN_CHARS: Final = 160
_PLAIN: Final = ParseOptions()
_LABELS: Final = ("", "labels")
"""Stands for ``--labels`` among the units that are tried."""
_MAX_TRIALS: Final = 256
_CLASS_WORDS: Final = frozenset(("kind", "type", "phase", "model", "method", "operation", "action", "variant", "mode"))
"""Last words of keys that may tell classes of units apart."""
_MEASURE = re.compile(
    r"((?:\b[A-Za-z_][\w]{0,30} ){0,2}\b[A-Za-z_]\w{0,30})?(\W{0,4})"
    rf"(?<![\w.])(\d+(?:\.\d+)?)(\s?)({units.UNIT})\b"
)
_JSON_NUMBER = re.compile(r"\"([A-Za-z_][\w.\-]{0,60})\"\s?:\s?\d+(?:\.\d+)?\s?[,}]")
_DURATION_WORDS: Final = frozenset(
    ("duration", "latency", "elapsed", "took", "time", "wait", "wall", "rt", "dur", "delay", "runtime", "cost", "queue")
)


class Explainer:
    """Turns what was read into lines of text for a person.

    Args:
        options: How the log is read; what is suggested is tried together with them.
    """

    def __init__(self, options: ParseOptions = _PLAIN) -> None:
        self._options = options
        self._lines: list[str] = []
        self._trials: dict[tuple[str, str], Rules] = {}

    def take(self) -> Iterator[str]:
        """The explanations since the last call."""
        lines, self._lines = self._lines, []
        yield from lines

    def line(self, number: int, line: Unwrapped, reading: Reading, records: list[ParsedRecord]) -> None:
        """Explain one line."""
        if not line.text.strip():
            return
        wrapper = f" (inside {line.wrapper})" if line.wrapper else ""
        self._lines.append(f"{number}: {_shown(line.text)}")
        for record in records:
            values = ", ".join(f"{name} {value:g} ms" for name, value in record.stages)
            facts = "".join(
                f"; {what} {value}"
                for what, value in (("unit", record.unit), ("class", record.label))
                if value is not None
            )
            self._lines.append(f"    read by {record.source}{wrapper}: {values}{facts}; {_time(record)}")
        self._lines.extend(f"    malformed: {problem}" for problem in reading.problems)
        if reading.remark:
            self._lines.append(f"    {reading.rule or 'not read'}: {reading.remark}")
        if not records and not reading.problems and not reading.remark:
            self._lines.append(f"    no timing found{wrapper}")
        hints = [] if records else suggestions(line.text, is_known=bool(reading.rule))
        self._lines.extend(f"    try: {hint}" for hint in hints)
        if not is_array(line.text):
            self._lines.extend(f"    not read: {field}" for field in self._unread(line, reading))
        if records and all(record.label is None for record in records):
            self._lines.extend(f"    no class: {field}" for field in _class_like(records[-1]))

    def _unread(self, line: Unwrapped, reading: Reading) -> list[str]:
        def try_unit(name: str, unit: str) -> bool:
            found = self._rules((name, unit)).read(line)
            have = {stage for draft in reading.drafts for stage, _ in draft.stages}
            return any(stage not in have for draft in found.drafts for stage, _ in draft.stages)

        return unread(line.text, reading, try_unit, lambda: self._rules(_LABELS).read(line))

    def _rules(self, trial: tuple[str, str]) -> Rules:
        """Rules with one more option: a unit that is declared, or labels."""
        rules = self._trials.get(trial)
        if rules is None:
            if len(self._trials) >= _MAX_TRIALS:
                self._trials.clear()
            declared = () if trial == _LABELS else (trial,)
            options = replace(self._options, units=(*self._options.units, *declared), labels=trial == _LABELS)
            rules = self._trials[trial] = Rules(options)
        return rules

    def held(self, number: int, line: Unwrapped) -> None:
        """A container part that waits for the rest of its line."""
        self._lines.append(f"{number}: {_shown(line.text)}")
        self._lines.append("    a part of a longer line (inside CRI or docker): read with the part that ends it")


def _class_like(record: ParsedRecord) -> list[str]:
    """Fields by which the units could be told apart, and how."""
    return [
        f'{key}={value} is kept as a field; criteria with classes.keys = ["{key}"] tell units apart by it'
        for key, value in record.fields
        if keys.words(key)[-1:] and keys.words(key)[-1] in _CLASS_WORDS and value[:1].isalpha() and len(value) <= 40
    ]


def _shown(text: str) -> str:
    printable = "".join(c if c.isprintable() else "·" for c in text[: _SHOWN_CHARS + 1])
    return printable if len(printable) <= _SHOWN_CHARS else printable[:_SHOWN_CHARS] + "…"


def _time(record: ParsedRecord) -> str:
    if record.t_ns is None:
        return "no time of its own (the arrival time will stand for it)"
    where = {"unix": "unix time", "monotonic": "monotonic clock", None: "since an unknown start"}[record.clock]
    return f"t {record.t_ns / 1e9:.6f} s, {where}"


def suggestions(text: str, *, is_known: bool = False) -> list[str]:
    """Options that would read the line, each tried; at most three.

    Args:
        text: The line.
        is_known: A rule took it and said why it gives nothing: prose is not asked then.
    """
    found: list[str] = []
    trial = Reading()
    if is_array(text):
        return ["jq -c '.[]' LOG | livemon parse -, which gives each element a line"]
    if not is_known and read_labels(text, trial) and trial.drafts:
        values = ", ".join(f"{name} {value:g} ms" for name, value in trial.drafts[0].stages)
        found.append(f"--labels (would read {values})")
    for preset in PRESETS:
        trial = Reading()
        if not preset.row.is_automatic and preset.read(text, trial) and trial.drafts:
            found.append(f"--format {preset.row.name} ({preset.row.what})")
    bare = [k for k, v in pairs_of(text) if re.fullmatch(units.NUMBER, v) and keys.may_be_bare(k)]
    bare.extend(k for k in _JSON_NUMBER.findall(text) if keys.may_be_bare(k))
    named = [k for k in dict.fromkeys(bare) if not _DURATION_WORDS.isdisjoint(keys.words(k))]
    if named:
        found.append(f"--unit {named[0]}=ms (or s, us, ns), if that number is a duration")
    elif len([k for k in dict.fromkeys(bare) if "=" in text]) > 1:
        some = ", ".join(list(dict.fromkeys(bare))[:3])
        found.append(f"--unit '*=ms', if {some} are durations (their unit is not in the line)")
    if not found:
        found.extend(_pattern(text))
    return found[:3]


def _pattern(text: str) -> list[str]:
    """A pattern for the first number with a unit, tried on the line."""
    match = _MEASURE.search(text)
    if match is None or match[2].endswith(("-", "~")) or keys.is_statistic(match[1] or ""):
        return []
    words = re.findall(r"[A-Za-z]\w*", match[1] or "")
    name = "_".join(words[-3:]).lower() or "value"
    unit = {1.0: "ms", 1000.0: "s", 1e-3: "us", 1e-6: "ns"}[units.UNIT_MS[match[5]]]
    lead = re.escape((match[1] or "") + match[2]).replace("\\ ", " ")
    pattern = rf"{lead}(?P<{name}__{unit}>[\d.]+){match[4]}{match[5]}\b"
    try:
        hit = re.search(pattern, text)
    except re.error:
        return []
    return [f"--pattern '{pattern}', if that number is a duration"] if hit and "'" not in pattern else []
