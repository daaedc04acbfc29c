"""The row that is highlighted is the row that opens; what the screen says of itself; keys that used to do nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livemon.model.snapshot import Snapshot, ThreadRow
from livemon.ui.own_cpu import OwnCpu
from livemon.ui.screens.overview import OverviewScreen
from livemon.ui.settings import Settings
from livemon.ui.threadlist import ThreadList
from tests.ui.driving import lines, name, opened, press, settle, text
from tests.ui.scripted import S, ScriptedSource


class Restless(ScriptedSource):
    """Threads change places with every second; some have ended."""

    ended = 0

    def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
        frame = super().snapshot(at_ns, span_ns, columns)
        turn = int(self.end_s)

        def moved(row: ThreadRow) -> ThreadRow:
            figure = replace(row.cpu_percent, value=float((row.index * 7 + turn * 3) % 10))
            return replace(row, cpu_percent=figure, is_alive=row.index < self.count - self.ended)

        return replace(frame, threads=tuple(map(moved, frame.threads)), findings=())


def highlighted(screen: OverviewScreen, rows: list[str]) -> str:
    [row] = [line for line in rows if line.startswith("▸") and "#" in line and "thread#tid" not in line]
    return row


@pytest.mark.parametrize("keys", [(), ("tab", "tab")])
async def test_enter_opens_the_highlighted_thread_though_the_rows_are_sorted_anew(keys: tuple[str, ...]) -> None:
    """Enter on ``decode`` opened ``features``: the cursor stood on the first row, whatever came to stand there."""
    source = Restless(is_live=True, end_s=100.0)
    async with opened(source, size=(120, 40)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        await press(app, pilot, *keys)
        before = highlighted(screen, lines(app)).split()[0]
        for _ in range(3):
            source.end_s += 4.0
            app.ask_for_frame()
            await settle(app, pilot)
            assert highlighted(screen, lines(app)).split()[0] == before
        await press(app, pilot, "enter")
        assert name(app) == "thread"
        assert before.strip("▸! x@") in lines(app)[0]


async def test_findings_have_the_first_focus_where_there_are_some() -> None:
    async with opened(size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter")
        assert name(app) == "finding"
    async with opened(Restless(), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "enter")
        assert name(app) == "thread"


async def test_many_ended_threads_are_one_line_that_opens() -> None:
    source = Restless(threads=30)
    source.ended = 24
    async with opened(source, size=(120, 40)) as (app, pilot):
        assert "THREADS 30" in text(app)
        [line] = [line for line in lines(app) if "ended (24)" in line]
        shown = [line for line in lines(app) if "#47" in line]
        assert len(shown) == 6
        assert lines(app).index(line) > lines(app).index(shown[-1])
        await press(app, pilot, "G", "enter")
        assert len([line for line in lines(app) if "#47" in line]) > 6
    source.ended = 30  # the process itself: what it was is looked at
    async with opened(source, size=(120, 40)) as (app, pilot):
        assert "ended (" not in text(app)
        assert "xdispatch#4720" in text(app)


def test_livemons_own_threads_stand_before_those_that_have_ended() -> None:
    frame = ScriptedSource().snapshot(None, 60 * S, 10)
    rows = [replace(row, is_alive=row.index not in (0, 4, 5, 6), is_self=row.index == 9) for row in frame.threads]
    order = ThreadList().ordered(rows, "cpu_percent", is_reversed=False, at_ns=0, involved=set())
    assert [row.index for row in order][5] == 9
    assert not any(row.is_alive for row in order[6:])


async def test_groups_stand_in_the_order_of_their_own_figures_and_are_reversed() -> None:
    source = ScriptedSource(end_s=130.0)  # no episode, whose groups would come first; detok has ended and is last
    async with opened(source, size=(120, 40), settings=Settings(theme="dark", group="role")) as (app, pilot):

        def groups() -> list[str]:
            return [line.split("(")[0].strip("▸> ") for line in lines(app) if " (1)" in line or " (2)" in line]

        first = groups()
        assert first[0] == "gpu-worker"
        await press(app, pilot, "S")
        assert (first[-1], groups()) == ("detok", [*first[-2::-1], "detok"])
        assert "groups and their threads by CPU % of one core, reversed" in lines(app)[-1]


async def test_explain_works_on_the_pages_of_a_stage_and_a_thread_and_says_so_where_it_does_not() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "tab", "enter", "i")
        assert name(app) == "explain"
        await press(app, pilot, "escape", "escape", "tab", "enter", "i")
        assert name(app) == "explain"
        await press(app, pilot, "escape", "escape", "w", "i")
        assert "nothing to explain here" in lines(app)[-1]


async def test_going_to_an_episode_shows_it_and_following_again_shows_the_newest_list() -> None:
    async with opened(ScriptedSource(is_live=True, end_s=130.0), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "E")
        assert "shown 0.4 s after its start" in lines(app)[-1]
        assert "HOST-SLOW" in lines(app)[0]
        assert "known at the shown moment" in text(app)
        await press(app, pilot, "f")
        assert "known at the shown moment" in text(app)
        assert "whole session" not in text(app)


async def test_a_finding_that_was_typed_is_selected() -> None:
    async with opened(size=(80, 24)) as (app, pilot):
        await press(app, pilot, "j", "j", "b", *"t1", "enter")
        [row] = [line for line in lines(app) if line.startswith("▸") and "FINDINGS" not in line]
        assert "T1" in row
        await press(app, pilot, "enter")
        assert lines(app)[0].split()[1] == "T1"


async def test_at_another_moment_the_most_important_finding_is_the_first_choice_again() -> None:
    async with opened(ScriptedSource(end_s=130.0), size=(80, 24)) as (app, pilot):
        await press(app, pilot, "b", *"+97", "enter", "enter")
        assert lines(app)[0].split()[1] == "T2"


async def test_a_finding_has_one_figure_on_the_list_of_all_and_on_its_page() -> None:
    source = ScriptedSource(end_s=172.4)
    async with opened(source, size=(120, 40)) as (app, pilot):
        # At 97 s T2 is ongoing; by the end it is over.
        await press(app, pilot, "b", *"+97", "enter", "a")
        [row] = [line for line in lines(app) if "T2" in line and "host-slow" in line]
        assert "ongoing" in row
        assert any("T3" in line for line in lines(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_ends_of_long_log_lines_can_be_reached(size: tuple[int, int]) -> None:
    class Long(ScriptedSource):
        def log_lines(self, at_ns: int, before: int, after: int, stream: str | None = None):  # type: ignore[no-untyped-def]
            found = super().log_lines(at_ns, before, after, stream)
            return tuple(replace(line, text=f"{line.text} {'.' * 150} op=the-end") for line in found)

    async with opened(Long(), size=size) as (app, pilot):
        await press(app, pilot, "w")
        body = "\n".join(lines(app)[:-6])
        assert "op=the-end" not in body
        assert "[/]" in lines(app)[-1]
        while "op=the-end" not in "\n".join(lines(app)[:-6]):
            await press(app, pilot, "]")
            assert "longer" not in lines(app)[-1]
        assert "from column" in lines(app)[0]
        while "from column" in lines(app)[0]:
            await press(app, pilot, "[")
        assert "\n".join(lines(app)[:-6]) == body
        for _ in range(9):
            await press(app, pilot, "]")
        assert "no line that was read is longer" in lines(app)[-1]


def test_the_viewer_measures_its_own_cpu() -> None:
    own = OwnCpu()
    assert own.percent(0, 7 * S) is None
    assert own.percent(S // 4, 8 * S) is None
    assert own.percent(S, 7 * S + S // 10) == pytest.approx(10.0)
    for second in range(2, 20):
        now = own.percent(second * S, 7 * S + S // 10 + (second - 1) * S // 2)
    assert now == pytest.approx(50.0)


async def test_own_cost_names_recorder_and_screen_and_stays_with_losses_at_80_columns() -> None:
    class Losing(ScriptedSource):
        def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
            frame = super().snapshot(at_ns, span_ns, columns)
            return replace(frame, status=replace(frame.status, lost=12))

    async with opened(Losing(is_live=True), size=(80, 24)) as (app, pilot):
        app.own_cpu_percent = 7.0
        await press(app, pilot, "j")
        bar = lines(app)[-2]
        assert "12 losses" in bar
        assert "CPU recorder 0.8% screen 7%" in bar
        assert " q quit" in lines(app)[-1]
