"""Cumulative thread counters to what each thread did since its reading before, for many threads at once.

A difference is unknown where either reading is missing, where it is negative (a counter reset, which is
counted), and where it is more CPU time than the tick can hold. A thread's first reading only sets
its base: what it did before it was seen is not this session's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.model.samples import ThreadTick

Ints = npt.NDArray[np.int64]
MAX_THREADS = 100_000
"""Threads beyond this index are not followed; ``TickDeltas.ignored`` counts them."""
_MOST_CPU = 1.5
_SLACK_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class ClassDelta:
    """What the tick's threads did on one core class; entries as in ``TickDelta.index``."""

    core_class: str
    cpu_ns: Ints
    cycles: Ints
    """Scaled up where the counter ran only part of the time; 0 where unknown."""
    instructions: Ints
    counted_cpu_ns: Ints
    """CPU time that goes with known cycles and instructions."""
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


class TickDeltas:
    """Remembers every thread's newest readings and gives the differences."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Ints] = {}
        self._size = 64
        self._previous_ns: int | None = None
        self.resets = 0
        """Counters that went backwards."""
        self.ignored = 0
        """Readings of threads beyond ``MAX_THREADS``."""

    def forget(self, index: int) -> None:
        """The thread ended: a reading under its index would be another thread's."""
        for last in self._last.values():
            if index < len(last):
                last[index] = -1

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

        most = int(dt * _MOST_CPU) + _SLACK_NS
        cpu, cpu_known = self._difference(("", "cpu"), column(tick.cpu_ns), index)
        delay, delay_known = self._difference(("", "delay"), column(tick.run_delay_ns), index)
        where = column(tick.last_cpu)
        before = self._swap(("", "where"), where, index)
        hops = ((where >= 0) & (before >= 0) & (where != before)).astype(np.int64)
        classes = []
        for c in tick.classes:
            has_times = c.enabled_ns is not None and c.running_ns is not None
            times = (column(c.enabled_ns), column(c.running_ns)) if has_times else None
            counts = column(c.cpu_ns), column(c.cycles), column(c.instructions)
            classes.append(self._class(c.core_class, index, *counts, times, most))
        if classes:
            on_classes = np.sum([c.cpu_ns for c in classes], axis=0)
            ran = np.logical_or.reduce([c.cpu_ns > 0 for c in classes])
            cpu, cpu_known = np.where(cpu_known, cpu, on_classes), cpu_known | ran
        too_much = cpu > most
        if too_much.any():
            cpu, cpu_known = np.where(too_much, 0, cpu), cpu_known & ~too_much
        known = (cpu, cpu_known, delay, delay_known)
        return TickDelta(tick.arrival_ns, dt, index, *known, hops, where, tuple(classes))

    def _class(
        self,
        name: str,
        index: Ints,
        cpu_ns: Ints,
        cycles: Ints,
        instructions: Ints,
        times: tuple[Ints, Ints] | None,
        most: int,
    ) -> ClassDelta:
        cpu, cpu_known = self._difference((name, "cpu"), cpu_ns, index)
        cyc, cyc_known = self._difference((name, "cycles"), cycles, index)
        ins, ins_known = self._difference((name, "instructions"), instructions, index)
        is_scaled = False
        if times is not None:
            enabled, enabled_known = self._difference((name, "enabled"), times[0], index)
            running, running_known = self._difference((name, "running"), times[1], index)
            partly = enabled_known & running_known & (running > 0) & (running < enabled)
            never = enabled_known & running_known & (running == 0) & (enabled > 0)
            if partly.any():
                is_scaled = True
                scale = np.where(partly, enabled / np.maximum(running, 1), 1.0)
                cyc, ins = (cyc * scale).astype(np.int64), (ins * scale).astype(np.int64)
            cyc_known = cyc_known & ~never
        fine = cpu <= most
        both = cpu_known & cyc_known & ins_known & fine
        return ClassDelta(
            name,
            np.where(fine, cpu, 0),
            np.where(both, cyc, 0),
            np.where(both, ins, 0),
            np.where(both, cpu, 0),
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
        last[index] = values
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
