"""The parts of the host detector by themselves: exact sums, order of late bursts, size groups, causes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.engine.causes import CauseBench
from livemon.engine.host_baseline import NAT, KindBaseline
from livemon.engine.host_cusum import Cusum
from livemon.engine.host_order import LateBursts, StateClock
from livemon.engine.host_units import UnitIntake, Units
from livemon.engine.logbins import fine_bins, value_of
from livemon.engine.machine_pressure import Rates, Seen, rates
from livemon.engine.open_questions import does_not_show
from livemon.engine.scene import Scene
from livemon.engine.thread_figures import Side, Witness, ledger_rows
from livemon.engine.thread_work import ROWS
from livemon.engine.unit_sizes import SizeGroups
from livemon.model.criteria import Causes as CauseCriteria
from livemon.model.criteria import Criteria
from livemon.model.findings import Cause
from livemon.model.samples import MachineSample, TimingRecord

steps = st.lists(st.tuples(st.integers(-300, 300), st.integers(-300, 300), st.booleans()), max_size=40)


@given(rows=steps, cuts=st.lists(st.integers(1, 39), max_size=4))
def test_sums_are_those_of_a_plain_loop_whatever_the_cuts(rows: list[tuple[int, int, bool]], cuts: list[int]) -> None:
    level, count, start = [0, 0], [0, 0], [-1, -1]
    expected = []
    for k, (*xs, thing) in enumerate(rows):
        for column, x in enumerate(xs):
            if level[column] == 0:
                count[column], start[column] = 0, k
            count[column] += thing
            level[column] = max(0, level[column] + x)
            if level[column] == 0:
                count[column] = 0
        expected.append((list(level), list(count), list(start)))
    cusum = Cusum(2, 1)
    edges = [0, *sorted({c for c in cuts if c < len(rows)}), len(rows)]
    for a, b in pairwise(edges):
        if a == b:
            continue
        x = np.array([row[:2] for row in rows[a:b]], np.int32)
        things = np.array([[row[2], row[2]] for row in rows[a:b]])
        clock = np.arange(a, b)
        sums = cusum.run(x, things)
        begins = cusum.begins(sums, clock, 0)
        for k in range(b - a):
            levels, counted, started = expected[a + k]
            assert sums.level[k].tolist() == levels
            for column in range(2):
                if levels[column]:
                    assert sums.counts[0][k, column] == counted[column]
                    assert begins[k, column] == started[column]
        cusum.commit(sums, b - a - 1, clock, clock)


def test_bins_hold_a_duration_to_one_percent() -> None:
    values = np.array([0.001, 0.12, 9.4, 500.0, 1e5])
    assert [value_of(b) for b in fine_bins(values).tolist()] == pytest.approx(values.tolist(), rel=0.006)
    assert fine_bins(np.array([0.0, 1e300])).tolist()[0] == 0


def test_evidence_speaks_for_slower_units_and_not_for_one_slow_stage() -> None:
    r = np.random.default_rng(1)
    healthy = np.exp(r.normal(0, 0.15, (2000, 5))) * [0.12, 0.16, 0.02, 0.06, 9.0]
    baseline = KindBaseline(hosts=4, columns=5)
    baseline.learn(fine_bins(healthy))
    _, unit, ratio = baseline.evidence(fine_bins(healthy[:500]))
    assert (unit[:, 1] > 0).mean() < 0.02
    assert abs(int(np.median(ratio))) <= 2
    _, unit, ratio = baseline.evidence(fine_bins(healthy[:500] * 4))
    assert (unit[:, 2] > 3 * NAT).mean() > 0.98
    assert np.median(ratio) == pytest.approx(139, abs=2)
    spike = healthy[:500].copy()
    spike[:, 1] += 100
    stages, unit, _ = baseline.evidence(fine_bins(spike))
    assert (unit[:, 1:] > 0).mean() < 0.03
    assert (stages[:, 1, 3] > 0).mean() > 0.98


def test_a_known_second_mode_is_not_a_slow_stage() -> None:
    r = np.random.default_rng(2)
    values = np.exp(r.normal(0, 0.1, (3000, 1))) * np.where(r.random((3000, 1)) < 0.1, 4.0, 1.0)
    baseline = KindBaseline(hosts=1, columns=1)
    baseline.learn(fine_bins(values))
    stages, _, _ = baseline.evidence(fine_bins(np.full((10, 1), 4.0)))
    assert (stages <= 0).all()
    stages, _, _ = baseline.evidence(fine_bins(np.full((10, 1), 12.0)))
    assert (stages[:, 0, 3] > 0).all()


def make_units(times_ms: list[tuple[float, float]]) -> Units:
    """(arrival, end) of each unit."""
    table = np.array(times_ms) * 1e6
    n = len(times_ms)
    end = table[:, 1].astype(np.int64)
    zeros = np.zeros(n, np.int64)
    return Units(
        table[:, 0].astype(np.int64), end, end - 1000, zeros + 1000, zeros, np.arange(n), zeros, {0: np.zeros((n, 1))}
    )


def test_a_late_burst_is_put_in_order_and_punctual_units_pass_at_once() -> None:
    bursts = LateBursts()
    punctual = make_units([(k * 10 + 1, k * 10) for k in range(50)])
    at_once = bursts.order(punctual, np.arange(50), punctual.arrival)
    assert at_once is not None
    assert len(at_once.units) == 50
    bursts.new_cell()
    late = make_units([(2000, 1500), (2001, 600), (2002, 900)])
    held = bursts.order(late, np.arange(3), late.arrival)
    assert held is None or not len(held.units)
    after = make_units([(2050, 2049)])
    done = bursts.order(after, np.arange(1), after.arrival)
    assert done is not None
    assert (done.units.end / 1e6).tolist() == [600, 900, 1500, 2049]
    assert (done.at / 1e6).tolist() == [2050] * 4


def test_state_time_is_moved_neither_by_clock_steps_nor_by_a_stall() -> None:
    clock = StateClock(1.0)
    ends = [k * 10.0 for k in range(100)]
    ends += [ends[-1] + 40_000 + k * 10 for k in range(1, 100)]
    ends += [ends[-1] - 2_000 + k * 10 for k in range(1, 100)]
    units = make_units([(k * 10.0, end) for k, end in enumerate(ends)])
    tau, gap, _ = clock.update(units, units.arrival)
    assert tau[-1] / 1e9 == pytest.approx(2.97 + 1.0, abs=0.1)
    assert not gap[1:].any()
    pause = make_units([(6000, 6000 + 38_000)])
    assert clock.update(pause, pause.arrival)[1].all()


def test_sizes_with_nothing_between_them_become_groups() -> None:
    groups = SizeGroups("device")
    r = np.random.default_rng(1)
    groups.add(fine_bins(9.4 * np.exp(r.normal(0, 0.02, 200))))
    assert not groups.new_cell()
    groups.add(fine_bins(34.0 * np.exp(r.normal(0, 0.02, 40))))
    assert groups.new_cell()
    assert groups.groups_of(fine_bins(np.array([9.0, 40.0, 12.0]))).tolist() == [0, 1, 0]


def test_kinds_are_bounded_and_counted_beyond() -> None:
    intake = UnitIntake(Criteria())
    records = [TimingRecord(k, k, "line", "x", str(k), f"label {k}", (("prepare", 1.0),)) for k in range(400)]
    units, kept = intake.read(records)
    assert len(units) == len(kept) == 256
    assert intake.skipped == 144


ROW_NAMES = ("cpu", "delay", "delay_cpu", "e_cpu", "f_cpu", "e_cyc", "f_cyc", "e_cc", "f_cc")
ROW_NAMES += ("ins", "ins_cpu", "ipc_ins", "ipc_cyc", "hops")


def side(units: float = 100, **rows: float) -> Side:
    """A side whose ``ins`` are known wherever cycles are, unless ``ins_cpu``, ``ipc_ins`` or ``ipc_cyc`` say other."""
    if "ins" in rows:
        cycles, counted = (rows.get(f"e_{part}", 0.0) + rows.get(f"f_{part}", 0.0) for part in ("cyc", "cc"))
        rows = {"ins_cpu": counted, "ipc_ins": rows["ins"], "ipc_cyc": cycles} | rows
    assert rows.keys() <= set(ROW_NAMES)
    return Side(tuple(rows.get(name, 0.0) for name in ROW_NAMES), units)


def scene(witnesses: list[Witness], **changes: object) -> Scene:
    values: dict[str, object] = {
        "witnesses": witnesses,
        "slowdown": 4.0,
        "seconds": (2.0, 60.0),
        "cpu_stage": None,
        "device_ms": None,
        "completion_ms": None,
        "pressure": (None, None),
        "tells_placement": True,
        "is_estimated": False,
        "has_threads": True,
    }
    return Scene(**{**values, **changes})  # type: ignore[arg-type]


def witness(name: str, during: Side, reference: Side) -> Witness:
    return Witness(name, during, reference, is_known=True)


def test_every_cause_always_has_a_verdict_with_a_reason() -> None:
    for found in (scene([]), scene([], has_threads=False), scene([], slowdown=None)):
        causes = CauseBench(found, CauseCriteria()).get()
        assert {cause.verdict for cause in causes} <= {"applies", "ruled_out", "unknown"}
        assert all(cause.evidence for cause in causes)


def test_more_instructions_are_more_work() -> None:
    before = side(cpu=1e8, f_cpu=1e8, f_cc=1e8, f_cyc=4e8, ins=12e8)
    during = side(cpu=2e8, f_cpu=2e8, f_cc=2e8, f_cyc=8e8, ins=24e8)
    bench = CauseBench(scene([witness("a", during, before)]), CauseCriteria())
    said = {cause.cause: cause.verdict for cause in bench.get()}
    assert said["more_work"] == "applies"
    assert said["ipc"] == said["cycle_rate"] == said["placement"] == "ruled_out"
    assert bench.primary() == "more_work"


def test_a_device_that_slowed_less_than_the_host_is_not_the_primary_cause() -> None:
    known = [witness("python3", side(cpu=15e8, delay=1e7, delay_cpu=15e8), side(cpu=2e7, delay=1e6, delay_cpu=2e7))]
    bench = CauseBench(scene(known, device_ms=("run", 15.8, 8.2), lost_ms=24.0), CauseCriteria())
    said = {cause.cause: cause for cause in bench.get()}
    assert said["device"].verdict == "applies"
    assert "CPU per unit rose to 15 ms from 0.2" in said["more_work"].evidence
    assert bench.primary() is None
    slower = CauseBench(scene(known, device_ms=("run", 41.0, 8.2), lost_ms=24.0), CauseCriteria())
    slower.get()
    assert slower.primary() == "device"


def test_threads_that_became_busy_while_others_waited_are_named() -> None:
    waits = Witness("dispatch", side(cpu=2e8, delay=8e8, delay_cpu=2e8), side(cpu=2e8, delay=1e8, delay_cpu=2e8), True)
    busy = Witness("compactor", side(cpu=9e8, delay=9e8, delay_cpu=9e8), side(), False)
    found = scene([waits, busy])
    bench = CauseBench(found, CauseCriteria())
    causes = bench.get()
    said = {cause.cause: cause for cause in causes}
    assert said["off_cpu"].verdict == "applies"
    assert said["off_cpu"].threads == ("dispatch",)
    assert "compactor took" in said["off_cpu"].evidence
    assert any("who else ran" in text for text in does_not_show(found, causes, bench.primary()))
    alone = scene([waits])
    causes = CauseBench(alone, CauseCriteria()).get()
    assert any("who ran instead" in text for text in does_not_show(alone, causes, "off_cpu"))


def test_cpu_time_too_small_to_explain_the_loss_is_time_off_the_cpu() -> None:
    # The CPU time per unit doubles because a background thread runs by the clock; the units slept.
    during, before = side(cpu=3e7, delay=1e7, delay_cpu=3e7), side(cpu=1.5e7, delay=5e6, delay_cpu=1.5e7)
    known = [witness("python3", during, before)]
    said = {cause.cause: cause for cause in CauseBench(scene(known, lost_ms=28.0), CauseCriteria()).get()}
    assert said["off_cpu"].verdict == said["blocked"].verdict == "applies"
    found = scene(known, lost_ms=28.0, is_early=True)
    assert {cause.cause: cause.verdict for cause in CauseBench(found, CauseCriteria()).get()}["blocked"] == "unknown"
    said = {cause.cause: cause for cause in CauseBench(scene(known, lost_ms=0.4), CauseCriteria()).get()}
    assert said["off_cpu"].verdict == said["blocked"].verdict == "ruled_out"


def test_a_few_threads_whose_cpu_time_explains_the_loss_were_on_the_cpu() -> None:
    # Two of five threads took five times as much; the typical thread took no more.
    slow = [witness(f"slow {k}", side(cpu=2.5e8), side(cpu=5e7)) for k in range(2)]
    calm = [witness(f"calm {k}", side(cpu=2e7), side(cpu=2e7)) for k in range(3)]
    said = {cause.cause: cause for cause in CauseBench(scene(slow + calm, lost_ms=5.0), CauseCriteria()).get()}
    assert said["off_cpu"].verdict == said["blocked"].verdict == "ruled_out"
    said = {cause.cause: cause for cause in CauseBench(scene(calm, lost_ms=5.0), CauseCriteria()).get()}
    assert said["off_cpu"].verdict == "applies"


def test_lower_ipc_on_other_cores_is_not_told_from_contention() -> None:
    before = side(cpu=1e8, f_cpu=1e8, f_cc=1e8, f_cyc=4e8, ins=12e8)
    during = side(cpu=5e8, e_cpu=5e8, e_cc=5e8, e_cyc=6.5e8, ins=12e8)
    bench = CauseBench(scene([witness("a", during, before)]), CauseCriteria())
    said = {cause.cause: cause for cause in bench.get()}
    assert said["placement"].verdict == "applies"
    assert said["ipc"].verdict == "unknown"
    assert "other cores" in said["ipc"].evidence
    assert said["cycle_rate"].verdict == "unknown"


def test_cycles_without_instructions_tell_the_rate_and_say_why_there_is_no_ipc() -> None:
    before, during = side(cpu=1e8, f_cpu=1e8, f_cc=1e8, f_cyc=4e8), side(cpu=2e8, f_cpu=2e8, f_cc=2e8, f_cyc=4e8)
    bench = CauseBench(scene([witness("a", during, before)]), CauseCriteria())
    said = {cause.cause: cause for cause in bench.get()}
    assert said["cycle_rate"].verdict == "applies"
    assert (said["cycle_rate"].during, said["cycle_rate"].reference) == (2.0, 4.0)
    assert bench.primary() == "cycle_rate"
    assert said["ipc"].verdict == said["more_work"].verdict == "unknown"
    assert said["ipc"].evidence == "instructions are not counted here, only cycles"


def test_instructions_without_cycles_tell_more_work_and_say_why_there_is_no_ipc() -> None:
    before, during = side(cpu=1e8, ins=4e8, ins_cpu=1e8, ipc_ins=0), side(cpu=2e8, ins=8e8, ins_cpu=2e8, ipc_ins=0)
    said = {c.cause: c for c in CauseBench(scene([witness("a", during, before)]), CauseCriteria()).get()}
    assert said["more_work"].verdict == "applies"
    assert said["ipc"].verdict == said["cycle_rate"].verdict == "unknown"
    assert said["ipc"].evidence == "cycles are not counted here, only instructions"
    assert said["cycle_rate"].evidence == "cycles are not counted here"


def test_instructions_of_one_core_class_only_are_neither_ipc_nor_work() -> None:
    """A thread that left the P cores for cores whose PMU counts cycles only did no less work there."""
    before = side(cpu=1e8, f_cpu=1e8, f_cc=1e8, f_cyc=4e8, ins=12e8)
    during = side(cpu=5e8, e_cpu=4e8, f_cpu=1e8, e_cc=4e8, f_cc=1e8, e_cyc=4e8, f_cyc=4e8, ins=12e8)
    during = side(**{**dict(zip(ROW_NAMES, during.work, strict=True)), "ins_cpu": 1e8, "ipc_cyc": 4e8})
    known = [witness("a", during, before)]
    said = {c.cause: c for c in CauseBench(scene(known), CauseCriteria()).get()}
    assert said["more_work"].verdict == "unknown"
    assert known[0].ratio("ipc") == 1.0


def test_a_device_that_slows_and_a_slow_completion_path_are_told() -> None:
    found = scene([], device_ms=("native", 9.93, 9.44), completion_ms=("callback", 0.034, 0.011))
    said = {cause.cause: cause.verdict for cause in CauseBench(found, CauseCriteria()).get()}
    assert said["device"] == said["completion_path"] == "ruled_out"  # 1.05 times; +0.02 ms
    found = scene([], device_ms=("native", 11.0, 9.4), completion_ms=("callback", 0.5, 0.1))
    said = {cause.cause: cause.verdict for cause in CauseBench(found, CauseCriteria()).get()}
    assert said["device"] == said["completion_path"] == "applies"


def test_the_ledger_multiplies_out_and_shows_what_is_missing() -> None:
    before = side(cpu=1e8, f_cpu=1e8, f_cc=1e8, f_cyc=4e8, ins=12e8)
    during = side(cpu=5.5e8, e_cpu=5.5e8, e_cc=5e8, e_cyc=6.5e8, ins=12e8)
    (row,) = ledger_rows([witness("a", during, before)])
    assert dict(row.factors)["instructions"] == pytest.approx(1.0)
    assert row.explained == pytest.approx(5.0)
    assert row.residual == pytest.approx(1.1)  # a tenth of the CPU time was not counted
    (blind,) = ledger_rows([witness("a", side(cpu=2e8), side(cpu=1e8))])
    assert blind.explained is None
    assert blind.residual is None


def test_rates_leave_out_what_was_reset_or_not_readable() -> None:
    first = MachineSample(0, (("steal_ticks", 100), ("cpu0_softirq_ticks", 50), ("a", 5), ("b", -1)))
    last = MachineSample(2_000_000_000, (("steal_ticks", 120), ("cpu0_softirq_ticks", 150), ("a", 3), ("b", 7)))
    found = rates(Seen(first), Seen(last))
    assert found is not None
    assert found.mhz is None
    assert found.per_s == {"steal_ticks": 10.0, "cpu0_softirq_ticks": 50.0}
    assert found.steal == 0.1
    assert found.busiest_softirq == 0.5
    assert rates(Seen(last), Seen(first)) is None
    assert rates(None, Seen(last)) is None


def test_the_rows_of_work_are_as_many_as_their_names() -> None:
    assert len(side().work) == ROWS


def judged(*, slower: bool = True, **changes: object) -> dict[str, Cause]:
    """Verdicts on threads that ran at half their cycle rate, or as before."""
    before = side(cpu=1e8, f_cpu=1e8, f_cc=1e8, f_cyc=4e8, ins=12e8)
    during = side(cpu=2e8, f_cpu=2e8, f_cc=2e8, f_cyc=4e8 if slower else 8e8, ins=12e8)
    found = scene([witness("a", during, before)], **changes)
    return {cause.cause: cause for cause in CauseBench(found, CauseCriteria()).get()}


def test_frequency_and_heat_stand_beside_a_low_cycle_rate_and_decide_nothing() -> None:
    pressure = Rates({"thermal_throttle_count": 12.5}, 1210.0), Rates({"thermal_throttle_count": 0.0}, 3400.4)
    bare, told = judged()["cycle_rate"], judged(pressure=pressure)["cycle_rate"]
    assert told.verdict == bare.verdict == "applies"
    assert (told.during, told.reference) == (bare.during, bare.reference) == (2.0, 4.0)
    assert told.evidence == (
        f"{bare.evidence}; the CPUs they ran on were at 1,210 MHz against 3,400 (read once a second); "
        "heat throttled this machine's CPUs 12.5 times per s against 0.0"
    )
    fine = judged(slower=False, pressure=pressure)["cycle_rate"]
    assert fine.verdict == "ruled_out"
    assert "MHz" not in fine.evidence
    calm = (Rates({"thermal_throttle_count": 0.0}, None), Rates({"thermal_throttle_count": 0.0}, 3400.4))
    assert judged(pressure=calm)["cycle_rate"].evidence == bare.evidence
    assert judged(pressure=(pressure[0], None))["cycle_rate"].evidence == bare.evidence


def test_waiting_for_io_and_memory_stands_beside_what_is_blocked() -> None:
    machine = {"psi_io_some_us": 340_000.0, "psi_memory_some_us": 0.0}
    group = {"cgroup_psi_io_some_us": 20_000.0}
    calm = dict.fromkeys((*machine, *group), 0.0)
    known = [witness("python3", side(cpu=3e7, delay=1e7, delay_cpu=3e7), side(cpu=3e7, delay=1e7, delay_cpu=3e7))]

    def blocked(during: dict[str, float], before: dict[str, float]) -> str:
        found = scene(known, lost_ms=28.0, pressure=(Rates(during), Rates(before)))
        (cause,) = [c for c in CauseBench(found, CauseCriteria()).get() if c.cause == "blocked"]
        assert cause.verdict == "applies"
        return cause.evidence.partition("GIL")[2]

    waited = "; tasks of the machine waited for I/O 34% of the time against 0%, for memory 0% of the time against 0%"
    assert blocked(machine, calm) == f"{waited} (PSI)"
    assert blocked(machine | group, calm) == "; tasks of its cgroup waited for I/O 2% of the time against 0% (PSI)"
    assert blocked(machine, {}) == ""
    assert blocked({}, calm) == ""
