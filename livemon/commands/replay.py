"""``livemon replay``: the same screens over a recording, with time travel."""

from __future__ import annotations

import argparse
from pathlib import Path

from livemon.screen_options import add_screen_arguments, number_between, read_criteria


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", default="last", help="a session file or name (default: the newest)"
    )
    parser.add_argument("--speed", type=_speed, metavar="X", help="play it from its start, X times as fast as it was")
    parser.add_argument("--criteria", type=Path, metavar="FILE.toml", help="judge it with other criteria")
    add_screen_arguments(parser)


def _speed(text: str) -> float:
    return number_between(text, 0.1, 100, "times")


def run(options: argparse.Namespace) -> int:
    """Show the recording."""
    from livemon.session.store import resolve_session
    from livemon.watch_screens import show

    path = str(resolve_session(options.session))
    if options.web:
        from livemon.ui.web import serve

        return serve(path, options.web)
    toml, _ = read_criteria(options.criteria)
    return show(path, options, title=path, speed=options.speed, criteria_toml=toml)
