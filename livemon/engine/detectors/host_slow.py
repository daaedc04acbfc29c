"""Host-slow transients: from units, from thread counters, or from both, whichever a session has.

Flow of a batch: it is cut at whole seconds of arrival time (*cells*). Healthy states are frozen inside a
cell, so all of its units can be weighed at once (``host_evidence``); the watches (``host_watch``) then go
through them as if one by one. Ticks matter between units only when their threads have moved, and
everywhere in a session without units (``thread_watch``). At the end of a cell quiet time is learned
(``host_learning``), open episodes are updated, ended with their load, or taken as the new normal.

Whatever a row or a tick decides may look only at what came before it, never at the rest of its batch:
that, and state that changes at cell ends alone, makes findings independent of how a stream is cut.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from livemon.engine.blips import Blips
from livemon.engine.host_cold import YOUNG_CELLS, SpeedupWatch, speedup_ratio
from livemon.engine.host_episode import ThreadFacts, TickWork
from livemon.engine.host_evidence import Block, EvidenceMaker, Flags
from livemon.engine.host_learning import CELL_NS, Learning
from livemon.engine.host_life import LEVEL_SHIFT, EpisodeLife
from livemon.engine.host_order import LateBursts, StateClock
from livemon.engine.host_units import UnitIntake, Units
from livemon.engine.host_watch import FULL_HEIGHT, OnsetWatch, RecoveryWatch
from livemon.engine.logbins import Ints
from livemon.engine.machine_pressure import PressureHistory
from livemon.engine.stops import NEWS, NO_VOTE, Stops, Ticked
from livemon.engine.thread_health import ThreadHealth, Vote
from livemon.engine.thread_watch import ThreadWatch
from livemon.engine.thread_work import ThreadWork
from livemon.engine.transitions import TransitionStudy
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding, FindingChange
from livemon.model.samples import MachineSample, Mark, Samples, TargetEvent, ThreadTick, TimingRecord

_IDLE_NS = 3_000_000_000
_LEAST_COLD_NS = 500_000_000
_SETTLED_CELLS = 10
"""Seconds with units before the healthy state may overrule a threshold: a session may begin in a slow state."""
_SPARSE_PER_S = 25.0


class HostSlowDetector:
    """Finds episodes in which the host side is slow.

    Args:
        criteria: Thresholds, roles and class keys.
        facts: Core classes, for placement.
    """

    def __init__(self, criteria: Criteria, facts: SessionFacts) -> None:
        c = criteria.host_slow
        self._criteria = criteria
        self._intake = UnitIntake(criteria)
        self._bursts = LateBursts()
        self._clock = StateClock(c.gap_s)
        self._maker = EvidenceMaker(c)
        self._onset = OnsetWatch(c)
        self._recovery: RecoveryWatch | None = None
        self._threads = ThreadWork(criteria, facts)
        self._health = ThreadHealth(criteria.causes)
        self._thread_watch = ThreadWatch()
        self._speedup = SpeedupWatch()
        self._learning = Learning(self._maker, self._health, c.half_life_s)
        self._pressure = PressureHistory()
        self._life = EpisodeLife(
            criteria, self._intake.kinds, self._maker, self._health, self._learning, self._pressure
        )
        self._stops = Stops(self._life, self._threads, self._learning)
        self.study = TransitionStudy(criteria)
        self.study.kinds, self.study.names = self._intake.kinds, self._threads.names
        self._now = -1
        self._cell = -1
        self._first_start: int | None = None
        self._last_unit_at = 0
        self._tau = 0
        self._has_units = False
        """Whether units were seen before this cell."""
        self._new_normal_ns: int | None = None
        """Everything before that moment was no healthy state: learning starts over with the next cell."""
        self.slow_stretches = Blips(FULL_HEIGHT)
        """Those below the threshold of an episode."""

    def update(self, samples: Samples) -> list[FindingChange]:
        """Take in samples in arrival order; what changed."""
        if not samples:
            return []
        if self._now < 0:
            self._life.first_arrival_ns = max(samples[0].arrival_ns, 0)
        arrivals = np.array([sample.arrival_ns for sample in samples], np.int64)
        np.maximum.accumulate(np.maximum(arrivals, max(self._now, 0)), out=arrivals)
        cells = arrivals // CELL_NS
        edges = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(samples)]
        for a, b in pairwise(edges):
            if cells[a] != self._cell:
                self._new_cell(int(cells[a]), int(arrivals[a]))
            self._segment(samples[a:b], arrivals[a:b])
            self._now = int(arrivals[b - 1])
        return self._life.take_changes()

    def finish(self) -> list[FindingChange]:
        """The stream is over: judge what was held back. Episodes that go on stay open."""
        held = self._bursts.release()
        if held is not None:
            self._judge(held, np.full(len(held), self._now), np.zeros(len(held), np.int64), [])
        self._life.finish(self._now)
        return self._life.take_changes()

    def get(self) -> tuple[Finding, ...]:
        """All episodes as known now, in order of detection."""
        return tuple(self._life.findings.values())

    # -- cells ---------------------------------------------------------------------------------

    def _new_cell(self, number: int, at_ns: int) -> None:
        if self._cell >= 0:
            self._clock.new_cell(number - self._cell)
            self._bursts.new_cell()
        if self._new_normal_ns is not None:
            self._start_over(self._new_normal_ns)
        self._threads.speed.settle()
        self._learning.start(number)
        self._cell = number
        self._maker.is_low_rate = 0 < self._clock.rate_per_s < self._criteria.host_slow.low_rate_per_s
        self._onset.is_sparse = self._clock.rate_per_s < _SPARSE_PER_S
        self._has_units = bool(self._maker.baselines)
        self._life.thread_facts = ThreadFacts(*self._threads.facts)
        self.study.new_cell(at_ns)
        anew = self._intake.new_cell(may_switch=self._life.is_calm)
        self._maker.renew(self._intake.kinds[k] for k in anew)
        if self._life.open is not None:
            self._review(at_ns)
        elif self._life.recheck(at_ns):
            self._onset.clear()

    def _review(self, at_ns: int) -> None:
        """Once a second: an open episode ends with the load, becomes the new normal, or is updated."""
        c = self._criteria.host_slow
        episode = self._life.open
        assert episode is not None
        self._life.fold(at_ns)
        lasted = (at_ns - episode.start_ns) / 1e9
        if self._stops.is_any and episode.stops:
            episode.last_slow_ns = at_ns
        idle = at_ns - max(self._last_unit_at, episode.last_slow_ns)
        if idle > max(_IDLE_NS, 2 * self._clock.gap_ns, 2 * episode.longest_ns):
            self._end(at_ns, "the load stopped")
        elif lasted >= c.level_shift_s and not self._stops.is_any:
            episode.last_slow_ns = max(episode.last_slow_ns, self._now)
            self._end(at_ns, f"{LEVEL_SHIFT}: still so after {c.level_shift_s:g} s, taken as the new normal")
            self._start_over(at_ns)
        elif lasted >= episode.next_update_s:
            episode.next_update_s = lasted * 2
            self._life.report("updated", at_ns)

    def _start_over(self, since_ns: int) -> None:
        """Forget the healthy state: it is another one since that moment."""
        for baseline in self._maker.baselines:
            baseline.reset()
        self._health.reset()
        self._life.drop_recheck()
        self._learning.drop_before(since_ns)
        self._onset.clear()
        self._new_normal_ns = None

    # -- one segment: samples of one cell ------------------------------------------------------

    def _segment(self, samples: Samples, arrivals: Ints) -> None:
        records: list[TimingRecord] = []
        where: list[int] = []
        rest: list[int] = []
        for k, sample in enumerate(samples):
            if type(sample) is TimingRecord:
                records.append(sample)
                where.append(k)
            else:
                rest.append(k)
        units, kept = self._intake.read(records)
        position = np.array(where, np.int64)[kept]
        units.arrival = arrivals[position]
        ticks = self._take_rest(samples, arrivals, rest)
        ordered = self._bursts.order(units, position, arrivals)
        if ordered is not None and len(ordered.units):
            self._judge(ordered.units, ordered.at, ordered.position, ticks)
        else:
            for _, tick, vote in ticks:
                self._tick(tick, vote, None, -1)

    def _take_rest(self, samples: Samples, arrivals: Ints, rest: list[int]) -> list[Ticked]:
        """Take in what is not a unit; every tick with its position, work and vote."""
        out: list[Ticked] = []
        together: list[int] = []
        for k in rest:
            sample = samples[k]
            if type(sample) is ThreadTick:
                together.append(k)
                continue
            if type(sample) in NEWS or self._threads.heeds(sample):
                out += self._take_ticks(samples, arrivals, together)
                together = []
                self._threads.take(sample)
                if type(sample) is TargetEvent:
                    out.append((k, sample, NO_VOTE))
                if type(sample) is Mark:
                    self.study.add_mark(sample)
            if type(sample) is MachineSample:
                self._threads.speed.read(sample)
                self._pressure.add(sample, self._threads.speed.sums)
        out += self._take_ticks(samples, arrivals, together)
        return out

    def _take_ticks(self, samples: Samples, arrivals: Ints, numbers: list[int]) -> list[Ticked]:
        """Take in ticks between which no thread comes or goes."""
        if not numbers:
            return []
        ticks = [sample for k in numbers if isinstance(sample := samples[k], ThreadTick)]
        told = [(k, work) for k, work in zip(numbers, self._threads.update(ticks), strict=True) if work is not None]
        if told:
            self._health.grow(len(self._threads.names))
        votes = self._health.votes([work for _, work in told], has_units=self._has_units)
        out: list[Ticked] = []
        for (k, (names, work, tick_ns)), vote in zip(told, votes, strict=True):
            tick = TickWork(int(arrivals[k]), tick_ns, names, work)
            self._learning.current.ticks.append(tick)
            self.study.add_tick(tick)
            out.append((k, tick, vote))
        return out

    # -- units and ticks in their order --------------------------------------------------------

    def _judge(self, units: Units, at: Ints, position: Ints, ticks: list[Ticked]) -> None:
        tau, gap, cold = self._clock.update(units, at)
        block = self._maker.weigh(units, tau, self._intake.kinds)
        block.arrival = at
        may = block.chill(cold, self._clock.woken)
        self._learning.current.blocks.append((block, may))
        stage, is_settled = self._criteria.transitions.slow_stage, self._learning.active_cells >= _SETTLED_CELLS
        healthy_ms = self._maker.healthy_ms(stage, self._intake.kinds, block) if is_settled else {}
        self.study.add_units(units, block, healthy_ms)
        self._learning.current.units += len(block)
        if self._first_start is None:
            self._first_start = int(block.start[0])
        stops: list[tuple[int, tuple[TickWork | TargetEvent, Vote] | None]] = [
            (int(row), None) for row in np.flatnonzero(gap)
        ]
        by_threads = self._life.open is not None and self._recovery is None
        watches_all = not self._has_units or by_threads or not self._health.known.any()
        for k, tick, vote in ticks:
            if watches_all or isinstance(tick, TargetEvent) or vote.has_moved:
                stops.append((int(np.searchsorted(position, k)), (tick, vote)))
        stops.sort(key=lambda stop: stop[0])
        row = 0
        for stop, told in stops:
            self._rows(block, may, row, stop)
            row = stop
            if stop:
                self._last_unit_at = int(at[stop - 1])
            if told is not None:
                self._tick(*told, block, stop - 1)
            else:
                self._gap(int(at[stop]))
        self._rows(block, may, row, len(block))
        self._last_unit_at = int(at[-1])
        self._tau = int(tau[-1])

    def _gap(self, at_ns: int) -> None:
        if self._recovery is not None:
            self._end(at_ns, "the load stopped")
        self._onset.clear()

    def _tick(self, tick: TickWork | TargetEvent, vote: Vote, block: Block | None, row: int) -> None:
        """A tick's threads, or what became of a process, after ``row`` of ``block``."""
        if isinstance(tick, TargetEvent):
            if self._stops.take(tick, self._last_unit_at if self._has_units else None, self._clock.gap_ns):
                self._end(tick.arrival_ns)
            return
        self._learning.current.has_moved |= vote.has_moved
        at_ns, watch, episode = tick.arrival_ns, self._thread_watch, self._life.open
        if episode is None:
            loaded = not self._has_units or at_ns - self._last_unit_at <= tick.tick_ns
            if not loaded:
                return  # idle threads wake where it is convenient: their placement says nothing
            if vote.has_moved and self._has_units:
                tau = int(block.tau[row]) if block is not None and row >= 0 else self._tau
                onset = self._onset.bump(at_ns, tau)
                if onset is not None:
                    self._recovery = self._life.begin_by_units(onset, at_ns, tau, block, row)
                    self._onset.clear()
                    return
            young = not self._health.known.any() and self._learning.active_cells < YOUNG_CELLS
            event = watch.watch(tick, vote, alone=not self._has_units, young=young)
            if event is not None:
                start = event.t_ns
                if event.what == "cold" and self._first_start is not None and self._first_start >= start - CELL_NS:
                    start = self._first_start
                self._life.begin_by_threads(event.what, start, watch.last_ns, at_ns)
                self._onset.clear()
        elif self._recovery is None and not episode.is_stop:
            event = watch.recover(tick, vote, is_cold=episode.is_cold)
            episode.last_slow_ns = max(episode.last_slow_ns, watch.last_ns)
            if event is not None:
                self._end(at_ns)

    def _rows(self, block: Block, may: Flags, a: int, b: int) -> None:
        while a < b:
            rows = slice(a, b)
            if self._life.open is None:
                a = self._closed_rows(block, rows)
            elif self._recovery is None:
                a = self._threads_open_rows(block, rows)
            else:
                a = self._open_rows(block, may, rows)

    def _closed_rows(self, block: Block, rows: slice) -> int:
        """No episode is open: watch for one; the row to go on with."""
        onset, height = self._onset.update(block, rows)
        speedup = None
        if self._is_young:
            speedup = self._speedup.update(block, slice(rows.start, rows.start + len(height)), self._maker)
            if speedup is not None:
                onset, height = None, height[: speedup.row + 1]
        self._learning.current.height = max(self._learning.current.height, int(height.max()))
        self.slow_stretches.update(block, rows.start, height)
        stop = int(rows.start + len(height))
        at_ns = int(block.arrival[stop - 1])
        if onset is not None and self._life.is_doubtful(onset, block, stop - 1):
            self._intake.give_up_positions(self._intake.kinds[int(block.kind_of_row[stop - 1])])
            self._onset.clear()
        elif onset is not None:
            self.slow_stretches.became_episode()
            self._recovery = self._life.begin_by_units(onset, at_ns, int(block.tau[stop - 1]), block, stop - 1)
            self._onset.clear()
        elif speedup is not None:
            first = self._first_start if self._first_start is not None else speedup.start_ns
            if speedup.start_ns - first >= _LEAST_COLD_NS:
                ratio = speedup_ratio(self._learning.ratios_since(speedup.start_ns, block, stop - 1))
                self._life.add_past(first, speedup.start_ns, ratio, at_ns)
            self._new_normal_ns = speedup.start_ns
            self._speedup.stop()
            self._onset.clear()
        return stop

    @property
    def _is_young(self) -> bool:
        return self._speedup.is_watching and self._learning.active_cells < YOUNG_CELLS

    def _threads_open_rows(self, block: Block, rows: slice) -> int:
        """Threads alone have opened the episode: its units are added up; faster ones may end it."""
        episode = self._life.open
        assert episode is not None
        speedup = self._speedup.update(block, rows, self._maker) if episode.is_cold and self._is_young else None
        stop = int(rows.stop if speedup is None else rows.start + speedup.row + 1)
        inside = np.arange(rows.start, stop)
        if speedup is not None:
            inside = inside[block.start[inside] < speedup.start_ns]
        slow = (block.unit[inside, 1] > 0) & block.ready[inside]
        last = episode.last_slow_ns
        episode.add(block, inside, slow, self._maker)
        episode.last_slow_ns = last
        if speedup is not None:
            episode.last_slow_ns = speedup.start_ns
            episode.slowdown = speedup_ratio(self._learning.ratios_since(speedup.start_ns, block, stop - 1))
            self._end(int(block.arrival[stop - 1]))
        return stop

    def _open_rows(self, block: Block, may: Flags, rows: slice) -> int:
        """Units have opened the episode: add up, and watch for its end; the row to go on with."""
        episode, recovery = self._life.open, self._recovery
        assert episode is not None
        assert recovery is not None
        self._learning.current.is_disturbed = True
        result = recovery.update(block, rows)
        stop = int(rows.stop if result.row is None else rows.start + result.row + 1)
        episode.add(block, np.arange(rows.start, stop), result.slow, self._maker)
        may[rows.start : stop] = False
        if result.end_ns is not None:
            episode.last_slow_ns = max(result.end_ns, episode.start_ns)
        if result.row is not None:
            self._end(int(block.arrival[stop - 1]))
        return stop

    def _end(self, at_ns: int, note: str = "") -> None:
        episode = self._life.end(at_ns, note)
        self._recovery = None
        self._thread_watch.clear()
        self._onset.clear()
        if episode.is_cold:
            self._new_normal_ns = episode.end_ns
            self._speedup.stop()
