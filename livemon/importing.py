"""Builds a session from files made elsewhere: logs, arrival times, thread counters, exports.

Everything is merged in order of arrival and read in one pass, so size is no matter. The session is
written under a temporary name and moved into place when it is whole.
"""

from __future__ import annotations

import contextlib
import heapq
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from livemon import __version__
from livemon.importing_logs import UNIX_FROM_NS, LogInput, LogSamples, SessionClock, Stamps, look
from livemon.importing_perf import ScriptSamples, StatSamples, stat_start_wall_ns
from livemon.importing_threads import ThreadSamples, look_at_threads, topology_of
from livemon.model.criteria import Criteria, criteria_sha256, load_criteria
from livemon.model.errors import SessionError, UsageError
from livemon.model.expressions import expression
from livemon.model.facts import SessionFacts
from livemon.model.samples import ClockAnchor, Sample, ThreadInfo, ThreadTick, TimingRecord
from livemon.parse.options import ParseOptions
from livemon.session.collector import collector_resting
from livemon.session.jsonl import read_line
from livemon.session.locking import is_locked
from livemon.session.store import is_session_file, remove_session
from livemon.session.writer import SessionWriter

_APPEND_NS = 10_000_000_000
_APPEND_MOST = 20_000


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import."""

    output: Path
    logs: tuple[Path, ...] = ()
    arrivals: tuple[Path, ...] = ()
    """One for each log, or none."""
    threads: tuple[Path, ...] = ()
    perf_stats: tuple[Path, ...] = ()
    perf_scripts: tuple[Path, ...] = ()
    perf_start_s: float | None = None
    """Session time at which ``perf stat`` started, s; ``None``: found out, or refused."""
    options: ParseOptions = field(default_factory=ParseOptions)
    mark_pattern: str | None = None
    criteria_toml: str = ""
    is_forced: bool = False
    """An existing session of that name is replaced."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    records: int
    ticks: int
    samples: int
    clock: SessionClock
    notes: tuple[str, ...] = ()


def import_files(request: ImportRequest) -> Imported:
    """Build the session.

    Raises:
        UsageError: A file is missing or malformed, or there is nothing in it.
        SessionError: The session can't be written, or exists.
    """
    if request.arrivals and len(request.arrivals) != len(request.logs):
        raise UsageError(
            f"{len(request.arrivals)} --arrivals for {len(request.logs)} --log", "give one for each log, in order"
        )
    criteria = load_criteria(request.criteria_toml) if request.criteria_toml else Criteria()
    pattern = None if request.mark_pattern is None else expression(request.mark_pattern, "--mark-pattern")
    logs = [
        LogInput(path, index, request.arrivals[index] if request.arrivals else None, request.options, pattern)
        for index, path in enumerate(request.logs)
    ]
    stamps = [look(log) for log in logs]
    seen = [look_at_threads(path) for path in request.threads]
    starts = [t_ns for t_ns, _ in seen if t_ns is not None]
    clock = _choose_clock(stamps, starts, has_perf=bool(request.perf_stats or request.perf_scripts))
    anchors = tuple(anchor for s in stamps for anchor in s.anchors)
    begin_ns = min([*starts, *(s.first_arrival_ns for s in stamps if s.first_arrival_ns is not None)], default=0)
    sources = [LogSamples(log, clock, anchors, criteria, begin_ns) for log in logs]
    counters: list[ThreadSamples | StatSamples | ScriptSamples] = [ThreadSamples(path) for path in request.threads]
    perf_start = _perf_starts(request, clock, anchors)
    counters += [StatSamples(path, start_ns) for path, start_ns in perf_start]
    counters += [ScriptSamples(path) for path in request.perf_scripts]
    merged = heapq.merge(
        *(source.samples() for source in sources), *_distinct(source.samples() for source in counters), key=_arrival
    )
    facts = SessionFacts(
        origin="import",
        livemon_version=__version__,
        clock=clock,
        topology=topology_of(name for _, classes in seen for name in classes),
        criteria_toml=request.criteria_toml,
        criteria_sha256=criteria_sha256(request.criteria_toml),
        environment=tuple(("imported", str(path)) for path in _inputs(request)),
    )
    total = write_session(request.output, facts, _anchored(merged, clock), is_forced=request.is_forced)
    records = sum(source.records for source in sources)
    notes = [remark for source in sources for remark in source.remarks]
    notes += [remark for source in counters if isinstance(source, ThreadSamples) for remark in source.remarks]
    ticks = sum(source.ticks for source in counters)
    return Imported(records, ticks, total, clock, tuple(notes))


def _inputs(request: ImportRequest) -> tuple[Path, ...]:
    return (*request.logs, *request.threads, *request.perf_stats, *request.perf_scripts)


def _perf_starts(
    request: ImportRequest, clock: SessionClock, anchors: tuple[tuple[int, int], ...]
) -> list[tuple[Path, int]]:
    """Session time at which each ``perf stat`` began: as given, or from its header, or 0 when it is alone.

    Raises:
        UsageError: Nothing ties perf's time to that of the other files.
    """
    starts = []
    for path in request.perf_stats:
        wall_ns = stat_start_wall_ns(path)
        if request.perf_start_s is not None:
            starts.append((path, round(request.perf_start_s * 1e9)))
        elif wall_ns is not None and clock == "unix":
            starts.append((path, wall_ns))
        elif wall_ns is not None and anchors and clock == "monotonic":
            starts.append((path, wall_ns + anchors[0][0] - anchors[0][1]))
        elif _inputs(request) == (path,):
            starts.append((path, 0))
        else:
            raise UsageError(
                f"nothing ties the times of {path} to those of the other files",
                "give --perf-start SECONDS, the session time at which perf stat started",
            )
    return starts


def _distinct(sources: Iterable[Iterator[Sample]]) -> list[Iterator[Sample]]:
    """Thread samples of several files: each file's thread numbers follow those of the files before it."""
    numbers = count()
    return [_renumbered(source, numbers) for source in sources]


def _renumbered(source: Iterator[Sample], numbers: Iterator[int]) -> Iterator[Sample]:
    number_of: dict[int, int] = {}
    for sample in source:
        if isinstance(sample, ThreadInfo):
            number_of[sample.index] = next(numbers)
            yield replace(sample, index=number_of[sample.index])
        elif isinstance(sample, ThreadTick):
            yield replace(sample, index=array("q", [number_of[index] for index in sample.index]))
        else:
            yield sample


def import_jsonl(path: Path, output: Path, *, is_forced: bool = False) -> Imported:
    """Build the session that ``export --to jsonl`` was given: the same facts, the same samples.

    Raises:
        UsageError: A line is not one of an export; says which.
        SessionError: The session can't be written, or exists.
    """
    lines = _export_lines(path)
    first = next(lines, None)
    if not isinstance(first, SessionFacts):
        raise UsageError(f"{path} does not begin with a SessionFacts line", "make it with 'livemon export --to jsonl'")
    counts = {TimingRecord: 0, ThreadTick: 0}

    def samples() -> Iterator[Sample]:
        for number, sample in enumerate(lines, 2):
            if isinstance(sample, SessionFacts):
                raise UsageError(f"{path}, line {number}: a second SessionFacts", "import one export at a time")
            if type(sample) in counts:
                counts[type(sample)] += 1
            yield sample

    total = write_session(output, first, samples(), is_forced=is_forced)
    return Imported(counts[TimingRecord], counts[ThreadTick], total, first.clock)


def _export_lines(path: Path) -> Iterator[Sample | SessionFacts]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.isspace():
                    continue
                try:
                    yield read_line(line)
                except ValueError as error:
                    raise UsageError(f"{path}, line {number}: {error}") from None
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from None


def _arrival(sample: Sample) -> int:
    return sample.arrival_ns


def _choose_clock(stamps: list[Stamps], starts: list[int], *, has_perf: bool) -> SessionClock:
    """The clock of the session: what the lines say it is, else what the given times look like, else perf's, or none.

    Arrivals and counters are on the log's clock, so a line that names its clock settles it for them too.
    """
    given = [*starts, *(s.first_arrival_ns for s in stamps if s.first_arrival_ns is not None)]
    if any(s.has_monotonic for s in stamps):
        return "monotonic"
    if given:
        return "unix" if min(given) >= UNIX_FROM_NS else "monotonic"
    if any(s.has_unix for s in stamps):
        return "unix"
    return "monotonic" if has_perf else "order"


def _anchored(samples: Iterator[Sample], clock: SessionClock) -> Iterator[Sample]:
    """On a session in unix time the clocks are one: an anchor at the start says so."""
    for number, sample in enumerate(samples):
        if number == 0 and clock == "unix":
            yield ClockAnchor(sample.arrival_ns, sample.arrival_ns, sample.arrival_ns)
        yield sample


def write_session(path: Path, facts: SessionFacts, samples: Iterator[Sample], *, is_forced: bool = False) -> int:
    """Write a whole session, under a temporary name until it is whole; returns the number of samples.

    Raises:
        SessionError: It can't be written, or there is one already.
    """
    if path.exists():
        if not is_forced:
            raise SessionError(f"{path} already exists", "give --force to replace it")
        if not is_session_file(path):
            raise SessionError(f"{path} is no session", "--force replaces sessions only; choose another place")
        if is_locked(path):
            raise SessionError(f"{path} is being recorded", "stop its recorder first")
    part = path.with_name(path.name + ".part")
    _discard(part)
    try:
        total = _write(part, facts, samples)
        if path.exists():
            remove_session(path)  # with what a crash left beside it, which would be taken for the new one's
        part.replace(path)
    except OSError as error:
        _discard(part)
        raise SessionError(f"can't write {path}: {error.strerror}") from None
    except BaseException:
        _discard(part)
        raise
    return total


def _write(part: Path, facts: SessionFacts, samples: Iterator[Sample]) -> int:
    writer = SessionWriter(part, facts, is_bulk=True)
    total = 0
    try:
        batch: list[Sample] = []
        with collector_resting():
            for sample in samples:
                if batch and (sample.arrival_ns - batch[0].arrival_ns >= _APPEND_NS or len(batch) >= _APPEND_MOST):
                    _append(writer, batch)
                    batch = []
                batch.append(sample)
                total += 1
            _append(writer, batch)
    except BaseException:
        writer.close("failed")
        raise
    writer.close("imported")
    _check(writer)
    return total


def _discard(part: Path) -> None:
    """Remove an unfinished session and whatever lies beside it."""
    for suffix in ("", "-lock", "-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            part.with_name(part.name + suffix).unlink()


def _append(writer: SessionWriter, batch: list[Sample]) -> None:
    writer.append(batch)
    _check(writer)


def _check(writer: SessionWriter) -> None:
    if writer.problem is not None:
        raise SessionError(f"can't write {writer.path}: {writer.problem}", "free some space or choose another place")
