"""Taking a line out of what others wrapped it in: terminals, containers, journals, process prefixes.

Each wrapper gives what it knows (a time, a pid) and the text inside. Kubernetes' CRI and docker's
json-file cut long lines into parts; those are joined by the stream before the text is read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from livemon.parse.timestamps import Calendar, Stamp, find, read

_CONTROL = re.compile(r"[\x1b\x00\ufeff\x08\x9b]")
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_]|[ -/]{1,4}[0-~])"
    r"|\x9b[0-?]{0,40}[ -/]{0,4}[@-~]"
)
_BLANKS: Final = {0: None, 0xFEFF: None, 0x08: " ", 0x1B: None, 0x9B: None}
_CRI = re.compile(r"(\d{4}-\d\d-\d\dT\S{8,30}) (stdout|stderr) ([FP])(?::\w+)? ?(.*)", re.DOTALL)
_COMPOSE = re.compile(r"([\w.\-]{1,64}) {1,40}\| ")
_ACTOR = re.compile(r"(?:\d{1,9}:)?\(([\w./:\- ]{0,64}?) ?\b[pP][iI][dD]=(\d{1,10})(?:, ip=[\w.:]{2,45})?\) ")
_SYSLOG = re.compile(
    r"(?:<\d{1,3}>(?:1 )?)?(?:[^\W\d]{3,9}\.? {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{4}-\d\d-\d\dT\S{8,30}) "
    r"[\w.\-:]{1,64} ([\w./\-@()]{1,64})(?:\[(\d{1,10})\])?: "
)
_MAX_LAYERS: Final = 6


@dataclass(slots=True)
class Unwrapped:
    """A line's own text, and what its wrappers knew."""

    text: str
    stamp: Stamp | None = None
    pid: int | None = None
    stream: str = ""
    """``stdout`` or ``stderr`` of a container: parts are joined within one of them."""
    part: str = ""
    """``P``: the text goes on in the next line of this container; ``F``: it is complete."""
    wrapper: str = ""
    """Names of the wrappers, outermost first, for ``--explain``."""


def clean(text: str) -> str:
    """Without terminal sequences, NUL, byte order marks and backspaces."""
    if _CONTROL.search(text):
        return _ANSI.sub("", text).translate(_BLANKS)
    return text


def unwrap(text: str, calendar: Calendar) -> Unwrapped:
    """Take every wrapper off a line."""
    line = Unwrapped(clean(text))
    for _ in range(_MAX_LAYERS):
        if not _peel(line, calendar):
            break
    return line


def _note(line: Unwrapped, name: str, stamp: Stamp | None = None) -> None:
    line.wrapper = f"{line.wrapper}, {name}" if line.wrapper else name
    if stamp is not None and (line.stamp is None or stamp.rank >= line.stamp.rank):
        line.stamp = stamp


def _peel(line: Unwrapped, calendar: Calendar) -> bool:
    text = line.text
    first = text[:1]
    if first == "{":
        return _peel_json(line, calendar)
    if first == "2" and (match := _CRI.match(text)):
        line.text = match[4]
        line.stream = match[2]
        line.part = match[3]
        _note(line, "CRI", read(match[1], calendar))
        return True
    if first == ">" and text[1:2] == " ":
        line.text = text[2:]
        return True
    if "| " in text[:110] and (match := _COMPOSE.match(text)):
        line.text = text[match.end() :]
        _note(line, "compose prefix")
        return True
    if "id=" in text[:100] and (match := _ACTOR.match(text)):
        line.text = text[match.end() :]
        line.pid = int(match[2])
        _note(line, "actor prefix")
        return True
    if "]: " in text[:200] or ": " in text[:200]:
        match = _SYSLOG.match(text)
        if match:
            line.text = text[match.end() :]
            if match[2]:
                line.pid = int(match[2])
            _note(line, "syslog", find(match[0], calendar))
            return True
    return False


def _peel_json(line: Unwrapped, calendar: Calendar) -> bool:
    text = line.text
    is_docker = '"log":' in text and '"stream":' in text
    if not is_docker and '"MESSAGE"' not in text:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    if is_docker:
        inner = value.get("log")
        if not isinstance(inner, str) or value.get("stream") not in ("stdout", "stderr"):
            return False
        line.stream = value["stream"]
        line.part = "F" if inner.endswith("\n") else "P"
        line.text = clean(inner.rstrip("\r\n"))
        _note(line, "docker json-file", read(value.get("time"), calendar))
        return True
    inner = value.get("MESSAGE")
    if isinstance(inner, list):
        try:
            inner = bytes(inner).decode("utf-8", "replace")
        except (ValueError, TypeError):
            return False
    if not isinstance(inner, str) or not ("__REALTIME_TIMESTAMP" in value or "__CURSOR" in value):
        return False
    pid = value.get("_PID")
    if isinstance(pid, str) and pid.isdecimal() and pid.isascii() and len(pid) <= 10:
        line.pid = int(pid)
    line.text = clean(inner)
    stamp = value.get("_SOURCE_REALTIME_TIMESTAMP", value.get("__REALTIME_TIMESTAMP"))
    _note(line, "journald JSON", read(stamp, calendar))
    return True
