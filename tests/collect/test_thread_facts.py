"""How often the facts of threads are read that seldom change."""

from __future__ import annotations

import pytest

from livemon.collect.thread_facts import SlowFacts


class NoThreads:
    """A table of so many threads of which only the number is asked for."""

    def __init__(self, count: int) -> None:
        self.count, self.looks = count, 0

    def __len__(self) -> int:
        return self.count

    threads = property(lambda self: self)

    def __getitem__(self, position: int) -> int:
        self.looks += 1
        return position


@pytest.mark.parametrize(("threads", "round_s"), [(3, 2.0), (40, 2.0), (400, 2.0), (800, 4.0), (2000, 5.0)])
@pytest.mark.parametrize("interval_ms", [20, 100, 1000])
def test_every_thread_is_looked_at_every_2_s_and_many_as_often_as_200_looks_a_second_allow(
    threads: int, round_s: float, interval_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = SlowFacts(interval_ms * 1_000_000, is_real=False)
    monkeypatch.setattr(facts, "_update", lambda thread: False)
    table = NoThreads(threads)
    for _ in range(40_000 // interval_ms):
        if facts.is_due(threads):
            facts.next_changed(table)  # type: ignore[arg-type]
    rounds = table.looks / threads
    assert rounds == pytest.approx(40 / round_s, abs=1.0)
