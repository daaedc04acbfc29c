"""The timeline: host-slow share, episodes, marks and gaps in the window, and the whole session as a rail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livemon.model.findings import Finding, HostSlowTransient
from livemon.model.snapshot import Snapshot
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, clean, fit, fit_line, line_width
from livemon.ui.render.numbers import Stamps, duration
from livemon.ui.render.scale import SHARE
from livemon.ui.render.spark import end_cell, spark

LABEL = 11
"""Cells of the label on the left of each line."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Time over cells: ``[start_ns, end_ns)`` on ``cells`` cells."""

    start_ns: int
    end_ns: int
    cells: int

    def cell(self, t_ns: int) -> int | None:
        """The cell of a moment; ``None`` outside."""
        if not self.start_ns <= t_ns <= self.end_ns or self.cells <= 0 or self.end_ns <= self.start_ns:
            return None
        return min((t_ns - self.start_ns) * self.cells // (self.end_ns - self.start_ns), self.cells - 1)

    def time(self, cell: int) -> int:
        """The middle of a cell, in ns."""
        return self.start_ns + (self.end_ns - self.start_ns) * (2 * cell + 1) // max(2 * self.cells, 1)


def window_axis(snapshot: Snapshot, cells: int) -> Axis:
    """The axis of the window's lines: the series' own grid, so that bars and signs stand over each other."""
    series = snapshot.timeline.host_slow_share
    room = max(cells - LABEL, 1)
    count = len(series.high)
    if count == 0:
        return Axis(snapshot.at_ns - snapshot.span_ns, snapshot.at_ns, room)
    end = end_cell(series.first_bucket, count, room)
    width_ns = count * series.bucket_ns
    return Axis((end - room) * width_ns // room, end * width_ns // room, room)


def share_line(snapshot: Snapshot, cells: int, glyphs: Glyphs) -> Line:
    """Share of units that were host-slow, over the window, 0–100 %."""
    bars = spark(snapshot.timeline.host_slow_share, max(cells - LABEL, 0), SHARE, glyphs, style="slow")
    return fit_line(((fit("slow share", LABEL, more=glyphs.more), "muted"), *bars), cells, glyphs.more)


def events_line(snapshot: Snapshot, cells: int, glyphs: Glyphs) -> Line:
    """Episodes as bars with their ids, marks, gaps, in the window."""
    axis = window_axis(snapshot, cells)
    row = [(" ", "text")] * axis.cells
    for gap in snapshot.timeline.gaps:
        _fill(row, axis, gap.start_ns, gap.end_ns, glyphs.gap, "gap")
    for finding in snapshot.timeline.episodes:
        if isinstance(finding, HostSlowTransient):
            end = finding.end_ns if finding.end_ns is not None else snapshot.at_ns
            style = "crit" if finding.severity == "critical" else "warn"
            _fill(row, axis, finding.start_ns, end, glyphs.episode, style)
            cell = axis.cell(max(finding.start_ns, axis.start_ns))
            if cell is not None and end >= axis.start_ns:
                _write(row, cell, finding.id, style)
    for mark in snapshot.timeline.marks:
        cell = axis.cell(mark.t_ns)
        if cell is not None:
            row[cell] = (glyphs.mark, "mark")
            _write(row, cell + 1, clean(mark.text)[:12], "mark", only_blank=True)
    return fit_line(((fit("episodes", LABEL, more=glyphs.more), "muted"), *row), cells, glyphs.more)


def axis_line(snapshot: Snapshot, cells: int, glyphs: Glyphs) -> Line:
    """The window's start, its width and the cursor's time."""
    stamps = Stamps(snapshot.start_ns, snapshot.at_ns, snapshot.wall_ns)
    axis = window_axis(snapshot, cells)
    left = stamps.time(axis.start_ns) if axis.start_ns >= snapshot.start_ns else "before the start"
    middle = f"{duration(snapshot.span_ns / 1e9)} window"
    right = f"{stamps.time(snapshot.at_ns, places=1)} {glyphs.up}"
    room = axis.cells
    if len(left) + len(middle) + len(right) + 4 > room:
        left, middle = "", middle if len(middle) + len(right) + 2 <= room else ""
    space = room - len(left) - len(right)
    text = left + fit(middle, max(space, 0), "^", glyphs.more) + right
    return fit_line(((" " * LABEL, "muted"), (text, "muted")), cells, glyphs.more)


def rail_axis(snapshot: Snapshot, cells: int) -> Axis:
    """The axis of the rail: the whole session."""
    return Axis(snapshot.start_ns, max(snapshot.end_ns, snapshot.start_ns + 1), max(cells - LABEL, 1))


def rail_line(snapshot: Snapshot, findings: Sequence[Finding], cells: int, glyphs: Glyphs) -> Line:
    """The whole session: episodes, marks, the window and the cursor in it; what is not judged yet is shaded."""
    axis = rail_axis(snapshot, cells)
    row: list[Span] = [(glyphs.rule, "rail")] * axis.cells
    _fill(row, axis, snapshot.at_ns - snapshot.span_ns, snapshot.at_ns, glyphs.rule, "window")
    judged_ns = snapshot.timeline.judged_ns
    if judged_ns is not None:
        first = axis.cell(judged_ns)
        if first is not None:
            row[first:] = [(glyphs.bar_empty, style) for _, style in row[first:]]
    for finding in findings:
        if isinstance(finding, HostSlowTransient):
            end = finding.end_ns if finding.end_ns is not None else snapshot.end_ns
            style = "crit" if finding.severity == "critical" else "warn"
            _fill(row, axis, finding.start_ns, end, glyphs.episode, style)
    for mark in snapshot.timeline.marks:
        cell = axis.cell(mark.t_ns)
        if cell is not None:
            row[cell] = (glyphs.mark, "mark")
    at = axis.cell(min(max(snapshot.at_ns, axis.start_ns), axis.end_ns))
    if at is not None:
        row[at] = (glyphs.cursor, "cursor")
    return fit_line(((fit("session", LABEL), "muted"), *row), cells, glyphs.more)


def _fill(row: list[Span], axis: Axis, start_ns: int, end_ns: int, sign: str, style: str) -> None:
    start_ns, end_ns = max(start_ns, axis.start_ns), min(end_ns, axis.end_ns)
    first, last = axis.cell(start_ns), axis.cell(end_ns)
    if start_ns > end_ns or first is None or last is None:
        return
    for cell in range(first, last + 1):
        row[cell] = (sign, style)


def _write(row: list[Span], cell: int, text: str, style: str, *, only_blank: bool = False) -> None:
    for offset, letter in enumerate(text):
        place = cell + offset
        if place >= len(row) or (only_blank and row[place][0] != " "):
            return
        if line_width(((letter, ""),)) == 1:
            row[place] = (letter, style)
