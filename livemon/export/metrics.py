"""What livemon tells a metrics system: one table of families, made from a frame or a judged session.

Base unit seconds (and bytes, ratios of 1). Labels are bounded: class, stage and role of stages; the
process and role of threads (``worker-12`` is of role ``worker``), never a tid. What goes beyond the
caps is counted in ``livemon_series_left_out``. A figure that is unknown has no sample.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize
from livemon.model.judgement import Judgement
from livemon.model.snapshot import Snapshot, ThreadRow

Kind = Literal["gauge", "counter", "info"]
Labels = tuple[tuple[str, str], ...]

MAX_STAGES = 200
MAX_THREAD_ROLES = 50
OTHER = "(other)"
_NUMBER = re.compile(r"[-_ #:]*\d+$")

FAMILIES: dict[str, tuple[Kind, str, str]] = {
    "livemon_build": ("info", "", "The livemon that watches."),
    "livemon_target_alive": ("gauge", "", "1 while the watched process runs."),
    "livemon_stage_p50_seconds": ("gauge", "seconds", "Median duration of a stage in the newest window."),
    "livemon_stage_p99_seconds": ("gauge", "seconds", "P99 duration of a stage in the newest window."),
    "livemon_stage_units": ("gauge", "", "Units of the stage in the newest window."),
    "livemon_stage_share_ratio": ("gauge", "ratio", "Share of a stage in its class's total."),
    "livemon_stage_budget_seconds": ("gauge", "seconds", "Budget of a finalize stage."),
    "livemon_host_slow_ratio": ("gauge", "ratio", "Share of units that were host-slow in the newest second or so."),
    "livemon_finding_active": ("gauge", "", "1 while a finding is ongoing."),
    "livemon_finding_slowdown_ratio": ("gauge", "ratio", "Slowdown of the ongoing host-slow transient."),
    "livemon_findings": ("counter", "", "Findings made so far."),
    "livemon_thread_cpu_ratio": ("gauge", "ratio", "CPU use of the threads of a role, in cores."),
    "livemon_threads": ("gauge", "", "Threads of a role that are alive."),
    "livemon_thread_wait_ratio": ("gauge", "ratio", "Run-queue delay of a role against CPU time plus delay."),
    "livemon_thread_efficiency_ratio": ("gauge", "ratio", "Share of a role's CPU time on efficiency cores."),
    "livemon_lines": ("counter", "", "Log lines read."),
    "livemon_records": ("counter", "", "Timing records read."),
    "livemon_malformed_lines": ("counter", "", "Timing lines that could not be read."),
    "livemon_ticks": ("counter", "", "Sampling ticks done."),
    "livemon_late_ticks": ("counter", "", "Sampling ticks that came late."),
    "livemon_lost": ("counter", "", "Lines, ticks or bytes that were lost."),
    "livemon_log_lag_seconds": ("gauge", "seconds", "How late the log is."),
    "livemon_session_bytes": ("gauge", "bytes", "Size of the recording."),
    "livemon_self_cpu_ratio": ("gauge", "ratio", "CPU use of the recorder, in cores."),
    "livemon_series_left_out": ("gauge", "", "Series beyond the caps on labels."),
}
"""Name -> (kind, unit, help), in the order in which they are told."""

_OF_A_SESSION: dict[str, str] = {
    "livemon_build": "The livemon that recorded.",
    "livemon_stage_p50_seconds": "Median duration of a stage over the whole session.",
    "livemon_stage_p99_seconds": "P99 duration of a stage over the whole session.",
    "livemon_stage_units": "Units of the stage in the whole session.",
    "livemon_stage_budget_seconds": "Budget of a stage with an oversized-finalize finding.",
    "livemon_finding_active": "1 where a finding was ongoing at the session's end.",
    "livemon_finding_slowdown_ratio": "Slowdown of the host-slow transient that was ongoing at the session's end.",
    "livemon_findings": "Findings of the whole session.",
}
"""Help of what an export of a session tells otherwise than a scrape of a live frame."""


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A family with its samples; a counter's name has no ``_total``."""

    name: str
    kind: Kind
    unit: str
    help: str
    samples: tuple[tuple[Labels, float], ...]


@dataclass(slots=True)
class _Book:
    """Samples by family while they are collected."""

    samples: dict[str, list[tuple[Labels, float]]] = field(default_factory=dict)

    def add(self, name: str, value: float | None, **labels: str | None) -> None:
        """Note a figure; an unknown one is left out, an unknown label is empty."""
        if value is not None and math.isfinite(value):
            pairs = tuple((key.rstrip("_"), text or "") for key, text in labels.items())
            self.samples.setdefault(name, []).append((pairs, float(value)))

    def families(self, helps: Mapping[str, str] = MappingProxyType({})) -> tuple[MetricFamily, ...]:
        """All of them in order; ``helps`` are texts that hold in place of the table's."""
        return tuple(
            MetricFamily(name, kind, unit, helps.get(name, text), tuple(self.samples[name]))
            for name, (kind, unit, text) in FAMILIES.items()
            if name in self.samples
        )


def _ms(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms / 1000


def snapshot_families(snapshot: Snapshot, *, version: str = "", host: str = "") -> tuple[MetricFamily, ...]:
    """The metrics of a live frame."""
    book = _Book()
    book.add("livemon_build", 1, version=version, host=host)
    for target in snapshot.status.targets:
        alive = not target.state.startswith(("exited", "vanished"))
        book.add("livemon_target_alive", float(alive), process=target.name)
    left_out = max(0, len(snapshot.stages) - MAX_STAGES)
    for row in snapshot.stages[:MAX_STAGES]:
        labels = {"class_": row.class_key, "stage": row.stage, "role": row.role}
        book.add("livemon_stage_p50_seconds", _ms(row.p50_ms), **labels)
        book.add("livemon_stage_p99_seconds", _ms(row.p99_ms), **labels)
        book.add("livemon_stage_units", row.n, **labels)
        book.add("livemon_stage_share_ratio", row.share, **labels)
        book.add("livemon_stage_budget_seconds", _ms(row.budget_ms), **labels)
    shares = [share for share in snapshot.timeline.host_slow_share.high if share is not None]
    book.add("livemon_host_slow_ratio", shares[-1] if shares else None)
    _add_findings(book, snapshot.findings)
    left_out += _add_threads(book, snapshot.threads)
    status = snapshot.status
    for name, value in (
        ("livemon_lines", status.lines),
        ("livemon_records", status.records),
        ("livemon_malformed_lines", status.malformed),
        ("livemon_ticks", status.ticks),
        ("livemon_late_ticks", status.late_ticks),
        ("livemon_lost", status.lost),
        ("livemon_log_lag_seconds", _ms(status.log_lag_ms)),
        ("livemon_session_bytes", status.session_bytes),
        ("livemon_self_cpu_ratio", None if status.self_cpu_percent is None else status.self_cpu_percent / 100),
        ("livemon_series_left_out", left_out),
    ):
        book.add(name, value)
    return book.families()


def judgement_families(judgement: Judgement) -> tuple[MetricFamily, ...]:
    """The metrics of a whole session: what a scrape at its end would have told, over all of it."""
    book = _Book()
    book.add("livemon_build", 1, version=judgement.facts.livemon_version, host=judgement.facts.host)
    left_out = max(0, len(judgement.stages) - MAX_STAGES)
    for row in judgement.stages[:MAX_STAGES]:
        labels = {"class_": row.class_key, "stage": row.stage, "role": row.role}
        book.add("livemon_stage_p50_seconds", _ms(row.p50_ms), **labels)
        book.add("livemon_stage_p99_seconds", _ms(row.p99_ms), **labels)
        book.add("livemon_stage_units", row.n, **labels)
        book.add("livemon_stage_share_ratio", row.share, **labels)
    for finding in judgement.findings:
        if isinstance(finding, OversizedFinalize) and finding.budget_ms is not None:
            labels = {"class_": finding.class_key, "stage": finding.stage, "role": "finalize"}
            book.add("livemon_stage_budget_seconds", _ms(finding.budget_ms), **labels)
    _add_findings(book, judgement.findings)
    for name, value in (
        ("livemon_lines", judgement.lines),
        ("livemon_records", judgement.records),
        ("livemon_malformed_lines", judgement.malformed),
        ("livemon_lost", sum(loss.count for loss in judgement.losses)),
        ("livemon_series_left_out", left_out),
    ):
        book.add(name, value)
    return book.families(_OF_A_SESSION)


def _add_findings(book: _Book, findings: Sequence[Finding]) -> None:
    for kind in ("host_slow_transient", "oversized_finalize"):
        for severity in ("warning", "critical"):
            number = sum(f.kind == kind and f.severity == severity for f in findings)
            book.add("livemon_findings", number, kind=kind, severity=severity)
    active: dict[Labels, float] = {}
    for finding in findings:
        if finding.end_ns is not None:
            continue
        stage = class_key = cause = ""
        if isinstance(finding, OversizedFinalize):
            stage, class_key = finding.stage, finding.class_key or ""
        else:
            cause = finding.primary_cause or ""
        labels = {
            "kind": finding.kind,
            "severity": finding.severity,
            "class": class_key,
            "stage": stage,
            "cause": cause,
        }
        active[tuple(labels.items())] = 1.0
        if isinstance(finding, HostSlowTransient):
            book.add("livemon_finding_slowdown_ratio", finding.slowdown)
    book.samples.setdefault("livemon_finding_active", []).extend(list(active.items())[:MAX_STAGES])
    empty = {"severity": "", "class_": "", "stage": "", "cause": ""}
    for kind in sorted({"host_slow_transient", "oversized_finalize"} - {f.kind for f in findings if f.end_ns is None}):
        # A gauge that is there with 0 tells "watched, nothing found" from "not watched".
        book.add("livemon_finding_active", 0, kind=kind, **empty)


def _add_threads(book: _Book, threads: Iterable[ThreadRow]) -> int:
    groups: dict[tuple[str, str], list[ThreadRow]] = {}
    for row in threads:
        if row.is_alive and not row.is_self:
            role = row.role or _NUMBER.sub("", row.name) or row.name
            groups.setdefault((row.process, role), []).append(row)
    busiest = sorted(groups, key=lambda key: (-(_total(groups[key]) or 0.0), key))
    for key in busiest[MAX_THREAD_ROLES:]:
        groups.setdefault((OTHER, OTHER), []).extend(groups.pop(key))
    for (process, role), rows in groups.items():
        labels: dict[str, str | None] = {"process": process, "role": role}
        cpu_percent = _total(rows)
        book.add("livemon_threads", len(rows), **labels)
        book.add("livemon_thread_cpu_ratio", None if cpu_percent is None else cpu_percent / 100, **labels)
        book.add("livemon_thread_wait_ratio", _weighted(rows, "wait_percent", 100.0), **labels)
        book.add("livemon_thread_efficiency_ratio", _weighted(rows, "efficiency_share", 1.0), **labels)
    return max(0, len(busiest) - MAX_THREAD_ROLES)


def _total(rows: Iterable[ThreadRow]) -> float | None:
    known = [row.cpu_percent.value for row in rows if row.cpu_percent.value is not None]
    return sum(known) if known else None


def _weighted(rows: Iterable[ThreadRow], name: str, scale: float) -> float | None:
    """Mean of a figure over threads, by their CPU use; unknown threads do not count."""
    total = weight = 0.0
    for row in rows:
        value, cpu = getattr(row, name).value, row.cpu_percent.value
        if value is not None and cpu:
            total += value * cpu
            weight += cpu
    return total / weight / scale if weight else None
