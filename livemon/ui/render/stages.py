"""The stages panel: one row for each stage of each class."""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

from collections.abc import Sequence

from livemon.model.snapshot import StageRow
from livemon.model.wording import run_words
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, clean, fit, width
from livemon.ui.render.numbers import milliseconds, ratio
from livemon.ui.render.scale import RELATIVE, Scale, nice_linear, nice_log
from livemon.ui.render.spark import bar, spark
from livemon.ui.render.table import Column, Widths

COLUMNS: tuple[Column, ...] = (
    Column("class", "class", 10, "<", 0, stretch=1, most=22, about="the line's own label, or which run of the detected cycle; class:0/3 filters the first of three"),
    Column("stage", "stage", 11, "<", 0, stretch=1, most=24, about="name of the stage; unaccounted is total minus its parts"),
    Column("role", "role", 8, "<", 7, from_width=110, about="device, finalize, host, wait, total, or rest: what the parts leave of the total"),
    Column("state", "state", 6, "<", 0, about="ok, OVER its budget, SLOW against its healthy state, warming, silent, ? not judged yet"),
    Column("last", "last", 6, ">", 3, about="duration in the newest unit, ms"),
    Column("p50", "median", 6, ">", 0, about="median in the window, ms"),
    Column("p99", "P99", 6, ">", 1, about="99th percentile in the window, ms"),
    Column("share", "share", 5, ">", 2, about="share of the class's total time in the window"),
    Column("n", "n", 6, ">", 8, from_width=130, about="units in the window"),
    Column("budget", "of budget", 9, "<", 5, stretch=1, most=16, about="median against the budget: the bar is full at the budget, then the factor"),
    Column("spark", "", 6, "<", 6, stretch=4, about="durations over time, each cell's maximum, against what is usual (for a maximum, where many units share a cell)"),
)  # fmt: skip

_STATES = {"ok": ("ok", "ok"), "over": ("OVER", "crit"), "slow": ("SLOW", "warn"), "unjudged": ("?", "muted")}
_STATE_WORDS = {
    "warming": "too few units yet to know what is usual",
    "unjudged": "the recording is still being judged and has not come to this moment yet",
}
ROLE_WORDS = {"unaccounted": "rest"}
SCALES = ("relative", "log", "linear")


def spark_scale(rows: Sequence[StageRow], kind: str) -> Scale:
    """The scale that all rows share: against each median, or absolute in ms (log or linear)."""
    if kind == "relative":
        return RELATIVE
    values = [row.p50_ms for row in rows if row.p50_ms] + [row.p99_ms for row in rows if row.p99_ms]
    if not values:
        return nice_linear(1.0, "ms")
    return nice_log(min(values), max(values), "ms") if kind == "log" else nice_linear(max(values), "ms")


def spark_titles(scale: Scale, kind: str) -> tuple[str, ...]:
    """Header of the sparkline column: the scale in words, longest first."""
    if kind == "relative":
        ends = scale.label.removesuffix(" log")
        return f"{ends} the usual duration", f"{ends} the usual", f"{ends} usual", ends
    return f"durations {scale.label}", scale.label


def stage_line(row: StageRow, widths: Widths, scale: Scale, kind: str, glyphs: Glyphs) -> Line:
    """One stage as one line."""
    spans: list[Span] = []
    state, state_style = _STATES.get(row.state, (row.state, "muted"))
    is_quiet = row.state == "silent"
    text_style = "muted" if is_quiet else "text"
    missing = glyphs.missing
    for position, (column, cells) in enumerate(widths):
        key = column.key
        if position:
            spans.append((" ", "text"))
        if key == "spark":
            usual = usual_ms(row)
            spans.extend(
                spark(row.series, cells, scale, glyphs, divide_by=usual if kind == "relative" else None)
                if usual or kind != "relative"
                else [(" " * cells, "gap")]
            )
            continue
        if key == "class":
            text, style = _class_cell(row.class_key, cells) if row.class_key is not None else missing, "label"
        elif key == "stage":
            text, style = clean(row.stage), "name" if row.role != "total" else "bold"
        elif key == "role":
            text, style = ROLE_WORDS.get(row.role, row.role), f"role-{row.role}"
        elif key == "state":
            text, style = state, state_style
        elif key == "budget":
            text, style = _budget(row, cells, glyphs)
        elif key == "share":
            text, style = (missing if row.share is None else f"{row.share * 100:.0f}%"), text_style
        elif key == "n":
            text, style = str(row.n), "muted"
        else:
            value = {"last": row.last_ms, "p50": row.p50_ms, "p99": row.p99_ms}[key]
            text = milliseconds(value, missing)
            style = text_style if value is not None else "muted"
            if key == "p50" and row.state in ("over", "slow"):
                style = state_style
        spans.append((fit(text, cells, column.align, glyphs.more), style))
    return tuple(spans)


MANY = 4
"""Units in a bucket from which its maximum is measured against usual maxima: it always exceeds the usual duration."""


def usual_ms(row: StageRow) -> float | None:
    """What the bars of a sparkline are drawn against; ``None`` where nothing is known."""
    buckets = sum(high is not None for high in row.series.high)
    usual = row.reference_ms or row.p50_ms
    return row.reference_high_ms or usual if row.n >= MANY * max(buckets, 1) else usual


def _budget(row: StageRow, cells: int, glyphs: Glyphs) -> tuple[str, str]:
    if row.budget_ms is None or row.p50_ms is None or row.budget_ms <= 0:
        return "", "muted"
    part = row.p50_ms / row.budget_ms
    return f"{bar(part, max(cells - 6, 1), glyphs)} {ratio(part, glyphs)}", "crit" if part > 1 else "ok"


def class_word(class_key: str | None) -> str:
    """A class as it is shown; nothing for none, and for a cycle of one, which tells nothing apart."""
    return "" if class_key in (None, "0/1") else run_words(class_key) or clean(class_key or "")


def _class_cell(class_key: str, cells: int) -> str:
    words = run_words(class_key)
    return clean(class_key) if not words else words if width(words) <= cells else words.removeprefix("run ")


def class_about(class_key: str | None) -> str:
    """What a class key like ``2/3`` says; nothing for a label."""
    position, slash, period = (class_key or "").partition("/")
    if not (slash and position.isdecimal() and period.isdecimal()) or period == "1":
        return ""
    return f"{run_words(class_key)} in the cycle that the lines show; class:{class_key} filters it, counted from 0"


def stage_reasons(row: StageRow) -> list[tuple[str, str, str]]:
    """(column, value, why or where from) of a row, for the key that explains a cell."""
    window = f"in the window, n = {row.n}"
    nothing = "no record in the window" if row.n == 0 else "not known yet"
    return [
        ("class", row.class_key or "–",
         "the line has no label and no cycle was found" if row.class_key is None else class_about(row.class_key)),
        ("role", row.role, "from the stage's name or the criteria"),
        ("state", row.state, _STATE_WORDS.get(row.state, "")),
        ("last", milliseconds(row.last_ms), nothing if row.last_ms is None else "newest unit, ms"),
        ("median", milliseconds(row.p50_ms), nothing if row.p50_ms is None else f"ms, {window}"),
        ("P99", milliseconds(row.p99_ms), nothing if row.p99_ms is None else f"ms, {window}"),
        ("share", "–" if row.share is None else f"{row.share * 100:.1f} %",
         "the lines give no total" if row.share is None else "of the class's total"),
        ("budget", milliseconds(row.budget_ms), "no budget applies to this role" if row.budget_ms is None else "ms"),
        ("usual", milliseconds(row.reference_ms),
         "healthy state not known yet" if row.reference_ms is None else "in the healthy state, ms"),
        ("sparkline is against", milliseconds(usual_ms(row)),
         "the usual maximum of a second, ms: many units share a cell" if usual_ms(row) == row.reference_high_ms is not None
         else "the usual duration, ms" if row.reference_ms is not None else "the median in the window, ms"),
    ]  # fmt: skip
