"""The whole session in figures: stages by class, steps, threads, gaps, losses, marks, clock anchors.

One pass, bounded memory, no dependence on how the stream was cut. Warm-up runs count here (they cost
time); baselines and ratios leave them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from livemon.engine.classes import Classified, Classifier
from livemon.engine.core_classes import CoreClasses
from livemon.engine.stage_totals import StageTotals
from livemon.engine.thread_totals import ThreadTotals
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.judgement import Gap, LossCount, StageStats, Steps, ThreadStats
from livemon.model.samples import (
    ClockAnchor,
    LogCount,
    Lost,
    MachineSample,
    Mark,
    Note,
    Samples,
    ThreadGone,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)

MAX_LISTED = 10_000
"""Gaps, marks and kinds of loss that are listed; the rest is counted in ``notes``."""
_SAME_OFFSET_NS = 1_000_000
_Entry = TypeVar("_Entry")


class Totals:
    """Figures of a whole session.

    Args:
        criteria: Roles, class keys, efficiency classes.
        facts: The session's own facts (core classes); without them placement by CPU number is unknown.
        classifier: The one whose records are given to ``update``; ``None``: one of its own.
    """

    def __init__(
        self, criteria: Criteria, facts: SessionFacts | None = None, classifier: Classifier | None = None
    ) -> None:
        self._classifier = classifier or Classifier(criteria)
        self._cores = CoreClasses(criteria, facts or SessionFacts())
        self._threads = ThreadTotals(self._cores)
        self._anchors: list[tuple[int, int]] = []
        self._newest_anchor: tuple[int, int] | None = None
        self._clear()

    def _clear(self) -> None:
        self._stages = StageTotals()
        self._records = 0
        self._counted_records = 0
        self._counted_lines = 0
        self._malformed = 0
        self._gaps: list[Gap] = []
        self._losses: dict[tuple[str, str, str], int] = {}
        self._marks: list[tuple[int, str]] = []
        self._notes: dict[str, int] = {}
        self._unlisted = 0
        self.start_ns: int | None = None
        """Arrival of the first sample; ``None`` before it."""
        self.end_ns: int | None = None
        """Arrival of the newest sample."""

    def update(self, samples: Samples, classed: Sequence[Classified] | None = None) -> None:
        """Take the next samples, in arrival order; ``classed``: what the shared classifier makes of them."""
        if not samples:
            return
        if self.start_ns is None:
            self.start_ns = samples[0].arrival_ns
        self.end_ns = samples[-1].arrival_ns
        records = []
        ticks: list[ThreadTick] = []
        for sample in samples:
            if type(sample) is TimingRecord:
                records.append(sample)
            elif isinstance(sample, ThreadTick):
                ticks.append(sample)
            elif isinstance(sample, ThreadInfo):
                self._threads.meet(sample)
            elif isinstance(sample, ThreadGone):
                self._threads.update(ticks)
                ticks = []
                self._threads.end(sample)
            elif isinstance(sample, MachineSample):
                if news := self._cores.news(sample):
                    self._threads.update(ticks)
                    ticks = []
                    self._cores.learn(news)
            elif isinstance(sample, LogCount):
                self._counted_lines += sample.lines
                self._counted_records += sample.records
                self._malformed += sample.malformed
            elif isinstance(sample, Lost):
                self._lose(sample)
            elif isinstance(sample, Mark):
                self._list(self._marks, (sample.t_ns, sample.text))
            elif isinstance(sample, ClockAnchor):
                self._anchor(sample)
            elif isinstance(sample, Note) and sample.severity != "info":
                text = f"{sample.text}: {sample.remedy}" if sample.remedy else sample.text
                if text in self._notes or len(self._notes) < MAX_LISTED:
                    self._notes[text] = self._notes.get(text, 0) + 1
                else:
                    self._unlisted += 1
        self._threads.update(ticks)
        self._records += len(records)
        self._stages.take(self._classifier.update(records) if classed is None else classed)

    def begin_anew(self) -> None:
        """Figures count from here on; what must be known of before (threads, clocks, classes) stays known."""
        self._clear()
        self._threads.begin_anew()

    def finish(self, classed: Sequence[Classified] | None = None) -> None:
        """The stream has ended: records that waited for a class get the best one known."""
        self._stages.take(self._classifier.finish() if classed is None else classed)

    def _list(self, kept: list[_Entry], entry: _Entry) -> None:
        if len(kept) < MAX_LISTED:
            kept.append(entry)
        else:
            self._unlisted += 1

    def _lose(self, lost: Lost) -> None:
        key = (lost.source, lost.unit, lost.reason)
        if key in self._losses or len(self._losses) < MAX_LISTED:
            self._losses[key] = self._losses.get(key, 0) + lost.count
        else:
            self._unlisted += 1
        if lost.start_ns is not None and lost.end_ns is not None:
            self._list(self._gaps, Gap(lost.start_ns, lost.end_ns, lost.source.partition(":")[0], lost.reason))

    def _anchor(self, anchor: ClockAnchor) -> None:
        """Keep an anchor where the wall clock has moved against the session clock, and the newest one."""
        here = (anchor.mono_ns, anchor.wall_ns)
        offset = anchor.wall_ns - anchor.mono_ns
        if not self._anchors or abs(offset - (self._anchors[-1][1] - self._anchors[-1][0])) > _SAME_OFFSET_NS:
            self._list(self._anchors, here)
        self._newest_anchor = here

    # -- reading

    @property
    def records(self) -> int:
        """Timing records in the session."""
        return self._records

    @property
    def lines(self) -> int:
        """Log lines read; the records, where nothing counted lines."""
        return max(self._counted_lines, self._records) if self._counted_lines else self._records

    @property
    def malformed(self) -> int:
        """Timing lines that could not be read."""
        return self._malformed

    @property
    def period(self) -> int | None:
        """The cycle's period: 1 for none, ``None`` while unknown."""
        return self._classifier.period

    def stages(self) -> tuple[StageStats, ...]:
        """Every stage of every class; records that wait for a class are in none of them before ``finish``."""
        return self._stages.stages()

    def steps(self) -> Steps:
        """The cycle of interleaved kernels, or the units where there is none."""
        return self._stages.steps(self._classifier.waiting)

    def threads(self) -> tuple[ThreadStats, ...]:
        """Every thread but livemon's own, most CPU time first."""
        return self._threads.get()

    def gaps(self) -> tuple[Gap, ...]:
        """Stretches of time in which something was not observed, in order of their start."""
        return tuple(sorted(self._gaps, key=lambda gap: (gap.start_ns, gap.end_ns, gap.what)))

    def losses(self) -> tuple[LossCount, ...]:
        """What was lost, by source and reason."""
        return tuple(LossCount(source, n, unit, reason) for (source, unit, reason), n in sorted(self._losses.items()))

    def marks(self) -> tuple[tuple[int, str], ...]:
        """Named moments in order of time."""
        return tuple(sorted(self._marks))

    def anchors(self) -> tuple[tuple[int, int], ...]:
        """(session ns, unix ns) pairs: where the wall clock moved, and the newest."""
        newest = self._newest_anchor
        extra = () if newest is None or newest in self._anchors else (newest,)
        return (*self._anchors, *extra)

    def notes(self) -> tuple[str, ...]:
        """Warnings of the recording, and what these totals had to leave out."""
        notes = [text if n == 1 else f"{text} ({n} times)" for text, n in self._notes.items()]
        if self._threads.resets:
            notes.append(
                f"{self._threads.resets} counter readings went backwards (reset); the differences are left out"
            )
        if self._threads.ignored:
            notes.append(f"{self._threads.ignored} readings of further threads are left out: too many threads")
        if self._stages.folded:
            notes.append(f"{self._stages.folded} records of further classes are summed up as (others) or left out")
        if self._unlisted:
            notes.append(f"{self._unlisted} further gaps, marks or losses are not listed")
        return tuple(notes)
