"""The pages of one stage and of one thread."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.snapshot import Series, StageDetail, ThreadDetail
from livemon.ui.render.chart import bands, bars, histogram, scale_for
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.lane import class_letters, lane
from livemon.ui.render.line import Row, clean, fit, wrap
from livemon.ui.render.numbers import figure, milliseconds_words
from livemon.ui.render.scale import PERCENT, Scale
from livemon.ui.render.threads import cpu_scale, thread_reasons


def _head(name: str, detail: str, glyphs: Glyphs) -> Row:
    return ((f" {name}", "bold"), (f"  {glyphs.ascii_only(detail)}", "muted")), "head"


def stage_rows(detail: StageDetail, cells: int, lines: int, glyphs: Glyphs) -> list[Row]:
    """A stage: what removing it would give, quantiles over time, the distribution."""
    rows: list[Row] = []
    facts = [
        ("role", detail.role),
        ("units", f"{detail.n} in the window"),
        ("mean", f"{milliseconds_words(detail.mean_ms)}"),
        ("budget", "none for this role" if detail.budget_ms is None else f"{detail.budget_ms:g} ms"),
    ]
    if detail.saving_ms_per_step is not None:
        facts.append(("what if", f"gone altogether: {milliseconds_words(detail.saving_ms_per_step)} less per step"))
        if detail.saving_to_budget_ms_per_step is not None:
            facts.append(
                ("", f"within its budget: {milliseconds_words(detail.saving_to_budget_ms_per_step)} less per step")
            )
    else:
        facts.append(("what if", "not known: it does not lie on the step's path, or no step was seen"))
    rows += [
        (((f" {fit(name, 9)} ", "muted"), (value, "bold" if name == "what if" else "text")), "")
        for name, value in facts
    ]
    height = max(min((lines - len(rows) - 4) // 2, 12), 4)
    scale = scale_for((detail.p50, detail.p90, detail.p99), "ms")
    rows.append(((), ""))
    rows.append(_head("OVER TIME", "5 median, 9 P90, ^ P99 of each column", glyphs))
    rows += [(line, "") for line in bands(detail.p50, detail.p90, detail.p99, cells - 1, height, scale, glyphs)]
    rows.append(_head("DISTRIBUTION", "units in the window by duration, bins of equal ratio", glyphs))
    shown = histogram(detail.edges_ms, detail.counts, cells - 1, max(height, 8), glyphs)
    rows += [(line, "") for line in shown] or [(((" no unit in the window", "muted"),), "")]
    return rows


def _cpu_scale(series: Series) -> Scale:
    return cpu_scale(max((value for value in series.high if value is not None), default=0.0))


def thread_rows(detail: ThreadDetail, classes: Sequence[str], cells: int, lines: int, glyphs: Glyphs) -> list[Row]:
    """A thread: lane, series over time, per-class counters, facts, every figure with its quality."""
    row = detail.row
    rows: list[Row] = []
    letters = class_letters(classes)
    named = ", ".join(letters[name] if letters[name] == name else f"{letters[name]} {name}" for name in classes)
    alone = ": all cores are of one class" if len(classes) == 1 else ""
    legend = f"{named}{alone}; lower case mixed, {glyphs.idle} idle, blank not observed"
    kind = "exact, from per-class counters" if row.lane.is_exact else "estimated from the CPU it was last seen on"
    rows.append(_head("CORES OVER TIME", f"{legend}; {kind}", glyphs))
    rows.append((((" " * 9, "text"), *lane(row.lane, max(cells - 10, 1), classes, glyphs)), ""))
    charts: list[tuple[str, Series, Scale | None, str, str]] = [
        ("CPU", row.series, _cpu_scale(row.series), "% of one core", ""),
        (
            "WAIT",
            detail.wait_percent,
            PERCENT,
            "run-queue delay / (CPU time + run-queue delay), %",
            row.wait_percent.reason,
        ),
        ("CPU PER UNIT", detail.cpu_ms_per_unit, None, "ms per unit of work", row.cpu_ms_per_unit.reason),
        ("IPC", detail.ipc, None, "instructions per cycle", row.ipc.reason),
        ("CYCLES PER NS", detail.cycles_per_ns, None, "relative, not a clock frequency", row.cycles_per_ns.reason),
    ]
    known = sum(1 for _, series, _, _, _ in charts if any(value is not None for value in series.high))
    height = max(min((lines - 12) // max(known, 1) - 1, 6), 2)
    for name, series, scale, what, why in charts:
        rows.append(_head(name, what, glyphs))
        if any(value is not None for value in series.high):
            unit = "ms" if name == "CPU PER UNIT" else ""
            rows += [
                (line, "") for line in bars(series, cells - 1, height, scale or scale_for((series,), unit), glyphs)
            ]
        else:
            reason = glyphs.ascii_only(clean(why) or "nothing was measured in the window")
            rows.append((((f"  {glyphs.missing} {reason}", "muted"),), ""))
    if detail.per_class:
        rows.append(_head("BY CORE CLASS", "in the window", glyphs))
        rows.append((((f"  {'class':<10} {'CPU share':>10} {'IPC':>8} {'cycles/ns':>10}", "header"),), ""))
        for name, share, ipc, cycles in detail.per_class:
            percent = glyphs.missing if share.value is None else f"{share.value * 100:.1f}%"
            figures = f"{figure(ipc, 'ratio', glyphs):>8} {figure(cycles, 'ratio', glyphs):>10}"
            text = f"  {fit(clean(name), 10)} {percent:>10} {figures}"
            why = next((f.reason for f in (share, ipc, cycles) if f.reason), "")
            rows.append((((text, "text"), (f"  {glyphs.ascii_only(clean(why))}", "muted")), ""))
    rows.append(_head("FIGURES", "~ estimated or scaled, ' stale, – unknown", glyphs))
    rows += figure_rows(thread_reasons(row, glyphs), cells, glyphs)
    if detail.facts:
        rows.append(_head("FACTS", "", glyphs))
        rows += [
            (((f"  {fit(clean(name), 20)} ", "muted"), (clean(value), "text")), "") for name, value in detail.facts
        ]
    return rows


def figure_rows(figures: Sequence[tuple[str, str, str]], cells: int, glyphs: Glyphs) -> list[Row]:
    """(name, value, why) as lines; a long reason goes on below."""
    rows: list[Row] = []
    for name, value, why in figures:
        shown = fit(glyphs.ascii_only(clean(value)), 12, ">")
        parts = wrap(glyphs.ascii_only(clean(why)), max(cells - 38, 16))
        rows.append((((f"  {fit(name, 20)} ", "muted"), (f"{shown}  ", "bold"), (parts[0], "text")), ""))
        rows += [(((" " * 37 + part, "text"),), "") for part in parts[1:]]
    return rows
