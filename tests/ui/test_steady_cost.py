"""What a screen that is left open keeps and does again: no more than the frame on it needs."""

from __future__ import annotations

from livemon.ui.screens.overview import OverviewScreen
from tests.ui.driving import opened, press
from tests.ui.scripted import ScriptedSource


async def test_lines_of_old_frames_are_let_go_with_all_that_they_were_made_from() -> None:
    async with opened(ScriptedSource(threads=60), size=(120, 24)) as (app, pilot):
        overview = app.screen
        assert isinstance(overview, OverviewScreen)
        frames = []
        for _ in range(6):
            # Other threads come into sight with each frame: those of the frames before are not drawn again.
            await press(app, pilot, *"jjjjjj", "h")
            assert app.snapshot is not None
            frames.append(app.snapshot)
        assert len({id(frame) for frame in frames}) == 6
        old = {id(row) for frame in frames[:-2] for row in (*frame.threads, *frame.stages)}
        kept = [value for value, _, _ in (*overview._lines.values(), *overview._before.values())]
        assert kept
        assert not old.intersection(map(id, kept))
