"""The overview's drawing: verdict, timeline, findings, stages, threads, status as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import ClassVar

from livemon.model.findings import Finding, HostSlowTransient
from livemon.model.snapshot import Snapshot, StageRow, ViewSource
from livemon.ui.filtering import STAGE_FIELDS, THREAD_FIELDS
from livemon.ui.panel import Panel
from livemon.ui.render import stages as stage_render
from livemon.ui.render import threads as thread_render
from livemon.ui.render import timeline
from livemon.ui.render.line import Line, Row, Span, fit_line
from livemon.ui.render.numbers import Stamps
from livemon.ui.render.overview import share_lines
from livemon.ui.render.scale import Scale
from livemon.ui.render.summary import finding_line, status_line, verdict_lines, view_words
from livemon.ui.render.table import Widths, choose, header
from livemon.ui.screens.filtered import FilteredScreen
from livemon.ui.threadlist import Entry, ThreadList, keys_of, visible_rows
from livemon.ui.view import View

PANELS = ("findings", "stages", "threads")
HINTS = (
    "help", "quit", "open", "next_panel", "pause", "next_episode", "tick_back", "filter", "log", "zoom_in", "explain",
    "sort", "group", "mark",
)  # fmt: skip
ELSEWHERE_NS = 2_000_000_000
"""So far from the moment drawn last, other rows are the important ones."""
MARGIN = 1
"""Cells left of each row, for the selection sign."""


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The most important first: ongoing ones, episodes by time, finalize stages by what they give.

    The newest episode stands second at the latest: where three rows are shown, who was slow is one of them.
    """

    def rank(finding: Finding) -> tuple[bool, bool, float]:
        if isinstance(finding, HostSlowTransient):
            return finding.end_ns is not None, False, -finding.start_ns
        return finding.end_ns is not None, True, -(finding.saving_ms_per_step or 0.0)

    ordered = sorted(findings, key=rank)
    newest = next((k for k, finding in enumerate(ordered) if isinstance(finding, HostSlowTransient)), 0)
    if newest > 1:
        ordered.insert(1, ordered.pop(newest))
    return ordered


class OverviewPanels(FilteredScreen):
    """What the overview shows; its keys are in ``overview.py``."""

    screen_name: ClassVar[str] = "overview"

    def __init__(self) -> None:
        super().__init__()
        self.panels = {name: Panel() for name in PANELS}
        self._active: str | None = None
        self._first_panel = "threads"
        self.is_all_findings = False
        self.is_reversed = False
        self.expanded: set[str] = set()
        self._list = ThreadList()
        self._places: list[tuple[str, int]] = []
        self._lines: dict[object, tuple[object, object, Line]] = {}
        self._before: dict[object, tuple[object, object, Line]] = {}
        """Lines of this drawing and of the one before. A row holds on to all of its frame: no older one is kept."""
        self._shown: dict[str, Sequence[object]] = {}
        self._thread_widths: Widths = ()
        self._listed_threads = 0
        self._drawn_ns = 0
        self._cpu_top = (0, 0.0)

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> tuple[Finding, ...]:
        """Everything known at the end, for the rail and for ``a``."""
        return source.all_findings()

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return HINTS

    def columns(self) -> int:
        """One bucket a cell of the timeline, halved while that still leaves enough for the sparklines."""
        cells = max(self.app.size.width - timeline.LABEL - MARGIN, 16)
        return min(cells if cells <= 120 else cells // 2, 200)

    @property
    def active(self) -> str:
        """The panel with the selected row: until somebody chooses one, what is wrong, else the threads."""
        return self._active or self._first_panel

    @active.setter
    def active(self, name: str) -> None:
        self._active = name

    # What is listed.

    def findings(self, snapshot: Snapshot) -> list[Finding]:
        """The findings to list: ongoing and newest first."""
        known = snapshot.findings
        if self.is_all_findings:
            # What is known at the shown moment is shown as it was known then, as on its page and in the first line.
            ids = {finding.id for finding in known}
            known = (*known, *(finding for finding in self.known_at_the_end() if finding.id not in ids))
        return in_order(known)

    def known_at_the_end(self) -> tuple[Finding, ...]:
        """All findings of the session, as far as they have come."""
        return self.app.extra if isinstance(self.app.extra, tuple) else ()

    def involved(self, snapshot: Snapshot) -> set[int]:
        """Indices of the threads that the shown episode's causes name."""
        names: set[str] = set()
        for finding in snapshot.findings:
            is_now = finding.end_ns is None or finding.end_ns >= snapshot.at_ns
            if isinstance(finding, HostSlowTransient) and is_now:
                primary = [cause for cause in finding.causes if cause.cause == finding.primary_cause and cause.threads]
                for cause in primary or finding.causes:
                    if cause.verdict == "applies":
                        names.update(cause.threads)
        if not names:
            return set()
        return {row.index for row in snapshot.threads if row.name in names or f"{row.name}#{row.tid}" in names}

    def thread_entries(self, snapshot: Snapshot, involved: set[int]) -> Sequence[Entry]:
        """The thread panel's entries."""
        rows = visible_rows(snapshot.threads, self.filter)
        self._listed_threads = len(rows)
        settings = self.app.settings
        ordered = self._list.ordered(
            rows,
            settings.sort,
            is_reversed=self.is_reversed,
            at_ns=snapshot.at_ns if self.app.view.is_following else None,
            involved=involved,
        )
        return self._list.entries(ordered, settings.group, self.expanded)

    # Drawing.

    def body(self, cells: int, lines: int) -> list[Row]:
        """All panels."""
        snapshot = self.app.snapshot
        if snapshot is None:
            self._places = []
            return self.app.loading_rows(cells, lines)
        self._before, self._lines = self._lines, {}
        glyphs = self.glyphs
        findings = self.findings(snapshot)
        stages = (
            [row for row in snapshot.stages if self.filter.keeps_stage(row)]
            if self.filter.terms
            else list(snapshot.stages)
        )
        involved = self.involved(snapshot)
        entries = self.thread_entries(snapshot, involved)
        titles = 1 if cells >= 100 else 0
        verdict = verdict_lines(snapshot.verdict, cells, 1 if lines < 20 else 2 if cells >= 100 else 3, glyphs)
        layout = share_lines(lines - 1 - len(verdict), len(findings), len(stages) + titles, len(entries) + titles)
        if len(stages) > layout.stages - titles:
            # What is wrong must be in sight when not everything is.
            stages.sort(key=lambda row: row.state not in ("over", "slow"))
        rows: list[Row] = [(line, "") for line in verdict]
        places = [("verdict", -1)] * len(verdict)
        drawn = [
            timeline.share_line(snapshot, cells - MARGIN, glyphs),
            timeline.events_line(snapshot, cells - MARGIN, glyphs),
            timeline.axis_line(snapshot, cells - MARGIN, glyphs),
            timeline.rail_line(snapshot, self.known_at_the_end() or findings, cells - MARGIN, glyphs),
        ]
        order = {0: (), 1: (0,), 2: (0, 1), 3: (0, 1, 3), 4: (0, 1, 2, 3)}[layout.timeline]
        for number in order:
            rows.append((((" ", "text"), *drawn[number]), ""))
            places.append(("rail" if number == 3 else "timeline", number))
        self._first_panel = "findings" if layout.findings else "threads"
        is_standing = self.app.view.at_ns is not None and self.app.view.speed is None
        if is_standing and abs(snapshot.at_ns - self._drawn_ns) >= ELSEWHERE_NS:
            for panel in self.panels.values():
                panel.begin_anew()
        self._drawn_ns = snapshot.at_ns
        self._shown = {"findings": findings, "stages": stages, "threads": entries}
        self._finding_rows(rows, places, snapshot, findings, layout.findings, cells)
        self._stage_rows(rows, places, stages, layout.stages, cells)
        if layout.threads:
            self._thread_rows(rows, places, snapshot, entries, involved, layout.threads, cells)
        rows = rows[: lines - 1]
        places = places[: lines - 1]
        while len(rows) < lines - 1:
            rows.append(((), ""))
            places.append(("", -1))
        view = view_words(
            snapshot,
            is_following=self.app.view.is_following,
            is_live=self.app.is_live,
            speed=self.app.view.speed,
            glyphs=glyphs,
        )
        rows.append((status_line(snapshot, view, cells, glyphs, screen_percent=self.app.own_cpu_percent), "bar"))
        self._places = places
        return rows

    def _title(self, name: str, text: str, detail: str, cells: int) -> Row:
        is_active = self.active == name
        sign = self.glyphs.arrow if is_active else " "
        line = ((sign, "title"), (text, "title" if is_active else "bold"), (f"  {detail}", "muted"))
        return fit_line(line, cells, self.glyphs.more), "head"

    def _row(self, name: str, position: int, line: Line) -> Row:
        is_selected = self.panels[name].index == position and self.active == name
        sign: Span = (self.glyphs.arrow, "title") if is_selected else (" ", "text")
        return (sign, *line), "sel" if is_selected else ""

    def _finding_rows(
        self,
        rows: list[Row],
        places: list[tuple[str, int]],
        snapshot: Snapshot,
        findings: list[Finding],
        count: int,
        cells: int,
    ) -> None:
        panel = self.panels["findings"]
        panel.set([finding.id for finding in findings], count)
        if not count:
            return
        stamps = Stamps(snapshot.start_ns, snapshot.at_ns, snapshot.wall_ns)
        judged_ns = snapshot.timeline.judged_ns
        if judged_ns is not None and (self.is_all_findings or snapshot.at_ns > judged_ns):
            scope = f"as far as it is judged: until {stamps.time(judged_ns)}"
        else:
            scope = (
                "of the whole session, those known at the shown moment as known then"
                if self.is_all_findings
                else "known at the shown moment"
            )
        ongoing = sum(1 for finding in findings if finding.end_ns is None)
        rows.append(self._title("findings", f"FINDINGS {len(findings)}", f"{ongoing} ongoing, {scope}", cells))
        places.append(("findings", -1))
        for position in panel.visible():
            line = finding_line(findings[position], stamps, cells - MARGIN, self.glyphs)
            rows.append(self._row("findings", position, line))
            places.append(("findings", position))

    def _stage_rows(
        self, rows: list[Row], places: list[tuple[str, int]], stages: list[StageRow], count: int, cells: int
    ) -> None:
        panel = self.panels["stages"]
        panel.set([(row.class_key, row.stage) for row in stages], count)
        if not count:
            return
        kind = self.app.settings.stage_scale
        scale = stage_render.spark_scale(stages, kind)
        hidden = self.app.settings.hidden_columns
        widths = choose(stage_render.COLUMNS, cells - MARGIN, hidden)
        titles = {"spark": stage_render.spark_titles(scale, kind)}
        if cells < 100:
            titles["stage"] = (f"stage {self._position(panel, len(stages))}".rstrip(), "stage")
        filter_words = self._filter_words(STAGE_FIELDS)
        sign = self.glyphs.arrow if self.active == "stages" else " "
        head = f"STAGES {len(stages)}"
        place = self._position(panel, len(stages))
        if cells >= 100:
            rows.append(self._title("stages", head, f"{place}median and P99 over the window{filter_words}", cells))
            places.append(("stages", -1))
            count -= 1
        rows.append(
            (
                (((sign if cells < 100 else " "), "title"), *header(widths, titles, self.glyphs)),
                "head" if cells < 100 else "",
            )
        )
        places.append(("stages", -1))
        panel.set(panel.keys, count)
        for position in panel.visible():
            row = stages[position]
            how = (widths, scale, kind, self.glyphs)
            line = self._cached(
                ("stage", row.class_key, row.stage), row, how, partial(stage_render.stage_line, row, *how)
            )
            rows.append(self._row("stages", position, line))
            places.append(("stages", position))
        for _ in range(count - len(panel.visible())):
            rows.append(((), ""))
            places.append(("", -1))

    def _filter_words(self, fields: AbstractSet[str]) -> str:
        """What a panel's rows are filtered by."""
        words = self.filter.words_on(fields)
        return f"  filter: {words}" if words else ""

    def _position(self, panel: Panel, count: int) -> str:
        return f"{panel.index + 1}/{count}  " if count > panel.height else ""

    def _thread_rows(
        self,
        rows: list[Row],
        places: list[tuple[str, int]],
        snapshot: Snapshot,
        entries: Sequence[Entry],
        involved: set[int],
        count: int,
        cells: int,
    ) -> None:
        panel = self.panels["threads"]
        settings = self.app.settings
        is_uniform = len(snapshot.classes) == 1
        hidden = (*settings.hidden_columns, *(thread_render.CLASS_COLUMNS if is_uniform else ()))
        groups = () if settings.group == "none" else [entry.group for entry in entries if entry.group]
        widths = choose(thread_render.columns(groups), cells - MARGIN, hidden)
        self._thread_widths = widths
        is_wide = cells >= 100
        count = max(count - (1 if is_wide else 0), 0)
        panel.set(keys_of(entries), count)
        filter_words = self._filter_words(THREAD_FIELDS)
        sorted_by = (
            f"by {thread_render.TITLES.get(settings.sort, settings.sort)}{' reversed' if self.is_reversed else ''}"
        )
        grouped = f", grouped by {settings.group}" if groups else ""
        total = len(snapshot.threads)
        listed = self._listed_threads
        shown = f"{total}" if listed == total else f"{listed} of {total}"
        if is_wide:
            uniform = ", one core class" if is_uniform else ""
            detail = f"{self._position(panel, len(entries))}{sorted_by}{grouped}{uniform}{filter_words}"
            rows.append(self._title("threads", f"THREADS {shown}", detail, cells))
            places.append(("threads", -1))
        sign = self.glyphs.arrow if self.active == "threads" else " "
        scale = self._cpu_scale(snapshot, entries)
        titles: dict[str, tuple[str, ...]] = {"spark": (f"CPU {scale.label}", scale.label)}
        titles["lane"] = ("cores over time", "cores")
        if not is_wide:
            titles["name"] = (f"thread#tid {self._position(panel, len(entries))}".rstrip(), "thread#tid")
        line = header(widths, titles, self.glyphs, sorted_by=settings.sort)
        rows.append((((" " if is_wide else sign, "title"), *line), "" if is_wide else "head"))
        places.append(("threads", -1))
        if not entries:
            why = "no thread passes the filter" if snapshot.threads else self.app.no_threads_reason()
            rows.append((((f"  {self.glyphs.ascii_only(why)}", "muted"),), ""))
            places.append(("", -1))
        for position in panel.visible():
            rows.append(
                self._row("threads", position, self._entry_line(entries[position], widths, snapshot, involved, scale))
            )
            places.append(("threads", position))

    def _cpu_scale(self, snapshot: Snapshot, entries: Sequence[Entry]) -> Scale:
        """One scale for all rows; it grows with what is in sight and starts anew with another window."""
        if snapshot.span_ns != self._cpu_top[0]:
            self._cpu_top = (snapshot.span_ns, 0.0)
        panel = self.panels["threads"]
        for position in panel.visible():
            entry = entries[position]
            for row in (entry.row,) if entry.row is not None else entry.group.rows if entry.group is not None else ():
                top = row.series.top
                if top > self._cpu_top[1]:
                    self._cpu_top = (snapshot.span_ns, top)
        return thread_render.cpu_scale(self._cpu_top[1])

    def _entry_line(self, entry: Entry, widths: Widths, snapshot: Snapshot, involved: set[int], scale: Scale) -> Line:
        if entry.row is None:
            assert entry.group is not None
            return thread_render.group_line(entry.group, widths, snapshot.classes, self.glyphs, scale=scale)
        row = entry.row
        is_involved = row.index in involved
        how = (widths, snapshot.classes, self.glyphs, scale, is_involved, entry.indent)
        return self._cached(
            ("thread", row.index),
            row,
            how,
            lambda: thread_render.thread_line(
                row,
                widths,
                snapshot.classes,
                self.glyphs,
                scale=scale,
                is_involved=is_involved,
                indent=entry.indent,
            ),
        )

    def _cached(self, key: object, value: object, how: object, make: Callable[[], Line]) -> Line:
        known = self._before.get(key)
        # To compare rows of threads would cost as much as to draw them: all that they show is made only then.
        is_same = known is not None and (known[0] is value or (isinstance(value, StageRow) and known[0] == value))
        line = known[2] if known is not None and is_same and known[1] == how else make()
        self._lines[key] = (value, how, line)
        return line
