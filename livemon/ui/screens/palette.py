"""The command palette: every action by name, and any time to jump to."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.screen import Screen

from livemon.ui.actions import ACTIONS, Action, key_word
from livemon.ui.lineedit import LineEdit
from livemon.ui.render.glyphs import ASCII
from livemon.ui.render.line import Row, fit, fit_line
from livemon.ui.screens.base import BaseScreen, Prompt
from livemon.ui.screens.page import PageScreen


def matches(query: str, text: str) -> int | None:
    """How well a text matches: smaller is better, ``None`` not at all; every word must be in it, in any order."""
    lowered = text.lower()
    score = 0
    for word in query.lower().split():
        place = lowered.find(word)
        if place < 0:
            return None
        score += place + (0 if place == 0 or not lowered[place - 1].isalnum() else 50)
    return score


class PaletteScreen(PageScreen):
    """Type to narrow down, enter runs the selected one on the screen below."""

    screen_name: ClassVar[str] = "palette"

    def __init__(self, below: Screen[object]) -> None:
        super().__init__()
        self._below = below
        self._found: list[Action] = []
        self._query = ""
        self.prompt = Prompt(":", LineEdit(), self._accept, self._changed, self.act_back)

    def heading(self) -> tuple[str, str]:
        """The page's title."""
        return "COMMANDS", "type a name, or a time: 12:04:31, +90, -30s, T2"

    def lines(self, cells: int) -> list[Row]:
        """Actions that match, best first."""
        here = getattr(self._below, "screen_name", "")
        scored = []
        for number, action in enumerate(ACTIONS):
            if action.screens and here not in action.screens:
                continue
            score = matches(self._query, f"{action.id.replace('_', ' ')} {action.text}")
            if score is not None and action.id != "palette":
                scored.append((score, number, action))
        self._found = [action for _, _, action in sorted(scored, key=lambda item: item[:2])]
        if not self._found:
            return [(((f"  enter goes to the time {self._query!r}", "muted"),), "")]
        rows: list[Row] = []
        for action in self._found:
            key = self.app.keymap.first(action.id, is_ascii=self.glyphs is ASCII)
            text = self.glyphs.ascii_only(action.text)
            name = action.id.replace("_", " ")
            rows.append((fit_line(((f"  {fit(name, 20)}", "name"), (fit(key, 12), "key"), (text, "muted")), cells), ""))
        return rows

    def selectable(self) -> range:
        """Every action."""
        return range(len(self._found))

    def about(self, position: int) -> str:
        """What the action does and all its keys."""
        if position >= len(self._found):
            return ""
        action = self._found[position]
        keys = ", ".join(key_word(key, is_ascii=self.glyphs is ASCII) for key in self.app.keymap.keys(action.id))
        return f"{action.id.replace('_', ' ')} ({keys or 'no key'}): {action.text}"

    def _changed(self, text: str) -> str | None:
        self._query = text
        self.panel.select(0)
        self.top = 0
        return None

    def _accept(self, text: str) -> str | None:
        if not self._found:

            def done(moments: object) -> None:
                assert isinstance(moments, tuple)
                problem = self.app.jump_to(text, moments)
                if problem is None:
                    self.app.close_screen(self)
                elif self.prompt is not None:
                    self.prompt.error = problem
                    self.draw()

            self.app.feed.submit(lambda source: source.moments_ns(), done)
            return " "
        chosen = self._found[self.panel.index]
        self.app.close_screen(self)
        below = self._below
        if isinstance(below, BaseScreen):
            self.app.call_later(below.do, chosen.id)
        return None

    def _prompt_key(self, event: events.Key) -> None:
        """Rows move with the arrows while the text is edited."""
        moves = {"down": self.act_down, "up": self.act_up, "pagedown": self.act_page_down, "pageup": self.act_page_up}
        if event.key in moves:
            moves[event.key]()
            self.draw()
        else:
            super()._prompt_key(event)

    def act_open(self) -> None:
        """Run the selected one (a click)."""
        self._accept(self._query)
