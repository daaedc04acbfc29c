"""What a report says, in its order: verdicts, evidence, tables, gaps, what it does not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from livemon.export.document import Block, Bullets, Facts, Figure, Heading, Paragraph, Table, Verdict, columns
from livemon.export.finding_document import bucket_table, class_words, evidence, verdict
from livemon.export.numbers import count, counted, duration_s, ms, percent, plain, ratio
from livemon.export.thread_table import thread_blocks
from livemon.export.times import ClockName, SessionTimes
from livemon.model.findings import Blip, Finding
from livemon.model.judgement import Judgement, StageStats

_SEVERITY_ORDER = {"critical": 0, "warning": 1}
_BLIPS = 5
"""Slow stretches that are told one by one."""


def report_blocks(
    judgement: Judgement, clock: ClockName = "wall", *, figures: Sequence[Figure] = (), max_threads: int = 40
) -> Iterator[Block]:
    """The whole report of one session.

    Args:
        judgement: The judged session.
        clock: Which clock the times are on.
        figures: Drawings to put after the verdicts.
        max_threads: Rows of the thread table, busiest first; the rest is counted.
    """
    times = SessionTimes(judgement, clock)
    yield Heading(f"livemon report: {PurePath(judgement.path).name or 'session'}", 1)
    yield from verdicts(judgement, times)
    yield Heading("Session")
    yield Facts(tuple(_session_facts(judgement, times)))
    yield from figures
    if judgement.findings:
        yield Heading("Evidence")
        for finding in by_severity(judgement.findings):
            yield from evidence(finding, judgement, times)
    yield from _stages(judgement)
    yield from thread_blocks(judgement, max_threads)
    yield from _transitions(judgement, times)
    yield from _gaps(judgement, times)
    yield Heading("What this report does not show")
    yield Bullets(tuple(_limits(judgement)))


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """Critical findings first, each group in order of time."""
    return sorted(findings, key=lambda f: (_SEVERITY_ORDER.get(f.severity, 9), f.start_ns))


def verdicts(judgement: Judgement, times: SessionTimes) -> Iterator[Block]:
    """One sentence a finding, or why there is none."""
    for finding in by_severity(judgement.findings):
        yield verdict(finding, judgement, times)
    if judgement.findings:
        return
    if nothing := nothing_read(judgement):
        yield Verdict("unknown", nothing)
    else:
        yield Verdict(
            "ok",
            f"No host-slow transient and no oversized finalize in {counted(judgement.records, 'record')} "
            f"over {duration_s(_duration_s(judgement))}.",
        )


def nothing_read(judgement: Judgement) -> str:
    """What to say where no timing record was read; empty if there were some."""
    if judgement.records:
        return ""
    if judgement.lines:
        return f"read {judgement.lines:,} lines, no timing found: try `livemon parse --explain FILE`"
    if judgement.threads:
        return "no line was read: threads alone were watched, so nothing can be said about stages"
    return "the session holds no timing record and no thread"


def _duration_s(judgement: Judgement) -> float | None:
    if judgement.start_ns is None or judgement.end_ns is None:
        return None
    return (judgement.end_ns - judgement.start_ns) / 1e9


def _session_facts(judgement: Judgement, times: SessionTimes) -> Iterator[tuple[str, str]]:
    facts = judgement.facts
    start = times.date_text(judgement.start_ns)
    yield "Start", f"{start}, for {duration_s(_duration_s(judgement))}. {times.explanation}"
    if judgement.whole_ns is not None:
        first, last = (times.date_text(t_ns) for t_ns in judgement.whole_ns)
        stretch = f"{_asked(judgement, times)}of a session from {first} to {last}"
        yield "Stretch", f"{stretch}: its figures, and the findings that touch it as all of it tells them"
    if facts.host:
        yield "Host", facts.host
    if facts.targets:
        yield "Targets", ", ".join(f"{t.name} (pid {t.pid})" for t in facts.targets)
    read = f"{counted(judgement.records, 'record')} from {counted(judgement.lines, 'line')}"
    yield "Read", read + (f", {judgement.malformed:,} malformed" if judgement.malformed else "")
    if judgement.steps.period is not None and judgement.steps.period > 1:
        step = f", mean step {ms(judgement.steps.mean_ms)} ms" if judgement.steps.mean_ms is not None else ""
        yield "Cycle", f"{judgement.steps.period} runs a step, {counted(judgement.steps.n, 'step')}{step}"
    if judgement.findings:
        yield "Findings", _findings_words(judgement)
    if judgement.blips:
        told = counted(judgement.blips, "slow stretch").replace("stretchs", "stretches")
        yield "Blips", f"{told} below the threshold of an episode{_nearest_blips(judgement, times)}"
    yield "Criteria", f"sha256 {judgement.criteria_sha256[:16]}…" if judgement.criteria_sha256 else "defaults"
    recorded = facts.criteria_sha256
    if recorded and judgement.criteria_sha256 and recorded != judgement.criteria_sha256:
        yield "", f"other than those it was recorded with (sha256 {recorded[:16]}…)"


def _asked(judgement: Judgement, times: SessionTimes) -> str:
    """The stretch that was asked for: its first sample may come a little later."""
    if judgement.asked_ns is None:
        return ""
    return f"{times.text(judgement.asked_ns[0])} to {times.text(judgement.asked_ns[1])}, "


def _nearest_blips(judgement: Judgement, times: SessionTimes) -> str:
    """Those that came nearest to an episode, in order of time."""
    nearest = sorted(judgement.newest_blips, key=lambda blip: (-blip.evidence, blip.start_ns))[:_BLIPS]
    if not nearest:
        return ""
    told = "; ".join(
        f"{times.text(blip.start_ns)} for {duration_s((blip.end_ns - blip.start_ns) / 1e9)}, "
        f"{counted(blip.slow_units, 'slow unit')} {_how_slow(blip)}, {blip.evidence:.0%} of the evidence"
        for blip in sorted(nearest, key=lambda blip: blip.start_ns)
    )
    which = "nearest to it" if len(nearest) < judgement.blips else "they are"
    return f"; {which}: {told} (an episode also needs enough units and time)"


def _how_slow(blip: Blip) -> str:
    return "in one stage" if blip.slowest is None else f"up to {ratio(blip.slowest)}"


def _findings_words(judgement: Judgement) -> str:
    """All findings in two figures: time in transients, and what the oversized phases cost a step."""
    end_ns = judgement.end_ns or 0
    lengths = [
        ((f.end_ns if f.end_ns is not None else end_ns) - f.start_ns) / 1e9
        for f in judgement.findings
        if f.kind == "host_slow_transient"
    ]
    oversized = [f for f in judgement.findings if f.kind == "oversized_finalize"]
    parts = []
    if lengths:
        whole = _duration_s(judgement)
        share = f" ({percent(min(sum(lengths) / whole, 1.0))} of the session)" if whole else ""
        parts.append(f"{counted(len(lengths), 'host-slow transient')}, {duration_s(sum(lengths))} in all{share}")
    if oversized:
        savings = [f.saving_ms_per_step for f in oversized if f.end_ns is None and f.saving_ms_per_step is not None]
        saving = f", those not over cost {ms(sum(savings))} ms a step together" if len(savings) > 1 else ""
        parts.append(f"{counted(len(oversized), 'oversized finalize phase')}{saving}")
    return "; ".join(parts)


def _stages(judgement: Judgement) -> Iterator[Block]:
    if not judgement.stages:
        return
    yield Heading("Stages")
    head = columns(
        "<stage",
        "<role",
        "n",
        "P50 ms",
        "P99 ms",
        "share",
        "mean ms??",
        "max ms?",
        "total ms??",
        "min ms???",
        "P90 ms????",
    )
    classes = tuple(dict.fromkeys(row.class_key for row in judgement.stages))
    for class_key in classes:
        rows = [row for row in judgement.stages if row.class_key == class_key]
        caption = f"Class {class_words(class_key)}" if class_key is not None else "Units without a class"
        yield Table(head, tuple(map(_stage_row, rows)), caption if len(classes) > 1 or class_key is not None else "")
        warmup = max((row.warmup_n for row in rows), default=0)
        if warmup:
            counts = "counts" if warmup == 1 else "count"
            yield Paragraph(f"{counted(warmup, 'unit')} of warm-up {counts} here, not in baselines and ratios.")


def _stage_row(row: StageStats) -> tuple[str, ...]:
    return (
        row.stage, row.role, count(row.n), ms(row.p50_ms), ms(row.p99_ms), percent(row.share), ms(row.mean_ms),
        ms(row.max_ms), ms(row.total_ms), ms(row.min_ms), ms(row.p90_ms),
    )  # fmt: skip


def _transitions(judgement: Judgement, times: SessionTimes) -> Iterator[Block]:
    if not judgement.transitions:
        return
    yield Heading("Transitions")
    for row in judgement.transitions:
        length = "" if row.transient_s is None else f"; transient of {plain(row.transient_s, 1)} s by bins of 0.5 s"
        where = f"“{row.text}” at {times.text(row.t0_ns)}"
        if row.buckets:
            yield bucket_table(row.buckets, f"{where} (seconds from it){length}")
        else:
            yield Paragraph(f"{where}: nothing was observed around it.")


def _gaps(judgement: Judgement, times: SessionTimes) -> Iterator[Block]:
    yield Heading("Gaps and losses")
    items = [
        f"{gap.what} not observed from {times.text(gap.start_ns)} for "
        f"{duration_s((gap.end_ns - gap.start_ns) / 1e9)}: {gap.reason}"
        for gap in judgement.gaps[:100]
    ]
    if len(judgement.gaps) > 100:
        items.append(f"{len(judgement.gaps) - 100:,} more gaps")
    items += [
        f"{row.source.removesuffix(':unseen')}: {row.count:,} {row.unit} lost: {row.reason}" for row in judgement.losses
    ]
    if judgement.malformed:
        items.append(f"{counted(judgement.malformed, 'malformed timing line')} counted and not read")
    yield Bullets(tuple(items)) if items else Paragraph("None known.")


def _limits(judgement: Judgement) -> Iterator[str]:
    yield from judgement.notes
    for capability in judgement.facts.capabilities:
        if not capability.available:
            remedy = f" (remedy: {capability.remedy})" if capability.remedy else ""
            yield f"{capability.name}: {capability.reason}{remedy}"
    if judgement.facts.clock == "order":
        yield "The log has no time stamps: moments are laid end to end from its own durations, an estimate."
    if judgement.stages and not any(row.role == "device" for row in judgement.stages):
        yield "No stage is known as the device's: no ratio to it could be judged (see [roles] in the criteria file)."
    if judgement.stages and not judgement.threads:
        yield "No thread was sampled: placement, cycle rate, IPC and waiting can't be told."
    yield "Counters show where time went, not why the scheduler or the program chose it."


def sessions_overview(judgements: Sequence[Judgement]) -> Iterator[Block]:
    """Several sessions side by side, worst first, before their reports."""
    yield Heading(f"livemon report: {counted(len(judgements), 'session')}", 1)
    rows = []
    for judgement in judgements:
        kinds = [f.kind for f in judgement.findings]
        worst = max(
            (f.slowdown for f in judgement.findings if f.kind == "host_slow_transient" and f.slowdown), default=None
        )
        critical = sum(f.severity == "critical" for f in judgement.findings)
        rows.append(
            (
                PurePath(judgement.path).name,
                duration_s(_duration_s(judgement)),
                count(judgement.records),
                count(kinds.count("host_slow_transient")),
                ratio(worst),
                count(kinds.count("oversized_finalize")),
                count(critical),
            )
        )
    yield Table(columns("<session", "length", "records?", "transients", "worst", "oversized", "critical"), tuple(rows))
