"""The options that ``watch``, ``run`` and ``demo`` share, and the recording that they ask for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from livemon.model.errors import UsageError
from livemon.parse.options import ParseOptions, add_parse_arguments, options_from
from livemon.recording_config import DEFAULT_MAX_CPU_PERCENT
from livemon.screen_options import add_screen_arguments, number_between, read_criteria

LEAST_INTERVAL_MS = 10
MOST_INTERVAL_MS = 60_000


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How to watch, whatever is watched."""

    parse: ParseOptions
    headless: bool = False
    json: bool = False
    duration_s: float | None = None
    interval_ms: int = 100
    criteria_toml: str = ""
    criteria_sha256: str = ""
    record: Path | None = None
    no_record: bool = False
    keep: bool = False
    durable: bool = False
    from_start: bool = False
    mark_patterns: tuple[str, ...] = ()
    metrics_urls: tuple[str, ...] = ()
    counters: bool = True
    max_cpu_percent: float = DEFAULT_MAX_CPU_PERCENT
    prometheus: str | None = None
    otlp: str | None = None
    web: str | None = None
    fps: float | None = None
    ascii: bool = False
    theme: str | None = None
    mouse: bool = True


def add_watch_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the WATCH OPTIONS."""
    group = parser.add_argument_group("watching")
    group.add_argument(
        "--headless", action="store_true", help="no screens: one line per finding, when found and when over"
    )
    group.add_argument("--json", action="store_true", help="with --headless: one JSON object per line")
    group.add_argument(
        "--duration",
        type=_seconds,
        metavar="S",
        help="end after S seconds; a command that run started is ended then, others go on",
    )
    group.add_argument("--interval", type=_interval, default=100, metavar="MS", help="sampling interval (default: 100)")
    group.add_argument(
        "--criteria", type=Path, metavar="FILE.toml", help="thresholds and roles (see 'livemon criteria')"
    )
    group.add_argument("--from-start", action="store_true", help="read logs from their beginning, not from their end")
    group.add_argument("--mark-pattern", action="append", default=[], metavar="REGEX", help="lines that become marks")
    group.add_argument(
        "--metrics", action="append", default=[], metavar="URL", help="a Prometheus endpoint to read too"
    )
    group.add_argument("--no-counters", action="store_true", help="leave hardware counters alone")
    group.add_argument(
        "--max-cpu",
        type=_percent,
        default=DEFAULT_MAX_CPU_PERCENT,
        metavar="PERCENT",
        help="what livemon may take of one core (default: 5)",
    )
    group = parser.add_argument_group("recording")
    group.add_argument("--record", type=Path, metavar="PATH", help="the session file, or a folder for it")
    group.add_argument("--no-record", action="store_true", help="keep no session")
    group.add_argument(
        "--keep",
        action="store_true",
        help="go on recording after the screens are closed (after a killed viewer it goes on for 10 minutes anyway)",
    )
    group.add_argument(
        "--durable",
        action="store_true",
        help="sync each tick to the disk: a loss of power costs a tick, not a second (takes about 0.5 %% of a core)",
    )
    group = parser.add_argument_group("handing on")
    group.add_argument("--prometheus", metavar="HOST:PORT", help="serve OpenMetrics there")
    group.add_argument("--otlp", metavar="URL", help="push to an OpenTelemetry collector")
    add_screen_arguments(parser)
    add_parse_arguments(parser)


def watch_options(options: argparse.Namespace) -> WatchOptions:
    """The options as given.

    Raises:
        UsageError: some of them don't go together, or the criteria file is wrong.
    """
    if options.json and not options.headless:
        raise UsageError("--json goes with --headless")
    if options.no_record and options.record:
        raise UsageError("--record and --no-record exclude each other")
    if options.no_record and options.keep:
        raise UsageError("--keep needs a recording: leave out --no-record")
    if options.headless and options.web:
        raise UsageError("--web needs the screens: leave out --headless")
    toml, sha256 = read_criteria(options.criteria)
    return WatchOptions(
        parse=options_from(options),
        headless=options.headless,
        json=options.json,
        duration_s=options.duration,
        interval_ms=options.interval,
        criteria_toml=toml,
        criteria_sha256=sha256,
        record=options.record,
        no_record=options.no_record,
        keep=options.keep,
        durable=options.durable,
        from_start=options.from_start,
        mark_patterns=tuple(options.mark_pattern),
        metrics_urls=tuple(options.metrics),
        counters=not options.no_counters,
        max_cpu_percent=options.max_cpu,
        prometheus=options.prometheus,
        otlp=options.otlp,
        web=options.web,
        fps=options.fps,
        ascii=options.ascii,
        theme=options.theme,
        mouse=not options.no_mouse,
    )


def _seconds(text: str) -> float:
    return number_between(text, 0.1, 1e9, "seconds")


def _percent(text: str) -> float:
    return number_between(text, 0.1, 10_000, "percent of one core")


def _interval(text: str) -> int:
    return round(number_between(text, LEAST_INTERVAL_MS, MOST_INTERVAL_MS, "ms"))
