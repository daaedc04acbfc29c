"""Timestamps as logs write them: found in a line's text, or read from a value that is one.

A line may carry several (container runtime, syslog, the program's own). The most complete wins
(zone and year, then year, then neither), among equals the innermost, which is the emitter's own.
What a stamp lacks is filled in openly: no zone means the zone of ``Calendar`` (local by default),
no year or date means the newest one that is not after ``Calendar.reference_ns``; without such a
reference a stamp without year stays unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Literal, NamedTuple

SECOND_NS: Final = 1_000_000_000
DAY_S: Final = 86_400
SCANNED_CHARS: Final = 400
"""Stamps stand near the start of a line; a number further in is part of the message."""

_MONTH_NAMES: Final = (
    "jan janv januar january ene enero gen",
    "feb févr fevr fév februar february febrero",
    "mar mars mär märz march marzo",
    "apr avr april abr abril",
    "may mai mayo maggio mag",
    "jun juin june juni junio giu",
    "jul juil july juli julio lug",
    "aug août aout august ago agosto",
    "sep sept september septiembre set",
    "oct okt october oktober octubre ott",
    "nov november noviembre",
    "dec déc dez dic december dezember diciembre",
)
MONTHS: Final[dict[str, int]] = {name: n for n, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}

_TIME = r"(?P<{0}h>[01]\d|2[0-4]):(?P<{0}m>[0-5]\d):(?P<{0}s>[0-6]\d)(?:[.,](?P<{0}f>\d{{1,9}}))?"
_ZONE = r"(?:\s?(?P<{0}z>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\d:]))?"
_STAMP = re.compile(
    r"\[mono_ns=(?P<mono>\d{1,19})\]"
    r"|(?<!\d)(?P<ay>\d{4})(?P<asep>[-/])(?P<ao>\d\d)(?P=asep)(?P<ad>\d\d)(?:[T_ ]| - )"
    + _TIME.format("a")
    + _ZONE.format("a")
    + r"|(?<!\d)(?P<bd>\d\d)/(?P<bo>[A-Za-z]{3})/(?P<by>\d{4}):"
    + _TIME.format("b")
    + _ZONE.format("b")
    + r"|(?<!\d)(?P<co>\d\d)/(?P<cd>\d\d)/(?P<cy>\d{4})[- ]"
    + _TIME.format("c")
    + r"|(?<![\d/])(?P<dy>\d\d)/(?P<do>\d\d)/(?P<dd>\d\d) "
    + _TIME.format("d")
    + r"|\b[A-Z][a-z]{2} (?P<eo>[A-Z][a-z]{2}) [ \d]?(?P<ed>\d) "
    + _TIME.format("e")
    + r"(?: [A-Z]{3,4})? (?P<ey>\d{4})\b"
    + r"|(?<!\w)(?P<fo>[A-Za-zéûä]{3,9})\.? {1,2}(?P<fd>\d{1,2}),? "
    + _TIME.format("f")
    + r"|(?<![\d.\-/])(?P<go>\d\d)[-.](?P<gd>\d\d) "
    + _TIME.format("g")
    + r"|\b[IWEFDC](?P<ho>[01]\d)(?P<hd>[0-3]\d) "
    + _TIME.format("h")
    + r"|(?<![\d:./T])"
    + _TIME.format("t")
    + r"(?![\d:])"
    + r"|^(?:\[\d+\] )?(?P<rm>\d{1,6})\.(?P<rs>\d\d)\.(?P<ri>\d{3})\.(?P<ru>\d{3}) "
    + r"|^\s*(?:\[\d+:0x[0-9a-f]+\] +)?(?P<qms>\d{1,12}) ms: "
    + r"|\[(?P<us>\d{1,9}\.\d{1,9})s\]|\[(?P<ums>\d{1,12})ms\]|^(?P<uq>\d{1,9}[.,]\d{3}): | @(?P<ug>\d{1,9}\.\d{1,9})s "
)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ]" + _TIME.format("") + _ZONE.format(""))
_EPOCH = re.compile(r"\d{9,20}(?:\.\d{1,9})?")

_AWARE, _NAIVE, _NO_YEAR, _TIME_ONLY, _RELATIVE = 5, 4, 3, 2, 1


class Stamp(NamedTuple):
    """A moment as the line gives it."""

    t_ns: int
    clock: Literal["unix", "monotonic"] | None
    """``None``: ns since a start nobody knows (uptime)."""
    rank: int
    """How complete it is; the higher one wins on a line with several."""


@dataclass(slots=True)
class Calendar:
    """What fills in for a missing zone, year or date.

    Args:
        zone: Zone of stamps that name none; ``None``: the local one of this machine.
        reference_ns: Unix ns that no stamp is (much) later than: now, or when the file was written.
    """

    zone: tzinfo | None = None
    reference_ns: int | None = None

    def unix_s(self, year: int, month: int, day: int, second_of_day: int) -> int | None:
        """Unix time of a civil time without zone; ``None`` if there is no such date."""
        midnight = _midnight_s(year, month, day)
        if midnight is None:
            return None
        if self.zone is UTC:
            return midnight + second_of_day
        naive = datetime(year, month, day) + timedelta(seconds=second_of_day)
        try:
            local = naive.astimezone() if self.zone is None else naive.replace(tzinfo=self.zone)
            return int(local.timestamp())
        except (OverflowError, ValueError, OSError):
            return None

    def date_before_reference(self, month: int | None, day: int | None, second_of_day: int) -> int | None:
        """Unix time of a stamp without year (or date): the newest that is not after the reference.

        A day of grace allows for zones and clocks that differ.
        """
        if self.reference_ns is None:
            return None
        limit = self.reference_ns // SECOND_NS + DAY_S
        at = datetime.fromtimestamp(self.reference_ns / SECOND_NS, UTC)
        if month is None or day is None:
            for back in (0, 1):
                that = (at + timedelta(days=1 - back)).date()
                found = self.unix_s(that.year, that.month, that.day, second_of_day)
                if found is not None and found <= limit - DAY_S // 2:
                    return found
            that = (at - timedelta(days=1)).date()
            return self.unix_s(that.year, that.month, that.day, second_of_day)
        for year in range(at.year + 1, at.year - 9, -1):  # 29 February may be up to 8 years back
            found = self.unix_s(year, month, day, second_of_day)
            if found is not None and found <= limit:
                return found
        return None


_midnights: dict[tuple[int, int, int], int | None] = {}


def _midnight_s(year: int, month: int, day: int) -> int | None:
    """Unix time of 00:00 UTC; ``None`` if there is no such date."""
    key = (year, month, day)
    if key not in _midnights:
        if len(_midnights) > 4096:
            _midnights.clear()
        try:
            _midnights[key] = (date(year, month, day).toordinal() - 719_163) * DAY_S
        except ValueError:
            _midnights[key] = None
    return _midnights[key]


def _zone_s(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -offset if zone[0] == "-" else offset


def _fraction_ns(digits: str | None) -> int:
    return int(digits.ljust(9, "0")) if digits else 0


def _civil(
    calendar: Calendar,
    year: str | None,
    month: int | None,
    day: int | None,
    clock_s: int,
    fraction: str | None,
    zone: str | None,
) -> Stamp | None:
    if year is None or month is None or day is None:
        unix = calendar.date_before_reference(month, day, clock_s)
        rank = _TIME_ONLY if month is None else _NO_YEAR
    elif zone is None:
        unix = calendar.unix_s(int(year), month, day, clock_s)
        rank = _NAIVE
    else:
        midnight = _midnight_s(int(year), month, day)
        unix = None if midnight is None else midnight + clock_s - _zone_s(zone)
        rank = _AWARE
    if unix is None:
        return None
    return Stamp(unix * SECOND_NS + _fraction_ns(fraction), "unix", rank)


def _stamp(match: re.Match[str], calendar: Calendar) -> Stamp | None:
    group = match.groupdict()
    if group["mono"]:
        return Stamp(int(group["mono"]), "monotonic", _AWARE + 1)
    kind = next((k for k in "abcdefght" if group[f"{k}h"]), None)
    if kind is None:
        return _uptime(group)
    clock_s = int(group[f"{kind}h"]) * 3600 + int(group[f"{kind}m"]) * 60 + int(group[f"{kind}s"])
    fraction = group[f"{kind}f"]
    if kind == "t":
        return _civil(calendar, None, None, None, clock_s, fraction, None)
    name = group[f"{kind}o"]
    month = int(name) if name.isdigit() else MONTHS.get(name.lower())
    if month is None:
        return None
    year = group.get(f"{kind}y")
    if kind == "d" and year is not None:
        year = f"20{year}"
    day = int(match[0].split()[2]) if kind == "e" else int(group[f"{kind}d"])
    return _civil(calendar, year, month, day, clock_s, fraction, group.get(f"{kind}z"))


def _uptime(group: dict[str, str | None]) -> Stamp | None:
    if group["rm"]:
        seconds = int(group["rm"] or 0) * 60 + int(group["rs"] or 0)
        ns = seconds * SECOND_NS + int(group["ri"] or 0) * 1_000_000 + int(group["ru"] or 0) * 1000
        return Stamp(ns, None, _RELATIVE)
    for name, factor in (
        ("qms", 1_000_000),
        ("ums", 1_000_000),
        ("us", SECOND_NS),
        ("uq", SECOND_NS),
        ("ug", SECOND_NS),
    ):
        text = group[name]
        if text:
            return Stamp(round(float(text.replace(",", ".")) * factor), None, _RELATIVE)
    return None


def find(text: str, calendar: Calendar, outer: Stamp | None = None) -> Stamp | None:
    """The stamp of a line: the most complete one in its head, among equals the innermost.

    Args:
        text: The line, without wrappers.
        calendar: What fills in for missing zone, year and date.
        outer: A stamp that a wrapper gave.
    """
    best = outer
    for match in _STAMP.finditer(text, 0, SCANNED_CHARS):
        stamp = _stamp(match, calendar)
        if stamp is not None and (best is None or stamp.rank >= best.rank):
            best = stamp
    return best


def read(value: object, calendar: Calendar) -> Stamp | None:
    """A value that is a timestamp as a whole: ISO text, epoch number (s, ms, µs, ns) or text of one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _epoch(float(value), value) if 1e8 <= value < 1e20 else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    match = _ISO.match(value)
    if match:
        clock_s = int(match["h"]) * 3600 + int(match["m"]) * 60 + int(match["s"])
        return _civil(calendar, match[1], int(match[2]), int(match[3]), clock_s, match["f"], match["z"])
    if _EPOCH.fullmatch(value):
        return _epoch(float(value), int(value) if value.isdigit() else float(value))
    return find(value, calendar)


def _epoch(size: float, value: float) -> Stamp:
    for limit, factor in ((1e11, SECOND_NS), (1e14, 1_000_000), (1e17, 1000), (float("inf"), 1)):
        if size < limit:
            return Stamp(round(value * factor), "unix", _AWARE)
    raise AssertionError("no number is above infinity")
