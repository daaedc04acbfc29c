"""What keys do on every screen: time, other screens, marks, looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from livemon.ui import view as views
from livemon.ui.frames import FrameApp
from livemon.ui.lineedit import LineEdit
from livemon.ui.palettes import THEMES
from livemon.ui.screens.base import BaseScreen, Prompt

if TYPE_CHECKING:
    from livemon.model.snapshot import ViewSource

SECOND_NS = 1_000_000_000


class LivemonApp(FrameApp):
    """The screens over one session; ``act_<id>`` are the actions of ``actions.py``."""

    # Leaving.

    def act_quit(self) -> None:
        """Leave."""
        self.exit(0)

    def act_suspend(self) -> None:
        """Into the background."""
        self.action_suspend_process()

    def act_redraw(self) -> None:
        """Draw everything again."""
        self.repaint()

    def act_explain(self) -> None:
        """Where there is no row to explain."""
        self.say("nothing to explain here: it works on rows of the overview, and on the page of a stage or a thread")

    # Time.

    @property
    def shown_ns(self) -> int:
        """The moment on the screen."""
        return self.snapshot.at_ns if self.snapshot is not None else self.bounds[1]

    def act_pause(self) -> None:
        """Pause / follow, play / pause."""
        self.set_view(views.toggled(self.view, self.bounds, self.shown_ns, is_live=self.is_live))

    def act_follow(self) -> None:
        """To the newest moment, and stay there."""
        self.set_view(replace(self.view, at_ns=None, speed=None))

    def _move(self, delta_ns: int) -> None:
        if self.snapshot is None:
            return
        at_ns = self.shown_ns if self.view.at_ns is None else self.view.at_ns
        self.set_view(views.moved(self.view, delta_ns, self.bounds, at_ns))
        if not self.bounds[0] <= at_ns + delta_ns <= self.bounds[1]:
            self.say("that is the session's " + ("start" if delta_ns < 0 else "end"))

    def act_tick_back(self) -> None:
        """One tick back."""
        self._move(-(self.snapshot.interval_ns if self.snapshot else 0))

    def act_tick_on(self) -> None:
        """One tick on."""
        self._move(self.snapshot.interval_ns if self.snapshot else 0)

    def act_second_back(self) -> None:
        """A second back."""
        self._move(-SECOND_NS)

    def act_second_on(self) -> None:
        """A second on."""
        self._move(SECOND_NS)

    def act_minute_back(self) -> None:
        """A minute back."""
        self._move(-60 * SECOND_NS)

    def act_minute_on(self) -> None:
        """A minute on."""
        self._move(60 * SECOND_NS)

    def go_to(self, t_ns: int) -> None:
        """To a moment."""
        self.set_view(views.at_moment(self.view, t_ns, self.bounds))

    def act_session_start(self) -> None:
        """To the first moment."""
        self.go_to(self.bounds[0])

    def act_session_end(self) -> None:
        """To the newest moment."""
        self.go_to(self.bounds[1])

    def act_zoom_in(self) -> None:
        """Narrower."""
        self.set_view(views.zoomed(self.view, -1, self.bounds))

    def act_zoom_out(self) -> None:
        """Wider."""
        self.set_view(views.zoomed(self.view, 1, self.bounds))

    def act_zoom_reset(self) -> None:
        """60 s."""
        self.set_view(views.zoomed(self.view, 0, self.bounds))

    def act_slower(self) -> None:
        """Half the speed."""
        self.set_view(views.with_speed(self.view, -1, self.bounds, self.shown_ns))

    def act_faster(self) -> None:
        """Twice the speed."""
        self.set_view(views.with_speed(self.view, 1, self.bounds, self.shown_ns))

    def act_next_episode(self) -> None:
        """To the next finding or mark."""
        self._step(1)

    def act_previous_episode(self) -> None:
        """To the finding or mark before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        def done(moments: object) -> None:
            assert isinstance(moments, tuple)
            at = self.shown_ns
            if step > 0:
                found = next((moment for moment in moments if moment[0] > at), None)
            else:
                found = next((moment for moment in reversed(moments) if moment[0] < at), None)
            if found is None:
                self.say(self._no_step(step))
            else:
                self.go_to(found[0])
                if isinstance(self.screen, BaseScreen):
                    self.screen.point_at(found[1].partition(" ")[0])
                self.say(found[1])

        self.feed.submit(lambda source: source.moments_ns(), done)

    def _no_step(self, step: int) -> str:
        side, way = ("after", "back") if step > 0 else ("before", "on")
        key = self.keymap.first("previous_episode" if step > 0 else "next_episode")
        return f"no finding or mark {side} this moment" + (f": {key} goes {way}" if key else "")

    def act_next_mark(self) -> None:
        """To the next mark, round the end."""

        def done(marks: object) -> None:
            assert isinstance(marks, tuple)
            if not marks:
                self.say("no marks in this session: m puts one")
                return
            found = next((mark for mark in marks if mark.t_ns > self.shown_ns), marks[0])
            self.go_to(found.t_ns)
            self.say(f"mark: {found.text}")

        def job(source: ViewSource) -> object:
            start_ns, end_ns = source.bounds_ns()
            return source.snapshot(end_ns, max(end_ns - start_ns, 1), 16).timeline.marks

        self.feed.submit(job, done)

    def act_jump(self) -> None:
        """Ask for a time and go there; the question is open at once, so that no key typed on is lost."""
        screen = self.screen
        if not isinstance(screen, BaseScreen):
            return

        def accept(text: str) -> str | None:
            def done(moments: object) -> None:
                assert isinstance(moments, tuple)
                problem = self.jump_to(text, moments)
                if screen.prompt is prompt:
                    prompt.error = problem or ""
                    screen.prompt = prompt if problem else None
                    screen.draw()

            self.feed.submit(lambda source: source.moments_ns(), done)
            return " "

        prompt = Prompt("go to", LineEdit(), accept)
        screen.ask(prompt)

    def jump_to(self, text: str, moments: tuple[tuple[int, str], ...]) -> str | None:
        """Go to a typed time; returns what is wrong with it."""
        snapshot = self.snapshot
        found = views.parse_moment(
            text,
            bounds=self.bounds,
            shown_ns=self.shown_ns,
            wall_ns=snapshot.wall_ns if snapshot is not None else None,
            moments=moments,
        )
        if isinstance(found, str):
            return found
        self.go_to(found)
        word = text.strip().lower()
        for finding_id in {name.partition(" ")[0] for _, name in moments}:
            if finding_id.lower() == word:
                for screen in self.screen_stack:
                    if isinstance(screen, BaseScreen):
                        screen.point_at(finding_id)
        return None

    def act_mark(self) -> None:
        """Ask for a text and put a mark at the shown moment."""
        at_ns = None if self.view.is_following else self.shown_ns

        def accept(text: str) -> str | None:
            if not text.strip():
                return "a mark needs a text"

            def done(_: object) -> None:
                self.say(f"marked: {text.strip()}")
                self.ask_for_frame()

            self.feed.submit(lambda source: source.add_mark(text.strip(), at_ns), done)
            return None

        screen = self.screen
        if isinstance(screen, BaseScreen):
            screen.ask(Prompt("mark", LineEdit(), accept))

    # Looks.

    def act_theme(self) -> None:
        """The next theme."""
        now = self.looks.palette.name
        theme = THEMES[(THEMES.index(now) + 1) % len(THEMES)]
        self.apply_settings(replace(self.settings, theme=theme))  # type: ignore[arg-type]
        self.say(f"theme {self.looks.palette.name}" + (" (NO_COLOR is set)" if self._environ.get("NO_COLOR") else ""))

    def act_mouse(self) -> None:
        """Mouse on or off."""
        is_on = not self.settings.mouse
        self.settings = replace(self.settings, mouse=is_on)
        set_mouse = getattr(self._driver, "set_mouse", None)
        if set_mouse is not None:
            set_mouse(is_on)
        self.say("mouse on" if is_on else "mouse off: the terminal selects text")

    # Other screens; each is imported when it is opened, so that the first paint waits for none of them.

    def close_screen(self, screen: BaseScreen) -> None:
        """Back to the screen below; the overview stays."""
        if len(self.screen_stack) > 2 and self.screen is screen:
            self.pop_screen()

    def _push(self, screen: BaseScreen) -> None:
        self.message = ""
        self.push_screen(screen)

    def act_help(self) -> None:
        """Help for the current screen."""
        from livemon.ui.screens.help import HelpScreen

        if self.screen.__class__ is not HelpScreen:
            self._push(HelpScreen(getattr(self.screen, "screen_name", "")))

    def act_palette(self) -> None:
        """Every command by name."""
        from livemon.ui.screens.palette import PaletteScreen

        if not isinstance(self.screen, PaletteScreen):
            self._push(PaletteScreen(self.screen))

    def open_explain(self, title: str, figures: Sequence[tuple[str, str, str]]) -> None:
        """A list of figures with their reasons."""
        from livemon.ui.screens.explain import ExplainScreen

        self._push(ExplainScreen(title, figures))

    def open_finding(self, finding_id: str) -> None:
        """A finding's own screen."""
        from livemon.ui.screens.finding import FindingScreen

        self._push(FindingScreen(finding_id))

    def open_stage(self, class_key: str | None, stage: str) -> None:
        """A stage's own screen."""
        from livemon.ui.screens.stage import StageScreen

        self._push(StageScreen(class_key, stage))

    def open_thread(self, index: int) -> None:
        """A thread's own screen."""
        from livemon.ui.screens.thread import ThreadScreen

        self._push(ThreadScreen(index))

    def act_log(self) -> None:
        """The log at the shown moment."""
        from livemon.ui.screens.log import LogScreen

        if not isinstance(self.screen, LogScreen):
            self._push(LogScreen())

    def act_sessions(self) -> None:
        """The list of recordings."""
        from livemon.ui.screens.sessions import SessionsScreen

        if not isinstance(self.screen, SessionsScreen):
            self._push(SessionsScreen())

    def act_doctor(self) -> None:
        """What can be observed."""
        from livemon.ui.screens.doctor import DoctorScreen

        if not isinstance(self.screen, DoctorScreen):
            self._push(DoctorScreen())

    def act_settings(self) -> None:
        """Settings and keys."""
        from livemon.ui.screens.settings import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self._push(SettingsScreen())

    def open_columns(self) -> None:
        """Choose columns."""
        from livemon.ui.screens.columns import ColumnsScreen

        self._push(ColumnsScreen())
