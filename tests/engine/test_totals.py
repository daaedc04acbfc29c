"""The session in figures."""

import random
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.engine.core_classes import CoreClasses
from livemon.engine.quantiles import EXACT, Quantiles, midmean
from livemon.engine.totals import Totals
from livemon.model.criteria import Criteria
from livemon.model.facts import Cpu, SessionFacts, Topology
from livemon.model.samples import ClockAnchor, LogCount, Lost, Mark, Note, Sample, ThreadGone, ThreadInfo, TimingRecord
from tests.engine.kernels import KERNELS, MS, SECOND, kernel_runs
from tests.engine.ticks import Work

HYBRID = SessionFacts(
    topology=Topology((Cpu(0, "P"), Cpu(1, "E")), ("P", "E"), "test", ("E",), 2),
)


def totals_of(samples: list[Sample], facts: SessionFacts | None = None, step: int = 7) -> Totals:
    totals = Totals(Criteria(), facts)
    for k in range(0, len(samples), step):
        totals.update(samples[k : k + step])
    totals.finish()
    return totals


def test_small_sessions_have_exact_figures_and_warm_up_is_counted() -> None:
    records = kernel_runs(KERNELS, 48)
    stats = {(s.class_key, s.stage): s for s in totals_of(list(records)).stages()}
    validate = [dict(r.stages)["validate"] for r in records]
    assert sum(s.n for s in stats.values() if s.stage == "validate") == 48
    assert sum(s.total_ms for s in stats.values() if s.stage == "validate") == pytest.approx(sum(validate))
    head = stats["0/3", "validate"]
    mine = validate[0::3]
    assert (head.n, head.min_ms, head.max_ms) == (16, min(mine), max(mine))
    assert head.mean_ms == pytest.approx(statistics.mean(mine))
    assert head.p50_ms == pytest.approx(statistics.median(mine))
    assert head.p99_ms == pytest.approx(float(np.quantile(mine, 0.99)))
    assert head.warmup_n == 1
    assert stats["1/3", "validate"].warmup_n == 0
    assert {s.role for s in stats.values()} == {"host", "device", "finalize", "total", "unaccounted"}


def test_what_no_stage_accounts_for_is_a_stage() -> None:
    records = kernel_runs(KERNELS, 30)
    stats = {(s.class_key, s.stage): s for s in totals_of(list(records)).stages()}
    rest = [d["total"] - d["prepare_ctx"] - d["runner_run"] - d["validate"] for d in (dict(r.stages) for r in records)]
    assert stats["1/3", "unaccounted"].total_ms == pytest.approx(sum(rest[1::3]))
    shares = [s.share for key, s in stats.items() if key[0] == "1/3" and key[1] != "total"]
    assert sum(share or 0 for share in shares) == pytest.approx(1.0)


def test_cpu_time_is_no_part_of_the_wall_time_and_overlapping_parts_leave_nothing_unaccounted() -> None:
    line = TimingRecord(0, 0, "line", "s", "1", "a", (("prepare", 1.0), ("cpu", 5.0), ("total", 4.0)))
    overlapping = replace(line, label="b", stages=(("backward", 9.0), ("inner", 6.0), ("total", 10.0)))
    stats = {(s.class_key, s.stage): s for s in totals_of([line, overlapping]).stages()}
    assert stats["a", "unaccounted"].total_ms == pytest.approx(3.0)
    assert stats["a", "cpu"].share is None
    assert ("b", "unaccounted") not in stats


def test_spans_on_lines_of_their_own_are_joined_by_unit() -> None:
    samples: list[Sample] = []
    for k in range(20):
        for name, ms in (
            ("chip.run.bind", 1.0),
            ("chip.run.validate.copy", 2.0),
            ("chip.run.validate", 3.0),
            ("chip.run", 6.5),
        ):
            samples.append(TimingRecord(k, k, "line", "strace", f"42/{k}", "abc", ((name, ms),), pid=42))
    stats = {s.stage: s for s in totals_of(samples).stages()}
    assert stats["unaccounted"].n == 20
    assert stats["unaccounted"].mean_ms == pytest.approx(2.5)


def test_steps_are_cycles_of_wall_time() -> None:
    records = kernel_runs(KERNELS, 48)
    steps = totals_of(list(records)).steps()
    assert (steps.period, steps.n) == (3, 16)
    wall_ms = (records[-1].t_ns - records[1].t_ns) / MS
    assert steps.mean_ms == pytest.approx(wall_ms / 46 * 3)


def test_lost_lines_do_not_lengthen_the_steps() -> None:
    whole = totals_of(list(kernel_runs(KERNELS, 600))).steps()
    lossy = totals_of(list(kernel_runs(KERNELS, 600, lost=0.2))).steps()
    assert lossy.mean_ms == pytest.approx(whole.mean_ms, rel=0.01)


def test_without_a_cycle_units_stand_for_steps() -> None:
    r = random.Random(1)
    records = [TimingRecord(k, k, "line", "req", None, r.choice("ab"), (("total", 10.0 + k % 5),)) for k in range(100)]
    steps = totals_of(list(records)).steps()
    assert (steps.period, steps.n, steps.mean_ms) == (None, 100, 12.0)


def test_counters_give_exact_placement_ipc_and_cycle_rate() -> None:
    work = Work(2)
    samples: list[Sample] = [*work.infos(), work.tick()]
    for _ in range(10):
        work.run(0, 8 * MS, on="E", rate=1.4, ipc=1.7, delay_ns=2 * MS)
        work.run(0, 2 * MS, on="P", rate=4.0, ipc=3.3)
        samples.append(work.tick())
    first, second = totals_of(samples, HYBRID).threads()
    assert first.name == "worker-0"
    assert first.cpu_ms == pytest.approx(100)
    assert first.efficiency_share == pytest.approx(0.8)
    assert first.efficiency_share_from == "counters"
    assert dict(first.cycles_per_ns) == pytest.approx({"P": 4.0, "E": 1.4})
    assert first.ipc == pytest.approx((80 * 1.4 * 1.7 + 20 * 4 * 3.3) / (80 * 1.4 + 20 * 4))
    assert first.run_delay_ms == pytest.approx(20)
    assert second.cpu_ms == 0
    assert second.ipc is None
    assert second.efficiency_share is None


def test_without_counters_placement_is_an_estimate_and_unknown_stays_unknown() -> None:
    work = Work(1, classes=())
    samples: list[Sample] = [*work.infos(), work.tick(knows_delay=False)]
    for k in range(10):
        work.run(0, 5 * MS, cpu=1 if k < 4 else 0)
        samples.append(work.tick(knows_delay=False))
    (row,) = totals_of(samples, HYBRID).threads()
    assert row.efficiency_share == pytest.approx(0.4)
    assert row.efficiency_share_from == "last_cpu"
    assert row.migrations == 2
    assert row.run_delay_ms is None
    assert row.ipc is None
    (unknown,) = totals_of(samples).threads()
    assert unknown.efficiency_share is None
    assert unknown.efficiency_share_from == "core classes unknown"


def test_a_counter_reset_is_left_out_and_told() -> None:
    work = Work(1)
    samples: list[Sample] = [*work.infos(), work.tick()]
    work.run(0, 10 * MS)
    samples.append(work.tick())
    work.cpu[0] = 0
    work.by_class = {name: [[0, 0, 0]] for name in work.by_class}
    samples.append(work.tick())
    work.run(0, 20 * MS)
    samples.append(work.tick())
    totals = totals_of(samples)
    assert totals.threads()[0].cpu_ms == pytest.approx(30)
    assert any("went backwards" in note for note in totals.notes())


def test_a_thread_that_is_not_listed_did_nothing_and_livemons_own_are_left_out() -> None:
    work = Work(3)
    mine = ThreadInfo(work.t_ns, 2, 9, 9, "livemon", is_self=True)
    samples: list[Sample] = [*work.infos()[:2], mine, work.tick()]
    for _ in range(5):
        work.run(1, 3 * MS)
        samples.append(work.tick([1]))
    samples.append(work.tick())
    rows = totals_of(samples).threads()
    assert [(row.tid, row.cpu_ms) for row in rows] == [(1001, 15.0), (1000, 0.0)]


def test_a_thread_that_ended_has_a_lifetime_and_one_that_is_still_there_has_none() -> None:
    samples: list[Sample] = [
        ThreadInfo(1 * SECOND, 0, 9, 9, "main"),
        ThreadInfo(2 * SECOND, 1, 9, 10, "conn-1"),
        ThreadInfo(3 * SECOND, 1, 9, 10, "conn-1 (renamed)"),
        ThreadGone(5 * SECOND, 1),
        ThreadGone(6 * SECOND, 77),
    ]
    rows = {row.name: row.lifetime_ns for row in totals_of(samples).threads()}
    assert rows == {"main": None, "conn-1 (renamed)": 3 * SECOND}


def test_losses_gaps_marks_and_anchors_are_kept_in_order() -> None:
    samples: list[Sample] = [
        ClockAnchor(0, 0, 1_000_000),
        Lost(1, "log:a", 3, "lines", "rotated", 5 * SECOND, 6 * SECOND),
        Lost(2, "threads", 1, "ticks", "late"),
        Lost(3, "log:a", 4, "lines", "rotated", 1 * SECOND, 2 * SECOND),
        Mark(4, 9, "b"),
        Mark(5, 2, "a"),
        LogCount(6, 0, 100, 40, 7),
        ClockAnchor(7, 10 * SECOND, 10 * SECOND + 1_000_000),
        ClockAnchor(8, 20 * SECOND, 25 * SECOND),
        Note(9, "warning", "disk full", "free some"),
        Note(10, "info", "started"),
    ]
    totals = totals_of(samples)
    assert [(g.start_ns, g.what) for g in totals.gaps()] == [(1 * SECOND, "log"), (5 * SECOND, "log")]
    assert [(loss.source, loss.count) for loss in totals.losses()] == [("log:a", 7), ("threads", 1)]
    assert totals.marks() == ((2, "a"), (9, "b"))
    assert totals.anchors() == ((0, 1_000_000), (20 * SECOND, 25 * SECOND))
    assert (totals.lines, totals.malformed) == (100, 7)
    assert totals.notes() == ("disk full: free some",)
    assert (totals.start_ns, totals.end_ns) == (0, 10)


def test_an_empty_session_has_no_figures() -> None:
    totals = totals_of([])
    assert totals.stages() == ()
    assert totals.threads() == ()
    assert totals.steps().mean_ms is None
    assert totals.start_ns is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=400), st.integers(1, 30))
def test_quantiles_are_numpys_while_small_and_within_one_percent_after(values: list[float], times: int) -> None:
    many = values * times
    q = Quantiles()
    for k in range(0, len(many), 37):
        q.add(many[k : k + 37])
    assert q.n == len(many)
    assert q.total == pytest.approx(sum(many))
    for p in (0.0, 0.5, 0.9, 0.99, 1.0):
        got = q.get(p)
        assert got is not None
        if len(many) <= EXACT:
            assert got == pytest.approx(float(np.quantile(many, p)))
        else:
            low = float(np.quantile(many, p, method="lower"))
            high = float(np.quantile(many, p, method="higher"))
            assert low * 0.99 <= got <= high * 1.01


def test_two_modes_do_not_flip_the_middle() -> None:
    r = random.Random(0)
    middles = [midmean([r.choice((19.0, 34.0)) for _ in range(100)]) for _ in range(50)]
    assert max(middles) - min(middles) < 9
    assert midmean([5.0]) == 5.0


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60))
def test_totals_do_not_depend_on_how_the_stream_was_cut(step: int) -> None:
    work = Work(3)
    samples: list[Sample] = [*work.infos(), work.tick()]
    for record in kernel_runs(KERNELS, 60, lost=0.05):
        work.run(1, 2 * MS, on="E")
        samples += [record, work.tick([1])]
    whole, cut = totals_of(samples, step=10_000), totals_of(samples, step=step)
    assert cut.stages() == whole.stages()
    assert cut.threads() == whole.threads()
    assert cut.steps() == whole.steps()


def test_a_cpu_outside_the_first_cpuset_has_its_class_too() -> None:
    """A cpuset may change while the session is recorded: threads then run on CPUs that were others' before."""
    topology = Topology((Cpu(2, "P"), Cpu(3, "E")), ("P", "E"), "test", ("E",), 4, others=(Cpu(0, "P"), Cpu(1, "E")))
    cores = CoreClasses(Criteria(), SessionFacts(topology=topology))
    assert cores.classes_of(np.array([0, 1, 2, 3, 4, -1])).tolist() == [0, 1, 0, 1, -1, -1]
