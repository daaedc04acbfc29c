"""A session behind the one face that the screens know: live or finished, at any moment.

It feeds the engine and the rolling view with what the recorder writes, and answers from their memory; only
a short window that memory no longer holds is read back from the file. Live is replay at the growing
end: both go through the same code, so a frame of a moment is the same whenever it is asked for.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from livemon.engine.classes import Classifier
from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.stage_rings import shown_class
from livemon.engine.rolling.state_log import clock_text
from livemon.engine.rolling.thread_rings import SECOND, ThreadRings
from livemon.engine.rolling.view import RollingView
from livemon.engine.tick_deltas import TickDeltas
from livemon.keeping import keep_episodes
from livemon.log_text import in_order, lines_of
from livemon.model.clock import Clock, SystemClock
from livemon.model.criteria import Criteria, load_criteria
from livemon.model.findings import Finding
from livemon.model.samples import LogStream, Sample, ThreadTick, TimingRecord
from livemon.model.severity import SeverityRules
from livemon.model.snapshot import LogLine, MarkPoint, Snapshot, StageDetail, Status, ThreadDetail
from livemon.model.wording import run_words
from livemon.session.reader import SessionReader
from livemon.session.store import size_of

if TYPE_CHECKING:
    from livemon.engine.engine import Engine

BATCH_SAMPLES = 4096
"""Samples taken in at once; no frame depends on it."""
READ_BACK_NS = 180 * SECOND
"""The longest window that is read back from the file when memory no longer holds it in detail."""
SILENT_NS = 3_000_000_000
"""A recorder that is alive writes once a second; after so long without anything the person is told."""
QUIET_NS = 120_000_000
"""A timing record after so long without one is news of its own."""
_MARGIN_NS = 4 * SECOND
_DETAIL_NS = 10 * SECOND
_MOST_LINES = 2_000

Progress = Callable[[float | None, str], None]
"""Told by long work: (fraction done, what it does); may raise to give up."""


class SessionView:
    """A ``ViewSource`` over a session file.

    Args:
        session: Its path, or a reader of it.
        criteria: To judge it with; ``None``: those it was recorded with, else the defaults.
        progress: Told while the session is read for the first time; what it raises ends the opening.
        is_read_at_once: Take in all of it now; else nothing yet (see ``livemon.gradual``).

    Raises:
        SessionError: the session can't be opened.
        UsageError: the criteria it was recorded with can't be read.
    """

    def __init__(
        self,
        session: str | os.PathLike[str] | SessionReader,
        criteria: Criteria | None = None,
        progress: Progress | None = None,
        *,
        is_read_at_once: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._reader = SessionReader(session) if isinstance(session, str | os.PathLike) else session
        self.path = str(self._reader.path)
        facts = self._reader.facts
        self._facts = facts
        self._criteria = criteria if criteria is not None else load_criteria(facts.criteria_toml)
        slow = self._criteria.host_slow
        self._severities = SeverityRules(slowdown=slow.critical_slowdown, recover_by_s=slow.recover_by_s)
        self._classifier = Classifier(self._criteria)
        self._view = RollingView(self._criteria, facts)
        self._revision = 0
        self._last_record_ns = 0
        self._recent: deque[TimingRecord] = deque(maxlen=_MOST_LINES)
        self._quiet_polls = 0
        self._clock = clock or SystemClock()
        self._news_ns = self._clock.monotonic_ns()
        self._silent_s = 0
        self._is_finished = False
        self._known: tuple[int, dict[str, Finding]] = (-1, {})
        self._read_back: tuple[int, int, ThreadRings] | None = None
        self.is_live = self._is_recorder_alive()
        try:
            if is_read_at_once:
                self._take_all(progress)
        except BaseException:
            self._reader.close()
            raise

    @cached_property
    def _engine(self) -> Engine:
        """Imported when something is judged: the first figures of a recording wait for none of the detectors."""
        from livemon.engine.engine import Engine

        return Engine(self._criteria, self._facts)

    # -- following

    def _is_recorder_alive(self) -> bool:
        recorder = self._reader.recorder
        return recorder.closed_reason is None and recorder.is_alive is not False

    def _take_all(self, progress: Progress | None) -> None:
        bounds = self._reader.bounds_ns
        while samples := self._reader.read_new(BATCH_SAMPLES):
            self._take(samples)
            if progress is not None and bounds is not None:
                done = (samples[-1].arrival_ns - bounds[0]) / max(bounds[1] - bounds[0], 1)
                progress(min(max(done, 0.0), 1.0), f"reading {self._reader.path.name}")
        if not self.is_live:
            self._finish()

    def _take(self, samples: Sequence[Sample]) -> None:
        classed = self._classifier.update(samples)
        changes = self._engine.feed(samples, classed)
        if self.is_live:
            keep_episodes(self._reader, changes)
        before = self._view.log.revision
        self._view.update(samples, classed)
        self._revision += self._view.log.revision - before
        self._revision += sum(change.change != "updated" for change in changes)
        for sample in samples:
            if isinstance(sample, TimingRecord):
                # A single line is shown at once; in a steady stream of them the frame rate is enough.
                self._revision += sample.arrival_ns - self._last_record_ns > QUIET_NS
                self._last_record_ns = sample.arrival_ns
                self._recent.append(sample)

    def _finish(self) -> None:
        if not self._is_finished:
            self._is_finished = True
            classed = self._classifier.finish()
            self._engine.finish(classed)
            self._view.finish(classed)

    def _watch_silence(self, has_news: bool) -> bool:
        """Take note of how long a recorder that is alive has written nothing; true if that is to be shown anew."""
        now_ns = self._clock.monotonic_ns()
        if has_news:
            self._news_ns = now_ns
        before, silent_ns = self._silent_s, now_ns - self._news_ns
        self._silent_s = silent_ns // 10**9 if silent_ns >= max(SILENT_NS, 3 * self._facts.interval_ns) else 0
        self._revision += self._silent_s != before
        return self._silent_s != before

    def poll(self) -> bool:
        """Take in what the recorder wrote since the last call; true if there was anything, or it ended."""
        if not self.is_live:
            return False
        has_news = False
        while samples := self._reader.read_new(BATCH_SAMPLES):
            self._take(samples)
            has_news = True
            if len(samples) < BATCH_SAMPLES:
                break
        self._quiet_polls = 0 if has_news else self._quiet_polls + 1
        is_told_anew = self._watch_silence(has_news)
        if (self._quiet_polls >= 8 or is_told_anew) and not self._is_recorder_alive():
            self._quiet_polls = 0
            rest = self._reader.read_new()
            if rest:
                self._take(rest)
            self.is_live = False
            self._silent_s = 0
            self._finish()
            self._revision += 1
            return True
        if self._quiet_polls >= 8:
            self._quiet_polls = 0
        return has_news or is_told_anew

    def revision(self) -> int:
        """Grows with every finding raised or ended, target event, note, mark and loss, and a line after quiet."""
        return self._revision

    # -- frames

    def bounds_ns(self) -> tuple[int, int]:
        """First and newest moment; (0, 0) before the first sample."""
        return self._view.bounds_ns or (0, 0)

    def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
        """The frame at a moment; see ``ViewSource``."""
        start, end = self.bounds_ns()
        moment = end if at_ns is None else min(max(at_ns, start), end)
        findings = self._engine.get() if moment >= end else self._known_at(moment)
        return self._frame(self._view, moment, span_ns, columns, findings)

    def _frame(
        self, view: RollingView, moment: int, span_ns: int, columns: int, findings: tuple[Finding, ...]
    ) -> Snapshot:
        start, end = self.bounds_ns()
        grid = Grid.ending(moment, span_ns, columns)
        rows = view.stage_rows(grid, moment, span_ns, findings)
        return Snapshot(
            at_ns=moment,
            wall_ns=view.log.wall().wall_ns(moment),
            start_ns=start,
            end_ns=end,
            span_ns=span_ns,
            verdict=view.verdict(moment, span_ns, findings),
            stages=rows,
            threads=view.thread_rows(grid, moment, span_ns, self._rings_for(view, grid, moment, span_ns)),
            findings=findings,
            timeline=view.timeline(grid, moment, findings),
            status=self._status(view, None if moment >= end else moment, end),
            cpus=self._facts.topology.cpus,
            classes=self._facts.topology.classes or tuple(view.rings.class_names),
            capabilities=self._facts.capabilities,
            period=view.period(rows),
            interval_ns=self._facts.interval_ns,
            severities=self._severities,
        )

    def _status(self, view: RollingView, known_at: int | None, end_ns: int) -> Status:
        """The status bar; what is wrong with the file itself holds at every moment."""
        state, trouble = self._recorder_state(end_ns)
        size = size_of(self._reader.path)
        status = view.status(known_at, is_recording=self.is_live, recorder_state=state, session_bytes=size)
        notes = (*self._reader.damage, *status.notes)
        return replace(status, notes=notes, trouble=trouble, session_bytes=size or status.session_bytes)

    def _known_at(self, at_ns: int) -> tuple[Finding, ...]:
        """Findings as known at a moment; walking forward in time costs only the new changes."""
        changes = self._engine.changes
        known_ns, state = self._known
        if at_ns < known_ns:
            known_ns, state = -1, {}
        # By time, not by place in the list: of old changes the engine lets go.
        first = bisect_right(changes, known_ns, key=lambda change: change.at_ns)
        last = bisect_right(changes, at_ns, key=lambda change: change.at_ns)
        state = dict(state)
        for change in changes[first:last]:
            if change.change == "withdrawn":
                state.pop(change.finding.id, None)
            else:
                state[change.finding.id] = change.finding
        self._known = (at_ns, state)
        return tuple(state.values())

    def _rings_for(self, view: RollingView, grid: Grid, at_ns: int, span_ns: int) -> ThreadRings | None:
        """Rings read back from the file for a window that memory no longer holds; ``None``: memory does."""
        if span_ns > READ_BACK_NS or view.rings.reaches(grid.start_ns, grid.bucket_ns):
            return None
        held = self._read_back
        if held is not None and held[0] <= grid.start_ns and at_ns <= held[1]:
            return held[2]
        start, end = grid.start_ns - _MARGIN_NS, at_ns + _MARGIN_NS
        rings, deltas = ThreadRings(self._view.cores, levels=1, is_bounded=False), TickDeltas()
        rings.take([s for s in self._reader.read_range(start, end) if isinstance(s, ThreadTick)], deltas)
        self._read_back = (start, end, rings)
        return rings

    def _recorder_state(self, end_ns: int) -> tuple[str, Literal["", "silent", "gone"]]:
        if self.is_live and self._silent_s:
            return f"no news for {self._silent_s} s: is recorder pid {self._reader.recorder.pid} stopped?", "silent"
        if self.is_live:
            return "recording", ""
        recorder = self._reader.recorder
        if recorder.closed_reason is not None or recorder.pid is None:
            return "replay" if recorder.closed_reason in (None, "closed", "") else recorder.closed_reason, ""
        when = clock_text(end_ns, self._view.log.wall(), self._view.log.start_ns)
        return f"recorder pid {recorder.pid} gone at {when}", "gone"

    def _session_bytes(self) -> int:
        try:
            return self._reader.size_bytes
        except OSError:
            return 0

    # -- details

    def stage_detail(
        self, class_key: str | None, stage: str, at_ns: int | None, span_ns: int, columns: int
    ) -> StageDetail | None:
        """A stage's distribution; see ``ViewSource``."""
        moment = self._moment(at_ns)
        view = self._view_for(moment, span_ns)
        return view.stage_detail(class_key, stage, Grid.ending(moment, span_ns, columns), moment, span_ns)

    def thread_detail(self, index: int, at_ns: int | None, span_ns: int, columns: int) -> ThreadDetail | None:
        """One thread; see ``ViewSource``."""
        moment = self._moment(at_ns)
        grid = Grid.ending(moment, span_ns, columns)
        ticks = self._reader.read_range(moment - min(span_ns, _DETAIL_NS), moment)
        view = self._view_for(moment, span_ns)
        rings = self._rings_for(view, grid, moment, span_ns)
        return view.thread_detail(index, grid, moment, span_ns, rings, ticks)

    def _view_for(self, moment: int, span_ns: int) -> RollingView:
        """What a window is drawn from."""
        return self._view

    def _moment(self, at_ns: int | None) -> int:
        start, end = self.bounds_ns()
        return end if at_ns is None else min(max(at_ns, start), end)

    def log_lines(self, at_ns: int, before: int, after: int, stream: str | None = None) -> tuple[LogLine, ...]:
        """Lines around a moment, oldest first, with the text as far as the log still has it."""
        view = self._view_for(at_ns, SECOND)
        streams = view.log.streams
        records = self._newest_records(at_ns, before, stream) or self._records_around(
            streams, at_ns, before, after, stream
        )
        records.sort(key=lambda record: record.t_ns)
        middle = bisect_right(records, at_ns, key=lambda record: record.t_ns)
        shown = records[max(middle - before, 0) : middle + after]
        classes = {(r.stream, r.offset): view.class_of(r) for r in shown}
        lines: list[LogLine] = []
        for number in dict.fromkeys(record.stream for record in shown):
            mine = sorted((r for r in shown if r.stream == number), key=lambda r: (r.offset, r.line))
            log = streams.get(number) or LogStream(0, number, "")
            lines += lines_of(log, mine, classes)
        return tuple(in_order(lines, before + after))

    def _newest_records(self, at_ns: int, before: int, stream: str | None) -> list[TimingRecord]:
        """The records up to the growing end, from memory; empty if the moment or the reach is another."""
        if not self._recent or at_ns < max(self._recent[-1].arrival_ns, self._recent[-1].t_ns):
            return []
        streams = self._view.log.streams
        records = [r for r in self._recent if stream is None or _path(streams, r.stream) == stream]
        return records if len(records) >= before or len(self._recent) < _MOST_LINES else []

    def _records_around(
        self, streams: dict[int, LogStream], at_ns: int, before: int, after: int, stream: str | None
    ) -> list[TimingRecord]:
        start, end = self.bounds_ns()
        reach = SECOND
        while True:
            found = self._reader.read_range(at_ns - reach, at_ns + reach)
            records = [
                s
                for s in found
                if isinstance(s, TimingRecord) and (stream is None or _path(streams, s.stream) == stream)
            ]
            earlier = sum(record.t_ns <= at_ns for record in records)
            is_enough = earlier >= before and len(records) - earlier >= after
            if is_enough or len(records) > _MOST_LINES or (at_ns - reach <= start and at_ns + reach >= end):
                return records
            reach *= 4

    def all_findings(self) -> tuple[Finding, ...]:
        """Everything known now."""
        return self._engine.get()

    def moments_ns(self) -> tuple[tuple[int, str], ...]:
        """Marks, and the moments from which findings are shown: at its start nothing told of one yet."""
        moments = [(f.detected_ns, f"{f.id} {_words(f)}") for f in self._engine.get()]
        moments += [(mark.t_ns, f"mark: {mark.text}") for mark in self._marks()]
        return tuple(sorted(moments))

    def _marks(self) -> tuple[MarkPoint, ...]:
        return self._view.log.marks()

    def add_mark(self, text: str, at_ns: int | None = None) -> None:
        """Write a mark into the session.

        Raises:
            SessionError: the session can't be written.
        """
        self._reader.add_mark(text, self.bounds_ns()[1] if at_ns is None else at_ns, "key")
        if not self.is_live:
            # The recording is over and judged: only the mark itself is new.
            self._view.update(self._reader.read_new(), ())
            self._revision += 1

    def close(self) -> None:
        """Let go of the session."""
        self._reader.close()


def _path(streams: dict[int, LogStream], number: int) -> str:
    return streams[number].path if number in streams else ""


def _words(finding: Finding) -> str:
    later = f", shown {max(finding.detected_ns - finding.start_ns, 0) / 1e9:.1f} s after its start"
    if finding.kind == "oversized_finalize":
        of = run_words(finding.class_key) or shown_class(finding.class_key)
        return f"oversized {finding.stage}" + (f" of {of}" if of else "") + later
    return f"host-slow: {finding.primary_words or 'cause unknown'}{later}"
