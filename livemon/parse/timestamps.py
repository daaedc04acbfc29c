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
SCANNED_CHARS: Final = 300
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

_CLOCK = re.compile(r"(?<!\d)([01]\d|2[0-4]):([0-5]\d):([0-6]\d)(?:[.,](\d{1,9}))?(?![\d:])")
_ZONE = re.compile(r"\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\d:])")
_ISO_BEFORE = re.compile(r"(?<!\d)(\d{4})([-/])(\d\d)\2(\d\d)(?:[T_ ]| - )")
_CLF_BEFORE = re.compile(r"(?<!\d)(\d\d)/([A-Za-z]{3})/(\d{4}):$")
_US_BEFORE = re.compile(r"(?<!\d)(\d\d)/(\d\d)/(\d{4})[- ]$")
_SHORT_BEFORE = re.compile(r"(?<![\d/])(\d\d)/(\d\d)/(\d\d) $")
_MONTH_BEFORE = re.compile(r"(?<!\w)([^\W\d_]{3,9})\.? {1,2}(\d{1,2}),? $")
_NUMBERS_BEFORE = re.compile(r"(?<![\d.\-/])(\d\d)[-.](\d\d) $")
_GLOG_BEFORE = re.compile(r"\b[IWEFDC]([01]\d)([0-3]\d) $")
_YEAR_AFTER = re.compile(r"(?: [A-Z]{3,4})? (\d{4})\b")
_MONO = re.compile(r"\[mono_ns=(\d{1,19})\]")
_UPTIME = re.compile(
    r"(?:\[\d+\] )?(?P<rm>\d{1,6})\.(?P<rs>\d\d)\.(?P<ri>\d{3})\.(?P<ru>\d{3}) "
    r"|\s*(?:\[\d+:0x[0-9a-f]+\] +)?(?P<qms>\d{1,12}) ms: "
    r"|\[(?P<us>\d{1,9}\.\d{1,9})s\]|\[(?P<ums>\d{1,12})ms\]|(?P<uq>\d{1,9}[.,]\d{3}): "
    r"|gc \d{1,9} @(?P<ug>\d{1,9}\.\d{1,9})s "
)
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
    year: int | None,
    month: int | None,
    day: int | None,
    clock: tuple[str, str, str, str | None],
    zone: str | None,
) -> Stamp | None:
    seconds = int(clock[0]) * 3600 + int(clock[1]) * 60 + int(clock[2])
    if year is None or month is None or day is None:
        unix = calendar.date_before_reference(month, day, seconds)
        rank = _TIME_ONLY if month is None else _NO_YEAR
    elif zone is None:
        unix = calendar.unix_s(year, month, day, seconds)
        rank = _NAIVE
    else:
        midnight = _midnight_s(year, month, day)
        unix = None if midnight is None else midnight + seconds - _zone_s(zone)
        rank = _AWARE
    if unix is None:
        return None
    return Stamp(unix * SECOND_NS + _fraction_ns(clock[3]), "unix", rank)


def _iso_before(text: str, start: int, last: str) -> re.Match[str] | None:
    """The date that ends where the clock time starts: ``2024-05-02T`` or, as GIN has it, ``2024/05/02 - ``."""
    length = 13 if last == " " and text[start - 3 : start] == " - " else 11
    return _ISO_BEFORE.match(text, start - length) if start >= length else None


def _dated(text: str, match: re.Match[str], calendar: Calendar) -> Stamp | None:
    """The stamp around a clock time: what stands before it says which date, if any."""
    start = match.start()
    before = text[max(0, start - 24) : start]
    last = before[-1:]
    if last == "T" and text[match.end() : match.end() + 1] == "Z":
        return _zulu(text, match, calendar)
    return _civil_at(text, match, before, calendar)


def _zulu(text: str, match: re.Match[str], calendar: Calendar) -> Stamp | None:
    """``2024-05-02T12:17:25.6Z``: many lines share their second, which is worked out once."""
    start = match.start()
    key = text[max(0, start - 12) : match.end(3)]
    second = _seconds.get(key)
    if second is not None and text[match.end() + 1 : match.end() + 2] not in _AFTER_ZONE:
        return Stamp(second + _fraction_ns(match[4]), "unix", _AWARE)
    stamp = _civil_at(text, match, text[max(0, start - 24) : start], calendar)
    if stamp is not None and stamp.rank == _AWARE:
        if len(_seconds) > 4096:
            _seconds.clear()
        _seconds[key] = stamp.t_ns - _fraction_ns(match[4])
    return stamp


_seconds: dict[str, int] = {}
_AFTER_ZONE: Final = frozenset("0123456789:")


def _civil_at(text: str, match: re.Match[str], before: str, calendar: Calendar) -> Stamp | None:
    start = match.start()
    last = before[-1:]
    clock = (match[1], match[2], match[3], match[4])
    if last in ("T", "_", " ") and (found := _iso_before(text, start, last)):
        zone = _ZONE.match(text, match.end())
        return _civil(calendar, int(found[1]), int(found[3]), int(found[4]), clock, zone[1] if zone else None)
    if last == ":":
        found = _CLF_BEFORE.search(before)
        month = MONTHS.get(found[2].lower()) if found else None
        if found is None or month is None:
            return None
        zone = _ZONE.match(text, match.end())
        return _civil(calendar, int(found[3]), month, int(found[1]), clock, zone[1] if zone else None)
    if last in (" ", "-"):
        if found := _US_BEFORE.search(before):
            return _civil(calendar, int(found[3]), int(found[1]), int(found[2]), clock, None)
        if found := _SHORT_BEFORE.search(before):
            return _civil(calendar, 2000 + int(found[1]), int(found[2]), int(found[3]), clock, None)
        if (found := _MONTH_BEFORE.search(before)) and (month := MONTHS.get(found[1].lower())):
            year = _YEAR_AFTER.match(text, match.end())
            return _civil(calendar, int(year[1]) if year else None, month, int(found[2]), clock, None)
        if found := _NUMBERS_BEFORE.search(before) or _GLOG_BEFORE.search(before):
            return _civil(calendar, None, int(found[1]), int(found[2]), clock, None)
    if last.isalnum() or last in (":", ".", "/", "_", "-"):
        return None
    return _civil(calendar, None, None, None, clock, None)


def _uptime(text: str) -> Stamp | None:
    match = _UPTIME.match(text) or (_UPTIME.match(text, text.find("[", 1)) if text.startswith("[2") else None)
    if match is None:
        return None
    if match["rm"]:
        ns = (int(match["rm"]) * 60 + int(match["rs"])) * SECOND_NS
        return Stamp(ns + int(match["ri"]) * 1_000_000 + int(match["ru"]) * 1000, None, _RELATIVE)
    for name, factor in _UPTIME_NS:
        found = match[name]
        if found:
            return Stamp(round(float(found.replace(",", ".")) * factor), None, _RELATIVE)
    return None


_UPTIME_NS: Final = (("qms", 1_000_000), ("ums", 1_000_000), ("us", SECOND_NS), ("uq", SECOND_NS), ("ug", SECOND_NS))


def find(text: str, calendar: Calendar, outer: Stamp | None = None) -> Stamp | None:
    """The stamp of a line: the most complete one in its head, among equals the innermost.

    Args:
        text: The line, without wrappers.
        calendar: What fills in for missing zone, year and date.
        outer: A stamp that a wrapper gave.
    """
    if "[mono_ns=" in text:
        mono = _MONO.search(text, 0, SCANNED_CHARS)
        if mono:
            return Stamp(int(mono[1]), "monotonic", _AWARE + 1)
    best = outer
    colon = text.find(":", 0, SCANNED_CHARS)
    while colon >= 0:
        # hh:mm:ss has its second colon three characters on.
        if text[colon + 3 : colon + 4] == ":" and (match := _CLOCK.match(text, max(colon - 2, 0))):
            stamp = _dated(text, match, calendar)
            if stamp is not None and (best is None or stamp.rank >= best.rank):
                best = stamp
            colon += 3
        colon = text.find(":", colon + 1, SCANNED_CHARS)
    return best or _uptime(text)


def read(value: object, calendar: Calendar) -> Stamp | None:
    """A value that is a timestamp as a whole: ISO text, epoch number (s, ms, µs, ns) or text of one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _epoch(float(value), value) if 1e8 <= value < 1e20 else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    if value[-1:] == "Z":
        second = _seconds.get(value[:19])
        digits = value[20:-1]
        if second is not None and value[19:20] == "." and len(digits) <= 9 and digits.isdigit() and digits.isascii():
            return Stamp(second + _fraction_ns(digits), "unix", _AWARE)
    elif _EPOCH.fullmatch(value):
        return _epoch(float(value), int(value) if value.isdigit() else float(value))
    return find(value, calendar)


_EPOCH_NS: Final = ((1e11, SECOND_NS), (1e14, 1_000_000), (1e17, 1000), (float("inf"), 1))
"""Sizes below which an epoch number is in s, ms, µs and ns, and ns in one of it."""


def _epoch(size: float, value: float) -> Stamp:
    for limit, factor in _EPOCH_NS:
        if size < limit:
            return Stamp(round(value * factor), "unix", _AWARE)
    raise AssertionError("no number is above infinity")
