"""Prose: ``label: 1.2 ms``, ``label = 1.2 ms``, ``X took 1.2 ms``, ``X (1.2 ms)``, ``latency (ms): 1.2``.

Read only where asked for (``--labels``): the largest single gain and the main source of false stages.
A number counts when the words before it name it in one of the ways above and nothing says that it was
planned, is a rate, or stands for several units. Names carry no digits: they end before the first
number, quote, path or preposition, and a number at their end is the unit's id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from livemon.parse import keys, units
from livemon.parse.context import own_text
from livemon.parse.keyvalue import id_in_text, is_progress
from livemon.parse.reading import Draft, Reading
from livemon.parse.timestamps import MONTHS

SEARCHED_CHARS: Final = 16_384

_VALUE = re.compile(
    r"(?<![\w.,\-+#/@%~$<>])(?<!\d:)"
    r"(\+?(?:\d+(?:\.\d+)?(?:d|h|m|s|ms)[ \t]?){2,8}(?![\w/])"
    rf"|[+\-]?[\d.][\d.,_\-]*(?:[eE][+\-]?\d+)?[ \t]?{units.UNIT}(?![\w/%²]))"
)
_UNIT_IN_LABEL = re.compile(
    rf"([A-Za-z][^:=|,;(){{}}\[\]\t\"]{{0,80}}?)[ ]?\(({units.UNIT})\)"
    rf"(?:[ ]{{0,40}}[:=][ ]{{0,60}}|[ ]{{1,40}})({units.NUMBER})(?![\w.%/])"
)
_OF_TIME = re.compile(r"(?:time|duration|latency|elapsed|wait|delay)$", re.IGNORECASE)
"""What seconds follow without a space; elsewhere the ``(s)`` is a plural: ``port(s): 8080``."""
_UNIT_IN_KEY = re.compile(
    r"(?<![\w.])([A-Za-z]\w{0,60}_(?:ms|us|ns|s|sec|secs|seconds|msec|usec))"
    rf"[ ]{{0,8}}[:=][ ]{{0,40}}({units.NUMBER})(?![\w.%/])"
)
COLON = re.compile(r"(?<![<>!=~])[:=]\s{0,60}$")
"""``reads >= 0.5 sec`` names nothing."""
_VERB = re.compile(r"(?:^|[\s(])(took|takes|taking|in|is|executed for|ran for|lasted|done in|finished in)\s?\(?$")
_IN_QUERY = re.compile(r"(?:[?&]|(?:^|\s)--?)[^\s=]{0,200}=$")
"""``/search?step=15s``, ``--timeout=5s``: part of an address, or of a command."""
_IN_ADDRESS: Final = ("?", "&", "-", "/")
"""What stands before a key there."""
_WILL_BE = re.compile(
    r"^\W*(?!(?:str|spr|tim)ing)[A-Za-z]{3,}ing\b(?!.*\b(?:done|finished|completed?|ended|succeeded|ready)\b)",
    re.IGNORECASE,
)
"""``Shutting down in 10 s``: in so much time, not for so long."""
_SO_MANY = re.compile(r"\W*\d[\d,.]* [A-Za-z]+")
"""``12 requests in 3 s``: several units, or a rate."""
_LAST_PREPOSITION = re.compile(r" (?:for|of|at|on|in|to)$")
_OPEN = re.compile(r"[(\[]\s?$")
_LIST = re.compile(r"(?:^|[(,+|])\s{0,4}([A-Za-z][A-Za-z _\-]{1,60})\s$")
_ROUTE = re.compile(
    r"((?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) [^\s\"]{1,500})(?: HTTP/\d(?:\.\d)?\")? \(?\d{3}\)?"
    r"(?: [A-Z][A-Za-z ]{1,40})?(?: -)?\s$"
)
_ROUTE_AT_END = re.compile(r"((?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) [^\s\"]{1,500})\s*$")
_TOOK_BEFORE = re.compile(r"(?:^|[^\w\s]\s)Took\s$")
_TO_DO = re.compile(r"\s(?:to|for) ([a-z][a-z ]{2,80})")
_ALONE = re.compile(r"^\s*([A-Za-z][\w ]{0,60}?)(?:\s{2,60}|\t)$")
_CLAUSE = re.compile(
    r"[:;|,\t\]\)\[({}>\"]\s|[|;\t\])>\"]|(?:^|\s)[-–—*]+\s|(?<![Aa]vg)\.\s|(?<![pP]\d)(?<![pP])(?<![pP]\d\d\.)\d\s{1,4}(?=[A-Za-z])|/\s"
)
_STOP_WORD = re.compile(
    r"(?:^|\s)(?:(?:at|with|for|from|to|on|by|into|over|using|after|before|within|took|takes|per|of)(?=\s|$)|\S*[\d\"'/\\#=<>{}@.]\S*)"
)
_ODD_WORD = re.compile(r"(?:^|\s)(?:\S*[\d\"'/\\#=<>{}@]\S*|\w+\.\w+\.\S*)")
_LAST_GROUP = re.compile(r"\s\([^()]{0,200}\)\s*$")
_LEVEL = re.compile(r"^(?:TRACE|DEBUG|DBG|INFO|INF|NOTICE|WARN|WARNING|WRN|ERROR|ERR|FATAL|CRITICAL) +(?=[A-Za-z])")
_ARGUMENTS = re.compile(r"(?<=\w) ?\([^()]{0,300}\)")
"""``Log(dir=/d, topic=a)``: what stands in brackets behind a word."""
_EDGES: Final = " \t-–—*>.:=([`'\""
RATE_AFTER = re.compile(
    r"\s?(?:per\b|/|at \d|ago\b|left\b|\(\+|remaining\b|(?:timeout|interval|window|period|delay|slice)s?\b"
    r"|exceeded\b|old\b|apart\b|of\b|-[a-z]|[-–—] ?[\d.]|±|\.\.|(?:-{1,2}|=)>\s?\d|→)"
)
"""What follows a rate, a plan, a length (``3 s of audio``), a range or a change (``3 s -> 2 s``)."""
_DECADE = re.compile(r"(?:1[89]|20)\d0s")
PLANNED = re.compile(
    r"\b(?:scheduling|retry\w*|restart\w*|sleep\w*|wait(?:ing)? for|will|would|expir\w*|next|again|reconnect\w*"
    r"|back-?off|timeout|timed out|deadline|interval|window|limit|budget|target|expected|estimated|remaining|every"
    r"|scheduled$|^no|ETA|billed|uptime|renewal|length|max(?:imum)? allowed|^defaults?|should)\b",
    re.IGNORECASE,
)
_MESSAGE = re.compile(r"\b(?:msg|message)=\"((?:[^\"\\]|\\.)*)\"")
NO_ENDS: Final = frozenset(
    (
        "than", "of", "to", "from", "by", "with", "within", "that", "which", "is", "it", "and", "or", "the", "a", "an",
        "on", "at", "in", "for", "as", "but", "this", "its", "under", "over", "about", "only", "most", "least", "now",
        "should", "after", "before", "last", "past", "next",
    )
)  # fmt: skip
"""No name ends so: the number behind it belongs to a sentence."""
_STOP_AT_END = re.compile(r"\s(?:at|with|for|from|to|on|by|into|over|using|of|in)$")
_ID_AT_END = re.compile(r"\s+#?(\d{1,12})$")


def read_labels(text: str, reading: Reading) -> bool:
    """Read the durations that prose names; false if there is none."""
    text = text[:SEARCHED_CHARS]
    whole = text
    message = _MESSAGE.search(text)
    if message:
        text = message[1].replace('\\"', '"')
    if is_progress(text):
        reading.rule = "labels"
        reading.remark = "a progress line, not a sample of a finished unit"
        return True
    draft = Draft("labels")
    before = len(reading.problems)
    skipped = take_named(text, draft, reading, named)
    if not draft.stages and not reading.problems:
        reading.remark = skipped
        if skipped:
            reading.rule = "labels"
        return bool(skipped)
    own = own_text(text)
    if own != text:
        del reading.problems[before:]
        return read_labels(own, reading)
    reading.rule = "labels"
    if draft.stages:
        draft.unit = id_in_text(whole) or draft.unit
        reading.drafts.append(draft)
    return True


Naming: TypeAlias = Callable[[str, re.Match[str], int, Draft], tuple[str, bool]]
"""Text, value, where the value before it ends, draft -> the value's name, and whether it is planned."""


def take_named(text: str, draft: Draft, reading: Reading, naming: Naming) -> str:
    """Take every value of a text that is named; returns why the last one that was skipped was, or nothing."""
    skipped = ""
    spans: list[tuple[int, int]] = []
    behind = 0
    for match in _UNIT_IN_LABEL.finditer(text):
        spans.append(match.span(3))
        if match[2] == "s" and text[match.start(2) - 2] != " " and not _OF_TIME.search(match[1]):
            continue
        skipped = _take(name_in(match[1], draft), match[3] + match[2], draft, reading) or skipped
    for match in _UNIT_IN_KEY.finditer(text):
        suffix = keys.unit_suffix(match[1]) if text[match.start() - 1 : match.start()] not in _IN_ADDRESS else None
        if suffix is not None and keys.is_measured(match[1]):
            spans.append(match.span(2))
            skipped = _take(suffix[0], match[2] + suffix[1], draft, reading) or skipped
    for match in _VALUE.finditer(text):
        named_from, behind = behind, match.end()
        if any(a <= match.start() < b for a, b in spans):
            continue
        if RATE_AFTER.match(text, match.end()) or _is_range(match[1]) or _DECADE.fullmatch(match[1]):
            continue
        if match[1][0] == "+" and not COLON.search(text, max(0, match.start() - 64), match.start()):
            continue  # so long after something else
        name, is_planned = naming(text, match, named_from, draft)
        if is_planned:
            skipped = "the duration is planned or a limit, not measured"
        elif name:
            skipped = _take(name, match[1].rstrip(), draft, reading) or skipped
        if skipped == _SEVERAL and not draft.stages:
            break
    return skipped


_NO_NAMES: Final = frozenset(("id", "pid", "tid", *MONTHS)) - {"gen"}
"""``gen`` is a month in Italian, and in logs what generates."""
_SEVERAL: Final = "a figure over several units, not a sample of one"


def _take(name: str, text: str, draft: Draft, reading: Reading) -> str:
    """Take one named value; returns why it is skipped, or nothing."""
    if not name or name.lower() in _NO_NAMES:
        return ""
    if keys.is_statistic(name):
        return _SEVERAL
    if not keys.is_measured(name) or PLANNED.search(name):
        return "the duration is planned or a limit, not measured"
    try:
        value = units.duration(text)
    except units.MalformedError as problem:
        reading.problems.append(f"{name}: {problem}")
        return ""
    if value is None:
        reading.problems.append(f"{name}: {text} is no duration")
    elif all(name != other for other, _ in draft.stages):
        draft.stages.append((name, value))
    return ""


def named(text: str, match: re.Match[str], named_from: int, draft: Draft) -> tuple[str, bool]:
    """The name of the value at ``match`` by what stands before it, if need be back to ``named_from``; is it planned?"""
    before = text[max(0, match.start() - 400) : match.start()]
    after = text[match.end() : match.end() + 2]
    colon = COLON.search(before)
    if colon:
        if _IN_QUERY.search(before):
            return "", False
        label = before[max(len(before) - (match.start() - named_from), 0) : colon.start()]
        return name_in(_LAST_PREPOSITION.sub("", label.rstrip()), draft), False
    verb = _VERB.search(before)
    if verb and not _TOOK_BEFORE.search(before):
        clause = before[: verb.start()]
        words = last_clause(clause)
        if PLANNED.search(words) or (verb[1] == "in" and _WILL_BE.match(words)):
            return "", True
        if verb[1] == "in" and _counts(clause):
            return "", False
        named_route = _ROUTE_AT_END.search(clause)
        return named_route[1] if named_route else name_in(clause, draft, is_prose=True), False
    took = _TOOK_BEFORE.search(before)
    if took:
        what = _TO_DO.match(text, match.end())
        return (name_in(what[1], draft, is_prose=True) if what else ""), False
    route = _ROUTE.search(before)
    if route:
        return route[1], False
    opened = _OPEN.search(before)
    if opened and before[: opened.start()][-1:] == " ":
        return name_in(before[: opened.start()], draft, is_prose=True), False
    listed = _LIST.search(before)
    if listed and (after[:1] in (",", ")", "+", "|") or after[:2] == " +") and "(" in before:
        return _as_name(listed[1].strip()), False
    alone = _ALONE.search(before)
    if alone and match.end() >= len(text.rstrip()):
        return alone[1].strip(), False
    return "", False


def _counts(clause: str) -> bool:
    """Whether a clause is a number and a noun."""
    words = clause.rsplit(None, 2)
    return len(words) > 1 and words[-2][-1].isdigit() and _SO_MANY.fullmatch(_prose_clause(clause)) is not None


def _is_range(text: str) -> bool:
    return re.match(r"[\d.]+-[\d.]+[ \ta-zµμ]", text) is not None


def last_clause(text: str) -> str:
    """The last clause: what follows the last delimiter, or number, before the name."""
    end = len(text.rstrip())
    start = 0
    for match in _CLAUSE.finditer(text, 0, end):
        if match.end() < end:
            start = match.end()
    return text[start:end]


def name_in(text: str, draft: Draft, *, is_prose: bool = False) -> str:
    """The name at the end of a text, without digits; a number at its end is the unit's id."""
    if is_prose:
        text = _ARGUMENTS.sub("", _LAST_GROUP.sub("", text))
    words = (_prose_clause(text) if is_prose else last_clause(text)).strip(_EDGES)
    if keys.is_statistic(words):
        return words
    found = _ID_AT_END.search(words)
    if found and not _STOP_AT_END.search(words, 0, found.start()):
        if draft.unit is None:
            draft.unit = found[1]
        words = words[: found.start()]
    words = _LEVEL.sub("", _without_odd_start(words))
    stop = (_STOP_WORD if is_prose else _ODD_WORD).search(words)
    if stop and stop.start() > 0:
        words = words[: stop.start()]
    elif stop and any(c.isdigit() or c in "\"'/\\=" for c in words):
        words = ""
    words = words.strip(_EDGES)
    return _as_name(words if is_prose else _LAST_PREPOSITION.sub("", words))


def _as_name(words: str) -> str:
    """The words, if they can be a name: no garbage, no part of a sentence that goes on with the number."""
    if not words[:1].isalpha() or not words.isprintable() or "\ufffd" in words:
        return ""
    return "" if words.rpartition(" ")[2].lower() in NO_ENDS else words


def _without_odd_start(words: str) -> str:
    """Without the addresses, ids and numbers that stand before the first plain word."""
    rest = words
    while rest and _ODD.intersection(head := rest.partition(" ")[0]):
        rest = rest[len(head) :].lstrip()
    return rest if rest[:1].isalpha() else words


_ODD: Final = frozenset("0123456789\"'/\\#=<>{}@")
_PROSE_CLAUSE = re.compile(r"(?:[:;|\]\)>]|\.)\s|[|;\t(]|(?:^|\s)[-–—*]+\s")
_ATTRIBUTE = re.compile(r"^\W*[A-Za-z][A-Za-z ]{0,40} (?:\S*[\d\"']\S*)\s*$")


def _prose_clause(text: str) -> str:
    """The last clause of a sentence: quotes, brackets and numbers are inside it, not its bounds.

    A comma is a bound, but not one before a mere attribute (``…, size "19109" in 3 ms``).
    """
    end = len(text.rstrip())
    start = 0
    for match in _PROSE_CLAUSE.finditer(text, 0, end):
        if match.end() < end:
            start = match.end()
    clause, _, last = text[start:end].rpartition(", ")
    while clause and _ATTRIBUTE.match(last):
        clause, _, last = clause.rpartition(", ")
    return last
