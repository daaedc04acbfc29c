"""Timing columns back to timing records: the hot path of reading, a record in about a microsecond."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, repeat
from operator import sub
from typing import Any

from livemon.model.samples import StageValues, TimingRecord
from livemon.model.unfrozen import unfrozen
from livemon.session.batch import (
    HAS_LABEL,
    HAS_PID,
    HAS_START,
    HAS_TID,
    HAS_UNIT,
    TimingColumns,
    Timings,
    TimingShape,
)

_UnfrozenRecord = unfrozen(TimingRecord)


def timing_records(timings: Timings) -> Iterable[TimingRecord]:
    """The records of a batch, in order.

    Raises:
        ValueError: Columns have other lengths than they should.
    """
    t_ns = list(map(sub, timings.arrival, timings.lag))
    common = [timings.arrival, t_ns, timings.offset, timings.length, timings.line]
    if len(timings.shapes) == 1 and not any(timings.shape_of):
        ((shape, columns),) = timings.shapes.items()
        return _records(shape, columns, common)
    parts = []
    for place, (shape, columns) in enumerate(timings.shapes.items()):
        mine = [number == place for number in timings.shape_of]
        parts.append(iter(_records(shape, columns, [list(compress(column, mine)) for column in common])))
    return [next(parts[number]) for number in timings.shape_of]


def _records(shape: TimingShape, columns: TimingColumns, common: list[list[int]]) -> list[TimingRecord]:
    """The records of one shape; ``common``: arrival, time, offset, length and line of each."""
    source, time_from, stream, names, keys, has = shape
    arrival, t_ns, offset, length, line = common
    texts: Sequence[tuple[tuple[str, str], ...]] = _paired(keys, columns.fields)
    stages: Sequence[StageValues] = _paired(names, columns.stages)
    optional = [
        column if has & flag else None
        for flag, column in (
            (HAS_UNIT, columns.unit),
            (HAS_LABEL, columns.label),
            (HAS_PID, columns.pid),
            (HAS_TID, columns.tid),
            (HAS_START, columns.start_before),
        )
    ]
    needed = [*common, stages, *([texts] if keys else []), *[column for column in optional if column is not None]]
    if any(len(column) != len(arrival) for column in needed):
        raise ValueError("timing columns of different lengths")
    unit, label, pid, tid, before = optional
    start_ns = None if before is None else list(map(sub, t_ns, before))
    made: list[Any] = list(
        map(
            _UnfrozenRecord,
            arrival,
            t_ns,
            repeat(time_from),
            repeat(source),
            unit or repeat(None),
            label or repeat(None),
            stages,
            texts if keys else repeat(()),
            pid or repeat(None),
            tid or repeat(None),
            start_ns or repeat(None),
            repeat(stream),
            offset,
            length,
            line,
        )
    )
    for record in made:
        record.__class__ = TimingRecord
    return made


def _paired(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[tuple[str, Any], ...]]:
    """Each row's values with their names; empty rows as they are."""
    if not names or not rows:
        return rows
    columns = zip(*rows, strict=True)
    return list(zip(*[zip(repeat(name), column) for name, column in zip(names, columns, strict=True)], strict=True))
