"""Ticks that are taken several at a time leave the rings as if they had come one by one."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.thread_rings import ThreadRings
from livemon.engine.tick_deltas import TickDeltas
from livemon.model.criteria import Criteria
from livemon.model.samples import UNKNOWN, ThreadTick
from tests.engine.kernels import MS
from tests.engine.test_totals import HYBRID
from tests.engine.ticks import Work


def ticks_of(seed: int, classes: tuple[str, ...]) -> list[ThreadTick]:
    """Ticks with threads that come late, readings that fail, ticks at one time, and a long pause."""
    r = random.Random(seed)
    work = Work(9, classes=classes)
    ticks = [work.tick([0, 1])]
    for n in range(60):
        threads = sorted(r.sample(range(9 if n > 20 else 5), r.randrange(1, 5)))
        for thread in threads:
            work.run(thread, r.randrange(90 * MS), **({"on": r.choice(classes)} if classes else {}))
            if r.random() < 0.1:
                work.cpu[thread] = UNKNOWN
        tick = work.tick(threads)
        for k in range(len(threads)):
            if r.random() < 0.1:
                tick.last_cpu[k] = UNKNOWN
        ticks.append(tick)
        if n == 30:
            work.t_ns += 5_000_000_000
    return ticks


def state(rings: ThreadRings) -> list[object]:
    found: list[object] = [rings.newest_ns, rings.class_names, rings.is_exact, rings.is_scaled]
    flags = (rings.last_cpu, rings.lacks_cpu, rings.has_delay, rings.has_where, rings.has_counters)
    found += [flag[:9].tolist() for flag in flags]
    for level in rings._levels:
        for block in [*level.blocks, *filter(None, [level.unfinished()])]:
            found.append((block.start_ns, block.end_ns, block.ticks, block.index.tolist(), block.rows.tobytes()))
    return found


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 61), max_size=12), st.sampled_from([("P", "E"), ()]))
def test_any_cut_gives_the_same_rings(seed: int, cuts: list[int], classes: tuple[str, ...]) -> None:
    ticks = ticks_of(seed, classes)
    cores = CoreClasses(Criteria(), HYBRID)
    single, deltas = ThreadRings(cores), TickDeltas()
    for tick in ticks:
        single.update(deltas.update(tick))
    several, deltas = ThreadRings(cores), TickDeltas()
    for first, stop in pairwise([0, *sorted(cuts), len(ticks)]):
        if first < stop:
            several.take(ticks[first:stop], deltas)
    assert state(several) == state(single)
    assert np.array_equal(several.lacks_cpu[:9], single.lacks_cpu[:9])
