"""The overview's first line, in words: is it slow now, since when, where, why."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.engine.rolling.stage_rings import shown_class
from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize
from livemon.model.snapshot import Verdict
from livemon.model.wording import rounded, run_words

RECENT_NS = 30_000_000_000
_RATIOS = frozenset({"cycle_rate", "ipc", "more_work", "device", "completion_path"})
"""Causes whose two figures read best as their ratio."""


def duration(ns: int) -> str:
    """``0.4 s``, ``3.2 s``, ``75 s``, ``12 min``, ``3.1 h``."""
    seconds = max(ns, 0) / 1e9
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def cause_text(finding: HostSlowTransient) -> str:
    """The primary cause with its threads and figure; says so when it is not known."""
    name = finding.primary_cause
    if name is None:
        return "cause not known yet" if finding.end_ns is None else "cause not known"
    text = finding.primary_words or name
    cause = next((c for c in finding.causes if c.cause == name), None)
    if cause is None:
        return text
    where = ", ".join(cause.threads[:3]) + (f" and {len(cause.threads) - 3} more" if len(cause.threads) > 3 else "")
    if name == "placement":
        figure = f" ({cause.during:.2f})" if cause.during is not None else ""
        return f"{text}: {where} on E cores{figure}" if where else f"{text}{figure}"
    if name in _RATIOS and cause.during is not None and cause.reference:
        where = f"{where} {cause.during / cause.reference:.2f}×".strip()
    return f"{text}: {where}" if where else text


def _episode(finding: HostSlowTransient, at_ns: int, requests: float | None) -> str:
    parts = [f"HOST-SLOW for {duration(at_ns - finding.start_ns)}"]
    if requests is not None:
        parts.append(f"requests {requests:.2f}×")
    if finding.slowdown is not None:
        parts.append(f"host stages {finding.slowdown:.1f}×")
    parts.append(cause_text(finding))
    return " · ".join(parts)


def _finalize(findings: Sequence[OversizedFinalize], classes: int) -> str:
    stages = list(dict.fromkeys(f.stage for f in findings))
    worst = max(findings, key=lambda f: f.share_of_total or 0.0)
    parts = [f"OVERSIZED FINALIZE: {', '.join(stages[:3])}"]
    keys = {f.class_key for f in findings}
    name = run_words(worst.class_key) or shown_class(worst.class_key)
    what = f"worst class {name}:" if len(keys) > 1 else f"{name}:" if name else "median"
    parts.append(f"{what} {worst.p50_ms:.1f} ms")
    savings = [f.saving_ms_per_step for f in findings if f.saving_ms_per_step is not None]
    if savings:
        parts.append(f"removing it saves {sum(savings):.0f} ms per step")
    denominators = {f.share_denominator for f in findings}
    shares = [f.share_of_total for f in findings if f.share_of_total is not None]
    if shares and len(denominators) == 1 and sum(shares) <= 1:
        parts.append(f"{100 * sum(shares):.0f}% of {denominators.pop()}")
    if worst.judged_ratio is not None:
        parts.append(f"{worst.judged_ratio:.1f}× {worst.device_stage}")
    if len(keys) > 1:
        parts.append(f"in all {len(keys)} classes" if len(keys) >= classes else f"in {len(keys)} of {classes} classes")
    return " · ".join(parts)


def verdict(
    findings: Sequence[Finding],
    at_ns: int,
    *,
    units: int,
    warmup_units: int,
    units_per_s: float | None,
    p50_ms: float | None,
    p99_ms: float | None,
    requests: float | None,
    classes: int,
    lines: int,
    has_threads: bool,
) -> Verdict:
    """The verdict at a moment.

    Args:
        findings: As known then.
        at_ns: The moment.
        units: Units of work so far.
        warmup_units: Units that the baselines need.
        units_per_s: Rate now; ``None`` where there are no timing lines.
        p50_ms: Of the units in the window.
        p99_ms: Of the units in the window.
        requests: Median unit in the episode against the time before it.
        classes: Classes of work seen.
        lines: Log lines read so far.
        has_threads: Whether threads are sampled.
    """
    slow = [f for f in findings if isinstance(f, HostSlowTransient) and f.end_ns is None]
    if slow:
        newest = max(slow, key=lambda f: f.start_ns)
        return Verdict("critical" if newest.severity == "critical" else "warning", _episode(newest, at_ns, requests))
    ended = [f for f in findings if isinstance(f, HostSlowTransient) and f.end_ns is not None]
    last = max(ended, key=lambda f: f.end_ns or 0, default=None)
    after = ""
    if last is not None and last.end_ns is not None and at_ns - last.end_ns <= RECENT_NS:
        ago, length = duration(at_ns - last.end_ns), duration(last.end_ns - last.start_ns)
        after = f" · recovered {ago} ago from {last.id} ({length}, {cause_text(last)})"
    over = [f for f in findings if isinstance(f, OversizedFinalize) and f.end_ns is None]
    if over:
        level = "critical" if any(f.severity == "critical" for f in over) else "warning"
        return Verdict(level, _finalize(over, classes) + after)  # type: ignore[arg-type]
    if units_per_s is None:
        if lines:
            return Verdict(
                "unknown", f"{lines:,} lines read, no timing line among them: try livemon parse --explain FILE"
            )
        if has_threads:
            return Verdict("unknown", "no timing lines: threads are shown, slowness can't be judged")
        return Verdict("unknown", "nothing observed yet")
    figures = [f"{rounded(units_per_s)} units/s"]
    if p50_ms is not None and p99_ms is not None:
        figures.append(f"P50 {rounded(p50_ms)} ms · P99 {rounded(p99_ms)} ms")
    if units < warmup_units:
        return Verdict("warming", " · ".join([f"warming up: {units} of {warmup_units} units", *figures]))
    seen = f"{len(ended)} episode{'s' if len(ended) != 1 else ''} so far" if ended else "no episode so far"
    return Verdict("ok", " · ".join(["ok", *figures, seen]) + after)
