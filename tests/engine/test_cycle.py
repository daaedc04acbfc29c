"""The cycle of interleaved kernels."""

import math
import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.engine.cycle import HOLD, Cycle
from livemon.engine.cycle_fit import discover

THREE = ((48.0, 56.0), (14.0, 20.0), (82.0, 91.0))
FIVE = ((48.0, 56.0), (14.0, 20.0), (22.0, 27.0), (9.0, 12.0), (82.0, 91.0))


def durations(levels: tuple[tuple[float, float], ...], n: int, seed: int = 1) -> list[float]:
    r = random.Random(seed)
    return [r.uniform(*levels[i % len(levels)]) for i in range(n)]


def positions(cycle: Cycle, runs: Iterable[tuple[int | None, float]]) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for k, (index, value) in enumerate(runs):
        found += cycle.update(index, value, counts=index != 0 and not (index is None and k == 0))
    return found + cycle.finish()


def test_three_kernels_are_told_apart_after_three_cycles_and_earlier_runs_get_their_position_too() -> None:
    cycle = Cycle()
    values = durations(THREE, 48)
    assert cycle.period is None
    for k in range(9):
        assert cycle.update(k, values[k], counts=k > 0) == []
    assert cycle.update(9, values[9]) == [(k % 3, 3) for k in range(10)]
    assert cycle.period == 3
    assert positions(cycle, enumerate(values[10:], start=10)) == [(k % 3, 3) for k in range(10, 48)]


def test_lost_lines_shift_nothing_when_lines_have_an_index() -> None:
    r = random.Random(3)
    runs = [(k, v) for k, v in enumerate(durations(THREE, 600)) if r.random() > 0.2]
    found = positions(Cycle(), runs)
    assert found == [(k % 3, 3) for k, _ in runs]


@pytest.mark.parametrize("seed", range(6))
def test_lost_lines_without_an_index_slip_the_phase_and_no_level_is_mixed(seed: int) -> None:
    r = random.Random(seed)
    kept = [(k, v) for k, v in enumerate(durations(THREE, 600, seed)) if k < 12 or r.random() > 0.03]
    found = positions(Cycle(), [(None, v) for _, v in kept])
    right = sum(phase == (k % 3, 3) for phase, (k, _) in zip(found, kept, strict=True))
    assert right >= len(kept) - 2


def test_a_change_of_period_is_found_and_the_runs_in_between_are_not_mixed_up() -> None:
    values = durations(THREE, 300) + durations(FIVE, 300)
    cycle = Cycle()
    found = positions(cycle, [(k, v) for k, v in enumerate(values)])
    assert cycle.period == 5
    assert found[:300] == [(k % 3, 3) for k in range(300)]
    assert found[302:] == [(k % 5, 5) for k in range(302, 600)]


@pytest.mark.parametrize("seed", range(8))
def test_an_overloaded_host_that_makes_runs_noisy_does_not_lose_the_cycle(seed: int) -> None:
    r = random.Random(seed)
    values = [
        v * (r.lognormvariate(0.6, 0.5) if 100 <= k < 250 else 1.0) for k, v in enumerate(durations(THREE, 400, seed))
    ]
    assert positions(Cycle(), enumerate(values)) == [(k % 3, 3) for k in range(400)]


@pytest.mark.parametrize("seed", range(8))
def test_a_cycle_that_gives_way_to_random_kernels_is_given_up(seed: int) -> None:
    r = random.Random(seed)
    values = durations(THREE, 150, seed) + [r.uniform(*r.choice(THREE)) for _ in range(250)]
    found = positions(Cycle(), enumerate(values))
    assert found[:150] == [(k % 3, 3) for k in range(150)]
    assert found[-150:] == [None] * 150


def test_levels_that_fall_together_keep_their_positions() -> None:
    values = durations(THREE, 60) + durations(((2.6, 4.2), (2.0, 3.6), (3.0, 4.4)), 60)
    found = positions(Cycle(), list(enumerate(values)))
    assert found == [(k % 3, 3) for k in range(120)]


def test_one_class_at_a_new_level_changes_nothing_about_the_others() -> None:
    values = durations(THREE, 60) + durations((THREE[0], (70.0, 75.0), THREE[2]), 60)
    for index in (True, False):
        found = positions(Cycle(), [(k if index else None, v) for k, v in enumerate(values)])
        assert found == [(k % 3, 3) for k in range(120)]


def test_a_spike_moves_no_phase() -> None:
    values = durations(THREE, 90)
    values[40] = 500.0
    values[62] = 17.0
    assert positions(Cycle(), [(None, v) for v in values]) == [(k % 3, 3) for k in range(90)]


def test_runs_that_are_alike_are_one_class_after_six() -> None:
    cycle = Cycle()
    found = positions(cycle, list(enumerate(durations(((15.5, 18.5),), 40))))
    assert found == [(0, 1)] * 40
    assert cycle.period == 1


def test_no_cycle_in_random_kernels_and_the_runs_do_not_wait_for_ever() -> None:
    r = random.Random(5)
    cycle = Cycle()
    values = [r.uniform(*THREE[r.randrange(3)]) for _ in range(500)]
    waited = 0
    for k, value in enumerate(values):
        cycle.update(k, value)
        waited = max(waited, cycle.held)
    assert waited <= HOLD
    assert cycle.period == 1


def test_a_fixed_period_is_taken_as_it_is() -> None:
    assert positions(Cycle(3), [(7, 1.0), (8, 1.0)]) == [(1, 3), (2, 3)]
    assert positions(Cycle(2), [(None, 1.0), (None, 1.0), (None, 1.0)]) == [(0, 2), (1, 2), (0, 2)]
    assert positions(Cycle(False), [(7, 1.0)]) == [None]


def test_a_multiple_of_a_noisy_cycle_does_not_win_by_its_many_phases() -> None:
    found = []
    for seed in range(200):
        r = random.Random(seed)
        runs = [math.log((2.0, 3.6, 6.0)[i % 3]) + r.gauss(0, 0.2) for i in range(36)]
        found.append(discover(runs, range(36), 16))
    told = [period for period in found if period is not None]
    assert len(told) >= 50
    assert told.count(3) >= 0.95 * len(told)


def test_a_long_cycle_is_not_taken_for_one_of_its_parts() -> None:
    levels = (2.0, 3.6, 6.0, 2.0, 3.6, 9.0)
    for seed in range(50):
        r = random.Random(seed)
        runs = [math.log(levels[i % 6]) + r.gauss(0, 0.05) for i in range(24)]
        assert discover(runs, range(24), 16) == 6


def test_two_alternating_values_are_not_a_cycle_of_four() -> None:
    assert discover([1.0, 3.0] * 8, range(16), 16) == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 10**12), st.floats(0, 1e9), st.booleans()),
        max_size=150,
    )
)
def test_every_run_gets_exactly_one_answer(runs: list[tuple[int | None, float, bool]]) -> None:
    cycle = Cycle()
    answers = 0
    for index, value, counts in runs:
        answers += len(cycle.update(index, value, counts=counts))
        assert cycle.held + answers <= len(runs)
    assert answers + len(cycle.finish()) == len(runs)
