"""The class of every record: what the line states, else its position in the detected cycle.

A class that is visible in the line (key fields, label) beats everything else. Lines that state none
are followed per log, format, process and device; their cycle is found in the finalize stage, else in
the total (``livemon.engine.cycle``). While a cycle is being found, records wait: the classifier hands
them out later, in order, each with the arrival time of the record that settled it. Everything that
needs classes (detector, totals, views) runs its own classifier over the same records and so sees the
same classes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from livemon.engine.cycle import Cycle
from livemon.engine.shapes import Shape, ShapeTable
from livemon.model.criteria import Criteria
from livemon.model.samples import Sample, TimingRecord

GROUPS = 512
"""Logs x formats x processes that are followed at the same time; the oldest is dropped beyond."""
_KNOWN = 100_000
_DEVICE_FIELDS = frozenset({"dev", "device", "rank", "worker"})

Group = tuple[int, str, int | None, str | None]
"""(stream, source, pid, device) of a line: run indexes and step times are its own."""


class Classified(NamedTuple):
    """A record whose class is settled."""

    record: TimingRecord
    shape: Shape
    values: tuple[float, ...]
    class_key: str | None
    is_warmup: bool
    """The first run: it counts in totals, never in baselines and ratios."""
    run: int | None
    """Run index, if the line's unit is a number (of ``pid/n`` the n)."""
    period: int | None
    """Of the cycle that ``class_key`` is a position of; ``None`` for labels and without a cycle."""
    known_ns: int
    """Arrival of the record that settled the class."""
    group: Group


def label_of(record: TimingRecord, criteria: Criteria) -> str | None:
    """Class key that the record states: its key fields joined with ``/``, else its label, else ``None``.

    Fields that a line lacks are left out, so ``keys = ["kernel", "hid"]`` reads lines with either.
    """
    keys = criteria.classes.keys
    if keys and record.fields:
        fields = dict(record.fields)
        parts = [fields[key] for key in keys if key in fields]
        if parts:
            return "/".join(parts)
    return record.label


def position_key(index: int, period: int) -> str:
    """Class key of a position in a cycle: ``i/p`` with i = run index modulo p."""
    return f"{index % period}/{period}"


def index_of(unit: str | None) -> int | None:
    """Run index of a unit id: a plain number, or the number after the last ``/`` (``pid/inv``)."""
    if not unit:
        return None
    if not unit.isdecimal():
        unit = unit.rpartition("/")[2]
        if not unit.isdecimal():
            return None
    return int(unit) if len(unit) < 19 else None


class _Stream:
    """One followed stream: its cycle and the records that wait for a class."""

    __slots__ = ("cycle", "waiting")

    def __init__(self, cycle: Cycle) -> None:
        self.cycle = cycle
        self.waiting: deque[tuple[TimingRecord, Shape, tuple[float, ...], bool, int | None, Group]] = deque()


class Classifier:
    """Classes of records, in the order in which they are settled."""

    def __init__(self, criteria: Criteria, shapes: ShapeTable | None = None) -> None:
        self._criteria = criteria
        self._shapes = shapes or ShapeTable(criteria)
        self._streams: dict[tuple[Group, str], _Stream] = {}
        self._groups: dict[tuple[int, str, int | None, str | None, str | None], Group] = {}
        self._keys: dict[tuple[int, int], str] = {}
        self._newest_ns = 0
        self._main: _Stream | None = None

    @property
    def period(self) -> int | None:
        """Period of the cycle in force: the newest one above 1, else 1; ``None`` while none is known."""
        known = [stream.cycle.period for stream in self._streams.values() if stream.cycle.period is not None]
        if self._main is not None and self._main.cycle.period not in (None, 1):
            return self._main.cycle.period
        return next((period for period in reversed(known) if period > 1), 1 if known else None)

    @property
    def waiting(self) -> int:
        """Records that have no class yet."""
        return sum(len(stream.waiting) for stream in self._streams.values())

    def update(self, samples: Iterable[Sample]) -> list[Classified]:
        """Take the next samples; returns the records that have a class now, none of them twice."""
        done: list[Classified] = []
        for sample in samples:
            if type(sample) is TimingRecord and sample.stages:
                self._take(sample, done)
        return done

    def finish(self) -> list[Classified]:
        """The stream has ended: every record that still waits gets the best class known."""
        done: list[Classified] = []
        for stream in self._streams.values():
            self._hand_out(stream, stream.cycle.finish(), done)
        return done

    def _take(self, record: TimingRecord, done: list[Classified]) -> None:
        shape, values = self._shapes.of(record.stages)
        self._newest_ns = record.arrival_ns
        label = record.label if not self._criteria.classes.keys else label_of(record, self._criteria)
        device = None
        for name, value in record.fields:
            if name in _DEVICE_FIELDS:
                device = value
                break
        key = (record.stream, record.source, record.pid, device, label)
        group = self._groups.get(key)
        index = index_of(record.unit)
        is_warmup = index == 0
        if group is None:
            is_warmup = index is None or index <= 1
            group = key[:4]
            if len(self._groups) < _KNOWN:
                self._groups[key] = group
        driver = None if label is not None else self._driver(shape)
        if driver is None:
            done.append(Classified(record, shape, values, label, is_warmup, index, None, record.arrival_ns, group))
            return
        stream = self._streams.get((group, shape.names[driver]))
        if stream is None:
            stream = self._open(group, shape.names[driver], done)
        stream.waiting.append((record, shape, values, is_warmup, index, group))
        phases = stream.cycle.update(index, values[driver], counts=not is_warmup)
        if phases:
            self._hand_out(stream, phases, done)
        if shape.finalize and stream.cycle.period not in (None, 1):
            self._main = stream

    def _driver(self, shape: Shape) -> int | None:
        """The stage whose cycle is followed: finalize, else total, else a span's one stage."""
        if shape.finalize:
            return shape.finalize[0]
        if shape.total is not None:
            return shape.total
        return 0 if len(shape.names) == 1 else None

    def _open(self, group: Group, driver: str, done: list[Classified]) -> _Stream:
        if len(self._streams) >= GROUPS:
            oldest = self._streams.pop(next(iter(self._streams)))
            self._hand_out(oldest, oldest.cycle.finish(), done)
        cycle = self._criteria.classes.cycle
        stream = self._streams[(group, driver)] = _Stream(Cycle(cycle.period, cycle.max_period))
        return stream

    def _hand_out(self, stream: _Stream, phases: list[tuple[int, int] | None], done: list[Classified]) -> None:
        for phase in phases:
            record, shape, values, is_warmup, index, group = stream.waiting.popleft()
            key, period = None, None
            if phase is not None and (phase[1] > 1 or shape.finalize):
                period = phase[1]
                key = self._keys.get(phase) or self._keys.setdefault(phase, position_key(*phase))
            done.append(Classified(record, shape, values, key, is_warmup, index, period, self._newest_ns, group))
