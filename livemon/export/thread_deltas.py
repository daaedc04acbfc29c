"""Cumulative thread readings -> what each thread did between two of them.

A thread that a tick does not list has not changed, so a reading covers the time since the tick
before it, not since the thread's own last reading. Gaps in sampling stay gaps: the first tick after
one gives no figures for the time in between. A counter that went back gives no figure either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from livemon.model.facts import Topology
from livemon.model.samples import UNKNOWN, Lost, MachineSample, Sample, ThreadGone, ThreadInfo, ThreadTick


class ClassDelta(NamedTuple):
    """Counters of one thread on one core class in the interval; ``None`` where not measured."""

    core_class: str
    cpu_ns: int | None
    cycles: int | None
    instructions: int | None


class ThreadDelta(NamedTuple):
    """One thread in the interval between two ticks."""

    thread: int
    """``ThreadInfo.index``."""
    start_ns: int
    end_ns: int
    cpu_ns: int | None
    run_delay_ns: int | None
    slices: int | None
    last_cpu: int | None
    core_class: str | None
    """Where it ran most: exact by counters, else the class of the CPU it was last seen on; ``None`` unknown."""
    is_exact: bool
    classes: tuple[ClassDelta, ...] = ()

    @property
    def class_cpu_ns(self) -> tuple[tuple[str, int], ...]:
        """CPU time by core class: as counted, else all of it on ``core_class``."""
        counted = tuple((c.core_class, c.cpu_ns) for c in self.classes if c.cpu_ns)
        if counted:
            return counted
        return ((self.core_class, self.cpu_ns),) if self.core_class and self.cpu_ns else ()


class ThreadDeltas:
    """Turns ticks into deltas; ``infos`` names the threads seen."""

    def __init__(self, topology: Topology) -> None:
        every = (*topology.cpus, *topology.others)
        self._classes_by_speed = topology.classes
        self._class_of = {cpu.cpu: cpu.core_class for cpu in every if cpu.core_class != "unknown"}
        self._last: dict[int, tuple[int, ...]] = {}
        self._last_classes: dict[int, dict[str, tuple[int, int, int]]] = {}
        self._previous_ns: int | None = None
        self.infos: dict[int, ThreadInfo] = {}
        self.interval_ns: tuple[int, int] | None = None
        """What the newest tick covers; ``None`` for the first one and the first after a gap."""

    def update(self, sample: Sample) -> Iterator[ThreadDelta]:
        """Take a sample; a tick yields one delta for each thread it lists and that was known before."""
        if isinstance(sample, ThreadTick):
            yield from self._tick(sample)
        elif isinstance(sample, MachineSample):
            self._take_classes(sample)
        elif isinstance(sample, ThreadInfo):
            self.infos[sample.index] = sample
        elif isinstance(sample, ThreadGone):
            self._last.pop(sample.index, None)
            self._last_classes.pop(sample.index, None)
        elif isinstance(sample, Lost) and sample.source.startswith("threads") and sample.end_ns is not None:
            self._previous_ns = None

    def _take_classes(self, sample: MachineSample) -> None:
        """Core classes of CPUs that came online after the start."""
        for cpu, place in sample.core_classes.items():
            if place < len(self._classes_by_speed):
                self._class_of[cpu] = self._classes_by_speed[place]

    def _tick(self, tick: ThreadTick) -> Iterator[ThreadDelta]:
        previous_ns, self._previous_ns = self._previous_ns, tick.arrival_ns
        self.interval_ns = None if previous_ns is None else (previous_ns, tick.arrival_ns)
        last = self._last
        for row, index in enumerate(tick.index):
            now = (tick.cpu_ns[row], tick.run_delay_ns[row], tick.slices[row])
            before = last.get(index)
            last[index] = now
            classes = self._classes(tick, row, index) if tick.classes else ()
            if before is None or previous_ns is None or previous_ns >= tick.arrival_ns:
                continue
            cpu_ns = _delta(before[0], now[0])
            if cpu_ns is None and classes:
                counted = [c.cpu_ns for c in classes if c.cpu_ns is not None]
                cpu_ns = sum(counted) if counted else None
            last_cpu = None if tick.last_cpu[row] == UNKNOWN else tick.last_cpu[row]
            ran_on = [c for c in classes if c.cpu_ns] if classes else ()
            if ran_on:
                core_class: str | None = max(ran_on, key=lambda c: c.cpu_ns or 0).core_class
            else:
                core_class = None if last_cpu is None else self._class_of.get(last_cpu)
            yield ThreadDelta(
                index,
                previous_ns,
                tick.arrival_ns,
                cpu_ns,
                _delta(before[1], now[1]),
                _delta(before[2], now[2]),
                last_cpu,
                core_class,
                bool(ran_on),
                classes,
            )

    def _classes(self, tick: ThreadTick, row: int, index: int) -> tuple[ClassDelta, ...]:
        """What the thread did on each core class since its last reading; notes the reading."""
        before = self._last_classes.get(index, {})
        now = {c.core_class: (c.cpu_ns[row], c.cycles[row], c.instructions[row]) for c in tick.classes}
        self._last_classes[index] = now
        return tuple(
            ClassDelta(
                name, _delta(before[name][0], new[0]), _delta(before[name][1], new[1]), _delta(before[name][2], new[2])
            )
            for name, new in now.items()
            if name in before
        )


def _delta(old: int, new: int) -> int | None:
    return None if UNKNOWN in (old, new) or new < old else new - old
