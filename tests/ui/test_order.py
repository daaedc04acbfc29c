"""What comes first where not everything fits: findings, threads, and text that keeps numbers and units together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livemon.model.findings import Finding
from livemon.ui.actions import BY_ID, Keymap
from livemon.ui.render.line import wrap
from livemon.ui.screens.overview_panels import in_order
from livemon.ui.settings import Settings
from livemon.ui.threadlist import ThreadList
from tests.ui.driving import SIZES, lines, opened, press
from tests.ui.scripted import S, ScriptedSource, finalize, transient

FRAME = ScriptedSource(threads=12).snapshot(None, 60 * S, 40)


def ids(*findings: Finding) -> list[str]:
    return [finding.id for finding in in_order(findings)]


def test_the_newest_episode_is_among_the_first_two() -> None:
    small, large = finalize("F1", "a", 30.0, 2.0, 0.0), finalize("F2", "b", 90.0, 3.0, 0.0)
    old, new = transient(1, 10.0, 12.0), transient(2, 50.0, 54.0)
    assert ids(small, large, old, new) == ["F2", "T2", "F1", "T1"]
    assert ids(small, large) == ["F2", "F1"]
    assert ids(old, new) == ["T2", "T1"]
    ongoing = transient(3, 60.0, None)
    assert ids(small, large, old, new, ongoing) == ["T3", "F2", "F1", "T2", "T1"]
    assert ids() == []


def test_livemons_own_threads_come_after_the_targets() -> None:
    busiest = max(FRAME.threads, key=lambda row: row.cpu_percent.value or 0.0)
    rows = [replace(row, is_self=row is busiest) for row in FRAME.threads]
    for key in ("cpu_percent", "name"):
        order = ThreadList().ordered(rows, key, is_reversed=False, at_ns=0, involved=set())
        first_other = next(k for k, row in enumerate(order) if row.is_self or not row.is_alive)
        assert all(row.is_self or not row.is_alive for row in order[first_other:])
        assert any(row.is_self for row in order[first_other:])


def test_an_order_is_kept_until_threads_come_go_or_are_named_by_an_episode() -> None:
    order = ThreadList()
    how = {"is_reversed": False, "at_ns": 0}
    first = order.ordered(FRAME.threads, "cpu_percent", involved=set(), **how)  # type: ignore[arg-type]
    again = order.ordered(FRAME.threads, "cpu_percent", involved=set(), **how)  # type: ignore[arg-type]
    assert again == first
    fewer = FRAME.threads[1:]
    assert order.ordered(fewer, "cpu_percent", involved=set(), **how) == [row for row in first if row in fewer]  # type: ignore[arg-type]
    named = first[-1].index
    assert order.ordered(FRAME.threads, "cpu_percent", involved={named}, **how)[0].index == named  # type: ignore[arg-type]


@pytest.mark.parametrize("cells", range(10, 40))
def test_a_number_keeps_its_unit(cells: int) -> None:
    text = "recovered 6.2 s ago, 128 ms of 5 ms, 38 % of 28 MB, 3 units/s and 12 threads, 2 sorts"
    pieces = wrap(text, cells)
    assert " ".join(pieces) == text
    for whole in ("6.2 s", "128 ms", "5 ms", "38 %", "28 MB"):
        assert any(whole in piece for piece in pieces)


@pytest.mark.parametrize("size", SIZES)
async def test_every_panel_says_how_many_rows_it_has(size: tuple[int, int]) -> None:
    source = ScriptedSource(threads=60)
    async with opened(source, size=size) as (app, pilot):
        shown = "\n".join(lines(app))
        assert "1/60" in shown
        if size[0] == 80:
            assert "stage 1/12" in shown
            await press(app, pilot, "shift+tab", "end")
            assert "thread#tid 60/60" in "\n".join(lines(app))


def test_hints_name_both_directions() -> None:
    keymap = Keymap()
    assert keymap.pair("next_episode") == "E/e"
    assert keymap.pair("tick_back") == "\u2190/\u2192"
    assert keymap.pair("zoom_in") == "+/-"
    assert keymap.pair("quit") == "q"
    assert Keymap({"previous_episode": ()}).pair("next_episode") == "e"


@pytest.mark.parametrize(("key", "action"), [("f1", "help"), ("f4", "filter"), ("f6", "sort"), ("f10", "quit")])
def test_keys_of_htop_do_what_they_do_there(key: str, action: str) -> None:
    assert Keymap().action("overview", key) == action
    assert key in BY_ID[action].keys


@pytest.mark.parametrize("size", SIZES)
async def test_tab_says_what_it_turns_to_on_a_page(size: tuple[int, int]) -> None:
    async with opened(size=size, settings=Settings(theme="dark")) as (app, pilot):
        await press(app, pilot, "shift+tab", "enter")
        first = lines(app)[0]
        assert "tab next thread" in lines(app)[-1]
        await press(app, pilot, "tab")
        assert lines(app)[0] != first
        await press(app, pilot, "escape", "shift+tab", "enter")
        assert "tab next class" in lines(app)[-1]
