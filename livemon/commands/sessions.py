"""``livemon sessions``: list, remove and prune recordings."""

from __future__ import annotations

import argparse
import json
import sys
import time

from livemon.model.errors import EXIT_OK, UsageError
from livemon.model.snapshot import SessionEntry
from livemon.model.wording import one_line
from livemon.screen_options import number_between

_EPILOG = """\
A SESSION is a path, a name from this list (or its beginning, if that is enough), or 'last'.
To look at one: livemon replay SESSION. To hand one to other tools: livemon export SESSION --to
perfetto|parquet|csv|jsonl -o PATH. Recording prunes by itself: the newest 20 sessions, 2 GB in all."""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "action", nargs="?", choices=("list", "rm", "prune"), default="list", help="what to do (default: list)"
    )
    parser.add_argument("names", nargs="*", metavar="SESSION", help="which sessions to remove")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--max-sessions", type=int, metavar="N", help="prune: how many stay (default 20)")
    parser.add_argument(
        "--max-mb", type=_megabytes, metavar="MB", help="prune: megabytes that stay in all (default 2048)"
    )


def _megabytes(text: str) -> float:
    return number_between(text, 0, 1e9, "MB")


def run(args: argparse.Namespace) -> int:
    """List, remove or prune."""
    if args.names and args.action != "rm":
        raise UsageError(f"'sessions {args.action}' takes no session")
    if args.action == "rm":
        return _remove(args)
    if args.action == "prune":
        return _prune(args)
    return _list(args)


def _list(args: argparse.Namespace) -> int:
    from livemon.session.store import list_sessions, state_dir

    entries = list_sessions()
    total = sum(entry.size_bytes for entry in entries)
    if args.json:
        print(
            json.dumps({"schema": 1, "folder": str(state_dir()), "total_bytes": total, "sessions": _objects(entries)})
        )
        return EXIT_OK
    if not entries:
        print(f"no sessions in {state_dir()}; record one with 'livemon watch' or 'livemon demo'", file=sys.stderr)
        return EXIT_OK
    rows = [("NAME", "STARTED", "LENGTH", "SIZE", "STATE", "TARGETS"), *map(_row, entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = [
            text.rjust(w) if n in (2, 3) else text.ljust(w)
            for n, (text, w) in enumerate(zip(row, widths, strict=False))
        ]
        print("  ".join([*cells, row[5]]).rstrip())
    print(
        f"{len(entries)} session{'' if len(entries) == 1 else 's'}, {_size(total)}, in {state_dir()}", file=sys.stderr
    )
    return EXIT_OK


def _row(entry: SessionEntry) -> tuple[str, str, str, str, str, str]:
    started = "?"
    if entry.start_wall_ns is not None:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.start_wall_ns / 1e9))
    name, targets = one_line(entry.name), one_line(entry.targets)
    return name, started, _length(entry.duration_s), _size(entry.size_bytes), entry.state, targets


def _length(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02.0f} s" if minutes else f"{rest:.1f} s"


def _size(size_bytes: int) -> str:
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1e3:.0f} kB"
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes < 1_000_000_000 else f"{size_bytes / 1e9:.2f} GB"


def _objects(entries: list[SessionEntry]) -> list[dict[str, object]]:
    return [
        {
            "name": entry.name,
            "path": entry.path,
            "start": None if entry.start_wall_ns is None else entry.start_wall_ns / 1e9,
            "duration_s": entry.duration_s,
            "size_bytes": entry.size_bytes,
            "state": entry.state,
            "targets": entry.targets,
            "detail": list(entry.detail),
        }
        for entry in entries
    ]


def _remove(args: argparse.Namespace) -> int:
    from livemon.session.store import remove_session, resolve_session

    if not args.names:
        raise UsageError("'sessions rm' needs a session", "'livemon sessions' lists them")
    paths = [resolve_session(name) for name in args.names]
    freed = sum(remove_session(path) for path in dict.fromkeys(paths))
    print(f"livemon sessions: removed {len(set(paths))}, {_size(freed)} freed", file=sys.stderr)
    return EXIT_OK


def _prune(args: argparse.Namespace) -> int:
    from livemon.session.store import MAX_SESSIONS, MAX_TOTAL_BYTES, prune

    most = MAX_SESSIONS if args.max_sessions is None else args.max_sessions
    most_bytes = MAX_TOTAL_BYTES if args.max_mb is None else round(args.max_mb * 1_000_000)
    if most < 0:
        raise UsageError("--max-sessions is not negative")
    done = prune(max_sessions=most, max_bytes=most_bytes)
    if args.json:
        print(
            json.dumps(
                {
                    "schema": 1,
                    "removed": list(done.removed),
                    "freed_bytes": done.freed_bytes,
                    "kept": done.kept,
                    "kept_bytes": done.kept_bytes,
                }
            )
        )
    else:
        print(
            f"livemon sessions: removed {len(done.removed)} ({_size(done.freed_bytes)}),"
            f" {done.kept} left ({_size(done.kept_bytes)})",
            file=sys.stderr,
        )
    return EXIT_OK
