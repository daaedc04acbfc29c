"""Thread counters made elsewhere: JSON Lines with one tick a line, cumulative counters by core class."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from livemon.model.errors import UsageError
from livemon.model.facts import Topology
from livemon.model.samples import UNKNOWN, ClassColumns, Note, Sample, ThreadInfo, ThreadTick
from livemon.session.jsonl import CLASS_NAME

_LOOK_TICKS = 100
_COUNTERS = 3
"""Of a core class: instructions, cycles, CPU time; an export has two more behind them."""
_LIMIT = 1 << 62
"""Times and counts are within this of 0, so that no sum of two leaves 64 bits."""
_SPEED = {"P": 0, "BIG": 0, "M": 1, "E": 2, "EFFICIENCY": 2, "LITTLE": 2, "ATOM": 2, "LP-E": 3, "LPE": 3}
"""Rank by speed of the names in use; above 1: efficiency cores."""


def look_at_threads(path: Path) -> tuple[int | None, frozenset[str]]:
    """Time of the first tick (``None`` if there is none), and the core classes that the first ticks name."""
    first_ns: int | None = None
    classes: set[str] = set()
    for _, t_ns, threads in islice(_lines(path), _LOOK_TICKS):
        first_ns = t_ns if first_ns is None else first_ns
        classes.update(name for thread in threads for name in thread if CLASS_NAME.match(name))
    return first_ns, frozenset(classes)


def topology_of(classes: Iterable[str]) -> Topology:
    """What the names of core classes tell: which there are, fastest first, and which are efficiency cores."""
    names = sorted(set(classes), key=lambda name: (_SPEED.get(name, 1), name))
    slow = tuple(name for name in names if _SPEED.get(name, 1) > 1)
    return Topology(classes=tuple(names), class_source="names of the imported counters", efficiency_classes=slow)


def _lines(path: Path) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
    """Line number, time and threads of each tick; other kinds of an export's lines are passed over."""
    at = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                at = number
                if line.isspace():
                    continue
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise ValueError("not an object")
                if value.get("kind", "ThreadTick") != "ThreadTick":
                    continue
                t_ns = _whole(value["t_ns"], "t_ns")
                if t_ns < 0:
                    raise ValueError(f"t_ns is {t_ns}, before 0")
                yield number, t_ns, _objects(value["threads"])
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from None
    except (ValueError, KeyError, RecursionError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{path}, line {at}: not a thread tick ({what})", "see the format with --help") from None


def _objects(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(thread, dict) for thread in value):
        raise ValueError("threads is not a list of objects")
    return value


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_LIMIT < value < _LIMIT:
        raise ValueError(f"{name} is {value!r:.40}, not a whole number")
    return value


def _or_unknown(value: object, name: str) -> int:
    """A count: what is below 0 counts nothing, as ``null`` does."""
    return UNKNOWN if value is None else max(_whole(value, name), UNKNOWN)


def _counters(value: object, name: str) -> list[object] | tuple[None, None, None]:
    if value is None:
        return None, None, None
    if not isinstance(value, list) or len(value) < _COUNTERS:
        raise ValueError(f"{name} is {value!r:.40}, not [instructions, cycles, cpu_ns]")
    return value[:_COUNTERS]


class ThreadSamples:
    """Threads as samples: a ``ThreadInfo`` when one is first seen, then ticks.

    Identity is (pid, tid, name). Counters stay as they are given, also when they go backwards. A
    thread's CPU time is the sum over its classes, unless it is given or one of them is unknown.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._index: dict[tuple[int, int, str], int] = {}
        self.ticks = 0
        self.remarks: list[str] = []
        """What the user should know, after all was read."""

    def samples(self) -> Iterator[Sample]:
        """In order of the file; a tick that goes back in time arrives with the one before and is told in a note.

        Raises:
            UsageError: A line is not a tick; says which.
        """
        last_ns = backward = first_line = 0
        for number, (line, t_ns, threads) in enumerate(_lines(self._path), 1):
            if t_ns < last_ns:
                backward += 1
                first_line = first_line or line
            last_ns = at_ns = max(t_ns, last_ns)
            try:
                yield from self._tick(at_ns, threads)
            except (ValueError, KeyError) as error:
                what = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise UsageError(f"{self._path}, tick {number}: {what}") from None
            self.ticks += 1
        if backward:
            many = "1 tick goes" if backward == 1 else f"{backward:,} ticks go"
            text = f"{self._path}: {many} back in time, first in line {first_line}: put at the time of the one before"
            self.remarks.append(text)
            yield Note(last_ns, "warning", text)

    def _tick(self, at_ns: int, threads: list[dict[str, Any]]) -> Iterator[Sample]:
        index = array("q")
        present: set[int] = set()
        base: dict[str, array[int]] = {key: array("q") for key in ("run_delay_ns", "switches", "last_cpu")}
        cpu_ns = array("q")
        classes: dict[str, tuple[array[int], array[int], array[int]]] = {}
        for at, thread in enumerate(threads):
            info = self._thread(at_ns, thread)
            if info is not None:
                yield info
            number = self._index[_identity(thread)]
            if number in present:
                raise ValueError(f"thread {thread['tid']} is in it twice")
            present.add(number)
            index.append(number)
            for key, column in base.items():
                column.append(_or_unknown(thread.get(key), key))
            known: int | None = None
            for name, values in thread.items():
                if not CLASS_NAME.match(name):
                    continue
                columns = classes.get(name)
                if columns is None:
                    columns = classes[name] = array("q"), array("q"), array("q")
                for column, value in zip(columns, _counters(values, name), strict=True):
                    _fill(column, at)
                    column.append(_or_unknown(value, name))
                spent = columns[2][at] if len(columns[2]) > at else UNKNOWN
                if spent == UNKNOWN:
                    known = UNKNOWN
                elif known != UNKNOWN:
                    known = (known or 0) + spent
            given = thread.get("cpu_ns")
            cpu_ns.append(_or_unknown(given, "cpu_ns") if given is not None else UNKNOWN if known is None else known)
        for columns in classes.values():
            for column in columns:
                _fill(column, len(index))
        per_class = tuple(
            ClassColumns(name, spent, cycles, instructions) for name, (instructions, cycles, spent) in classes.items()
        )
        yield ThreadTick(at_ns, index, cpu_ns, base["run_delay_ns"], base["switches"], base["last_cpu"], per_class)

    def _thread(self, at_ns: int, thread: dict[str, Any]) -> ThreadInfo | None:
        """The thread's introduction, if it is new."""
        identity = _identity(thread)
        if identity in self._index:
            return None
        index = self._index[identity] = len(self._index)
        pid, tid, name = identity
        return ThreadInfo(at_ns, index, pid, tid, name)


def _identity(thread: dict[str, Any]) -> tuple[int, int, str]:
    return _or_unknown(thread.get("pid"), "pid"), _whole(thread["tid"], "tid"), str(thread.get("name", ""))


def _fill(column: array[int], length: int) -> None:
    """Threads before this one that lack the class: not measured."""
    if len(column) < length:
        column.extend([UNKNOWN] * (length - len(column)))
