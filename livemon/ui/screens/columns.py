"""Choosing the columns of the stages and threads panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from livemon.ui.render import stages, threads
from livemon.ui.render.line import Row, fit
from livemon.ui.screens.page import PageScreen

_CHOICES = [("stages", column) for column in stages.COLUMNS] + [("threads", column) for column in threads.COLUMNS]


class ColumnsScreen(PageScreen):
    """Enter or space shows or hides a column; those that can't be hidden are not listed."""

    screen_name: ClassVar[str] = "columns"

    def heading(self) -> tuple[str, str]:
        """The page's title."""
        return "COLUMNS", "enter or space shows / hides; narrow terminals drop columns by themselves"

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return ("open", "back", "settings", "help", "quit")

    @staticmethod
    def choices() -> list[tuple[str, str, str, str]]:
        """(panel, key, title, about) of the columns that can be hidden."""
        return [(panel, c.key, c.title or "over time", c.about) for panel, c in _CHOICES if c.priority]

    def lines(self, cells: int) -> list[Row]:
        """One line a column."""
        rows: list[Row] = []
        for panel, key, title, about in self.choices():
            word = "hidden" if key in self.app.settings.hidden_columns else "shown"
            style = "ok" if word == "shown" else "muted"
            name = fit(f"{panel}: {title}", 26)
            spans = ((f"  {fit(word, 7)} ", style), (name, "name"), (self.glyphs.ascii_only(about), "muted"))
            rows.append((spans, ""))
        return rows

    def selectable(self) -> range:
        """Every line."""
        return range(len(self.choices()))

    def about(self, position: int) -> str:
        """What the column says."""
        panel, _, title, about = self.choices()[position]
        return f"{panel}: {title}: {about}"

    def act_open(self) -> None:
        """Show or hide."""
        key = self.choices()[self.panel.index][1]
        hidden = self.app.settings.hidden_columns
        changed = tuple(k for k in hidden if k != key) if key in hidden else (*hidden, key)
        self.app.settings = replace(self.app.settings, hidden_columns=changed)

    def act_pause(self) -> None:
        """Space does the same here."""
        self.act_open()
