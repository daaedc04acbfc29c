"""A screen of scrolling lines with an optional selected one: what the detail screens are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual import events

from livemon.ui.panel import Panel
from livemon.ui.render.line import Row, clean, fit_line, wrap
from livemon.ui.render.summary import status_line, view_words
from livemon.ui.screens.base import BaseScreen

T = TypeVar("T")


class PageScreen(BaseScreen):
    """Title line, lines that scroll, status bar; ``selectable`` lists the line numbers that can be selected."""

    def __init__(self) -> None:
        super().__init__()
        self.panel = Panel()
        self.top = 0
        self._height = 1
        self._count = 0
        self._selectable: list[int] = []

    # What subclasses say.

    def heading(self) -> tuple[str, str]:
        """(what it is, detail)."""
        raise NotImplementedError

    def lines(self, cells: int) -> list[Row]:
        """All lines of the page; they are cut at the width."""
        raise NotImplementedError

    def selectable(self) -> Sequence[int]:
        """Numbers of the lines that can be selected, in order; empty: the page only scrolls."""
        return ()

    def keys(self) -> list[object]:
        """What the selection sticks to, one for each selectable line."""
        return list(range(len(self._selectable)))

    def about(self, position: int) -> str:
        """All that a selectable line says, where lines are cut at the width; empty: they are not."""
        return ""

    def footer_lines(self, lines: int) -> int:
        """Lines that ``footer`` takes."""
        return 4 if lines >= 16 and self._selectable and self.about(0) else 0

    def footer(self, cells: int) -> list[Row]:
        """Rows that stay below the lines, made after the selection is known."""
        rows: list[Row] = [(((self.glyphs.rule * cells, "rail"),), "")]
        text = self.glyphs.ascii_only(clean(self.about(self.panel.index)))
        return [*rows, *((((f" {part}", "text"),), "") for part in wrap(text, cells - 2)[:3])]

    # Drawing.

    def body(self, cells: int, lines: int) -> list[Row]:
        """Title, the lines in view, status."""
        if self.app.snapshot is None:
            return self.app.loading_rows(cells, lines)
        glyphs = self.glyphs
        content = self.lines(cells)
        self._selectable = list(self.selectable())
        reserved = self.footer_lines(lines)
        self._height = max(lines - 2 - reserved, 1)
        self._count = len(content)
        if self._selectable:
            self.panel.set(self.keys(), self._height)
            at = self._selectable[self.panel.index]
            self.top = min(max(self.top, at - self._height + 1), at)
        self.top = max(min(self.top, self._count - self._height), 0)
        what, detail = self.heading()
        more = ""
        if self._count > self._height:
            more = f"  lines {self.top + 1}-{min(self.top + self._height, self._count)} of {self._count}"
        head = fit_line(((f" {what}", "title"), (f"  {detail}{more}", "muted")), cells, glyphs.more)
        selected = self._selectable[self.panel.index] if self._selectable else -1
        rows: list[Row] = [(head, "head")]
        for number in range(self.top, min(self.top + self._height, self._count)):
            line, base = content[number]
            rows.append((fit_line(line, cells, glyphs.more), "sel" if number == selected else base))
        footer = self.footer(cells) if reserved else []
        rows += [((), "")] * (lines - 1 - len(rows))
        if footer:
            first = lines - 1 - reserved
            rows[first : first + len(footer)] = footer
        view = view_words(
            self.app.snapshot,
            is_following=self.app.view.is_following,
            is_live=self.app.is_live,
            speed=self.app.view.speed,
            glyphs=glyphs,
        )
        rows.append(
            (status_line(self.app.snapshot, view, cells, glyphs, screen_percent=self.app.own_cpu_percent), "bar")
        )
        return rows

    # Rows.

    def _scroll(self, delta: int) -> None:
        if self._selectable:
            self.panel.move(delta)
        else:
            self.top = max(min(self.top + delta, self._count - self._height), 0)

    def act_down(self) -> None:
        """Line down."""
        self._scroll(1)

    def act_up(self) -> None:
        """Line up."""
        self._scroll(-1)

    def act_page_down(self) -> None:
        """Page down."""
        self._scroll(max(self._height - 1, 1))

    def act_page_up(self) -> None:
        """Page up."""
        self._scroll(-max(self._height - 1, 1))

    def act_first(self) -> None:
        """First line."""
        self._scroll(-self._count)
        self.top = 0

    def act_last(self) -> None:
        """Last line."""
        self._scroll(self._count)

    def on_click(self, event: events.Click) -> None:
        """Select a line; on the selected one open it."""
        number = self.top + event.y - 1
        if event.y >= 1 and number in self._selectable:
            position = self._selectable.index(number)
            was_selected = self.panel.index == position
            self.panel.select(position)
            if was_selected:
                self.do("open")
        self.draw()


class TurningScreen(PageScreen):
    """A page of one of several things of a kind: tab turns to the next one, round the end."""

    def turn(self, step: int) -> None:
        """Show another one, ``step`` places on."""
        raise NotImplementedError

    def act_next_panel(self) -> None:
        """The next one."""
        self.turn(1)

    def act_previous_panel(self) -> None:
        """The one before."""
        self.turn(-1)


def neighbour(here: T, among: Sequence[T], step: int) -> T:
    """What stands ``step`` places on, round the end; itself where there is nothing to choose from."""
    if not among:
        return here
    return among[((among.index(here) if here in among else 0) + step) % len(among)]
