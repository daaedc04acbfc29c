"""``livemon run``: start a command, read its output, watch its process tree, exit with its status."""

from __future__ import annotations

import argparse
import os

from livemon.model.errors import UsageError
from livemon.watch import Watched, watch
from livemon.watch_options import add_watch_arguments, watch_options


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_watch_arguments(parser)
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- COMMAND…", help="the command and its arguments")


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    command = options.argv[1:] if options.argv[:1] == ["--"] else options.argv
    if not command:
        raise UsageError("no command to run", "such as: livemon run -- python serve.py")
    chosen = watch_options(options)
    return watch(Watched(os.path.basename(command[0]), command=tuple(command)), chosen)  # noqa: PTH119 - a name, not a path
