"""A stage's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from livemon.model.snapshot import Snapshot, StageDetail, ViewSource
from livemon.ui.render.detail import stage_rows
from livemon.ui.render.line import Row, clean
from livemon.ui.render.stages import class_word, stage_reasons
from livemon.ui.screens.page import TurningScreen, neighbour
from livemon.ui.view import View


class StageScreen(TurningScreen):
    """Distribution, quantiles over time, what if it were gone; tab goes to the next class with this stage."""

    screen_name: ClassVar[str] = "stage"
    hint_words: ClassVar[dict[str, str]] = {"next_panel": "next class"}

    def __init__(self, class_key: str | None, stage: str) -> None:
        super().__init__()
        self.class_key = class_key
        self.stage = stage

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> StageDetail | None:
        """The stage's distribution."""
        return source.stage_detail(self.class_key, self.stage, view.at_ns, snapshot.span_ns, self.columns())

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return ("help", "back", "pause", "tick_back", "zoom_in", "next_panel", "next_episode", "log", "quit")

    def heading(self) -> tuple[str, str]:
        """Class and stage."""
        return (
            f"STAGE {clean(self.stage)}",
            f"class {class_word(self.class_key) or self.glyphs.missing}",
        )

    def lines(self, cells: int) -> list[Row]:
        """The page."""
        detail = self.app.extra
        if not isinstance(detail, StageDetail) or (detail.class_key, detail.stage) != (self.class_key, self.stage):
            return [
                ((), ""),
                ((("  no record of this stage in the window: widen it with - or move in time", "muted"),), ""),
            ]
        return stage_rows(detail, cells, self.app.size.height - 4, self.glyphs)

    def act_explain(self) -> None:
        """Every figure of the stage, with the reason where it is unknown."""
        snapshot = self.app.snapshot
        rows = snapshot.stages if snapshot is not None else ()
        row = next((row for row in rows if (row.class_key, row.stage) == (self.class_key, self.stage)), None)
        if row is None:
            self.app.say("nothing to explain: no record of this stage in the window")
        else:
            self.app.open_explain(f"{row.class_key or ''} {row.stage}".strip(), stage_reasons(row))

    def turn(self, step: int) -> None:
        """The same stage of another class."""
        snapshot = self.app.snapshot
        keys = [row.class_key for row in snapshot.stages if row.stage == self.stage] if snapshot is not None else []
        self.class_key = neighbour(self.class_key, keys, step)
        self.app.ask_for_frame()
