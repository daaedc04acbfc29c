"""Host-slow transients: from units, from thread counters, or from both, whichever a session has.

Flow of a batch: it is cut at whole seconds of arrival time (*cells*). Healthy states are frozen inside a
cell, so all of its units can be weighed at once (``host_evidence``); the watches (``host_watch``) then go
through them as if one by one. Ticks matter between units only when their threads have moved, and
everywhere in a session without units (``thread_watch``). At the end of a cell quiet time is learned
(``host_learning``), open episodes are updated, ended with their load, or taken as the new normal.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from livemon.engine.host_baseline import NAT
from livemon.engine.host_cold import YOUNG_CELLS, Speedup, SpeedupWatch
from livemon.engine.host_episode import Episode, Reference, TickWork
from livemon.engine.host_evidence import Block, EvidenceMaker, Flags
from livemon.engine.host_learning import Learning
from livemon.engine.host_order import LateBursts, StateClock
from livemon.engine.host_units import UnitIntake, Units
from livemon.engine.host_watch import Onset, OnsetWatch, RecoveryWatch
from livemon.engine.logbins import Ints
from livemon.engine.machine_pressure import PressureHistory
from livemon.engine.thread_health import ThreadHealth, Vote
from livemon.engine.thread_watch import ThreadEvent, ThreadWatch
from livemon.engine.thread_work import CPU, ThreadWork, totals
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding, FindingChange, HostSlowTransient
from livemon.model.samples import MachineSample, Samples, ThreadGone, ThreadInfo, ThreadTick, TimingRecord

CELL_NS = 1_000_000_000
_REOPEN_NS = 400_000_000
"""An onset this soon after an episode's end is the same episode."""
_IDLE_NS = 3_000_000_000
_LEAST_COLD_NS = 500_000_000
_AFTER_CPU_NS = 500_000
_BLIP_HEIGHT = 1536
"""Height of evidence (see ``OnsetWatch.update``) that counts as a slow stretch."""
Change = Literal["raised", "updated", "ended", "withdrawn"]
_BY = {
    "all": "most host stages of the units are slow",
    "part": "a part of the units is slow",
    "stage": "one host stage is slow",
    "threads": "thread counters alone: the busy threads left their healthy state",
    "cold": "from the start the busy threads ran on efficiency cores",
    "speedup": "from the start until the units became faster for good",
}


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
        self._now = -1
        self._first_arrival = -1
        self._cell = -1
        self._first_start: int | None = None
        self._last_unit_at = 0
        self._has_units = False
        """Whether units were seen before this cell."""
        self._open: Episode | None = None
        self._closed: Episode | None = None
        """The episode that ended last."""
        self._is_up = False
        self._findings: dict[str, HostSlowTransient] = {}
        self._changes: list[FindingChange] = []
        self.blips = 0
        """Slow stretches below the threshold of an episode."""

    def update(self, samples: Samples) -> list[FindingChange]:
        """Take in samples in arrival order; what changed."""
        if not samples:
            return []
        if self._first_arrival < 0:
            self._first_arrival = max(samples[0].arrival_ns, 0)
        arrivals = np.array([sample.arrival_ns for sample in samples], np.int64)
        np.maximum.accumulate(np.maximum(arrivals, max(self._now, 0)), out=arrivals)
        cells = arrivals // CELL_NS
        edges = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(samples)]
        for a, b in zip(edges[:-1], edges[1:], strict=True):
            if cells[a] != self._cell:
                self._new_cell(int(cells[a]), int(arrivals[a]))
            self._segment(samples[a:b], arrivals[a:b])
            self._now = int(arrivals[b - 1])
        return self._taken()

    def finish(self) -> list[FindingChange]:
        """The stream is over: judge what was held back. Episodes that go on stay open."""
        held = self._bursts.release()
        if held is not None:
            self._judge(held, np.full(len(held), self._now), np.zeros(len(held), np.int64), [])
        if self._open is not None:
            self._report("updated", self._now)
        return self._taken()

    def get(self) -> tuple[Finding, ...]:
        """All episodes as known now, in order of detection."""
        return tuple(self._findings.values())

    def _taken(self) -> list[FindingChange]:
        changes, self._changes = self._changes, []
        return changes

    # -- cells ---------------------------------------------------------------------------------

    def _new_cell(self, number: int, at_ns: int) -> None:
        if self._cell >= 0:
            self._clock.new_cell()
            self._bursts.new_cell()
        self._learning.start(number)
        self._cell = number
        self._maker.is_low_rate = 0 < self._clock.rate_per_s < self._criteria.host_slow.low_rate_per_s
        self._has_units = bool(self._maker.baselines)
        for kind in self._intake.kinds:
            kind.rotate()
        if self._open is not None:
            ticks = [tick for cell in self._learning.recent_cells() for tick in cell.ticks]
            self._open.fold(ticks, self._open.last_slow_ns, len(self._threads.names))
            self._review(self._open, at_ns)

    def _review(self, episode: Episode, at_ns: int) -> None:
        """Once a second: end with the load, become the new normal, or update."""
        c = self._criteria.host_slow
        lasted = (at_ns - episode.start_ns) / 1e9
        idle = at_ns - max(self._last_unit_at, episode.last_slow_ns)
        by_units = self._recovery is not None
        if by_units and idle > max(_IDLE_NS, 2 * self._clock.gap_ns):
            self._end(at_ns, "the load stopped")
        elif lasted >= c.level_shift_s:
            episode.last_slow_ns = max(episode.last_slow_ns, min(at_ns, self._now))
            self._end(at_ns, f"level shift: still so after {c.level_shift_s:g} s, taken as the new normal")
            self._start_over()
        elif lasted >= episode.next_update_s:
            episode.next_update_s = lasted * 2
            self._report("updated", at_ns)

    def _start_over(self) -> None:
        """Forget the healthy state: it is another one from now on."""
        for baseline in self._maker.baselines:
            baseline.reset()
        self._health.reset()
        self._learning.drop_pending()
        self._onset.clear()
        self._speedup.stop()

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
        unit_at = arrivals[position]
        units.arrival = unit_at
        ticks = self._ticks(samples, arrivals, rest, unit_at)
        ordered = self._bursts.order(units, position, arrivals)
        if ordered is not None and len(ordered.units):
            self._judge(ordered.units, ordered.at, ordered.position, ticks)
        else:
            for tick in ticks:
                self._tick(*tick[1:], self._clock.tau)

    def _ticks(
        self, samples: Samples, arrivals: Ints, rest: list[int], unit_at: Ints
    ) -> list[tuple[int, TickWork, Vote]]:
        """Work and vote of every tick of the segment, with its position; other samples are taken in."""
        out = []
        cell = self._learning.cell
        assert cell is not None
        for k in rest:
            sample = samples[k]
            if type(sample) is ThreadTick:
                done = self._threads.update(sample)
                if done is None:
                    continue
                numbers, work, tick_ns = done
                self._health.grow(len(self._threads.names))
                tick = TickWork(int(arrivals[k]), tick_ns, numbers, work)
                cell.ticks.append(tick)
                vote = self._health.vote(numbers, work, has_units=self._has_units, tick_ns=tick_ns)
                out.append((k, tick, vote))
            elif type(sample) is ThreadInfo:
                self._threads.meet(sample)
            elif type(sample) is ThreadGone:
                self._threads.lose(sample.index)
            elif type(sample) is MachineSample:
                self._pressure.add(sample)
        return out

    # -- units and ticks in their order --------------------------------------------------------

    def _judge(self, units: Units, at: Ints, position: Ints, ticks: list[tuple[int, TickWork, Vote]]) -> None:
        before = self._clock.tau
        tau, gap, cold = self._clock.update(units, at)
        block = self._maker.weigh(units, tau, self._intake.kinds)
        block.arrival = at
        block.unit[cold] = np.minimum(block.unit[cold], NAT)
        block.stage[cold] = np.minimum(block.stage[cold], NAT)
        may = ~cold
        cell = self._learning.cell
        assert cell is not None
        cell.blocks.append((block, may))
        cell.units += len(block)
        if self._first_start is None:
            self._first_start = int(block.start.min())
        stops: list[tuple[int, TickWork | None, Vote | None]] = [(int(row), None, None) for row in np.flatnonzero(gap)]
        for k, tick, vote in ticks:
            if vote.has_moved or not self._has_units or self._by_threads or not self._health.known.any():
                stops.append((int(np.searchsorted(position, k)), tick, vote))
        stops.sort(key=lambda stop: stop[0])
        row = 0
        for stop, tick, vote in stops:
            self._rows(block, may, row, stop)
            row = max(row, stop)
            if tick is not None and vote is not None:
                self._tick(tick, vote, int(tau[row - 1]) if row else before, block, row - 1)
            else:
                self._gap(int(at[stop]))
        self._rows(block, may, row, len(block))
        self._last_unit_at = int(at[-1])

    @property
    def _by_threads(self) -> bool:
        """Whether an episode is open that threads alone have opened."""
        return self._open is not None and self._recovery is None

    def _gap(self, at_ns: int) -> None:
        if self._recovery is not None:
            self._end(at_ns, "the load stopped")
        self._onset.clear()

    def _tick(self, tick: TickWork, vote: Vote, tau: int, block: Block | None = None, row: int = -1) -> None:
        cell = self._learning.cell
        assert cell is not None
        cell.has_moved |= vote.has_moved
        if self._open is None:
            if vote.has_moved and self._has_units:
                onset = self._onset.bump(tick.arrival_ns, tau)
                if onset is not None:
                    self._begin_by_units(onset, tick.arrival_ns, tau, block, row)
                    return
            young = not self._health.known.any() and self._learning.active_cells < YOUNG_CELLS
            loaded = not self._has_units or tick.arrival_ns - self._last_unit_at < 2 * tick.tick_ns
            event = self._thread_watch.watch(tick, vote, alone=not self._has_units, young=young and loaded)
            if event is not None:
                self._begin_by_threads(event, tick.arrival_ns)
        elif self._recovery is None:
            event = self._thread_watch.recover(tick, vote, is_cold=self._open.is_cold)
            self._open.last_slow_ns = max(self._open.last_slow_ns, self._thread_watch.last_ns)
            if event is not None:
                self._end(tick.arrival_ns, "")

    def _rows(self, block: Block, may: Flags, a: int, b: int) -> None:
        while a < b:
            rows = slice(a, b)
            if self._open is None:
                a = self._closed_rows(block, may, rows)
            elif self._recovery is None:
                a = self._threads_open_rows(block, rows)
            else:
                a = self._open_rows(block, may, rows)

    def _closed_rows(self, block: Block, may: Flags, rows: slice) -> int:
        """No episode is open: watch for one; the row to go on with."""
        if self._is_young:
            speedup = self._speedup.update(block, rows, self._maker)
            if speedup is not None:
                rows = slice(rows.start, rows.start + speedup.row + 1)
        else:
            speedup = None
        onset, height = self._onset.update(block, rows)
        cell = self._learning.cell
        assert cell is not None
        cell.height = max(cell.height, int(height.max()))
        up = np.concatenate([[self._is_up], height >= _BLIP_HEIGHT])
        self.blips += int((up[1:] & ~up[:-1]).sum())
        self._is_up = bool(up[-1])
        if onset is not None:
            row = rows.start + onset.row
            self.blips -= self._is_up
            self._is_up = False
            self._begin_by_units(onset, int(block.arrival[row]), int(block.tau[row]), block, row)
            return row + 1
        if speedup is not None:
            self._was_slow(speedup, int(block.arrival[rows.stop - 1]))
        return rows.stop

    @property
    def _is_young(self) -> bool:
        return self._speedup.is_watching and self._learning.active_cells < YOUNG_CELLS

    def _threads_open_rows(self, block: Block, rows: slice) -> int:
        """Threads alone have opened the episode: its units are added up; faster ones may end it."""
        episode = self._open
        assert episode is not None
        speedup = self._speedup.update(block, rows, self._maker) if episode.is_cold and self._is_young else None
        stop = rows.stop if speedup is None else rows.start + speedup.row + 1
        inside = np.arange(rows.start, stop)
        if speedup is not None:
            inside = inside[block.start[inside] < speedup.start_ns]
        slow = (block.unit[inside, 1] > 0) & block.ready[inside]
        last = episode.last_slow_ns
        episode.add(block, inside, slow, self._maker)
        episode.last_slow_ns = last
        if speedup is not None:
            episode.last_slow_ns = speedup.start_ns
            episode.slowdown = speedup.ratio
            self._end(int(block.arrival[stop - 1]), "")
        return stop

    def _open_rows(self, block: Block, may: Flags, rows: slice) -> int:
        """Units have opened the episode: add up, and watch for its end; the row to go on with."""
        episode, recovery = self._open, self._recovery
        cell = self._learning.cell
        assert episode is not None
        assert recovery is not None
        assert cell is not None
        cell.is_disturbed = True
        result = recovery.update(block, rows)
        stop = rows.stop if result.row is None else rows.start + result.row + 1
        episode.add(block, np.arange(rows.start, stop), result.slow, self._maker)
        may[rows.start : stop] = False
        if result.row is not None:
            self._end(int(block.arrival[stop - 1]), "")
        return stop

    # -- the life of an episode ----------------------------------------------------------------

    def _begin_by_units(self, onset: Onset, at_ns: int, tau: int, block: Block | None, row: int) -> None:
        closed = self._closed
        start = self._within(onset.start, at_ns)
        recovery = RecoveryWatch(self._criteria.host_slow, onset, tau)
        self._learning.keep_out_since(onset.start)
        if (
            closed is not None
            and closed.end_ns is not None
            and start - closed.end_ns <= _REOPEN_NS
            and not closed.is_cold
        ):
            episode, closed.end_ns, closed.end_note = closed, None, ""
            since = onset.start
        else:
            episode = self._new_episode(start, at_ns, onset.bank)
            episode.last_slow_ns = start
            since = onset.start - 2 * CELL_NS
        for cell in self._learning.recent_cells():
            for earlier, _ in cell.blocks:
                upto = row + 1 if earlier is block else len(earlier)
                rows = np.flatnonzero(earlier.start[:upto] >= since)
                if len(rows):
                    slow = recovery.evidence(earlier, slice(0, upto))[rows] > 0
                    episode.add(earlier, rows, slow & (earlier.start[rows] >= onset.start), self._maker)
        recovery.units, recovery.slow_units = episode.units, episode.slow_units
        self._recovery = recovery
        self._start(episode, at_ns)

    def _begin_by_threads(self, event: ThreadEvent, at_ns: int) -> None:
        start = event.t_ns
        if event.what == "cold" and self._first_start is not None and self._first_start >= start - CELL_NS:
            start = self._first_start
        episode = self._new_episode(self._within(start, at_ns), at_ns, event.what)
        episode.is_cold = event.what == "cold"
        episode.last_slow_ns = self._thread_watch.last_ns
        self._recovery = None
        self._start(episode, at_ns)

    def _was_slow(self, speedup: Speedup, at_ns: int) -> None:
        """The session was slow from its start and no longer is."""
        first = self._first_start if self._first_start is not None else speedup.start_ns
        if speedup.start_ns - first >= _LEAST_COLD_NS:
            episode = self._new_episode(self._within(first, at_ns), at_ns, "speedup")
            episode.is_cold = True
            episode.slowdown = speedup.ratio
            episode.last_slow_ns = speedup.start_ns
            self._recovery = None
            self._start(episode, at_ns)
            self._end(at_ns, "")
        else:
            self._start_over()

    def _within(self, t_ns: int, at_ns: int) -> int:
        """A time inside the stream."""
        return min(max(t_ns, self._first_arrival), at_ns)

    def _new_episode(self, start_ns: int, at_ns: int, by: str) -> Episode:
        health = self._health
        reference = Reference(health.sums.copy(), health.units, self._learning.learned_cells, health.known.copy())
        before = self._pressure.before(start_ns)
        number = len(self._findings) + 1
        episode = Episode(f"T{number}", start_ns, at_ns, _BY[by], start_ns, reference, before)
        for cell in self._learning.recent_cells():
            for tick in cell.ticks:
                if tick.middle_ns < start_ns:
                    episode.buckets.add_tick(tick.middle_ns, tick.work)
        return episode

    def _start(self, episode: Episode, at_ns: int) -> None:
        cell = self._learning.cell
        assert cell is not None
        cell.is_disturbed = True
        is_new = episode.id not in self._findings
        self._open = episode
        self._onset.clear()
        self._report("raised" if is_new else "updated", at_ns)

    def _end(self, at_ns: int, note: str) -> None:
        episode = self._open
        assert episode is not None
        episode.end_ns = max(self._within(episode.last_slow_ns, at_ns), episode.start_ns)
        episode.end_note = note
        if episode.is_cold:
            self._refer_to_after(episode)
        self._report("ended", at_ns)
        self._closed, self._open, self._recovery = episode, None, None
        self._thread_watch.clear()
        self._onset.clear()
        if episode.is_cold:
            self._start_over()

    def _refer_to_after(self, episode: Episode) -> None:
        """A cold start has no healthy state before it: compare with what came after it, as far as it goes."""
        end = episode.end_ns or 0
        after = [t for cell in self._learning.recent_cells() for t in cell.ticks if t.middle_ns > end]
        sums = totals([(t.numbers, t.work) for t in after], len(self._threads.names))
        units = sum(
            int((block.start >= end).sum()) for cell in self._learning.recent_cells() for block, _ in cell.blocks
        )
        episode.reference = Reference(
            sums.astype(np.float64), float(units), sum(t.tick_ns for t in after) / 1e9, sums[CPU] > _AFTER_CPU_NS
        )

    def _report(self, change: Change, at_ns: int) -> None:
        episode = self._open
        assert episode is not None
        ticks = [tick for cell in self._learning.recent_cells() for tick in cell.ticks]
        until = episode.end_ns if episode.end_ns is not None else episode.last_slow_ns
        episode.fold(ticks, until, len(self._threads.names))
        finding = episode.finding(self._intake.kinds, self._maker, self._threads, self._pressure, self._criteria, at_ns)
        self._findings[episode.id] = finding
        self._changes.append(FindingChange(at_ns, change, finding))
