"""When livemon cuts itself down, in which order, and when it takes that back."""

from __future__ import annotations

from livemon.collect.budget import Budget, Decision

S = 1_000_000_000
MS = 1_000_000


def run(budget: Budget, percent: float, seconds: int, start_s: int, cpu_ns: int = 0) -> tuple[list[Decision], int]:
    """So many seconds at a constant share of a core; decisions and CPU time."""
    decisions = []
    for second in range(start_s, start_s + seconds):
        cpu_ns += round(percent / 100 * S)
        decisions.append(budget.update(cpu_ns, second * S))
    return decisions, cpu_ns


def test_within_the_budget_nothing_changes() -> None:
    decisions, _ = run(Budget(max_cpu_percent=5, interval_ns=100 * MS, counters=True), 4.9, 120, 0)
    assert {(d.interval_ns, d.counters, d.degraded, d.changed) for d in decisions} == {(100 * MS, True, "", False)}


def test_counters_go_first_then_the_interval_up_to_a_second() -> None:
    decisions, _ = run(Budget(max_cpu_percent=5, interval_ns=100 * MS, counters=True), 30, 60, 0)
    steps = [(d.counters, d.interval_ns // MS) for d in decisions if d.changed]
    assert steps == [(False, 100), (False, 200), (False, 400), (False, 800), (False, 1000)]
    assert "30.0 % of a core, over its 5 %" in decisions[-1].degraded
    assert "every 1000 ms instead of every 100 ms, hardware counters off" in decisions[-1].degraded


def test_a_short_burst_is_no_reason() -> None:
    budget = Budget(max_cpu_percent=5, interval_ns=100 * MS, counters=False)
    _, cpu_ns = run(budget, 1, 10, 0)
    burst, cpu_ns = run(budget, 15, 1, 10, cpu_ns)
    after, _ = run(budget, 1, 30, 11, cpu_ns)
    assert not any(d.changed for d in burst + after)


def test_a_step_is_taken_back_after_a_calm_time_only() -> None:
    budget = Budget(max_cpu_percent=5, interval_ns=100 * MS, counters=True)
    _, cpu_ns = run(budget, 8, 12, 0)
    calm, cpu_ns = run(budget, 1, 120, 12, cpu_ns)
    changes = [(second, d.counters, d.interval_ns // MS) for second, d in enumerate(calm, 12) if d.changed]
    assert [change[1:] for change in changes] == [(False, 100), (True, 100)]
    assert changes[0][0] >= 11 + 30
    assert calm[-1].degraded == ""


def test_a_slow_interval_that_was_asked_for_is_not_made_faster() -> None:
    decisions, _ = run(Budget(max_cpu_percent=5, interval_ns=5 * S, counters=False), 30, 60, 0)
    assert {d.interval_ns for d in decisions} == {5 * S}
