"""Builds a session from files made elsewhere: logs, arrival times, thread counters, exports.

Everything is merged in order of arrival and read in one pass, so size is no matter. The session is
written under a temporary name and moved into place when it is whole.
"""

from __future__ import annotations

import contextlib
import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from livemon import __version__
from livemon.importing_logs import UNIX_FROM_NS, LogInput, LogSamples, SessionClock, Stamps, look
from livemon.importing_threads import ThreadSamples, look_at_threads, topology_of
from livemon.model.criteria import Criteria, criteria_sha256, load_criteria
from livemon.model.errors import SessionError, UsageError
from livemon.model.facts import SessionFacts
from livemon.model.samples import ClockAnchor, Sample
from livemon.parse.options import ParseOptions
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
    pattern = _pattern(request.mark_pattern)
    logs = [
        LogInput(path, index, request.arrivals[index] if request.arrivals else None, request.options, pattern)
        for index, path in enumerate(request.logs)
    ]
    stamps = [look(log) for log in logs]
    seen = [look_at_threads(path) for path in request.threads]
    starts = [t_ns for t_ns, _ in seen if t_ns is not None]
    clock = _choose_clock(stamps, starts)
    anchors = tuple(anchor for s in stamps for anchor in s.anchors)
    begin_ns = min([*starts, *(s.first_arrival_ns for s in stamps if s.first_arrival_ns is not None)], default=0)
    sources = [LogSamples(log, clock, anchors, criteria, begin_ns) for log in logs]
    threads = [ThreadSamples(path) for path in request.threads]
    merged = heapq.merge(
        *(source.samples() for source in sources), *(source.samples() for source in threads), key=_arrival
    )
    facts = SessionFacts(
        origin="import",
        livemon_version=__version__,
        clock=clock,
        topology=topology_of(name for _, classes in seen for name in classes),
        criteria_toml=request.criteria_toml,
        criteria_sha256=criteria_sha256(request.criteria_toml),
        environment=tuple(("imported", str(path)) for path in (*request.logs, *request.threads)),
    )
    count = write_session(request.output, facts, _anchored(merged, clock), is_forced=request.is_forced)
    records = sum(source.records for source in sources)
    notes = []
    for source, log in zip(sources, logs, strict=True):
        if not source.records:
            notes.append(f"no timing found in {log.path}; it ends with: {source.tail_text[-300:] or '(nothing)'}")
    ticks = sum(source.ticks for source in threads)
    return Imported(records, ticks, count, clock, tuple(notes))


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"--mark-pattern {text!r}: {error}") from None


def _arrival(sample: Sample) -> int:
    return sample.arrival_ns


def _choose_clock(stamps: list[Stamps], starts: list[int]) -> SessionClock:
    """The clock of the session: that of the given times, else that of the lines, else none."""
    given = [*starts, *(s.first_arrival_ns for s in stamps if s.first_arrival_ns is not None)]
    if given:
        return "unix" if min(given) >= UNIX_FROM_NS else "monotonic"
    if any(s.has_monotonic for s in stamps):
        return "monotonic"
    return "unix" if any(s.has_unix for s in stamps) else "order"


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
    if path.exists() and not is_forced:
        raise SessionError(f"{path} already exists", "give --force to replace it")
    part = path.with_name(path.name + ".part")
    for leftover in (part, part.with_name(part.name + "-lock")):
        with contextlib.suppress(OSError):
            leftover.unlink()
    writer = SessionWriter(part, facts, is_bulk=True)
    count = 0
    try:
        batch: list[Sample] = []
        for sample in samples:
            if batch and (sample.arrival_ns - batch[0].arrival_ns >= _APPEND_NS or len(batch) >= _APPEND_MOST):
                _append(writer, batch)
                batch = []
            batch.append(sample)
            count += 1
        _append(writer, batch)
        writer.close("imported")
    except BaseException:
        writer.close("failed")
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    try:
        part.replace(path)
    except OSError as error:
        raise SessionError(f"can't write {path}: {error.strerror}") from None
    return count


def _append(writer: SessionWriter, batch: list[Sample]) -> None:
    writer.append(batch)
    if writer.problem is not None:
        raise SessionError(f"can't write {writer.path}: {writer.problem}", "free some space or choose another place")
