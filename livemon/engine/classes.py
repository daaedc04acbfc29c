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
from functools import partial
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


_classified = partial(tuple.__new__, Classified)
"""A ``Classified`` of a tuple of its values: half the time of naming them, once for every record."""


class _Stream:
    """One followed stream: its cycle and the records that wait for a class."""

    __slots__ = ("cycle", "waiting")

    def __init__(self, cycle: Cycle) -> None:
        self.cycle = cycle
        self.waiting: deque[tuple[TimingRecord, Shape, tuple[float, ...], bool, int | None, Group]] = deque()


class _Route(NamedTuple):
    """Where the records of one kind of line go."""

    group: Group
    shape: Shape
    driver: int
    """Position of the stage whose cycle is followed."""
    stream: _Stream | None
    """``None`` where the line states its class, or nothing in it can be followed."""


class Classifier:
    """Classes of records, in the order in which they are settled."""

    def __init__(self, criteria: Criteria, shapes: ShapeTable | None = None) -> None:
        self._criteria = criteria
        self._shapes = shapes or ShapeTable(criteria)
        self._streams: dict[tuple[Group, str], _Stream] = {}
        self._has_keys = bool(criteria.classes.keys)
        self._known: set[tuple[int, str, int | None, str | None, str | None]] = set()
        """Groups and labels that have had their first run."""
        self._routes: dict[tuple[tuple[str, ...], int, str, int | None, str | None, str | None], _Route] = {}
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
        take = self._take
        for sample in samples:
            if type(sample) is TimingRecord and sample.stages:
                take(sample, done)
        return done

    def finish(self) -> list[Classified]:
        """The stream has ended: every record that still waits gets the best class known."""
        done: list[Classified] = []
        for stream in self._streams.values():
            self._hand_out(stream, stream.cycle.finish(), done)
        return done

    def _take(self, record: TimingRecord, done: list[Classified]) -> None:
        names, values = zip(*record.stages)  # noqa: B905 - pairs; told so it takes half as long again
        self._newest_ns = arrival_ns = record.arrival_ns
        label = record.label if not self._has_keys else label_of(record, self._criteria)
        device = None
        for name, value in record.fields:
            if name in _DEVICE_FIELDS:
                device = value
                break
        key = (names, record.stream, record.source, record.pid, device, label)
        index = index_of(record.unit)
        is_warmup = index == 0
        route = self._routes.get(key)
        if route is None:
            shape = self._shapes.named(names)
            if key[1:] not in self._known:
                is_warmup = index is None or index <= 1
                if len(self._known) < _KNOWN:
                    self._known.add(key[1:])
            driver = None if label is not None else self._driver(shape)
            group = key[1:5]
            stream = None if driver is None else self._stream(group, names[driver], done)
            route = _Route(group, shape, driver or 0, stream)
            if len(self._routes) < _KNOWN:
                self._routes[key] = route
        group, shape, driver_at, stream = route
        if stream is None:
            done.append(_classified((record, shape, values, label, is_warmup, index, None, arrival_ns, group)))
            return
        cycle = stream.cycle
        phases = cycle.update(index, values[driver_at], counts=not is_warmup)
        if len(phases) == 1 and not stream.waiting:
            class_key, period = self._key(phases[0], shape)
            done.append(_classified((record, shape, values, class_key, is_warmup, index, period, arrival_ns, group)))
        else:
            stream.waiting.append((record, shape, values, is_warmup, index, group))
            self._hand_out(stream, phases, done)
        if shape.finalize and cycle.period not in (None, 1):
            self._main = stream

    def _driver(self, shape: Shape) -> int | None:
        """The stage whose cycle is followed: finalize, else total, else a span's one stage."""
        if shape.finalize:
            return shape.finalize[0]
        if shape.total is not None:
            return shape.total
        return 0 if len(shape.names) == 1 else None

    def _stream(self, group: Group, driver: str, done: list[Classified]) -> _Stream:
        known = self._streams.get((group, driver))
        if known is not None:
            return known
        if len(self._streams) >= GROUPS:
            oldest = self._streams.pop(next(iter(self._streams)))
            self._hand_out(oldest, oldest.cycle.finish(), done)
            self._routes.clear()
        cycle = self._criteria.classes.cycle
        stream = self._streams[(group, driver)] = _Stream(Cycle(cycle.period, cycle.max_period))
        return stream

    def _key(self, phase: tuple[int, int] | None, shape: Shape) -> tuple[str | None, int | None]:
        """Class key and period of a phase."""
        if phase is None or (phase[1] == 1 and not shape.finalize):
            return None, None
        return self._keys.get(phase) or self._keys.setdefault(phase, position_key(*phase)), phase[1]

    def _hand_out(self, stream: _Stream, phases: list[tuple[int, int] | None], done: list[Classified]) -> None:
        for phase in phases:
            record, shape, values, is_warmup, index, group = stream.waiting.popleft()
            key, period = self._key(phase, shape)
            done.append(Classified(record, shape, values, key, is_warmup, index, period, self._newest_ns, group))
