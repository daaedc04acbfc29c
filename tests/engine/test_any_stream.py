"""Whatever a session holds, totals and views neither raise nor show a number that is none."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.engine.detectors.oversized_finalize import OversizedFinalizeDetector
from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.view import RollingView
from livemon.engine.totals import Totals
from livemon.model.criteria import Criteria
from livemon.model.samples import Sample
from tests.engine.test_totals import HYBRID
from tests.session import samples_strategy as any_sample

SAMPLES = st.lists(st.one_of(any_sample.timings, any_sample.thread_ticks(), any_sample.rare), max_size=40).map(
    lambda samples: sorted(samples, key=lambda sample: sample.arrival_ns)
)


def no_nan(value: object) -> None:
    """Every float inside is a number."""
    if isinstance(value, float):
        assert math.isfinite(value)
    elif isinstance(value, tuple | list):
        for entry in value:
            no_nan(entry)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            no_nan(getattr(value, field.name))


@settings(max_examples=150, deadline=None)
@given(SAMPLES, st.integers(1, 60), st.integers(1, 10**11), st.integers(0, 10**10))
def test_a_view_of_any_stream_is_a_frame(samples: list[Sample], columns: int, span_ns: int, back_ns: int) -> None:
    view = RollingView(Criteria(), HYBRID)
    for k in range(0, len(samples), 5):
        view.update(samples[k : k + 5])
    view.finish()
    bounds = view.bounds_ns
    assert (bounds is None) == (not samples)
    start, end = bounds or (0, 0)
    at = max(end - back_ns, start)
    grid = Grid.ending(at, span_ns, columns)
    rows = view.stage_rows(grid, at, span_ns, ())
    threads = view.thread_rows(grid, at, span_ns)
    no_nan((rows, threads, view.timeline(grid, at, ()), view.verdict(at, span_ns, ())))
    no_nan(view.status(at, is_recording=False, recorder_state="", session_bytes=0))
    view.status(None, is_recording=False, recorder_state="", session_bytes=0)
    for row in rows:
        no_nan(view.stage_detail(row.class_key, row.stage, grid, at, span_ns))
    for thread in threads:
        no_nan(view.thread_detail(thread.index, grid, at, span_ns, None, samples))
    view.period(rows)


@settings(max_examples=150, deadline=None)
@given(SAMPLES)
def test_totals_of_any_stream_are_numbers(samples: list[Sample]) -> None:
    totals = Totals(Criteria(), HYBRID)
    for k in range(0, len(samples), 5):
        totals.update(samples[k : k + 5])
    totals.finish()
    no_nan((totals.stages(), totals.threads(), totals.steps(), totals.gaps(), totals.losses(), totals.marks()))
    totals.anchors()
    assert all(isinstance(note, str) for note in totals.notes())
    for row in totals.threads():
        assert row.efficiency_share is None or 0 <= row.efficiency_share <= 1
        assert row.cpu_ms is None or row.cpu_ms >= 0


@settings(max_examples=100, deadline=None)
@given(SAMPLES)
def test_the_finalize_detector_takes_any_stream(samples: list[Sample]) -> None:
    detector = OversizedFinalizeDetector(Criteria())
    for change in detector.update(samples) + detector.finish():
        no_nan(change)
    no_nan(detector.get())


@pytest.mark.parametrize("columns", [0, -3, 1, 1000])
def test_a_grid_has_at_least_one_bucket(columns: int) -> None:
    grid = Grid.ending(10**9, 10**9, columns)
    assert grid.columns == max(columns, 1)
    assert grid.bucket_ns >= 1
    assert grid.start_ns < 10**9 <= grid.end_ns
