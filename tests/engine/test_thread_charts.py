"""Charts that are laid out when they are looked at: whoever is looked at, and in whatever order, they are the same."""

from __future__ import annotations

import random

import pytest

from livemon.engine.rolling import thread_charts
from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.thread_rings import SECOND
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

    def counted(blocks: object, grid: object, indexes: object, classes: object) -> object:
        laid.append(len(indexes))  # type: ignore[arg-type]
        return lay_out(blocks, grid, indexes, classes)  # type: ignore[arg-type]

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
