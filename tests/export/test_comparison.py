"""Comparing two sessions: what is proven, what is not, and what is refused."""

import json
import time
from array import array
from dataclasses import replace

import numpy as np
import pytest

from livemon.export.bootstrap import shifts
from livemon.export.comparison import SessionData, collect, compare
from livemon.export.comparison_report import comparison_blocks, comparison_failures, comparison_json
from livemon.export.text import cells, render_text
from livemon.model.errors import UsageError
from tests.export.judgements import judgement, oversized, transient
from tests.export.streams import records


def data(n: int = 300, scale: float = 1.0, seed: int = 1, **changes: object) -> SessionData:
    return collect(judgement(**changes), records(n, scale=scale, seed=seed))


def rows_of(before: SessionData, after: SessionData) -> dict[tuple[str | None, str], str]:
    return {(r.class_key, r.stage): r.median.outcome for r in compare(before, after).stages}


def test_a_fix_is_proven_and_what_it_left_alone_is_the_same() -> None:
    outcomes = rows_of(data(), data(scale=0.2, seed=2, findings=()))
    assert {outcomes[c, "validate"] for c in ("0/3", "1/3", "2/3")} == {"better"}
    assert {outcomes[c, "total"] for c in ("0/3", "1/3", "2/3")} == {"better"}
    assert {outcomes[c, "runner_run"] for c in ("0/3", "1/3", "2/3")} <= {"same"}


def test_a_regression_is_worse_and_its_interval_holds_the_truth() -> None:
    result = compare(data(), data(scale=1.3, seed=2))
    row = next(r for r in result.stages if (r.class_key, r.stage) == ("1/3", "validate"))
    assert row.median.outcome == "worse"
    interval = row.median.shift_ms
    assert interval is not None
    assert interval.low < 0.3 * 90.6 < interval.high


def test_warmup_is_left_out() -> None:
    result = compare(data(), data(seed=2))
    row = next(r for r in result.stages if (r.class_key, r.stage) == ("1/3", "validate"))
    assert row.n_before == 99


def test_too_few_units_can_not_be_told_and_say_so() -> None:
    result = compare(data(9), data(9, scale=3.0))
    assert {r.median.outcome for r in result.stages} == {"unknown"}
    assert result.stages[0].median.reason.startswith("needs 8 units a side")
    p99 = compare(data(90), data(90, scale=3.0)).stages[0].p99
    assert (p99.outcome, p99.shift_ms) == ("unknown", None)


def test_the_same_input_gives_the_same_figures() -> None:
    one, two = (comparison_json(compare(data(), data(seed=2))) for _ in range(2))
    assert json.dumps(one, allow_nan=False) == json.dumps(two, allow_nan=False)


def test_no_shift_is_seldom_called_one() -> None:
    """Null case: 100 pairs of the same lognormal; a 95 % interval misses zero in about 5 % of them."""
    random = np.random.default_rng(3)
    misses = 0
    for _ in range(100):
        a, b = random.lognormal(2, 0.3, 200), random.lognormal(2, 0.3, 200)
        (interval,) = shifts(a, b, (0.5,), draws=200)
        misses += not interval.low <= 0 <= interval.high
    assert misses <= 13


def test_an_episode_in_one_of_them_does_not_pass_for_a_shift_of_all() -> None:
    """Autocorrelation: 15 % of consecutive units slow on one side must not give a narrow P99 interval."""
    random = np.random.default_rng(4)
    a = random.normal(10, 0.1, 1000)
    b = a.copy()
    b[400:550] *= 6
    (p99,) = shifts(a, b, (0.99,))
    assert p99.high > 40
    (median,) = shifts(a, b, (0.5,))
    assert abs(median.value) < 0.1


@pytest.mark.parametrize(
    ("shift_ms", "outcome"),
    [(0.0, "same"), (0.09, "same"), (-0.09, "same"), (0.2, "unknown"), (0.5, "worse"), (-0.5, "better")],
)
def test_a_shift_counts_only_beyond_what_matters_however_sure_it_is(shift_ms: float, outcome: str) -> None:
    """+0.08 ms of a 20 ms unit, with an interval that excludes zero, was CRITICAL and worse."""
    rng = np.random.default_rng(5)

    def side(prepare_ms: float) -> SessionData:
        durations = {
            ("1/3", "prepare_ctx"): rng.normal(prepare_ms, 0.2, 3000),
            ("1/3", "total"): rng.normal(20.0, 0.5, 3000),
        }
        arrays = {key: array("d", values) for key, values in durations.items()}
        return SessionData(judgement(findings=()), arrays, frozenset({"keyvalue"}))

    result = compare(side(3.0), side(3.0 + shift_ms))
    row = next(row for row in result.stages if row.stage == "prepare_ctx")
    assert row.median.bound_ms == pytest.approx(0.2, rel=0.02)
    assert row.median.outcome == outcome
    [verdict, *_] = [line for line in render_text(comparison_blocks(result)).splitlines() if "stages (medians" in line]
    assert verdict.startswith("WARNING" if outcome == "worse" else "OK")
    assert comparison_json(result)["stages"][0]["median"]["same_within_ms"] == pytest.approx(0.2, rel=0.02)


def test_a_finding_of_a_part_of_the_session_says_that_the_whole_has_not_moved() -> None:
    result = compare(data(findings=()), data(seed=2, findings=(oversized(),)))
    [row] = result.findings
    assert (row.change, row.outcome) == ("appeared", "worse")
    assert row.note.startswith("for a part of the session: over all of it the median is the same")


def test_a_million_units_take_no_longer_than_they_should() -> None:
    random = np.random.default_rng(5)
    a, b = random.lognormal(2, 0.3, 1_000_000), random.lognormal(2.1, 0.3, 1_000_000)
    started = time.process_time()
    median, p99 = shifts(a, b, (0.5, 0.99))
    assert median.low > 0
    assert p99.value == pytest.approx(np.quantile(b, 0.99) - np.quantile(a, 0.99))
    assert time.process_time() - started < 60


def test_findings_vanish_appear_and_stay() -> None:
    before = data(findings=(oversized("0/3"), oversized("1/3"), transient()))
    after = data(scale=0.5, seed=2, findings=(oversized("1/3", p50=45.3), transient(primary_cause="ipc")))
    changes = {(f.kind, f.what): (f.change, f.outcome) for f in compare(before, after).findings}
    assert changes == {
        ("oversized_finalize", "validate of 0/3"): ("vanished", "better"),
        ("oversized_finalize", "validate of 1/3"): ("stayed", "better"),
        ("host_slow_transient", "placement"): ("vanished", "better"),
        ("host_slow_transient", "ipc"): ("appeared", "worse"),
    }


def test_fail_on_is_met_by_what_got_worse_only() -> None:
    fixed = compare(data(), data(scale=0.2, findings=()))
    assert comparison_failures(fixed, ["any", "worse"]) == []
    worse = compare(data(findings=()), data(scale=1.5, findings=(oversized(),)))
    assert comparison_failures(worse, ["oversized_finalize"]) == ["oversized finalize, validate of 1/3 appeared"]
    assert comparison_failures(worse, ["host_slow_transient"]) == []
    assert any("median of validate of 1/3 got worse" in text for text in comparison_failures(worse, ["worse"]))
    with pytest.raises(UsageError, match="kinds are"):
        comparison_failures(worse, ["nonsense"])


def test_disjoint_classes_are_refused_with_both_named() -> None:
    other = collect(judgement(), records(30, classes=("A", "B")))
    with pytest.raises(UsageError, match=r"no class in common, 0/3, 1/3, 2/3 before and A, B after"):
        compare(data(), other)


def test_cycles_of_another_length_are_refused_with_a_hint() -> None:
    steps = replace(judgement().steps, period=5)
    other = collect(judgement(steps=steps), records(30, classes=("0/5", "1/5")))
    with pytest.raises(UsageError, match=r"cycles differ, 3 runs before and 5 runs after; judge both by one"):
        compare(data(), other)


def test_other_units_stages_or_nothing_are_refused() -> None:
    one = data()
    with pytest.raises(UsageError, match="units differ: BEFORE has lines of c_api_timing, AFTER of vllm"):
        compare(one, replace(one, sources=frozenset({"vllm"})))
    stages = {("0/3", "decode"): array("d", [1.0] * 20)}
    with pytest.raises(UsageError, match="no stage of a shared class"):
        compare(one, replace(one, durations_ms=stages))
    with pytest.raises(UsageError, match=r"AFTER \(/tmp/box.livemon\) holds no timing record"):
        compare(one, replace(one, durations_ms={}))


def test_the_text_fits_and_names_what_was_not_compared() -> None:
    after = data(scale=0.2, seed=2, findings=())
    after = replace(after, durations_ms={**after.durations_ms, ("9/9", "x"): array("d", [1.0])})
    text = render_text(comparison_blocks(compare(data(), after)))
    assert max(cells(line) for line in text.splitlines()) <= 80
    assert "Only in AFTER, not compared: x of 9/9." in text
    assert "vanished" in text
    assert text.splitlines()[2].startswith("OK  Of 12 stages (medians, per class): 6 better")
