"""The rolling view: everything a frame shows but the findings, at any moment, from bounded memory.

It takes the same samples as the engine and never looks at a clock; the same samples give the same
frame, whether they came live or from a recording.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livemon.engine.classes import Classified, Classifier
from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling import stage_rows as stages
from livemon.engine.rolling.grid import Columns, Doubles, Grid
from livemon.engine.rolling.row_figures import RECENT_NS
from livemon.engine.rolling.stage_detail import stage_detail
from livemon.engine.rolling.stage_rings import StageRing, StageRings
from livemon.engine.rolling.stage_window import middle_and_p99
from livemon.engine.rolling.state_log import LATE, LINES, LOST, MALFORMED, RECORDS, TICKS, StateLog
from livemon.engine.rolling.thread_book import ThreadBook
from livemon.engine.rolling.thread_charts import Watched
from livemon.engine.rolling.thread_detail import thread_detail
from livemon.engine.rolling.thread_rings import SECOND, ThreadRings
from livemon.engine.rolling.thread_rows import thread_rows
from livemon.engine.rolling.verdict import verdict
from livemon.engine.shapes import ShapeTable
from livemon.engine.tick_deltas import TickDeltas
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding, HostSlowTransient
from livemon.model.samples import MachineSample, Samples, ThreadGone, ThreadInfo, ThreadTick, TimingRecord
from livemon.model.snapshot import StageDetail, StageRow, Status, ThreadDetail, ThreadRow, Timeline, Verdict

_REFERENCE_STEP_NS = 5 * SECOND


class RollingView:
    """State of one session for the screens; see the head of the file.

    Args:
        criteria: Roles, class keys, budgets.
        facts: Topology and interval of the session.
    """

    def __init__(self, criteria: Criteria, facts: SessionFacts) -> None:
        self._criteria = criteria
        self._facts = facts
        self.cores = CoreClasses(criteria, facts)
        self._classifier = Classifier(criteria, ShapeTable(criteria))
        self._stage_rings = StageRings()
        self._deltas = TickDeltas()
        self.rings = ThreadRings(self.cores)
        self.book = ThreadBook()
        self._watched = Watched()
        self._columns = Columns()
        self.log = StateLog(facts)
        self._references: tuple[object, stages.References] = (None, {})

    def update(self, samples: Samples, classed: Sequence[Classified] | None = None) -> None:
        """Take the next samples, in arrival order; ``classed``: what the caller's classifier makes of them."""
        records: list[TimingRecord] = []
        ticks: list[ThreadTick] = []
        log = self.log.update
        for sample in samples:
            log(sample)
            if type(sample) is TimingRecord:
                records.append(sample)
            elif type(sample) is ThreadTick:
                ticks.append(sample)
            elif type(sample) is ThreadInfo:
                self.book.meet(sample)
            elif type(sample) is ThreadGone:
                self.book.end(sample)
            elif type(sample) is MachineSample and (news := self.cores.news(sample)):
                if ticks:
                    self.rings.take(ticks, self._deltas)
                ticks = []
                self.cores.learn(news)
        if ticks:
            self.rings.take(ticks, self._deltas)
        if classed is not None:
            self._stage_rings.add(classed)
        elif records:
            self._stage_rings.add(self._classifier.update(records))

    def finish(self, classed: Sequence[Classified] | None = None) -> None:
        """The recording is over: units that waited for a class are shown with the best one known."""
        self._stage_rings.add(self._classifier.finish() if classed is None else classed)

    def period(self, rows: Sequence[StageRow]) -> int | None:
        """Period of the cycle that the rows of a frame show: the newest one above 1, else 1; ``None`` without any."""
        periods = [
            (row.series.high[-1] is not None, row.n, period) for row in rows if (period := _period(row.class_key))
        ]
        longer = [entry for entry in periods if entry[2] > 1]
        return max(longer or periods)[2] if periods else None

    def class_of(self, record: TimingRecord) -> str | None:
        """Class key that a record was shown under; its label where that can't be told any more."""
        for ring in self._stage_rings.rings():
            if ring.source == record.source and ring.class_key is not None:
                raw = ring.raw(record.t_ns, record.t_ns)
                if raw is not None and len(raw[0]) and ring.shape.names == tuple(name for name, _ in record.stages):
                    values = [value for _, value in record.stages]
                    if any(raw[1][: len(values), k].tolist() == values for k in range(len(raw[0]))):
                        return ring.class_key
        return record.label

    @property
    def bounds_ns(self) -> tuple[int, int] | None:
        """Arrival of the first and newest sample; ``None`` before any."""
        if self.log.start_ns is None or self.log.end_ns is None:
            return None
        return self.log.start_ns, self.log.end_ns

    def stage_rows(self, grid: Grid, at_ns: int, span_ns: int, findings: Sequence[Finding]) -> tuple[StageRow, ...]:
        """Rows of the stage table."""
        rings = self._stage_rings.rings()
        references = self._references_ms(rings, at_ns, findings)
        return stages.stage_rows(rings, grid, at_ns - span_ns, at_ns, self._criteria, findings, references)

    def _references_ms(self, rings: Sequence[StageRing], at_ns: int, findings: Sequence[Finding]) -> stages.References:
        """Usual durations; they move slowly, so they are computed for whole steps of time and remembered."""
        episodes = tuple((f.start_ns, f.end_ns) for f in findings if isinstance(f, HostSlowTransient))
        step = at_ns // _REFERENCE_STEP_NS * _REFERENCE_STEP_NS - 1
        if self._references[0] != (step, episodes):
            self._references = ((step, episodes), stages.references_ms(rings, step, episodes))
        return self._references[1]

    def stage_detail(
        self, class_key: str | None, stage: str, grid: Grid, at_ns: int, span_ns: int
    ) -> StageDetail | None:
        """The distribution of one stage."""
        rings = self._stage_rings.rings()
        return stage_detail(rings, class_key, stage, grid, at_ns - span_ns, at_ns, self._criteria)

    def thread_rows(
        self, grid: Grid, at_ns: int, span_ns: int, rings: ThreadRings | None = None, only: int | None = None
    ) -> Sequence[ThreadRow]:
        """Rows of the thread table.

        Args:
            grid: Of the charts.
            at_ns: The moment.
            span_ns: The window.
            rings: Rings that were read back for a window that memory no longer holds.
            only: Only this thread.
        """
        units = self.units(at_ns, min(RECENT_NS, span_ns))
        watched = self._watched if only is None else None
        held = rings or self.rings
        return thread_rows(self.book, held, self.cores, grid, at_ns, span_ns, units, only, watched, self._columns)

    def thread_detail(
        self, index: int, grid: Grid, at_ns: int, span_ns: int, rings: ThreadRings | None, ticks: Samples
    ) -> ThreadDetail | None:
        """One thread; ``None`` if it was not there.

        Args:
            index: The thread.
            grid: Of the charts.
            at_ns: The moment.
            span_ns: The window.
            rings: As for ``thread_rows``.
            ticks: The newest part of the window as samples: figures by core class come from it.
        """
        rows = self.thread_rows(grid, at_ns, span_ns, rings, only=index)
        if not rows:
            return None
        unit_rings = stages.unit_rings(self._stage_rings.rings())
        return thread_detail(self.book, rows[0], rings or self.rings, self.cores, grid, at_ns, unit_rings, ticks)

    def units(self, at_ns: int, span_ns: int) -> int | None:
        """Units of work in the ``span_ns`` before a moment; ``None`` where no line tells of units."""
        rings = stages.unit_rings(self._stage_rings.rings())
        return stages.units_between(rings, at_ns - span_ns, at_ns) if rings else None

    def timeline(self, grid: Grid, at_ns: int, findings: Sequence[Finding]) -> Timeline:
        """The scrubber's contents; marks are people's notes and are shown wherever they were put."""
        start, end = grid.start_ns, min(grid.end_ns, at_ns)
        shown = tuple(f for f in findings if f.start_ns <= end and (f.end_ns is None or f.end_ns >= start))
        return Timeline(
            host_slow_share=stages.host_slow_series(self._stage_rings.rings(), grid, end),
            episodes=shown,
            marks=tuple(mark for mark in self.log.marks() if start <= mark.t_ns <= end),
            gaps=self.log.gaps(start, end, at_ns),
        )

    def verdict(self, at_ns: int, span_ns: int, findings: Sequence[Finding]) -> Verdict:
        """The first line."""
        rings = stages.unit_rings(self._stage_rings.rings())
        walls = stages.unit_walls(rings, at_ns - span_ns, at_ns)
        p50_ms, p99_ms = middle_and_p99(walls[None])[0].tolist() if len(walls) else (None, None)
        recent = self.units(at_ns, RECENT_NS)
        started = max(at_ns - RECENT_NS, self.log.start_ns or at_ns)
        counts = self.log.counts(at_ns)
        return verdict(
            findings,
            at_ns,
            units=counts[RECORDS],
            warmup_units=self._criteria.host_slow.warmup_units,
            units_per_s=None if recent is None else recent / max((at_ns - started) / 1e9, 1.0),
            p50_ms=p50_ms,
            p99_ms=p99_ms,
            requests=self._requests(rings, at_ns, findings),
            classes=len({r.class_key for r in rings if stages.units_between([r], at_ns - span_ns, at_ns)}),
            lines=counts[LINES],
            has_threads=counts[TICKS] > 0,
        )

    def _requests(self, rings: Sequence[StageRing], at_ns: int, findings: Sequence[Finding]) -> float | None:
        """Median unit in the newest ongoing episode against the 30 s before it, over the classes' ratios."""
        slow = [f for f in findings if isinstance(f, HostSlowTransient) and f.end_ns is None]
        if not slow:
            return None
        start = max(f.start_ns for f in slow)
        ratios = []
        for members in stages.by_class(rings).values():
            during = stages.unit_walls(members, start, at_ns)
            before = stages.unit_walls(members, start - 30 * SECOND, start - SECOND // 2)
            if len(during) >= 3 and len(before) >= 10 and _quantile(before, 0.5) > 0:
                ratios.append((len(during), _quantile(during, 0.5) / _quantile(before, 0.5)))
        weight = sum(n for n, _ in ratios)
        return sum(n * ratio for n, ratio in ratios) / weight if weight else None

    def status(self, at_ns: int | None, *, is_recording: bool, recorder_state: str, session_bytes: int) -> Status:
        """The status bar at a moment (``None``: the newest).

        Args:
            at_ns: The moment.
            is_recording: Whether the recorder is at work.
            recorder_state: The same in words.
            session_bytes: Size of the session's file now, for sessions that do not say it themselves.
        """
        counts = self.log.counts(at_ns)
        session, own_percent, degraded = self.log.own(at_ns)
        moment = at_ns if at_ns is not None else self.log.end_ns or 0
        recent = self.units(moment, RECENT_NS)
        started = max(moment - RECENT_NS, self.log.start_ns or moment)
        return Status(
            targets=self.log.targets(at_ns),
            is_recording=is_recording,
            recorder_state=recorder_state,
            units_per_s=None if recent is None else recent / max((moment - started) / 1e9, 1.0),
            lines=counts[LINES],
            records=counts[RECORDS],
            malformed=counts[MALFORMED],
            ticks=counts[TICKS],
            late_ticks=counts[LATE],
            lost=counts[LOST],
            lost_reasons=self.log.lost_reasons(at_ns),
            log_lag_ms=self.log.log_lag_ms(at_ns),
            session_bytes=session or session_bytes,
            self_cpu_percent=own_percent,
            degraded=degraded,
            notes=self.log.notes(at_ns),
        )


def _quantile(values: Doubles, q: float) -> float:
    return float(np.quantile(values, q))


def _period(class_key: str | None) -> int:
    """Period of a position key ``i/p``; 0 for any other class."""
    position, slash, period = (class_key or "").partition("/")
    return int(period) if slash and position.isdecimal() and period.isdecimal() and len(period) < 6 else 0
