"""Rings and grids: nothing is lost or doubled between levels, and a view costs what it shows."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.engine.core_classes import CoreClasses
from livemon.engine.detectors.oversized_finalize import OversizedFinalizeDetector
from livemon.engine.rolling import stage_rings, thread_rings
from livemon.engine.rolling.duration_bins import BINS, DurationBins, bin_of, binned_quantile
from livemon.engine.rolling.grid import Grid
from livemon.engine.rolling.stage_rows import unit_rings, units_between
from livemon.engine.rolling.stage_window import class_windows
from livemon.engine.rolling.thread_rings import CPU, SECOND, ThreadRings
from livemon.engine.rolling.verdict import verdict
from livemon.engine.rolling.view import RollingView
from livemon.engine.tick_deltas import TickDeltas
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Cause, HostSlowTransient
from livemon.model.samples import UNKNOWN, Sample, ThreadGone, ThreadInfo, TimingRecord
from tests.engine.kernels import KERNELS, MS, kernel_runs
from tests.engine.test_totals import HYBRID
from tests.engine.ticks import TICK_NS, Work

CORES = CoreClasses(Criteria(), HYBRID)


def rings_of(work: Work, plan: list[list[tuple[int, int]]]) -> ThreadRings:
    """Rings over ticks; ``plan`` has (thread, CPU ns) for each tick."""
    rings, deltas = ThreadRings(CORES), TickDeltas()
    rings.update(deltas.update(work.tick()))
    for ran in plan:
        for thread, cpu_ns in ran:
            work.run(thread, cpu_ns)
        rings.update(deltas.update(work.tick(sorted({thread for thread, _ in ran}))))
    return rings


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(10, 300), st.sampled_from([TICK_NS, SECOND, 10 * SECOND]))
def test_every_level_holds_all_the_cpu_time(seed: int, ticks: int, bucket_ns: int) -> None:
    r = random.Random(seed)
    plan = [[(k, r.randrange(90 * MS)) for k in range(5) if r.random() < 0.4] for _ in range(ticks)]
    work = Work(5)
    start = work.t_ns
    rings = rings_of(work, plan)
    blocks = rings.blocks(start, work.t_ns, bucket_ns)
    for thread in range(5):
        wanted = sum(cpu for ran in plan for k, cpu in ran if k == thread)
        got = sum(float(b.rows[CPU, b.index == thread].sum()) for b in blocks)
        assert got == pytest.approx(wanted, rel=1e-5, abs=1)
    assert sum(b.ticks for b in blocks) == ticks
    ends = [b.end_ns for b in blocks]
    assert ends == sorted(ends)
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(blocks))


def test_rings_stay_within_their_bytes_and_coarser_levels_reach_back_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_rings, "BYTES", (20_000, 8_000, 12_000, 12_000, 12_000))
    work = Work(4)
    start = work.t_ns
    rings = rings_of(work, [[(k, MS) for k in range(4)]] * 2_000)
    for level, most in zip(rings._levels, thread_rings.BYTES, strict=True):
        assert sum(block.nbytes for block in level.blocks) <= most
    assert not rings.reaches(start, TICK_NS)
    assert rings.reaches(start, 10 * SECOND)
    whole = rings.blocks(start, work.t_ns, 10 * SECOND)
    assert whole[0].start_ns <= start + TICK_NS
    assert sum(float(b.rows[CPU].sum()) for b in whole) == pytest.approx(2_000 * 4 * MS, rel=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 120), st.integers(1, 90), st.integers(1, 400))
def test_stage_windows_are_numpys(seed: int, columns: int, span_s: int, runs: int) -> None:
    rings = stage_rings.StageRings()
    view = RollingView(Criteria(), SessionFacts())
    view._stage_rings = rings
    records = kernel_runs(((20.0, 30.0),), runs, seed=seed, labels=["a"])
    for k in range(0, runs, 17):
        view.update(records[k : k + 17])
    end = records[-1].t_ns
    grid = Grid.ending(end, span_s * SECOND, columns)
    windows = class_windows(rings.rings(), grid, end - span_s * SECOND, end)
    mine = [r for r in records if end - span_s * SECOND <= r.t_ns <= end]
    values = [dict(r.stages)["validate"] for r in mine]
    w = windows["validate"]
    assert w.n == len(values)
    assert w.total_ms == pytest.approx(sum(values))
    assert w.quantiles() == pytest.approx((np.quantile(values, 0.5), np.quantile(values, 0.99)))
    assert w.last_ms == values[-1]
    for column in range(columns):
        low = (grid.first_bucket + column) * grid.bucket_ns
        inside = [v for r, v in zip(mine, values, strict=True) if low <= r.t_ns < low + grid.bucket_ns]
        assert (w.high[column] == max(inside)) if inside else np.isnan(w.high[column])


def test_old_units_are_summed_up_and_quantiles_stay_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_rings, "RAW_BYTES", 50_000)
    view = RollingView(Criteria(), SessionFacts())
    records = kernel_runs(((20.0, 30.0),), 12_000, labels=["a"], gap_ms=1.0)
    for k in range(0, len(records), 1000):
        view.update(records[k : k + 1000])
    start, end = records[0].t_ns, records[-1].t_ns
    (ring,) = view._stage_rings.rings()
    assert ring.raw(start, end) is None
    w = class_windows([ring], Grid.ending(end, end - start + 10 * SECOND, 60), start, end)["validate"]
    values = [dict(r.stages)["validate"] for r in records]
    assert w.n == 12_000
    assert w.total_ms == pytest.approx(sum(values), rel=1e-6)
    p50, p99 = w.quantiles()
    assert p50 == pytest.approx(float(np.quantile(values, 0.5)), rel=0.05)
    assert p99 == pytest.approx(float(np.quantile(values, 0.99)), rel=0.05)
    assert np.nanmax(w.high) == pytest.approx(max(values))


def test_histograms_reach_from_microseconds_to_minutes_and_survive_packing() -> None:
    values = np.array([[1e-9, 0.004, 3.0, 80.0, 90_000.0, np.nan], [5.0] * 6])
    bins = DurationBins(2)
    bins.add(bin_of(values))
    before = bins.counts()
    bins.pack()
    assert (bins.counts() == before).all()
    bins.add(bin_of(values))
    assert (bins.counts() == 2 * before).all()
    assert before.sum(axis=1).tolist() == [5, 6]
    assert binned_quantile(before[0], 1.0) == pytest.approx(90_000, rel=0.035)
    assert binned_quantile(before[0], 0.5) == pytest.approx(3, rel=0.035)
    assert binned_quantile(np.zeros(BINS), 0.5) is None


def test_units_are_counted_once_where_several_formats_tell_of_them() -> None:
    view = RollingView(Criteria(), SessionFacts())
    records: list[TimingRecord] = []
    for r in kernel_runs(((20.0, 30.0),), 100, labels=["a"]):
        records.append(r)
        if int(r.unit or 0) % 3:
            records.append(replace(r, source="runner_timing", stages=(("sync", 1.0), ("total", 2.0))))
    view.update(records)
    rings = unit_rings(view._stage_rings.rings())
    assert units_between(rings, 0, records[-1].t_ns) == 100


def test_lines_that_are_all_alike_have_no_class_on_the_screen() -> None:
    view = RollingView(Criteria(), SessionFacts())
    records = kernel_runs(((20.0, 22.0),), 60)
    view.update(records)
    detector = OversizedFinalizeDetector(Criteria())
    detector.update(records)
    end = records[-1].t_ns
    grid = Grid.ending(end, 10 * SECOND, 20)
    rows = view.stage_rows(grid, end, 10 * SECOND, detector.get())
    assert {row.class_key for row in rows} == {None}
    assert next(row for row in rows if row.stage == "validate").state == "over"
    assert view.verdict(end, 10 * SECOND, detector.get()).text.startswith("OVERSIZED FINALIZE: validate · median 2")
    detail = view.stage_detail(None, "validate", grid, end, 10 * SECOND)
    assert detail is not None
    assert detail.saving_to_budget_ms_per_step == pytest.approx(16, abs=1)


def test_spans_count_units_by_their_total() -> None:
    view = RollingView(Criteria(), SessionFacts())
    spans: list[Sample] = []
    for k in range(50):
        for name in ("chip.run.bind", "chip.run.validate", "chip.run"):
            t = 1_000 * SECOND + k * 10 * MS
            spans.append(TimingRecord(t, t, "line", "strace", f"1/{k}", "abc", ((name, 2.0),), pid=1))
    view.update(spans)
    assert view.units(1_001 * SECOND, 2 * SECOND) == 50


def test_a_thread_that_came_and_went_is_shown_only_while_it_was_there() -> None:
    view = RollingView(Criteria(), HYBRID)
    work = Work(2)
    samples: list[Sample] = [work.infos()[0], work.tick([0])]
    for k in range(100):
        work.run(0, 5 * MS)
        work.run(1, 9 * MS)
        if k == 30:
            samples.append(ThreadInfo(work.t_ns, 1, 100, 1001, "brief-1", process="serve"))
        if k == 60:
            samples.append(ThreadGone(work.t_ns, 1))
        samples.append(work.tick([0, 1] if 30 <= k < 60 else [0]))
    view.update(samples)
    start = samples[0].arrival_ns
    grid = Grid.ending(start + 10 * SECOND, 10 * SECOND, 100)
    _, brief = view.thread_rows(grid, start + 10 * SECOND, 10 * SECOND)
    known = [k for k, v in enumerate(brief.series.high) if v is not None]
    assert known[0] == pytest.approx(30, abs=1)
    assert known[-1] == pytest.approx(60, abs=1)
    assert not brief.is_alive
    assert len(view.thread_rows(grid, start + 2 * SECOND, SECOND)) == 1


def test_a_thread_whose_cpu_time_is_not_measured_is_unknown_never_0() -> None:
    view = RollingView(Criteria(), HYBRID)
    work = Work(2, classes=())
    samples: list[Sample] = [*work.infos()]
    for _ in range(40):
        work.run(0, 10 * MS)
        work.cpu[1] = UNKNOWN
        samples.append(work.tick())
    view.update(samples)
    end = samples[-1].arrival_ns
    measured, unknown = view.thread_rows(Grid.ending(end, 4 * SECOND, 40), end, 4 * SECOND)
    assert measured.cpu_percent.value == pytest.approx(10, abs=1)
    assert unknown.cpu_percent.value is None
    assert unknown.cpu_percent.reason
    assert unknown.cpu_ms_per_unit.value is None
    assert set(unknown.series.high) == {None}
    assert any(v is not None for v in measured.series.high)


@pytest.mark.parametrize(
    ("uncounted", "rate", "ipc", "why"),
    [
        ((), 3.0, 2.0, ""),
        ((("P", 2), ("E", 2)), 3.0, None, "no instructions"),
        ((("P", 1), ("E", 1)), None, None, "no cycles"),
        ((("E", 2),), 3.0, None, "not both counted on all core classes"),
    ],
)
def test_a_pmu_that_counts_one_of_the_two_gives_that_one_and_says_why_there_is_no_ipc(
    uncounted: tuple[tuple[str, int], ...], rate: float | None, ipc: float | None, why: str
) -> None:
    work = Work(1, uncounted=uncounted)
    samples: list[Sample] = [*work.infos(), work.tick()]
    for _ in range(10):
        for core_class in ("P", "E"):
            work.run(0, 5 * MS, on=core_class, rate=3.0, ipc=2.0)
        samples.append(work.tick())
    view = RollingView(Criteria(), HYBRID)
    view.update(samples)
    grid = Grid.ending(work.t_ns, SECOND, 10)
    (row,) = view.thread_rows(grid, work.t_ns, SECOND)
    for figure, value in ((row.cycles_per_ns, rate), (row.ipc, ipc)):
        assert figure.value == (value if value is None else pytest.approx(value, rel=0.01))
        assert (figure.quality == "unknown") == (value is None)
    assert why in row.ipc.reason
    detail = view.thread_detail(0, grid, work.t_ns, SECOND, None, samples)
    assert detail is not None
    assert (set(detail.ipc.high) == {None}) == (ipc is None)
    for name, _, of_ipc, of_rate in detail.per_class:
        assert (of_ipc.value is None) == bool({(name, 1), (name, 2)} & set(uncounted))
        assert (of_rate.value is None) == ((name, 1) in uncounted)


def test_a_tick_that_is_missing_is_a_gap() -> None:
    view = RollingView(Criteria(), HYBRID)
    work = Work(1)
    samples: list[Sample] = [*work.infos(), work.tick()]
    start = work.t_ns
    for k in range(40):
        work.run(0, 10 * MS)
        if k == 20:
            work.t_ns += 2 * SECOND
            continue
        samples.append(work.tick())
    view.update(samples)
    end = samples[-1].arrival_ns
    grid = Grid.ending(end, end - start, (end - start) // TICK_NS)
    (row,) = view.thread_rows(grid, end, end - start)
    gap = [k for k, v in enumerate(row.series.high) if v is None]
    assert 18 <= len(gap) <= 21
    assert gap == list(range(gap[0], gap[-1] + 1))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=8))
def test_frames_do_not_depend_on_how_the_stream_was_cut(cuts: list[int]) -> None:
    work = Work(3)
    samples: list[Sample] = [*work.infos(), work.tick()]
    for record in kernel_runs(KERNELS, 120, lost=0.02):
        work.run(1, 4 * MS, on="E")
        samples += [record, work.tick([1])]
    whole, pieces = RollingView(Criteria(), HYBRID), RollingView(Criteria(), HYBRID)
    whole.update(samples)
    edges = [0, *sorted(min(cut, len(samples)) for cut in cuts), len(samples)]
    for a, b in pairwise(edges):
        pieces.update(samples[a:b])
        if a < b:
            now = samples[b - 1].arrival_ns
            pieces.stage_rows(Grid.ending(now, 10 * SECOND, 20), now, 10 * SECOND, ())
    end = samples[-1].arrival_ns
    grid = Grid.ending(end, 20 * SECOND, 40)
    assert pieces.stage_rows(grid, end, 20 * SECOND, ()) == whole.stage_rows(grid, end, 20 * SECOND, ())
    assert pieces.thread_rows(grid, end, 20 * SECOND) == whole.thread_rows(grid, end, 20 * SECOND)
    assert pieces.timeline(grid, end, ()) == whole.timeline(grid, end, ())


EPISODE = HostSlowTransient(
    "T1", "critical", 10 * SECOND, None, 11 * SECOND, 4.7, 17.0, "placement",
    (Cause("placement", "applies", "", 0.97, 0.0, ("dispatch", "client-short")),),
)  # fmt: skip


def say(findings: list[HostSlowTransient], at_ns: int, **changes: object) -> str:
    facts = {
        "units": 1000, "warmup_units": 40, "units_per_s": 101.0, "p50_ms": 9.86, "p99_ms": 10.3, "requests": 1.26,
        "classes": 1, "lines": 1000, "has_threads": True,
    }  # fmt: skip
    return verdict(findings, at_ns, **(facts | changes)).text  # type: ignore[arg-type]


def test_the_verdict_says_since_when_how_much_and_why() -> None:
    now = 13_200 * MS
    wanted = (
        "HOST-SLOW for 3.2 s · requests 1.26× · host stages 4.7× · placement: dispatch, client-short on E cores (0.97)"
    )
    assert say([EPISODE], now) == wanted
    rate = replace(
        EPISODE,
        primary_cause="cycle_rate",
        causes=(Cause("cycle_rate", "applies", "", 1.4, 4.0, ("a", "b", "c", "d")),),
    )
    assert say([rate], now).endswith("cycle rate: a, b, c and 1 more 0.35×")
    unknown = replace(EPISODE, primary_cause=None, causes=(), slowdown=None)
    assert say([unknown], now, requests=None) == "HOST-SLOW for 3.2 s · cause not known yet"
    over = replace(EPISODE, end_ns=13 * SECOND)
    assert "recovered 4.0 s ago from T1 (3.0 s, placement" in say([over], 17 * SECOND)
    assert say([over], 90 * SECOND) == "ok · 101 units/s · P50 9.86 ms · P99 10.3 ms · 1 episode so far"
    assert say([], now).endswith("no episode so far")
    assert say([], now, units=12).startswith("warming up: 12 of 40 units")
    assert "try livemon parse --explain" in say([], now, units_per_s=None, lines=1204)
    assert say([], now, units_per_s=None, lines=0, has_threads=False) == "nothing observed yet"
