"""``key=value`` text (logfmt and its cousins), without a tag: only values with a unit count.

A unit stands in the value (``took=3.2ms``, ``busy=45 µs``, ``elapsed="1m40s"``), in the key
(``dur_ns=2600``, ``ElapsedMillis=3``) or is declared (``--unit took=s``). A bare number without any
of these is never a duration.
"""

from __future__ import annotations

import re
from typing import Final

from livemon.parse import context, keys, units
from livemon.parse.json_units import units_of_pairs
from livemon.parse.reading import Draft, Reading, may_have_durations, take_pairs

PAIR = re.compile(
    r"(?<![\w.\-/@#\"'=?&])([A-Za-z_@][\w.\-@/#]{0,120}+)="
    r"(?:\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|[ \t]{1,40}([+\-]?[\d.][^\s\"=,;)}\]|]*)(?![^\s\"]*=)"
    r"|([^\s\",;)}\]|]+(?:,\d[^\s\",;)}\]|]*)*))?"
    rf"(?:[ \t]({units.UNIT})(?![\w=/%]))?"
)
_IDS_IN_TEXT: Final = tuple(
    (hint, re.compile(pattern))
    for hint, pattern in (
        ("GC(", r"\bGC\((\d+)\)"),
        ("Iteration(", r"\bIteration\((\d+)\)"),
        ("task ", r"\btask (\d+) \|"),
        ("Thread ", r"\bThread (\d+):"),
        ("Query #", r"\bQuery #(\d+)"),
        ("step", r"\bsteps?[: ] *(\d+)\b"),
        ("iteration", r"\biteration[: ] *(\d+)\b"),
        ("RequestId: ", r"\bRequestId: ([0-9a-fA-F-]{36})"),
        (" -- ", r"\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"),
        ("|req: ", r"\|req: ([\d/]{1,40})\]"),
        ("Trace[", r"\bTrace\[(\d+)\]"),
        ("traceID=", r"\btraceID=(\w+)"),
    )
)
"""A hint, and where the unit's id stands, for the systems that write it into their text."""
ID_HINTS: Final = tuple(hint for hint, _ in _IDS_IN_TEXT)
_PROGRESS: Final = re.compile(r"\bETA\b|%\||\d(?:\.\d+)?\s?(?:s/it|it/s)\b|\[=*>?\.*\]|\bprogress =")
_PROGRESS_HINTS: Final = ("ETA", "%|", "s/it", "it/s", "[=", "progress =")
_ID_CHARS: Final = 400
_WITH_STATISTICS: Final = frozenset(("total", "count", "window", "n"))
"""Names that mean "over all of them" beside an average."""
QUERY_KEYS: Final = frozenset(("length", "step", "start_delta", "end_delta"))
"""Settings of a range query that are written as durations."""


def id_in_text(text: str) -> str | None:
    """A unit id that stands in the text of the systems that write one so."""
    for hint, pattern in _IDS_IN_TEXT:
        if hint in text and (match := pattern.search(text, 0, _ID_CHARS)):
            return match[1]
    return None


def is_progress(text: str) -> bool:
    """Whether the line is a progress bar or a forecast."""
    for hint in _PROGRESS_HINTS:
        if hint in text:
            return _PROGRESS.search(text) is not None
    return False


def pairs_of(text: str) -> list[tuple[str, str]]:
    """The ``key=value`` pairs of a text; quoted values without quotes, ``45 µs`` as ``45µs``."""
    found = []
    for key, quoted, spaced, plain, unit in PAIR.findall(text):
        value = plain or spaced or quoted
        if unit and value and value[-1].isdigit():
            value += unit
        elif value and value[-1] in ".:" and not quoted:
            value = value.rstrip(".:") if not value[:-1].isdigit() else value
        elif value[:1] == "'" and value[-1] == "'":
            value = value[1:-1]
        elif "\\" in quoted:
            value = quoted.replace('\\"', '"')
        found.append((key, value))
    return found


def read_keyvalue(
    text: str, reading: Reading, declared: dict[str, str], bare_unit: str | None, *, decimal_comma: bool = False
) -> bool:
    """Read the pairs of a line; false if there is nothing that could be a duration."""
    if "=" not in text:
        return False
    pairs = pairs_of(text)
    if "controller=" in text:
        declared = {**units_of_pairs(dict(pairs)), **declared}
    if bare_unit is None and not may_have_durations(pairs, declared):
        return False
    draft = Draft("keyvalue")
    before = len(reading.problems)
    take_pairs(draft, reading, pairs, bare_unit=bare_unit, declared=declared, decimal_comma=decimal_comma)
    if draft.stages or len(reading.problems) > before:
        own = context.own_text(text)
        if own != text:
            del reading.problems[before:]
            return read_keyvalue(own, reading, declared, bare_unit, decimal_comma=decimal_comma)
    if not draft.stages:
        if reading.problems:
            reading.rule = "keyvalue"
            return True
        return False
    return finish_pairs(draft, reading, text)


def finish_pairs(draft: Draft, reading: Reading, text: str) -> bool:
    """Drop what is no sample of one unit (statistics, query settings, progress) and keep the rest."""
    reading.rule = draft.source
    if any(keys.is_statistic(name) for name, _ in draft.stages):
        single = [stage for stage in draft.stages if not keys.is_statistic(stage[0])]
        if not single or all(name in _WITH_STATISTICS for name, _ in single):
            reading.remark = "a summary over several units, not a sample of one"
            return True
        draft.stages = single
    if is_progress(text):
        reading.remark = "a progress line, not a sample of a finished unit"
        return True
    if context.has_generic(draft.stages) and context.is_waiting(context.message_of(text)):
        draft.stages = [s for s in draft.stages if s[0] not in context.GENERIC]
        reading.remark = "" if draft.stages else "the message says that it waits: a plan, not a measurement"
    if "query_type=" in text or "range_type=" in text:
        draft.stages = [s for s in draft.stages if s[0] not in QUERY_KEYS]
    if draft.stages:
        if draft.unit is None:
            draft.unit = id_in_text(text)
        reading.drafts.append(draft)
    return True
