"""Makes the pictures of the README from a recorded session, as SVG.

    python screenshots/make.py [--session FILE] [--only NAME]

Without ``--session`` the one of ``scene.py`` is made and imported first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from livemon.ui.navigation import LivemonApp
from livemon.ui.screens.base import BaseScreen
from livemon.ui.settings import Settings
from livemon.viewer import SessionView
from screenshots.scene import make_session

FOLDER = Path(__file__).parent
IN_EPISODE = ("b", *"+79.6", "enter")

PICTURES: dict[str, tuple[tuple[int, int], Settings, tuple[str, ...]]] = {
    "overview": ((140, 42), Settings(theme="dark"), IN_EPISODE),
    "finding": ((130, 56), Settings(theme="dark"), ("b", *"+81.9", "enter", "enter")),
    "time_travel": ((140, 42), Settings(theme="dark"), ("b", *"+42", "enter", "+", "+")),
    "stage": ((120, 36), Settings(theme="dark"), ("/", *"stage:validate", "enter", "tab", "j", "enter")),
    "thread": ((120, 44), Settings(theme="dark"), (*IN_EPISODE, "shift+tab", "enter")),
    "log": ((130, 30), Settings(theme="dark"), (*IN_EPISODE, "w", "/", *"c_api", "enter")),
    "narrow": ((80, 24), Settings(theme="dark"), IN_EPISODE),
    "light": ((120, 38), Settings(theme="light"), IN_EPISODE),
    "ascii": ((100, 30), Settings(theme="mono", ascii=True), IN_EPISODE),
}


async def calm(app: LivemonApp) -> None:
    """Wait until everything that was asked for is on the screen."""
    quiet = 0
    while quiet < 5:
        await asyncio.sleep(0.02)
        feed = app.feed
        is_busy = app.snapshot is None or feed._jobs or feed._frame or feed._outcomes or feed._done_token < app.token
        quiet = 0 if is_busy else quiet + 1


async def picture(session: Path, name: str) -> None:
    size, settings, keys = PICTURES[name]
    app = LivemonApp(SessionView(session), settings)
    async with app.run_test(size=size) as pilot:
        await calm(app)
        for key in keys:
            await pilot.press({" ": "space"}.get(key, key))
            await calm(app)
        assert isinstance(app.screen, BaseScreen)
        drawn = re.sub(r"terminal-\d+-", "terminal-", app.export_screenshot(title=f"livemon: {name.replace('_', ' ')}"))
    app.feed.stop()
    (FOLDER / f"{name}.svg").write_text(drawn, encoding="utf-8")
    print(f"{name}.svg {size[0]}x{size[1]} {len(drawn) // 1000} kB")


def settle_environment() -> None:
    """The same time zone and colours wherever it runs."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    for variable in ("NO_COLOR", "LC_ALL", "COLORFGBG"):
        os.environ.pop(variable, None)
    os.environ.update(COLORTERM="truecolor", TERM="xterm-256color", LANG="C.UTF-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--session", type=Path)
    parser.add_argument("--only", choices=PICTURES)
    options = parser.parse_args()
    settle_environment()
    with tempfile.TemporaryDirectory() as folder:
        session = options.session or make_session(Path(folder))
        for name in [options.only] if options.only else PICTURES:
            asyncio.run(picture(session, name))


if __name__ == "__main__":
    main()
