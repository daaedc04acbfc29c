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
    """Current figures of the rows, computed for all of them, read one by one."""

    def __init__(
        self,
        rings: ThreadRings,
        cores: CoreClasses,
        now: Doubles,
        now_ns: int,
        recent: Doubles,
        recent_ns: int,
        units: int | None,
        there: npt.NDArray[np.int64],
    ) -> None:
        known = np.minimum(there, len(rings.last_cpu) - 1)
        inside = there < len(rings.last_cpu)
        self._names = rings.class_names
        self._is_exact = rings.is_exact
        self._scaled: Quality = "scaled" if rings.is_scaled else "measured"
        self._scaled_reason = "the counters were active only part of the time" if rings.is_scaled else ""
        self._units = units
        self._now_ns, self._recent_ns = now_ns, recent_ns
        self._where = np.where(inside, rings.last_cpu[known], -1).tolist()
        self._lacks_cpu: list[bool] = (rings.lacks_cpu[known] & inside).tolist()
        self._has_delay = (rings.has_delay[known] & inside).tolist()
        self._has_where = (rings.has_where[known] & inside).tolist()
        self._has_counters = (rings.has_counters[known] & inside).tolist()
        self._is_unpaired = (rings.is_unpaired[known] & inside).tolist()
        self._cpu_now, self._delay_now = now[CPU].tolist(), now[DELAY].tolist()
        self._cpu, self._hops = recent[CPU].tolist(), recent[HOPS].tolist()
        self._cycles, self._instructions = recent[CYCLES].tolist(), recent[INSTRUCTIONS].tolist()
        self._counted = recent[COUNTED].tolist()
        by_class = recent[CLASSES : CLASSES + len(self._names)]
        self._classed = by_class.sum(axis=0).tolist() if self._names else [0.0] * len(there)
        is_efficiency = [cores.is_efficiency(name) for name in self._names]
        self._tells = len(self._names) > 1 or any(is_efficiency)
        self._efficient = by_class[is_efficiency].sum(axis=0).tolist() if self._names else [0.0] * len(there)
        self._most = by_class.argmax(axis=0).tolist() if self._names else [0] * len(there)
        self._where_class = cores.classes_of(np.asarray(self._where, np.int64)).tolist()
        self._topology = cores.names

    def last_cpu(self, row: int) -> Figure:
        """CPU it was last seen on."""
        return Figure(float(self._where[row])) if self._where[row] >= 0 else NO_WHERE

    def core_class(self, row: int) -> tuple[str | None, Quality]:
        """Class it ran on last."""
        if self._is_exact and self._classed[row] > 0:
            return self._names[self._most[row]], "measured"
        position = self._where_class[row]
        if position >= 0:
            return self._topology[position], "estimated" if len(self._topology) > 1 else "measured"
        return None, "unknown"

    def lacks_cpu(self, row: int) -> bool:
        """Whether its newest reading gave no CPU time."""
        return self._lacks_cpu[row]

    def cpu_percent(self, row: int) -> Figure:
        """Percent of one core over the newest second."""
        if not self._now_ns:
            return NO_SECOND
        if self._lacks_cpu[row]:
            return NOT_MEASURED
        cpu = self._cpu_now[row]
        return Figure(100.0 * cpu / self._now_ns) if cpu else ZERO

    def cpu_per_unit(self, row: int) -> Figure:
        """CPU ms per unit of work."""
        if not self._units:
            return NO_UNITS
        if self._lacks_cpu[row]:
            return NOT_MEASURED
        return Figure(self._cpu[row] / 1e6 / self._units) if self._cpu[row] else ZERO

    def ipc(self, row: int) -> Figure:
        """Instructions per cycle."""
        if not self._has_counters[row]:
            return NO_COUNTERS
        if self._is_unpaired[row]:
            return why_no_ipc(self._cycles[row], self._instructions[row])
        if self._counted[row] < IPC_FLOOR_NS or self._cycles[row] <= 0:
            return NO_CPU
        return Figure(self._instructions[row] / self._cycles[row], self._scaled, self._scaled_reason)

    def cycles_per_ns(self, row: int) -> Figure:
        """Cycles per CPU ns: relative, not a clock frequency."""
        if not self._has_counters[row]:
            return NO_COUNTERS
        if self._counted[row] < IPC_FLOOR_NS:
            return NO_CYCLES if self._instructions[row] > 0 and self._counted[row] <= 0 else NO_CPU
        return Figure(self._cycles[row] / self._counted[row], self._scaled, self._scaled_reason)

    def wait_percent(self, row: int) -> Figure:
        """Run-queue delay in percent of CPU time and delay over the newest second."""
        if not self._has_delay[row]:
            return NO_DELAY
        if not self._now_ns:
            return NO_SECOND
        both = self._cpu_now[row] + self._delay_now[row]
        return Figure(100.0 * self._delay_now[row] / both) if both > 0 else ZERO

    def migrations(self, row: int) -> Figure:
        """CPU changes a second, a lower bound."""
        if not self._has_where[row]:
            return NO_WHERE
        if not self._recent_ns:
            return NO_SECOND
        if not self._hops[row]:
            return NO_HOPS
        return Figure(self._hops[row] / (self._recent_ns / 1e9), "estimated", "CPU changes seen between samples")

    def efficiency_share(self, row: int) -> Figure:
        """Share of its CPU time on efficiency cores."""
        if not self._tells:
            return NO_CLASSES if not self._names else ONE_CLASS
        if self._classed[row] <= 0:
            return IDLE
        share = self._efficient[row] / self._classed[row]
        if self._is_exact:
            return ZERO if share == 0 else ALL if share == 1 else Figure(share)
        return Figure(share, "estimated", "from the CPU it was seen on at each tick")
