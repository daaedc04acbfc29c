"""One unit that lasts far longer than usual is an episode; bigger, first and merely slower units are not."""

from __future__ import annotations

import random
import re

import pytest

from livemon.model.criteria import Criteria, Roles
from livemon.model.findings import FindingChange, HostSlowTransient
from livemon.model.samples import Sample, TimingRecord
from tests.engine.cuts import found_whole_and_cut
from tests.engine.serving import ns, seconds
from tests.engine.test_host_slow import judged as judged_by

CRITERIA = Criteria(roles=Roles(host=("prep", "finalize"), device=("device",)))
Odd = dict[int, dict[str, float]]
"""Number of a unit -> its stages that are not as usual, ms."""


def stream(odd: Odd, units: int = 900, *, pause_before: dict[int, float] | None = None) -> list[Sample]:
    """Units of three kinds one after the other, about 40 a second, some of them odd; pauses in s before some."""
    r = random.Random(4)
    t, out = 0.0, []
    for number in range(1, units + 1):
        usual = (3.0, 6.0, 9.0)[number % 3]
        stages = {"prep": usual * r.lognormvariate(0, 0.1), "device": 15.0, "finalize": 1.5 * r.lognormvariate(0, 0.1)}
        stages |= odd.get(number, {})
        t += (pause_before or {}).get(number, 0.0) + sum(stages.values()) / 1e3 + 0.002
        label = ("small", "medium", "large")[number % 3]
        times = (*stages.items(), ("total", sum(stages.values())))
        out.append(TimingRecord(ns(t + 0.001), ns(t), "line", "log", str(number), label, times))
    return list(out)


def judged(samples: list[Sample]) -> tuple[list[HostSlowTransient], list[FindingChange]]:
    return judged_by(samples, CRITERIA)


def record(samples: list[Sample], number: int) -> TimingRecord:
    found = samples[number - 1]
    assert isinstance(found, TimingRecord)
    return found


def test_three_huge_units_in_eight_seconds_are_one_episode_raised_with_the_line_of_the_first() -> None:
    odd = {
        400: {"prep": 9.7, "device": 40.0, "finalize": 2329.0},
        401: {"prep": 3108.0, "device": 40.0, "finalize": 88.0},
        402: {"prep": 2073.0, "device": 39.0, "finalize": 204.0},
    }
    samples = stream(odd)
    (finding,), changes = judged(samples)
    first, last = record(samples, 400), record(samples, 402)
    assert finding.detected_ns == first.arrival_ns
    assert seconds(finding.start_ns) == pytest.approx(seconds(first.t_ns) - 2.379, abs=0.05)
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(seconds(last.t_ns), abs=0.05)
    assert finding.severity == "critical"
    assert (finding.units, finding.slow_units) == (3, 3)
    assert "2,339 ms against" in finding.detected_by
    assert finding.not_recovered_by_5_s
    assert [c.change for c in changes if c.change != "updated"] == ["raised", "ended"]


@pytest.mark.parametrize("stage", ["prep", "finalize"])
def test_one_stage_of_one_unit_opens_and_closes_an_episode(stage: str) -> None:
    (finding,), _ = judged(stream({400: {stage: 1500.0}}))
    assert finding.end_ns is not None
    assert (finding.end_ns - finding.start_ns) / 1e9 == pytest.approx(1.52, abs=0.05)
    assert finding.slow_units == 1


def test_the_slowdown_of_few_huge_units_is_that_of_their_time_and_names_the_slowest() -> None:
    odd: Odd = {400: {"prep": 3000.0}, 401: {"prep": 2500.0}}
    odd |= {number: {"prep": (9.0, 18.0, 27.0)[number % 3], "finalize": 4.5} for number in range(402, 440)}
    (finding,), changes = judged(stream(odd))
    assert finding.slowdown is not None
    raised = changes[0].finding
    assert isinstance(raised, HostSlowTransient)
    assert raised.slowdown is not None
    host = 3000 + 2500 + sum(odd[n]["prep"] + 4.5 for n in range(402, 440))
    usual = sum((4.5, 7.5, 10.5)[n % 3] for n in range(400, 440))
    assert finding.slowdown == pytest.approx(host / usual, rel=0.1)
    assert raised.slowdown > 5 * finding.slowdown
    told = re.search(r"([\d.]+)× in the slowest, ([\d.]+)× in the median", finding.slowdown_is)
    assert told is not None
    assert float(told[1]) == pytest.approx(raised.slowdown, rel=0.02)
    assert float(told[2]) == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize(
    "odd",
    [
        {400: {"prep": 480.0}},
        {400: {"device": 5000.0}},
        {400: {"prep": 900.0, "device": 3000.0, "finalize": 300.0}},
        {1: {"prep": 2500.0}},
    ],
    ids=["under half a second", "the device alone", "a bigger unit", "the first unit"],
)
def test_what_is_no_long_unit(odd: Odd) -> None:
    assert judged(stream(odd))[0] == []


def test_a_first_unit_after_an_idle_time_may_load_what_it_needs() -> None:
    samples = stream({400: {"prep": 1500.0}}, pause_before={400: 20.0})
    assert judged(samples)[0] == []


def test_idle_time_is_not_slow() -> None:
    assert judged(stream({}, pause_before={300: 30.0, 400: 4.0, 500: 9.0}))[0] == []


def test_units_that_always_scatter_so_far_raise_nothing() -> None:
    r = random.Random(8)
    t, out = 0.0, []
    for number in range(3000):
        stages = {"prep": 250 * r.lognormvariate(0, 0.6), "device": 15.0, "finalize": 50 * r.lognormvariate(0, 0.6)}
        t += sum(stages.values()) / 1e3 + 0.002
        out.append(TimingRecord(ns(t), ns(t), "line", "log", str(number), "a", tuple(stages.items())))
    assert judged(list(out))[0] == []


@pytest.mark.parametrize("batch", [1, 7, 400])
def test_no_cut_of_the_stream_changes_it(batch: int) -> None:
    samples = stream({400: {"finalize": 2329.0}, 401: {"prep": 3108.0}, 405: {"prep": 700.0}}, 500)
    assert len(found_whole_and_cut(samples, CRITERIA, batch)) == 1
