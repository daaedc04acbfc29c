"""What the user says about a log: the options that ``parse``, ``watch``, ``run`` and ``import`` share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from livemon.model.errors import UsageError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo  # seldom asked for, and the first paint of a watch waits for this module

_UNITS: Final = ("ms", "s", "us", "ns")


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How to read a log; the defaults read what needs no guess."""

    format: str | None = None
    """Read this format only; ``None``: whichever matches."""
    patterns: tuple[str, ...] = ()
    """User patterns with named groups ``<stage>__<unit>``, tried in order before everything else."""
    units: tuple[tuple[str, str], ...] = ()
    """(name, unit) of bare numbers; name ``*`` for all."""
    labels: bool = False
    """Also read ``label: 1.2 ms`` and ``X took 1.2 ms`` prose."""
    accept_unterminated: bool = False
    """Read a last line without terminator, which may be torn."""
    decimal_comma: bool = False
    """``0,60`` is 0.6."""
    zone: str | None = None
    """Zone of stamps that name none; ``None``: this machine's."""


def add_parse_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a log is read."""
    group = parser.add_argument_group("reading timing output")
    group.add_argument("--format", metavar="NAME", help="read this format only (see 'livemon parse --list-formats')")
    group.add_argument(
        "--pattern",
        metavar="REGEX",
        action="append",
        default=[],
        help="a pattern with groups <stage>__<unit>, such as (?P<wait__s>[\\d.]+); also id, ts, stage, label",
    )
    group.add_argument(
        "--unit",
        metavar="NAME=ms|s|us|ns",
        action="append",
        default=[],
        help="unit of a bare number (NAME '*' for all of them), or of a --metrics family whose name has none",
    )
    group.add_argument("--labels", action="store_true", help="also read prose: 'label: 1.2 ms', 'X took 1.2 ms'")
    group.add_argument(
        "--accept-unterminated", action="store_true", help="read a last line without terminator (it may be torn)"
    )
    group.add_argument("--decimal-comma", action="store_true", help="0,60 is 0.6")
    group.add_argument(
        "--zone", metavar="ZONE", help="zone of stamps that name none, such as UTC (default: the local one)"
    )


def options_from(args: argparse.Namespace) -> ParseOptions:
    """The options as given.

    Raises:
        UsageError: an unknown format, unit or zone, or a pattern that can't work.
    """
    declared = tuple(_unit(text) for text in args.unit)
    options = ParseOptions(
        format=args.format,
        patterns=tuple(args.pattern),
        units=declared,
        labels=args.labels,
        accept_unterminated=args.accept_unterminated,
        decimal_comma=getattr(args, "decimal_comma", False),
        zone=getattr(args, "zone", None),
    )
    check(options)
    return options


def check(options: ParseOptions) -> None:
    """Refuse what can't work.

    Raises:
        UsageError: says which option and what would work.
    """
    from livemon.parse.formats import FORMAT_NAMES
    from livemon.parse.patterns import UserPattern

    for text in options.patterns:
        pattern = UserPattern(text)
        if not pattern.has_durations and not any(
            name in pattern.plain_groups or name == "*" for name, _ in options.units
        ):
            raise UsageError(
                f"--pattern {text!r} has no group named <stage>__<unit>",
                "name the group of the duration, such as (?P<total__ms>[\\d.]+), or declare it with --unit",
            )
    if options.format is not None and options.format not in FORMAT_NAMES and not options.format.endswith("_timing"):
        raise UsageError(f"no format is called {options.format!r}", "'livemon parse --list-formats' prints them")
    if options.zone is not None:
        zone_of(options)


def zone_of(options: ParseOptions) -> ZoneInfo | None:
    """The zone of stamps without one.

    Raises:
        UsageError: there is no such zone.
    """
    if options.zone is None:
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(options.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"no time zone is called {options.zone!r}", "use a name such as UTC or Europe/Berlin"
        ) from None


def _unit(text: str) -> tuple[str, str]:
    from livemon.parse.units import UNIT_MS

    name, separator, unit = text.rpartition("=")
    if not separator or not name or unit not in UNIT_MS:
        raise UsageError(f"--unit {text!r} is not NAME=UNIT", f"units are {', '.join(_UNITS)}")
    return name, unit
