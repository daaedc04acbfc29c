"""Oversized finalize stages: what is found, when, with which figures."""

import itertools
import random
import statistics
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.engine.detectors.oversized_finalize import OversizedFinalizeDetector
from livemon.model.criteria import Classes, Criteria, Cycle, Finalize
from livemon.model.findings import FindingChange, FindingLog, OversizedFinalize
from livemon.model.samples import TimingRecord
from tests.engine.kernels import KERNELS, MS, SECOND, SMALL, kernel_runs


def found(
    records: list[TimingRecord], criteria: Criteria | None = None
) -> tuple[list[OversizedFinalize], list[FindingChange]]:
    detector = OversizedFinalizeDetector(criteria or Criteria())
    changes = detector.update(records) + detector.finish()
    findings = [f for f in detector.get() if isinstance(f, OversizedFinalize)]
    assert len(findings) == len(detector.get())
    return findings, changes


def test_every_class_of_the_cycle_has_its_own_finding_with_its_own_figures() -> None:
    records = kernel_runs(KERNELS, 48)
    findings, _ = found(records)
    by_class = {f.class_key: f for f in findings}
    assert set(by_class) == {"0/3", "1/3", "2/3"}
    decode, rms, head = by_class["1/3"], by_class["2/3"], by_class["0/3"]
    assert 14 <= decode.p50_ms <= 20
    assert 82 <= rms.p50_ms <= 91
    assert 48 <= head.p50_ms <= 56
    assert decode.rules == ("budget",)
    assert rms.rules == head.rules == ("budget", "ratio")
    for finding in findings:
        mine = [dict(r.stages) for r in records[1:] if f"{int(r.unit or 0) % 3}/3" == finding.class_key]
        device_ms = statistics.median(stages["runner_run"] for stages in mine)
        assert finding.device_p50_ms == pytest.approx(device_ms)
        assert finding.ratio_to_device == pytest.approx(statistics.median(s["validate"] for s in mine) / device_ms)
    assert all(f.device_stage == "runner_run" and f.stage == "validate" for f in findings)
    assert sum(f.saving_ms_per_step or 0 for f in findings) == pytest.approx(155, abs=5)
    assert sum(f.saving_to_budget_ms_per_step or 0 for f in findings) == pytest.approx(140, abs=5)
    assert all(f.end_ns is None for f in findings)
    assert [f.id for f in findings] == ["F1", "F2", "F3"]


def test_the_cold_first_run_is_in_no_figure() -> None:
    records = kernel_runs(KERNELS, 48)
    head = next(f for f in found(records)[0] if f.class_key == "0/3")
    assert head.units == 15
    assert head.start_ns > records[0].t_ns


def test_the_share_is_of_the_wall_time_of_the_steps() -> None:
    records = kernel_runs(KERNELS, 300)
    for finding in found(records)[0]:
        runs = [r for r in records[1:] if f"{int(r.unit or 0) % 3}/3" == finding.class_key]
        wall_ms = (runs[-1].t_ns - runs[0].t_ns) / MS
        spent_ms = sum(dict(r.stages)["validate"] for r in runs[1:])
        assert finding.share_of_total == pytest.approx(spent_ms / wall_ms, rel=0.01)
        assert finding.share_denominator == "wall time of the steps"


def test_lost_lines_change_the_share_little_when_lines_have_an_index() -> None:
    whole = {f.class_key: f.share_of_total or 0 for f in found(kernel_runs(KERNELS, 600))[0]}
    for finding in found(kernel_runs(KERNELS, 600, lost=0.1))[0]:
        assert finding.share_of_total == pytest.approx(whole[finding.class_key], rel=0.03)


def test_times_laid_out_from_durations_are_named_as_such() -> None:
    records = [replace(r, time_from="order") for r in kernel_runs(KERNELS, 60, gap_ms=0.0)]
    assert {f.share_denominator for f in found(records)[0]} == {"sum of unit times (the log carries no times)"}


def test_units_that_overlap_in_time_share_the_sum_of_totals() -> None:
    records = [
        replace(r, t_ns=1000 * SECOND + k * 10 * MS, arrival_ns=1000 * SECOND + k * 10 * MS)
        for k, r in enumerate(kernel_runs(((20.0, 24.0),), 60, device_ms=(20.0,)))
    ]
    (finding,) = found(records)[0]
    assert finding.share_denominator == "sum of totals (units overlap in time)"
    assert finding.share_of_total == pytest.approx(22 / 45, rel=0.05)


def test_named_kernels_keep_their_names_and_need_no_cycle() -> None:
    r = random.Random(4)
    levels = {"p": (2.0, 3.5), "q": (30.0, 38.0), "s": (2.4, 4.4)}
    names = [r.choice("pqs") for _ in range(300)]
    records = [
        replace(record, label=names[k])
        for k, record in enumerate(kernel_runs(lambda i: levels[names[i]], 300, device_ms=(19.0,)))
    ]
    (finding,) = found(records)[0]
    assert finding.class_key == "q"


def test_a_fix_ends_the_findings_and_a_single_spike_raises_none() -> None:
    records = kernel_runs(lambda i: KERNELS[i % 3] if i < 150 else SMALL[i % 3], 300)
    findings, changes = found(records)
    assert len(findings) == 3
    last_bad = records[149].t_ns
    assert all(f.end_ns is not None and abs(f.end_ns - last_bad) < SECOND for f in findings)
    assert [c.change for c in changes].count("ended") == 3

    r = random.Random(9)
    spiky = kernel_runs(lambda i: (40.0, 50.0) if r.random() < 0.02 else SMALL[i % 3], 900)
    assert found(spiky)[0] == []


def test_a_regression_on_top_of_a_regression_is_a_finding_of_its_own() -> None:
    levels = ((3.1, 3.9), (15.5, 18.5), (140.0, 155.0))
    records = kernel_runs(lambda i: levels[i // 100], 300, device_ms=(10.5,))
    first, second = found(records)[0]
    assert first.class_key == second.class_key == "0/1"
    assert first.p50_ms == pytest.approx(17, abs=1)
    assert second.p50_ms == pytest.approx(147, abs=3)
    assert first.end_ns is not None
    assert first.end_ns <= second.start_ns
    assert second.end_ns is None
    assert first.units == 100
    assert second.units == 100


def test_a_level_that_comes_back_soon_was_a_disturbance_and_the_finding_goes_on() -> None:
    levels = lambda i: (45.0, 52.0) if 100 <= i < 112 else (15.5, 18.5)  # noqa: E731
    records = kernel_runs(levels, 200, device_ms=(10.5,))
    (finding,), changes = found(records)
    assert finding.id == "F1"
    assert finding.end_ns is None
    assert finding.units == 199
    assert finding.p50_ms == pytest.approx(17, abs=1)
    log = FindingLog(tuple(changes))
    during = log.known_at(records[110].arrival_ns)
    assert [f.end_ns is None for f in during] == [False, True]
    assert [f.id for f in log.known_at(None)] == ["F1"]
    spent = sum(dict(r.stages)["validate"] for r in records[2:])
    assert finding.share_of_total == pytest.approx(spent / ((records[-1].t_ns - records[1].t_ns) / MS), rel=0.01)


def test_another_period_ends_the_old_positions_and_opens_new_ones() -> None:
    five = ((48.0, 56.0), (14.0, 20.0), (22.0, 27.0), (9.0, 12.0), (82.0, 91.0))
    records = kernel_runs(lambda i: KERNELS[i % 3] if i < 150 else five[i % 5], 400)
    findings, _ = found(records)
    assert {f.class_key for f in findings if f.end_ns is not None} == {"0/3", "1/3", "2/3"}
    assert {f.class_key for f in findings if f.end_ns is None} == {f"{i}/5" for i in range(5)}


@pytest.mark.parametrize(
    ("rules", "classes"),
    [
        (Finalize(budget_ms=None), {"0/3", "2/3"}),
        (Finalize(device_ratio=None), {"0/3", "1/3", "2/3"}),
        (Finalize(budget_ms=60.0, device_ratio=None), {"2/3"}),
        (Finalize(budget_ms=None, device_ratio=None), set()),
    ],
)
def test_rules_can_be_switched_off(rules: Finalize, classes: set[str]) -> None:
    findings, _ = found(kernel_runs(KERNELS, 240), Criteria(finalize=rules))
    assert {f.class_key for f in findings} == classes
    if rules.budget_ms is None:
        assert all(f.saving_to_budget_ms_per_step is None for f in findings)


def test_a_stage_that_hovers_at_its_budget_does_not_flap() -> None:
    records = kernel_runs(((4.2, 6.4),), 800, device_ms=(40.0,))
    findings, changes = found(records)
    assert len(findings) == 1
    assert [c.change for c in changes].count("raised") == 1
    quiet = [found(kernel_runs(((3.2, 5.6),), 400, seed=seed, device_ms=(40.0,)))[0] for seed in range(5)]
    assert sum(map(len, quiet)) <= 1


def test_a_heavy_tail_is_one_finding_not_many_levels() -> None:
    r = random.Random(2)
    values = [20.0 * r.lognormvariate(0, 0.6) for _ in range(1200)]
    records = kernel_runs(lambda i: (values[i], values[i]), 1200, device_ms=(40.0,))
    findings, _ = found(records)
    assert len(findings) <= 2
    assert findings[-1].end_ns is None


def test_spans_on_lines_of_their_own_find_their_device_stage() -> None:
    records = []
    for r in kernel_runs(((20.0, 22.0),), 40, device_ms=(10.0,)):
        stages = dict(r.stages)
        for name in ("runner_run", "validate"):
            span = ((f"chip.run.{name}", stages[name]),)
            records.append(replace(r, source="strace", unit=f"77/{r.unit}", label="abc", pid=77, stages=span))
        records.append(
            replace(
                r, source="strace", unit=f"77/{r.unit}", label="abc", pid=77, stages=(("chip.run", stages["total"]),)
            )
        )
    (finding,) = found(records)[0]
    assert finding.class_key == "abc"
    assert finding.stage == "chip.run.validate"
    assert finding.device_stage == "chip.run.runner_run"
    assert finding.ratio_to_device == pytest.approx(2.1, abs=0.2)
    assert finding.share_of_total is not None
    assert finding.share_of_total < 1


def test_a_class_that_no_longer_runs_ends_where_it_ran_last() -> None:
    records = kernel_runs(((20.0, 22.0),), 50, labels=["old"])
    later = kernel_runs(((1.0, 2.0),), 1500, labels=["new"], first=50, start_ns=records[-1].t_ns)
    (finding,) = found(records + later)[0]
    assert finding.class_key == "old"
    assert finding.end_ns == records[-1].t_ns


def test_no_device_stage_leaves_the_budget_rule() -> None:
    records = [replace(r, stages=(("validate", 9.0), ("total", 12.0))) for r in kernel_runs(KERNELS, 30)]
    (finding,) = found(records)[0]
    assert finding.rules == ("budget",)
    assert finding.device_stage is None
    assert finding.ratio_to_device is None


def test_a_given_period_needs_no_search() -> None:
    criteria = Criteria(classes=Classes(cycle=Cycle(period=3)))
    detector = OversizedFinalizeDetector(criteria)
    changes = detector.update(kernel_runs(KERNELS, 15))
    assert next(c.change for c in changes if c.finding.id == "F1") == "raised"
    assert len(detector.get()) == 3


def test_the_log_of_changes_tells_what_was_known_when() -> None:
    records = kernel_runs(lambda i: KERNELS[i % 3] if i < 150 else SMALL[i % 3], 300)
    _, changes = found(records)
    log = FindingLog(tuple(changes))
    assert log.known_at(records[8].arrival_ns) == ()
    middle = log.known_at(records[149].arrival_ns)
    assert len(middle) == 3
    assert all(f.end_ns is None for f in middle)
    assert all(f.end_ns is not None for f in log.known_at(None))
    assert [c.at_ns for c in changes] == sorted(c.at_ns for c in changes)


def test_the_log_of_changes_grows_slower_than_the_session() -> None:
    _, short = found(kernel_runs(((20.0, 22.0),), 1_000))
    _, long = found(kernel_runs(((20.0, 22.0),), 10_000))
    assert len(long) < len(short) + 20


@settings(max_examples=25, deadline=None)
@given(st.data(), st.integers(0, 5))
def test_findings_do_not_depend_on_how_the_stream_was_cut(data: st.DataObject, seed: int) -> None:
    r = random.Random(seed)
    levels = [KERNELS, SMALL, ((15.0, 18.0),), ((5.0, 6.0), (30.0, 31.0))]
    records: list[TimingRecord] = []
    for part in range(3):
        start = records[-1].t_ns if records else 1000 * SECOND
        level = r.choice(levels)
        records += kernel_runs(
            level, r.randrange(5, 60), seed=seed + part, first=len(records), start_ns=start, lost=0.05
        )
    whole = OversizedFinalizeDetector(Criteria())
    changes = whole.update(records)
    changes += whole.finish()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=8)))
    pieces = OversizedFinalizeDetector(Criteria())
    seen = []
    for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True):
        seen += pieces.update(records[a:b])
        pieces.get()
    seen += pieces.finish()
    assert seen == changes
    assert pieces.get() == whole.get()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**12),
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([None, "0", "7", "x/3", "999999999999999999999"]),
            st.floats(0, 1e8),
            st.floats(0, 1e8),
            st.sampled_from(
                [("validate", "runner_run"), ("validate", "total"), ("total", "cpu"), ("validate", "validate2")]
            ),
        ),
        max_size=120,
    )
)
def test_no_stream_makes_it_raise_and_no_finding_leaves_the_streams_time(rows: list[tuple]) -> None:  # type: ignore[type-arg]
    records = [
        TimingRecord(k, t, "line", "s", unit, label, ((names[0], a), (names[1], b)))
        for k, (t, label, unit, a, b, names) in enumerate(rows)
    ]
    findings, _ = found(records)
    newest = max((r.t_ns for r in records), default=0)
    for finding in findings:
        assert finding.end_ns is None or finding.end_ns <= newest
        assert 0 <= finding.detected_ns <= len(records)
        assert finding.share_of_total is None or 0 <= finding.share_of_total <= 1


def short_runs(validate_ms: list[float]) -> list[TimingRecord]:
    """Runs of one kernel of 20 ms beside these finalize times, 5 ms apart."""
    t, out = 100 * SECOND, []
    for number, ms in enumerate(validate_ms, 1):
        t += round((25 + ms) * MS)
        stages = (("runner_run", 20.0), ("validate", ms), ("total", 20.0 + ms))
        out.append(TimingRecord(t, t, "line", "log", str(number), "k", stages))
    return out


def test_few_runs_in_a_fraction_of_a_second_are_not_critical_yet() -> None:
    (finding,), changes = found(short_runs([6.0] * 7))
    assert finding.share_of_total is not None
    assert finding.share_of_total > 0.1
    assert finding.severity == "warning"
    (finding,), changes = found(short_runs([6.0] * 40))
    assert finding.severity == "critical"
    assert [c.finding.severity for c in changes][:2] == ["warning", "warning"]


def test_a_share_that_hovers_at_its_limit_changes_the_severity_once() -> None:
    r = random.Random(3)
    level = 25 / 9  # a tenth of the step
    records = short_runs(
        [level * (1.15 if n < 60 or 300 < n < 900 else 0.9) * r.uniform(0.98, 1.02) for n in range(1200)]
    )
    criteria = Criteria(finalize=Finalize(budget_ms=2.0, device_ratio=None))
    told = [c.finding.severity for c in found(records, criteria)[1]]
    shares = [
        c.finding.share_of_total or 0 for c in found(records, criteria)[1] if isinstance(c.finding, OversizedFinalize)
    ]
    sides = [share >= 0.1 for share in shares]
    assert sum(a != b for a, b in itertools.pairwise(sides)) >= 2  # the share itself goes to and fro
    assert sum(a != b for a, b in itertools.pairwise(told)) == 1


def test_a_device_of_two_modes_has_one_ratio_for_people_in_the_evidence_and_in_the_headline() -> None:
    for finding in found(kernel_runs(KERNELS, 48))[0]:
        assert finding.judged_ratio is not None
        assert f"{finding.judged_ratio:.2f}× runner_run" in finding.evidence
        if finding.device_middle_ms is not None:
            assert finding.judged_ratio == pytest.approx(finding.p50_ms / finding.device_middle_ms)
        else:
            assert finding.judged_ratio == finding.ratio_to_device
    assert any(f.device_middle_ms is not None for f in found(kernel_runs(KERNELS, 48))[0])
