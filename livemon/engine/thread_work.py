"""What each thread did in a tick, summed by thread name, on efficiency and on fast cores.

Names, not numbers, carry a thread's healthy state: a pool's worker that ends and comes back under
another tid is the same worker. Rows of the work matrices are additive int64, (ROWS, names).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from livemon.engine.core_classes import CoreClasses
from livemon.engine.cpu_speed import CpuSpeed
from livemon.engine.logbins import Ints
from livemon.engine.scheduling_changes import SchedulingChanges
from livemon.engine.tick_deltas import TickDelta, TickDeltas
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.samples import MachineSample, Sample, ThreadGone, ThreadInfo, ThreadTick

CPU, DELAY, DELAY_CPU, E_CPU, F_CPU, E_CYCLES, F_CYCLES, E_CYC_CPU, F_CYC_CPU = range(9)
INS, INS_CPU, IPC_INS, IPC_CYCLES, HOPS = range(9, 14)
ROWS = 14
"""CPU ns; run-queue delay ns and the CPU ns that goes with it; then for (E)fficiency and (F)ast cores CPU
ns, cycles, and the CPU ns that goes with known cycles; instructions and the CPU ns that goes with them;
instructions and cycles where both are known; CPU changes seen."""

MAX_NAMES = 1024
"""Names followed one by one; later ones share the last place."""


Work = tuple[Ints, Ints, int]
"""What a tick tells: numbers of the names that worked, their (ROWS, names) sums, length of the tick in ns."""


class ThreadWork:
    """Cumulative readings in, work per name out."""

    def __init__(self, criteria: Criteria, facts: SessionFacts) -> None:
        self._core_classes = CoreClasses(criteria, facts)
        self._deltas = TickDeltas()
        self.speed = CpuSpeed(self._core_classes)
        self.changes = SchedulingChanges()
        self._efficient: list[bool] = [self._core_classes.is_efficiency(n) for n in self._core_classes.names]
        self.names: list[str] = []
        self._number: dict[tuple[str, str], int] = {}
        self._slot: Ints = np.full(64, -1, np.int64)
        """Thread index -> number of its name; -1: not ours to watch."""
        self._seen: dict[str, None] = {}
        """Classes that ticks had columns for."""
        self.is_estimated = False
        """Placement comes from the last CPU, not from per-class counters."""
        self._has_started = False
        self._last_ns = 0
        """Newest arrival of a tick."""
        self.tells_placement = False
        """Whether efficiency and fast cores can be told apart."""

    @property
    def facts(self) -> tuple[tuple[str, ...], tuple[str, str], bool, bool, SchedulingChanges]:
        """Names by number, the core classes, whether placement can be told and is estimated, what changed."""
        return tuple(self.names), self.class_names, self.tells_placement, self.is_estimated, self.changes

    @property
    def class_names(self) -> tuple[str, str]:
        """Names of the fastest and of the first efficiency class, as far as they are known."""
        seen = [*self._core_classes.names, *self._seen]
        fast = next((name for name in seen if not self._core_classes.is_efficiency(name)), seen[0] if seen else "P")
        return fast, next((name for name in seen if self._core_classes.is_efficiency(name)), "E")

    def heeds(self, sample: Sample) -> bool:
        """Whether a machine sample tells of a CPU that came online."""
        return type(sample) is MachineSample and bool(self._core_classes.news(sample))

    def take(self, sample: Sample) -> None:
        """Take what is no tick: a thread that was found or ended, a CPU that came online."""
        if type(sample) is ThreadInfo:
            self.meet(sample)
        elif type(sample) is ThreadGone:
            self.lose(sample.index)
        elif type(sample) is MachineSample:
            self._core_classes.learn(self._core_classes.news(sample))

    def meet(self, info: ThreadInfo) -> None:
        """A thread was found."""
        if info.is_self or not 0 <= info.index < 100_000:
            return
        self.changes.meet(info)
        self._reach(info.index)
        key = (info.process, info.name)
        number = self._number.get(key)
        if number is None:
            number = len(self.names)
            if number < MAX_NAMES - 1:
                self.names.append(info.name)
                self._number[key] = number
            else:
                number = MAX_NAMES - 1
                if len(self.names) < MAX_NAMES:
                    self.names.append("others")
        self._slot[info.index] = number

    def numbers_of(self, process: str) -> set[int]:
        """Numbers of the names of a process's threads, by its name."""
        return {number for (of, _), number in self._number.items() if of == process}

    def lose(self, index: int) -> None:
        """A thread ended."""
        self._deltas.forget(index)
        self.changes.lose(index)

    def _reach(self, index: int) -> None:
        if index >= len(self._slot):
            grown = np.full(max(2 * len(self._slot), index + 1), -1, np.int64)
            grown[: len(self._slot)] = self._slot
            self._slot = grown

    def update(self, ticks: Sequence[ThreadTick]) -> list[Work | None]:
        """The work of each of several ticks between which no thread comes or goes; ``None``: it tells nothing."""
        whole = [tick for tick in ticks if _is_whole(tick)]
        if len(whole) == len(ticks) and self._has_started:
            done = self._together(ticks)
            if done is not None:
                return done
        self._has_started |= bool(whole)
        return [self._one(tick) if _is_whole(tick) else None for tick in ticks]

    def _together(self, ticks: Sequence[ThreadTick]) -> list[Work | None] | None:
        """The same in one go; ``None`` if they must be taken one by one."""
        if not all(len(tick.index) for tick in ticks) or not all(
            before.arrival_ns < tick.arrival_ns for before, tick in pairwise(ticks)
        ):
            return None
        if ticks[0].arrival_ns <= self._last_ns:
            return None
        run = self._deltas.update_run(ticks)
        if run is None:
            return None
        self._last_ns = ticks[-1].arrival_ns
        delta, edges = run.delta, run.edges
        self._reach(int(delta.index.max()))
        slot = self._slot[delta.index]
        worked = self._worked(delta, slot)
        rows = self._rows(delta)
        if not worked.all():
            edges = np.concatenate([[0], np.cumsum(worked)])[edges].tolist()
            slot, rows = slot[worked], rows[:, worked]
        # As a rule the names of every tick rise as they are: one look for all ticks.
        rises = set((np.flatnonzero(slot[1:] <= slot[:-1]) + 1).tolist()).issubset(edges)
        return [
            (*((slot[a:b], rows[:, a:b]) if rises else _by_name(slot[a:b], rows[:, a:b])), dt_ns) if b > a else None
            for (a, b), dt_ns in zip(pairwise(edges), run.dt_ns, strict=True)
        ]

    def _one(self, tick: ThreadTick) -> Work | None:
        self._last_ns = max(self._last_ns, tick.arrival_ns)
        delta = self._deltas.update(tick)
        if delta.dt_ns <= 0 or not len(delta.index):
            return None
        self._reach(int(delta.index.max()))
        slot = self._slot[delta.index]
        worked = self._worked(delta, slot)
        rows = self._rows(delta)
        if not worked.all():
            if not worked.any():
                return None
            slot, rows = slot[worked], rows[:, worked]
        return (*_by_name(slot, rows), delta.dt_ns)

    def _worked(self, delta: TickDelta, slot: Ints) -> npt.NDArray[np.bool_]:
        """Which entries are of our threads and did anything."""
        worked: npt.NDArray[np.bool_] = (slot >= 0) & delta.cpu_known & ((delta.cpu_ns > 0) | (delta.delay_ns > 0))
        if self.speed.is_on:
            self.speed.add(delta.last_cpu[worked], delta.cpu_ns[worked])
        return worked

    def _rows(self, delta: TickDelta) -> Ints:
        work = np.zeros((ROWS, len(delta.index)), np.int64)
        work[CPU] = delta.cpu_ns
        work[DELAY] = np.where(delta.delay_known, delta.delay_ns, 0)
        work[DELAY_CPU] = np.where(delta.delay_known, delta.cpu_ns, 0)
        work[HOPS] = delta.hops
        told = [c for c in delta.classes if not self._core_classes.is_joined(c.core_class)]
        for c in told:
            self._seen.setdefault(c.core_class)
        # Efficiency is a comparison: where all cores are of that kind, none of them is a slower place to be.
        has_fast = any(not self._core_classes.is_efficiency(name) for name in (*self._core_classes.names, *self._seen))
        for c in told:
            e = has_fast and self._core_classes.is_efficiency(c.core_class)
            self.tells_placement |= e
            work[E_CPU if e else F_CPU] += c.cpu_ns
            work[E_CYCLES if e else F_CYCLES] += c.cycles
            work[E_CYC_CPU if e else F_CYC_CPU] += c.counted_cpu_ns
            work[INS] += c.instructions
            work[INS_CPU] += c.instructed_cpu_ns
            work[IPC_INS] += c.paired_instructions
            work[IPC_CYCLES] += c.paired_cycles
        if not told and self._core_classes.is_hybrid:
            self.is_estimated = self.tells_placement = True
            where = self._core_classes.classes_of(delta.last_cpu)
            e_mask = np.array([*self._efficient, False])[where]  # the last entry answers for -1
            work[E_CPU] = np.where(e_mask, delta.cpu_ns, 0)
            work[F_CPU] = np.where(e_mask | (where < 0), 0, delta.cpu_ns)
        return work


def _is_whole(tick: ThreadTick) -> bool:
    """Whether all columns have an entry for every thread of the tick."""
    n = len(tick.index)
    columns = [tick.cpu_ns, tick.run_delay_ns, tick.slices, tick.last_cpu]
    for c in tick.classes:
        columns += [c.cpu_ns, c.cycles, c.instructions]
        columns += [times for times in (c.enabled_ns, c.running_ns) if times is not None]
    return all(len(column) == n for column in columns)


def _by_name(slot: Ints, work: Ints) -> tuple[Ints, Ints]:
    """Columns of threads of one name added up; names in rising order."""
    if len(slot) < 2 or bool((slot[1:] > slot[:-1]).all()):
        return slot, work
    numbers, position = np.unique(slot, return_inverse=True)
    if len(numbers) == len(slot):
        return numbers, work[:, np.argsort(slot)]
    out = np.zeros((len(numbers), ROWS), np.int64)
    np.add.at(out, position, work.T)
    return numbers, out.T


def totals(parts: Iterable[tuple[Ints, Ints]], names: int) -> Ints:
    """Sum of several ticks' work, dense: (ROWS, names)."""
    out = np.zeros((ROWS, names), np.int64)
    for numbers, work in parts:
        out[:, numbers] += work
    return out
