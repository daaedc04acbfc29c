"""Batches back to samples: the chain of counters is added up again.

Small batches (the live end of a session) are added up in plain Python; large ones with numpy, which
is imported only then, and only by readers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate, starmap
from typing import Any

from livemon.model.samples import UNKNOWN, ClassColumns, MachineSample, Sample, ThreadTick
from livemon.model.unfrozen import unfrozen
from livemon.session.batch import (
    BASE_COLUMNS,
    CLASS_COLUMNS,
    GONE,
    HAS_ENABLED,
    HAS_RUNNING,
    KINDS,
    MACHINE,
    TICK,
    TIMING,
    Batch,
    Chain,
    Machines,
    Ticks,
    column_key,
    keys_of,
)
from livemon.session.columns import ColumnError
from livemon.session.timing_records import timing_records

_UnfrozenTick = unfrozen(ThreadTick)
_NUMPY_FROM = 2000
"""Entries of a batch from which on numpy is faster."""


class Decoder:
    """Turns batches into samples; batches come in the order in which they were written."""

    def __init__(self) -> None:
        self.chain: Chain | None = None
        """``None``: unknown, because nothing was read yet or the batch before was lost."""

    def lose(self) -> None:
        """A batch could not be read: differences mean nothing until the next full state."""
        self.chain = None

    def decode(self, batch: Batch) -> list[Sample]:
        """The samples of a batch, in order.

        While the chain is broken, thread ticks and machine samples are left out (and only those):
        better nothing than a wrong value.
        """
        if batch.state is not None:
            self.chain = batch.state.without_gone()
        chain = self.chain
        streams: dict[int, Iterator[Sample]] = {kind: starmap(KINDS[kind], rows) for kind, rows in batch.rows.items()}
        if chain is not None:
            if batch.ticks.arrival:
                streams[TICK] = _thread_ticks(batch.ticks, chain)
            if batch.machines.arrival:
                streams[MACHINE] = _machine_samples(batch.machines, chain)
        missing = () if chain is not None else (TICK, MACHINE)
        try:
            if batch.timings.arrival:
                streams[TIMING] = iter(timing_records(batch.timings))
            samples = [next(streams[kind]) for kind in batch.order if kind not in missing]
        except (KeyError, StopIteration, TypeError, ValueError, IndexError) as error:
            raise ColumnError(f"block does not hold what it lists: {error}") from error
        if chain is not None:
            _follow_gone(batch, chain)
        return samples


def _follow_gone(batch: Batch, chain: Chain) -> None:
    """Which threads have ended; one that ticks again has not."""
    rows = batch.rows.get(GONE, [])
    if not rows and not chain.gone:
        return
    ended = iter(rows)
    ends = accumulate(batch.ticks.count)
    start = 0
    for kind in batch.order:
        if kind == GONE:
            chain.gone.add(next(ended)[1])
        elif kind == TICK:
            end = next(ends)
            chain.gone.difference_update(batch.ticks.index[start:end])
            start = end


def _machine_samples(machines: Machines, chain: Chain) -> Iterator[Sample]:
    held = chain.machine
    steps = iter(machines.values)
    for shape, arrival in zip(machines.shape_of, machines.arrival, strict=True):
        values = []
        for name in machines.shapes[shape]:
            value = held.get(name, 0) + next(steps)
            held[name] = value
            values.append((name, value))
        yield MachineSample(arrival, tuple(values))


def _thread_ticks(ticks: Ticks, chain: Chain) -> Iterator[Sample]:
    columns = _add_up(ticks, chain)
    chain.tick_ns = ticks.arrival[-1]
    index = array("q", ticks.index)
    cpu_ns, run_delay_ns, slices, last_cpu = [columns[name] for name in BASE_COLUMNS]
    at = dict.fromkeys(columns, 0)
    start = 0
    for shape, arrival, late, count in zip(ticks.shape_of, ticks.arrival, ticks.late, ticks.count, strict=True):
        is_keyframe, classes = ticks.shapes[shape]
        mine = slice(start, start + count)
        tick: Any = _UnfrozenTick(
            arrival,
            index[mine],
            cpu_ns[mine],
            run_delay_ns[mine],
            slices[mine],
            last_cpu[mine],
            tuple([_class_columns(columns, at, count, *one) for one in classes]) if classes else (),
            is_keyframe,
            late,
        )
        tick.__class__ = ThreadTick
        yield tick
        start += count


def _class_columns(
    columns: dict[str, array[int]], at: dict[str, int], count: int, core_class: str, flags: int
) -> ClassColumns:
    """The next tick's columns of a core class; ``at``: how far each column has been read."""

    def cut(name: str) -> array[int]:
        key = column_key(core_class, name)
        begin = at[key]
        at[key] = begin + count
        return columns[key][begin : begin + count]

    class_ns, cycles, instructions = [cut(name) for name in CLASS_COLUMNS]
    enabled = cut("enabled_ns") if flags & HAS_ENABLED else None
    running = cut("running_ns") if flags & HAS_RUNNING else None
    return ClassColumns(core_class, class_ns, cycles, instructions, enabled, running)


def _add_up(ticks: Ticks, chain: Chain) -> dict[str, array[int]]:
    """The values of every column, entries one after the other."""
    key_sets = [frozenset(keys_of(shape)) for shape in ticks.shapes]
    if any(not isinstance(values, array) for values in ticks.columns.values()) or len(ticks.index) < _NUMPY_FROM:
        return _add_up_plainly(ticks, chain, key_sets)
    import numpy as np  # a large batch: only readers come here

    index = np.array(ticks.index, dtype=np.int64)
    shape_of = np.array(ticks.shape_of)
    counts = np.array(ticks.count)
    is_narrow = bool(len(index)) and int(index.min()) >= 0 and int(index.max()) < 1 << 16
    orders: dict[tuple[bool, ...], tuple[Any, ...]] = {}
    columns = {}
    for key, steps in ticks.columns.items():
        has = tuple(key in BASE_COLUMNS or key in keys for keys in key_sets)
        if has not in orders:
            mine = index if all(has) else index[np.repeat(np.array(has)[shape_of], counts)]
            # Of 16-bit numbers the order is found in one pass.
            order = (mine.astype(np.uint16) if is_narrow else mine).argsort(kind="stable")
            threads = mine[order]
            starts = np.flatnonzero(np.diff(threads, prepend=threads[:1] - 1))
            sizes = np.diff(np.append(starts, len(threads)))
            orders[has] = order, starts, sizes, threads[starts].tolist()
        order, starts, sizes, names = orders[has]
        if len(steps) != len(order):
            raise ColumnError(f"column {key!r} has {len(steps)} entries, expected {len(order)}")
        held = chain.columns.setdefault(key, {})
        sorted_steps = np.asarray(steps).astype(np.int64)[order]
        sums = np.cumsum(sorted_steps)
        before = np.array([held.get(i, 0) for i in names], dtype=np.int64)
        sums += np.repeat(before - sums[starts] + sorted_steps[starts], sizes)
        values = np.empty(len(order), dtype=np.int64)
        values[order] = sums
        held.update(zip(names, sums[starts + sizes - 1].tolist(), strict=True))
        columns[key] = array("q", values.tobytes())
    return columns


def _add_up_plainly(ticks: Ticks, chain: Chain, key_sets: list[frozenset[str]]) -> dict[str, array[int]]:
    columns = {}
    for key, steps in ticks.columns.items():
        has = [key in BASE_COLUMNS or key in keys for keys in key_sets]
        held = chain.columns.setdefault(key, {})
        values = array("q")
        at = start = 0
        for shape, count in zip(ticks.shape_of, ticks.count, strict=True):
            if has[shape]:
                for i, step in zip(ticks.index[start : start + count], steps[at : at + count], strict=True):
                    value = held.get(i, 0) + step
                    held[i] = value
                    values.append(value)
                at += count
            start += count
        columns[key] = values
    return columns


def full_state(chain: Chain) -> ThreadTick | None:
    """The newest readings of every live thread as one keyframe; ``None`` before the first tick."""
    if chain.tick_ns is None:
        return None
    index = array("q", sorted(set(chain.columns.get("cpu_ns", {})) - chain.gone))

    def column(key: str) -> array[int]:
        held = chain.columns.get(key, {})
        return array("q", [held.get(i, UNKNOWN) for i in index])

    classes = []
    for key in chain.columns:
        core_class, found, name = key.partition("\x1f")
        if found and name == CLASS_COLUMNS[0]:
            enabled, running = [
                column(column_key(core_class, extra)) if column_key(core_class, extra) in chain.columns else None
                for extra in ("enabled_ns", "running_ns")
            ]
            class_ns, cycles, instructions = [column(column_key(core_class, counter)) for counter in CLASS_COLUMNS]
            classes.append(ClassColumns(core_class, class_ns, cycles, instructions, enabled, running))
    cpu_ns, run_delay_ns, slices, last_cpu = [column(name) for name in BASE_COLUMNS]
    return ThreadTick(chain.tick_ns, index, cpu_ns, run_delay_ns, slices, last_cpu, tuple(classes), is_keyframe=True)
