"""What the panels say of themselves: what their rows are filtered by, whole names and counts of groups."""

from __future__ import annotations

import pytest

from livemon.ui.filtering import (
    NUMBER_FIELDS,
    STAGE_FIELDS,
    TEXT_FIELDS,
    THREAD_FIELDS,
    _stage_number,
    _stage_text,
    _thread_number,
    _thread_text,
    parse_filter,
)
from livemon.ui.render.glyphs import ASCII, BLOCK
from livemon.ui.render.line import plain
from livemon.ui.render.table import choose
from livemon.ui.render.threads import Group, columns, group_line
from livemon.ui.settings import Settings
from tests.ui.driving import SIZES, lines, opened, press
from tests.ui.scripted import S, ScriptedSource

FRAME = ScriptedSource(threads=12).snapshot(None, 60 * S, 40)


@pytest.mark.parametrize("name", sorted({"", *TEXT_FIELDS, *NUMBER_FIELDS}))
def test_a_panel_knows_the_fields_of_its_rows(name: str) -> None:
    thread, stage = FRAME.threads[0], FRAME.stages[0]
    assert (name in THREAD_FIELDS) == bool(_thread_text(thread, name) or _thread_number(thread, name))
    assert (name in STAGE_FIELDS) == bool(_stage_text(stage, name) or _stage_number(stage, name))


def test_a_filter_is_said_only_where_it_says_something() -> None:
    found = parse_filter("stage:validate cpu>5 role:host gc")
    assert found.words_on(THREAD_FIELDS) == "cpu>5 role:host gc"
    assert found.words_on(STAGE_FIELDS) == "stage:validate role:host gc"
    assert parse_filter("").words_on(THREAD_FIELDS) == ""


@pytest.mark.parametrize("size", SIZES[1:])
async def test_a_stage_filter_is_not_said_of_threads(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "/", *"stage:validate", "enter")
        shown = lines(app)
        [stages] = [line for line in shown if "STAGES" in line]
        [threads] = [line for line in shown if "THREADS" in line]
        assert "filter: stage:validate" in stages
        assert "filter" not in threads


def test_a_group_keeps_its_count_and_as_much_of_its_name_as_there_is_room_for() -> None:
    group = Group("inference-scheduler-main", FRAME.threads[:12], is_expanded=False)
    for cells in (79, 119, 39):
        widths = choose(columns([group]), cells)
        text = plain(group_line(group, widths, FRAME.classes, BLOCK))
        assert len(text) == sum(have for _, have in widths) + len(widths) - 1
        assert "(12)" in text
        if cells >= 79:
            assert "inference-scheduler-main (12)" in text
    narrow = choose(columns([]), 39)
    assert "inference" in plain(group_line(group, narrow, FRAME.classes, ASCII))


@pytest.mark.parametrize("size", SIZES)
async def test_groups_have_whole_names_at_every_size(size: tuple[int, int]) -> None:
    async with opened(size=size, settings=Settings(theme="dark", group="process")) as (app, _):
        names = {f"{row.process}:{row.pid}" for row in app.snapshot.threads} if app.snapshot else set()
        assert names
        for name in names:
            assert any(f"{name} (" in line for line in lines(app))
