"""Damaged streams of a serving process: lost, doubled, corrupted and shifted samples, cut anywhere."""

from __future__ import annotations

import random
from array import array
from dataclasses import replace

import pytest

from livemon.engine.engine import Engine
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.samples import Mark, Sample, ThreadTick, TimingRecord
from tests.engine.serving import Episode, Serving


def healthy_and_slow(r: random.Random, seed: int) -> Serving:
    episodes, t = [], r.uniform(0, 9)
    while t < 22:
        end = t + r.uniform(0.2, 5)
        cause = r.choice(["placement", "ipc", "cycle_rate", "off_cpu"])
        only = r.choice([None, None, "features"])
        episodes.append(Episode(t, end, cause, r.uniform(1.2, 8), r.choice([1, 1, 0.5, 0.3]), only))
        t = end + r.uniform(0.1, 6)
    return Serving(
        24,
        seed=seed,
        rate=r.choice([2, 10, 40, 80]),
        episodes=episodes,
        noise=r.choice([0.1, 0.3, 0.6]),
        label=r.choice([None, "a"]),
        classes=r.choice([(), ("P",), ("P", "E"), ("E",)]),
        counts=r.random() < 0.7,
        threads=r.random() < 0.7,
        units=r.random() < 0.85,
        idle=[(15, 15 + r.uniform(0.3, 4))] if r.random() < 0.4 else [],
        stalls=[(12, 12 + r.uniform(0.3, 4))] if r.random() < 0.4 else [],
        clock_steps=[(13, r.choice([-5, -0.6, 3, 50]))] if r.random() < 0.4 else [],
    )


def damaged(samples: list[Sample], r: random.Random) -> list[Sample]:
    out: list[Sample] = []
    for sample in samples:
        chance = r.random()
        if chance < 0.02:
            continue
        if isinstance(sample, TimingRecord):
            if chance < 0.04:
                sample = replace(sample, t_ns=sample.t_ns + r.choice([-(10**9), 10**10, -(10**15), 10**7]))
            elif chance < 0.06:
                factor = r.choice([0, 1e9])
                sample = replace(sample, stages=tuple((name, ms * factor) for name, ms in sample.stages))
        elif isinstance(sample, ThreadTick) and chance < 0.04:
            sample = replace(sample, cpu_ns=array("q", [r.randrange(-1, 2**62) for _ in sample.cpu_ns]))
        out.append(sample)
        if r.random() < 0.01:
            out.append(sample)
        if r.random() < 0.001:
            out.append(Mark(sample.arrival_ns, sample.arrival_ns - r.randrange(3 * 10**9), "m"))
    return out


@pytest.mark.parametrize("seed", range(8))
def test_damage_neither_raises_nor_makes_findings_depend_on_the_cuts_nor_leave_the_stream(seed: int) -> None:
    r = random.Random(seed)
    samples = damaged(healthy_and_slow(r, seed).samples(), r)
    results = []
    for edges in ([], sorted(r.sample(range(1, len(samples)), min(60, len(samples) - 1)))):
        engine = Engine(Criteria(), SessionFacts())
        changes = []
        for a, b in zip([0, *edges], [*edges, len(samples)], strict=True):
            changes += engine.feed(samples[a:b])
        changes += engine.finish()
        results.append(repr((changes, engine.get(), engine.transitions(), engine.blips)))
    assert results[0] == results[1]
    first, last = samples[0].arrival_ns, samples[-1].arrival_ns
    for finding in engine.get():
        if finding.kind == "host_slow_transient":
            assert first <= finding.start_ns <= finding.detected_ns <= last
            assert finding.end_ns is None or finding.start_ns <= finding.end_ns <= last
