"""The episodes of a session: at most one is open; each is raised, updated now and then, and ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from livemon.engine.host_episode import Episode, Reference, ThreadFacts
from livemon.engine.host_evidence import Block, EvidenceMaker
from livemon.engine.host_learning import CELL_NS, Learning
from livemon.engine.host_level import levels
from livemon.engine.host_recheck import Outcome, Recheck
from livemon.engine.host_units import Kind
from livemon.engine.host_watch import Onset, RecoveryWatch
from livemon.engine.machine_pressure import PressureHistory
from livemon.engine.slow_bins import SlowBins
from livemon.engine.thread_health import ThreadHealth
from livemon.engine.thread_work import CPU, totals
from livemon.model.criteria import Criteria
from livemon.model.findings import Finding, FindingChange, HostSlowTransient
from livemon.model.samples import TargetEvent

REOPEN_NS = 400_000_000
"""An onset this soon after an episode's end is the same episode."""
LEVEL_SHIFT = "level shift"
"""How the note begins of an episode that became the new normal."""
_AFTER_CPU_NS = 500_000
_BY = {
    "all": "most host stages of the units are slow",
    "part": "a part of the units is slow",
    "stage": "one host stage is slow",
    "stop": "a process was stopped",
    "long": "one unit lasted far longer than usual",
    "threads": "thread counters alone: the busy threads left their healthy state",
    "cold": "from the start the busy threads ran on efficiency cores",
    "speedup": "from the start until the units became faster for good",
}
Change = Literal["raised", "updated", "ended"]


KEPT_WHOLE = 2000
"""Newest episodes whose findings keep every detail."""


def without_details(finding: Finding) -> Finding:
    """The finding as it is kept in a very long session: its figures and causes that apply."""
    if finding.kind != "host_slow_transient":
        return finding
    applies = tuple(cause for cause in finding.causes if cause.verdict == "applies")
    return replace(finding, causes=applies, ledger=(), threads=(), buckets=())


class EpisodeLife:
    """Opens, updates and closes episodes, and makes findings of them."""

    def __init__(
        self,
        criteria: Criteria,
        kinds: list[Kind],
        maker: EvidenceMaker,
        health: ThreadHealth,
        learning: Learning,
        pressure: PressureHistory,
    ) -> None:
        self._criteria = criteria
        self._kinds = kinds
        self._maker = maker
        self._health = health
        self._learning = learning
        self._pressure = pressure
        self.first_arrival_ns = 0
        """Start of the stream: nothing begins before it."""
        self.thread_facts = ThreadFacts()
        """What is known of the threads, as of the last whole second."""
        self.open: Episode | None = None
        self._closed: Episode | None = None
        """The episode that ended last."""
        self._recheck: Recheck | None = None
        """Of that one."""
        self.findings: dict[str, Finding] = {}
        self._changes: list[FindingChange] = []

    @property
    def is_calm(self) -> bool:
        """No episode is open, and the level after the last one is told."""
        return self.open is None and self._recheck is None

    def take_changes(self) -> list[FindingChange]:
        """What changed since the last call."""
        changes, self._changes = self._changes, []
        return changes

    def begin_by_units(self, onset: Onset, at_ns: int, tau: int, block: Block | None, row: int) -> RecoveryWatch:
        """Units have opened an episode, judged up to ``row`` of ``block``; the watch for its end."""
        start = self._within(onset.start, at_ns)
        recovery = RecoveryWatch(self._criteria.host_slow, onset, tau)
        self._learning.keep_out_since(onset.start, block, row)
        closed = self._closed
        if (
            closed is not None
            and closed.end_ns is not None
            and closed.may_reopen
            and start - closed.end_ns <= REOPEN_NS
        ):
            episode, closed.end_ns = closed, None
            self.drop_recheck()
            is_held_up = closed.is_stop and not closed.units  # a unit that a stop held up began before it was over
            since = onset.start if is_held_up else max(onset.start, closed.last_slow_ns)
        else:
            self._interrupt("the next episode began", at_ns)
            episode = self._new(start, at_ns, onset.bank)
            if onset.long_ms is not None:
                spent, usual = onset.long_ms
                episode.detected_by += f": host stages of {spent:,.0f} ms against {usual:.3g} ms"
            since = onset.start - 2 * CELL_NS
            recent = (told for cell in self._learning.recent_cells() for told in cell.blocks)
            episode.before = levels(recent, until_ns=onset.start)
        for cell in self._learning.recent_cells():
            for earlier, _ in cell.blocks:
                upto = row + 1 if earlier is block else len(earlier)
                rows = np.flatnonzero(earlier.start[:upto] >= since)
                if len(rows):
                    slow = recovery.evidence(earlier, slice(0, upto))[rows] > 0
                    episode.add(earlier, rows, slow & (earlier.start[rows] >= onset.start), self._maker)
        recovery.units, recovery.slow_units = episode.units, episode.slow_units
        self._start(episode, at_ns)
        return recovery

    def is_doubtful(self, onset: Onset, block: Block, row: int) -> bool:
        """Whether an onset's units may be slow only because the cycle they are told apart by is lost."""
        kind = self._kinds[int(block.kind_of_row[row])]
        if kind.position is None:
            return False
        told = []
        for cell in self._learning.recent_cells():
            for earlier, _ in cell.blocks:
                upto = row + 1 if earlier is block else len(earlier)
                told.append((earlier, np.flatnonzero(earlier.start[:upto] >= onset.start)))
        return self._maker.is_doubtful(kind, self._kinds, told)

    def begin_by_threads(self, what: str, start_ns: int, last_ns: int, at_ns: int) -> None:
        """Thread counters have opened an episode; ``last_ns``: the last tick that says so."""
        self._interrupt("the next episode began", at_ns)
        episode = self._new(self._within(start_ns, at_ns), at_ns, what)
        episode.is_cold = what == "cold"
        episode.last_slow_ns = last_ns
        self._start(episode, at_ns)

    def begin_by_stop(self, event: TargetEvent, since_ns: int) -> None:
        """A process of the target was stopped while it served units."""
        at_ns = event.arrival_ns
        self._interrupt("the next episode began", at_ns)
        episode = self._new(self._within(since_ns, at_ns), at_ns, "stop")
        episode.detected_by += f": {event.name} (pid {event.pid}) is {event.detail or 'stopped'}"
        episode.is_stop, episode.last_slow_ns = True, at_ns
        episode.stops[event.pid] = event, since_ns, None
        self._start(episode, at_ns)

    def add_past(self, start_ns: int, end_ns: int, slowdown: float, at_ns: int) -> None:
        """An episode that is over when it is found: the session was slow from its start."""
        episode = self._new(self._within(start_ns, at_ns), at_ns, "speedup")
        episode.is_cold = True
        episode.slowdown = slowdown
        episode.last_slow_ns = end_ns
        self._start(episode, at_ns)
        self.end(at_ns)

    def _within(self, t_ns: int, at_ns: int) -> int:
        """A time inside the stream."""
        return min(max(t_ns, self.first_arrival_ns), at_ns)

    def _new(self, start_ns: int, at_ns: int, by: str) -> Episode:
        health = self._health
        reference = Reference(health.sums.copy(), health.units, self._learning.learned_cells, health.known.copy())
        before = self._pressure.before(start_ns)
        number = len(self.findings) + 1
        episode = Episode(f"T{number}", start_ns, at_ns, _BY[by], start_ns, reference, before)
        episode.bins = SlowBins(start_ns, self._criteria.transitions)
        for tick in self._learning.recent_ticks(at_ns):
            if tick.middle_ns < start_ns:
                episode.buckets.add_tick(tick.middle_ns, tick.work)
        return episode

    def _start(self, episode: Episode, at_ns: int) -> None:
        self._learning.current.is_disturbed = True
        is_new = episode.id not in self.findings
        self.open = episode
        self.report("raised" if is_new else "updated", at_ns)

    def end(self, at_ns: int, note: str = "") -> Episode:
        """The open episode is over; ``note`` says how if not by itself."""
        episode = self.open
        assert episode is not None
        episode.end_ns = max(self._within(episode.last_slow_ns, at_ns), episode.start_ns)
        episode.end_note = note
        if episode.is_cold:
            episode.after = "no healthy state is known from before it: it is learned from what comes after it"
            self._refer_to_after(episode, at_ns)
        self.report("ended", at_ns)
        self._closed, self.open = episode, None
        if episode.before and not note.startswith(LEVEL_SHIFT):
            self._recheck = Recheck(
                self._criteria.host_slow, episode.before, episode.end_ns, self._maker, self._learning
            )
        return episode

    def recheck(self, at_ns: int) -> bool:
        """A second is over: whether the level after the last episode has become known by it."""
        outcome = self._recheck.update() if self._recheck is not None else None
        if outcome is None:
            return False
        self._settle(outcome, at_ns)
        return True

    def finish(self, at_ns: int) -> None:
        """The stream is over."""
        self._interrupt("the session ended", at_ns)
        if self.open is not None:
            self.report("updated", at_ns)

    def _interrupt(self, why: str, at_ns: int) -> None:
        if self._recheck is not None:
            self._settle(self._recheck.interrupt(why), at_ns)

    def _settle(self, outcome: Outcome, at_ns: int) -> None:
        episode = self._closed
        assert episode is not None
        self._recheck = None
        episode.after, episode.level_after = outcome.text, outcome.ratio
        told = self.findings[episode.id]
        assert isinstance(told, HostSlowTransient)
        if episode.bins is not None:
            self._fill_last_bin(episode, episode.bins)
            told = replace(told, transient_bins_s=episode.bins.get())
        told = replace(told, after_it=episode.after_it, level_after=outcome.ratio)
        self.findings[episode.id] = told
        self._changes.append(FindingChange(at_ns, "updated", told))

    def _fill_last_bin(self, episode: Episode, bins: SlowBins) -> None:
        """Units of the bin in which it ended that came after its end was known."""
        end = (episode.end_ns or 0) + round(self._criteria.transitions.bin_s * 1e9)
        for cell in self._learning.recent_cells():
            for block, may in cell.blocks:
                bins.add(block, np.flatnonzero(may & (block.start >= episode.start_ns) & (block.start < end)))

    def drop_recheck(self) -> None:
        """The healthy state starts anew: there is nothing to check."""
        if self._recheck is not None:
            self._recheck.drop()
            self._recheck = None

    def _refer_to_after(self, episode: Episode, at_ns: int) -> None:
        """A cold start has no healthy state before it: compare with what came after it, as far as it goes."""
        end = episode.end_ns or 0
        after = [tick for tick in self._learning.recent_ticks(at_ns) if tick.middle_ns > end]
        sums = totals([(tick.numbers, tick.work) for tick in after], len(self._health.ticks))
        units = sum(
            int(((block.start >= end) & (block.arrival < at_ns)).sum())
            for cell in self._learning.recent_cells()
            for block, _ in cell.blocks
        )
        known = sums[CPU] > _AFTER_CPU_NS
        episode.reference = Reference(sums.astype(np.float64), float(units), sum(t.tick_ns for t in after) / 1e9, known)

    def fold(self, at_ns: int) -> None:
        """Add the thread work of the time since the last call to the open episode."""
        episode = self.open
        if episode is not None:
            until = episode.end_ns if episode.end_ns is not None else episode.last_slow_ns
            episode.fold(self._learning.working_ticks(at_ns), until, len(self._health.ticks))

    def report(self, change: Change, at_ns: int) -> None:
        """Make the open episode's finding anew."""
        episode = self.open
        assert episode is not None
        self.fold(at_ns)
        newest = self._pressure.newest(at_ns)
        finding = episode.finding(self._kinds, self._maker, self.thread_facts, newest, self._criteria, at_ns)
        self.findings[episode.id] = finding
        if change == "ended" and (old := f"T{int(episode.id[1:]) - KEPT_WHOLE}") in self.findings:
            self.findings[old] = without_details(self.findings[old])
        self._changes.append(FindingChange(at_ns, change, finding))
