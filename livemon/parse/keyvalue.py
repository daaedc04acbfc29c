"""``key=value`` text (logfmt and its cousins), without a tag: only values with a unit count.

A unit stands in the value (``took=3.2ms``, ``busy=45 µs``, ``elapsed="1m40s"``), in the key
(``dur_ns=2600``, ``ElapsedMillis=3``) or is declared (``--unit took=s``). A bare number without any
of these is never a duration.
"""

from __future__ import annotations

import re
from typing import Final

from livemon.parse import keys, units
from livemon.parse.reading import Draft, Reading, take_pairs

_PAIR = re.compile(
    r"(?<![\w.\-/@#\"'=])([A-Za-z_@][\w.\-@/#]{0,120})="
    r"(?:\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|[ \t]{1,40}([+\-]?[\d.][^\s\"=,;)}\]|]*)(?![^\s\"]*=)"
    r"|([^\s\",;)}\]|]+(?:,\d[^\s\",;)}\]|]*)*))?"
    rf"(?:[ \t]({units.UNIT})(?![\w=/%]))?"
)
_HINT: Final = re.compile(
    rf"=[ \t]*\"?[+\-]?(?:[\d.][\d.,_]*[ \t]?{units.UNIT}(?![\w/])|\d[\d.]*[hmd](?:\d|(?![\w/]))|(?:nan|inf)m?s\b)"
    r"|(?:[mun]s|µs|μs|_s|[sS]ecs?|[sS]econds?|[mM]illis|[mM]icros|[nN]anos)=[ \t]*\"?[+\-]?[\d.nNiI]"
)
_ID_IN_TEXT: Final = re.compile(
    r"\bGC\((\d+)\)|\bIteration\((\d+)\)|\|? ?task (\d+) \||\bThread (\d+):|\bQuery #(\d+)|\b(?:steps?|iteration)[: ] *(\d+)\b"
    r"|\bRequestId: ([0-9a-fA-F-]{36})|-- [A-Z]+ |\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"
    r"|\btraceID=(\w+)"
)
_PROGRESS: Final = re.compile(r"\bETA\b|%\||\d+(?:\.\d+)?\s?(?:s/it|it/s)\b|\[=*>?\.*\]")
_QUERY_KEYS: Final = frozenset(("length", "step", "start_delta", "end_delta"))
"""Settings of a range query that are written as durations."""


def id_in_text(text: str) -> str | None:
    """A unit id that stands in the text of the systems that write one so."""
    match = _ID_IN_TEXT.search(text, 0, 400)
    return next((g for g in match.groups() if g), None) if match else None


def is_progress(text: str) -> bool:
    """Whether the line is a progress bar or a forecast."""
    return _PROGRESS.search(text) is not None


def pairs_of(text: str) -> list[tuple[str, str]]:
    """The ``key=value`` pairs of a text; quoted values without quotes, ``45 µs`` as ``45µs``."""
    found = []
    for key, quoted, spaced, plain, unit in _PAIR.findall(text):
        value = plain or spaced or quoted
        if unit and value and value[-1].isdigit():
            value += unit
        elif value and value[-1] in ".:" and not quoted:
            value = value.rstrip(".:") if not value[:-1].isdigit() else value
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
    if bare_unit is None and not any(f"{name}=" in text for name in declared) and not _HINT.search(text):
        return False
    draft = Draft("keyvalue")
    pairs = pairs_of(text)
    take_pairs(draft, reading, pairs, bare_unit=bare_unit, declared=declared, decimal_comma=decimal_comma)
    if not draft.stages:
        if reading.problems:
            reading.rule = "keyvalue"
            return True
        return False
    return finish_pairs(draft, reading, text, pairs)


def finish_pairs(draft: Draft, reading: Reading, text: str, pairs: list[tuple[str, str]]) -> bool:
    """Drop what is no sample of one unit (statistics, query settings, progress) and keep the rest."""
    reading.rule = draft.source
    if sum(keys.is_statistic(name) for name, _ in draft.stages) and (
        len(draft.stages) > 1 or any(key in ("n", "count", "num") for key, _ in pairs)
    ):
        reading.remark = "a summary over several units, not a sample of one"
        return True
    if is_progress(text):
        reading.remark = "a progress line, not a sample of a finished unit"
        return True
    if any(key in ("query_type", "range_type") for key, _ in pairs):
        draft.stages = [s for s in draft.stages if s[0] not in _QUERY_KEYS]
    if draft.stages:
        if draft.unit is None:
            draft.unit = id_in_text(text)
        reading.drafts.append(draft)
    return True
