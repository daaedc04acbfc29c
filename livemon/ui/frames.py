"""The app's state: the view, the newest frame, looks; how frames get from the feed to the screen."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.message import Message

from livemon.model.clock import SystemClock
from livemon.model.errors import LivemonError
from livemon.ui import terminal
from livemon.ui.actions import Keymap
from livemon.ui.feed import Feed, Wish
from livemon.ui.own_cpu import OwnCpu
from livemon.ui.palettes import PALETTES, Styles
from livemon.ui.render.glyphs import ASCII, BLOCK, BRAILLE, Glyphs
from livemon.ui.render.line import Row, fit_line, wrap
from livemon.ui.screens.base import LEAST_CELLS, LEAST_LINES, BaseScreen
from livemon.ui.screens.loading import LoadingScreen
from livemon.ui.settings import Loader, Settings
from livemon.ui.view import View, advanced

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.timer import Timer

    from livemon.model.snapshot import Snapshot, ViewSource


class FeedNews(Message):
    """The feed has something to fetch; one such message in the queue is enough."""

    def can_replace(self, message: Message) -> bool:
        """A newer one stands for all."""
        return isinstance(message, FeedNews)


class FrameApp(App[int]):
    """The app without its keys, which are in ``navigation.py``.

    Args:
        source: The session, or what opens it.
        settings: What the person and the caller chose.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "livemon"
    CSS = "Screen { overflow: hidden; }"
    BINDINGS = []  # noqa: RUF012 - typed by the base class; every key is in actions.py
    _inherit_bindings = False

    def __init__(self, source: ViewSource | Loader, settings: Settings) -> None:
        # Textual takes NO_COLOR out of the environment: look first.
        environ = dict(os.environ)
        super().__init__(driver_class=terminal.driver_class(environ))
        self.settings = settings
        self.keymap = Keymap(dict(settings.keys))
        self._environ = environ
        self.glyphs: Glyphs = BLOCK
        self.looks = Styles(PALETTES["dark"])
        self.apply_settings(settings, is_first=True)
        self.clock = SystemClock()
        self.view = View(span_s=settings.window_s)
        self.snapshot: Snapshot | None = None
        self.extra: object = None
        self.bounds: tuple[int, int] = (0, 0)
        self.is_live = False
        self.message = ""
        self.message_style = "bar"
        self.token = 0
        self.own_cpu_percent: float | None = None
        """CPU of this viewer; ``None`` where it is not known."""
        self._own_cpu = OwnCpu()
        self.crash: BaseException | None = None
        self.open_error: LivemonError | None = None
        self.stop_signal: int | None = None
        self._play_timer: Timer | None = None
        self._played_ns = 0
        self._asked_by: BaseScreen | None = None
        self.feed = self._new_feed(source)

    def _new_feed(self, source: ViewSource | Loader) -> Feed:
        return Feed(source, self._feed_has_news, self._feed_failed, fps=self.settings.fps)

    def get_default_screen(self) -> Screen[Any]:
        """What is there before the session is open, at the bottom of the stack."""
        return LoadingScreen()

    # Looks.

    def apply_settings(self, settings: Settings, *, is_first: bool = False) -> None:
        """Take over changed settings: theme, signs, keys, frame rate."""
        self.settings = settings
        is_ascii = settings.ascii or terminal.wants_ascii(self._environ)
        self.glyphs = ASCII if is_ascii else BRAILLE if settings.spark == "braille" else BLOCK
        theme = settings.theme
        if self._environ.get("NO_COLOR"):
            theme = "mono"
        elif theme == "auto":
            theme = terminal.theme_for(self._environ, self.console.color_system)  # type: ignore[assignment]
        self.looks = Styles(PALETTES[theme])
        if is_first:
            return
        self.keymap = Keymap(dict(settings.keys))
        self.feed.fps = settings.fps
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.canvas.repaint(self.looks, self.glyphs)
        self.redraw()

    # Life.

    def on_mount(self) -> None:
        """Start the feed once there is a screen to draw on."""
        self._handle_signals()
        self.app_resume_signal.subscribe(self, self._resumed)
        self.call_after_refresh(self.feed.start)

    def _resumed(self, _: object) -> None:
        """Back from the background: the terminal shows nothing of ours any more."""
        self.repaint()

    def repaint(self) -> None:
        """Write the whole screen again."""
        screen = self.screen
        if isinstance(screen, BaseScreen):
            screen.canvas.repaint()
        screen.refresh()

    def _handle_signals(self) -> None:
        import asyncio
        import signal
        import threading

        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self._stopped_by, int(number))
        if not self.is_headless and not self.is_web:
            terminal.call_when_gone(loop, lambda: self._stopped_by(int(signal.SIGHUP)))

    def _stopped_by(self, number: int) -> None:
        self.stop_signal = number
        self.exit(128 + number)

    def _fatal_error(self) -> None:
        """An exception nobody expected: remembered for the crash file instead of printed over the screen."""
        import sys

        self.crash = self.crash or sys.exception() or self._exception
        self._close_messages_no_wait()

    def _feed_has_news(self) -> None:
        self.post_message(FeedNews())

    def _feed_failed(self, error: BaseException) -> None:
        self.crash = error
        if isinstance(error, Exception) and self._loop is not None and self.is_running:
            self._loop.call_soon_threadsafe(self._handle_exception, error)

    # Frames.

    def ask_for_frame(self) -> None:
        """Ask the feed for what the current screen shows."""
        screen = self.screen
        if isinstance(screen, BaseScreen) and screen.wants_frames:
            if screen is not self._asked_by:
                self.extra = None
                self._asked_by = screen
            self.token += 1
            self.feed.want(Wish(self.view, screen.columns(), screen.extra, self.token))

    def on_feed_news(self, message: FeedNews) -> None:
        """Take what the feed has and draw it."""
        message.stop()
        self.take_news()

    def take_news(self) -> None:
        """See ``on_feed_news``."""
        feed = self.feed
        if feed.open_error is not None:
            self.open_error = feed.open_error
            self.exit(feed.open_error.exit_code)
            return
        if feed.source is not None and len(self.screen_stack) == 1:
            # Imported only now: the first paint waits for none of what the overview is drawn with.
            from livemon.ui.screens.overview import OverviewScreen

            self.push_screen(OverviewScreen())
        for outcome in feed.take_outcomes():
            if outcome.error is not None:
                self.say(str(outcome.error), "bar-warn")
            elif outcome.done is not None:
                outcome.done(outcome.result)
        frame = feed.take_frame()
        if frame is not None:
            self._take_frame(frame.snapshot, frame.extra, is_for_screen=frame.token == self.token)
        moved = feed.take_bounds()
        if moved is not None and self.snapshot is not None:
            self.bounds = moved
            self.snapshot = replace(self.snapshot, end_ns=max(moved[1], self.snapshot.at_ns))
        self.redraw()

    def _take_frame(self, snapshot: Snapshot, extra: object, *, is_for_screen: bool) -> None:
        is_first = self.snapshot is None
        source = self.feed.source
        self.snapshot, self.is_live = snapshot, source is not None and source.is_live
        if not self.is_headless:  # without a terminal it is not this process that is looked at
            self.own_cpu_percent = self._own_cpu.percent(self.clock.monotonic_ns(), time.process_time_ns())
        self.bounds = (snapshot.start_ns, snapshot.end_ns)
        if is_for_screen:
            self.extra = extra
        if is_first:
            if not self.is_live and snapshot.end_ns - snapshot.start_ns < snapshot.span_ns:
                self.set_view(replace(self.view, span_s=None))
            if not self.is_live and self.settings.speed is not None:
                self.set_view(replace(self.view, at_ns=snapshot.start_ns, speed=self.settings.speed))

    def switch_source(self, loader: Loader, title: str) -> None:
        """Show another session in place of this one."""
        self.feed.stop()
        while len(self.screen_stack) > 2:
            self.pop_screen()
        self.settings = replace(self.settings, title=title, speed=None)
        self.snapshot, self.extra, self.is_live = None, None, False
        self.view = View(span_s=self.view.span_s)
        self.feed = self._new_feed(loader)
        self.feed.start()
        self.ask_for_frame()

    def redraw(self) -> None:
        """Draw the current screen from what is known."""
        screen = self.screen
        if isinstance(screen, BaseScreen):
            screen.draw()

    def set_view(self, view: View) -> None:
        """Move the view; a playing one is driven by a timer."""
        self.view = view
        if view.speed is not None and self._play_timer is None:
            self._played_ns = self.clock.monotonic_ns()
            self._play_timer = self.set_interval(1 / max(self.settings.fps, 1), self._play)
        elif view.speed is None and self._play_timer is not None:
            self._play_timer.stop()
            self._play_timer = None
        self.ask_for_frame()

    def _play(self) -> None:
        now_ns = self.clock.monotonic_ns()
        elapsed_ns, self._played_ns = now_ns - self._played_ns, now_ns
        self.set_view(advanced(self.view, elapsed_ns, self.bounds, is_live=self.is_live))

    # Words.

    def say(self, text: str, style: str = "bar") -> None:
        """Show a message in the bottom line until the next key."""
        self.message, self.message_style = text, style
        self.redraw()

    def hint(self, action_id: str) -> tuple[str, str]:
        """(key, word) of an action for the hint line."""
        from livemon.ui.actions import BY_ID

        key = self.keymap.pair(action_id, is_ascii=self.glyphs is ASCII)
        if action_id == "pause":
            is_moving = self.view.speed is not None or (self.is_live and self.view.is_following)
            return key, "pause" if is_moving else "follow" if self.is_live else "play"
        return key, BY_ID[action_id].hint or action_id.replace("_", " ")

    def no_threads_reason(self) -> str:
        """Why there are no threads to show."""
        snapshot = self.snapshot
        if snapshot is not None:
            for capability in snapshot.capabilities:
                if not capability.available and "thread" in capability.name:
                    return f"no threads: {capability.reason} {capability.remedy}".strip()
            if not snapshot.status.targets:
                return "no threads: no process is watched (give --pid or --name), or none was running at this moment"
        return "no threads were observed at this moment"

    def loading_rows(self, cells: int, lines: int) -> list[Row]:
        """Before the first frame: what is being done and how far it is."""
        progress = self.feed.progress
        title = self.settings.title or "livemon"
        rows: list[Row] = [(fit_line(((f" {title}", "title"),), cells), "head"), ((), "")]
        if progress is None:
            rows.append((((" waiting for the first samples", "muted"),), ""))
        else:
            fraction, text = progress
            rows.append((((f" {self.glyphs.ascii_only(text)}", "text"),), ""))
            if fraction is not None:
                from livemon.ui.render.spark import bar

                shown = f" {bar(fraction, max(min(cells - 10, 60), 4), self.glyphs)} {fraction * 100:3.0f}%"
                rows.append((((shown, "spark"),), ""))
            rows.append((((" esc or q cancels", "muted"),), ""))
        return rows

    def tiny_rows(self, cells: int, lines: int) -> list[Row]:
        """A terminal too small for panels: the verdict, and that it is too small."""
        from livemon.ui.render.summary import verdict_line

        rows: list[Row] = []
        if self.snapshot is not None:
            verdict = self.snapshot.verdict
            rows.append((verdict_line(replace(verdict, text=""), cells, self.glyphs), ""))
            text = self.glyphs.ascii_only(verdict.text)
            rows += [(fit_line(((part, "text"),), cells), "") for part in wrap(text, cells)]
        notice = f"too small: {LEAST_CELLS}{self.glyphs.times}{LEAST_LINES} needed"
        return [*rows[: max(lines - 1, 1)], (fit_line(((notice, "muted"),), cells, self.glyphs.more), "")][:lines]
