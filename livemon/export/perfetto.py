"""A session as a Chrome JSON trace, which ui.perfetto.dev and its trace processor open.

Times are µs from the earliest moment of the session, so they are never negative and never so large
that a double loses nanoseconds. Tracks:

- each watched process: a track a thread with slices of the core class it ran on, and counters
  (CPU %, run-queue wait %, and where counted IPC and cycles per ns);
- ``livemon units``: a track a class with one slice a unit and its stages inside it; units that
  overlap go to further lanes of the class, because slices of a track must nest;
- spans that carry exact start and thread go to a track of their own beside that thread;
- ``livemon findings``: episodes, oversized stages, gaps and marks.

A timing line has durations, not positions: its stages are laid end to end from the unit's start, and
``otherData`` says so. Events are written as they come; only lane ends are kept in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from livemon.export.plots import ClassedSample
from livemon.export.report_json import finding_json
from livemon.export.thread_deltas import ClassDelta, ThreadDelta, ThreadDeltas
from livemon.export.times import SessionTimes
from livemon.model.findings import Finding, HostSlowTransient
from livemon.model.judgement import Judgement
from livemon.model.samples import Mark, Sample, ThreadInfo, ThreadTick, TimingRecord

UNITS_PID = 100_000_001
FINDINGS_PID = 100_000_002
"""Above the largest pid that Linux gives, so they never meet a real one."""
FIRST_SPAN_TID = 200_000_001
MAX_LANES = 64
BATCH_EVENTS = 500
Event = dict[str, Any]


def write_trace(
    judgement: Judgement,
    samples: Callable[[], Iterable[ClassedSample]],
    write: Callable[[str], object],
) -> int:
    """Write the whole trace; returns the number of events.

    Args:
        judgement: The judged session: findings, roles, marks and gaps.
        samples: Gives the classed samples from the start; called twice (the first pass finds the origin).
        write: Takes text.
    """
    origin_ns = earliest_ns(judgement, (sample for sample, _ in samples()))
    head = {
        "displayTimeUnit": "ms",
        "otherData": {
            "made_by": "livemon",
            "session": judgement.path,
            "host": judgement.facts.host,
            "session_clock": judgement.facts.clock,
            "origin_ns": str(origin_ns),
            "origin_s": SessionTimes(judgement).seconds(origin_ns),
            "stage_positions": "laid end to end in the line's order; only durations were measured",
        },
    }
    write(json.dumps(head, allow_nan=False)[:-1] + ', "traceEvents": [')
    count = 0
    events = TraceEvents(judgement, origin_ns).events(samples())
    # Many events a call: setting up the encoder costs more than one event does.
    while batch := list(islice(events, BATCH_EVENTS)):
        text = json.dumps(batch, allow_nan=False, separators=(",", ":"))
        write((",\n" if count else "\n") + text[1:-1])
        count += len(batch)
    write("\n]}\n")
    return count


def earliest_ns(judgement: Judgement, samples: Iterable[Sample]) -> int:
    """The earliest moment that anything in the trace refers to."""
    moments = [f.start_ns for f in judgement.findings] + [gap.start_ns for gap in judgement.gaps]
    moments += [t_ns for t_ns, _ in judgement.marks]
    if judgement.start_ns is not None:
        moments.append(judgement.start_ns)
    earliest = min(moments, default=None)
    roles = stage_roles(judgement)
    for sample in samples:
        if isinstance(sample, TimingRecord):
            moment = unit_interval(sample, roles)[0]
        elif isinstance(sample, ThreadTick | Mark):
            moment = sample.t_ns if isinstance(sample, Mark) else sample.arrival_ns
        else:
            continue
        if earliest is None or moment < earliest:
            earliest = moment
    return earliest or 0


def stage_roles(judgement: Judgement) -> dict[str, str]:
    """Stage -> role, as the engine judged it."""
    return {row.stage: row.role for row in judgement.stages}


def unit_interval(record: TimingRecord, roles: dict[str, str]) -> tuple[int, int]:
    """Start and end of a unit in ns: as long as its total, or as its parts where they are longer."""
    parts_ms = sum(ms for stage, ms in record.stages if roles.get(stage, "host") not in ("total", "cpu"))
    total_ms = max((ms for stage, ms in record.stages if roles.get(stage) == "total"), default=0.0)
    length_ns = round(max(parts_ms, total_ms) * 1e6)
    start_ns = record.start_ns if record.start_ns is not None else record.t_ns - length_ns
    return start_ns, start_ns + length_ns


class TraceEvents:
    """Makes the events of one trace."""

    def __init__(self, judgement: Judgement, origin_ns: int) -> None:
        self._judgement = judgement
        self._origin_ns = origin_ns
        self._roles = stage_roles(judgement)
        self._deltas = ThreadDeltas(judgement.facts.topology)
        self._lanes: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self._span_tids: dict[tuple[int, int], int] = {}
        self._next_tid = 1
        self._open: dict[int, tuple[int, int, str, bool]] = {}
        self._processes: set[int] = set()

    def events(self, samples: Iterable[ClassedSample]) -> Iterator[Event]:
        """All events; names of tracks come before what is on them."""
        yield from _named(UNITS_PID, "livemon units", -2)
        yield from _named(FINDINGS_PID, "livemon findings", -3)
        yield from self._findings()
        for sample, class_key in samples:
            if isinstance(sample, TimingRecord):
                yield from self._unit(sample, class_key)
                continue
            if isinstance(sample, ThreadInfo):
                yield from self._thread_names(sample)
            for delta in self._deltas.update(sample):
                yield from self._thread(delta)
            if isinstance(sample, ThreadTick) and self._deltas.interval_ns is not None:
                yield from self._close_idle(sample)
        for index in list(self._open):
            yield self._class_slice(index)

    # -- findings, gaps, marks

    def _findings(self) -> Iterator[Event]:
        judgement = self._judgement
        times = SessionTimes(judgement, "relative")
        for finding in judgement.findings:
            end_ns = finding.end_ns if finding.end_ns is not None else judgement.end_ns
            end_ns = max(finding.start_ns, end_ns if end_ns is not None else finding.start_ns)
            tid, names = self._track(FINDINGS_PID, finding.kind.replace("_", " "), finding.start_ns, end_ns)
            yield from names
            values = finding_json(finding, judgement, times)
            args = {key: value for key, value in values.items() if not isinstance(value, list)}
            if isinstance(finding, HostSlowTransient):
                args["causes"] = [f"{c.cause}: {c.verdict}: {c.evidence}" for c in finding.causes]
            yield self._slice(FINDINGS_PID, tid, _finding_name(finding), finding.start_ns, end_ns, "finding", args)
        for gap in judgement.gaps:
            tid, names = self._track(FINDINGS_PID, f"{gap.what} not observed", gap.start_ns, gap.end_ns)
            yield from names
            args = {"reason": gap.reason}
            yield self._slice(FINDINGS_PID, tid, f"no {gap.what}", gap.start_ns, gap.end_ns, "gap", args)
        for t_ns, text in judgement.marks:
            yield {**self._base(FINDINGS_PID, 0, text or "mark", t_ns, "mark"), "ph": "i", "s": "g"}

    # -- units

    def _unit(self, record: TimingRecord, class_key: str | None) -> Iterator[Event]:
        start_ns, end_ns = unit_interval(record, self._roles)
        args: Event = {
            "source": record.source,
            "unit": record.unit,
            "class": class_key,
            "line": record.line,
            "time_from": record.time_from,
            "stages_ms": dict(record.stages),
        }
        if _is_span(record):
            pid, name = record.pid or 0, record.stages[0][0]
            tid, names = self._span_track(pid, record.tid or 0)
            yield from names
            yield self._slice(pid, tid, name, start_ns, end_ns, "span", args)
            return
        name = class_key if class_key is not None else record.source
        tid, names = self._track(UNITS_PID, name, start_ns, end_ns)
        yield from names
        title = f"{name} {record.unit}" if record.unit is not None else name
        yield self._slice(UNITS_PID, tid, title, start_ns, end_ns, "unit", args)
        at_ns = start_ns
        for stage, duration_ms in record.stages:
            role = self._roles.get(stage, "host")
            if role in ("total", "cpu"):
                continue
            stop_ns = min(at_ns + round(duration_ms * 1e6), end_ns)
            inside: Event = {"unit": record.unit, "role": role, "duration_ms": duration_ms}
            yield self._slice(UNITS_PID, tid, stage, at_ns, stop_ns, role, inside)
            at_ns = stop_ns

    def _track(self, pid: int, name: str, start_ns: int, end_ns: int) -> tuple[int, Iterable[Event]]:
        """A track of that name on which nothing overlaps the interval; with its naming events if it is new."""
        lanes = self._lanes.setdefault((pid, name), [])
        for lane, (tid, busy_until_ns) in enumerate(lanes):
            if busy_until_ns <= start_ns or lane == MAX_LANES - 1:
                lanes[lane] = (tid, max(end_ns, busy_until_ns))
                return tid, ()
        tid, self._next_tid = self._next_tid, self._next_tid + 1
        lanes.append((tid, end_ns))
        return tid, _named(pid, name if len(lanes) == 1 else f"{name} ({len(lanes)})", tid, tid)

    def _span_track(self, pid: int, tid: int) -> tuple[int, Iterable[Event]]:
        """The track beside a thread's own, whose core-class slices would not nest with the spans."""
        track = self._span_tids.get((pid, tid))
        if track is not None:
            return track, ()
        track = self._span_tids[pid, tid] = FIRST_SPAN_TID + len(self._span_tids)
        infos = self._deltas.infos.values()
        thread = next((info.name for info in infos if (info.pid, info.tid) == (pid, tid)), f"thread {tid}")
        return track, _named(pid, f"{thread} spans", 0, track)

    # -- threads

    def _thread_names(self, info: ThreadInfo) -> Iterator[Event]:
        if info.pid not in self._processes:
            self._processes.add(info.pid)
            yield from _named(info.pid, info.process or f"process {info.pid}", 0)
        yield from _named(info.pid, info.name, 0, info.tid)

    def _thread(self, delta: ThreadDelta) -> Iterator[Event]:
        info = self._deltas.infos.get(delta.thread)
        if info is None or delta.cpu_ns is None:
            return
        core_class = (delta.core_class or "unknown core") if delta.cpu_ns else ""
        current = self._open.get(delta.thread)
        if current is not None and (current[2], current[1]) != (core_class, delta.start_ns):
            yield self._class_slice(delta.thread)
            current = None
        if core_class:
            start_ns = current[0] if current is not None else delta.start_ns
            self._open[delta.thread] = (start_ns, delta.end_ns, core_class, delta.is_exact)
        span_ns = delta.end_ns - delta.start_ns
        args = {"cpu_percent": round(100 * delta.cpu_ns / span_ns, 2)}
        if delta.run_delay_ns is not None:
            args["wait_percent"] = round(100 * delta.run_delay_ns / span_ns, 2)
        yield self._counter(info, "use", delta.start_ns, args)
        if args := _rates(delta.classes):
            yield self._counter(info, "rate", delta.start_ns, args)

    def _close_idle(self, tick: ThreadTick) -> Iterator[Event]:
        """A thread that the tick does not list did not run: its slice has ended, its use is zero."""
        for index, (_, end_ns, _, _) in list(self._open.items()):
            if end_ns < tick.arrival_ns:
                yield self._class_slice(index)
                zero = {"cpu_percent": 0.0, "wait_percent": 0.0}
                yield self._counter(self._deltas.infos[index], "use", end_ns, zero)

    def _class_slice(self, index: int) -> Event:
        start_ns, end_ns, core_class, is_exact = self._open.pop(index)
        info = self._deltas.infos[index]
        args = {"from": "counters" if is_exact else "the CPU it was last seen on (estimate)"}
        return self._slice(info.pid, info.tid, core_class, start_ns, end_ns, "core class", args)

    # -- event shapes

    def _us(self, t_ns: int) -> float:
        return max(t_ns - self._origin_ns, 0) / 1000

    def _base(self, pid: int, tid: int, name: str, t_ns: int, category: str) -> Event:
        return {"name": name, "cat": category, "pid": pid, "tid": tid, "ts": self._us(t_ns)}

    def _slice(self, pid: int, tid: int, name: str, start_ns: int, end_ns: int, category: str, args: Event) -> Event:
        duration_us = max(end_ns - start_ns, 0) / 1000
        return {**self._base(pid, tid, name, start_ns, category), "ph": "X", "dur": duration_us, "args": args}

    def _counter(self, info: ThreadInfo, what: str, t_ns: int, args: dict[str, float]) -> Event:
        name = f"{info.name} {info.tid} {what}"
        return {"name": name, "ph": "C", "pid": info.pid, "tid": info.tid, "ts": self._us(t_ns), "args": args}


def _rates(classes: Iterable[ClassDelta]) -> dict[str, float]:
    """IPC and cycle rate of an interval, each as far as what it is made of was counted."""
    counted = [(c.cycles, c.instructions, c.cpu_ns) for c in classes if c.cycles and c.cpu_ns]
    rates = {}
    paired = [(cycles, instructions) for cycles, instructions, _ in counted if instructions is not None]
    if paired:
        rates["ipc"] = round(sum(instructions for _, instructions in paired) / sum(cycles for cycles, _ in paired), 3)
    if counted:
        rates["cycles_per_ns"] = round(sum(cycles for cycles, _, _ in counted) / sum(ns for *_, ns in counted), 3)
    return rates


def _is_span(record: TimingRecord) -> bool:
    """Whether the line says exactly when and on which thread its one stage ran."""
    return None not in (record.start_ns, record.pid, record.tid) and len(record.stages) == 1


def _named(pid: int, name: str, order: int, tid: int | None = None) -> Iterator[Event]:
    kind = "process" if tid is None else "thread"
    yield {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid or 0, "args": {"name": name}}
    yield {"ph": "M", "name": f"{kind}_sort_index", "pid": pid, "tid": tid or 0, "args": {"sort_index": order}}


def _finding_name(finding: Finding) -> str:
    if isinstance(finding, HostSlowTransient):
        slowdown = f" {finding.slowdown:.1f}×" if finding.slowdown is not None else ""
        return f"{finding.id} host-slow{slowdown} {finding.primary_cause or ''}".rstrip()
    where = f" of {finding.class_key}" if finding.class_key is not None else ""
    return f"{finding.id} {finding.stage}{where} {finding.p50_ms:.1f} ms"
