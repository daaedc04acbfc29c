"""The screens over a recording that is still being judged, from the first frame to the last."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from livemon.gradual import GradualView
from livemon.ui.navigation import LivemonApp
from livemon.ui.settings import Settings
from tests.ui.driving import lines, press, text, until
from tests.viewer.sessions import decode_session, write_session
from tests.viewer.test_gradual import HurriedClock


class HeldView(GradualView):
    """Judges half of it and the rest when it may."""

    def __init__(self, path: Path) -> None:
        self.may_go_on = threading.Event()
        super().__init__(path, clock=HurriedClock())

    def poll(self) -> bool:
        if (self.judging or 0.0) > 0.5 and not self.may_go_on.is_set():
            return False
        return super().poll()


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HeldView:
    monkeypatch.setattr("livemon.gradual.STEP_SAMPLES", 100)
    write_session(tmp_path / "s.livemon", decode_session(600))
    return HeldView(tmp_path / "s.livemon")


async def shown(app: LivemonApp, pilot: Pilot[int]) -> None:
    """Wait until it stands at its half."""
    await until(pilot, lambda: app.snapshot is not None)
    await pilot.pause()
    await until(pilot, lambda: re.search(r"judging the recording: 5\d", text(app)))


async def test_a_recording_is_usable_while_it_is_judged(held: HeldView) -> None:
    app = LivemonApp(held, Settings(theme="dark", window_s=10.0))
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot)
        assert " UNKNOWN " in lines(app)[0]
        assert "as far as it is judged: until" in text(app)
        rows = [line for line in lines(app) if "runner_run" in line and " device " in line]
        assert rows
        assert all(" ? " in row for row in rows)
        await press(app, pilot, "H", "H")
        await until(pilot, lambda: "PAUSED behind by 2" in text(app))
        assert " UNKNOWN " in lines(app)[0]
        await press(app, pilot, "0", "L", "L", "L")
        await until(pilot, lambda: " UNKNOWN " not in lines(app)[0])
        assert re.search(r"judging the recording: 5\d", text(app))
        await press(app, pilot, "f")
        await until(pilot, lambda: " UNKNOWN " in lines(app)[0])
        await press(app, pilot, "H")
        held.may_go_on.set()
        await until(pilot, lambda: "judging" not in text(app) and "OVERSIZED FINALIZE" in text(app))
        assert held.judging is None
        app.feed.stop()


async def test_leaving_does_not_wait_for_the_judging(held: HeldView) -> None:
    app = LivemonApp(held, Settings(theme="dark"))
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot)
        await press(app, pilot, "q")
    app.feed.stop()
    assert app.return_code == 0
    assert held.judging is not None
