"""Unlabelled units of a cycle: each position has its own healthy state, and switching disturbs nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from livemon.engine.engine import Engine
from livemon.model.criteria import Criteria, Roles, load_criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import HostSlowTransient
from livemon.model.samples import Sample, TimingRecord
from tests.engine.serving import Episode, Serving, seconds

CRITERIA = Criteria(roles=Roles(host=("prepare", "features", "handoff", "action_head")))
LEVELS = (1.0, 4.2, 2.2)


def kernels(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    for name in stages:
        stages[name] *= LEVELS[number % 3]


def judged(samples: list[Sample], criteria: Criteria = CRITERIA) -> tuple[list[HostSlowTransient], Engine]:
    runs = []
    for size in (len(samples), 61):
        engine = Engine(criteria, SessionFacts())
        changes = [c for k in range(0, len(samples), size) for c in engine.feed(samples[k : k + size])]
        changes += engine.finish()
        runs.append((repr((changes, engine.get(), engine.blips)), engine))
    assert runs[0][0] == runs[1][0]
    return [f for f in runs[0][1].get() if isinstance(f, HostSlowTransient)], runs[0][1]


def cyclic(duration: float, episodes: list[Episode], **more: object) -> Serving:
    return Serving(duration, rate=60, label=None, threads=False, shape=kernels, episodes=episodes, **more)  # type: ignore[arg-type]


def test_a_slowdown_that_a_mixture_hides_in_part_is_found_and_measured_by_position() -> None:
    episodes = [Episode(40, 45, factor=1.9), Episode(60, 63, factor=4.0)]
    found, _ = judged(cyclic(80, episodes).samples())
    assert [round(seconds(f.start_ns)) for f in found] == [40, 60]
    for finding, episode in zip(found, episodes, strict=True):
        assert finding.slowdown == pytest.approx(episode.factor, rel=0.1)
        assert finding.end_ns is not None
        assert seconds(finding.end_ns) == pytest.approx(episode.end, abs=0.15)
    mixed, _ = judged(cyclic(80, episodes).samples(), load_criteria("[classes.cycle]\nperiod = false\n"))
    # Against a mixture of three levels a part of the slow units looks usual.
    assert [f.slow_units < 0.93 * f.units for f in mixed] == [True, True]
    assert [f.slow_units > 0.95 * f.units for f in found] == [True, True]


def test_taking_on_and_giving_up_a_cycle_raises_nothing() -> None:
    def comes_and_goes(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
        level = LEVELS[number % 3] if t < 40 or t > 70 else LEVELS[r.randrange(3)]
        for name in stages:
            stages[name] *= level

    serving = Serving(110, rate=60, label=None, threads=False, shape=comes_and_goes)
    assert judged(serving.samples())[0] == []


def test_numbering_that_starts_anew_turns_no_position_into_a_slow_one() -> None:
    samples: list[Sample] = []
    for sample in cyclic(90, []).samples():
        assert isinstance(sample, TimingRecord)
        number = int(sample.unit or 0)
        samples.append(replace(sample, unit=str(number if number < 2400 else number - 2399)))
    assert judged(samples)[0] == []


def test_lost_doubled_and_shuffled_lines_shift_no_position() -> None:
    r = random.Random(5)
    samples = [s for s in cyclic(70, [Episode(50, 53, factor=2.0)]).samples() if r.random() > 0.1]
    samples += r.sample(samples, 100)
    samples.sort(key=lambda s: s.arrival_ns)
    for k in range(0, len(samples) - 4, 4):
        some = samples[k : k + 4]
        at = [s.arrival_ns for s in some]
        r.shuffle(some)
        samples[k : k + 4] = [replace(s, arrival_ns=t) for s, t in zip(some, at, strict=True)]  # type: ignore[call-overload]
    (finding,), _ = judged(samples)
    assert seconds(finding.start_ns) == pytest.approx(50, abs=0.2)
    assert finding.slowdown == pytest.approx(2.0, rel=0.1)


def test_an_episode_that_is_open_when_the_cycle_would_be_taken_on_is_kept() -> None:
    found, _ = judged(cyclic(40, [Episode(3.2, 12, factor=6.0), Episode(30, 32, factor=1.7)]).samples())
    assert [round(seconds(f.start_ns), 1) for f in found] == [3.2, 30.0]
    assert found[0].end_ns is not None
    assert seconds(found[0].end_ns) == pytest.approx(12, abs=0.2)
    assert found[1].slowdown == pytest.approx(1.7, rel=0.1)


def test_a_period_that_is_given_holds_from_the_first_unit() -> None:
    samples = cyclic(40, [Episode(15, 18, factor=1.9)]).samples()
    (finding,), _ = judged(samples, load_criteria("[classes.cycle]\nperiod = 3\n"))
    assert finding.slowdown == pytest.approx(1.9, rel=0.1)
