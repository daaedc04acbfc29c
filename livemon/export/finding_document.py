"""What a report says of one finding: a verdict sentence first, then the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from livemon.export.document import Block, Bullets, Facts, Heading, Paragraph, Table, Verdict, columns
from livemon.export.numbers import counted, decimals, duration_s, ms, percent, plain, ratio
from livemon.export.times import SessionTimes, told_end_ns
from livemon.model.findings import CAUSE_WORDS, Bucket, Finding, HostSlowTransient, OversizedFinalize
from livemon.model.judgement import Judgement

_WORDS = {"applies": "applies", "ruled_out": "ruled out", "unknown": "can't tell"}
_ORDER = {"applies": 0, "unknown": 1, "ruled_out": 2}
_EDGE_NS = 1_000_000_000
"""Runs of a stage may begin and end so much outside of the episode that made them slow."""
_FACTOR_WORDS = {"instructions": "instructions", "ipc": "IPC", "cycle_rate": "cycle rate"}


def verdict(finding: Finding, judgement: Judgement, times: SessionTimes) -> Verdict:
    """The finding in one sentence."""
    if isinstance(finding, OversizedFinalize):
        return Verdict(finding.severity, _oversized_sentence(finding, judgement))
    return Verdict(finding.severity, _transient_sentence(finding, judgement, times))


def class_words(class_key: str | None) -> str:
    """A class for people: its label, or its position in the cycle."""
    if class_key is None:
        return "all units"
    position, slash, period = class_key.partition("/")
    if class_key == "0/1":
        return "all runs (they show no cycle)"
    if slash and position.isdigit() and period.isdigit():
        return f"{class_key} (position {position} of 0 to {int(period) - 1} in the cycle)"
    return class_key


def _oversized_sentence(finding: OversizedFinalize, judgement: Judgement) -> str:
    where = f" of {class_words(finding.class_key)}" if finding.class_key not in (None, "0/1") else ""
    parts = [f"{finding.id} oversized finalize: {finding.stage}{where} takes {ms(finding.p50_ms)} ms (median)"]
    is_within = finding.budget_ms is not None and finding.p50_ms <= finding.budget_ms
    if finding.budget_ms is not None:
        parts.append(f"{'within its' if is_within else 'against a'} budget of {ms(finding.budget_ms)} ms")
    if finding.judged_ratio is not None and finding.device_stage is not None:
        but = "but" if is_within else "and"
        parts.append(f"{but} {ratio(finding.judged_ratio)} its device stage {finding.device_stage}")
    sentence = ", ".join(parts)
    if finding.saving_ms_per_step is not None:
        sentence += f"; without it a step would be {ms(finding.saving_ms_per_step)} ms shorter on average"
    if episode := episode_around(finding, judgement.findings):
        sentence += f"; it lasted only while {episode} did, which may be all there is to it"
    return sentence + "."


def episode_around(finding: OversizedFinalize, findings: Iterable[Finding]) -> str | None:
    """The host-slow episode outside of which a finalize stage was not oversized; ``None``: there is none."""
    for other in findings:
        if isinstance(other, HostSlowTransient) and other.start_ns - _EDGE_NS <= finding.start_ns:
            ends = finding.end_ns, other.end_ns
            if ends[1] is None or (ends[0] is not None and ends[0] <= ends[1] + _EDGE_NS):
                return other.id
    return None


def _transient_sentence(finding: HostSlowTransient, judgement: Judgement, times: SessionTimes) -> str:
    end_ns = told_end_ns(finding, judgement)
    length = None if end_ns is None else (end_ns - finding.start_ns) / 1e9
    still = "ongoing for" if finding.end_ns is None else "for"
    sentence = f"{finding.id} host-slow transient at {times.text(finding.start_ns)} {still} {duration_s(length)}"
    if finding.slowdown is not None:
        sentence += f": host stages typically {ratio(finding.slowdown)} as long as before"
    if finding.primary_words:
        threads = next((c.threads for c in finding.causes if c.cause == finding.primary_cause), ())
        more = f" and {len(threads) - 3} more" if len(threads) > 3 else ""
        sentence += f"; {finding.primary_words}" + (f": {', '.join(threads[:3])}{more}" if threads else "")
    elif any(cause.verdict == "unknown" for cause in finding.causes):
        sentence += "; its cause can't be told"
    if finding.not_recovered_by_5_s:
        sentence += "; not recovered after 5 s" if finding.end_ns is None else "; its recovery took more than 5 s"
    return sentence + "."


def cause_words(cause: str) -> str:
    """A cause's name for people."""
    return CAUSE_WORDS.get(cause, cause.replace("_", " "))


def evidence(finding: Finding, judgement: Judgement, times: SessionTimes) -> Iterator[Block]:
    """Everything behind a finding."""
    yield Heading(f"{finding.id} in detail", 3)
    yield Facts(tuple(_facts(finding, judgement, times)))
    if isinstance(finding, HostSlowTransient):
        yield from _transient_tables(finding)


def _facts(finding: Finding, judgement: Judgement, times: SessionTimes) -> Iterator[tuple[str, str]]:
    start, found = times.text(finding.start_ns), times.text(finding.detected_ns)
    when = f"since {start}, not over" if finding.end_ns is None else f"{start} to {times.text(finding.end_ns)}"
    yield "When", f"{when}; detected {found}"
    if beyond := _beyond(finding, judgement):
        yield "Stretch", f"reaches beyond it ({beyond}); all its figures are of the whole finding"
    if isinstance(finding, OversizedFinalize):
        yield "Class", class_words(finding.class_key)
        yield "Stage", f"{finding.stage}, {counted(finding.units, 'unit')}"
        if finding.rules:
            yield (
                "Breaks",
                " and ".join(
                    {"budget": "the budget", "ratio": "the ratio to the device stage"}.get(r, r) for r in finding.rules
                ),
            )
        if finding.device_stage is not None:
            what = f"{finding.device_stage} {ms(finding.device_p50_ms)} ms (median)"
            if finding.device_middle_ms is not None:
                what += f" of more than one mode, {ms(finding.device_middle_ms)} ms in its middle"
            yield "Device", f"{what}, ratio {ratio(finding.judged_ratio)}"
        yield "Share", f"{percent(finding.share_of_total)} of {finding.share_denominator or 'the total'}"
        if finding.saving_ms_per_step is not None:
            what_if = f"on average, removed altogether: −{ms(finding.saving_ms_per_step)} ms a step"
            if finding.saving_to_budget_ms_per_step:
                what_if += f"; brought to its budget: −{ms(finding.saving_to_budget_ms_per_step)} ms a step"
            yield "What-if", what_if
        if finding.evidence:
            yield "Evidence", finding.evidence
        return
    yield "Slowdown", f"{ratio(finding.slowdown)} ({finding.slowdown_is} against the healthy state)"
    if finding.host_ms is not None:
        during, usual = finding.host_ms
        as_long = f" ({ratio(during / usual)})" if usual > 0 else ""
        yield (
            "Host time",
            f"{ms(during)} ms a slow unit against {ms(usual)} ms{as_long}: all host stages, mean against usual",
        )
    longest = "" if finding.longest_ms is None else f"; longest unit {ms(finding.longest_ms)} ms"
    yield "Peak P99", f"{ms(finding.peak_p99_ms)} ms (the highest of a second, in its first 5 s){longest}"
    yield "Units", f"{finding.slow_units:,} of {finding.units:,} were host-slow"
    if finding.cost_ms is not None:
        lost = f"{ms(finding.cost_ms)} ms lost in the episode"
        yield "Cost", lost if finding.cost_ms > 0 else "none: the units took no longer in all"
    if finding.detected_by:
        yield "Raised by", finding.detected_by
    if finding.transient_bins_s is not None:
        yield "In bins", f"{finding.transient_bins_s:g} s, counted in whole bins by when units were submitted"
    if finding.after_it:
        yield "After it", finding.after_it


def _beyond(finding: Finding, judgement: Judgement) -> str:
    """On which sides a finding goes past the stretch that is told of."""
    if judgement.whole_ns is None or judgement.start_ns is None or judgement.end_ns is None:
        return ""
    end_ns = told_end_ns(finding, judgement)
    first_ns, last_ns = judgement.asked_ns or (judgement.start_ns, judgement.end_ns)
    sides = ["began before"] if finding.start_ns < first_ns else []
    sides += ["goes on after"] if end_ns is not None and end_ns > last_ns else []
    return ", ".join(sides)


def _transient_tables(finding: HostSlowTransient) -> Iterator[Block]:
    if finding.causes:
        causes = sorted(finding.causes, key=lambda c: (c.cause != finding.primary_cause, _ORDER[c.verdict]))
        yield Table(
            columns("<cause", "<verdict", "<evidence"),
            tuple(
                (
                    cause_words(c.cause),
                    _WORDS[c.verdict],
                    c.evidence + (f" [{', '.join(c.threads)}]" if c.threads and c.verdict == "applies" else ""),
                )
                for c in causes
            ),
            "Causes",
        )
    if finding.threads:
        pair = "{} / {}".format
        yield Table(
            columns("<thread", "<core", "CPU ms/unit", "E share", "cycles/ns??", "IPC", "wait share???"),
            tuple(
                (
                    row.thread,
                    row.core_class or "–",
                    pair(*map(ms, row.cpu_ms_per_unit)),
                    pair(*(plain(v) for v in row.efficiency_share)),
                    pair(*(plain(v) for v in row.cycles_per_ns)),
                    pair(*(plain(v) for v in row.ipc)),
                    pair(*map(percent, row.run_delay_share)),
                )
                for row in finding.threads
            ),
            "Threads, during / reference",
        )
    if finding.ledger:
        yield from _ledger(finding)
    if finding.buckets:
        yield bucket_table(finding.buckets, f"Around the onset (seconds from it{_whose_cpu(finding)})")
    if finding.does_not_show:
        yield Paragraph("This evidence does not show:")
        yield Bullets(finding.does_not_show)


def _whose_cpu(finding: HostSlowTransient) -> str:
    """That the table's CPU time is that of all threads, and who took most of it that hardly ran before."""
    took = [(row.thread, *row.cpu_ms_per_unit) for row in finding.threads]
    all_ms = sum(during or 0.0 for _, during, _ in took)
    if not all_ms:
        return ""
    new = [
        (name, during) for name, during, usual in took if during and during >= all_ms / 4 and 3 * (usual or 0) < during
    ]
    of_it = ", ".join(f"{name} {ms(during)}" for name, during in new[:3])
    return "; CPU is that of all watched threads" + (f", in the episode {of_it} of {ms(all_ms)} ms/unit" if new else "")


def _ledger(finding: HostSlowTransient) -> Iterator[Block]:
    if all(factor is None for row in finding.ledger for _, factor in row.factors):
        yield Paragraph("No ledger: instructions, IPC and cycle rate, the factors of CPU time, are not known.")
        return
    names = tuple(dict.fromkeys(name for row in finding.ledger for name, _ in row.factors))
    heads = tuple(f"×{_FACTOR_WORDS.get(name, name)}" for name in names)
    yield Table(
        columns("<thread", "during", "ref.", *heads, "product?", "residual"),
        tuple(
            (
                row.thread,
                ms(row.cpu_ms_during),
                ms(row.cpu_ms_reference),
                *(plain(dict(row.factors).get(name)) for name in names),
                ratio(row.explained),
                ratio(row.residual),
            )
            for row in finding.ledger
        ),
        "Ledger: CPU ms per unit as a product of its factors (a residual of 1.00× closes exactly)",
    )


def bucket_table(buckets: tuple[Bucket, ...], caption: str) -> Table:
    """Time buckets aligned at t0."""
    return Table(
        columns("bucket s", "units", "P50 ms", "P99 ms", "slow", "CPU ms/unit??", "E share?", "cycles/ns???", "IPC???"),
        tuple(
            (
                f"{decimals(b.start_s, (1000, 1))} to {decimals(b.end_s, (1000, 1))}",
                f"{b.units:,}",
                ms(b.p50_ms),
                ms(b.p99_ms),
                percent(b.host_slow_share),
                ms(b.cpu_ms_per_unit),
                plain(b.efficiency_share),
                plain(b.cycles_per_ns),
                plain(b.ipc),
            )
            for b in buckets
        ),
        caption,
    )
