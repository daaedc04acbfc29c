"""What the status bar calls the newest moment: live, ended, without news, or left by its recorder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livemon.model.snapshot import Snapshot
from livemon.ui.render.glyphs import ASCII, BLOCK
from livemon.ui.render.summary import view_words
from livemon.ui.settings import Settings
from tests.ui.driving import SIZES, lines, opened, press, until
from tests.ui.scripted import S, ScriptedSource


class Ending(ScriptedSource):
    """A live session whose recorder ends with the next poll after ``how`` is set."""

    def __init__(self) -> None:
        super().__init__(is_live=True)
        self.how = ""

    def poll(self) -> bool:
        if self.how:
            self.is_live = False
            return True
        return super().poll()

    def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
        made = super().snapshot(at_ns, span_ns, columns)
        if self.how != "gone":
            return made
        state = "recorder pid 77 gone at 00:02:52"
        return replace(made, status=replace(made.status, recorder_state=state, trouble="gone"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("how", "words"), [("closed", "ENDED 00:02:52"), ("gone", "RECORDER GONE 00:02:52")])
async def test_a_session_that_ends_while_it_is_watched_is_live_no_more(
    how: str, words: str, size: tuple[int, int]
) -> None:
    source = Ending()
    async with opened(source, size=size, settings=Settings(theme="dark", fps=20)) as (app, pilot):
        assert lines(app)[-2].startswith(" ● LIVE")
        source.how = how
        await until(pilot, lambda: words in lines(app)[-2])
        assert "LIVE" not in lines(app)[-2]
        assert "serve 4711" in lines(app)[-2]
        assert "recorder pid" not in lines(app)[-2], "it is not said twice"
        await press(app, pilot, "space")
        assert app.view.speed == 1.0, "a finished session plays"
        await press(app, pilot, "space", "left")
        assert ("recorder pid 77 gone" in lines(app)[-2]) == (how == "gone")


def test_a_recorder_that_writes_nothing_is_not_called_live() -> None:
    frame = ScriptedSource(is_live=True).snapshot(None, 60 * S, 40)
    silent = replace(frame, status=replace(frame.status, trouble="silent"))
    how = {"is_following": True, "is_live": True, "speed": None}
    assert view_words(frame, **how, glyphs=ASCII) == (" * LIVE ", "live")  # type: ignore[arg-type]
    words, style = view_words(silent, **how, glyphs=BLOCK)  # type: ignore[arg-type]
    assert words.startswith(" ‖ NO NEWS SINCE 00:02:52")
    assert style == "paused"
    paused, _ = view_words(silent, is_following=False, is_live=True, speed=None, glyphs=BLOCK)
    assert "PAUSED" in paused
