"""The report as JSON values, schema 1: unknown is ``null``, times by the chosen clock in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from livemon.export.numbers import number
from livemon.export.times import ClockName, SessionTimes, told_end_ns
from livemon.model.findings import (
    Bucket,
    Cause,
    Finding,
    HostSlowTransient,
    LedgerRow,
    OversizedFinalize,
    ThreadEvidence,
    Transition,
)
from livemon.model.judgement import Judgement, StageStats, ThreadStats

SCHEMA = 1
Json = dict[str, Any]


def reports_json(judgements: Sequence[Judgement], clock: ClockName = "wall") -> Json:
    """One session as the plain object, several as ``{"schema": 1, "sessions": [...]}``."""
    if len(judgements) == 1:
        return report_json(judgements[0], clock)
    return {"schema": SCHEMA, "sessions": [report_json(j, clock) for j in judgements]}


def report_json(judgement: Judgement, clock: ClockName = "wall") -> Json:
    """The report of one session."""
    times = SessionTimes(judgement, clock)
    return {
        "schema": SCHEMA,
        "session": session_json(judgement, times),
        "stages": [stage_json(row) for row in judgement.stages],
        "steps": {
            "period": judgement.steps.period,
            "n": judgement.steps.n,
            "mean_ms": number(judgement.steps.mean_ms),
        },
        "threads": [thread_json(row) for row in judgement.threads],
        "findings": [finding_json(finding, judgement, times) for finding in judgement.findings],
        "transitions": [transition_json(row, times) for row in judgement.transitions],
    }


def session_json(judgement: Judgement, times: SessionTimes) -> Json:
    """The session's facts, gaps, losses and notes."""
    start_ns, end_ns, whole_ns = judgement.start_ns, judgement.end_ns, judgement.whole_ns
    whole = (
        {} if whole_ns is None else {"whole": dict(zip(("start", "end"), map(times.seconds, whole_ns), strict=True))}
    )
    return whole | {
        "path": judgement.path,
        "start": times.seconds(start_ns),
        "end": times.seconds(end_ns),
        "clock": times.name,
        "duration_s": None if start_ns is None or end_ns is None else (end_ns - start_ns) / 1e9,
        "host": judgement.facts.host or None,
        "origin": judgement.facts.origin,
        "livemon_version": judgement.facts.livemon_version or None,
        "criteria_sha256": judgement.criteria_sha256,
        "targets": [{"pid": t.pid, "name": t.name, "command": t.command or None} for t in judgement.facts.targets],
        "lines": judgement.lines,
        "records": judgement.records,
        "malformed": judgement.malformed,
        "gaps": [
            {"start": times.seconds(g.start_ns), "end": times.seconds(g.end_ns), "what": g.what, "reason": g.reason}
            for g in judgement.gaps
        ],
        "losses": [
            {"source": row.source, "count": row.count, "unit": row.unit, "reason": row.reason}
            for row in judgement.losses
        ],
        "marks": [{"t": times.seconds(t_ns), "text": text} for t_ns, text in judgement.marks],
        "notes": list(judgement.notes),
        "blips": judgement.blips,
        "newest_blips": [
            {
                "start": times.seconds(blip.start_ns),
                "end": times.seconds(blip.end_ns),
                "slow_units": blip.slow_units,
                "slowest": number(blip.slowest),
                "evidence": number(blip.evidence),
            }
            for blip in judgement.newest_blips
        ],
        "environment": _environment_json(judgement),
        "capabilities": [
            {"name": c.name, "available": c.available, "reason": c.reason, "remedy": c.remedy or None}
            for c in judgement.facts.capabilities
        ],
    }


def _environment_json(judgement: Judgement) -> dict[str, str | list[str]]:
    """The facts by name; one that is told several times (the files of an import) as a list."""
    told: dict[str, list[str]] = {}
    for name, value in judgement.facts.environment:
        told.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in told.items()}


def stage_json(row: StageStats) -> Json:
    """A stage of a class."""
    return {
        "class": row.class_key,
        "stage": row.stage,
        "role": row.role,
        "n": row.n,
        "total_ms": number(row.total_ms),
        "mean_ms": number(row.mean_ms),
        "min_ms": number(row.min_ms),
        "max_ms": number(row.max_ms),
        "p50_ms": number(row.p50_ms),
        "p90_ms": number(row.p90_ms),
        "p99_ms": number(row.p99_ms),
        "share": number(row.share),
        "warmup_n": row.warmup_n,
    }


def thread_json(row: ThreadStats) -> Json:
    """A thread."""
    return {
        "pid": row.pid,
        "tid": row.tid,
        "name": row.name,
        "cpu_ms": number(row.cpu_ms),
        "efficiency_share": number(row.efficiency_share),
        "efficiency_share_from": row.efficiency_share_from,
        "ipc": number(row.ipc),
        "cycles_per_ns": {core_class: number(value) for core_class, value in row.cycles_per_ns},
        "run_delay_ms": number(row.run_delay_ms),
        "migrations": row.migrations,
    }


def finding_json(finding: Finding, judgement: Judgement, times: SessionTimes) -> Json:
    """A finding, whole; ``end`` of an ongoing one is the session's end, also in the report of a stretch."""
    end_ns = told_end_ns(finding, judgement)
    common = {
        "kind": finding.kind,
        "id": finding.id,
        "severity": finding.severity,
        "start": times.seconds(finding.start_ns),
        "end": times.seconds(end_ns),
        "ongoing": finding.end_ns is None,
        "detected_at": times.seconds(finding.detected_ns),
        "duration_s": None if end_ns is None else (end_ns - finding.start_ns) / 1e9,
    }
    if isinstance(finding, OversizedFinalize):
        return common | _oversized_json(finding)
    return common | _transient_json(finding)


def _oversized_json(finding: OversizedFinalize) -> Json:
    return {
        "class": finding.class_key,
        "stage": finding.stage,
        "p50_ms": number(finding.p50_ms),
        "budget_ms": number(finding.budget_ms),
        "device_stage": finding.device_stage,
        "device_p50_ms": number(finding.device_p50_ms),
        "ratio_to_device": number(finding.ratio_to_device),
        "device_middle_ms": number(finding.device_middle_ms),
        "share_of_total": number(finding.share_of_total),
        "share_denominator": finding.share_denominator,
        "saving_ms_per_step": number(finding.saving_ms_per_step),
        "saving_to_budget_ms_per_step": number(finding.saving_to_budget_ms_per_step),
        "units": finding.units,
        "rules": list(finding.rules),
        "evidence": finding.evidence,
    }


def _transient_json(finding: HostSlowTransient) -> Json:
    return {
        "slowdown": number(finding.slowdown),
        "peak_p99_ms": number(finding.peak_p99_ms),
        "primary_cause": finding.primary_cause,
        "causes": [cause_json(cause) for cause in finding.causes],
        "ledger": [ledger_json(row) for row in finding.ledger],
        "threads": [evidence_json(row) for row in finding.threads],
        "buckets": [bucket_json(row) for row in finding.buckets],
        "cost_ms": number(finding.cost_ms),
        "units": finding.units,
        "slow_units": finding.slow_units,
        "longest_unit_ms": number(finding.longest_ms),
        "host_ms_per_unit": None if finding.host_ms is None else list(map(number, finding.host_ms)),
        "not_recovered_by_5_s": finding.not_recovered_by_5_s,
        "detected_by": finding.detected_by,
        "transient_bins_s": number(finding.transient_bins_s),
        "after_it": finding.after_it,
        "level_after": number(finding.level_after),
        "does_not_show": list(finding.does_not_show),
    }


def cause_json(cause: Cause) -> Json:
    """One hypothesis with its verdict and two figures."""
    return {
        "cause": cause.cause,
        "verdict": cause.verdict,
        "evidence": cause.evidence,
        "during": number(cause.during),
        "reference": number(cause.reference),
        "threads": list(cause.threads),
    }


def ledger_json(row: LedgerRow) -> Json:
    """CPU per unit of one thread, multiplied out."""
    return {
        "thread": row.thread,
        "cpu_ms_during": number(row.cpu_ms_during),
        "cpu_ms_reference": number(row.cpu_ms_reference),
        "factors": {name: number(value) for name, value in row.factors},
        "explained": number(row.explained),
        "residual": number(row.residual),
    }


def evidence_json(row: ThreadEvidence) -> Json:
    """A thread in the episode and in its reference interval."""
    pairs = {
        "cpu_ms_per_unit": row.cpu_ms_per_unit,
        "efficiency_share": row.efficiency_share,
        "cycles_per_ns": row.cycles_per_ns,
        "ipc": row.ipc,
        "run_delay_share": row.run_delay_share,
    }
    return {"thread": row.thread, "core_class": row.core_class} | {
        name: {"during": number(during), "reference": number(reference)} for name, (during, reference) in pairs.items()
    }


def bucket_json(row: Bucket) -> Json:
    """A time bucket aligned at t0, in seconds from it."""
    return {
        "start_s": row.start_s,
        "end_s": row.end_s,
        "units": row.units,
        "p50_ms": number(row.p50_ms),
        "p99_ms": number(row.p99_ms),
        "host_slow_share": number(row.host_slow_share),
        "cpu_ms_per_unit": number(row.cpu_ms_per_unit),
        "efficiency_share": number(row.efficiency_share),
        "cycles_per_ns": number(row.cycles_per_ns),
        "ipc": number(row.ipc),
    }


def transition_json(row: Transition, times: SessionTimes) -> Json:
    """A mark with its aligned buckets."""
    return {
        "t0": times.seconds(row.t0_ns),
        "text": row.text,
        "transient_s": number(row.transient_s),
        "buckets": [bucket_json(bucket) for bucket in row.buckets],
        "reading": [cause_json(cause) for cause in row.reading],
    }
