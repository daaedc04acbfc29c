"""One wake-up does all that is due: when the recorder wakes, and what belongs to a wake-up."""

from __future__ import annotations

import pytest

from livemon.record_agenda import LOGS_NS, MARKS_NS, SECOND_NS, WATCHED_LOGS_NS, WATCHED_MARKS_NS, Agenda, fitted_ns

MS = 1_000_000


def wake_ups(agenda: Agenda, seconds: int, *, has_ticks: bool, has_logs: bool, late_ns: int = 0) -> dict[str, int]:
    """Run the agenda on a clock of its own; how often it woke and what was done."""
    now_ns, done = 0, dict.fromkeys(("wake-ups", "ticks", "logs", "marks", "seconds"), 0)
    while now_ns < seconds * SECOND_NS:
        now_ns = max(agenda.due_ns(has_ticks=has_ticks, has_logs=has_logs), now_ns) + late_ns
        done["wake-ups"] += 1
        if has_ticks and agenda.ticks.is_due(now_ns):
            agenda.ticks.take(now_ns)
            done["ticks"] += 1
        for name in ("logs", "marks", "seconds"):
            done[name] += agenda.take(getattr(agenda, name), now_ns)
    return done


@pytest.mark.parametrize("late_ns", [0, 1 * MS, 7 * MS])
def test_everything_is_done_in_the_wake_ups_of_the_ticks(late_ns: int) -> None:
    done = wake_ups(Agenda(100 * MS, 0), 60, has_ticks=True, has_logs=True, late_ns=late_ns)
    assert done["wake-ups"] <= 602
    assert done["ticks"] >= 599
    assert done["logs"] >= 599
    assert done["seconds"] >= 59
    assert done["marks"] >= 60 * SECOND_NS // MARKS_NS - 1


def test_a_screen_costs_one_more_wake_up_a_tick() -> None:
    done = wake_ups(Agenda(100 * MS, 0, is_watched=True), 10, has_ticks=True, has_logs=True)
    assert done["wake-ups"] <= 202
    assert done["logs"] >= 199
    assert done["marks"] >= 10 * SECOND_NS // WATCHED_MARKS_NS - 1


def test_logs_alone_and_nothing_at_all_need_few_wake_ups() -> None:
    assert wake_ups(Agenda(100 * MS, 0), 10, has_ticks=False, has_logs=True)["wake-ups"] <= 102
    assert wake_ups(Agenda(100 * MS, 0), 10, has_ticks=False, has_logs=False)["wake-ups"] <= 12


def test_logs_are_read_in_time_whatever_the_interval_of_the_ticks() -> None:
    for interval_ms in (1, 7, 20, 30, 99, 100, 101, 250, 1000, 60_000):
        for wanted_ns in (LOGS_NS, WATCHED_LOGS_NS):
            fitted = fitted_ns(interval_ms * MS, wanted_ns)
            assert wanted_ns // 2 <= fitted <= wanted_ns * 3 // 2
            assert fitted % (interval_ms * MS) == 0 or interval_ms * MS // fitted == round(interval_ms * MS / fitted)


def test_a_longer_interval_keeps_ticks_and_logs_together() -> None:
    agenda = Agenda(100 * MS, 0)
    agenda.change_interval(200 * MS, 150 * MS)
    done = wake_ups(agenda, 10, has_ticks=True, has_logs=True)
    assert done["wake-ups"] <= 102
    assert done["ticks"] >= 48
