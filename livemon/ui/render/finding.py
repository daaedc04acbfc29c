"""A finding in full: what, when, how sure, buckets, threads, causes, ledger, what it does not show; and as Markdown."""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.findings import CAUSE_WORDS, Bucket, Finding, HostSlowTransient, LedgerRow, OversizedFinalize
from livemon.model.severity import SeverityRules
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Row, Span, clean, fit, wrap
from livemon.ui.render.numbers import Stamps, duration, milliseconds, milliseconds_words, ratio, significant
from livemon.ui.render.spark import bar
from livemon.ui.render.stages import class_about, class_word

VERDICT_WORDS = {"applies": ("applies", "crit"), "ruled_out": ("ruled out", "ok"), "unknown": ("unknown", "muted")}


def headline(finding: Finding) -> str:
    """What it is, in one sentence."""
    if isinstance(finding, HostSlowTransient):
        how = f" {finding.slowdown:.2f}× its usual time" if finding.slowdown is not None else ""
        return f"The host side was slow:{how}" if finding.end_ns is not None else f"The host side is slow:{how}"
    shown = class_word(finding.class_key)
    where = f" of class {shown}" if shown else ""
    return f"{finding.stage}{where} takes {milliseconds_words(finding.p50_ms)} after the device is done"


def facts(finding: Finding, stamps: Stamps, severities: SeverityRules) -> list[tuple[str, str]]:
    """(name, value) pairs: how bad and why, when, how much, how sure."""
    end = "ongoing" if finding.end_ns is None else stamps.time(finding.end_ns, places=1)
    severity = f"{finding.severity}: {severities.why(finding)}"
    out = [("severity", severity), ("start", stamps.time(finding.start_ns, places=1)), ("end", end)]
    if isinstance(finding, HostSlowTransient):
        if finding.end_ns is not None:
            out.append(("lasted", duration((finding.end_ns - finding.start_ns) / 1e9)))
        delay_s = (finding.detected_ns - finding.start_ns) / 1e9
        out.append(("detected", f"{stamps.time(finding.detected_ns, places=1)} ({duration(delay_s)} after the start)"))
        out.append(
            ("slowdown", "–" if finding.slowdown is None else f"{finding.slowdown:.2f}× ({finding.slowdown_is})")
        )
        if finding.host_ms is not None and finding.host_ms[1] > 0:
            words = " against ".join(map(milliseconds_words, finding.host_ms))
            times = finding.host_ms[0] / finding.host_ms[1]
            out.append(("host time", f"{words} a slow unit: {times:.2f}×, all host stages, mean against usual"))
        longest = "" if finding.longest_ms is None else f"; longest unit {milliseconds_words(finding.longest_ms)}"
        peak = milliseconds_words(finding.peak_p99_ms)
        out.append(("peak P99", f"{peak} (the highest of a second, in its first 5 s){longest}"))
        out.append(("units", f"{finding.slow_units} of {finding.units} were slow"))
        out.append(("cost", f"{milliseconds_words(finding.cost_ms)} lost in all"))
        out.append(("raised by", finding.detected_by or "–"))
        if finding.transient_bins_s is not None:
            out.append(
                ("in bins", f"{finding.transient_bins_s:g} s, counted in whole bins by when units were submitted")
            )
        if finding.after_it:
            out.append(("after it", finding.after_it))
    else:
        out += _finalize_facts(finding, stamps)
    return out


def _finalize_facts(finding: OversizedFinalize, stamps: Stamps) -> list[tuple[str, str]]:
    out = [("detected", stamps.time(finding.detected_ns, places=1))]
    if about := class_about(finding.class_key):
        out.append(("class", f"{finding.class_key}: {about}"))
    out += [
        ("median", f"{milliseconds_words(finding.p50_ms)} over {finding.units} units"),
    ]
    if finding.budget_ms is not None:
        out.append(("budget", f"{finding.budget_ms:g} ms: {finding.p50_ms / max(finding.budget_ms, 1e-9):.1f}× of it"))
    if (times := finding.judged_ratio) is not None:
        typical = finding.device_p50_ms if finding.device_middle_ms is None else finding.device_middle_ms
        which = "" if finding.device_middle_ms is None else " in its middle (it has more than one mode)"
        out.append(("device", f"{times:.2f}× of {finding.device_stage} {milliseconds_words(typical)}{which}"))
    if finding.share_of_total is not None:
        out.append(("share", f"{finding.share_of_total * 100:.1f} % of {finding.share_denominator or 'the total'}"))
    if finding.saving_ms_per_step is not None:
        out.append(("saving", f"{milliseconds_words(finding.saving_ms_per_step)} per step without it, on average"))
    if finding.saving_to_budget_ms_per_step is not None:
        out.append(("", f"{milliseconds_words(finding.saving_to_budget_ms_per_step)} per step if it met its budget"))
    words = {"budget": "the budget", "ratio": "the ratio to the device stage"}
    out.append(("breaks", " and ".join(words.get(rule, rule) for rule in finding.rules) or "–"))
    if finding.evidence:
        out.append(("evidence", finding.evidence))
    return out


def finding_rows(finding: Finding, stamps: Stamps, severities: SeverityRules, cells: int, glyphs: Glyphs) -> list[Row]:
    """The whole page."""
    rows: list[Row] = [(((f" {glyphs.ascii_only(headline(finding))}", "bold"),), ""), ((), "")]
    for name, value in facts(finding, stamps, severities):
        for number, part in enumerate(wrap(glyphs.ascii_only(clean(value)), max(cells - 13, 10))):
            rows.append((((f" {fit(name if number == 0 else '', 11)} ", "muted"), (part, "text")), ""))
    if isinstance(finding, HostSlowTransient):
        rows += _section("CAUSES", "every hypothesis with its two figures: during, and when it was healthy", glyphs)
        rows += _cause_rows(finding, cells, glyphs)
        if finding.threads:
            rows += _section("THREADS", "during / reference", glyphs)
            rows += _thread_rows(finding, cells, glyphs)
        if finding.ledger:
            rows += _section(
                "LEDGER", "CPU per unit = instructions / (IPC × cycle rate); 1.00 residual closes exactly", glyphs
            )
            rows += [(line, "") for line in _ledger_lines(finding.ledger, glyphs)]
        if finding.buckets:
            rows += _section(
                "OVER TIME", "aligned at the start; share of slow units; median, P99 and CPU per unit in ms", glyphs
            )
            rows += [(line, "") for line in bucket_lines(finding.buckets, cells, glyphs)]
        if finding.does_not_show:
            rows += _section("DOES NOT SHOW", "", glyphs)
            for item in finding.does_not_show:
                for number, part in enumerate(wrap(glyphs.ascii_only(clean(item)), max(cells - 4, 10))):
                    rows.append(((((" - " if number == 0 else "   ") + part, "text"),), ""))
    return rows


def _section(name: str, detail: str, glyphs: Glyphs) -> list[Row]:
    return [((), ""), (((f" {name}", "bold"), (f"  {glyphs.ascii_only(detail)}", "muted")), "head")]


def _cause_rows(finding: HostSlowTransient, cells: int, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = []
    order = {"applies": 0, "unknown": 1, "ruled_out": 2}
    for cause in sorted(finding.causes, key=lambda c: (c.cause != finding.primary_cause, order[c.verdict])):
        word, style = VERDICT_WORDS[cause.verdict]
        name = CAUSE_WORDS.get(cause.cause, cause.cause)
        sign = glyphs.arrow if cause.cause == finding.primary_cause else " "
        figures = (
            "–" if cause.during is None and cause.reference is None else f"{pair((cause.during, cause.reference))}"
        )
        head: list[Span] = [
            (f" {sign} ", "title"),
            (fit(word, 10), style),
            (fit(name, 26, more=glyphs.more), "bold" if cause.verdict == "applies" else "text"),
            (glyphs.ascii_only(fit(figures, 15)), "text"),
        ]
        room = max(cells - 60, 20) if cells >= 110 else cells - 6
        parts = wrap(glyphs.ascii_only(clean(cause.evidence)), room)
        if cells >= 110:
            rows.append(((*head, (" " + parts[0], "muted")), ""))
            rows += [(((" " * 59 + part, "muted"),), "") for part in parts[1:]]
        else:
            rows.append((tuple(head), ""))
            rows += [(((" " * 5 + part, "muted"),), "") for part in parts if part]
        if cause.threads and cause.verdict == "applies":
            indent = 59 if cells >= 110 else 5
            rows.append((((" " * indent + "threads: " + ", ".join(clean(t) for t in cause.threads), "name"),), ""))
    return rows


def pair(values: tuple[float | None, float | None], scale: float = 1.0) -> str:
    """``during / reference``."""
    return " / ".join("–" if value is None else _short(value * scale) for value in values)


def _short(value: float) -> str:
    """Three digits, in thousands, millions or billions from 100,000 on."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e5, " k")):
        if abs(value) >= limit:
            return significant(value / (limit if limit != 1e5 else 1e3)) + unit
    return significant(value)


_THREAD_COLUMNS = (
    ("thread", 22), ("on", 4), ("CPU ms/unit", 13), ("eff share %", 13), ("cycles/ns", 13), ("IPC", 13), ("wait %", 13),
)  # fmt: skip


def _thread_rows(finding: HostSlowTransient, cells: int, glyphs: Glyphs) -> list[Row]:
    def line(texts: Sequence[str], style: str) -> Line:
        spans: list[Span] = [(" ", "text")]
        for (_, size), text in zip(_THREAD_COLUMNS, texts, strict=True):
            spans.append((glyphs.ascii_only(fit(text, size, more=glyphs.more)) + " ", style))
        return tuple(spans)

    rows: list[Row] = [(line([title for title, _ in _THREAD_COLUMNS], "header"), "")]
    for evidence in finding.threads:
        texts = (
            clean(evidence.thread),
            evidence.core_class or glyphs.missing,
            pair(evidence.cpu_ms_per_unit),
            pair(evidence.efficiency_share, 100),
            pair(evidence.cycles_per_ns),
            pair(evidence.ipc),
            pair(evidence.run_delay_share, 100),
        )
        rows.append((line(texts, "text"), ""))
    return rows


_FACTORS = {"ipc": "IPC", "cycle_rate": "cycle rate"}


def _ledger_lines(ledger: Sequence[LedgerRow], glyphs: Glyphs) -> list[Line]:
    if all(value is None for row in ledger for _, value in row.factors):
        return [
            ((f" {glyphs.missing} instructions, IPC and cycle rate are not known: livemon doctor says why", "muted"),)
        ]
    lines: list[Line] = []
    for row in ledger:
        observed = None
        if row.cpu_ms_during is not None and row.cpu_ms_reference:
            observed = row.cpu_ms_during / row.cpu_ms_reference
        factors = f" {glyphs.times} ".join(
            f"{_FACTORS.get(name, name)} {ratio(value, glyphs)}" for name, value in row.factors
        )
        residual = "not closed" if row.residual is None else f"residual {row.residual:.2f}"
        is_open = row.residual is None or not 0.8 <= row.residual <= 1.25
        text = f"{pair((row.cpu_ms_during, row.cpu_ms_reference))} ms = {ratio(observed, glyphs)}; {factors} = {ratio(row.explained, glyphs)}; "
        lines.append(
            (
                (f" {fit(clean(row.thread), 22, more=glyphs.more)} ", "name"),
                (glyphs.ascii_only(text), "text"),
                (residual, "warn" if is_open else "ok"),
            )
        )
    return lines


def bucket_lines(buckets: Sequence[Bucket], cells: int, glyphs: Glyphs) -> list[Line]:
    """One line for each bucket; the onset stands out by a rule."""
    lines: list[Line] = [
        ((glyphs.ascii_only(f" {'from t0':>15} {'units':>6} {'slow':>5} {'median':>7} {'P99':>7} {'CPU/unit':>9} {'eff %':>6} {'cyc/ns':>7} {'IPC':>6}"), "header"),)
    ]  # fmt: skip
    was_before = False
    room = max(min(cells - 80, 40), 0)
    for bucket in buckets:
        is_before = bucket.start_s < 0
        if was_before and not is_before:
            lines.append(((f" {glyphs.rule * 14} t0 ", "title"),))
        was_before = is_before
        share = bucket.host_slow_share
        values = (
            milliseconds(bucket.p50_ms), milliseconds(bucket.p99_ms), milliseconds(bucket.cpu_ms_per_unit),
            "–" if bucket.efficiency_share is None else f"{bucket.efficiency_share * 100:.0f}",
            "–" if bucket.cycles_per_ns is None else significant(bucket.cycles_per_ns),
            "–" if bucket.ipc is None else significant(bucket.ipc),
        )  # fmt: skip
        span = f"{bucket.start_s:+.1f} {glyphs.to} {bucket.end_s:+.1f} s"
        slow = "–" if share is None else f"{share * 100:.0f}%"
        text = f" {span:>15} {bucket.units:>6} {slow:>5} {values[0]:>7} {values[1]:>7} {values[2]:>9} {values[3]:>6} {values[4]:>7} {values[5]:>6} "
        style = "warn" if share is not None and share >= 0.5 else "text"
        lines.append(((glyphs.ascii_only(text), style), (bar(share, room, glyphs), "slow")))
    return lines


def markdown(finding: Finding, stamps: Stamps, severities: SeverityRules) -> str:
    """The finding for an issue or a chat: the same figures as the page."""
    lines = [f"### {finding.id}: {headline(finding)}", ""]
    lines += [f"- {name or 'and'}: {value}" for name, value in facts(finding, stamps, severities)]
    if isinstance(finding, HostSlowTransient):
        lines += ["", "| cause | verdict | during | reference | evidence |", "| --- | --- | --- | --- | --- |"]
        for cause in finding.causes:
            during, reference = (("–" if v is None else significant(v)) for v in (cause.during, cause.reference))
            evidence = cause.evidence.replace("|", "\\|")
            lines.append(
                f"| {CAUSE_WORDS.get(cause.cause, cause.cause)} | {cause.verdict.replace('_', ' ')} | {during} | {reference} | {evidence} |"
            )
        if finding.ledger:
            lines += [
                "",
                "| thread | CPU ms/unit during | reference | factors | explained | residual |",
                "| --- | --- | --- | --- | --- | --- |",
            ]
            for row in finding.ledger:
                factors = " × ".join(
                    f"{name} {'–' if value is None else f'{value:.2f}'}" for name, value in row.factors
                )
                cells = [milliseconds(row.cpu_ms_during), milliseconds(row.cpu_ms_reference), factors]
                cells += ["–" if value is None else f"{value:.2f}" for value in (row.explained, row.residual)]
                lines.append(f"| {row.thread} | " + " | ".join(cells) + " |")
        if finding.does_not_show:
            lines += ["", "Does not show:"] + [f"- {item}" for item in finding.does_not_show]
    return "\n".join(lines) + "\n"
