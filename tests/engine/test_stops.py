"""A stopped process is an episode while it lasts, if it served units; the units it held up add no second one."""

from __future__ import annotations

import pytest

from livemon.model.findings import HostSlowTransient
from livemon.model.samples import Sample, TargetEvent, ThreadTick, TimingRecord
from livemon.model.severity import SeverityRules
from tests.engine.cuts import found_whole_and_cut
from tests.engine.serving import Serving, ns, seconds
from tests.engine.test_host_slow import CRITERIA, judged

STOPPED, GOES_ON = 12.0, 17.0


def stream(*, idle_from: float = STOPPED, told: bool = True) -> list[Sample]:
    """Served until ``idle_from``; stopped from 12 s to 17 s, told 0.8 s late; then served again."""
    samples = [
        sample
        for sample in Serving(30, idle=[(idle_from, GOES_ON)], classes=(), machine=lambda _: {}).samples()
        if not (isinstance(sample, ThreadTick) and STOPPED < seconds(sample.arrival_ns) <= GOES_ON)
    ]
    events: list[Sample] = [
        TargetEvent(ns(STOPPED + 0.8), 7, "", "stopped", detail="stopped by a signal"),
        TargetEvent(ns(GOES_ON), 7, "", "continued"),
    ]
    return sorted(samples + events * told, key=lambda sample: sample.arrival_ns)


def test_a_stop_under_load_is_raised_while_it_lasts_and_named() -> None:
    (finding,), changes = judged(stream())
    assert seconds(finding.start_ns) == pytest.approx(STOPPED, abs=0.15)
    assert seconds(finding.detected_ns) == pytest.approx(STOPPED + 0.8)
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(GOES_ON)
    assert finding.severity == "critical"
    assert "always critical" in SeverityRules().why(finding)
    assert finding.primary_cause == "off_cpu"
    assert (finding.slowdown, finding.slowdown_is) == (None, "no unit ended in it that could be held")
    assert finding.stopped_s == pytest.approx(5.0, abs=0.15)
    assert finding.primary_words is not None
    assert finding.primary_words.startswith("stopped for ")
    evidence = next(cause.evidence for cause in finding.causes if cause.cause == "off_cpu")
    assert "(pid 7) was stopped by a signal for" in evidence
    assert [c.change for c in changes if c.change != "updated"] == ["raised", "ended"]


def test_a_stop_that_goes_on_stays_open_and_is_not_taken_for_the_end_of_the_load() -> None:
    cut = [sample for sample in stream() if seconds(sample.arrival_ns) < GOES_ON - 0.5]
    (finding,), _ = judged(cut)
    assert finding.end_ns is None
    assert 3.5 <= finding.stopped_s <= 4.6


def test_an_idle_process_that_is_stopped_keeps_nobody_waiting() -> None:
    assert judged(stream(idle_from=8.0))[0] == []


def test_idle_threads_without_a_stop_are_no_episode() -> None:
    assert judged(stream(told=False))[0] == []


def test_a_unit_held_up_by_the_stop_is_the_same_episode() -> None:
    samples = stream()
    held = next(k for k, s in enumerate(samples) if isinstance(s, TimingRecord) and s.arrival_ns > ns(GOES_ON))
    unit = samples[held]
    assert isinstance(unit, TimingRecord)
    stages = tuple((n, v + 5000.0 if n in ("prepare", "total") else v) for n, v in unit.stages)
    samples[held] = TimingRecord(unit.arrival_ns, unit.t_ns, "line", unit.source, unit.unit, unit.label, stages)
    (finding,), changes = judged(samples)
    assert finding.stopped_s > 4.8
    assert finding.slow_units == 1
    assert [c.change for c in changes].count("raised") == 1


@pytest.mark.parametrize("batch", [1, 13, 500])
def test_no_cut_of_the_stream_changes_it(batch: int) -> None:
    (finding,) = found_whole_and_cut(stream(), CRITERIA, batch)
    assert isinstance(finding, HostSlowTransient)
