"""``livemon export``: hand a session's data to other tools."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from livemon.commands.time_range import Stretch, add_range_arguments, stretch_of
from livemon.export.files import check_output, check_unused, whole_file
from livemon.export.plots import ClassedSample
from livemon.model.clock import SystemClock
from livemon.model.criteria import load_criteria
from livemon.model.errors import EXIT_OK, UsageError
from livemon.model.judgement import Judgement
from livemon.model.samples import ClockAnchor, Sample

if TYPE_CHECKING:
    from livemon.session.reader import SessionReader

Samples = Callable[[], Iterable[ClassedSample]]
TABLE_FORMATS = ("parquet", "csv")
FORMATS = ("perfetto", "parquet", "csv", "jsonl", "openmetrics")


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument("session", metavar="SESSION", help="a session: a path, a name, or 'last'")
    parser.add_argument(
        "--to",
        required=True,
        choices=FORMATS,
        help="perfetto: a trace for ui.perfetto.dev; parquet, csv: tables timings, threads, findings in a folder; "
        "jsonl: all samples, for 'livemon import'; openmetrics: the figures of the whole session",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="PATH",
        help="the file; for tables a folder, or NAME.csv (NAME.parquet) for the timings with the others beside it; "
        "in CSV, texts that begin with = + - or @ get a ' before them, so that no spreadsheet runs them",
    )
    parser.add_argument("--force", action="store_true", help="replace existing files (never a session)")
    parser.add_argument("--criteria", metavar="FILE", help="judge by this criteria file, not by the recorded one")
    add_range_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Write the export."""
    from livemon.judge import load_criteria_text
    from livemon.session.store import resolve_session

    path = str(resolve_session(args.session))
    if Path(args.output).exists() and Path(args.output).samefile(path):
        raise UsageError(f"{args.output} is the session itself", "choose another output")
    if args.to in TABLE_FORMATS:
        if args.output == "-":
            raise UsageError(f"{args.to} is several tables", "name a folder or a file to write them to")
        check_tables(args.output, args.to)
        if args.to == "parquet":
            from livemon.export.parquet_tables import require_pyarrow

            require_pyarrow()
    else:
        check_output(args.output)
    if not args.force:
        check_unused(_goals(args.output, args.to))
    criteria_toml = None if args.criteria is None else load_criteria_text(args.criteria)
    stretch = stretch_of(path, args.from_, args.until, criteria_toml)
    if args.to == "jsonl":
        return _export_jsonl(path, args.output, stretch)
    judgement = _judge(path, criteria_toml, stretch)
    done = _WRITERS[args.to](judgement, lambda: classed(judgement), args.output)
    print(f"livemon export: wrote {args.output}: {done}", file=sys.stderr)
    return EXIT_OK


def check_tables(path: str, form: str) -> None:
    """Fail before any work where tables can't be put at ``path``.

    Raises:
        UsageError: with what is in the way.
    """
    goal = Path(path)
    if goal.suffix == f".{form}" and not goal.is_dir():
        for file in _goals(path, form):
            check_output(str(file))
    elif goal.exists() and not goal.is_dir():
        raise UsageError(f"{path} is a file", f"give a folder (it is made when missing) or a name in .{form}")
    elif not goal.parent.is_dir():
        raise UsageError(f"there is no folder {goal.parent} to make {goal.name} in", "create it first")


def _goals(output: str, form: str) -> list[Path]:
    """The files that an export makes."""
    goal = Path(output)
    if output == "-":
        return []
    if form not in TABLE_FORMATS:
        return [goal]
    return [_table(goal, name, f".{form}") for name in ("timings", "threads", "findings")]


def _table(goal: Path, name: str, suffix: str) -> Path:
    """Where a table goes: into the folder, or beside the file that is named for the timings."""
    if goal.suffix != suffix or goal.is_dir():
        return goal / f"{name}{suffix}"
    return goal if name == "timings" else goal.with_name(f"{goal.stem}.{name}{suffix}")


def _judge(path: str, criteria_toml: str | None, stretch: Stretch | None) -> Judgement:
    from livemon.judge import judge

    progress = Progress("judging")
    judgement = judge(path, criteria_toml, stretch=stretch, progress=progress)
    progress.finish()
    return judgement


def classed(judgement: Judgement) -> Iterator[ClassedSample]:
    """The session's samples from the start, timing records with their class."""
    from livemon.judge import classed_samples, stretch_told
    from livemon.session.reader import SessionReader

    reader = SessionReader(judgement.path)
    progress = Progress("reading")
    span_ns = max((judgement.end_ns or 0) - (judgement.start_ns or 0), 1)
    try:
        criteria = load_criteria(judgement.criteria_toml)
        found = classed_samples(reader, criteria, stretch_told(judgement))
        for number, (sample, class_key) in enumerate(found):
            if number % 10_000 == 0:
                progress((sample.arrival_ns - (judgement.start_ns or 0)) / span_ns)
            yield sample, class_key
        progress.finish()
    finally:
        reader.close()


class Progress:
    """Percent on stderr, at most twice a second, only on a terminal, and nothing in the first second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._clock = SystemClock()
        self._next_ns = self._clock.monotonic_ns() + 1_000_000_000
        self._is_shown = False

    def __call__(self, share: float) -> None:
        """Say how far it is, 0..1."""
        now_ns = self._clock.monotonic_ns()
        if now_ns < self._next_ns or not sys.stderr.isatty():
            return
        self._next_ns = now_ns + 500_000_000
        self._is_shown = True
        print(f"\rlivemon export: {self._what} {share:4.0%}", end="", file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Leave a clean line."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _export_jsonl(path: str, output: str, stretch: Stretch | None) -> int:
    from livemon.session.jsonl import LineWriter, facts_to_line
    from livemon.session.reader import SessionReader

    reader = SessionReader(path)
    try:
        with whole_file(output) as temporary, temporary.open("w", encoding="utf-8") as file:
            writer = LineWriter()
            file.write(facts_to_line(reader.facts) + "\n")
            count = 1
            for samples in _all_samples(reader, stretch):
                file.writelines(f"{line}\n" for line in writer.lines(samples))
                count += len(samples)
    finally:
        reader.close()
    print(f"livemon export: wrote {output}: {count:,} lines", file=sys.stderr)
    return EXIT_OK


def _all_samples(reader: SessionReader, stretch: Stretch | None) -> Iterator[list[Sample]]:
    """Every sample in batches; of a stretch, first what must be known of before, the wall clock with it."""
    from livemon.judge import before_stretch

    first, last = stretch or (-1 << 63, 1 << 63)
    if stretch is not None:
        known = before_stretch(reader, first)
        anchors = [pair for pair in reader.anchors() if pair[0] <= first][-1:]
        # Told anew where the stretch begins: else the session would begin where a thread was first seen.
        at_ns = max((sample.arrival_ns for sample in known), default=first)
        yield [*(ClockAnchor(at_ns, *pair) for pair in anchors), *(replace(s, arrival_ns=at_ns) for s in known)]
    while samples := reader.read_new(8192):
        yield samples if stretch is None else [s for s in samples if first <= s.arrival_ns <= last]


def _perfetto(judgement: Judgement, samples: Samples, output: str) -> str:
    from livemon.export.perfetto import write_trace

    with whole_file(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        count = write_trace(judgement, samples, file.write)
    return f"{count:,} events; open it at https://ui.perfetto.dev"


def _openmetrics(judgement: Judgement, samples: Samples, output: str) -> str:
    from livemon.export.metrics import judgement_families
    from livemon.export.openmetrics import render_openmetrics

    families = judgement_families(judgement)
    with whole_file(output) as temporary:
        temporary.write_text(render_openmetrics(families), encoding="utf-8")
    return f"{len(families)} metric families"


def _parquet(judgement: Judgement, samples: Samples, output: str) -> str:
    from livemon.export.parquet_tables import write_parquet_tables

    return _put_tables(output, ".parquet", lambda folder: write_parquet_tables(judgement, samples, folder))


def _csv(judgement: Judgement, samples: Samples, output: str) -> str:
    from livemon.export.csv_tables import write_csv_tables

    return _put_tables(output, ".csv", lambda folder: write_csv_tables(judgement, samples, folder))


def _put_tables(output: str, suffix: str, write: Callable[[Path], dict[str, int]]) -> str:
    """Write tables beside their place first, then move each in: none of them is ever half there."""
    goal = Path(output)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent) as temporary:
            rows = write(Path(temporary))
            for name in rows:
                file = Path(temporary) / f"{name}{suffix}"
                if goal.suffix != suffix or goal.is_dir():
                    goal.mkdir(exist_ok=True)
                file.replace(_table(goal, name, suffix))
    except OSError as error:
        raise UsageError(f"could not write {output}: {error.strerror or error}") from error
    return ", ".join(f"{name} {count:,} rows" for name, count in rows.items())


_WRITERS: dict[str, Callable[[Judgement, Samples, str], str]] = {
    "perfetto": _perfetto,
    "parquet": _parquet,
    "csv": _csv,
    "openmetrics": _openmetrics,
}
