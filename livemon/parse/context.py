"""What stands around a duration and says that nobody measured it: settings, SQL text, a message that waits.

The key alone does not tell: ``duration=10s`` is a measurement beside ``msg="request done"`` and a plan
beside ``msg="sleeping"``; ``poll_ms=10`` inside ``ServerConfig(…)`` is a setting.
"""

from __future__ import annotations

import re
from typing import Final

GENERIC: Final = frozenset(
    ("duration", "dur", "delay", "wait", "wait_time", "waitTime", "pause", "time", "interval", "period", "for")
)
"""Names that only the message makes a measurement or a plan."""
WAITING_MARKS: Final = (
    "rying", "onnecting", "leeping", "acking off", "aiting", "timer", "hrottl", "ate limit", "ausing", "elaying",
    "chedul", "ill re", "ill wait", "ill try", "ill sleep",
)  # fmt: skip
"""Parts of words: a message that waits has one of them."""
_WAITING = re.compile(
    r"\b(?:retrying|reconnecting|sleeping|backing off|waiting (?:for|before|until|to)"
    r"|(?:adding|starting|setting) (?:\w+ )?timer|throttling|rate limit(?:ed)?|pausing|delaying"
    r"|(?:re)?schedul(?:ed|ing) (?:next|retry|restart|for|in)"
    r"|will (?:retry|reconnect|restart|wait|try|sleep))\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"\b(?:finished|done|completed?|succeeded|acquired|processed|executed)\b", re.IGNORECASE)
_MESSAGE = re.compile(r"\b(?:msg|message|event)=(?:\"((?:[^\"\\]|\\.)*)\"|(\S+))")
_SETTINGS = re.compile(r"(?:Config|Configuration|Settings|Options|Args|Arguments|Params|Parameters|Namespace|Policy)\(")
_SETTINGS_WORDS: Final = frozenset(
    ("args", "arguments", "config", "configuration", "settings", "options", "parameters", "flags", "env", "environment",
     "defaults")
)  # fmt: skip
_SQL = re.compile(
    r"\b(?:SELECT\b.{1,4000}?\bFROM|UPDATE\s+\S{1,200}\s+SET|DELETE\s+FROM|INSERT\s+INTO|SET\s+\w{1,80}\s*(?:=|TO))\b"
)
_BRACKET = re.compile(r"[()]")


def is_waiting(message: str) -> bool:
    """Whether a message says that something will be, not that it was."""
    return _WAITING.search(message) is not None and _DONE.search(message) is None


def has_generic(stages: list[tuple[str, float]]) -> bool:
    """Whether only the message tells what one of the stages is."""
    for name, _ in stages:  # noqa: SIM110 - this runs for every record; a generator doubles its cost
        if name in GENERIC:
            return True
    return False


def message_of(text: str) -> str:
    """The message of a line of ``key=value`` pairs: under its key, else the words before the first pair."""
    found = _MESSAGE.search(text)
    return (found[1] or found[2] or "") if found else text[: text.find("=")]


def own_text(text: str) -> str:
    """The line without what it only quotes: settings in brackets or behind ``config:``, SQL."""
    if "(" in text and ("s(" in text or "g(" in text or "n(" in text or "e(" in text or "y(" in text):
        text = _without_settings(text)
    if " SET " in text or " FROM " in text or " INTO " in text:
        found = _SQL.search(text)
        if found and text.count('"', 0, found.start()) % 2 == 0:
            text = text[: found.start()]
    equals = text.find("=")
    colon = text.rfind(": ", 0, equals) if equals > 0 else -1
    if colon > 0 and text.find(" ", colon + 2, equals) < 0:
        word = text[:colon].rstrip().rpartition(" ")[2]
        if word.lower() in _SETTINGS_WORDS:
            return text[:colon]
    return text


def _without_settings(text: str) -> str:
    start = _SETTINGS.search(text)
    while start:
        depth, end = 1, len(text)
        for bracket in _BRACKET.finditer(text, start.end()):
            depth += 1 if bracket[0] == "(" else -1
            if not depth:
                end = bracket.end()
                break
        text = text[: start.start()] + text[end:]
        start = _SETTINGS.search(text, start.start())
    return text
