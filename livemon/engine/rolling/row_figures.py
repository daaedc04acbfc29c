"""Current figures of threads: computed for all of them at once, made into values for those that are shown.

CPU % and waiting are over the newest second; what needs more events (IPC, cycle rate, CPU per unit,
migrations, efficiency share) over the newest ``RECENT_NS``, or the window if that is shorter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.thread_rings import (
    CLASSES,
    COUNTED,
    CPU,
    CYCLES,
    DELAY,
    HOPS,
    INSTRUCTIONS,
    ROWS,
    SECOND,
    Doubles,
    ThreadRings,
)
from livemon.model.snapshot import Figure, Quality

RECENT_NS = 5 * SECOND
NOW_ROWS = (CPU, DELAY)
RECENT_ROWS = (CPU, HOPS, CYCLES, INSTRUCTIONS, COUNTED, *range(CLASSES, ROWS))
"""What is summed up over the newest second, and over ``RECENT_NS``."""
IPC_FLOOR_NS = 200_000
"""CPU time under which IPC and cycle rate are not given."""

NO_SECOND = Figure(None, "unknown", "no tick in the newest second")
NOT_MEASURED = Figure(None, "unknown", "its CPU time was not measured, or what was read can't be (livemon doctor)")
NO_DELAY = Figure(None, "unknown", "run-queue delay can't be read here (livemon doctor says why)")
NO_COUNTERS = Figure(None, "unknown", "no hardware counters (livemon doctor says why)")
NO_CYCLES = Figure(None, "unknown", "this PMU counts no cycles, only instructions")
NO_INSTRUCTIONS = Figure(None, "unknown", "this PMU counts no instructions, only cycles")
NOT_PAIRED = Figure(None, "unknown", "cycles and instructions are not both counted on all core classes")
NO_CPU = Figure(None, "unknown", "ran too little for the counters in the last seconds")
NO_UNITS = Figure(None, "unknown", "no unit of work in the last seconds")
NO_WHERE = Figure(None, "unknown", "the CPU it runs on can't be read here")
NO_CLASSES = Figure(None, "unknown", "this machine's core classes are not known")
ONE_CLASS = Figure(None, "unknown", "all cores are of one class")
IDLE = Figure(None, "unknown", "did not run in the last seconds")
ZERO = Figure(0.0)
ALL = Figure(1.0)
NO_HOPS = Figure(0.0, "estimated", "CPU changes seen between samples")


def why_no_ipc(cycles: float, instructions: float) -> Figure:
    """The reason where one was counted without the other."""
    if cycles > 0 and instructions <= 0:
        return NO_INSTRUCTIONS
    return NO_CYCLES if instructions > 0 and cycles <= 0 else NOT_PAIRED


class RowFigures:
    """Current figures of the threads, by their index: summed up for all of them, made one by one."""

    def __init__(
        self,
        rings: ThreadRings,
        cores: CoreClasses,
        now: Doubles,
        now_ns: int,
        recent: Doubles,
        recent_ns: int,
        units: int | None,
    ) -> None:
        self._names = rings.class_names
        self._is_exact = rings.is_exact
        self._scaled: Quality = "scaled" if rings.is_scaled else "measured"
        self._scaled_reason = "the counters were active only part of the time" if rings.is_scaled else ""
        self._units = units
        self._now_ns, self._recent_ns = now_ns, recent_ns
        # The rings go on changing; what is read here is of this frame.
        self._where = rings.last_cpu.copy()
        self._lacks_cpu = rings.lacks_cpu.copy()
        self._has_delay = rings.has_delay.copy()
        self._has_where = rings.has_where.copy()
        self._has_counters = rings.has_counters.copy()
        self._is_unpaired = rings.is_unpaired.copy()
        self._held = len(self._where)
        self._now, self._recent = now, recent
        by_class = recent[CLASSES : CLASSES + len(self._names)]
        is_efficiency = [cores.is_efficiency(name) for name in self._names]
        self._tells = len(self._names) > 1 or any(is_efficiency)
        self._classed = by_class.sum(axis=0)
        self._efficient = by_class[is_efficiency].sum(axis=0)
        self._by_class = by_class
        self._cores = cores

    def _is(self, flags: npt.NDArray[np.bool_], thread: int) -> bool:
        return thread < self._held and bool(flags.item(thread))

    def last_cpu(self, thread: int) -> Figure:
        """CPU it was last seen on."""
        where = self._cpu_of(thread)
        return Figure(float(where)) if where >= 0 else NO_WHERE

    def _cpu_of(self, thread: int) -> int:
        return self._where.item(thread) if thread < self._held else -1

    def core_class(self, thread: int) -> tuple[str | None, Quality]:
        """Class it ran on last."""
        if self._is_exact and self._names and self._classed.item(thread) > 0:
            return self._names[int(self._by_class[:, thread].argmax())], "measured"
        position = int(self._cores.classes_of(self._where[thread : thread + 1])[0]) if thread < self._held else -1
        if position >= 0:
            topology = self._cores.names
            return topology[position], "estimated" if len(topology) > 1 else "measured"
        return None, "unknown"

    def lacks_cpu(self, thread: int) -> bool:
        """Whether its newest reading gave no CPU time."""
        return self._is(self._lacks_cpu, thread)

    def cpu_percent(self, thread: int) -> Figure:
        """Percent of one core over the newest second."""
        if not self._now_ns:
            return NO_SECOND
        if self._is(self._lacks_cpu, thread):
            return NOT_MEASURED
        cpu = self._now.item(CPU, thread)
        return Figure(100.0 * cpu / self._now_ns) if cpu else ZERO

    def cpu_per_unit(self, thread: int) -> Figure:
        """CPU ms per unit of work."""
        if not self._units:
            return NO_UNITS
        if self._is(self._lacks_cpu, thread):
            return NOT_MEASURED
        return Figure(self._recent.item(CPU, thread) / 1e6 / self._units) if self._recent.item(CPU, thread) else ZERO

    def ipc(self, thread: int) -> Figure:
        """Instructions per cycle."""
        if not self._is(self._has_counters, thread):
            return NO_COUNTERS
        if self._is(self._is_unpaired, thread):
            return why_no_ipc(self._recent.item(CYCLES, thread), self._recent.item(INSTRUCTIONS, thread))
        if self._recent.item(COUNTED, thread) < IPC_FLOOR_NS or self._recent.item(CYCLES, thread) <= 0:
            return NO_CPU
        return Figure(
            self._recent.item(INSTRUCTIONS, thread) / self._recent.item(CYCLES, thread),
            self._scaled,
            self._scaled_reason,
        )

    def cycles_per_ns(self, thread: int) -> Figure:
        """Cycles per CPU ns: relative, not a clock frequency."""
        if not self._is(self._has_counters, thread):
            return NO_COUNTERS
        if self._recent.item(COUNTED, thread) < IPC_FLOOR_NS:
            return (
                NO_CYCLES
                if self._recent.item(INSTRUCTIONS, thread) > 0 and self._recent.item(COUNTED, thread) <= 0
                else NO_CPU
            )
        return Figure(
            self._recent.item(CYCLES, thread) / self._recent.item(COUNTED, thread), self._scaled, self._scaled_reason
        )

    def wait_percent(self, thread: int) -> Figure:
        """Run-queue delay in percent of CPU time and delay over the newest second."""
        if not self._is(self._has_delay, thread):
            return NO_DELAY
        if not self._now_ns:
            return NO_SECOND
        both = self._now.item(CPU, thread) + self._now.item(DELAY, thread)
        return Figure(100.0 * self._now.item(DELAY, thread) / both) if both > 0 else ZERO

    def delay_percent(self, thread: int) -> Figure:
        """Run-queue delay in percent of the newest second."""
        if not self._is(self._has_delay, thread):
            return NO_DELAY
        if not self._now_ns:
            return NO_SECOND
        return Figure(100.0 * self._now.item(DELAY, thread) / self._now_ns)

    def migrations(self, thread: int) -> Figure:
        """CPU changes a second, a lower bound."""
        if not self._is(self._has_where, thread):
            return NO_WHERE
        if not self._recent_ns:
            return NO_SECOND
        if not self._recent.item(HOPS, thread):
            return NO_HOPS
        return Figure(
            self._recent.item(HOPS, thread) / (self._recent_ns / 1e9), "estimated", "CPU changes seen between samples"
        )

    def efficiency_share(self, thread: int) -> Figure:
        """Share of its CPU time on efficiency cores."""
        if not self._tells:
            return NO_CLASSES if not self._names else ONE_CLASS
        if self._classed.item(thread) <= 0:
            return IDLE
        share = self._efficient.item(thread) / self._classed.item(thread)
        if self._is_exact:
            return ZERO if share == 0 else ALL if share == 1 else Figure(share)
        return Figure(share, "estimated", "from the CPU it was seen on at each tick")
