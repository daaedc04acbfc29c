"""Every figure of a row: its value, its quality, why it is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from livemon.ui.render.detail import figure_rows
from livemon.ui.render.line import Row
from livemon.ui.screens.page import PageScreen


class ExplainScreen(PageScreen):
    """As it was when the key was pressed."""

    screen_name: ClassVar[str] = "explain"

    def __init__(self, what: str, figures: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        self._what = what
        self._figures = figures

    def heading(self) -> tuple[str, str]:
        """Which row."""
        return f"WHAT IS KNOWN OF {self._what}", self.glyphs.ascii_only(
            "value, then its quality, source or the reason why there is none"
        )

    def lines(self, cells: int) -> list[Row]:
        """The figures."""
        return figure_rows(self._figures, cells, self.glyphs)
