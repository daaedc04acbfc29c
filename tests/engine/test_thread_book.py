"""What changes about a thread is shown as it was at the moment that is looked at."""

from __future__ import annotations

from dataclasses import replace

from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.view import RollingView
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.samples import Sample, ThreadInfo
from tests.engine.serving import Serving, ns

S = 1_000_000_000


def pinned_from_4_to_8_s() -> list[Sample]:
    samples = Serving(12, classes=()).samples()
    first = next(s for s in samples if isinstance(s, ThreadInfo) and s.name == "client")
    free = replace(first, affinity="0-1", nice=0)
    samples[samples.index(first)] = free
    changes = [replace(free, arrival_ns=ns(4.0), affinity="0", nice=10), replace(free, arrival_ns=ns(8.0))]
    return sorted([*samples, *changes], key=lambda sample: sample.arrival_ns)


def test_a_cursor_in_the_past_shows_the_affinity_of_then() -> None:
    samples = pinned_from_4_to_8_s()
    view = RollingView(Criteria(), SessionFacts())
    view.update(samples)
    shown = {}
    for second in (3, 5, 7, 9, 5, 3):
        grid = Grid.ending(ns(second), S, 10)
        row = next(row for row in view.thread_rows(grid, ns(second), S) if row.name == "client")
        detail = view.thread_detail(row.index, grid, ns(second), S, None, samples)
        assert detail is not None
        facts = dict(detail.facts)
        assert row.affinity == facts["affinity"].removeprefix("CPUs ").split()[0]
        assert shown.setdefault(second, (facts["affinity"], facts["nice"])) == (facts["affinity"], facts["nice"])
    assert shown[3] == ("CPUs 0-1", "0")
    assert shown[5] == ("CPUs 0 (was 0-1; seen 1.0 s before)", "10 (was 0; seen 1.0 s before)")
    assert shown[7] == ("CPUs 0 (was 0-1; seen 3.0 s before)", "10 (was 0; seen 3.0 s before)")
    assert shown[9] == ("CPUs 0-1 (was 0; seen 1.0 s before)", "0 (was 10; seen 1.0 s before)")
