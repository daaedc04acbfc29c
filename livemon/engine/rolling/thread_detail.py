"""One thread over the window: waiting, CPU per unit, IPC and cycle rate per bucket, figures by core class, facts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.grid import Doubles, Grid, optional
from livemon.engine.rolling.row_figures import IPC_FLOOR_NS, NO_COUNTERS, NO_CPU, NO_CYCLES, why_no_ipc
from livemon.engine.rolling.stage_rings import StageRing
from livemon.engine.rolling.thread_book import ThreadBook
from livemon.engine.rolling.thread_rings import (
    COUNTED,
    CPU,
    CYCLES,
    DELAY,
    HOPS,
    INSTRUCTIONS,
    ROWS,
    SECOND,
    ThreadRings,
)
from livemon.engine.tick_deltas import TickDeltas
from livemon.model.samples import Samples, ThreadTick
from livemon.model.snapshot import Figure, Quality, ThreadDetail, ThreadRow


def thread_detail(
    book: ThreadBook,
    row: ThreadRow,
    rings: ThreadRings,
    cores: CoreClasses,
    grid: Grid,
    at_ns: int,
    unit_rings: Sequence[StageRing],
    ticks: Samples,
) -> ThreadDetail:
    """The detail of the thread whose row is given; arguments as in ``RollingView.thread_detail``."""
    sums = _per_column(rings, row.index, grid, at_ns)
    units = _units_per_column(unit_rings, grid, at_ns)
    with np.errstate(invalid="ignore", divide="ignore"):
        both = sums[CPU] + sums[DELAY]
        wait = np.where(both > 0, 100.0 * sums[DELAY] / both, np.nan)
        per_unit = np.where(units > 0, sums[CPU] / 1e6 / units, np.nan)
        enough = sums[COUNTED] >= IPC_FLOOR_NS
        ipc = np.where(enough & (sums[CYCLES] > 0), sums[INSTRUCTIONS] / sums[CYCLES], np.nan)
        rate = np.where(enough, sums[CYCLES] / sums[COUNTED], np.nan)
    if row.wait_percent.value is None and not sums[DELAY].any():
        wait[:] = np.nan
    if row.index < len(rings.is_unpaired) and rings.is_unpaired[row.index]:
        ipc[:] = np.nan
    wait_s, unit_s, ipc_s, rate_s = (grid.series(v, v) for v in map(optional, (wait, per_unit, ipc, rate)))
    return ThreadDetail(
        row=row,
        wait_percent=wait_s,
        cpu_ms_per_unit=unit_s,
        ipc=ipc_s,
        cycles_per_ns=rate_s,
        per_class=_per_class(row.index, rings, cores, ticks),
        facts=_facts(book, row, at_ns, float(sums[CPU].sum()), int(sums[HOPS].sum())),
    )


def _per_column(rings: ThreadRings, index: int, grid: Grid, at_ns: int) -> Doubles:
    """The thread's sums per bucket, (ROWS, columns); no lowest and highest values."""
    out = np.zeros((ROWS, grid.columns))
    for block in rings.blocks(grid.start_ns, min(grid.end_ns, at_ns), grid.bucket_ns):
        column = grid.column(block.end_ns - 1)
        if 0 <= column < grid.columns:
            mine = np.flatnonzero(block.index == index)
            if len(mine):
                out[list(block.numbers), column] += block.held[:, mine].sum(axis=1)
    return out


def _units_per_column(rings: Sequence[StageRing], grid: Grid, at_ns: int) -> Doubles:
    out = np.zeros(grid.columns)
    for ring in rings:
        raw = ring.raw(grid.start_ns, at_ns)
        if raw is not None:
            column = raw[0] // grid.bucket_ns - grid.first_bucket
            out += np.bincount(column[(column >= 0) & (column < grid.columns)], minlength=grid.columns)
            continue
        for begin_ns, cell in ring.cells(grid.start_ns, at_ns, grid.bucket_ns)[1]:
            column_of = grid.column(begin_ns)
            if 0 <= column_of < grid.columns:
                out[column_of] += cell.n
    return out


def _per_class(
    index: int, rings: ThreadRings, cores: CoreClasses, ticks: Samples
) -> tuple[tuple[str, Figure, Figure, Figure], ...]:
    """(class, share of CPU time, IPC, cycles per ns) over the ticks given."""
    deltas = TickDeltas()
    cpu: dict[str, float] = dict.fromkeys(rings.class_names, 0.0)
    counts = {name: np.zeros(5) for name in cpu}
    is_scaled = False
    for tick in ticks:
        if not isinstance(tick, ThreadTick):
            continue
        delta = deltas.update(tick)
        at = np.flatnonzero(delta.index == index)
        if not len(at):
            continue
        if delta.classes:
            for c in delta.classes:
                cpu[c.core_class] = cpu.get(c.core_class, 0.0) + float(c.cpu_ns[at].sum())
                sums = counts.setdefault(c.core_class, np.zeros(5))
                several = (c.cycles, c.instructions, c.counted_cpu_ns, c.paired_cycles, c.paired_instructions)
                sums += [values[at].sum() for values in several]
                is_scaled = is_scaled or c.is_scaled
        else:
            for position in cores.classes_of(delta.last_cpu[at]).tolist():
                if position >= 0:
                    cpu[cores.names[position]] = cpu.get(cores.names[position], 0.0) + float(delta.cpu_ns[at].sum())
    whole = sum(cpu.values())
    if not whole:
        return ()
    quality: Quality = "measured" if rings.is_exact else "estimated"
    reason = "" if rings.is_exact else "from the CPU it was seen on at each tick"
    counted: Quality = "scaled" if is_scaled else "measured"
    rows = []
    for name, ns in cpu.items():
        cycles, instructions, counted_ns, *paired = counts.get(name, np.zeros(5)).tolist()
        ipc = rate = NO_CPU if rings.is_exact else NO_COUNTERS
        if counted_ns >= IPC_FLOOR_NS and cycles > 0:
            rate = Figure(cycles / counted_ns, counted)
            ipc = Figure(paired[1] / paired[0], counted) if paired[0] > 0 else why_no_ipc(cycles, instructions)
        elif instructions > 0 and counted_ns <= 0:
            ipc = rate = NO_CYCLES
        rows.append((name, Figure(ns / whole, quality, reason), ipc, rate))
    return tuple(rows)


def _facts(book: ThreadBook, row: ThreadRow, at_ns: int, cpu_ns: float, hops: int) -> tuple[tuple[str, str], ...]:
    """What changes rarely, as (name, text)."""
    info, before = book.info(row.index, at_ns), book.before(row.index, at_ns)
    facts = [("pid / tid", f"{row.pid if row.pid >= 0 else 'unknown'} / {row.tid}")]
    for name, value in (
        ("process", row.process),
        ("affinity", f"CPUs {info.affinity}" if info.affinity else ""),
        ("policy", info.policy or ""),
        ("nice", "" if info.nice is None else str(info.nice)),
        ("cgroup", info.cgroup or ""),
    ):
        if value:
            was = getattr(before, name, None)
            if was is not None and was != getattr(info, name):
                value += f" (was {was}; seen {max(at_ns - info.arrival_ns, 0) / SECOND:.1f} s before)"
            facts.append((name, value))
    if info.affinity or info.nice is not None:
        facts.append(("read", "every 2 to 5 s: a change may have come that much before it was seen"))
    facts.append(("first seen", f"{max(at_ns - book.born_ns(row.index), 0) / SECOND:.1f} s before"))
    gone = book.gone_ns(row.index)
    if gone is not None and gone <= at_ns:
        facts.append(("ended", f"{(at_ns - gone) / SECOND:.1f} s before"))
    facts.append(("CPU time in the window", f"{cpu_ns / 1e6:.1f} ms"))
    facts.append(("CPU changes in the window", f"{hops} seen between samples"))
    return tuple(facts)
