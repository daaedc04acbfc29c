"""A thread's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from livemon.model.snapshot import Snapshot, ThreadDetail, ViewSource
from livemon.ui.render.detail import thread_rows
from livemon.ui.render.line import Row, clean
from livemon.ui.render.threads import thread_reasons
from livemon.ui.screens.page import TurningScreen, neighbour
from livemon.ui.view import View


class ThreadScreen(TurningScreen):
    """Placement and series over time, counters by core class, every figure with its quality; tab: next thread."""

    screen_name: ClassVar[str] = "thread"
    hint_words: ClassVar[dict[str, str]] = {"next_panel": "next thread"}

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> ThreadDetail | None:
        """The thread's series."""
        return source.thread_detail(self.index, view.at_ns, snapshot.span_ns, self.columns())

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return ("help", "back", "pause", "tick_back", "zoom_in", "next_panel", "next_episode", "down", "quit")

    def _detail(self) -> ThreadDetail | None:
        detail = self.app.extra
        return detail if isinstance(detail, ThreadDetail) and detail.row.index == self.index else None

    def heading(self) -> tuple[str, str]:
        """Name, tid, process."""
        snapshot = self.app.snapshot
        row = next((row for row in snapshot.threads if row.index == self.index), None) if snapshot is not None else None
        if row is None:
            return "THREAD", "not there at the shown moment"
        state = "" if row.is_alive else ", has ended"
        return f"THREAD {clean(row.name)}#{row.tid}", f"of {clean(row.process)} {row.pid}{state}"

    def lines(self, cells: int) -> list[Row]:
        """The page."""
        detail = self._detail()
        snapshot = self.app.snapshot
        if detail is None or snapshot is None:
            return [((), ""), ((("  nothing is known of this thread in the window", "muted"),), "")]
        return thread_rows(detail, snapshot.classes, cells, self.app.size.height - 4, self.glyphs)

    def act_explain(self) -> None:
        """Every figure of the thread, with its quality."""
        detail = self._detail()
        if detail is None:
            self.app.say("nothing to explain: nothing is known of this thread in the window")
        else:
            self.app.open_explain(f"{detail.row.name}#{detail.row.tid}", thread_reasons(detail.row, self.glyphs))

    def turn(self, step: int) -> None:
        """Another thread."""
        snapshot = self.app.snapshot
        self.index = neighbour(
            self.index, [row.index for row in snapshot.threads] if snapshot is not None else [], step
        )
        self.app.ask_for_frame()
