"""Logs made elsewhere, onto the session clock: one stream of samples a log, in order of arrival."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from livemon.engine.roles import CPU, TOTAL, role_of
from livemon.importing_order import Believed, in_order
from livemon.model.clock import WallMapping
from livemon.model.criteria import Criteria
from livemon.model.errors import UsageError
from livemon.model.samples import ClockAnchor, LogCount, LogStream, Lost, Mark, Sample
from livemon.parse.options import ParseOptions
from livemon.parse.placing import place
from livemon.parse.plain import HEAD_BYTES, check_text
from livemon.parse.record import ParsedRecord
from livemon.parse.stream import TimingStream
from livemon.parse.timestamps import find as find_stamp

SessionClock = Literal["monotonic", "unix", "order"]
CHUNK_BYTES = 1 << 16
_MARK_CHARS = 200
_SHOWN_CHARS = 80
TIME_LIMIT_NS = 1 << 62
"""Times are within this of 0 (146 years), so that no sum of two leaves 64 bits."""
_WHOLE = re.compile(rb"\s*[+-]?[0-9]{1,19}\s*\Z")
UNIX_FROM_NS = 10**17
"""Larger times are unix time: a machine is not up for three years, and 1973 is long ago."""


@dataclass(frozen=True, slots=True)
class LogInput:
    """One log to import."""

    path: Path
    index: int
    arrivals: Path | None
    options: ParseOptions
    mark_pattern: re.Pattern[str] | None = None

    def stream(self) -> TimingStream:
        """A reader for it; stamps that lack their year are of the time before the file was last written.

        Raises:
            UsageError: there is no such file, or it is one that can be read only once.
        """
        stream = TimingStream(self.options)
        stream.calendar.reference_ns = written_ns(self.path)
        return stream


@dataclass(frozen=True, slots=True)
class Stamps:
    """What a look at the start of a log tells of its stamps."""

    has_monotonic: bool
    has_unix: bool
    anchors: tuple[tuple[int, int], ...]
    """(monotonic ns, unix ns)."""
    first_arrival_ns: int | None


def written_ns(path: Path) -> int:
    """When a file to import was last written, unix ns.

    Raises:
        UsageError: there is none, or it is a pipe: files are looked at before they are read.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise UsageError(f"can't read {path}: {getattr(error, 'strerror', error)}") from None
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{path} is a folder", "name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path} is no regular file and can be read only once", "write it into a file first")
    return status.st_mtime_ns


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while data := file.read(CHUNK_BYTES):
                yield data
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from None


def look(log: LogInput) -> Stamps:
    """Read on until the log's first stamp is found (an unstamped log is read whole)."""
    stream = log.stream()
    clocks: set[str] = set()
    anchors: list[tuple[int, int]] = []
    for number, data in enumerate(_chunks(log.path)):
        if number == 0:
            check_text(data[:HEAD_BYTES], str(log.path))
        clocks |= {record.clock for record in stream.feed(data) if record.clock is not None}
        anchors += [(mono_ns, wall_ns) for _, mono_ns, wall_ns in stream.take_anchors()]
        if clocks:
            break
    first = next(read_arrivals(log.arrivals), None) if log.arrivals is not None else None
    return Stamps("monotonic" in clocks, "unix" in clocks, tuple(anchors), first)


def read_arrivals(path: Path) -> Iterator[int]:
    """The arrival of each line, ns."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                t_ns = int(line) if _WHOLE.match(line) else TIME_LIMIT_NS
                if not 0 <= t_ns < TIME_LIMIT_NS:
                    shown = line[:40].decode(errors="replace").strip()
                    raise UsageError(f"{path}, line {number}: {shown!r} is not a time in whole ns from 0 on")
                yield t_ns
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from None


class LogSamples:
    """The samples of one log.

    Args:
        log: Which log, and how to read it.
        clock: What the session clock is.
        anchors: (monotonic ns, unix ns) known beforehand; those met on the way are added.
        criteria: Which stage is the total, and which is CPU time (for ``order``).
        start_ns: Where a log without any stamp begins.
    """

    def __init__(
        self,
        log: LogInput,
        clock: SessionClock,
        anchors: tuple[tuple[int, int], ...],
        criteria: Criteria,
        start_ns: int,
    ) -> None:
        self._log = log
        self._clock = clock
        self._wall = WallMapping(anchors)
        self._shift_ns = anchors[0][0] - anchors[0][1] if anchors else None
        self._criteria = criteria
        self._at_ns = start_ns
        self._stream = log.stream()
        self._arrivals = None if log.arrivals is None else _Arrivals(log.arrivals, log.path)
        self._believed: Believed | None = None
        self.records = 0

    @property
    def nothing_found(self) -> str:
        """What is said of a log without any timing, in one line."""
        last = next(iter(self._stream.tail_text.splitlines()[-1:]), "")
        shown = f" (it ends with {last[:_SHOWN_CHARS]!r})" if last else ""
        path = self._log.path
        return (
            f"{path}: read {self._stream.stats.lines:,} lines, no timing found{shown}; "
            f"try: livemon parse --explain {path}"
        )

    @property
    def remarks(self) -> list[str]:
        """What the user should know, after all was read."""
        if not self.records:
            return [self.nothing_found]
        return [self._believed.note] if self._believed is not None and self._believed.contradicted else []

    def samples(self) -> Iterator[Sample]:
        """In order of arrival.

        Raises:
            UsageError: The log or its arrivals can't be read, or do not belong together.
        """
        announced = False
        samples: Iterable[Sample] = self._read()
        if self._arrivals is None and self._clock != "order":
            samples = self._believed = Believed(samples, str(self._log.path))
        for sample in in_order(samples):
            if not announced:
                announced = True
                yield LogStream(sample.arrival_ns, self._log.index, str(self._log.path.absolute()))
            yield sample

    def _read(self) -> Iterator[Sample]:
        stream, before = self._stream, (0, 0, 0)
        marks = _MarkLines(self._log.mark_pattern)
        lines = 0
        ends_open = False
        for data in _chunks(self._log.path):
            records = stream.feed(data)
            lines += data.count(b"\n")
            ends_open = not data.endswith(b"\n")
            yield from self._take_anchors()
            yield from self._place(records, marks.feed(data))
            yield self._count(before)
            before = stream.stats.lines, stream.stats.records, stream.stats.malformed
        yield from self._place(stream.finish(), [])
        if self._arrivals is not None:
            self._at_ns = max(self._at_ns, self._arrivals.check_end(lines, ends_open))
        if before != (stream.stats.lines, stream.stats.records, stream.stats.malformed):
            yield self._count(before)
        if stream.stats.unterminated:
            reason = "the last line has no end and may be torn (--accept-unterminated reads it)"
            yield Lost(self._at_ns, "log", stream.stats.unterminated, "lines", reason)

    def _count(self, before: tuple[int, int, int]) -> LogCount:
        stats = self._stream.stats
        return LogCount(
            self._at_ns,
            self._log.index,
            stats.lines - before[0],
            stats.records - before[1],
            stats.malformed - before[2],
        )

    def _take_anchors(self) -> Iterator[Sample]:
        for _, mono_ns, wall_ns in self._stream.take_anchors():
            self._wall.add(mono_ns, wall_ns)
            self._shift_ns = mono_ns - wall_ns
            if self._clock == "monotonic":
                yield ClockAnchor(max(self._at_ns, 0) or mono_ns, mono_ns, wall_ns)

    def _place(self, records: list[ParsedRecord], marks: list[tuple[int, str]]) -> Iterator[Sample]:
        """Records and marked lines in the order of their lines."""
        waiting = iter(marks)
        mark = next(waiting, None)
        for record in records:
            while mark is not None and mark[0] <= record.line:
                yield self._mark(*mark)
                mark = next(waiting, None)
            arrival_ns = self._arrival(record)
            self._at_ns = arrival_ns
            self.records += 1
            yield place(
                record,
                arrival_ns=arrival_ns,
                wall=self._wall,
                stream=self._log.index,
                session_clock=self._clock,
            )
        while mark is not None:
            yield self._mark(*mark)
            mark = next(waiting, None)

    def _mark(self, line: int, text: str) -> Mark:
        if self._arrivals is not None:
            self._at_ns = self._arrivals.of_line(line)
        else:
            stamp = find_stamp(text, self._stream.calendar)
            own = None if stamp is None else self._on_session_clock(stamp.t_ns, stamp.clock)
            self._at_ns = self._at_ns if own is None else own
        return Mark(self._at_ns, self._at_ns, text, "log")

    def _arrival(self, record: ParsedRecord) -> int:
        if self._arrivals is not None:
            return self._arrivals.of_line(record.line)
        if self._clock == "order":
            return self._at_ns + round(self._duration_ms(record) * 1e6)
        own = self._on_session_clock(record.t_ns, record.clock)
        return self._at_ns if own is None else own

    def _on_session_clock(self, t_ns: int | None, clock: str | None) -> int | None:
        if t_ns is None or clock is None:
            return None
        if clock == self._clock:
            return t_ns
        if self._shift_ns is None or self._clock == "order":
            return None
        return t_ns + self._shift_ns if clock == "unix" else self._wall.wall_ns(t_ns)

    def _duration_ms(self, record: ParsedRecord) -> float:
        """How long the unit took: its total, else the sum of its parts."""
        parts = 0.0
        for stage, ms in record.stages:
            role = role_of(stage, self._criteria)
            if role == TOTAL:
                return ms
            if role != CPU:
                parts += ms
        return parts


class _Arrivals:
    """The arrival of each line, from a file with one time a line."""

    def __init__(self, path: Path, log: Path) -> None:
        self._path, self._log = path, log
        self._times = read_arrivals(path)
        self._line = self._at_ns = 0

    def of_line(self, wanted: int) -> int:
        while self._line < wanted:
            following = next(self._times, None)
            if following is None:
                raise UsageError(f"{self._path} has {self._line} arrivals, but {self._log} has more lines")
            self._line += 1
            self._at_ns = following
        return self._at_ns

    def check_end(self, lines: int, ends_open: bool) -> int:
        """Complain unless there was one arrival for each line; the last arrival."""
        self.of_line(lines)
        rest = sum(1 for _ in self._times)
        if rest > ends_open:
            raise UsageError(f"{self._path} has {self._line + rest} arrivals, but {self._log} has {lines} lines")
        return self._at_ns


class _MarkLines:
    """Finds the lines that are marks in the chunks of a log."""

    def __init__(self, pattern: re.Pattern[str] | None) -> None:
        self._pattern = pattern
        self._rest = b""
        self._line = 0

    def feed(self, data: bytes) -> list[tuple[int, str]]:
        """(line number, text) of each terminated line that matches."""
        if self._pattern is None:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            self._line += 1
            text = line.decode("utf-8", "replace").strip()
            if self._pattern.search(text):
                found.append((self._line, text[:_MARK_CHARS]))
        return found
