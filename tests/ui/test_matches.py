"""``n`` and ``N``: from match to match of the last filter, on the overview and in the log."""

from __future__ import annotations

import pytest

from livemon.model.snapshot import StageRow
from livemon.ui.navigation import LivemonApp
from livemon.ui.screens.log import LogScreen
from livemon.ui.screens.overview import OverviewScreen
from livemon.ui.settings import Settings
from livemon.ui.threadlist import Entry
from tests.ui.driving import lines, name, opened, press

SIZES = ((80, 24), (200, 50))


def selected(app: LivemonApp) -> str:
    """The selected row in a word: a stage, a thread or a group."""
    screen = app.screen
    assert isinstance(screen, OverviewScreen)
    row = screen.selected()
    if isinstance(row, StageRow):
        return row.stage
    assert isinstance(row, Entry)
    return row.row.name if row.row is not None else f"group {row.group.key}" if row.group is not None else ""


@pytest.mark.parametrize("size", SIZES)
async def test_a_dropped_filter_is_gone_through_and_round(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "/", *"name:worker", "enter", "escape")
        assert "n and N go to what it matched (name:worker)" in lines(app)[-1]
        await press(app, pilot, "home")
        found = []
        for _ in range(4):
            await press(app, pilot, "n")
            found.append(selected(app))
            assert any("▸" in line and found[-1] in line for line in lines(app))
        assert sorted(found[:3]) == ["gpu-worker", "worker-1", "worker-2"]
        assert found[3] == found[0]
        assert "from the first match again" in lines(app)[-1]
        await press(app, pilot, "N")
        assert selected(app) == found[2]
        assert "from the last match again" in lines(app)[-1]
        await press(app, pilot, "N")
        assert selected(app) == found[1]


async def test_words_are_looked_for_in_stages_and_threads_alike() -> None:
    async with opened(size=(200, 50)) as (app, pilot):
        await press(app, pilot, "/", *"validate|tokenizer", "enter", "escape", "shift+tab", "home")
        found: list[str] = []
        while len(found) < 30 and "from the first" not in lines(app)[-1]:
            await press(app, pilot, "n")
            found.append(selected(app))
        # It began in the threads: the one there, then round to the stages from the top.
        assert found[:2] == ["tokenizer", "validate"]


async def test_a_filter_on_stages_leaves_the_threads_alone() -> None:
    async with opened(size=(200, 50)) as (app, pilot):
        await press(app, pilot, "/", *"stage:validate", "enter", "escape")
        for _ in range(5):
            await press(app, pilot, "n")
            assert selected(app) == "validate"


async def test_a_closed_group_stands_for_its_threads_and_an_open_one_does_not() -> None:
    settings = Settings(theme="dark", group="role")
    async with opened(size=(200, 50), settings=settings) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        await press(app, pilot, "/", *"name:tokenizer", "enter", "escape", "n")
        group = selected(app)
        assert group.startswith("group ")
        await press(app, pilot, "enter", "home", "n")
        assert selected(app) == "tokenizer"


async def test_without_a_filter_or_a_match_it_says_so() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "n")
        assert "nothing was looked for yet: / takes a filter" in lines(app)[-1]
        await press(app, pilot, "/", *"name:nobody", "enter", "escape", "n")
        assert "no row matches name:nobody" in lines(app)[-1]
        # A filter that was given up is not the last one.
        await press(app, pilot, "/", *"name:worker", "escape", "n")
        assert "no row matches name:nobody" in lines(app)[-1]


@pytest.mark.parametrize("size", SIZES)
async def test_the_log_goes_from_line_to_line_of_the_last_filter(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "w")
        screen = app.screen
        assert isinstance(screen, LogScreen)
        await press(app, pilot, "N")
        assert screen._lines[screen.panel.index].stages  # nothing was looked for: lines with timing
        await press(app, pilot, "/", *"scheduler", "enter", "escape")
        assert name(app) == "log"
        assert any("scheduler" not in line.text for line in screen._lines)
        await press(app, pilot, "N")
        places = [screen.panel.index]
        await press(app, pilot, "N")
        places.append(screen.panel.index)
        assert places[1] < places[0] - 1
        assert all("scheduler" in screen._lines[place].text for place in places)
        assert not any("scheduler" in line.text for line in screen._lines[places[1] + 1 : places[0]])
        await press(app, pilot, "n")
        assert screen.panel.index == places[0]
        await press(app, pilot, "end", "n", "n")
        assert "no further line that matches scheduler was read" in lines(app)[-1]
