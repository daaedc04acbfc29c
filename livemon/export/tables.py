"""Tidy tables of a session, row by row: ``timings``, ``threads``, ``findings``.

- ``timings``: one row a stage of a unit; sums and quantiles of ``duration_ms`` by (class, stage) are
  the report's.
- ``threads``: one row a thread and sampling interval in which it was listed, with what it did in
  it; per-core-class counters are columns such as ``cycles_P``.
- ``findings``: one row a finding; causes and ledger as JSON text.

``t_ns`` is the session clock, ``unix_ns`` wall time; empty (null) is unknown, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from livemon.export.plots import ClassedSample
from livemon.export.report_json import finding_json
from livemon.export.thread_deltas import ThreadDelta, ThreadDeltas
from livemon.export.times import SessionTimes
from livemon.model.clock import WallMapping
from livemon.model.findings import OversizedFinalize
from livemon.model.judgement import Judgement
from livemon.model.samples import UNKNOWN, ThreadTick, TimingRecord

Kind = Literal["int", "float", "text", "bool"]
Value = int | float | str | bool | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column with its type; every column may be null."""

    name: str
    kind: Kind


def _columns(**kinds: Kind) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name.rstrip("_"), kind) for name, kind in kinds.items())


TIMINGS = _columns(
    t_ns="int", unix_ns="int", arrival_ns="int", time_from="text", source="text", unit="text", class_="text",
    stage="text", role="text", duration_ms="float", start_ns="int", pid="int", tid="int", stream="int", line="int",
    offset="int",
)  # fmt: skip
THREADS = _columns(
    start_ns="int", end_ns="int", unix_ns="int", pid="int", tid="int", name="text", process="text", cpu_ns="int",
    run_delay_ns="int", slices="int", last_cpu="int", core_class="text", core_class_from="text",
)  # fmt: skip
FINDINGS = _columns(
    id="text", kind="text", severity="text", start_ns="int", end_ns="int", unix_ns="int", detected_ns="int",
    ongoing="bool", duration_s="float", class_="text", stage="text", p50_ms="float", budget_ms="float",
    device_stage="text", ratio_to_device="float", share_of_total="float", saving_ms_per_step="float",
    slowdown="float", peak_p99_ms="float", primary_cause="text", cost_ms="float", units="int", slow_units="int",
    causes="text", ledger="text",
)  # fmt: skip


def core_classes(judgement: Judgement, samples: Iterable[ClassedSample]) -> tuple[str, ...]:
    """Core classes that have counters in the session, in the order of the topology, then of appearance."""
    found: dict[str, None] = {}
    for sample, _ in samples:
        if isinstance(sample, ThreadTick):
            found |= dict.fromkeys(columns.core_class for columns in sample.classes)
    known = judgement.facts.topology.classes
    return tuple(sorted(found, key=lambda name: known.index(name) if name in known else len(known)))


def thread_columns(classes: Sequence[str]) -> tuple[TableColumn, ...]:
    """Columns of ``threads`` with those of the core classes."""
    extra = (TableColumn(f"{what}_{name}", "int") for name in classes for what in ("cpu_ns", "cycles", "instructions"))
    return (*THREADS, *extra)


class RowMaker:
    """Turns classed samples into rows of ``timings`` and ``threads``, in recorded order."""

    def __init__(self, judgement: Judgement, classes: Sequence[str] = ()) -> None:
        self._roles = {(row.class_key, row.stage): row.role for row in judgement.stages}
        self._stage_roles = {row.stage: row.role for row in judgement.stages}
        self._unix = UnixTimes(judgement)
        self._deltas = ThreadDeltas(judgement.facts.topology)
        self._classes = tuple(classes)

    def timings(self, record: TimingRecord, class_key: str | None) -> Iterator[Row]:
        """One row a stage of the unit."""
        unix_ns = self._unix.at(record.t_ns)
        for stage, duration_ms in record.stages:
            role = self._roles.get((class_key, stage)) or self._stage_roles.get(stage)
            yield (
                record.t_ns, unix_ns, record.arrival_ns, record.time_from, record.source, record.unit, class_key,
                stage, role, duration_ms, record.start_ns, record.pid, record.tid, record.stream, record.line or None,
                None if record.offset == UNKNOWN else record.offset,
            )  # fmt: skip

    def threads(self, sample: object) -> Iterator[Row]:
        """One row a thread that the tick lists; nothing for other samples."""
        for delta in self._deltas.update(sample):  # type: ignore[arg-type]
            yield self._thread(delta)

    def _thread(self, delta: ThreadDelta) -> Row:
        info = self._deltas.infos.get(delta.thread)
        came_from = None if delta.core_class is None else "counters" if delta.is_exact else "last_cpu"
        counters = {c.core_class: c for c in delta.classes}
        extra: list[Value] = []
        for name in self._classes:
            found = counters.get(name)
            extra += [None] * 3 if found is None else [found.cpu_ns, found.cycles, found.instructions]
        return (
            delta.start_ns, delta.end_ns, self._unix.at(delta.end_ns), info.pid if info else None,
            info.tid if info else None, info.name if info else None, info.process if info else None, delta.cpu_ns,
            delta.run_delay_ns, delta.slices, delta.last_cpu, delta.core_class, came_from, *extra,
        )  # fmt: skip


class UnixTimes:
    """Session ns to unix ns; ``None`` where nothing ties the session to wall time."""

    def __init__(self, judgement: Judgement) -> None:
        self._mapping = WallMapping(judgement.anchors)
        self._is_unix = judgement.facts.clock == "unix"

    def at(self, t_ns: int) -> int | None:
        """Unix ns at a session time."""
        return t_ns if self._is_unix else self._mapping.wall_ns(t_ns)


def finding_rows(judgement: Judgement) -> Iterator[Row]:
    """One row a finding; ``end_ns`` is null while it is ongoing."""
    times, unix = SessionTimes(judgement, "monotonic"), UnixTimes(judgement)
    for finding in judgement.findings:
        values = finding_json(finding, judgement, times)
        values |= {
            "start_ns": finding.start_ns,
            "end_ns": finding.end_ns,
            "unix_ns": unix.at(finding.start_ns),
            "detected_ns": finding.detected_ns,
        }
        if isinstance(finding, OversizedFinalize):
            values |= {"slow_units": None}
        for key in ("causes", "ledger"):
            values[key] = json.dumps(values[key], ensure_ascii=False) if values.get(key) else None
        yield tuple(values.get(column.name) for column in FINDINGS)
