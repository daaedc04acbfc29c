"""What the status bar says, as it was known at any moment: targets, counts, losses, notes, marks, clock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar

from livemon.model.clock import WallMapping
from livemon.model.facts import SessionFacts
from livemon.model.judgement import Gap
from livemon.model.samples import (
    ClockAnchor,
    LogCount,
    LogStream,
    Lost,
    Mark,
    Note,
    Sample,
    SelfSample,
    TargetEvent,
    ThreadTick,
    TimingRecord,
)
from livemon.model.snapshot import MarkPoint, TargetState

KEPT = 5_000
"""Events, notes, marks and losses that are kept of each kind; the oldest go first."""
_COUNTS_KEPT = 20_000
_STEP_NS = 1_000_000_000
_SAME_OFFSET_NS = 1_000_000
_Entry = TypeVar("_Entry")

Counts = tuple[int, int, int, int, int, int]
"""Lines, records, malformed, ticks, late ticks, lost: cumulative."""
LINES, RECORDS, MALFORMED, TICKS, LATE, LOST = range(6)


class _TimeLog(Generic[_Entry]):
    """Entries in order of arrival, read up to a moment."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._times: list[int] = []
        self.entries: list[_Entry] = []

    def add(self, at_ns: int, entry: _Entry) -> None:
        self._times.append(at_ns)
        self.entries.append(entry)
        if len(self.entries) > self._kept + self._kept // 4:
            del self._times[: -self._kept], self.entries[: -self._kept]

    def thin(self) -> None:
        """Keep every other entry."""
        del self._times[1:-1:2], self.entries[1:-1:2]

    def until(self, at_ns: int | None) -> list[_Entry]:
        """Entries that had arrived at ``at_ns`` (``None``: all)."""
        return self.entries if at_ns is None else self.entries[: bisect_right(self._times, at_ns)]

    def newest(self, at_ns: int | None) -> _Entry | None:
        """The newest entry at ``at_ns``."""
        k = len(self._times) if at_ns is None else bisect_right(self._times, at_ns)
        return self.entries[k - 1] if k else None

    def before(self, at_ns: int | None, ago_ns: int) -> _Entry | None:
        """The newest entry that is at least ``ago_ns`` older than the newest one at ``at_ns``."""
        k = len(self._times) if at_ns is None else bisect_right(self._times, at_ns)
        if not k:
            return None
        j = bisect_right(self._times, self._times[k - 1] - ago_ns)
        return self.entries[j - 1] if j else None


class StateLog:
    """Everything of a session that is neither a timing record nor a thread reading."""

    def __init__(self, facts: SessionFacts) -> None:
        self._facts = facts
        self._late_ns = facts.interval_ns // 2
        self._events: _TimeLog[TargetEvent] = _TimeLog(KEPT)
        self._notes: _TimeLog[Note] = _TimeLog(KEPT)
        self._losses: _TimeLog[Lost] = _TimeLog(KEPT)
        self._marks: _TimeLog[Mark] = _TimeLog(KEPT)
        self._self: _TimeLog[SelfSample] = _TimeLog(_COUNTS_KEPT)
        self._lags: _TimeLog[int | None] = _TimeLog(_COUNTS_KEPT)
        self._counts: _TimeLog[tuple[int, Counts]] = _TimeLog(_COUNTS_KEPT * 2)
        self._now = [0, 0, 0, 0, 0, 0]
        self._counted_records = 0
        self._counted_ns = -_STEP_NS
        self._anchors: list[tuple[int, int]] = []
        self.streams: dict[int, LogStream] = {}
        self.revision = 0
        """Grows with every target event and loss."""
        self.start_ns: int | None = None
        self.end_ns: int | None = None

    def update(self, sample: Sample) -> None:
        """Take a sample of any kind."""
        at = sample.arrival_ns
        if self.start_ns is None:
            self.start_ns = at
        self.end_ns = at
        take = _TAKE.get(type(sample))
        if take is not None:
            take(self, sample)
        if at - self._counted_ns >= _STEP_NS:
            self._note_counts(at)

    def _note_counts(self, at_ns: int) -> None:
        self._counted_ns = at_ns
        if len(self._counts.entries) >= _COUNTS_KEPT:
            self._counts.thin()
        now = self._now
        self._counts.add(at_ns, (at_ns, (now[0], now[1], now[2], now[3], now[4], now[5])))

    def _record(self, record: Sample) -> None:
        self._now[RECORDS] += 1

    def _tick(self, tick: ThreadTick) -> None:
        self._now[TICKS] += 1
        self._now[LATE] += tick.late_ns > self._late_ns

    def _count(self, count: LogCount) -> None:
        self._now[LINES] += count.lines
        self._now[MALFORMED] += count.malformed
        self._lags.add(count.arrival_ns, count.lag_ns)

    def _lost(self, lost: Lost) -> None:
        self._now[LOST] += 1
        self._losses.add(lost.arrival_ns, lost)
        self.revision += 1
        self._note_counts(lost.arrival_ns)

    def _event(self, event: TargetEvent) -> None:
        self._events.add(event.arrival_ns, event)
        self.revision += 1

    def _note(self, note: Note) -> None:
        self._notes.add(note.arrival_ns, note)
        self.revision += 1

    def _mark(self, mark: Mark) -> None:
        self._marks.add(mark.arrival_ns, mark)
        self.revision += 1

    def _myself(self, sample: SelfSample) -> None:
        self._self.add(sample.arrival_ns, sample)

    def _stream(self, stream: LogStream) -> None:
        self.streams[stream.index] = stream

    def _anchor(self, anchor: ClockAnchor) -> None:
        offset = anchor.wall_ns - anchor.mono_ns
        if not self._anchors or abs(offset - (self._anchors[-1][1] - self._anchors[-1][0])) > _SAME_OFFSET_NS:
            self._anchors.append((anchor.mono_ns, anchor.wall_ns))
            del self._anchors[:-KEPT]

    # -- reading

    def wall(self) -> WallMapping:
        """Session clock to wall clock."""
        return WallMapping(self._anchors)

    def counts(self, at_ns: int | None) -> Counts:
        """Cumulative counts at a moment, to the second."""
        now = self._now
        if at_ns is None or (self.end_ns is not None and at_ns >= self.end_ns):
            current: Counts = (now[0], now[1], now[2], now[3], now[4], now[5])
        else:
            found = self._counts.newest(at_ns)
            current = found[1] if found else (0, 0, 0, 0, 0, 0)
        lines = max(current[LINES], current[RECORDS])
        return (lines, *current[1:])

    def targets(self, at_ns: int | None) -> tuple[TargetState, ...]:
        """The processes as they were known at a moment."""
        wall = self.wall()
        known = {target.pid: (target.name, "running") for target in self._facts.targets}
        for event in self._events.until(at_ns):
            name = event.name or known.get(event.pid, ("", ""))[0]
            known[event.pid] = (name, _state(event, wall, self.start_ns))
        return tuple(TargetState(pid, name, state) for pid, (name, state) in known.items())

    def lost_reasons(self, at_ns: int | None) -> tuple[str, ...]:
        """What was lost until then, by source and reason, most first."""
        sums: dict[tuple[str, str, str], int] = {}
        for lost in self._losses.until(at_ns):
            key = (lost.source, lost.unit, lost.reason)
            sums[key] = sums.get(key, 0) + lost.count
        ordered = sorted(sums.items(), key=lambda item: -item[1])
        return tuple(
            f"{source.removesuffix(':unseen')}: {n:,} {unit} ({reason})" for (source, unit, reason), n in ordered
        )

    def gaps(self, start_ns: int, end_ns: int, at_ns: int | None) -> tuple[Gap, ...]:
        """Gaps that overlap a window, as known at a moment."""
        return tuple(
            Gap(lost.start_ns, lost.end_ns, lost.source.partition(":")[0], lost.reason)
            for lost in self._losses.until(at_ns)
            if lost.start_ns is not None and lost.end_ns is not None
            if lost.start_ns <= end_ns and lost.end_ns >= start_ns
        )

    def marks(self, at_ns: int | None = None) -> tuple[MarkPoint, ...]:
        """Marks in order of their time, as known at a moment."""
        return tuple(
            sorted((MarkPoint(mark.t_ns, mark.text) for mark in self._marks.until(at_ns)), key=lambda m: m.t_ns)
        )

    def notes(self, at_ns: int | None) -> tuple[str, ...]:
        """Banners, newest first, each once."""
        texts = [f"{n.text}: {n.remedy}" if n.remedy else n.text for n in self._notes.until(at_ns)]
        return tuple(dict.fromkeys(reversed(texts)))

    def log_lag_ms(self, at_ns: int | None) -> float | None:
        """How late the log was; ``None`` where lines carry no time."""
        lag = self._lags.newest(at_ns)
        return None if lag is None else lag / 1e6

    def own(self, at_ns: int | None) -> tuple[int, float | None, str]:
        """Session bytes, the recorder's CPU in percent of a core over the newest seconds, what it switched down."""
        newest = self._self.newest(at_ns)
        if newest is None:
            return 0, None, ""
        before = self._self.before(at_ns, 4 * _STEP_NS) or self._self.before(at_ns, 1)
        percent = None
        if before is not None and newest.arrival_ns > before.arrival_ns and newest.cpu_ns >= before.cpu_ns:
            percent = 100.0 * (newest.cpu_ns - before.cpu_ns) / (newest.arrival_ns - before.arrival_ns)
        return newest.session_bytes, percent, newest.degraded


def clock_text(t_ns: int, wall: WallMapping, start_ns: int | None) -> str:
    """A moment as local time of day, else as seconds since the session's start."""
    wall_ns = wall.wall_ns(t_ns)
    if wall_ns is None:
        return f"+{(t_ns - (start_ns or 0)) / 1e9:.1f}s"
    return datetime.fromtimestamp(wall_ns // 1_000_000_000).strftime("%H:%M:%S")


def _state(event: TargetEvent, wall: WallMapping, start_ns: int | None) -> str:
    if event.event not in ("exited", "vanished", "stopped"):
        return "running"
    when = clock_text(event.arrival_ns, wall, start_ns)
    if event.event == "stopped":
        return f"{event.detail or 'stopped'} at {when}"
    if event.event == "vanished":
        return f"vanished at {when}"
    if event.exit_status is None:
        return f"exited at {when}"
    if event.exit_status < 0:
        return f"killed by signal {-event.exit_status} at {when}"
    return f"exited with {event.exit_status} at {when}"


_TAKE: dict[type, Callable[[StateLog, Any], None]] = {
    TimingRecord: StateLog._record,
    ThreadTick: StateLog._tick,
    LogCount: StateLog._count,
    Lost: StateLog._lost,
    TargetEvent: StateLog._event,
    Note: StateLog._note,
    Mark: StateLog._mark,
    SelfSample: StateLog._myself,
    LogStream: StateLog._stream,
    ClockAnchor: StateLog._anchor,
}
"""What takes a sample of each kind."""
