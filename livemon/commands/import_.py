"""``livemon import``: build a session from files made elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from livemon.model.errors import EXIT_OK, UsageError
from livemon.parse.options import add_parse_arguments, options_from
from livemon.screen_options import number_between

if TYPE_CHECKING:
    from livemon.importing import Imported


def _perf_start(text: str) -> float:
    return number_between(text, -4e9, 4e9, "seconds")


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--log", type=Path, action="append", default=[], metavar="PATH", help="a log with timing lines")
    parser.add_argument(
        "--arrivals",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="when each line of the log arrived: one time a line, whole ns on the log's monotonic clock",
    )
    parser.add_argument(
        "--threads",
        type=Path,
        action="append",
        default=[],
        metavar="PATH.jsonl",
        help='thread counters: {"t_ns": N, "threads": [{"tid": N, "name": S, "P": [instructions, cycles, cpu_ns]}]}',
    )
    parser.add_argument(
        "--perf-stat", type=Path, action="append", default=[], metavar="FILE", help="output of 'perf stat -I 100 -x,'"
    )
    parser.add_argument(
        "--perf-start",
        type=_perf_start,
        metavar="SECONDS",
        help="session time at which perf stat started, if it can't tell",
    )
    parser.add_argument(
        "--perf-script", type=Path, action="append", default=[], metavar="FILE", help="output of 'perf script'"
    )
    parser.add_argument("--jsonl", type=Path, metavar="FILE", help="a whole session from 'livemon export --to jsonl'")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SESSION", help="the session to make")
    parser.add_argument("--force", action="store_true", help="replace an existing session")
    parser.add_argument("--criteria", type=Path, metavar="FILE", help="criteria to record with the session")
    parser.add_argument("--mark-pattern", metavar="REGEX", help="lines that match become marks")
    add_parse_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Import; a line about what was read goes to stderr."""
    from livemon.importing import ImportRequest, import_files, import_jsonl

    others = bool(args.log or args.threads or args.perf_stat or args.perf_script)
    if args.jsonl is not None:
        if others or args.arrivals:
            raise UsageError("--jsonl is a whole session: it can't be joined with other files")
        return _tell(args, import_jsonl(args.jsonl, args.output, is_forced=args.force))
    if not others:
        raise UsageError("nothing to import", "give --log, --threads, --perf-stat, --perf-script or --jsonl")
    done = import_files(
        ImportRequest(
            output=args.output,
            logs=tuple(args.log),
            arrivals=tuple(args.arrivals),
            threads=tuple(args.threads),
            perf_stats=tuple(args.perf_stat),
            perf_scripts=tuple(args.perf_script),
            perf_start_s=args.perf_start,
            options=options_from(args),
            mark_pattern=args.mark_pattern,
            criteria_toml=_criteria(args.criteria),
            is_forced=args.force,
        )
    )
    return _tell(args, done)


def _tell(args: argparse.Namespace, done: Imported) -> int:
    for note in done.notes:
        print(f"livemon import: {note}", file=sys.stderr)
    print(f"livemon import: {args.output}: {done.records} timing records, {done.ticks} thread ticks", file=sys.stderr)
    return EXIT_OK


def _criteria(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read {path}: {error}") from None
