"""Samples to batches: takes samples apart and keeps the chain of newest counter values."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat
from operator import attrgetter, sub

from livemon.model.samples import MachineSample, Samples, ThreadTick, TimingRecord
from livemon.session.batch import (
    BASE_COLUMNS,
    CLASS_COLUMNS,
    FIRST_ROW_KIND,
    GONE,
    HAS_ENABLED,
    HAS_LABEL,
    HAS_PID,
    HAS_RUNNING,
    HAS_START,
    HAS_TID,
    HAS_UNIT,
    KINDS,
    MACHINE,
    TICK,
    TIMING,
    Batch,
    Chain,
    TickShape,
    TimingColumns,
    column_key,
)

_KIND_OF = {kind: number for number, kind in enumerate(KINDS)}
_ROW_OF = {number: attrgetter(*kind.__slots__) for number, kind in enumerate(KINDS) if number >= FIRST_ROW_KIND}


class Encoder:
    """Turns samples into batches; one per session being written."""

    def __init__(self) -> None:
        self.chain = Chain()
        self.needs_state = True
        """The next batch starts a new chain."""

    def encode(self, *appends: Samples) -> Batch:
        """Take the samples of appends that follow each other apart, advancing the chain.

        Raises:
            TypeError: Something in them is not a sample.
            ValueError: The columns of a tick differ in length.
        """
        batch = Batch(appends=[len(samples) for samples in appends])
        if self.needs_state:
            self.chain = self.chain.without_gone()
            batch.state = self.chain.without_gone()
            self.needs_state = False
        order, rows = batch.order, batch.rows
        for sample in [sample for samples in appends for sample in samples]:
            kind = _KIND_OF.get(type(sample))
            if kind is None:
                raise TypeError(f"not a sample: {sample!r}")
            order.append(kind)
            if kind == TIMING:
                _add_timing(batch, sample)  # type: ignore[arg-type]
            elif kind == TICK:
                self._add_tick(batch, sample)  # type: ignore[arg-type]
            elif kind == MACHINE:
                self._add_machine(batch, sample)  # type: ignore[arg-type]
            else:
                rows.setdefault(kind, []).append(_ROW_OF[kind](sample))
                if kind == GONE:
                    self.chain.gone.add(sample.index)  # type: ignore[union-attr,arg-type]
        return batch

    def _add_tick(self, batch: Batch, tick: ThreadTick) -> None:
        ticks, chain = batch.ticks, self.chain
        index = list(tick.index)
        classes = tuple(
            [
                (c.core_class, (c.enabled_ns is not None) * HAS_ENABLED | (c.running_ns is not None) * HAS_RUNNING)
                for c in tick.classes
            ]
        )
        shape: TickShape = (tick.is_keyframe, classes)
        if shape not in ticks.shapes:
            ticks.shapes.append(shape)
        ticks.shape_of.append(ticks.shapes.index(shape))
        ticks.arrival.append(tick.arrival_ns)
        ticks.late.append(tick.late_ns)
        ticks.count.append(len(index))
        ticks.index.extend(index)
        is_unique = len(set(index)) == len(index)
        for name in BASE_COLUMNS:
            self._add_column(batch, name, index, getattr(tick, name), is_unique)
        for c in tick.classes:
            for name in CLASS_COLUMNS:
                self._add_column(batch, column_key(c.core_class, name), index, getattr(c, name), is_unique)
            if c.enabled_ns is not None:
                self._add_column(batch, column_key(c.core_class, "enabled_ns"), index, c.enabled_ns, is_unique)
            if c.running_ns is not None:
                self._add_column(batch, column_key(c.core_class, "running_ns"), index, c.running_ns, is_unique)
        chain.tick_ns = tick.arrival_ns
        if chain.gone:
            chain.gone.difference_update(index)

    def _add_column(self, batch: Batch, key: str, index: Sequence[int], values: Sequence[int], is_unique: bool) -> None:
        if len(values) != len(index):
            raise ValueError(f"{key} has {len(values)} values of {len(index)} threads")
        held = self.chain.columns.setdefault(key, {})
        column = batch.ticks.columns.setdefault(key, [])
        get = held.get
        if is_unique:
            new = values.tolist() if isinstance(values, array) else values
            column.extend(map(sub, new, map(get, index, repeat(0))))
            held.update(zip(index, new, strict=True))
        else:
            for i, value in zip(index, values, strict=True):
                column.append(value - get(i, 0))
                held[i] = value

    def _add_machine(self, batch: Batch, sample: MachineSample) -> None:
        machines, held = batch.machines, self.chain.machine
        names = tuple(name for name, _ in sample.values)
        if names not in machines.shapes:
            machines.shapes.append(names)
        machines.shape_of.append(machines.shapes.index(names))
        machines.arrival.append(sample.arrival_ns)
        for name, value in sample.values:
            machines.values.append(value - held.get(name, 0))
            held[name] = value


def _add_timing(batch: Batch, record: TimingRecord) -> None:
    timings = batch.timings
    stages, fields = record.stages, record.fields
    names, values = zip(*stages, strict=True) if stages else ((), ())
    keys, texts = zip(*fields, strict=True) if fields else ((), ())
    has = 0
    if record.unit is not None:
        has = HAS_UNIT
    if record.label is not None:
        has |= HAS_LABEL
    if record.pid is not None:
        has |= HAS_PID
    if record.tid is not None:
        has |= HAS_TID
    if record.start_ns is not None:
        has |= HAS_START
    shape = (record.source, record.time_from, record.stream, names, keys, has)
    columns = timings.shapes.get(shape)
    if columns is None:
        columns = timings.shapes[shape] = TimingColumns(place=len(timings.shapes))
    timings.shape_of.append(columns.place)
    timings.arrival.append(record.arrival_ns)
    timings.lag.append(record.arrival_ns - record.t_ns)
    timings.offset.append(record.offset)
    timings.length.append(record.length)
    timings.line.append(record.line)
    columns.stages.append(values)
    if fields:
        columns.fields.append(texts)
    if has & HAS_UNIT:
        columns.unit.append(record.unit)  # type: ignore[arg-type]
    if has & HAS_LABEL:
        columns.label.append(record.label)  # type: ignore[arg-type]
    if has & HAS_PID:
        columns.pid.append(record.pid)  # type: ignore[arg-type]
    if has & HAS_TID:
        columns.tid.append(record.tid)  # type: ignore[arg-type]
    if has & HAS_START:
        columns.start_before.append(record.t_ns - record.start_ns)  # type: ignore[operator]
