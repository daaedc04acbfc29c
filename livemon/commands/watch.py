"""``livemon watch``: attach to running processes, follow logs."""

from __future__ import annotations

import argparse

from livemon.collect.processes import describe, find_by_name
from livemon.model.errors import TargetError, UsageError
from livemon.model.facts import Target
from livemon.watch import Watched, watch
from livemon.watch_logs import requests_for
from livemon.watch_options import add_watch_arguments, watch_options


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--pid", action="append", type=int, default=[], metavar="PID", help="a process; its tree comes along"
    )
    parser.add_argument(
        "--name", action="append", default=[], metavar="REGEX", help="processes by name or command line"
    )
    parser.add_argument(
        "--follow-name", action="store_true", help="also take in processes of that name that start later"
    )
    parser.add_argument("--log", action="append", default=[], metavar="PATH|GLOB", help="a log to follow, or several")
    parser.add_argument("input", nargs="?", choices=["-"], metavar="-", help="read a pipe on standard input too")
    add_watch_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Watch until the person leaves."""
    chosen = watch_options(options)
    if options.follow_name and not options.name:
        raise UsageError("--follow-name goes with --name")
    targets = _targets(options)
    logs = requests_for(options.log, reads_stdin=options.input == "-", from_start=options.from_start)
    names = tuple(options.name) if options.follow_name else ()
    if not targets and not logs and not chosen.metrics_urls and not names:
        raise UsageError("nothing to watch", "name a process (--pid, --name), a log (--log), or - for standard input")
    name = targets[0].name if targets else logs[0].path.rpartition("/")[2] if logs else (*names, "metrics")[0]
    return watch(Watched(name, tuple(target.pid for target in targets), logs, follow_names=names), chosen)


def _targets(options: argparse.Namespace) -> list[Target]:
    found = {pid: describe(pid) for pid in options.pid}
    for expression in options.name:
        matches = find_by_name(expression)
        if not matches and not options.follow_name:
            raise TargetError(f"no process matches {expression!r}", "see 'ps -e' for those that run")
        found |= {target.pid: target for target in matches}
    return list(found.values())
