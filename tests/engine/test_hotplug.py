"""A CPU that comes online after the start has its core class from then on, in every reading of the session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.view import RollingView
from livemon.engine.thread_work import E_CPU, F_CPU, ThreadWork
from livemon.engine.totals import Totals
from livemon.export.thread_deltas import ThreadDeltas
from livemon.model.criteria import Criteria
from livemon.model.samples import MachineSample, Sample, ThreadTick
from tests.engine.kernels import MS, SECOND
from tests.engine.test_totals import HYBRID
from tests.engine.ticks import Work

LATE_CPU = 6
CUTS = [(0,), (0, 5), (0, 7, 8), (0, *range(1, 30))]


def stream() -> list[Sample]:
    """Five ticks on P, five on a CPU that nobody knows, then it is told to be of E, and five more."""
    work = Work(1, classes=())
    samples: list[Sample] = [*work.infos(), work.tick()]
    for cpu in [0] * 5 + [LATE_CPU] * 5:
        work.run(0, 10 * MS, cpu=cpu)
        samples.append(work.tick())
    samples.append(MachineSample(work.t_ns + 1, (("steal_ticks", 1), (f"cpu{LATE_CPU}_core_class", 1))))
    for _ in range(5):
        work.run(0, 10 * MS, cpu=LATE_CPU)
        samples.append(work.tick())
        samples.append(MachineSample(work.t_ns + 1, ((f"cpu{LATE_CPU}_core_class", 1),)))
    return samples


def parts(samples: list[Sample], cut: tuple[int, ...]) -> Iterator[list[Sample]]:
    for first, stop in pairwise([*(k for k in cut if k < len(samples)), len(samples)]):
        yield samples[first:stop]


@pytest.mark.parametrize("cut", CUTS)
def test_totals(cut: tuple[int, ...]) -> None:
    totals = Totals(Criteria(), HYBRID)
    for part in parts(stream(), cut):
        totals.update(part)
    totals.finish()
    (row,) = totals.threads()
    assert row.efficiency_share == pytest.approx(0.5)  # 50 ms each; what ran while it was unknown counts as neither
    assert row.efficiency_share_from == "last_cpu"


@pytest.mark.parametrize("cut", CUTS)
def test_the_view(cut: tuple[int, ...]) -> None:
    view = RollingView(Criteria(), HYBRID)
    samples = stream()
    for part in parts(samples, cut):
        view.update(part)
    end = samples[-1].arrival_ns
    (row,) = view.thread_rows(Grid.ending(end, 2 * SECOND, 20), end, 2 * SECOND)
    assert row.efficiency_share.value == pytest.approx(0.5)
    assert row.core_class == "E"


def test_the_work_that_causes_are_told_from() -> None:
    work = ThreadWork(Criteria(), HYBRID)
    sums = {E_CPU: 0, F_CPU: 0}
    for sample in stream():
        if isinstance(sample, ThreadTick):
            for done in work.update([sample]):
                if done is not None:
                    sums = {row: before + int(done[1][row].sum()) for row, before in sums.items()}
        else:
            work.take(sample)
    assert sums == {E_CPU: 50 * MS, F_CPU: 50 * MS}


def test_an_export() -> None:
    deltas = ThreadDeltas(HYBRID.topology)
    classes = [delta.core_class for sample in stream() for delta in deltas.update(sample)]
    assert classes == ["P"] * 5 + [None] * 5 + ["E"] * 5


@pytest.mark.parametrize("value", [("cpu9_core_class", 2), ("cpu9_core_class", -1), ("cpux_core_class", 1)])
def test_what_names_no_class_of_the_session_is_no_news(value: tuple[str, int]) -> None:
    assert CoreClasses(Criteria(), HYBRID).news(MachineSample(1, (value, ("cpu1234567_core_class", 0)))) == {}
