"""Charts that are laid out when they are looked at: whoever is looked at, and in whatever order, they are the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from livemon.engine.rolling import grid as grid_module
from livemon.engine.rolling import thread_charts
from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.ring_memory import RingMemory
from livemon.engine.rolling.thread_rings import (
    CLASSES,
    CPU,
    DELAY,
    HIGH,
    LISTED,
    LOW,
    ROWS,
    SECOND,
    Block,
    percent_of,
)
from livemon.engine.rolling.view import RollingView
from livemon.model.criteria import Criteria
from livemon.model.samples import Sample
from livemon.model.snapshot import ThreadRow
from tests.engine.kernels import MS
from tests.engine.test_totals import HYBRID
from tests.engine.ticks import Work

THREADS = 30


def view_of_many() -> tuple[RollingView, Grid, int]:
    r = random.Random(3)
    view = RollingView(Criteria(), HYBRID)
    work = Work(THREADS)
    samples: list[Sample] = [*work.infos(), work.tick()]
    for _ in range(150):
        ran = [k for k in range(THREADS - 2) if r.random() < 0.3]
        for thread in ran:
            work.run(thread, r.randrange(1, 90) * MS, on=r.choice("PE"))
        samples.append(work.tick(ran))
    view.update(samples)
    end = samples[-1].arrival_ns
    return view, Grid.ending(end, 12 * SECOND, 40), end


def charts(row: ThreadRow) -> tuple[object, ...]:
    return row.series.low, row.series.high, row.lane.classes, row.lane.shares


def test_charts_do_not_depend_on_who_was_looked_at_before(monkeypatch: pytest.MonkeyPatch) -> None:
    view, grid, end = view_of_many()
    wanted = [charts(row) for row in view.thread_rows(grid, end, 12 * SECOND)]
    assert len(wanted) == THREADS
    monkeypatch.setattr(thread_charts, "FEW", 4)
    monkeypatch.setattr("livemon.engine.rolling.thread_rows.FEW", 4)
    r = random.Random(4)
    for _ in range(12):
        rows = view.thread_rows(grid, end, 12 * SECOND)
        for index in r.sample(range(THREADS), 9):
            assert charts(rows[index]) == wanted[index]


def test_only_those_that_were_looked_at_and_the_busiest_are_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[int] = []
    lay_out = thread_charts.lay_out

    def counted(columns: object, indexes: object, classes: object) -> object:
        laid.append(len(indexes))  # type: ignore[arg-type]
        return lay_out(columns, indexes, classes)  # type: ignore[arg-type]

    monkeypatch.setattr(thread_charts, "lay_out", counted)
    monkeypatch.setattr(thread_charts, "FEW", 4)
    monkeypatch.setattr("livemon.engine.rolling.thread_rows.FEW", 4)
    view, grid, end = view_of_many()
    busiest = sorted(
        view.thread_rows(grid, end, 12 * SECOND), key=lambda row: row.cpu_percent.value or 0.0, reverse=True
    )
    assert busiest[0].series.high
    assert laid == [4]
    assert busiest[-1].series.high
    assert laid == [4, THREADS]
    again = view.thread_rows(grid, end, 12 * SECOND)
    assert again[busiest[-1].index].series.high
    assert laid == [4, THREADS, 5]
    # A frame that nobody looked at changes nothing.
    view.thread_rows(grid, end, 12 * SECOND)
    view.thread_rows(grid, end, 12 * SECOND)
    assert laid[3:] == [5, 5]


def test_one_thread_alone_does_not_change_who_is_watched() -> None:
    view, grid, end = view_of_many()
    before = view._watched._newest
    [row] = view.thread_rows(grid, end, 12 * SECOND, only=3)
    assert row.series.high
    assert view._watched._newest is before


@pytest.mark.parametrize("plain", [4096, 0])
def test_columns_kept_from_frame_to_frame_are_those_made_anew(monkeypatch: pytest.MonkeyPatch, plain: int) -> None:
    monkeypatch.setattr(grid_module, "PLAIN_THREADS", plain)
    view, _, end = view_of_many()
    made: list[int] = []
    make = grid_module.Columns._make

    def counted(columns: grid_module.Columns, blocks: tuple[Block, ...], classes: int) -> grid_module.Column:
        made.append(len(blocks))
        return make(columns, blocks, classes)

    monkeypatch.setattr(grid_module.Columns, "_make", counted)
    for at_ns in range(end - 3 * SECOND, end + 1, SECOND // 4):
        grid = Grid.ending(at_ns, 10 * SECOND, 40)
        before = len(made)
        rows = view.thread_rows(grid, at_ns, 10 * SECOND)
        # 40 buckets of a quarter of a second: one is new, and the one before was not over.
        assert len(made) - before <= (2 if before else 40)
        view._columns, kept = grid_module.Columns(), view._columns
        anew = view.thread_rows(grid, at_ns, 10 * SECOND)
        assert [charts(row) for row in rows] == [charts(row) for row in anew]
        view._columns = kept
        del made[before:]
        made.append(0)


def test_a_packed_block_tells_what_it_was_made_of() -> None:
    r = np.random.default_rng(5)
    memory = RingMemory()
    for ticks in (1, 3):
        for threads in (0, 1, 40, 30_000):
            rows = np.zeros((ROWS, threads), np.float32)
            rows[[CPU, DELAY, CLASSES]] = r.integers(0, 10**8, (3, threads))
            rows[LISTED] = ticks
            rows[LOW] = rows[HIGH] = rows[CPU] * percent_of(SECOND // 10)
            whole = Block(0, SECOND // 10, ticks, np.arange(threads, dtype=np.int32), rows)
            packed = whole.packed(memory)
            assert np.array_equal(packed.rows, whole.rows)
            assert np.array_equal(packed.index, whole.index)
            assert packed.nbytes <= 200 + 4 * threads * (4 if ticks == 1 else 7)
