"""Numbers with units: text to milliseconds, or the reason why not.

A duration is read whole or not at all: ``48.28.1``, ``0x30``, ``1_048`` and ``48.28parsec`` are
malformed, never 48, 0, 1 or 48 of something. Units are case-sensitive where case tells a size from
a time (``24M`` is no minute).
"""

from __future__ import annotations

import math
import re
from typing import Final

CEILING_MS: Final = 86_400_000.0
"""A day. A longer "duration" is an epoch, an underflow or a bug, and is counted as malformed."""

UNIT_MS: Final[dict[str, float]] = {
    **dict.fromkeys(("ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"), 1.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000.0),
    **dict.fromkeys(("us", "µs", "μs", "usec", "usecs", "micro", "micros", "microsecond", "microseconds"), 1e-3),
    **dict.fromkeys(("µsec", "μsec"), 1e-3),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nano", "nanos", "nanosecond", "nanoseconds"), 1e-6),
}
"""Unit as written -> milliseconds in one."""

_EXPONENT: Final[dict[float, str]] = {1.0: "", 1000.0: "e3", 1e-3: "e-3", 1e-6: "e-6"}
_DIVISOR: Final[dict[float, float]] = {1e-3: 1e3, 1e-6: 1e6}
_GO_MS: Final[dict[str, float]] = {
    "d": 86_400_000.0,
    "h": 3_600_000.0,
    "m": 60_000.0,
    "s": 1000.0,
    "ms": 1.0,
    "us": 1e-3,
    "µs": 1e-3,
    "μs": 1e-3,
    "ns": 1e-6,
}

UNIT: Final = (
    r"(?:milliseconds?|millis?|msecs?|ms|microseconds?|micros?|[uµμ]secs?|[uµμ]s"
    r"|nanoseconds?|nanos?|nsecs?|ns|seconds?|secs?|s)"
)
"""Pattern of a unit; callers add what must (not) follow."""
NUMBER: Final = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
"""Pattern of a plain, unsigned number."""
GO: Final = r"(?:(?:\d+(?:\.\d+)?(?:h|ms|[uµμ]s|ns|m|s))+)"
"""Pattern of a Go or compound duration (``1h2m3.5s``, ``1m40s``)."""

_NUMBER = re.compile(rf"\+?{NUMBER}", re.ASCII)
_DECIMAL = re.compile(r"\+?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_THOUSANDS = re.compile(r"\+?\d{1,3}(?:,\d{3})+\.\d+", re.ASCII)
_COMMA = re.compile(r"\+?\d+,\d+", re.ASCII)
_PLAIN = re.compile(rf"(\d+(?:\.\d+)?)\s?(ms|s|[uµμ]s|{UNIT})", re.ASCII)
_VALUE = re.compile(rf"([+-]?[\d.,_]+(?:[eE][+-]?\d+)?)\s?({UNIT})", re.ASCII)
_GO = re.compile(r"(?:\d+(?:\.\d+)?(?:d|h|ms|[uµμ]s|ns|m|s) ?)+", re.ASCII)
_GO_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|ms|[uµμ]s|ns|m|s)", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)(?:ms|us|ns|s)?", re.IGNORECASE)
_WORD_STARTS = frozenset("nNiI")
"""``nan`` and ``inf`` start with these, and many plain words."""
_SENTINELS = frozenset({"", "-", "-1", "null", "none", "nil", "n/a", "na", "undefined", "--", "?"})


class MalformedError(ValueError):
    """A text that stands where a duration should, but is none; the message says why."""


def is_absent(text: str) -> bool:
    """Whether the text says "no value" (``-``, ``-1``, ``null``, ``N/A``): absent, neither zero nor an error."""
    return text.lower() in _SENTINELS


def number(text: str, *, decimal_comma: bool = False) -> float:
    """A plain non-negative number.

    Args:
        text: The whole token, no spaces around it.
        decimal_comma: ``0,60`` is 0.6 (declared, or known of the format); else it is malformed,
            because it can't be told from a thousands separator.

    Raises:
        MalformedError: nan, inf, negative, hex, underscores, two dots, or another unit glued to it.
    """
    if _NUMBER.fullmatch(text):
        value = float(text)
    elif decimal_comma and _COMMA.fullmatch(text):
        value = float(text.replace(",", "."))
    elif _THOUSANDS.fullmatch(text):
        value = float(text.replace(",", ""))
    elif _NOT_FINITE.fullmatch(text):
        raise MalformedError(f"{text} is no duration")
    elif text.startswith("-"):
        raise MalformedError(f"{text} is negative")
    else:
        raise MalformedError(f"{text} is not a number")
    if value == float("inf"):
        raise MalformedError(f"{text} overflows")
    return value


def scaled(value: float, unit: str) -> float:
    """``value`` in ``unit`` as ms.

    Raises:
        MalformedError: longer than a day.
    """
    factor = UNIT_MS[unit]
    # Dividing by 1000 rounds once; multiplying by 0.001 rounds twice.
    result = value / _DIVISOR[factor] if factor in _DIVISOR else value * factor
    if not result <= CEILING_MS:
        raise MalformedError(f"{value:g} {unit} is longer than a day")
    return result


def milliseconds(text: str, unit: str, *, decimal_comma: bool = False) -> float:
    """A plain number in ``unit`` as ms, rounded once: ``0.0619517`` s is 61.9517.

    Raises:
        MalformedError: no plain non-negative number, or longer than a day.
    """
    if _DECIMAL.fullmatch(text):
        value = float(text + _EXPONENT[UNIT_MS[unit]])
        if value <= CEILING_MS:
            return value
        raise MalformedError(f"{text} {unit} is longer than a day")
    return scaled(number(text, decimal_comma=decimal_comma), unit)


def compound(text: str) -> float | None:
    """A Go or compound duration (``2m27.98s``, ``1h2m3.5s``, ``1m 40s``) in ms; ``None`` if it is none.

    Raises:
        MalformedError: longer than a day.
    """
    if not _GO.fullmatch(text):
        return None
    parts = _GO_PART.findall(text)
    total = math.fsum(_go_part(n, u) for n, u in parts)
    if not total <= CEILING_MS:
        raise MalformedError(f"{text} is longer than a day")
    return total


def _go_part(text: str, unit: str) -> float:
    factor = _GO_MS[unit]
    return float(text + _EXPONENT[factor]) if factor in _EXPONENT else float(text) * factor


def duration(text: str, *, decimal_comma: bool = False) -> float | None:
    """A number with its unit as ms (``5.2ms``, ``45 µs``, ``1m40s``, ``7usec``).

    Returns:
        ms, or ``None`` if the text is not of the form of a duration with a unit at all.

    Raises:
        MalformedError: it has that form, but is negative, not finite, absurd or not a number.
    """
    if text[:1] in _WORD_STARTS:
        if text[-1:] == "s" and _NOT_FINITE.fullmatch(text):
            raise MalformedError(f"{text} is no duration")
        return None
    match = _PLAIN.fullmatch(text)
    if match:
        value = float(match[1] + _EXPONENT[UNIT_MS[match[2]]])
        if value <= CEILING_MS:
            return value
        raise MalformedError(f"{text} is longer than a day")
    match = _VALUE.fullmatch(text)
    if match:
        return milliseconds(match[1], match[2], decimal_comma=decimal_comma)
    first = text[:1]
    if first.isdigit():
        return compound(text)
    if first == "+":
        return compound(text[1:])
    if first == "-" and _GO.fullmatch(text[1:]):
        raise MalformedError(f"{text} is negative")
    if _NOT_FINITE.fullmatch(text) and text[-1] == "s":
        raise MalformedError(f"{text} is no duration")
    return None
