"""A session that is shown at once and judged step by step: a long recording's first frame does not wait.

Until all of it is judged, a moment that the judging has passed is shown as it will stay; any other one is
drawn from its own stretch of the file (``livemon.preview``), with figures but without a judgement: no
stage is called ok, no verdict is given, findings end where the judging stands. A short session is judged
in one go right after its first frame. Afterwards everything is ``SessionView``.
"""

from __future__ import annotations

import os
from dataclasses import replace

from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.state_log import clock_text
from livemon.engine.rolling.thread_rings import SECOND
from livemon.engine.rolling.view import RollingView
from livemon.model.clock import Clock, SystemClock
from livemon.model.criteria import Criteria
from livemon.model.findings import Finding, HostSlowTransient
from livemon.model.samples import Mark, Sample, TimingRecord
from livemon.model.snapshot import MarkPoint, Snapshot, StageRow, Timeline, Verdict
from livemon.model.wording import rounded
from livemon.preview import Preview
from livemon.session.rare import rare_samples
from livemon.viewer import SessionView

AT_ONCE_NS = 60_000_000
"""Length of the first step of a short session: its second frame is then a judged one."""
AT_ONCE_BYTES = 1 << 20
"""Up to this size a session counts as short."""
STEP_NS = 3_000_000
"""Length of a step of the judging; a wish waits for one at most."""
STEP_SAMPLES = 128
TOLD_NS = 500_000_000
"""How often there is news of the judging; a growing end moves as often."""
SETTLED_NS = 30 * SECOND
"""A moment is judged for good when the judging is so far past it: classes may come late."""


class GradualView(SessionView):
    """A ``ViewSource`` that judges in ``poll``; see the head of the file.

    Args:
        session: The path of the session.
        criteria: As for ``SessionView``.
        clock: What steps are measured with.

    Raises:
        SessionError: the session can't be opened.
        UsageError: the criteria it was recorded with can't be read.
    """

    def __init__(
        self, session: str | os.PathLike[str], criteria: Criteria | None = None, clock: Clock | None = None
    ) -> None:
        super().__init__(session, criteria, is_read_at_once=False)
        self._clock = clock or SystemClock()
        self._is_judging = True
        self._preview: Preview | None = None
        self._events: list[Sample] | None = None
        self._told_ns = self._clock.monotonic_ns()
        self._bounds = self._reader.bounds_ns or (0, 0)
        self._step_ns = AT_ONCE_NS if self._session_bytes() <= AT_ONCE_BYTES else STEP_NS
        if self._reader.bounds_ns is None:
            self._end_judging()

    # -- judging

    @property
    def judging(self) -> float | None:
        """Share of the session that is judged, 0..1; ``None`` once all of it is."""
        if not self._is_judging:
            return None
        start, end = self._bounds
        return min(max((self._judged_ns - start) / max(end - start, 1), 0.0), 1.0)

    @property
    def _judged_ns(self) -> int:
        judged = self._view.log.end_ns
        return self._bounds[0] if judged is None else judged

    def _judge(self, budget_ns: int) -> None:
        begin_ns = self._clock.monotonic_ns()
        while True:
            samples = self._reader.read_new(STEP_SAMPLES)
            if samples:
                self._take(samples)
            if len(samples) < STEP_SAMPLES:
                self._end_judging()
                return
            if self._clock.monotonic_ns() - begin_ns >= budget_ns:
                return

    def _end_judging(self) -> None:
        self._is_judging = False
        self._preview, self._events = None, None
        # What was known at a moment may have been told before all of it was.
        self._known = (-1, {})
        if not self.is_live:
            self._finish()
        self._revision += 1

    def poll(self) -> bool:
        """Judge a step, else as ``SessionView``; true if there is news."""
        if not self._is_judging:
            return super().poll()
        step_ns, self._step_ns = self._step_ns, STEP_NS
        self._judge(step_ns)
        if self.judging is None:
            return True
        now_ns = self._clock.monotonic_ns()
        if now_ns - self._told_ns < TOLD_NS:
            return False
        self._told_ns = now_ns
        if self.is_live:
            self._grow()
        return True

    def _grow(self) -> None:
        bounds = self._reader.bounds_ns or self._bounds
        if bounds != self._bounds:
            self._bounds = bounds
            self._events = None

    # -- frames

    def bounds_ns(self) -> tuple[int, int]:
        """First and newest moment, judged or not."""
        return self._bounds if self._is_judging else super().bounds_ns()

    def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
        """The frame at a moment; says how far the judging is."""
        if not self._is_judging:
            return super().snapshot(at_ns, span_ns, columns)
        moment = self._moment(at_ns)
        words = f"judging the recording: {100 * (self.judging or 0.0):.0f} %"
        if self._is_settled(moment):
            frame = super().snapshot(moment, span_ns, columns)
            verdict = replace(frame.verdict, text=f"{words} · {frame.verdict.text}")
            marks = self._marks_of(Grid.ending(moment, span_ns, columns))
            timeline = replace(frame.timeline, marks=marks, judged_ns=self._judged_ns)
            return replace(frame, verdict=verdict, timeline=timeline)
        view = self._view_for(moment, span_ns)
        frame = self._frame(view, moment, span_ns, columns, ())
        findings = tuple(self._as_far_as_judged(finding) for finding in self._found_so_far())
        return replace(
            frame,
            verdict=self._unjudged(words, view, frame, len(findings)),
            stages=tuple(_unjudged_row(row) for row in frame.stages),
            findings=findings,
            timeline=self._judged_timeline(frame, Grid.ending(moment, span_ns, columns), findings),
            status=replace(frame.status, is_counted=False),
        )

    def _is_settled(self, moment: int) -> bool:
        return not self._is_judging or moment <= self._judged_ns - SETTLED_NS

    def _view_for(self, moment: int, span_ns: int) -> RollingView:
        if self._is_settled(moment):
            return self._view
        end = self._bounds[1]
        if self._preview is None or not self._preview.covers(moment, span_ns, end):
            self._preview = None
            self._preview = Preview(self._reader, self._criteria, self._rare_samples(), self._bounds, moment, span_ns)
        return self._preview.view

    def _rare_samples(self) -> list[Sample]:
        if self._events is None:
            self._events = rare_samples(self._reader)
        return self._events

    def _unjudged(self, words: str, view: RollingView, frame: Snapshot, findings: int) -> Verdict:
        parts = [words]
        if self._view.log.end_ns is not None:
            until = clock_text(self._judged_ns, view.log.wall(), self._bounds[0])
            found = "no finding" if not findings else "1 finding" if findings == 1 else f"{findings} findings"
            parts.append(f"{found} until {until}")
        if frame.status.units_per_s is not None:
            parts.append(f"{rounded(frame.status.units_per_s)} units/s")
        return Verdict("unknown", " · ".join(parts))

    def _as_far_as_judged(self, finding: Finding) -> Finding:
        """An episode that goes on where the judging stands is known up to there and no further."""
        if isinstance(finding, HostSlowTransient) and finding.end_ns is None:
            return replace(finding, end_ns=max(self._judged_ns, finding.start_ns))
        return finding

    def _judged_timeline(self, frame: Snapshot, grid: Grid, findings: tuple[Finding, ...]) -> Timeline:
        judged = self._view.timeline(grid, self._judged_ns, findings)
        return replace(judged, marks=self._marks_of(grid), gaps=frame.timeline.gaps, judged_ns=self._judged_ns)

    def _marks_of(self, grid: Grid) -> tuple[MarkPoint, ...]:
        return tuple(mark for mark in self._marks() if grid.start_ns <= mark.t_ns <= grid.end_ns)

    def _marks(self) -> tuple[MarkPoint, ...]:
        if not self._is_judging:
            return super()._marks()
        marks = [MarkPoint(event.t_ns, event.text) for event in self._rare_samples() if isinstance(event, Mark)]
        return tuple(sorted(marks, key=lambda mark: mark.t_ns))

    def _newest_records(self, at_ns: int, before: int, stream: str | None) -> list[TimingRecord]:
        return [] if self._is_judging else super()._newest_records(at_ns, before, stream)

    def all_findings(self) -> tuple[Finding, ...]:
        """Everything known so far."""
        if not self._is_judging:
            return super().all_findings()
        return tuple(self._as_far_as_judged(finding) for finding in self._found_so_far())

    def _found_so_far(self) -> tuple[Finding, ...]:
        return () if self._view.log.end_ns is None else self._engine.get()

    def add_mark(self, text: str, at_ns: int | None = None) -> None:
        """Write a mark into the session.

        Raises:
            SessionError: the session can't be written.
        """
        if not self._is_judging:
            super().add_mark(text, at_ns)
            return
        self._reader.add_mark(text, self._bounds[1] if at_ns is None else at_ns, "key")
        self._preview, self._events = None, None
        self._bounds = self._reader.bounds_ns or self._bounds
        self._revision += 1


def _unjudged_row(row: StageRow) -> StageRow:
    return replace(
        row, state="silent" if row.state == "silent" else "unjudged", reference_ms=None, reference_high_ms=None
    )
