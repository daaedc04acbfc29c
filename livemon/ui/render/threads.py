"""The threads panel: one row for each thread, or for each group of threads."""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from livemon.model.snapshot import Figure, ThreadRow
from livemon.ui.render.glyphs import BLOCK, Glyphs
from livemon.ui.render.lane import class_letters, class_style, lane
from livemon.ui.render.line import Line, Span, clean, fit, width
from livemon.ui.render.numbers import figure
from livemon.ui.render.scale import PERCENT, Scale
from livemon.ui.render.spark import spark
from livemon.ui.render.table import Column, Widths

COLUMNS: tuple[Column, ...] = (
    Column("name", "thread#tid", 19, "<", 0, stretch=1, most=34, about="name#tid; ! takes part in the shown episode, x has ended, @ is livemon itself"),
    Column("process", "process", 12, "<", 10, from_width=150, about="name and pid of its process"),
    Column("cpu", "cpu", 4, ">", 5, about="CPU it was last seen on (sampled)"),
    Column("class", "on", 4, "<", 2, about="core class it ran on last"),
    Column("lane", "cores over time", 8, "<", 3, stretch=3, most=80, about="core class over time: capital = that class alone, lower case = mixed, · idle, blank = not observed"),
    Column("cpu_percent", "CPU %", 6, ">", 0, about="CPU time in the newest second, % of ONE core"),
    Column("cpu_ms_per_unit", "ms/unit", 7, ">", 1, about="CPU ms per unit of work"),
    Column("ipc", "IPC", 5, ">", 4, about="instructions per cycle"),
    Column("cycles_per_ns", "cyc/ns", 6, ">", 6, about="cycles per ns of CPU time: relative, not a clock frequency"),
    Column("wait_percent", "wait %", 6, ">", 1, about="time runnable but waiting for a CPU / (CPU time + that)"),
    Column("migrations_per_s", "mig/s", 6, ">", 8, from_width=130, about="CPU changes a second seen between samples: a lower bound"),
    Column("efficiency_share", "eff %", 6, ">", 9, from_width=140, about="share of CPU time on efficiency cores in the window"),
    Column("spark", "", 6, "<", 7, stretch=3, about="CPU % over time, each cell's maximum"),
)  # fmt: skip

CLASS_COLUMNS = ("class", "lane", "efficiency_share")
"""Columns that say nothing where all cores are of one class."""

FIGURES: dict[str, str] = {
    "cpu_percent": "percent",
    "cpu_ms_per_unit": "ms",
    "ipc": "ratio",
    "cycles_per_ns": "ratio",
    "wait_percent": "percent",
    "migrations_per_s": "percent",
}
"""Figure columns and their form."""


@dataclass(frozen=True, slots=True)
class Group:
    """Several threads shown as one row."""

    key: str
    rows: tuple[ThreadRow, ...]
    is_expanded: bool


def columns(groups: Iterable[Group]) -> tuple[Column, ...]:
    """The columns; where groups are listed the first one has room for their names."""
    longest = max((width(_group_words(group, BLOCK)) for group in groups), default=0)
    name = COLUMNS[0]
    return (replace(name, cells=min(max(longest, name.cells), name.most)), *COLUMNS[1:])


def _group_words(group: Group, glyphs: Glyphs, cells: int = 10_000) -> str:
    """A group's name and how many threads it has; the name is cut first."""
    sign = glyphs.expanded if group.is_expanded else glyphs.collapsed
    count = f" ({len(group.rows)})"
    name = clean(group.key)
    room = cells - width(sign) - 1 - len(count)
    return f"{sign} {name if width(name) <= room else fit(name, room, more=glyphs.more)}{count}"


def thread_value(row: ThreadRow, key: str) -> Figure:
    """The figure of a column."""
    value: Figure = getattr(row, key)
    if key == "efficiency_share" and value.value is not None:
        return Figure(value.value * 100, value.quality, value.reason)
    return value


def thread_line(
    row: ThreadRow,
    widths: Widths,
    classes: Sequence[str],
    glyphs: Glyphs,
    *,
    scale: Scale = PERCENT,
    is_involved: bool = False,
    indent: str = "",
) -> Line:
    """One thread as one line."""
    spans: list[Span] = []
    text_style = "text" if row.is_alive else "muted"
    for position, (column, cells) in enumerate(widths):
        key = column.key
        if position:
            spans.append((" ", "text"))
        if key == "spark":
            spans.extend(spark(row.series, cells, scale, glyphs))
            continue
        if key == "lane":
            spans.extend(lane(row.lane, cells, classes, glyphs))
            continue
        if key == "name":
            spans.extend(_name(row, cells, glyphs, is_involved=is_involved, indent=indent))
            continue
        if key == "process":
            text, style = process_word(row, glyphs), "muted"
        elif key == "cpu":
            text, style = figure(row.last_cpu, "int", glyphs).lstrip(glyphs.about), text_style
        elif key == "class":
            text, style = class_word(row, classes, glyphs), class_style(row.core_class, classes)
        else:
            value = thread_value(row, key)
            text = figure(value, FIGURES.get(key, "percent"), glyphs)
            style = text_style if value.value is not None else "muted"
            if key == "wait_percent" and value.value is not None and value.value >= WAIT_IS_HIGH:
                style = "warn"
        spans.append((fit(text, cells, column.align, glyphs.more), style))
    return tuple(spans)


def process_word(row: ThreadRow, glyphs: Glyphs) -> str:
    """Name and pid of the process, as far as they are known."""
    pid = str(row.pid) if row.pid >= 0 else ""
    return ":".join(part for part in (clean(row.process), pid) if part) or glyphs.missing


def cpu_scale(top: float) -> Scale:
    """0 to the least of 1, 2, 5, 10, 25, 50 or 100 % that holds ``top``; the same for all rows."""
    return next((Scale("linear", 0.0, step, "%") for step in (1.0, 2.0, 5.0, 10.0, 25.0, 50.0) if top <= step), PERCENT)


WAIT_IS_HIGH = 20.0
"""Wait % from which the cell is styled as a warning."""


def class_word(row: ThreadRow, classes: Sequence[str], glyphs: Glyphs) -> str:
    """The core class as a word; ``~`` before an estimate."""
    if row.core_class is None:
        return glyphs.missing
    name = row.core_class if width(row.core_class) <= 3 else class_letters(classes).get(row.core_class, "?")
    return (glyphs.about if row.class_quality == "estimated" else "") + name


def _name(row: ThreadRow, cells: int, glyphs: Glyphs, *, is_involved: bool, indent: str) -> list[Span]:
    sign, sign_style = " ", "text"
    if is_involved:
        sign, sign_style = "!", "warn"
    elif not row.is_alive:
        sign, sign_style = "x", "muted"
    elif row.is_self:
        sign, sign_style = "@", "muted"
    tid = f"#{row.tid}"
    room = cells - 1 - len(indent) - len(tid)
    name = clean(row.name)
    style = "name" if row.is_alive else "muted"
    if room < 4:
        return [(sign, sign_style), (fit(indent + name + tid, cells - 1, more=glyphs.more), style)]
    shown = fit(name, min(room, width(name)), more=glyphs.more)
    rest = cells - 1 - len(indent) - width(shown)
    return [(sign, sign_style), (indent + shown, style), (fit(tid, rest), "muted")]


def group_line(group: Group, widths: Widths, classes: Sequence[str], glyphs: Glyphs, *, scale: Scale = PERCENT) -> Line:
    """A group of threads as one line: CPU time added up, waiting against all of it, the busiest member's lane."""
    busiest = max(group.rows, key=lambda row: row.cpu_percent.value or 0.0)
    spans: list[Span] = []
    for position, (column, cells) in enumerate(widths):
        key = column.key
        if position:
            spans.append((" ", "text"))
        if key == "name":
            spans.append((fit(_group_words(group, glyphs, cells), cells, more=glyphs.more), "bold"))
        elif key == "lane":
            spans.extend(lane(busiest.lane, cells, classes, glyphs))
        elif key == "spark":
            spans.extend(spark(busiest.series, cells, scale, glyphs))
        elif key in ("cpu_percent", "cpu_ms_per_unit", "migrations_per_s"):
            text = figure(total(group.rows, key), FIGURES[key], glyphs)
            spans.append((fit(text, cells, column.align, glyphs.more), "text"))
        elif key == "wait_percent":
            waited = figure(total_wait(group.rows), "percent", glyphs)
            spans.append((fit(waited, cells, column.align, glyphs.more), "text"))
        elif key == "class":
            counts: dict[str, int] = {}
            for row in group.rows:
                if row.core_class is not None and row.core_class:
                    counts[row.core_class] = counts.get(row.core_class, 0) + 1
            letters = class_letters(classes)
            text = "".join(letters.get(name, "?") for name in sorted(counts, key=lambda n: -counts[n]))
            spans.append((fit(text or glyphs.missing, cells, column.align, glyphs.more), "text"))
        else:
            spans.append((" " * cells, "text"))
    return tuple(spans)


def total(rows: Sequence[ThreadRow], key: str) -> Figure:
    """Sum of a figure; estimated if any part of it is or is missing, unknown if all are."""
    parts = [thread_value(row, key) for row in rows]
    known = [part.value for part in parts if part.value is not None]
    if not known:
        return Figure(None, "unknown", parts[0].reason if parts else "no threads")
    is_whole = len(known) == len(parts) and all(part.quality == "measured" for part in parts)
    return Figure(sum(known), "measured" if is_whole else "estimated", "" if is_whole else "not all parts are measured")


def total_wait(rows: Sequence[ThreadRow]) -> Figure:
    """Wait % of several threads by the column's own formula: all their delay / (all their CPU time + all delay)."""
    pairs = [(row.cpu_percent.value, row.delay_percent.value) for row in rows if row.is_alive]
    known = [(cpu, delay) for cpu, delay in pairs if cpu is not None and delay is not None]
    if not known:
        return Figure(None, "unknown", rows[0].wait_percent.reason if rows else "no threads")
    delay = sum(part for _, part in known)
    both = delay + sum(part for part, _ in known)
    is_whole = len(known) == len(pairs)
    why = "" if is_whole else "not known of all threads"
    return Figure(100.0 * delay / both if both > 0 else 0.0, "measured" if is_whole else "estimated", why)


def thread_reasons(row: ThreadRow, glyphs: Glyphs) -> list[tuple[str, str, str]]:
    """(column, value, quality and why) of a row, for the key that explains a cell."""
    forms = {"last_cpu": "int", **FIGURES, "efficiency_share": "percent"}
    out = []
    for key, form in forms.items():
        value = thread_value(row, key)
        why = value.quality + (f": {value.reason}" if value.reason else "")
        out.append((TITLES.get(key, key), figure(value, form, glyphs), why))
    exact = "exact, from per-class counters" if row.lane.is_exact else "an estimate from the CPU it was last seen on"
    core_class = row.core_class if row.core_class is not None else glyphs.missing
    out.append(("core class", core_class, f"{row.class_quality}; the lane is {exact}"))
    out.append(("affinity", row.affinity or glyphs.missing, "CPUs it may run on" if row.affinity else "not read"))
    out.append(("policy", row.policy or glyphs.missing, "scheduling policy" if row.policy else "not read"))
    return out


TITLES = {
    "last_cpu": "last CPU",
    "cpu_percent": "CPU % of one core",
    "cpu_ms_per_unit": "CPU ms per unit",
    "ipc": "IPC",
    "cycles_per_ns": "cycles per ns",
    "wait_percent": "wait %",
    "migrations_per_s": "migrations/s",
    "efficiency_share": "efficiency cores %",
}
