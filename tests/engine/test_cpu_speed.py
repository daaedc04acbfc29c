"""The frequency of the CPUs that threads ran on, from sysfs to the evidence of an episode."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from livemon.collect.pressure import PressureSampler
from livemon.engine.core_classes import CoreClasses
from livemon.engine.cpu_speed import CpuSpeed, frequencies_khz
from livemon.engine.engine import Engine
from livemon.engine.logbins import Ints
from livemon.model.criteria import Criteria
from livemon.model.facts import Cpu, SessionFacts, Topology
from livemon.model.findings import HostSlowTransient
from livemon.model.samples import MachineSample, Sample
from tests.collect import fake_machine as machines
from tests.engine.serving import Episode, Serving, ns
from tests.engine.test_totals import HYBRID

GHZ = 1_000_000
WATCHED, OTHER = 2, 1


def with_frequencies(samples: list[Sample], root: Path, episode: Episode, seconds: int) -> list[Sample]:
    """What the sampler reads each second of a machine whose CPU ``WATCHED`` slows down for an episode."""
    machine = machines.plain_vm(root)
    machine.process(7)
    read: list[Sample] = []
    machine.cpus(range(4), cpufreq__scaling_cur_freq=3 * GHZ)
    machine.cpus(range(4), thermal_throttle__core_throttle_count=0, thermal_throttle__package_throttle_count=0)
    sampler = PressureSampler([7], machine.root)
    for second in range(1, seconds):
        is_slow = episode.start < second <= episode.end
        machine.cpus((WATCHED,), cpufreq__scaling_cur_freq=(1 if is_slow else 3) * GHZ)
        machine.cpus((OTHER,), cpufreq__scaling_cur_freq=(3 if is_slow else 1) * GHZ)  # nobody runs there
        if is_slow:
            machine.cpus((WATCHED,), thermal_throttle__core_throttle_count=20 * second)
        read += [s for s in sampler.sample(ns(second) + 1) if isinstance(s, MachineSample)]
    sampler.close()
    return sorted([*samples, *read], key=lambda sample: sample.arrival_ns)


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_without_counters_a_slow_clock_is_told_where_the_cycle_rate_is_unknown(tmp_path: Path, step: int) -> None:
    episode = Episode(12, 16, "cycle_rate", factor=3.0)
    serving = Serving(20, classes=(), last_cpu=lambda _t, _name: WATCHED, episodes=[episode])
    samples = with_frequencies(serving.samples(), tmp_path, episode, 20)
    engine = Engine(Criteria(), SessionFacts())
    for first, stop in pairwise([*range(0, len(samples), step), len(samples)]):
        engine.feed(samples[first:stop])
    engine.finish()
    (finding,) = engine.get()
    assert isinstance(finding, HostSlowTransient)
    (cause,) = [cause for cause in finding.causes if cause.cause == "cycle_rate"]
    assert cause.verdict == "unknown"
    assert cause.during is None
    reason, speed, heat = cause.evidence.split("; ")
    assert reason == "cycles are not counted here"
    assert "against 3,000 (read once a second)" in speed
    during = float(speed.split(" at ")[1].split(" MHz")[0].replace(",", ""))
    assert 1000 <= during < 1500  # the second in which it begins has some of both
    assert heat.startswith("heat throttled")


def test_frequencies_count_by_the_time_that_was_spent_on_their_cpus() -> None:
    speed = CpuSpeed(CoreClasses(Criteria(), SessionFacts()))
    second(speed, {0: 2 * GHZ, 3: GHZ})
    assert speed.sums == (0, 0)
    speed.add(array([0, 3, -1, 0, 1 << 62]), array([10, 5, 100, 20, 7]))
    speed.add(array([5]), array([1000]))  # a CPU whose frequency is not read
    speed.add(array([3]), array([1]))
    second(speed, {0: 2 * GHZ, 3: GHZ})
    assert speed.sums == (30 * 2 * GHZ + 6 * GHZ, 36)
    second(speed, {0: 9 * GHZ})
    assert speed.sums == (66 * GHZ, 36)
    speed.add(array([0]), array([10]))
    second(speed, {})  # nothing was read in this second: its time counts for nothing
    second(speed, {0: 9 * GHZ})
    assert speed.sums == (66 * GHZ, 36)


def test_efficiency_cores_do_not_count_as_slow_clocks() -> None:
    speed = CpuSpeed(CoreClasses(Criteria(), HYBRID))
    speed.add(array([0, 1]), array([10, 10]))
    second(speed, {0: 4 * GHZ, 1: 2 * GHZ})
    assert speed.sums == (40 * GHZ, 10)
    only_efficient = SessionFacts(topology=Topology((Cpu(0, "E"),), ("E",), "test", ("E",), 1))
    speed = CpuSpeed(CoreClasses(Criteria(), only_efficient))
    speed.add(array([0]), array([10]))
    second(speed, {0: 2 * GHZ})
    assert speed.sums == (20 * GHZ, 10)


def test_what_is_no_frequency_is_not_taken_for_one() -> None:
    names = ("cpu3_freq_khz", "cpu3_softirq_ticks", "cpux_freq_khz", "cpu4_freq_khz", "cpu123456_freq_khz")
    sample = MachineSample(1, tuple(zip(names, (5, 6, 7, -1, 8), strict=True)))
    assert frequencies_khz(sample) == {3: 5}


def second(speed: CpuSpeed, khz: dict[int, int]) -> None:
    speed.read(MachineSample(1, tuple((f"cpu{cpu}_freq_khz", value) for cpu, value in khz.items())))
    speed.settle()


def array(values: list[int]) -> Ints:
    return np.array(values, np.int64)
