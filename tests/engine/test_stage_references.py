"""What is usual for a stage, and for the highest value of a second with many units in it."""

from __future__ import annotations

import random

import pytest

from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.thread_rings import SECOND
from livemon.engine.rolling.view import RollingView
from livemon.model.criteria import Criteria
from livemon.model.samples import Sample, TimingRecord
from livemon.model.snapshot import StageRow
from livemon.ui.render.glyphs import BLOCK
from livemon.ui.render.line import plain
from livemon.ui.render.scale import RELATIVE
from livemon.ui.render.spark import spark
from livemon.ui.render.stages import usual_ms
from tests.engine.test_totals import HYBRID


def rows_at(rate: int, factor_at_end: float = 1.0) -> tuple[StageRow, StageRow]:
    """Stage and total of so many units a second for a minute; the last 5 s take ``factor_at_end`` times as long."""
    r = random.Random(5)
    view = RollingView(Criteria(), HYBRID)
    samples: list[Sample] = []
    step = SECOND // rate
    for n in range(60 * rate):
        t = 1_000 * SECOND + n * step
        work = 2.0 * r.lognormvariate(0, 0.6) * (factor_at_end if n >= 55 * rate else 1.0)
        samples.append(TimingRecord(t, t, "line", "req", str(n), None, (("post", work), ("total", work + 1)), line=n))
    view.update(samples)
    view.finish()
    end = samples[-1].arrival_ns
    found = {row.stage: row for row in view.stage_rows(Grid.ending(end, 50 * SECOND, 50), end, 50 * SECOND, ())}
    return found["post"], found["total"]


def full_cells(row: StageRow) -> int:
    return plain(spark(row.series, 50, RELATIVE, BLOCK, divide_by=usual_ms(row))).count("\u2588")


def test_a_fast_stream_does_not_fill_its_sparkline() -> None:
    """Of hundreds of units in a cell the slowest always takes several times the usual: that is usual too."""
    post, _ = rows_at(400)
    assert post.reference_ms == pytest.approx(2.0 * 1.2, rel=0.1)
    assert post.reference_high_ms is not None
    assert post.reference_high_ms > 3 * post.reference_ms
    assert usual_ms(post) == post.reference_high_ms
    assert full_cells(post) == 0


def test_a_fast_stream_that_becomes_slow_still_shows_it() -> None:
    post, _ = rows_at(400, factor_at_end=6.0)
    bars = plain(spark(post.series, 50, RELATIVE, BLOCK, divide_by=usual_ms(post)))
    assert "\u2588" not in bars[:44]
    assert bars[-4:] == "\u2588" * 4


def test_a_slow_stream_is_drawn_against_its_usual_duration() -> None:
    post, total = rows_at(1)
    for row in (post, total):
        assert usual_ms(row) == row.reference_ms
