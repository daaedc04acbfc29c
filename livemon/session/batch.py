"""A batch: samples taken apart into columns, the form in which blocks are written and merged.

Thread and machine counters are cumulative, so a batch holds each value as its difference from the
value before of the same thread and counter (the ``chain``). A batch with a ``state`` starts a new
chain: it carries every live thread's values, so it can be read without the batches before it.
Because differences follow one another, merging batches is concatenation: nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from livemon.model.samples import (
    ClockAnchor,
    LogCount,
    LogStream,
    Lost,
    MachineSample,
    Mark,
    Note,
    Sample,
    SelfSample,
    TargetEvent,
    ThreadGone,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)

KINDS: tuple[type[Sample], ...] = (
    TimingRecord,
    ThreadTick,
    MachineSample,
    LogStream,
    ThreadInfo,
    ThreadGone,
    SelfSample,
    Mark,
    Lost,
    LogCount,
    TargetEvent,
    ClockAnchor,
    Note,
)
"""A kind's number in the file is its place here; new kinds go to the end."""

TIMING, TICK, MACHINE = 0, 1, 2
FIRST_ROW_KIND = 3
GONE = KINDS.index(ThreadGone)
"""From here on kinds are rare: their fields are kept as they are."""

BASE_COLUMNS = ("cpu_ns", "run_delay_ns", "slices", "last_cpu")
CLASS_COLUMNS = ("cpu_ns", "cycles", "instructions")
HAS_ENABLED, HAS_RUNNING = 1, 2

Shape = TypeVar("Shape")

Row = tuple[Any, ...]
"""The fields of a rare sample, in order."""
TimingShape = tuple[str, str, int, tuple[str, ...], tuple[str, ...], int]
"""source, time_from, stream, stage names, field keys, which optional fields there are."""
HAS_UNIT, HAS_LABEL, HAS_PID, HAS_TID, HAS_START = 1, 2, 4, 8, 16
TickShape = tuple[bool, tuple[tuple[str, int], ...]]
"""is_keyframe, (core class, HAS_ENABLED | HAS_RUNNING) of each class."""


def column_key(core_class: str, name: str) -> str:
    """Name of a per-class counter in ``Ticks.columns`` and in the chain."""
    return f"{core_class}\x1f{name}"


def keys_of(shape: TickShape) -> list[str]:
    """The per-class columns that a tick of this shape has, in order."""
    keys = []
    for core_class, flags in shape[1]:
        keys += [column_key(core_class, name) for name in CLASS_COLUMNS]
        if flags & HAS_ENABLED:
            keys.append(column_key(core_class, "enabled_ns"))
        if flags & HAS_RUNNING:
            keys.append(column_key(core_class, "running_ns"))
    return keys


@dataclass(slots=True)
class TimingColumns:
    """The timing records of one shape."""

    place: int = 0
    """The shape's number in ``Timings.shape_of``."""
    stages: list[tuple[float, ...]] = field(default_factory=list)
    fields: list[tuple[str, ...]] = field(default_factory=list)
    unit: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    pid: list[int] = field(default_factory=list)
    tid: list[int] = field(default_factory=list)
    start_before: list[int] = field(default_factory=list)
    """``t_ns - start_ns``."""

    def extend(self, other: TimingColumns) -> None:
        """Append another batch's records of the same shape."""
        for name in ("stages", "fields", "unit", "label", "pid", "tid", "start_before"):
            getattr(self, name).extend(getattr(other, name))


@dataclass(slots=True)
class Timings:
    """All timing records, in order; ``shape_of`` says in which shape's columns each one is."""

    shapes: dict[TimingShape, TimingColumns] = field(default_factory=dict)
    shape_of: list[int] = field(default_factory=list)
    arrival: list[int] = field(default_factory=list)
    lag: list[int] = field(default_factory=list)
    """``arrival_ns - t_ns``."""
    offset: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Ticks:
    """All thread ticks, in order, their entries one after the other."""

    shapes: list[TickShape] = field(default_factory=list)
    shape_of: list[int] = field(default_factory=list)
    arrival: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    columns: dict[str, list[int]] = field(default_factory=dict)
    """Differences along the chain; a class's columns only for the ticks that have the class. When read
    from a block they are arrays."""


@dataclass(slots=True)
class Machines:
    """All machine samples, in order, their values one after the other as differences."""

    shapes: list[tuple[str, ...]] = field(default_factory=list)
    shape_of: list[int] = field(default_factory=list)
    arrival: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Chain:
    """The newest value of every counter: what the next differences are taken from."""

    columns: dict[str, dict[int, int]] = field(default_factory=dict)
    """Column -> thread index -> value; the base columns by their own name."""
    tick_ns: int | None = None
    """Arrival of the newest thread tick."""
    machine: dict[str, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    """Threads that ended: left out of the next full state."""

    def without_gone(self) -> Chain:
        """A copy without the ended threads: the full state with which a new chain starts."""
        gone = self.gone
        return Chain(
            {key: {i: v for i, v in held.items() if i not in gone} for key, held in self.columns.items()},
            self.tick_ns,
            dict(self.machine),
        )


@dataclass(slots=True)
class Batch:
    """Samples as columns."""

    order: bytearray = field(default_factory=bytearray)
    """The kind of each sample, in order."""
    appends: list[int] = field(default_factory=list)
    """How many samples came with each append: a reader may be in the middle of a merged block."""
    timings: Timings = field(default_factory=Timings)
    ticks: Ticks = field(default_factory=Ticks)
    machines: Machines = field(default_factory=Machines)
    rows: dict[int, list[Row]] = field(default_factory=dict)
    state: Chain | None = None


class MergeError(ValueError):
    """The batches can't become one: a thread came back after the full state that left it out."""


def merge(batches: Iterable[Batch]) -> Batch:
    """One batch of several that follow each other; only the first one's state stays.

    Raises:
        MergeError: Concatenating would give other values.
    """
    merged = Batch()
    for _ in merge_into(merged, batches):
        pass
    return merged


def merge_into(merged: Batch, batches: Iterable[Batch]) -> Iterator[None]:
    """The same into an empty batch, one a step.

    Raises:
        MergeError: Concatenating would give other values.
    """
    gone: set[int] = set()
    left_out: set[int] = set()
    for number, batch in enumerate(batches):
        if number == 0:
            merged.state = batch.state
        elif batch.state is not None:
            left_out |= gone
        if not left_out.isdisjoint(batch.ticks.index):
            raise MergeError("a thread came back")
        gone |= {row[1] for row in batch.rows.get(GONE, ())}
        merged.order += batch.order
        merged.appends += batch.appends
        _merge_timings(merged.timings, batch.timings)
        _merge_ticks(merged.ticks, batch.ticks)
        places = _places(merged.machines.shapes, batch.machines.shapes)
        merged.machines.shape_of += [places[s] for s in batch.machines.shape_of]
        merged.machines.arrival += batch.machines.arrival
        merged.machines.values += batch.machines.values
        for kind, rows in batch.rows.items():
            merged.rows.setdefault(kind, []).extend(rows)
        yield


def _merge_timings(into: Timings, new: Timings) -> None:
    here = []
    for shape, columns in new.shapes.items():
        merged = into.shapes.setdefault(shape, TimingColumns(place=len(into.shapes)))
        merged.extend(columns)
        here.append(merged.place)
    into.shape_of += [here[s] for s in new.shape_of]
    into.arrival += new.arrival
    into.lag += new.lag
    into.offset += new.offset
    into.length += new.length
    into.line += new.line


def _merge_ticks(into: Ticks, new: Ticks) -> None:
    places = _places(into.shapes, new.shapes)
    into.shape_of += [places[s] for s in new.shape_of]
    into.arrival += new.arrival
    into.late += new.late
    into.count += new.count
    into.index += new.index
    for key, values in new.columns.items():
        into.columns.setdefault(key, []).extend(values)


def _places(into: list[Shape], new: list[Shape]) -> list[int]:
    for shape in new:
        if shape not in into:
            into.append(shape)
    return [into.index(shape) for shape in new]
