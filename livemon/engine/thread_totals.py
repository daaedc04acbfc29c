"""What every thread did over the whole session: CPU time, placement, IPC, cycle rate, waiting, migrations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livemon.engine.core_classes import CoreClasses
from livemon.engine.tick_deltas import MAX_THREADS, Ints, TickDelta, TickDeltas
from livemon.model.judgement import ThreadStats
from livemon.model.samples import ThreadGone, ThreadInfo, ThreadTick

IPC_FLOOR_NS = 1_000_000
"""CPU time under which IPC and cycle rate are not given: counters start and stop inside it."""


class _Sums:
    """Growing columns by thread index."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], Ints] = {}

    def add(self, name: str, core_class: str, index: Ints, values: Ints) -> None:
        column = self._columns.get((name, core_class))
        need = int(index.max()) + 1 if len(index) else 0
        if column is None or len(column) < need:
            grown = np.zeros(max(64, 2 * need), np.int64)
            if column is not None:
                grown[: len(column)] = column
            column = self._columns[name, core_class] = grown
        np.add.at(column, index, values)  # of a run of ticks a thread comes several times

    def get(self, name: str, core_class: str, thread: int) -> int:
        column = self._columns.get((name, core_class))
        return int(column[thread]) if column is not None and thread < len(column) else 0


class ThreadTotals:
    """Sums by thread; livemon's own threads are left out."""

    def __init__(self, cores: CoreClasses) -> None:
        self._cores = cores
        self._deltas = TickDeltas()
        self._infos: dict[int, ThreadInfo] = {}
        self._found_ns: dict[int, int] = {}
        self._ended_ns: dict[int, int] = {}
        self._sums = _Sums()
        self._classes: list[str] = []

    @property
    def resets(self) -> int:
        """Counters that went backwards."""
        return self._deltas.resets

    @property
    def ignored(self) -> int:
        """Readings that were not followed, as there were too many threads."""
        return self._deltas.ignored

    def meet(self, info: ThreadInfo) -> None:
        """A thread was found, or is now called otherwise."""
        if 0 <= info.index < MAX_THREADS:
            self._infos[info.index] = info
            self._found_ns.setdefault(info.index, info.arrival_ns)

    def end(self, gone: ThreadGone) -> None:
        """A thread ended."""
        self._deltas.forget(gone.index)
        if gone.index in self._infos:
            self._ended_ns[gone.index] = gone.arrival_ns

    def begin_anew(self) -> None:
        """What was done so far does not count; readings stay, so that what comes next is told whole."""
        self._sums, self._classes = _Sums(), []
        self._deltas.resets = self._deltas.ignored = 0
        for thread in self._ended_ns:
            del self._infos[thread], self._found_ns[thread]
        self._ended_ns.clear()

    def update(self, ticks: Sequence[ThreadTick]) -> None:
        """Take ticks between which no thread ended."""
        run = self._deltas.update_run(ticks)
        for delta in [run.delta] if run is not None else map(self._deltas.update, ticks):
            self._add(delta)

    def _add(self, delta: TickDelta) -> None:
        index, sums = delta.index, self._sums
        sums.add("cpu", "", index, delta.cpu_ns)
        sums.add("cpu_known", "", index, delta.cpu_known.astype(np.int64))
        sums.add("delay", "", index, delta.delay_ns)
        sums.add("delay_known", "", index, delta.delay_known.astype(np.int64))
        sums.add("hops", "", index, delta.hops)
        sums.add("where_known", "", index, (delta.last_cpu >= 0).astype(np.int64))
        for c in delta.classes:
            if c.core_class not in self._classes:
                self._classes.append(c.core_class)
            sums.add("cpu", c.core_class, index, c.cpu_ns)
            sums.add("cycles", c.core_class, index, c.cycles)
            sums.add("paired_cycles", c.core_class, index, c.paired_cycles)
            sums.add("paired_instructions", c.core_class, index, c.paired_instructions)
            sums.add("counted", c.core_class, index, c.counted_cpu_ns)
        if self._cores.is_hybrid and all(self._cores.is_joined(c.core_class) for c in delta.classes):
            where = self._cores.classes_of(delta.last_cpu)
            for position, name in enumerate(self._cores.names):
                sums.add("estimated", name, index, np.where(where == position, delta.cpu_ns, 0))

    def get(self) -> tuple[ThreadStats, ...]:
        """Every thread that was seen, most CPU time first."""
        rows = [self._stats(info) for info in self._infos.values() if not info.is_self]
        return tuple(sorted(rows, key=lambda row: (-(row.cpu_ms or 0.0), row.pid, row.tid)))

    def _stats(self, info: ThreadInfo) -> ThreadStats:
        thread, sums = info.index, self._sums
        cycles = sum(sums.get("paired_cycles", name, thread) for name in self._classes)
        instructions = sum(sums.get("paired_instructions", name, thread) for name in self._classes)
        counted = sum(sums.get("counted", name, thread) for name in self._classes)
        share, source = self._placement(thread)
        rates = []
        for name in self._classes:
            ns = sums.get("counted", name, thread)
            rates.append((name, sums.get("cycles", name, thread) / ns if ns >= IPC_FLOOR_NS else None))
        return ThreadStats(
            pid=info.pid,
            tid=info.tid,
            name=info.name,
            cpu_ms=sums.get("cpu", "", thread) / 1e6 if sums.get("cpu_known", "", thread) else None,
            efficiency_share=share,
            efficiency_share_from=source,
            ipc=instructions / cycles if cycles > 0 and counted >= IPC_FLOOR_NS else None,
            cycles_per_ns=tuple(rates),
            run_delay_ms=sums.get("delay", "", thread) / 1e6 if sums.get("delay_known", "", thread) else None,
            migrations=sums.get("hops", "", thread) if sums.get("where_known", "", thread) else None,
            lifetime_ns=self._ended_ns[thread] - self._found_ns[thread] if thread in self._ended_ns else None,
        )

    def _placement(self, thread: int) -> tuple[float | None, str]:
        """Efficiency share and where it comes from, or why it is unknown."""
        for kind, names, source in (
            ("cpu", self._classes, "counters"),
            ("estimated", list(self._cores.names), "last_cpu"),
        ):
            if len(names) > 1 or any(self._cores.is_efficiency(name) for name in names):
                by_class = {name: self._sums.get(kind, name, thread) for name in names}
                whole = sum(by_class.values())
                if whole > 0:
                    return sum(v for name, v in by_class.items() if self._cores.is_efficiency(name)) / whole, source
        if self._classes or self._cores.is_hybrid:
            return None, "no CPU time seen" if len(self._classes) != 1 else "counters of one core class only"
        return None, "one core class" if len(self._cores.names) == 1 else "core classes unknown"
