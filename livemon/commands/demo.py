"""``livemon demo``: start the bundled serving process and watch it."""

from __future__ import annotations

import argparse
import sys

from livemon.demo import SCENARIOS
from livemon.watch import Watched, watch
from livemon.watch_options import add_watch_arguments, watch_options


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--scenario", choices=SCENARIOS, default="both", help="what goes wrong (default: both)")
    parser.add_argument("--truth", help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    add_watch_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Watch the demo; it is told nothing but what to do, the monitor nothing but its pid and its output."""
    command = [sys.executable, "-P", "-m", "livemon.demo", "--scenario", options.scenario]
    if options.truth:
        command += ["--truth", options.truth]
    if options.first:
        command += ["--first", options.first]
    return watch(Watched("demo", command=tuple(command), origin="demo", is_ours=True), watch_options(options))
