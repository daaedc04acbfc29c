"""Cumulative thread counters to what each thread did since its reading before, for many threads at once.

A difference is unknown where either reading is missing, where it is negative (a counter reset, which is
counted), and where it is more CPU time than the tick can hold. A thread's first reading only sets
its base: what it did before it was seen is not this session's.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.model.samples import ThreadTick

Ints = npt.NDArray[np.int64]
MAX_THREADS = 100_000
"""Threads beyond this index are not followed; ``TickDeltas.ignored`` counts them."""
_COLUMNS = ("cpu_ns", "run_delay_ns", "last_cpu")
_COUNTS = ("cpu_ns", "cycles", "instructions")
_MOST_CPU = 1.5
_SLACK_NS = 50_000_000
_LEAST_ACTIVE = 0.2
"""Counts of a tick in which the counters ran for less of the thread's time say nothing of the rest of it."""


@dataclass(frozen=True, slots=True)
class ClassDelta:
    """What the tick's threads did on one core class; entries as in ``TickDelta.index``."""

    core_class: str
    cpu_ns: Ints
    cycles: Ints
    """Scaled up where the counter ran only part of the time; 0 where unknown."""
    instructions: Ints
    """Likewise: one may be known without the other, where a PMU counts only one of them."""
    counted_cpu_ns: Ints
    """CPU time that goes with known cycles."""
    instructed_cpu_ns: Ints
    """CPU time that goes with known instructions."""
    paired_cycles: Ints
    """Cycles whose instructions are known too: what IPC is made of."""
    paired_instructions: Ints
    is_scaled: bool


@dataclass(frozen=True, slots=True)
class TickDelta:
    """What the listed threads did since their readings before; arrays are (threads listed,) int64."""

    arrival_ns: int
    dt_ns: int
    """Since the tick before; 0 for the first."""
    index: Ints
    cpu_ns: Ints
    cpu_known: npt.NDArray[np.bool_]
    delay_ns: Ints
    delay_known: npt.NDArray[np.bool_]
    hops: Ints
    """1 where the thread was last seen on another CPU than at its reading before."""
    last_cpu: Ints
    classes: tuple[ClassDelta, ...]


@dataclass(frozen=True, slots=True)
class TickRun:
    """What several ticks in a row did, their entries one after the other: the work of one tick costs a tenth so."""

    delta: TickDelta
    """Of all entries; its own times are those of the last tick."""
    dt_ns: list[int]
    """Of each tick."""
    edges: list[int]
    """Entries ``edges[k]:edges[k + 1]`` are those of tick k."""


class TickDeltas:
    """Remembers every thread's newest readings and gives the differences."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Ints] = {}
        self._size = 64
        self._previous_ns: int | None = None
        self._earlier: tuple[Ints, Ints] | None = None
        """Of a run: entries of threads that came before in it, and which entries those were."""
        self.resets = 0
        """Counters that went backwards."""
        self.ignored = 0
        """Readings of threads beyond ``MAX_THREADS``."""

    def forget(self, index: int) -> None:
        """The thread ended: a reading under its index would be another thread's."""
        for last in self._last.values():
            if index < len(last):
                last[index] = -1

    def update_run(self, ticks: Sequence[ThreadTick]) -> TickRun | None:
        """The differences of several ticks, none of whose threads end between them.

        Returns:
            ``None`` where they must be taken one by one: other columns, odd indexes. Nothing is taken in then.
        """
        if len(ticks) < 2:
            return None
        layouts = {tuple((c.core_class, c.enabled_ns is None, c.running_ns is None) for c in t.classes) for t in ticks}
        if len(layouts) != 1:
            return None
        counts = [len(tick.index) for tick in ticks]
        index = _joined([tick.index for tick in ticks])
        highest = int(index.max()) if len(index) else MAX_THREADS
        if highest >= MAX_THREADS or int(index.min()) < 0:
            return None
        # Of 16-bit numbers the order is found in one pass.
        order = (index.astype(np.uint16) if highest < 1 << 16 else index).argsort(kind="stable")
        number = np.repeat(np.arange(len(ticks)), counts)[order]
        again = np.flatnonzero(index[order[1:]] == index[order[:-1]])
        if (number[again + 1] == number[again]).any():
            return None  # a thread twice in one tick
        self._size = max(self._size, 2 * highest if highest >= self._size else 0)
        self._earlier = order[again + 1], order[again]
        arrivals = [tick.arrival_ns for tick in ticks]
        before = arrivals[0] if self._previous_ns is None else self._previous_ns
        dt_ns = [max(here - last, 0) for last, here in zip([before, *arrivals], arrivals, strict=False)]
        self._previous_ns = arrivals[-1]
        most = np.repeat(np.array([int(dt * _MOST_CPU) + _SLACK_NS for dt in dt_ns], np.int64), counts)
        columns = {name: _joined([getattr(tick, name) for tick in ticks]) for name in _COLUMNS}
        by_class = []
        for k, c in enumerate(ticks[0].classes):
            names = _COUNTS if c.enabled_ns is None or c.running_ns is None else (*_COUNTS, "enabled_ns", "running_ns")
            several = [_joined([getattr(tick.classes[k], name) for tick in ticks]) for name in names]
            by_class.append((c.core_class, several))
        try:
            delta = self._changes(arrivals[-1], dt_ns[-1], index, columns, by_class, most)
        finally:
            self._earlier = None
        return TickRun(delta, dt_ns, np.cumsum([0, *counts]).tolist())

    def update(self, tick: ThreadTick) -> TickDelta:
        """The tick's differences."""
        index = np.frombuffer(tick.index, np.int64)
        keep: npt.NDArray[np.bool_] | None = None
        if len(index) and (int(index.max()) >= MAX_THREADS or int(index.min()) < 0):
            keep = (index >= 0) & (index < MAX_THREADS)
            self.ignored += int(len(index) - keep.sum())
            index = index[keep]
        if len(index) and int(index.max()) >= self._size:
            self._size = max(2 * self._size, int(index.max()) + 1)
        previous, self._previous_ns = self._previous_ns, tick.arrival_ns
        dt = max(tick.arrival_ns - previous, 0) if previous is not None else 0

        def column(values: object) -> Ints:
            out: Ints = np.frombuffer(values, np.int64)  # type: ignore[call-overload]
            return out if keep is None else out[keep]

        by_class = []
        for c in tick.classes:
            several = [column(c.cpu_ns), column(c.cycles), column(c.instructions)]
            if c.enabled_ns is not None and c.running_ns is not None:
                several += [column(c.enabled_ns), column(c.running_ns)]
            by_class.append((c.core_class, several))
        columns = {name: column(getattr(tick, name)) for name in _COLUMNS}
        return self._changes(tick.arrival_ns, dt, index, columns, by_class, int(dt * _MOST_CPU) + _SLACK_NS)

    def _changes(
        self,
        arrival_ns: int,
        dt_ns: int,
        index: Ints,
        columns: dict[str, Ints],
        by_class: list[tuple[str, list[Ints]]],
        most: Ints | int,
    ) -> TickDelta:
        """Differences of all columns; ``most``: CPU ns that an entry's tick can hold."""
        cpu, cpu_known = self._difference(("", "cpu"), columns["cpu_ns"], index)
        delay, delay_known = self._difference(("", "delay"), columns["run_delay_ns"], index)
        where = columns["last_cpu"]
        before = self._swap(("", "where"), where, index)
        hops = ((where >= 0) & (before >= 0) & (where != before)).astype(np.int64)
        classes = []
        for name, several in by_class:
            times = (several[3], several[4]) if len(several) > 3 else None
            classes.append(self._class(name, index, several[0], several[1], several[2], times, most))
        if classes:
            on_classes = np.sum([c.cpu_ns for c in classes], axis=0)
            ran = np.logical_or.reduce([c.cpu_ns > 0 for c in classes])
            cpu, cpu_known = np.where(cpu_known, cpu, on_classes), cpu_known | ran
        too_much = cpu > most
        if too_much.any():
            cpu, cpu_known = np.where(too_much, 0, cpu), cpu_known & ~too_much
        known = (cpu, cpu_known, delay, delay_known)
        return TickDelta(arrival_ns, dt_ns, index, *known, hops, where, tuple(classes))

    def _class(
        self,
        name: str,
        index: Ints,
        cpu_ns: Ints,
        cycles: Ints,
        instructions: Ints,
        times: tuple[Ints, Ints] | None,
        most: Ints | int,
    ) -> ClassDelta:
        cpu, cpu_known = self._difference((name, "cpu"), cpu_ns, index)
        cyc, cyc_known = self._difference((name, "cycles"), cycles, index)
        ins, ins_known = self._difference((name, "instructions"), instructions, index)
        is_scaled = False
        if times is not None:
            enabled, enabled_known = self._difference((name, "enabled"), times[0], index)
            running, running_known = self._difference((name, "running"), times[1], index)
            both_known = enabled_known & running_known
            hardly = both_known & (running < _LEAST_ACTIVE * enabled)
            partly = both_known & (running < enabled) & ~hardly
            if partly.any():
                is_scaled = True
                scale = np.where(partly, enabled / np.maximum(running, 1), 1.0)
                cyc, ins = (cyc * scale).astype(np.int64), (ins * scale).astype(np.int64)
            cyc_known, ins_known = cyc_known & ~hardly, ins_known & ~hardly
        fine = cpu <= most
        told = cpu_known & fine
        with_cyc, with_ins = told & cyc_known, told & ins_known
        cycles, counted_ns = np.where(with_cyc, cyc, 0), np.where(with_cyc, cpu, 0)
        here = (name, np.where(fine, cpu, 0), cycles)
        if np.array_equal(with_cyc, with_ins):  # nearly always: no more arrays than needed
            instructions = np.where(with_cyc, ins, 0)
            return ClassDelta(*here, instructions, counted_ns, counted_ns, cycles, instructions, is_scaled)
        both = with_cyc & with_ins
        return ClassDelta(
            *here,
            np.where(with_ins, ins, 0),
            counted_ns,
            np.where(with_ins, cpu, 0),
            np.where(both, cyc, 0),
            np.where(both, ins, 0),
            is_scaled,
        )

    def _swap(self, column: tuple[str, str], values: Ints, index: Ints) -> Ints:
        last = self._last.get(column)
        if last is None or len(last) < self._size:
            grown = np.full(self._size, -1, np.int64)
            if last is not None:
                grown[: len(last)] = last
            last = self._last[column] = grown
        before: Ints = last[index]
        if self._earlier is not None:
            here, there = self._earlier
            before[here] = values[there]
        last[index] = values  # of a thread that comes several times, the last one stays
        return before

    def _difference(self, column: tuple[str, str], values: Ints, index: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        before = self._swap(column, values, index)
        change = values - before
        both = (values >= 0) & (before >= 0)
        known = both & (change >= 0)
        if not known.all():
            self.resets += int((both & (change < 0)).sum())
            change = np.where(known, change, 0)
        return change, known


def _joined(columns: Sequence[array[int] | None]) -> Ints:
    """Columns one after the other."""
    return np.frombuffer(b"".join([column for column in columns if column is not None]), np.int64)
