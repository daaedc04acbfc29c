"""The overview's keys: rows, panels, filter, sort, group, columns, and what enter opens."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events

from livemon.model.snapshot import StageRow
from livemon.ui.actions import BY_ID
from livemon.ui.filtering import STAGE_FIELDS, THREAD_FIELDS
from livemon.ui.panel import Panel
from livemon.ui.render import timeline
from livemon.ui.render.stages import SCALES, stage_reasons
from livemon.ui.render.table import column_at
from livemon.ui.render.threads import TITLES, thread_reasons
from livemon.ui.screens.overview_panels import MARGIN, PANELS, OverviewPanels
from livemon.ui.settings import CHOICES
from livemon.ui.threadlist import Entry


class OverviewScreen(OverviewPanels):
    """At a glance: is it slow now, since when, where, why."""

    screen_name: ClassVar[str] = "overview"

    @property
    def panel(self) -> Panel:
        """The panel that the row keys move in."""
        return self.panels[self.active]

    def do(self, action_id: str) -> None:
        """Whoever acts on a row has chosen the one that is highlighted: nothing that is sorted anew takes its place."""
        action = BY_ID.get(action_id)
        if action is not None and (action.group == "Rows" or action_id == "explain"):
            self.active = self.active
            if action_id in ("open", "explain", "next_panel", "previous_panel"):
                self.panel.pin()
        super().do(action_id)
        if action_id in ("next_panel", "previous_panel"):
            self.panel.pin()

    def act_down(self) -> None:
        """Row down."""
        self.panel.move(1)

    def act_up(self) -> None:
        """Row up."""
        self.panel.move(-1)

    def act_page_down(self) -> None:
        """Page down."""
        self.panel.move(max(self.panel.height - 1, 1))

    def act_page_up(self) -> None:
        """Page up."""
        self.panel.move(-max(self.panel.height - 1, 1))

    def act_first(self) -> None:
        """First row."""
        self.panel.select(0)

    def act_last(self) -> None:
        """Last row."""
        self.panel.select(len(self.panel.keys) - 1)

    def act_next_panel(self) -> None:
        """The next panel that has rows."""
        self._turn(1)

    def act_previous_panel(self) -> None:
        """The previous panel that has rows."""
        self._turn(-1)

    def _turn(self, step: int) -> None:
        place = PANELS.index(self.active)
        for distance in range(1, len(PANELS)):
            name = PANELS[(place + step * distance) % len(PANELS)]
            if self.panels[name].keys:
                self.active = name
                return

    def selected(self) -> object:
        """The selected finding, stage row or entry; ``None`` if the panel is empty."""
        shown = self._shown.get(self.active, ())
        index = self.panel.index
        return shown[index] if index < len(shown) else None

    def act_open(self) -> None:
        """The selected row's own screen; a group opens or closes."""
        chosen = self.selected()
        if isinstance(chosen, StageRow):
            self.app.open_stage(chosen.class_key, chosen.stage)
        elif isinstance(chosen, Entry):
            if chosen.row is not None:
                self.app.open_thread(chosen.row.index)
            elif chosen.group is not None:
                self.expanded ^= {chosen.group.key}
        elif chosen is not None:
            self.app.open_finding(str(getattr(chosen, "id", "")))

    def act_explain(self) -> None:
        """Every figure of the selected row, with its quality and the reason where it is unknown."""
        chosen = self.selected()
        snapshot = self.app.snapshot
        if snapshot is None or chosen is None:
            return
        if isinstance(chosen, StageRow):
            self.app.open_explain(f"{chosen.class_key or ''} {chosen.stage}".strip(), stage_reasons(chosen))
        elif isinstance(chosen, Entry):
            row = chosen.row
            if row is None and chosen.group is not None:
                row = max(chosen.group.rows, key=lambda r: r.cpu_percent.value or 0.0)
            if row is not None:
                self.app.open_explain(f"{row.name}#{row.tid}", thread_reasons(row, self.glyphs))
        else:
            self.act_open()

    def step_to_match(self, step: int) -> None:
        """The next row of the stages and threads that the last filter matches; after the last one, the first."""
        if not self.sought.terms:
            key = self.app.keymap.first("filter")
            self.app.say("nothing was looked for yet" + (f": {key} takes a filter" if key else ""))
            return
        matches = self._matches()
        if not matches:
            self.app.say(f"no row matches {self.sought.text}")
            return
        here = (PANELS.index(self.active), self.panel.index)
        beyond = [match for match in matches if (match > here if step > 0 else match < here)]
        if not beyond:
            self.app.say("from the first match again" if step > 0 else "from the last match again")
        place, position = (beyond or matches)[0 if step > 0 else -1]
        self.active = PANELS[place]
        self.panel.select(position)

    def _matches(self) -> list[tuple[int, int]]:
        """(Number of the panel, position) of each row that the last filter matches, from top to bottom.

        A panel that the filter says nothing about has none: all of its rows would be.
        """

        def is_match(row: object) -> bool:
            if isinstance(row, StageRow):
                return self.sought.keeps_stage(row)
            if isinstance(row, Entry) and row.group is not None:
                # The rows of an open group are listed themselves.
                return not row.group.is_expanded and any(map(self.sought.keeps_thread, row.group.rows))
            return isinstance(row, Entry) and row.row is not None and self.sought.keeps_thread(row.row)

        return [
            (PANELS.index(name), position)
            for name, fields in (("stages", STAGE_FIELDS), ("threads", THREAD_FIELDS))
            if self.sought.words_on(fields)
            for position, row in enumerate(self._shown.get(name, ()))
            if is_match(row)
        ]

    def act_back(self) -> None:
        """Drop the filter, else the list of all findings."""
        if self.drop_filter():
            return
        if self.is_all_findings:
            self.is_all_findings = False
        elif self.app.snapshot is None:
            self.app.act_quit()

    def act_sort(self) -> None:
        """Sort threads by the next column."""
        keys = [str(key) for key in CHOICES["sort"]]
        place = keys.index(self.app.settings.sort) if self.app.settings.sort in keys else -1
        self._sort_by(keys[(place + 1) % len(keys)])

    def _sort_by(self, key: str) -> None:
        self.active = "threads"
        self.app.settings = replace(self.app.settings, sort=key)
        self.app.say(f"threads by {TITLES.get(key, key)}")

    def act_sort_reverse(self) -> None:
        """Reverse the order of threads and of their groups."""
        self.active = "threads"
        self.is_reversed = not self.is_reversed
        what = "threads" if self.app.settings.group == "none" else "groups and their threads"
        key = self.app.settings.sort
        self.app.say(f"{what} by {TITLES.get(key, key)}{', reversed' if self.is_reversed else ''}")

    def act_group(self) -> None:
        """Group threads by the next thing."""
        self.active = "threads"
        choices = CHOICES["group"]
        place = (choices.index(self.app.settings.group) + 1) % len(choices)
        self.app.settings = replace(self.app.settings, group=choices[place])  # type: ignore[arg-type]
        self.app.say("threads not grouped" if choices[place] == "none" else f"threads grouped by {choices[place]}")

    def act_scale(self) -> None:
        """The next scale of the stage sparklines."""
        place = (SCALES.index(self.app.settings.stage_scale) + 1) % len(SCALES)
        self.app.settings = replace(self.app.settings, stage_scale=SCALES[place])  # type: ignore[arg-type]

    def act_columns(self) -> None:
        """Choose columns."""
        self.app.open_columns()

    def point_at(self, finding_id: str) -> None:
        """Select the finding that was jumped to, so that enter opens it; it is listed with the moment's frame."""
        if any(finding.id == finding_id for finding in self.known_at_the_end()):
            self.active = "findings"
            self.panels["findings"].choose(finding_id)

    def act_all_findings(self) -> None:
        """All findings of the session, or those known at the shown moment."""
        self.is_all_findings = not self.is_all_findings
        self.active = "findings"

    def on_click(self, event: events.Click) -> None:
        """Select a row; on the selected row open it; on a header sort; on the timeline go there."""
        if not 0 <= event.y < len(self._places):
            return
        name, position = self._places[event.y]
        snapshot = self.app.snapshot
        if name in ("timeline", "rail") and snapshot is not None:
            cells = self.app.size.width - MARGIN
            axis = timeline.rail_axis(snapshot, cells) if name == "rail" else timeline.window_axis(snapshot, cells)
            cell = event.x - MARGIN - timeline.LABEL
            if 0 <= cell < axis.cells:
                self.app.go_to(axis.time(cell))
        elif name in self.panels:
            self._click_row(name, position, event)
        self.draw()

    def _click_row(self, name: str, position: int, event: events.Click) -> None:
        was_selected = self.active == name and self.panels[name].index == position
        if position < 0:
            if self.panels[name].keys:
                self.active = name
            column = column_at(self._thread_widths, event.x - MARGIN) if name == "threads" else None
            if column in CHOICES["sort"] and column is not None:
                self._sort_by(column)
            return
        self.active = name
        self.panels[name].select(position)
        if was_selected:
            self.act_open()
