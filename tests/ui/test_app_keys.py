"""Every key on the overview, at three sizes where size matters."""

from __future__ import annotations

import pytest
from textual import events
from textual.keys import _character_to_key

from livemon.ui.actions import ACTIONS, Keymap
from livemon.ui.navigation import LivemonApp
from livemon.ui.screens.overview import OverviewScreen
from livemon.ui.settings import Settings
from tests.ui.driving import SIZES, lines, name, opened, press, settle, text, until
from tests.ui.scripted import START_NS, S, ScriptedSource


def at_s(app: LivemonApp) -> float:
    assert app.snapshot is not None
    return (app.snapshot.at_ns - START_NS) / S


@pytest.mark.parametrize("size", SIZES)
async def test_the_overview_answers_the_four_questions(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, _):
        shown = lines(app)
        assert shown[0].startswith(" CRITICAL  HOST-SLOW for 2.4 s")
        assert "T3" in text(app)
        assert "dispatch#4720" in text(app)
        assert "OVER" in text(app)
        assert "placement: dispatch, client-short" in text(app)
        assert all(len(line) <= size[0] for line in shown)
        assert len(shown) == size[1]


async def test_space_pauses_a_live_session_and_follows_again() -> None:
    source = ScriptedSource(is_live=True, end_s=150.0)
    async with opened(source, settings=Settings(theme="dark", fps=20)) as (app, pilot):
        assert "LIVE" in text(app)
        await press(app, pilot, "space")
        source.end_s = 153.0
        await until(pilot, lambda: "PAUSED behind by 3.0 s" in text(app))
        assert at_s(app) == 150.0
        await press(app, pilot, "space")
        assert at_s(app) == 153.0
        assert "LIVE" in text(app)


async def test_new_samples_of_a_live_session_are_drawn_without_a_key() -> None:
    source = ScriptedSource(is_live=True, end_s=150.0)
    async with opened(source, settings=Settings(theme="dark", fps=20)) as (app, pilot):
        source.verdict_text = "HOST-SLOW just now"
        source.end_s = 150.1
        await until(pilot, lambda: "HOST-SLOW just now" in text(app))


@pytest.mark.parametrize(
    ("keys", "moment"),
    [
        (("left",), 172.3), (("h",), 172.3), (("left", "right"), 172.4), (("h", "l"), 172.4),
        (("shift+left",), 171.4), (("H",), 171.4), (("H", "L"), 172.4), (("shift+left", "shift+right"), 172.4),
        (("ctrl+left",), 112.4), (("ctrl+left", "ctrl+right"), 172.4),
        (("0",), 0.0), (("ctrl+home",), 0.0), (("0", "$"), 172.4), (("0", "ctrl+end"), 172.4),
        (("E",), 170.4), (("E", "E"), 95.4), (("0", "e"), 8.0), (("0", "e", "e"), 9.0), (("0", "e", "E"), 8.0),
        (("0", "M"), 20.0), (("M",), 20.0), (("0", "f"), 172.4),
    ],
)  # fmt: skip
async def test_time_keys(keys: tuple[str, ...], moment: float) -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, *keys)
        assert at_s(app) == pytest.approx(moment)


async def test_the_time_cursor_stops_at_the_ends_and_says_so() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "0", "left")
        assert at_s(app) == 0.0
        assert "session's start" in text(app)
        await press(app, pilot, "0", "E")
        assert "no finding or mark before this moment" in text(app)


async def test_keys_typed_on_after_the_jump_key_go_into_its_question() -> None:
    async with opened() as (app, pilot):
        for character in "b+42":  # faster than the session can be asked for its moments
            app.post_message(events.Key(_character_to_key(character), character))
        app.post_message(events.Key("enter", "\r"))
        await settle(app, pilot)
        assert "go to" not in text(app)
        assert at_s(app) == pytest.approx(42.0)


@pytest.mark.parametrize(
    ("typed", "moment"),
    [("+42", 42.0), ("00:01:35", 95.0), ("T1", 40.4), ("start", 0.0), ("-2.4s", 170.0), ("hetero on", 20.0)],
)
async def test_jumping_to_a_typed_time(typed: str, moment: float) -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "b", *("space" if c == " " else c for c in typed), "enter")
        assert at_s(app) == pytest.approx(moment)


async def test_a_time_outside_the_session_is_refused_in_words() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "b", *"+900", "enter")
        assert "after the session's end" in text(app)
        assert at_s(app) == 172.4
        await press(app, pilot, "escape")
        assert "go to" not in text(app)


async def test_zoom_goes_from_5_s_to_the_whole_session_and_back() -> None:
    async with opened() as (app, pilot):
        for _ in range(5):
            await press(app, pilot, "+")
        assert app.snapshot is not None
        assert app.snapshot.span_ns == 5 * S
        for _ in range(9):
            await press(app, pilot, "-")
        assert app.snapshot.span_ns == round(172.4 * S)
        await press(app, pilot, "=")
        assert app.snapshot.span_ns == 60 * S


async def test_a_finished_session_plays_and_stops_at_its_end() -> None:
    source = ScriptedSource(end_s=300.0)
    async with opened(source, settings=Settings(theme="dark", speed=3000, fps=20)) as (app, pilot):
        await until(pilot, lambda: app.view.speed is None and app.view.at_ns is not None)
        await until(pilot, lambda: at_s(app) == 300.0)
        await press(app, pilot, "space")
        assert app.view.speed == 1.0
        await press(app, pilot, ">")
        assert app.view.speed == 2.0
        await press(app, pilot, "<", "<", "<", "<", "<", "<", "<")
        assert app.view.speed == 0.1
        assert "0.1× behind by" in text(app)
        await press(app, pilot, "space")
        assert app.view.speed is None


async def test_rows_move_with_arrows_and_vi_keys_in_each_panel() -> None:
    async with opened() as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        assert screen.active == "findings"
        await press(app, pilot, "down", "j", "k", "up", "j")
        assert screen.panels["findings"].index == 1
        await press(app, pilot, "tab", "G")
        assert (screen.active, screen.panels["stages"].index) == ("stages", 11)
        await press(app, pilot, "home", "pagedown", "pageup")
        assert screen.panels["stages"].index == 0
        await press(app, pilot, "tab", "j")
        assert (screen.active, screen.panels["threads"].index) == ("threads", 1)
        await press(app, pilot, "shift+tab")
        assert screen.active == "stages"


async def test_filtering_while_typing_and_dropping_it() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "/", *"cpu>50")
        assert "gpu-worker" in text(app)
        assert "tokenizer" not in text(app)
        await press(app, pilot, "escape")
        assert "tokenizer" in text(app)
        await press(app, pilot, "/", *"stage:validate", "enter")
        assert "runner_run  " not in text(app)
        assert "tokenizer" in text(app)
        await press(app, pilot, "escape")
        assert "runner_run  " in text(app)
        await press(app, pilot, "/", *"class:E", "enter")
        assert "THREADS 3 of 10" in text(app)
        assert "filter: class:E" in text(app)


async def test_a_wrong_filter_says_what_is_wrong() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "/", *"ipc>fast")
        assert "ipc> needs a number, not 'fast'" in text(app)


async def test_sort_reverse_and_group() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "s")
        assert app.settings.sort == "wait_percent"
        await press(app, pilot, "S")
        assert "reversed" in text(app)
        await press(app, pilot, "g", "g", "g")
        assert app.settings.group == "role"
        assert "worker (2)" in text(app)
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        await press(app, pilot, "G", "home")
        while "worker (2)" not in next(line for line in lines(app) if line.startswith("▸") and "(" in line):
            await press(app, pilot, "j")
        await press(app, pilot, "enter")
        assert "worker-1#4728" in text(app)


async def test_columns_can_be_hidden() -> None:
    async with opened(size=(200, 50)) as (app, pilot):
        assert "cyc/ns" in text(app)
        await press(app, pilot, "c")
        assert name(app) == "columns"
        while "threads: cyc/ns" not in lines(app)[app.screen.panel.index + 1 - app.screen.top]:  # type: ignore[attr-defined]
            await press(app, pilot, "j")
        await press(app, pilot, "enter", "escape")
        assert "cyc/ns" not in text(app)


async def test_the_stage_scale_turns_through_its_three_kinds() -> None:
    async with opened(size=(200, 50)) as (app, pilot):
        assert "0.75–3× the usual" in text(app)
        await press(app, pilot, "x")
        assert "1–200 ms log" in text(app)
        await press(app, pilot, "x")
        assert "0–150 ms" in text(app)


async def test_all_findings_can_be_listed_from_the_past() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "b", *"+60", "enter")
        assert "FINDINGS 3" in text(app)
        await press(app, pilot, "a")
        assert "FINDINGS 5" in text(app)
        await press(app, pilot, "escape")
        assert "FINDINGS 3" in text(app)


async def test_a_mark_is_put_at_the_shown_moment() -> None:
    source = ScriptedSource()
    async with opened(source) as (app, pilot):
        await press(app, pilot, "b", *"+50", "enter", "m", *"deploy", "enter")
        assert [(mark.t_ns - START_NS) / S for mark in source.marks if mark.text == "deploy"] == [50.0]
        assert "marked: deploy" in text(app)


async def test_a_mark_that_cannot_be_written_is_said() -> None:
    source = ScriptedSource()
    source.is_read_only = True
    async with opened(source) as (app, pilot):
        await press(app, pilot, "m", "x", "enter")
        assert "read-only file system" in text(app)


async def test_messages_go_with_the_next_key() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "s")
        assert "threads by" in lines(app)[-1]
        await press(app, pilot, "j")
        assert "threads by" not in lines(app)[-1]


async def test_themes_turn_and_mouse_switches() -> None:
    async with opened() as (app, pilot):
        seen = [app.looks.palette.name]
        for _ in range(5):
            await press(app, pilot, "t")
            seen.append(app.looks.palette.name)
        assert seen == ["dark", "light", "high-contrast", "ansi", "mono", "dark"]
        await press(app, pilot, "ctrl+o")
        assert not app.settings.mouse


async def test_quit_ends_with_0() -> None:
    source = ScriptedSource()
    async with opened(source) as (app, pilot):
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0
    app.feed.stop()
    assert source.is_closed


async def test_changed_keys_count() -> None:
    settings = Settings(theme="dark", keys=(("quit", ("Q",)), ("pause", ("p",))))
    async with opened(ScriptedSource(is_live=True), settings=settings) as (app, pilot):
        await press(app, pilot, "q", "p")
        assert not app.view.is_following
        assert "p follow" in lines(app)[-1]


@pytest.mark.parametrize("size", SIZES)
async def test_every_key_of_the_table_leaves_a_whole_screen(size: tuple[int, int]) -> None:
    """Whatever is pressed, in whatever order, each line fits and nothing raises."""
    async with opened(ScriptedSource(threads=30), size=size) as (app, pilot):
        for action in ACTIONS:
            if action.id in ("quit", "suspend"):
                continue
            for key in action.keys[:1]:
                await press(app, pilot, key)
                assert len(lines(app)) == size[1], action.id
                if app.screen.prompt is not None:  # type: ignore[attr-defined]
                    await press(app, pilot, "escape")
            if len(app.screen_stack) > 3:
                await press(app, pilot, "escape")


def test_no_key_means_two_things_on_one_screen() -> None:
    seen: dict[tuple[str, str], str] = {}
    for action in ACTIONS:
        for screen in action.screens or ("",):
            for key in action.keys:
                assert seen.setdefault((screen, key), action.id) == action.id
    assert Keymap().action("overview", "q") == "quit"
    assert Keymap().action("log", "n") == "next_match"
    assert Keymap().action("finding", "n") == "next_finding"


async def test_mouse_selects_sorts_opens_and_jumps() -> None:
    async with opened(size=(200, 50)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        row = next(y for y, line in enumerate(lines(app)) if "tokenizer" in line)
        await pilot.click(offset=(5, row))
        await settle(app, pilot)
        assert screen.active == "threads"
        header = next(y for y, line in enumerate(lines(app)) if "thread#tid" in line)
        await pilot.click(offset=(lines(app)[header].index("wait %") + 2, header))
        await settle(app, pilot)
        assert app.settings.sort == "wait_percent"
        await pilot.click(offset=(12, 4))
        await settle(app, pilot)
        assert at_s(app) < 2
        row = next(y for y, line in enumerate(lines(app)) if "tokenizer" in line)
        await pilot.click(offset=(5, row))
        await pilot.click(offset=(5, row))
        await settle(app, pilot)
        assert name(app) == "thread"
