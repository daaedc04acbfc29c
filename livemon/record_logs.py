"""From logs to samples: one parser for each piece of each log, counts of everything that was no timing line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from livemon.collect.log_request import LogRequest
from livemon.collect.logs import LogEvent, LogSet, StreamOpened
from livemon.collect.tail import Chunk, Ended, Restarted, Skipped
from livemon.model.clock import Clock, WallMapping
from livemon.model.expressions import bytes_expression
from livemon.model.samples import UNKNOWN, LogCount, LogStream, Lost, Mark, Note, Sample, TimingRecord
from livemon.parse.options import ParseOptions
from livemon.parse.placing import place_all
from livemon.parse.record import ParsedRecord
from livemon.parse.stream import TimingStream

POLL_BUDGET_NS = 12_000_000
"""So long may reading and parsing take in one poll; what is left waits for the next."""
LEAST_BYTES = 16 << 10
MOST_BYTES = 1 << 20
LAST_BYTES = 256 << 10
"""So much of each file is still read when the recording ends."""
QUIET_LINES = 200
"""After so many lines without any timing the person is told."""
QUIET_NS = 10_000_000_000
LONGEST_MARK_LINE = 64 << 10


@dataclass(slots=True)
class _Counts:
    """What a stream's parsers counted, in all and when last told."""

    lines: int = 0
    records: int = 0
    malformed: int = 0


@dataclass(slots=True)
class _Stream:
    """One log or pipe with its parsers."""

    label: str
    has_text: bool
    opened_ns: int
    parsers: dict[int, TimingStream] = field(default_factory=dict)
    """By generation."""
    lines_before: dict[int, int] = field(default_factory=dict)
    """By generation: lines before the current parser's first."""
    past: _Counts = field(default_factory=_Counts)
    """Of parsers that ended."""
    told: _Counts = field(default_factory=_Counts)
    lag_ns: int | None = None
    has_told_quiet: bool = False
    unterminated: int = 0
    is_kept: bool = True
    """Its text is still there when the recording has ended."""
    checked_binary: bool = False
    rest: dict[int, bytes] = field(default_factory=dict)
    """By generation: the unfinished line, for mark patterns."""

    def counts(self) -> _Counts:
        stats = [parser.stats for parser in self.parsers.values()]
        return _Counts(
            self.past.lines + sum(s.lines for s in stats),
            self.past.records + sum(s.records for s in stats),
            self.past.malformed + sum(s.malformed for s in stats),
        )


class LogReader:
    """Reads all logs of a recording.

    Args:
        requests: What to follow.
        options: How to read it.
        mark_patterns: Expressions; a line in which one is found becomes a mark.
        clock: Gives each line its arrival.
        wall: Ties lines with wall-clock stamps to the session clock; kept current by the caller.
        keeps_output: The output of a command is kept beside the session.

    Raises:
        UsageError: a mark pattern is no valid expression.
    """

    def __init__(
        self,
        requests: Sequence[LogRequest],
        options: ParseOptions,
        mark_patterns: Sequence[str],
        clock: Clock,
        wall: WallMapping,
        *,
        keeps_output: bool = True,
    ) -> None:
        self.logs = LogSet(requests)
        self._options = options
        self._marks = [bytes_expression(text, "--mark-pattern") for text in mark_patterns]
        self._clock = clock
        self._wall = wall
        self._keeps_output = keeps_output
        self._streams: dict[int, _Stream] = {}
        self._ns_per_byte = 100.0
        self._budget_bytes = int(POLL_BUDGET_NS / self._ns_per_byte)
        self._missing: frozenset[int] = frozenset()
        """Streams that were not there at the end."""

    def poll(self) -> list[Sample]:
        """What the logs have that is new."""
        start_ns = self._clock.monotonic_ns()
        events = self.logs.poll(start_ns, self._budget_bytes)
        out: list[Sample] = []
        if not events:
            return out
        read = self._take(events, out)
        if read >= LEAST_BYTES // 4:
            spent = (self._clock.monotonic_ns() - start_ns) / read
            self._ns_per_byte += (spent - self._ns_per_byte) * 0.3
            self._budget_bytes = int(min(max(POLL_BUDGET_NS / self._ns_per_byte, LEAST_BYTES), MOST_BYTES))
        return out

    def count(self) -> list[Sample]:
        """Once a second: what each stream's parser did since the last time."""
        now_ns = self._clock.monotonic_ns()
        out: list[Sample] = []
        for index, stream in self._streams.items():
            counts, told = stream.counts(), stream.told
            new = (counts.lines - told.lines, counts.records - told.records, counts.malformed - told.malformed)
            if any(new):
                out.append(LogCount(now_ns, index, *new, stream.lag_ns))
                stream.told, stream.lag_ns = counts, None
            out.extend(self._tell_quiet(index, stream, counts, now_ns))
        return out

    def finish(self) -> list[Sample]:
        """The end of all streams: what parsers hold back is read or counted."""
        out: list[Sample] = []
        self._take(self.logs.poll(self._clock.monotonic_ns(), LAST_BYTES), out)
        self._missing = frozenset(index for index in self._streams if not self.logs.is_there(index))
        self._take(self.logs.finish(), out)
        for index, stream in self._streams.items():
            for generation in list(stream.parsers):
                self._end(index, stream, generation, out)
        return out + self.count()

    def _take(self, events: Sequence[tuple[int, LogEvent]], out: list[Sample]) -> int:
        """Turn events into samples; returns how many bytes there were."""
        read = 0
        for index, event in events:
            if isinstance(event, Chunk):
                self._read(index, self._streams[index], event, out)
                read += len(event.data)
                continue
            if isinstance(event, StreamOpened):
                self._open(index, event, out)
                continue
            stream = self._streams[index]
            if isinstance(event, Skipped):
                self._skip(index, stream, event, out)
            elif isinstance(event, Restarted):
                self._restart(index, stream, event, out)
            elif isinstance(event, Ended):
                self._end(index, stream, event.generation, out)
            else:
                severity = "info" if event.is_over or not event.remedy else "warning"
                out.append(Note(self._clock.monotonic_ns(), severity, event.text, event.remedy))  # type: ignore[arg-type]
        return read

    def _open(self, index: int, event: StreamOpened, out: list[Sample]) -> None:
        now_ns = self._clock.monotonic_ns()
        self._streams[index] = _Stream(
            event.label, bool(event.path), now_ns, is_kept=self._keeps_output or not event.is_child
        )
        kind = "child" if event.is_child else "pipe" if event.is_pipe else "file"
        out.append(LogStream(now_ns, index, event.path, kind, self._options.format))  # type: ignore[arg-type]

    def _parser(self, stream: _Stream, generation: int, offset: int, line: int = 0) -> TimingStream:
        parser = stream.parsers.get(generation)
        if parser is None:
            parser = stream.parsers[generation] = TimingStream(self._options, offset=offset, line=line)
        return parser

    def _read(self, index: int, stream: _Stream, chunk: Chunk, out: list[Sample]) -> None:
        arrival_ns = self._clock.monotonic_ns()
        if not stream.checked_binary:
            stream.checked_binary = True
            if looks_binary(chunk.data):
                text = f"{stream.label} looks binary, not like a log"
                out.append(
                    Note(arrival_ns, "warning", text, "name the process's text output, or pipe it through a decoder")
                )
        parser = stream.parsers.get(chunk.generation) or self._parser(stream, chunk.generation, chunk.offset)
        parser.calendar.reference_ns = self._clock.wall_ns()
        records = parser.feed(chunk.data)
        if records:
            out += self._place(records, arrival_ns, index, stream)
        if self._marks:
            self._find_marks(stream, chunk, arrival_ns, out)

    def _place(
        self, records: Sequence[ParsedRecord], arrival_ns: int, index: int, stream: _Stream
    ) -> list[TimingRecord]:
        placed = place_all(records, arrival_ns=arrival_ns, wall=self._wall, stream=index, session_clock="monotonic")
        for record in placed:
            if record.time_from == "line":
                stream.lag_ns = max(arrival_ns - record.t_ns, 0)
        return placed if stream.has_text else [_without_offset(record) for record in placed]

    def _skip(self, index: int, stream: _Stream, skip: Skipped, out: list[Sample]) -> None:
        parser = stream.parsers.pop(skip.generation, None)
        line = stream.lines_before.get(skip.generation, 0) + (skip.lines or 0)
        if parser is not None:
            line += parser.stats.lines
            self._add_past(stream, parser)
        stream.lines_before[skip.generation] = line
        stream.rest.pop(skip.generation, None)
        self._parser(stream, skip.generation, skip.resume_offset, line)
        count, unit = (skip.count_bytes, "bytes") if skip.lines is None else (skip.lines, "lines")
        out.append(Lost(self._clock.monotonic_ns(), f"log:{stream.label}", count, unit, skip.reason))

    def _restart(self, index: int, stream: _Stream, event: Restarted, out: list[Sample]) -> None:
        now_ns = self._clock.monotonic_ns()
        if stream.has_text:
            # From here on offsets are of what the path leads to now.
            out.append(LogStream(now_ns, index, stream.label, "file", self._options.format))
        text = f"{stream.label}: {event.reason}; reading goes on with the new content"
        out.append(Note(now_ns, "info", text))
        if event.may_have_lost:
            reason = (
                f"{event.reason}: lines written between the last look and this may be lost, how many can't be known"
            )
            out.append(Lost(now_ns, f"log:{stream.label}", 1, "truncations", reason))

    def _end(self, index: int, stream: _Stream, generation: int, out: list[Sample]) -> None:
        parser = stream.parsers.pop(generation, None)
        stream.rest.pop(generation, None)
        if parser is None:
            return
        arrival_ns = self._clock.monotonic_ns()
        out.extend(self._place(parser.finish(), arrival_ns, index, stream))
        self._add_past(stream, parser)
        if parser.stats.unterminated:
            stream.unterminated += parser.stats.unterminated
            reason = "the last line has no end: it may be torn and was not read"
            out.append(Lost(arrival_ns, f"log:{stream.label}", parser.stats.unterminated, "lines", reason))

    def _add_past(self, stream: _Stream, parser: TimingStream) -> None:
        stats, past = parser.stats, stream.past
        stream.past = _Counts(past.lines + stats.lines, past.records + stats.records, past.malformed + stats.malformed)

    def _find_marks(self, stream: _Stream, chunk: Chunk, arrival_ns: int, out: list[Sample]) -> None:
        whole, separator, rest = (stream.rest.get(chunk.generation, b"") + chunk.data).rpartition(b"\n")
        stream.rest[chunk.generation] = rest[:LONGEST_MARK_LINE]
        if not separator:
            return
        for line in whole.split(b"\n"):
            if any(pattern.search(line) for pattern in self._marks):
                text = line.decode("utf-8", "replace").strip()[:200]
                out.append(Mark(arrival_ns, arrival_ns, text, "log"))

    def _tell_quiet(self, index: int, stream: _Stream, counts: _Counts, now_ns: int) -> list[Sample]:
        """Say once that a log gives nothing."""
        is_late = now_ns - stream.opened_ns >= QUIET_NS
        if stream.has_told_quiet or counts.records or not (counts.lines >= QUIET_LINES or is_late):
            return []
        stream.has_told_quiet = True
        if not counts.lines:
            if not self.logs.is_there(index):
                return []  # told already: it is being waited for
            text = f"{stream.label}: no whole line in the first {QUIET_NS // 10**9} s"
            return [Note(now_ns, "info", text, "is it the right file, and does the writer flush each line?")]
        return [Note(now_ns, "warning", nothing_found(stream.label, counts.lines), _hint(stream))]

    def nothing_read(self, now_ns: int) -> list[Sample]:
        """At the end: a note for each log that gave no record and was not told of yet."""
        hint = "check the pattern; quotes keep the shell from reading it"
        out: list[Sample] = [
            Note(now_ns, "warning", f"{pattern} never matched a file", hint) for pattern in self.logs.unmatched
        ]
        for index, stream in self._streams.items():
            counts = stream.counts()
            if index in self._missing:
                out.append(Note(now_ns, "warning", f"{stream.label} was never there", "check its path"))
            elif not counts.records and not stream.has_told_quiet:
                stream.has_told_quiet = True
                text = nothing_found(stream.label, counts.lines)
                hint = _hint(stream) if counts.lines else "does the writer flush each line?"
                if stream.unterminated:
                    text += "; the last line has no end and was not read"
                    hint = "--accept-unterminated reads it"
                out.append(Note(now_ns, "warning", text, hint))
        return out

    def summary(self) -> list[tuple[str, int, int]]:
        """Label, lines and records of each stream so far."""
        counted = [(stream.label, stream.counts()) for stream in self._streams.values()]
        return [(label, counts.lines, counts.records) for label, counts in counted]


def nothing_found(label: str, lines: int) -> str:
    """What is said of a log without any timing."""
    return f"{label}: read {lines:,} lines, no timing found"


def explain_hint(label: str) -> str:
    """What helps then."""
    return f"try: livemon parse --explain {label}"


def _hint(stream: _Stream) -> str:
    return explain_hint(stream.label) if stream.is_kept else "leave out --no-record to keep its output and look into it"


def looks_binary(data: bytes) -> bool:
    """Whether the first bytes of a log are hardly text: many control bytes, or a known magic number."""
    sample = data[:4096]
    if sample.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x7fELF", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")):
        return True
    if len(sample) < 32:
        return False
    control = sum(sample.count(byte) for byte in _CONTROL)
    undecodable = len(sample) - len(sample.decode("utf-8", "ignore").encode())
    return control + undecodable > len(sample) // 4


_CONTROL = [bytes([n]) for n in range(32) if n not in (8, 9, 10, 12, 13, 27)]


def _without_offset(record: TimingRecord) -> TimingRecord:
    from dataclasses import replace

    return replace(record, offset=UNKNOWN)
