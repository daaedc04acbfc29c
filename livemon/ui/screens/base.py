"""What all screens share: one canvas, keys by the table, a prompt, the time keys' effect, a message line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from livemon.ui.lineedit import LineEdit
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Row, Span, fit_line, width
from livemon.ui.view import View
from livemon.ui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from livemon.model.snapshot import Snapshot, ViewSource
    from livemon.ui.navigation import LivemonApp

LEAST_CELLS, LEAST_LINES = 40, 8
"""Below this only the verdict and a notice are drawn."""


@dataclass(slots=True)
class Prompt:
    """A question in the bottom line."""

    label: str
    edit: LineEdit
    accept: Callable[[str], str | None]
    """Called with enter; returns what is wrong, or ``None`` to close."""
    changed: Callable[[str], str | None] | None = None
    """Called with each change; returns what is wrong so far."""
    cancel: Callable[[], None] | None = None
    error: str = ""


class BaseScreen(Screen[None]):
    """A screen that draws rows; subclasses give them and the actions."""

    app: LivemonApp
    screen_name: ClassVar[str] = ""
    wants_frames: ClassVar[bool] = True
    """Whether it shows anything of the session."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt: Prompt | None = None

    def compose(self) -> ComposeResult:
        """The canvas."""
        canvas = Canvas(self.app.looks, self.app.glyphs)
        canvas.compose_rows = self.rows
        yield canvas

    @property
    def canvas(self) -> Canvas:
        """The widget that everything is drawn on."""
        return self.query_one(Canvas)

    @property
    def glyphs(self) -> Glyphs:
        """The signs in use."""
        return self.app.glyphs

    # What subclasses say.

    def body(self, cells: int, lines: int) -> list[Row]:
        """The rows above the hint line."""
        raise NotImplementedError

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> object:
        """What the screen needs beside the snapshot; runs in the feed's thread."""
        return None

    hint_words: ClassVar[dict[str, str]] = {}
    """Words for actions that do something of their own here."""

    def hints(self) -> Sequence[str]:
        """Actions named in the hint line, most important first."""
        return ("help", "back", "quit")

    def columns(self) -> int:
        """Buckets to ask for: about one for each cell of the widest chart."""
        return max(min(self.app.size.width, 240), 16)

    def point_at(self, finding_id: str) -> None:
        """The view was moved to a finding."""

    # Drawing.

    def on_screen_suspend(self) -> None:
        """Another screen is drawn over this one."""
        for canvas in self.query(Canvas):
            canvas.forget()

    def draw(self) -> None:
        """Draw what is known now."""
        cells, lines = self.app.size.width, self.app.size.height
        if not self.is_mounted or not self.is_current or cells <= 0 or lines <= 0:
            return
        self.canvas.show(self.rows(cells, lines))

    def rows(self, cells: int, lines: int) -> list[Row]:
        """All rows of the screen."""
        if cells < LEAST_CELLS or lines < LEAST_LINES:
            return self.app.tiny_rows(cells, lines)
        body = self.body(cells, lines - 1)[: lines - 1]
        body += [((), "")] * (lines - 1 - len(body))
        return [*body, (self.bottom_line(cells), "bar" if self.prompt is None else "")]

    def bottom_line(self, cells: int) -> Line:
        """The prompt, else a message, else what the keys do here."""
        if self.prompt is not None:
            return fit_line(
                self.prompt.edit.line(self.prompt.label, cells, self.glyphs, error=self.prompt.error),
                cells,
                self.glyphs.more,
            )
        if self.app.message:
            return fit_line(((f" {self.glyphs.ascii_only(self.app.message)}", self.app.message_style),), cells)
        spans: list[Span] = []
        left = cells
        for action_id in self.hints():
            key, word = self.app.hint(action_id)
            word = self.hint_words.get(action_id, word)
            if not key:
                continue
            need = width(key) + width(word) + 3
            if need > left:
                break
            spans += [(f" {key}", "key"), (f" {word} ", "bar")]
            left -= need
        return fit_line(spans, cells)

    # Input.

    def ask(self, prompt: Prompt) -> None:
        """Open a question in the bottom line."""
        self.prompt = prompt
        self.draw()

    def on_key(self, event: events.Key) -> None:
        """Keys go to the prompt, else by the table to ``act_<id>`` of the screen or the app."""
        event.stop()
        event.prevent_default()
        self.app.feed.rest()
        if self.prompt is not None:
            self._prompt_key(event)
            return
        names = [event.key]
        if event.character and event.character.isprintable() and event.character != " ":
            names.insert(0, event.character)
        action_id = self.app.keymap.action(self.screen_name, *names)
        if action_id is not None:
            self.do(action_id)

    def do(self, action_id: str) -> None:
        """Do an action here, or leave it to the app."""
        method = getattr(self, f"act_{action_id}", None) or getattr(self.app, f"act_{action_id}", None)
        if method is not None:
            self.app.message = ""
            method()
            self.draw()

    def _prompt_key(self, event: events.Key) -> None:
        prompt = self.prompt
        assert prompt is not None
        if event.key == "enter":
            error = prompt.accept(prompt.edit.text)
            if error is None:
                if self.prompt is prompt:
                    self.prompt = None
            else:
                prompt.error = error
        elif event.key in ("escape", "ctrl+c"):
            self.prompt = None
            if prompt.cancel is not None:
                prompt.cancel()
        elif prompt.edit.key(event.key, event.character):
            prompt.error = (prompt.changed(prompt.edit.text) or "") if prompt.changed is not None else ""
        self.draw()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes into the prompt; anywhere else it is not taken for keys."""
        event.stop()
        if self.prompt is not None:
            self.prompt.edit.insert(event.text.split("\n", 1)[0])
            self.draw()

    def on_resize(self, event: events.Resize) -> None:
        """The whole screen is made anew for its size."""
        if self.is_current:
            self.app.ask_for_frame()
        self.call_after_refresh(self.draw)

    def on_screen_resume(self) -> None:
        """Shown (again): ask for what it needs."""
        self.app.ask_for_frame()
        self.call_after_refresh(self.canvas.repaint)
        self.call_after_refresh(self.draw)

    def act_back(self) -> None:
        """Back to the screen before."""
        self.app.close_screen(self)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves rows; with shift, time."""
        self.do("tick_on" if event.shift else "down")

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves rows; with shift, time."""
        self.do("tick_back" if event.shift else "up")
