"""After an episode the frozen healthy state is checked against the units that come then."""

from __future__ import annotations

import random

import pytest

from livemon.engine.engine import Engine
from livemon.model.criteria import Criteria, Roles
from livemon.model.facts import SessionFacts
from livemon.model.findings import FindingChange, HostSlowTransient
from tests.engine.serving import Episode, Serving, seconds

CRITERIA = Criteria(roles=Roles(host=("prepare", "features", "handoff", "action_head")))


def steps(*levels: tuple[float, float]):  # type: ignore[no-untyped-def]
    """A shape that multiplies all host stages by the last of ``levels`` (since s, factor)."""

    def shape(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
        factor = next((factor for since, factor in reversed(levels) if t >= since), 1.0)
        for name in stages:
            stages[name] *= factor

    return shape


def judged(serving: Serving) -> tuple[list[HostSlowTransient], list[FindingChange]]:
    samples = serving.samples()
    runs = []
    for size in (len(samples), 7):
        engine = Engine(CRITERIA, SessionFacts())
        changes = [c for k in range(0, len(samples), size) for c in engine.feed(samples[k : k + size])]
        changes += engine.finish()
        runs.append((changes, engine.get(), engine.blips))
    assert repr(runs[0]) == repr(runs[1])
    return [f for f in runs[0][1] if isinstance(f, HostSlowTransient)], runs[0][0]


def lately(changes: list[FindingChange], text: str) -> float:
    """When a finding first said that of what came after it, s."""
    return next(
        seconds(c.at_ns) for c in changes if isinstance(c.finding, HostSlowTransient) and text in c.finding.after_it
    )


@pytest.mark.parametrize("rate", [100.0, 20.0])
def test_recovery_to_the_level_before_is_confirmed_and_the_healthy_state_goes_on(rate: float) -> None:
    (first, second), changes = judged(Serving(60, rate=rate, episodes=[Episode(15, 20), Episode(40, 44)]))
    for finding in (first, second):
        assert finding.after_it.startswith("back to the level before it")
        assert finding.level_after == pytest.approx(1.0, abs=0.05)
    assert 23 < lately(changes, "back to the level") < 27
    assert seconds(second.start_ns) == pytest.approx(40, abs=0.1)


def test_a_level_a_little_higher_is_within_the_tolerance_and_learned() -> None:
    serving = Serving(120, rate=50, episodes=[Episode(20, 25), Episode(100, 104)], shape=steps((25, 1.05)))
    (first, second), _ = judged(serving)
    assert first.after_it.startswith("back to the level before it")
    assert first.level_after == pytest.approx(1.05, abs=0.03)
    assert second.level_after == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("level", [1.2, 0.6])
def test_a_lasting_other_level_is_a_level_shift_and_the_new_normal(level: float) -> None:
    serving = Serving(125, rate=80, threads=False, episodes=[Episode(70, 75), Episode(105, 109, factor=3.0)])
    serving.shape = steps((75, level))
    (first, second), changes = judged(serving)
    assert first.after_it.startswith("level shift, taken as the new normal")
    assert first.level_after == pytest.approx(level, rel=0.05)
    assert 82 < lately(changes, "level shift") < 90
    # Measured from the new level, at once.
    assert seconds(second.start_ns) == pytest.approx(105, abs=0.1)
    assert second.slowdown == pytest.approx(3.0, rel=0.1)
    assert second.after_it.startswith("back to the level before it")


def test_after_a_shift_down_the_old_level_is_slow() -> None:
    serving = Serving(115, rate=80, threads=False, episodes=[Episode(70, 75)], shape=steps((75, 0.4), (100, 1.0)))
    (first, second), _ = judged(serving)
    assert first.level_after == pytest.approx(0.4, rel=0.05)
    assert seconds(second.start_ns) == pytest.approx(100, abs=0.1)
    assert second.slowdown == pytest.approx(2.5, rel=0.1)


def test_a_recovery_in_steps_is_no_level_shift() -> None:
    serving = Serving(70, rate=80, threads=False, episodes=[Episode(20, 25), Episode(50, 54)])
    serving.shape = steps((25, 1.18), (31, 1.0))
    found, changes = judged(serving)
    assert [round(seconds(f.start_ns)) for f in found] == [20, 50]
    assert found[0].after_it.startswith("back to the level before it")
    assert lately(changes, "back to the level") > 32
    assert found[0].level_after == pytest.approx(1.0, abs=0.06)


def test_a_next_episode_before_the_level_is_told_interrupts_the_check() -> None:
    serving = Serving(40, rate=60, episodes=[Episode(15, 18), Episode(19.2, 22), Episode(25.3, 27)])
    found, _ = judged(serving)
    assert [round(seconds(f.start_ns), 1) for f in found] == [15.0, 19.2, 25.3]
    assert found[0].after_it.startswith("the next episode began")
    assert "next episode" in found[1].after_it or found[1].after_it.startswith("back to the level before it")
    assert found[2].after_it.startswith("back to the level before it")


def test_the_end_of_the_session_leaves_it_open() -> None:
    (finding,), changes = judged(Serving(21, rate=60, episodes=[Episode(15, 20)]))
    assert finding.end_ns is not None
    assert finding.after_it.startswith("the session ended")
    assert finding.level_after is None
    assert changes[-1].change == "updated"


def test_a_mix_of_modes_that_shifts_is_no_level_shift() -> None:
    def modes(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
        factor = 2.0 if r.random() < (0.42 if t < 22 else 0.58) else 1.0
        for name in stages:
            stages[name] *= factor

    found, _ = judged(Serving(60, rate=80, threads=False, episodes=[Episode(20, 24, factor=6.0)], shape=modes))
    assert "level shift" not in found[0].after_it
