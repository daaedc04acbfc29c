"""``livemon attach``: a second viewer on a running recorder."""

from __future__ import annotations

import argparse

from livemon.screen_options import add_screen_arguments


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", default="last", help="a session file or name (default: the newest)"
    )
    add_screen_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Show the session, following its end while it is recorded."""
    from livemon.session.store import resolve_session
    from livemon.watch_screens import show

    path = str(resolve_session(options.session))
    if options.web:
        from livemon.ui.web import serve

        return serve(path, options.web)
    return show(path, options, title=path)
