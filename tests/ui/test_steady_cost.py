"""What a screen that is left open keeps and does again: no more than the frame on it needs."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.lazy import Drawn
from livemon.engine.rolling.stage_window import middle_and_p99
from livemon.engine.rolling.thread_rings import SECOND
from livemon.model.samples import ThreadGone, ThreadInfo
from livemon.model.snapshot import Lane, Series, ThreadRow
from livemon.ui.render.glyphs import BLOCK
from livemon.ui.render.lane import lane
from livemon.ui.render.spark import shared_out, tops
from livemon.ui.screens.overview import OverviewScreen
from tests.engine.test_thread_charts import view_of_many
from tests.ui.driving import opened, press
from tests.ui.scripted import ScriptedSource


async def test_lines_of_old_frames_are_let_go_with_all_that_they_were_made_from() -> None:
    async with opened(ScriptedSource(threads=60), size=(120, 24)) as (app, pilot):
        overview = app.screen
        assert isinstance(overview, OverviewScreen)
        frames = []
        for _ in range(6):
            # Other threads come into sight with each frame: those of the frames before are not drawn again.
            await press(app, pilot, *"jjjjjj", "h")
            assert app.snapshot is not None
            frames.append(app.snapshot)
        assert len({id(frame) for frame in frames}) == 6
        old = {id(row) for frame in frames[:-2] for row in (*frame.threads, *frame.stages)}
        kept = [value for value, _, _ in (*overview._lines.values(), *overview._before.values())]
        assert kept
        assert not old.intersection(map(id, kept))


def plain(row: ThreadRow) -> tuple[Series, Lane]:
    series, lane = row.series, row.lane
    return (
        Series(series.first_bucket, series.bucket_ns, series.low, series.high),
        Lane(lane.first_bucket, lane.bucket_ns, lane.classes, lane.shares, lane.is_exact),
    )


@pytest.mark.parametrize("columns", [7, 40, 120])
def test_charts_drawn_for_all_threads_at_once_are_those_of_each(columns: int) -> None:
    view, _, end = view_of_many()
    view.update([ThreadGone(end - 2 * SECOND, 3), ThreadInfo(end, 90, 1, 990, "late")])
    prepared = 0
    for span_ns in (12 * SECOND, 20 * SECOND):
        rows = view.thread_rows(Grid.ending(end, span_ns, columns), end, span_ns)
        assert len(rows) == 31
        for row in rows:
            series, found = plain(row)
            assert row.series.top == series.top
            for cells in (1, 6, 44, 45, 90, 200):
                prepared += row.series.prepared_tops(shared_out(series, cells)) is not None
                assert tops(row.series, cells) == tops(series, cells)
                assert lane(row.lane, cells, "PE", BLOCK) == lane(found, cells, "PE", BLOCK)
    assert prepared >= 6 * 20


def test_a_frame_of_idle_threads_is_gone_with_its_last_user() -> None:
    view, grid, end = view_of_many()
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(thing, Drawn) for thing in gc.get_objects())
        for _ in range(3):
            assert [row.series.high for row in view.thread_rows(grid, end, 12 * SECOND)]
        assert sum(isinstance(thing, Drawn) for thing in gc.get_objects()) == before
    finally:
        gc.enable()


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=60), st.integers(1, 3))
def test_p50_and_p99_are_those_of_numpy(units: list[float], rows: int) -> None:
    values = np.array([np.roll(units, k) * (k + 1) for k in range(rows)])
    assert middle_and_p99(values).tolist() == np.quantile(values, (0.5, 0.99), axis=1).T.tolist()
