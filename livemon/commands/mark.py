"""``livemon mark``: put a named moment into a session."""

from __future__ import annotations

import argparse
import sys

from livemon.model.errors import EXIT_OK


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("session", metavar="SESSION", help="path or name of a session, or 'last'")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what the mark says")
    parser.add_argument(
        "--ago",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="the moment lies this far before now, or before the end of a session that has ended (default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Mark now, or the end of a session that has ended."""
    from livemon.model.clock import SystemClock
    from livemon.model.errors import SessionError, UsageError
    from livemon.session.reader import SessionReader
    from livemon.session.store import resolve_session

    if not 0 <= args.ago < 1e9:
        raise UsageError("--ago is a number of seconds, not negative")
    path = resolve_session(args.session)
    reader = SessionReader(path)
    try:
        is_alive, bounds = reader.recorder.is_alive, reader.bounds_ns
        if is_alive is None:
            raise SessionError(f"{path} is recorded on {reader.recorder.host}", "mark it there: clocks differ")
        clock = SystemClock()
        if not is_alive:
            if bounds is None:
                raise SessionError(f"{path} holds no samples")
            now_ns = bounds[1]
        else:
            now_ns = clock.wall_ns() if reader.facts.clock == "unix" else clock.monotonic_ns()
        at_ns = now_ns - round(args.ago * 1e9)
        if bounds is not None and at_ns < bounds[0]:
            length_s = (now_ns - bounds[0]) / 1e9
            raise UsageError(f"--ago {args.ago:g} lies before the session's first sample, {length_s:.1f} s back")
        reader.add_mark(" ".join(args.text), at_ns)
    finally:
        reader.close()
    if not is_alive:
        where = f"{args.ago:g} s before its end" if args.ago else "at its end"
        print(f"livemon mark: nobody records this session: the mark is {where}", file=sys.stderr)
    return EXIT_OK
