"""Several ticks at once give what they give one by one."""

from __future__ import annotations

import random
from array import array

import numpy as np
import pytest

from livemon.engine.tick_deltas import TickDelta, TickDeltas
from livemon.model.samples import ClassColumns, ThreadTick


def some_ticks(seed: int, n: int = 40, classes: tuple[str, ...] = (), has_times: bool = False) -> list[ThreadTick]:
    """Ticks of changing threads: counters that are missing, go back, run part of the time; ticks at one time."""
    r = random.Random(seed)
    at, out = 10**9, []
    held: dict[tuple[str, int], int] = {}

    def column(name: str, index: list[int]) -> array[int]:
        values = []
        for i in index:
            held[name, i] = max(0, held.get((name, i), 10**7) + r.randrange(-(10**4), 10**8))
            values.append(-1 if r.random() < 0.05 else 0 if r.random() < 0.02 else held[name, i])
        return array("q", values)

    for _ in range(n):
        at += r.choice([0, 10**8, 10**8, 3 * 10**8])
        index = sorted(r.sample(range(90), r.randrange(30)))
        by_class = tuple(
            ClassColumns(
                c,
                *(column(f"{c} {name}", index) for name in ("cpu", "cycles", "instructions")),
                *((column(f"{c} enabled", index), column(f"{c} running", index)) if has_times else ()),
            )
            for c in classes
        )
        base = [column(name, index) for name in ("cpu", "delay", "slices", "where")]
        out.append(ThreadTick(at, array("q", index), *base, by_class))
    return out


def arrays(delta: TickDelta) -> list[np.ndarray]:
    per_class = [a for c in delta.classes for a in (c.cpu_ns, c.cycles, c.instructions, c.counted_cpu_ns)]
    per_class += [a for c in delta.classes for a in (c.instructed_cpu_ns, c.paired_cycles, c.paired_instructions)]
    known = [delta.cpu_known, delta.delay_known]
    return [delta.index, delta.cpu_ns, delta.delay_ns, *known, delta.hops, delta.last_cpu, *per_class]


@pytest.mark.parametrize(("classes", "has_times"), [((), False), (("P", "E"), False), (("P", "E"), True)])
@pytest.mark.parametrize("seed", range(5))
def test_a_run_of_ticks_is_the_ticks_one_by_one(seed: int, classes: tuple[str, ...], has_times: bool) -> None:
    ticks = some_ticks(seed, classes=classes, has_times=has_times)
    singly, together = TickDeltas(), TickDeltas()
    at = 0
    r = random.Random(seed)
    while at < len(ticks):
        some = ticks[at : at + r.randrange(2, 12)]
        at += len(some)
        one_by_one = [singly.update(tick) for tick in some]
        run = together.update_run(some)
        if run is None:
            assert len(some) == 1 or not any(len(tick.index) for tick in some)
            assert all(together.update(tick) is not None for tick in some)
            continue
        assert run.dt_ns == [delta.dt_ns for delta in one_by_one]
        for k, delta in enumerate(one_by_one):
            part = slice(run.edges[k], run.edges[k + 1])
            for whole, single in zip(arrays(run.delta), arrays(delta), strict=True):
                assert whole[part].tolist() == single.tolist()
        assert together.resets == singly.resets


def test_odd_ticks_are_left_to_be_taken_one_by_one() -> None:
    first, second = some_ticks(1, 2)
    odd = [
        ThreadTick(second.arrival_ns, array("q", [5, 5]), *[array("q", [1, 2])] * 4),
        ThreadTick(second.arrival_ns, array("q", [-3]), *[array("q", [1])] * 4),
        ThreadTick(second.arrival_ns, array("q", [10**9]), *[array("q", [1])] * 4),
        some_ticks(2, 1, ("P",))[0],
    ]
    deltas = TickDeltas()
    for tick in odd:
        assert deltas.update_run([first, tick]) is None
    assert deltas.update(first).dt_ns == 0, "nothing was taken in"


@pytest.mark.parametrize(
    ("active", "counted", "cycles"), [(1.0, 10, 30), (0.5, 10, 30), (0.2, 10, 30), (0.19, 0, 0), (0.0, 0, 0)]
)
def test_counts_are_scaled_by_the_active_share_and_refused_below_a_floor(
    active: float, counted: int, cycles: int
) -> None:
    """Three cycles a ns: scaled to the whole 10 ms where a fifth of them at least was counted."""
    ms = 1_000_000
    deltas = TickDeltas()
    for k in range(2):
        seen = round(k * 10 * ms * active)
        columns = ClassColumns("P", *(array("q", [n]) for n in (k * 10 * ms, 3 * seen, seen, k * 10 * ms, seen)))
        one = (array("q", [n]) for n in (0, k * 10 * ms, 0, k, 3))
        delta = deltas.update(ThreadTick(k * 100 * ms, *one, classes=(columns,)))
    (found,) = delta.classes
    assert found.cpu_ns.tolist() == [10 * ms]  # the time on the class is known all the same
    assert found.counted_cpu_ns.tolist() == [counted * ms]
    assert found.cycles.tolist() == [cycles * ms]
    assert found.is_scaled == (0.2 <= active < 1)


@pytest.mark.parametrize(("has_cycles", "has_instructions"), [(True, False), (False, True), (True, True)])
def test_one_count_is_known_without_the_other_and_makes_no_pair(has_cycles: bool, has_instructions: bool) -> None:
    ms = 1_000_000
    deltas = TickDeltas()
    for k in range(2):
        counts = (3 * k * ms if has_cycles else -1, 2 * k * ms if has_instructions else -1)
        columns = ClassColumns("P", *(array("q", [n]) for n in (k * ms, *counts)))
        delta = deltas.update(ThreadTick(k * 100 * ms, *(array("q", [n]) for n in (0, k * ms, 0, k, 3)), (columns,)))
    (found,) = delta.classes
    assert (found.cycles[0], found.counted_cpu_ns[0]) == ((3 * ms, ms) if has_cycles else (0, 0))
    assert (found.instructions[0], found.instructed_cpu_ns[0]) == ((2 * ms, ms) if has_instructions else (0, 0))
    pair = (3 * ms, 2 * ms) if has_cycles and has_instructions else (0, 0)
    assert (found.paired_cycles[0], found.paired_instructions[0]) == pair
