"""One host-slow episode: what is added up while it lasts, and the finding made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from livemon.engine.buckets import AlignedBuckets
from livemon.engine.causes import CauseBench
from livemon.engine.host_evidence import WALL, Block, EvidenceMaker, Flags
from livemon.engine.host_level import Levels
from livemon.engine.host_units import Kind
from livemon.engine.logbins import FINE_BINS, Floats, Ints, ratio_of, value_of
from livemon.engine.machine_pressure import Seen, rates
from livemon.engine.open_questions import does_not_show
from livemon.engine.quantiles import Quantiles
from livemon.engine.scene import Scene
from livemon.engine.scheduling_changes import SchedulingChanges
from livemon.engine.slow_bins import SlowBins
from livemon.engine.thread_figures import evidence_rows, ledger_rows, witnesses
from livemon.engine.thread_health import Flags as NameFlags
from livemon.engine.thread_work import ROWS
from livemon.model.criteria import Criteria
from livemon.model.findings import MIDDLE_STAGE, HostSlowTransient, Severity
from livemon.model.samples import TargetEvent
from livemon.model.severity import FIRM_SLOW_S, FIRM_SLOW_UNITS, is_critical

_OFFSET = 512
"""Ratios down to e^-5.12 have a place in the histogram."""
_PEAK_SECONDS = 5
_COLUMN_KINDS = 16
_EARLY_S = 1.5


def _times(long_ms: tuple[float, float]) -> float:
    return long_ms[0] / long_ms[1]


class TickWork(NamedTuple):
    """One tick's work by name number."""

    arrival_ns: int
    tick_ns: int
    numbers: Ints
    work: Ints
    """(ROWS, len(numbers))."""

    @property
    def middle_ns(self) -> int:
        """The middle of what the tick covers."""
        return self.arrival_ns - self.tick_ns // 2


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What is known of the threads as a whole."""

    names: tuple[str, ...] = ()
    """By number."""
    class_names: tuple[str, str] = ("P", "E")
    """Of the fast and of the efficiency cores."""
    tells_placement: bool = False
    is_estimated: bool = False
    changes: SchedulingChanges | None = None
    """Of their affinity, nice, policy; goes on changing."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The healthy state of the threads as it was when the episode began."""

    sums: Floats
    units: float
    seconds: float
    known: NameFlags


@dataclass(slots=True)
class Episode:
    """An episode that goes on, or has just ended."""

    id: str
    start_ns: int
    detected_ns: int
    detected_by: str
    last_slow_ns: int
    """End of its last slow unit so far (or of its last tick that says so)."""
    reference: Reference
    pressure_before: tuple[Seen | None, Seen | None]
    is_cold: bool = False
    is_stop: bool = False
    """A stopped process has opened it, no unit."""
    stops: dict[int, tuple[TargetEvent, int, int | None]] = field(default_factory=dict)
    """Pid -> what was told of its newest stop, since when, until when (``None``: it goes on)."""
    end_ns: int | None = None
    end_note: str = ""
    """How it ended, if not by itself."""
    after: str = ""
    """What came after it."""
    level_after: float | None = None
    before: Levels = field(default_factory=dict)
    """Levels of the units before it."""
    bins: SlowBins | None = None
    """Its bins by the rule of the transitions."""
    units: int = 0
    slow_units: int = 0
    trailing: int = 0
    """Units since the last slow one: they are the recovery's, not the episode's."""
    longest_ms: tuple[float, float] | None = None
    """Host time of the unit that was longest against its usual one, and that, if there was a long unit."""
    longest_ns: int = 0
    """Wall time of the longest slow unit."""
    slowdown: float | None = None
    """Set where it is not the median ratio of the units."""
    ratios: Ints = field(default_factory=lambda: np.zeros(_OFFSET + FINE_BINS, np.int64))
    cost_ns: int = 0
    peaks: list[Quantiles] = field(default_factory=lambda: [Quantiles() for _ in range(_PEAK_SECONDS)])
    columns: dict[tuple[int, int], Ints] = field(default_factory=dict)
    """(kind, watched column) -> histogram of fine bins of the slow units."""
    by_kind: dict[int, int] = field(default_factory=dict)
    work: Ints = field(default_factory=lambda: np.zeros((ROWS, 0), np.int64))
    folded_ns: int = 0
    """Ticks up to here are in ``work``."""
    buckets: AlignedBuckets = field(init=False)
    next_update_s: float = 1.0
    was_critical: bool = False
    """By its slowdown, when it was last told."""

    def __post_init__(self) -> None:
        self.buckets = AlignedBuckets(self.start_ns)
        self.folded_ns = self.start_ns

    def add(self, block: Block, rows: Ints, slow: Flags, maker: EvidenceMaker) -> None:
        """Take in rows of a block; ``slow`` has a flag for each of them."""
        start, wall = block.start[rows], block.wall[rows]
        self.buckets.add_units(start, wall, slow, block.ready[rows])
        inside = start >= self.start_ns
        if not inside.any():
            return
        if self.bins is not None:
            self.bins.add(block, rows)
        rows, slow, start, wall = rows[inside], slow[inside], start[inside], wall[inside]
        self.units += len(rows)
        self.slow_units += int(slow.sum())
        self.trailing = len(slow) - 1 - int(np.flatnonzero(slow)[-1]) if slow.any() else self.trailing + len(slow)
        if slow.any():
            self.last_slow_ns = max(self.last_slow_ns, int(block.end[rows][slow].max()))
            self.longest_ns = max(self.longest_ns, int(wall[slow].max()))
            for row in block.long.keys() & set(rows[slow].tolist()):
                if self.longest_ms is None or _times(block.long[row]) > _times(self.longest_ms):
                    self.longest_ms = block.long[row]
            told = np.array([maker.is_ready(k) for k in range(len(maker.baselines))])[block.kind_of_row[rows]]
            where = np.clip(block.ratio[rows][slow & told] + _OFFSET, 0, len(self.ratios) - 1)
            self.ratios += np.bincount(where, minlength=len(self.ratios))
        second = (start - self.start_ns) // 1_000_000_000
        for k, peak in enumerate(self.peaks):
            if len(chosen := wall[second == k]):
                peak.add([ns / 1e6 for ns in chosen.tolist()])
        is_slow = np.zeros(len(block), np.bool_)
        is_slow[rows] = slow
        for k, part in block.kinds.items():
            chosen = part.fine[is_slow[part.rows]]
            if not len(chosen) or not maker.is_ready(k):
                continue
            usual = round(value_of(float(maker.baselines[k].median[WALL])) * 1e6)
            mine = part.rows[is_slow[part.rows]]
            self.cost_ns += int(block.wall[mine].sum()) - len(mine) * usual
            self.by_kind[k] = self.by_kind.get(k, 0) + len(chosen)
            if len(self.by_kind) > _COLUMN_KINDS:
                continue
            for column in range(chosen.shape[1] + WALL):
                counts = np.bincount(chosen[:, column], minlength=FINE_BINS)
                known = self.columns.get((k, column))
                if known is None:
                    self.columns[k, column] = counts
                else:
                    known += counts

    def _reach(self, names: int) -> None:
        if names > self.work.shape[1]:
            self.work = np.concatenate([self.work, np.zeros((ROWS, names - self.work.shape[1]), np.int64)], axis=1)

    def fold(self, ticks: list[TickWork], until_ns: int, names: int) -> None:
        """Add the work of the ticks whose middle lies in the episode, up to ``until_ns``."""
        self._reach(names)
        for tick in ticks:
            if self.folded_ns < tick.middle_ns <= until_ns:
                self.work[:, tick.numbers] += tick.work
                self.buckets.add_tick(tick.middle_ns, tick.work)
                self.folded_ns = tick.middle_ns

    @property
    def may_reopen(self) -> bool:
        """Whether a further slow stretch soon after it would be the same episode."""
        return not self.is_cold and not self.end_note

    @property
    def after_it(self) -> str:
        """What came after it, in words."""
        return "; ".join(text for text in (self.end_note, self.after) if text)

    @property
    def median_ratio(self) -> float | None:
        """Median slowdown of its slow units; ``None`` without units to compare."""
        if self.slowdown is not None:
            return self.slowdown
        n = int(self.ratios.sum())
        if n == 0:
            return None
        return ratio_of(int((np.cumsum(self.ratios) * 2 >= n).argmax()) - _OFFSET)

    def _stopped(self, end_ns: int) -> tuple[float, str]:
        """How long processes were stopped in it, s, and that in words."""
        told, longest = [], 0.0
        for event, since_ns, until_ns in self.stops.values():
            until = end_ns if until_ns is None else until_ns
            seconds = (until - max(since_ns, self.start_ns)) / 1e9
            longest = max(longest, seconds)
            told.append(f"{event.name} (pid {event.pid}) was {event.detail or 'stopped'} for {seconds:.1f} s")
        return longest, ", ".join(told)

    def _level(self, maker: EvidenceMaker) -> tuple[float | None, str]:
        """The slowdown and how it was taken.

        With long units in it the median would speak for the many short ones that share little of its time.
        """
        median = self.median_ratio
        if median is None and self.is_stop:
            return None, "no unit ended in it that could be held"
        if self.longest_ms is None or self.slowdown is not None:
            return median, MIDDLE_STAGE
        during, usual, _ = self._host_sums(maker)
        if usual <= 0:
            return median, MIDDLE_STAGE
        how = f"host time of the slow units in all; {_times(self.longest_ms):.3g}× in the slowest"
        if median is not None:
            how += f", {median:.3g}× in the median"
        return during / usual, how

    def _host_ms(self, maker: EvidenceMaker) -> tuple[float, float] | None:
        """Host stages of the slow units, summed, for each unit: now and by the healthy medians."""
        during, usual, units = self._host_sums(maker)
        return (during / units, usual / units) if units and usual > 0 else None

    def _host_sums(self, maker: EvidenceMaker) -> tuple[float, float, int]:
        """Host time of the slow units in all, ms: now and by the healthy medians; how many units."""
        during = usual = 0.0
        units = 0
        for (k, column), counts in self.columns.items():
            baseline = maker.baselines[k]
            if column >= baseline.hosts:
                continue
            found = np.flatnonzero(counts)
            many = counts[found].tolist()
            during += sum(value_of(at + 0.5) * n for at, n in zip(found.tolist(), many, strict=True))
            usual += value_of(float(baseline.median[column])) * sum(many)
            units += sum(many) if column == 0 else 0
        return during, usual, units

    def _columns_ms(self, kinds: list[Kind], maker: EvidenceMaker, wanted: str) -> tuple[str, float, float] | None:
        """(stage, during, reference) medians of the episode's commonest kind that has such a stage."""
        for k in sorted(self.by_kind, key=lambda k: (-self.by_kind[k], k)):
            columns = maker.columns[k]
            for position, column in enumerate(columns):
                if column not in getattr(kinds[k], wanted) or (k, position) not in self.columns:
                    continue
                counts = self.columns[k, position]
                middle = int((np.cumsum(counts) * 2 >= counts.sum()).argmax())
                reference = value_of(float(maker.baselines[k].median[position]))
                return kinds[k].names[column], value_of(middle + 0.5), reference
        return None

    def finding(
        self,
        kinds: list[Kind],
        maker: EvidenceMaker,
        threads: ThreadFacts,
        newest: Seen | None,
        criteria: Criteria,
        now_ns: int,
    ) -> HostSlowTransient:
        """The finding as known now."""
        names = len(threads.names)
        reference, known = self.reference.sums, self.reference.known
        if reference.shape[1] < names:
            more = names - reference.shape[1]
            reference = np.concatenate([reference, np.zeros((ROWS, more))], axis=1)
            known = np.concatenate([known, np.zeros(more, np.bool_)])
        self._reach(names)
        own = self.units - (0 if self.is_cold else self.trailing)
        units = (own, self.reference.units)
        found = witnesses(threads.names, self.work[:, :names], reference, units, known)
        end = self.end_ns if self.end_ns is not None else now_ns
        cpu = self._columns_ms(kinds, maker, "cpu")
        stopped_s, stopped = self._stopped(end)
        slowdown, slowdown_is = self._level(maker)
        seconds = max(end - self.start_ns, 0) / 1e9
        scene = Scene(
            witnesses=found,
            slowdown=slowdown,
            seconds=(seconds, self.reference.seconds),
            cpu_stage=cpu[1:] if cpu is not None else None,
            device_ms=self._columns_ms(kinds, maker, "device"),
            completion_ms=self._columns_ms(kinds, maker, "completion"),
            pressure=(rates(self.pressure_before[1], newest), rates(*self.pressure_before)),
            tells_placement=threads.tells_placement,
            is_estimated=threads.is_estimated,
            has_threads=bool(names),
            is_cold=self.is_cold,
            stopped=stopped,
            is_early=self.end_ns is None and seconds < _EARLY_S,
            changes=threads.changes.words(self.start_ns, end) if threads.changes is not None else "",
            lost_ms=self.cost_ns / 1e6 / self.slow_units if self.slow_units and not self.is_cold else None,
        )
        bench = CauseBench(scene, criteria.causes)
        causes = bench.get()
        primary = bench.primary()
        late = seconds > criteria.host_slow.recover_by_s
        firm = self.slow_units >= FIRM_SLOW_UNITS or seconds >= FIRM_SLOW_S or self.longest_ms is not None
        limit = criteria.host_slow.critical_slowdown
        self.was_critical = is_critical(slowdown, limit, was=self.was_critical, is_firm=firm)
        severe = late or stopped_s > 0 or self.was_critical
        severity: Severity = "critical" if severe else "warning"
        peaks = [p99 for peak in self.peaks if (p99 := peak.get(0.99)) is not None]
        return HostSlowTransient(
            id=self.id,
            severity=severity,
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            detected_ns=self.detected_ns,
            slowdown=slowdown,
            peak_p99_ms=max(peaks, default=None),
            primary_cause=primary,
            causes=causes,
            ledger=ledger_rows(found),
            threads=evidence_rows(found, threads.class_names),
            buckets=self.buckets.get(),
            cost_ms=max(self.cost_ns, 0) / 1e6 if self.slow_units and not self.is_cold else None,
            units=own,
            slow_units=self.slow_units,
            longest_ms=self.longest_ns / 1e6 if self.longest_ns else None,
            host_ms=self._host_ms(maker) if not self.is_cold else None,
            not_recovered_by_5_s=late,
            detected_by=self.detected_by,
            after_it=self.after_it,
            level_after=self.level_after,
            transient_bins_s=self.bins.get() if self.bins is not None and self.units else None,
            does_not_show=does_not_show(scene, causes, primary),
            slowdown_is=slowdown_is,
            stopped_s=stopped_s,
        )
