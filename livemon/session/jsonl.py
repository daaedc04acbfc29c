"""Samples as JSON Lines and back: ``export --to jsonl`` writes them, ``import --jsonl`` reads them.

One object a line. The first one is ``{"kind": "SessionFacts", ...}``. Every sample but one kind is its
fields by name with ``"kind"`` in front; stages and fields are lists of pairs, because their order
counts. A thread tick is the line that other tools use for thread counters::

    {"kind": "ThreadTick", "t_ns": N, "threads": [{"index": 0, "pid": 1, "tid": 2, "name": "worker",
     "cpu_ns": N, "run_delay_ns": N, "last_cpu": N, "switches": N, "P": [instructions, cycles, cpu_ns]}]}

with ``null`` for what was not measured, ``keyframe`` and ``late_ns`` where they say something, and two
more numbers in a class's list where the counters' own times are known (``enabled_ns``,
``running_ns``). A core class whose name is not in capitals is under ``"classes"``. So a line of the
export can be given to ``import --threads``, and nothing is lost on the way back.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from livemon.model.facts import SessionFacts
from livemon.model.samples import (
    UNKNOWN,
    ClassColumns,
    Sample,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)
from livemon.session.batch import KINDS
from livemon.session.facts_json import facts_from_object, facts_to_object
from livemon.session.typed import build, whole

CLASS_NAME = re.compile(r"[A-Z][A-Z0-9_-]*\Z")
"""A key of a thread that is a core class."""

_KIND_OF_NAME = {kind.__name__: kind for kind in KINDS}
_KEY = {"kind": "stream_kind"}
"""Field -> key, where a sample's own field would take the place of the line's ``kind``."""
_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in KINDS}
FACTS_KIND = "SessionFacts"


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _number(value: object) -> int:
    return UNKNOWN if value is None else whole(value)


def facts_to_line(facts: SessionFacts) -> str:
    """The first line of an export."""
    return json.dumps({"kind": FACTS_KIND, **facts_to_object(facts)})


class LineWriter:
    """Samples to lines; remembers the threads, whose ids and names stand in every tick."""

    def __init__(self) -> None:
        self._threads: dict[int, ThreadInfo] = {}

    def line(self, sample: Sample) -> str:
        """One sample as one line without terminator."""
        if isinstance(sample, ThreadTick):
            value = self._tick(sample)
        else:
            if isinstance(sample, ThreadInfo):
                self._threads[sample.index] = sample
            kind = type(sample)
            value = {"kind": kind.__name__}
            value |= {_KEY.get(name, name): getattr(sample, name) for name in _FIELDS[kind]}
        return json.dumps(value)

    def lines(self, samples: Iterable[Sample]) -> Iterator[str]:
        """Lines without terminators."""
        return map(self.line, samples)

    def _tick(self, tick: ThreadTick) -> dict[str, Any]:
        threads = []
        for at, index in enumerate(tick.index):
            thread: dict[str, Any] = {"index": index}
            info = self._threads.get(index)
            if info is not None:
                thread.update(pid=_known(info.pid), tid=info.tid, name=info.name)
            thread["cpu_ns"] = _known(tick.cpu_ns[at])
            thread["run_delay_ns"] = _known(tick.run_delay_ns[at])
            thread["last_cpu"] = _known(tick.last_cpu[at])
            thread["switches"] = _known(tick.slices[at])
            others = {}
            for c in tick.classes:
                values = [_known(c.instructions[at]), _known(c.cycles[at]), _known(c.cpu_ns[at])]
                if c.enabled_ns is not None or c.running_ns is not None:
                    values.append(None if c.enabled_ns is None else _known(c.enabled_ns[at]))
                    values.append(None if c.running_ns is None else _known(c.running_ns[at]))
                if CLASS_NAME.match(c.core_class):
                    thread[c.core_class] = values
                else:
                    others[c.core_class] = values
            if others:
                thread["classes"] = others
            threads.append(thread)
        value: dict[str, Any] = {"kind": "ThreadTick", "t_ns": tick.arrival_ns, "threads": threads}
        if tick.is_keyframe:
            value["keyframe"] = True
        if tick.late_ns:
            value["late_ns"] = tick.late_ns
        if tick.classes:
            value["columns"] = [
                [c.core_class, c.enabled_ns is not None, c.running_ns is not None] for c in tick.classes
            ]
        return value


def read_line(text: str | bytes) -> Sample | SessionFacts:
    """What one line of an export says.

    Raises:
        ValueError: It is not such a line.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    name = value.pop("kind", None)
    if name == FACTS_KIND:
        return facts_from_object(value)
    kind = _KIND_OF_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"unknown kind {name!r}")
    if kind is ThreadTick:
        return _read_tick(value)
    if "stream_kind" in value:
        value["kind"] = value.pop("stream_kind")
    try:
        sample: Sample = build(kind, value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if isinstance(sample, TimingRecord) and any(ms < 0 for _, ms in sample.stages):
        raise ValueError(f"{name}: a stage takes less than no time")
    return sample


def _read_tick(value: dict[str, Any]) -> ThreadTick:
    try:
        threads, t_ns = value["threads"], whole(value["t_ns"])
        index = array("q", [whole(thread["index"]) for thread in threads])
        base = {
            name: array("q", [_number(thread.get(key)) for thread in threads])
            for name, key in (
                ("cpu_ns", "cpu_ns"),
                ("run_delay_ns", "run_delay_ns"),
                ("slices", "switches"),
                ("last_cpu", "last_cpu"),
            )
        }
        classes = tuple(_read_class(threads, *column) for column in value.get("columns", ()))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"not a thread tick: {error!r}") from None
    return ThreadTick(
        arrival_ns=t_ns,
        index=index,
        **base,
        classes=classes,
        is_keyframe=bool(value.get("keyframe")),
        late_ns=whole(value.get("late_ns", 0)),
    )


def _read_class(threads: list[dict[str, Any]], name: str, has_enabled: bool, has_running: bool) -> ClassColumns:
    rows = [
        [_number(number) for number in (thread[name] if CLASS_NAME.match(name) else thread["classes"][name])]
        for thread in threads
    ]

    def column(place: int) -> array[int]:
        return array("q", [row[place] for row in rows])

    return ClassColumns(
        name, column(2), column(1), column(0), column(3) if has_enabled else None, column(4) if has_running else None
    )
