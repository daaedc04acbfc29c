"""Transitions: the bin rule, the buckets, the readings, and the control that guards them."""

from __future__ import annotations

import random

import pytest

from livemon.engine.engine import Engine
from livemon.model.criteria import Criteria, load_criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Transition
from livemon.model.samples import Mark, Sample
from tests.engine.aligned_rows import ThreadRow, UnitRow, session
from tests.engine.serving import Episode, Serving, ns, seconds

T0 = 70_000_000_000_000
APART_NS = 40_000_000_000
SLOW_MS, FAST_MS = 12.4, 9.9


def units(slow_bins: list[float], native_ms: float = 9.6) -> list[UnitRow]:
    """40 bins of half a second, the first ones slow by their shares."""
    shares = slow_bins + [0.0] * (40 - len(slow_bins))
    return [
        UnitRow(
            k / 2,
            k / 2 + 0.5,
            40 if share else 50,
            share,
            SLOW_MS if share else FAST_MS,
            native_ms if share else 9.4,
            0.03 if share else 0.011,
        )
        for k, share in enumerate(shares)
    ]


def threads(slow_s: float, share: float = 0.97) -> list[ThreadRow]:
    """A dispatcher that is on efficiency cores for that long, then on fast ones; idle before."""
    rows = [ThreadRow(-2.0, 0.0, "dispatch", 3.0, 0.6, 1.9, 1.3, 1.2)]
    if slow_s:
        rows.append(ThreadRow(0.0, slow_s, "dispatch", 138 * slow_s, share, 4.0, 1.32, 1.75))
    return [*rows, ThreadRow(slow_s, 20.0, "dispatch", 31 * (20 - slow_s), 0.0, 4.0, 1.3, 3.25)]


STUDY = [
    ("control", [0.33], 0.5),
    ("control", [0.21], 0.5),
    ("async", [0.97, 1.0, 1.0, 1.0, 1.0, 0.24], 3.0),
    ("async", [0.97, 1.0, 1.0, 1.0, 1.0, 0.97, 1.0, 0.53], 4.0),
    ("async", [0.27], 0.5),
    ("async", [0.97] + [1.0] * 28 + [0.57], 15.0),
]


def study(rows: list[tuple[str, list[float], float]]) -> list[Sample]:
    return session(
        [(T0 + n * APART_NS, text, units(bins), threads(length)) for n, (text, bins, length) in enumerate(rows)]
    )


def judged(samples: list[Sample], criteria: Criteria | None = None) -> tuple[Transition, ...]:
    engine = Engine(criteria or Criteria(), SessionFacts())
    engine.feed(samples)
    engine.finish()
    return engine.transitions()


def applies(transition: Transition) -> list[str]:
    return [cause.cause for cause in transition.reading if cause.verdict == "applies"]


def test_the_bin_rule_gives_the_published_lengths() -> None:
    found = judged(study(STUDY))
    assert [t.transient_s for t in found] == [length for _, _, length in STUDY]
    assert [t.text for t in found] == [text for text, _, _ in STUDY]


def test_placement_is_the_only_reading_of_the_slow_group() -> None:
    found = judged(study(STUDY))
    assert applies(found[2]) == ["placement"]
    assert "quick_recovery" in applies(found[0])
    placement = next(cause for cause in found[2].reading if cause.cause == "placement")
    assert "4 of 4 transitions" in placement.evidence
    assert placement.threads == ("dispatch",)


def test_a_slower_device_is_its_own_reading() -> None:
    rows = units([1.0] * 4, native_ms=11.0)
    found = judged(session([(T0, "m", rows, threads(0.0))]))
    assert applies(found[0]) == ["device", "quick_recovery"]


def test_a_rise_without_placement_but_with_low_ipc_is_unexplained() -> None:
    slow = ThreadRow(0.0, 2.0, "dispatch", 280, 0.0, 4.0, 1.3, 1.4)
    steady = ThreadRow(2.0, 20.0, "dispatch", 31 * 18, 0.0, 4.0, 1.3, 3.25)
    found = judged(session([(T0, "m", units([1.0] * 4), [slow, steady])]))
    assert applies(found[0]) == ["ipc", "quick_recovery"]


def test_a_control_that_departs_draws_no_reading() -> None:
    criteria = load_criteria('[transitions]\ncontrol = "control"\n')
    assert applies(judged(study(STUDY), criteria)[2]) == ["placement"]
    departed = [("control", [1.0] * 6, 3.0), *STUDY[2:]]
    found = judged(study(departed), criteria)
    assert all(cause.verdict == "unknown" and "control" in cause.evidence for t in found for cause in t.reading)


def test_buckets_are_aligned_at_the_mark_with_the_idle_time_before_it() -> None:
    (found,) = judged(study([("m", [1.0, 1.0], 1.0)]))
    by_start = {bucket.start_s: bucket for bucket in found.buckets}
    assert list(by_start) == [-2.0, 0.0, 0.5, 1.0, 2.0, 4.0, 5.0, 10.0]
    assert by_start[-2.0].units == 0
    assert by_start[-2.0].efficiency_share == pytest.approx(0.6, abs=0.01)
    assert by_start[0.0].p50_ms == pytest.approx(SLOW_MS)
    assert by_start[0.0].host_slow_share == 1.0
    assert by_start[0.0].ipc == pytest.approx(1.75, rel=0.01)
    assert by_start[10.0].host_slow_share == 0.0
    assert by_start[10.0].cycles_per_ns == pytest.approx(4.0, rel=0.01)
    assert by_start[10.0].cpu_ms_per_unit == pytest.approx(0.31, rel=0.05)


def test_a_mark_that_comes_late_still_has_what_came_before_it() -> None:
    serving = Serving(40, episodes=[Episode(12.0, 14.0)])
    late = Mark(ns(13.0), ns(12.0), "late")
    samples = sorted([*serving.samples(), late], key=lambda s: s.arrival_ns)
    (found,) = judged(samples)
    assert found.transient_s == 2.0
    assert seconds(found.t0_ns) == 12.0
    assert found.buckets[0].units > 150
    assert found.buckets[0].host_slow_share == 0.0


def test_without_a_threshold_the_learned_healthy_state_tells_slow_units() -> None:
    criteria = load_criteria("[transitions]\nslow_ms = false\n")
    serving = Serving(40, episodes=[Episode(12.0, 15.0, "ipc", 1.7)])
    samples = sorted([*serving.samples(), Mark(ns(12.0), ns(12.0), "m")], key=lambda s: s.arrival_ns)
    assert judged(samples)[0].transient_s == 0.0  # prepare stays below 0.3 ms mostly
    assert judged(samples, criteria)[0].transient_s == 3.0


def test_a_threshold_below_the_healthy_state_gives_way_to_the_learned_one() -> None:
    def slower(_t: float, _number: int, stages: dict[str, float], _r: random.Random) -> None:
        stages["prepare"] *= 10  # healthy at 1.2 ms: the threshold of 0.3 ms would call every unit slow

    serving = Serving(40, episodes=[Episode(12.0, 15.0)], shape=slower)
    samples = sorted([*serving.samples(), Mark(ns(12.0), ns(12.0), "m")], key=lambda s: s.arrival_ns)
    (found,) = judged(samples)
    assert found.transient_s == 3.0
    assert [b.host_slow_share for b in found.buckets if b.start_s in (-2.0, 4.0)] == [0.0, 0.0]


def test_a_session_that_begins_slow_does_not_overrule_the_threshold() -> None:
    samples = Serving(30, episodes=[Episode(0.0, 3.5)]).samples()
    first = samples[0].arrival_ns
    (found,) = judged([Mark(first, ns(0.5), "m"), *samples])
    assert found.transient_s == 3.0


def test_a_mark_without_units_has_no_length() -> None:
    (found,) = judged([Mark(T0, T0, "alone")])
    assert found.transient_s is None
    assert found.reading == ()


def test_a_thread_known_from_idle_time_alone_raises_nothing_when_the_load_begins() -> None:
    idle = [
        ThreadRow(-2.0, 0.0, "worker", 70.0, 0.58, 1.76, 1.83, 3.83),
        ThreadRow(-2.0, 0.0, "client", 3.0, 0.9, 1.3, 1.1, 1.2),
    ]
    load = [
        ThreadRow(0.0, 20.0, "worker", 1500, 0.0, 3.2, 1.3, 2.8),
        ThreadRow(0.0, 20.0, "client", 280, 0.0, 4.2, 1.3, 4.4),
        ThreadRow(0.0, 20.0, "dispatch", 620, 0.0, 4.0, 1.3, 3.2),
    ]
    engine = Engine(Criteria(), SessionFacts())
    engine.feed(session([(T0, "load", [], [*idle, *load])]))
    engine.finish()
    assert engine.get() == ()


def test_a_figure_that_is_not_known_rules_nothing_out() -> None:
    """Threads without counters: no efficiency share, no cycles, no instructions."""
    samples = Serving(60, classes=(), episodes=[Episode(30.0, 32.0, "off_cpu")]).samples()
    samples.append(Mark(ns(30.0), ns(30.0), "slow"))
    (found,) = judged(sorted(samples, key=lambda sample: sample.arrival_ns))
    reading = {cause.cause: cause for cause in found.reading}
    assert "efficiency share unknown" in reading["placement"].evidence
    assert reading["placement"].verdict == "unknown"
    assert reading["ipc"].evidence == "IPC unknown"
    assert reading["ipc"].verdict == "unknown"
