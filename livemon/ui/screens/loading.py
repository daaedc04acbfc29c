"""Before the session is open: what is being done, how far it is."""

from __future__ import annotations

from typing import ClassVar

from livemon.ui.render.line import Row
from livemon.ui.screens.base import BaseScreen


class LoadingScreen(BaseScreen):
    """Imports nothing that the other screens are drawn with: it is the first paint."""

    screen_name: ClassVar[str] = "loading"
    wants_frames: ClassVar[bool] = False

    def body(self, cells: int, lines: int) -> list[Row]:
        """Title, progress, how to give up."""
        return self.app.loading_rows(cells, lines)

    def do(self, action_id: str) -> None:
        """Only leaving works here."""
        if action_id in ("quit", "back"):
            self.app.act_quit()
        elif action_id in ("redraw", "suspend"):
            super().do(action_id)
