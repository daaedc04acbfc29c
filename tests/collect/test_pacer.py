"""Ticks on a grid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.collect.pacer import Pacer


def test_lateness_never_adds_up() -> None:
    pacer = Pacer(100, 1000)
    assert [pacer.take(now) for now in (1000, 1130, 1240, 1300)] == [0, 30, 40, 0]
    assert (pacer.ticks, pacer.late_ticks, pacer.missed_ticks, pacer.due_ns) == (4, 0, 0, 1400)


def test_a_tick_that_is_far_too_late_stands_for_those_it_missed() -> None:
    pacer = Pacer(100, 1000)
    pacer.take(1000)
    assert pacer.take(1450) == 350
    assert (pacer.missed_ticks, pacer.late_ticks, pacer.due_ns) == (3, 1, 1500)


def test_another_interval_counts_from_now() -> None:
    pacer = Pacer(100, 1000)
    pacer.take(1000)
    pacer.change_interval(500, 1020)
    assert not pacer.is_due(1519)
    assert pacer.is_due(1520)


def test_an_interval_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        Pacer(0, 0)


@given(st.integers(1, 1000), st.lists(st.integers(0, 5000), max_size=50))
def test_ticks_and_missed_ones_account_for_all_time(interval: int, waits: list[int]) -> None:
    pacer = Pacer(interval, 0)
    now = 0
    for wait in waits:
        now = max(now + wait, pacer.due_ns)
        pacer.take(now)
        assert pacer.due_ns % interval == 0
        assert now < pacer.due_ns <= now + interval
    assert (pacer.ticks + pacer.missed_ticks) * interval == pacer.due_ns
