"""Makes the moving picture of the README from a recorded session: one SVG, animated by CSS, that loads nothing.

    python screenshots/animate.py [--session FILE]

Each frame is what the screens show on a terminal of that size, key by key. Rows that several frames share are in
the file once.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from make import FOLDER, calm, settle_environment

from livemon.ui.navigation import LivemonApp
from livemon.ui.screens.base import BaseScreen
from livemon.ui.settings import Settings
from livemon.ui.view import View
from livemon.viewer import SessionView
from screenshots.scene import make_session

if TYPE_CHECKING:
    from rich.style import Style
    from textual.pilot import Pilot
    from textual.strip import Strip

SIZE = (104, 32)
CELL, LINE, FONT = 8.4, 18, 14
"""Width and height of a cell and size of the letters, in px."""
HEAD = 34
"""Height of the line that says which key was pressed."""
PALE, DARK, TEXT, ACCENT = "#95a2b2", "#101418", "#d8dee6", "#6cb6ff"


@dataclass(frozen=True, slots=True)
class Step:
    """A frame of the film."""

    key: str
    """What is pressed, as it is shown; empty for none."""
    words: str
    seconds: float
    keys: tuple[str, ...] = ()
    at_s: float | None = None
    """Playing, at this time of the session."""


FILM = (
    *(Step("", "a recorded session, replayed at the speed it had", 0.6, at_s=at) for at in (36, 37, 38, 39, 39.8)),
    *(Step("", "the host side gets slow", 0.5, at_s=at) for at in (40.2, 40.4)),
    Step("", "found while it lasts: since when, which threads, where they ran", 3.0, at_s=41.5),
    Step("", "found while it lasts: since when, which threads, where they ran", 1.5, at_s=42.5),
    Step("space", "pause (of a live process the recording goes on)", 1.0, ("space",)),
    Step("e", "to the next episode, 35 s later", 2.0, ("e",)),
    Step("L L", "the time cursor two seconds on, into it", 2.0, ("L", "L")),
    Step("+ +", "a narrower window: 10 s", 2.0, ("+", "+")),
    Step("enter", "the episode in detail: causes with figures, ruled out or not", 4.0, ("enter",)),
    Step("esc / stage:validate", "the other story: a stage over its budget", 2.0,
         ("escape", "/", *"stage:validate", "enter", "=", "tab")),
    Step("j enter", "its distribution, and what removing it would give", 4.0, ("j", "enter")),
)  # fmt: skip


class Rows:
    """Rows as SVG, each different one once."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._classes: dict[str, str] = {}

    def use(self, strip: Strip, y: int) -> str:
        """A reference to a row at line ``y``."""
        drawn = self._drawn(strip)
        name = self._ids.setdefault(drawn, f"r{len(self._ids)}")
        return f'<use href="#{name}" y="{y * LINE}"/>' if drawn else ""

    def definitions(self) -> str:
        """All rows and their colours."""
        looks = "".join(f".{name}{{{rules}}}" for rules, name in self._classes.items())
        rows = "".join(f'<g id="{name}">{drawn}</g>' for drawn, name in self._ids.items() if drawn)
        return f"<style>{looks}</style><defs>{rows}</defs>"

    def _drawn(self, strip: Strip) -> str:
        back, front = "", ""
        x = 0
        for text, style, _ in strip:
            if style is not None:
                if (colour := _hex(style, is_text=False)) not in (None, DARK):
                    back += f'<rect x="{x * CELL:.1f}" width="{len(text) * CELL:.1f}" height="{LINE}" fill="{colour}"/>'
                for word in re.finditer(r"\S+(?: \S+)*", text):
                    front += (
                        f'<text x="{(x + word.start()) * CELL:.1f}" y="{FONT - 0.5}" '
                        f'textLength="{len(word[0]) * CELL:.1f}" class="{self._class(style)}">{escape(word[0])}</text>'
                    )
            x += len(text)
        return back + front

    def _class(self, style: Style) -> str:
        rules = f"fill:{_hex(style, is_text=True) or TEXT}"
        rules += ";font-weight:bold" if style.bold else ""
        rules += ";text-decoration:underline" if style.underline else ""
        return self._classes.setdefault(rules, f"c{len(self._classes)}")


def _hex(style: Style, *, is_text: bool) -> str | None:
    colour = style.color if is_text else style.bgcolor
    return None if colour is None else colour.get_truecolor().hex


async def take(step: Step, app: LivemonApp, pilot: Pilot[int], start_ns: int) -> None:
    """Do what a step says and wait until it is on the screen."""
    if step.at_s is not None:
        # As if it played: without its timer, so that the film is the same each time.
        app.view = View(start_ns + round(step.at_s * 1e9), app.view.span_s, speed=1.0)
        app.ask_for_frame()
    for key in step.keys:
        await pilot.press(key)
        await calm(app)
    await calm(app)


def frame(step: Step, rows: list[str], number: int, start_s: float, length_s: float) -> str:
    """One frame and when it is shown."""
    first, last = 100 * start_s / length_s, 100 * (start_s + step.seconds) / length_s
    hidden = "visibility:hidden"
    times = "" if number == 0 else f"0%{{{hidden}}}"
    times += f"{first:.3f}%{{visibility:visible}}" + (f"{last:.3f}%{{{hidden}}}" if last < 99.99 else "")
    key = f'<tspan fill="{ACCENT}" font-weight="bold">{escape(step.key)}</tspan> ' if step.key else ""
    return (
        f"<style>@keyframes k{number}{{{times}}}#f{number}{{animation:k{number} {length_s:.1f}s step-end infinite"
        + (f";{hidden}" if number else "")
        + f'}}</style><g id="f{number}"><text x="12" y="22" fill="{PALE}">{key}{escape(step.words)}</text>'
        f'<g transform="translate(10 {HEAD})">{"".join(rows)}</g></g>'
    )


async def film(session: Path, write: Callable[[str], object]) -> None:
    """Play the film and write it."""
    source = SessionView(session)
    app = LivemonApp(source, Settings(theme="dark"))
    rows, frames = Rows(), []
    length_s, now_s = sum(step.seconds for step in FILM), 0.0
    async with app.run_test(size=SIZE) as pilot:
        await calm(app)
        app.settings = replace(app.settings, speed=None)
        for number, step in enumerate(FILM):
            await take(step, app, pilot, source.bounds_ns()[0])
            assert isinstance(app.screen, BaseScreen)
            strips = app.screen.canvas.render_lines(app.screen.canvas.size.region)
            shown = [rows.use(strip, y) for y, strip in enumerate(strips)]
            frames.append(frame(step, shown, number, now_s, length_s))
            now_s += step.seconds
    app.feed.stop()
    width, height = SIZE[0] * CELL + 20, SIZE[1] * LINE + HEAD + 10
    write(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="{FONT}" '
        f'font-family="Fira Code,DejaVu Sans Mono,Menlo,Consolas,monospace">'
        f"<title>livemon: an episode found, looked into, and a stage over its budget</title>"
        f'<rect width="100%" height="100%" rx="8" fill="{DARK}"/>{rows.definitions()}{"".join(frames)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--session", type=Path)
    options = parser.parse_args()
    settle_environment()
    path = FOLDER / "demo.svg"
    with tempfile.TemporaryDirectory() as folder:
        session = options.session or make_session(Path(folder))
        asyncio.run(film(session, lambda text: path.write_text(text, encoding="utf-8")))
    print(f"{path.name} {SIZE[0]}x{SIZE[1]}, {len(FILM)} frames, {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
