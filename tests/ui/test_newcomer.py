"""What somebody who has never seen the screens looks for, at 80x24: each answer is at most two keys away.

Which thread is slow, on what core class, since when; which finalize phase costs most, and how much its
removal would give.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livemon.ui.navigation import LivemonApp
from livemon.ui.settings import Settings
from tests.ui.driving import lines, name, opened, press, text
from tests.ui.scripted import ScriptedSource

SMALL = (80, 24)


def says(*words: str) -> Callable[[LivemonApp], bool]:
    """Whether some line of the screen has all these words, in order."""

    def check(app: LivemonApp) -> bool:
        return any(_in_order(line, words) for line in [*lines(app), " ".join(text(app).split())])

    return check


def _in_order(line: str, words: tuple[str, ...]) -> bool:
    at = 0
    for word in words:
        at = line.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


WHILE_IT_LASTS = {
    "which thread": ((), says("HOST-SLOW", "placement: dispatch, client-short")),
    "on what core class": ((), says("dispatch, client-short", "on E cores")),
    "since when": ((), says("T3", "host-slow", "00:02:50", "ongoing")),
    "its row": ((), says("!dispatch#4720", " E ", "PPP")),
    "which finalize": ((), says("F1", "finalize", "final_rms validate", "median 86.0 ms")),
    "how much": ((), says("F1", "saves 86.0 ms/step")),
    "why": (("enter",), says("placement", "0.97 / 0.00")),
}
AFTERWARDS = {
    "which thread": ((), says("T2", "host-slow", "placement: dispatch, client-short")),
    "since when": ((), says("T2", "host-slow", "00:01:35", "4.0 s")),
    "on what core class": (("E",), says("dispatch, client-short", "on E cores")),
    "why": (("E", "enter"), says("placement", "0.97 / 0.00")),
    "which finalize": ((), says("F1", "finalize", "final_rms validate")),
    "how much": ((), says("F1", "saves 86.0 ms/step")),
    "how bad, and from when": (("enter",), says("critical: 55.0 %", "critical from 10 % on")),
}


@pytest.mark.parametrize("question", WHILE_IT_LASTS)
async def test_while_an_episode_lasts(question: str) -> None:
    keys, answers = WHILE_IT_LASTS[question]
    source = ScriptedSource(is_live=True, end_s=171.0)
    async with opened(source, size=SMALL, settings=Settings(theme="dark")) as (app, pilot):
        await press(app, pilot, *keys)
        assert answers(app), text(app)


@pytest.mark.parametrize("question", AFTERWARDS)
async def test_when_it_is_over(question: str) -> None:
    keys, answers = AFTERWARDS[question]
    source = ScriptedSource(is_live=True, end_s=130.0)
    async with opened(source, size=SMALL, settings=Settings(theme="dark")) as (app, pilot):
        await press(app, pilot, *keys)
        assert answers(app), text(app)


async def test_going_back_to_an_episode_selects_it_and_enter_opens_it() -> None:
    async with opened(ScriptedSource(is_live=True, end_s=130.0), size=SMALL) as (app, pilot):
        await press(app, pilot, "e")
        assert lines(app)[-1].strip() == "no finding or mark after this moment: E goes back"
        await press(app, pilot, "E")
        assert "host-slow" in lines(app)[-1]
        [selected] = [line for line in lines(app) if line.startswith("▸") and "T2" in line]
        assert "00:01:35" in selected
        await press(app, pilot, "enter")
        assert name(app) == "finding"
        assert lines(app)[0].split()[1] == "T2"
        await press(app, pilot, "escape", "f")
        assert "known at the shown moment" in text(app) or "of the whole session" in text(app)


async def test_going_to_a_mark_selects_no_finding() -> None:
    async with opened(ScriptedSource(end_s=21.0), size=SMALL) as (app, pilot):
        before = app.screen.panels["findings"].key  # type: ignore[attr-defined]
        await press(app, pilot, "E")
        assert "hetero on" in lines(app)[-1]
        assert app.screen.panels["findings"].key == before  # type: ignore[attr-defined]
