#!/usr/bin/env python3
"""How well host-slow episodes are found at low rates, and whether short bursts stay quiet.

    low_rates.py [--seeds N] [--first SEED] [--seconds S]

Scenarios are made here: units at random times, three threads with counters (or none), episodes of all causes; then
the same service with bursts of 40 to 90 ms in which every host stage is slow, which are no episodes. A hit overlaps
the episode, is raised in it or within 1 s after it, and its start is right to 1 s or a quarter of the length.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from livemon.engine.engine import Engine  # noqa: E402
from livemon.model.criteria import Criteria, Roles  # noqa: E402
from livemon.model.facts import SessionFacts  # noqa: E402
from livemon.model.findings import HostSlowTransient  # noqa: E402
from tests.engine.serving import Episode, Serving, seconds  # noqa: E402

CRITERIA = Criteria(roles=Roles(host=("prepare", "features", "handoff", "action_head")))
CAUSES = ("placement", "cycle_rate", "ipc", "off_cpu")
LENGTHS = {20.0: (1.0, 8.0), 10.0: (1.5, 8.0), 5.0: (2.0, 8.0), 2.0: (4.0, 15.0), 1.0: (8.0, 25.0)}
"""Units per s -> shortest and longest episode, s."""


@dataclass
class Score:
    """Over the scenarios of one row."""

    episodes: int = 0
    hits: int = 0
    false: int = 0
    hours: float = 0.0
    causes: int = 0
    right: int = 0
    delays: list[float] = field(default_factory=list)


def judged(serving: Serving) -> list[HostSlowTransient]:
    engine = Engine(CRITERIA, SessionFacts(), ("host_slow_transient",))
    engine.feed(serving.samples())
    engine.finish()
    return [f for f in engine.get() if isinstance(f, HostSlowTransient)]


def scattered(r: random.Random, rate: float, duration: float, factors: tuple[float, float]) -> list[Episode]:
    low, high = LENGTHS[rate]
    episodes, t = [], max(20.0, 40.0 / rate) + r.uniform(0, 5)
    while t < duration - high:
        length = r.uniform(low, high)
        episodes.append(Episode(t, t + length, r.choice(CAUSES), r.uniform(*factors)))
        t += length + r.uniform(4, 10) + 12 / rate
    return episodes


def compare(score: Score, episodes: list[Episode], found: list[HostSlowTransient], duration: float) -> None:
    score.episodes += len(episodes)
    score.hours += duration / 3600
    left = list(found)
    for e in episodes:
        near = max(1.0, 0.25 * (e.end - e.start))
        for f in left:
            start, raised = seconds(f.start_ns), seconds(f.detected_ns)
            if abs(start - e.start) <= near and e.start - 0.05 <= raised <= e.end + 1.0:
                score.hits += 1
                score.delays.append(raised - e.start)
                if f.primary_cause is not None:
                    score.causes += 1
                    score.right += f.primary_cause == e.cause
                left.remove(f)
                break
    score.false += len(left)


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(q * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0)
    args = parser.parse_args()
    print("units/s  threads  episodes  recall  precision  delay P50 s  P95 s  cause right  false alarms/h")
    for rate in LENGTHS:
        for threads in (True, False):
            score = Score()
            duration = max(args.seconds, 600 / rate)
            for seed in range(args.first, args.first + args.seeds):
                episodes = scattered(random.Random(f"{seed} {rate}"), rate, duration, (3.0, 6.0))
                serving = Serving(duration, seed, rate, episodes=episodes, threads=threads, at_random=True)
                compare(score, episodes, judged(serving), duration)
            cause = f"{score.right / score.causes:.3f}" if score.causes else "–"
            print(
                f"{rate:7g}  {'yes' if threads else 'no':7s}  {score.episodes:8d}  {score.hits / score.episodes:6.3f}"
                f"  {score.hits / max(score.hits + score.false, 1):9.3f}  {quantile(score.delays, 0.5):11.2f}"
                f"  {quantile(score.delays, 0.95):5.2f}  {cause:>11s}  {score.false / score.hours:14.1f}"
            )
    print("\nbursts of 40 to 90 ms every 5 s or so, which are no episodes")
    for rate in (100.0, 90.0, 50.0, 20.0, 10.0):
        score = Score()
        for seed in range(args.first, args.first + args.seeds):
            r = random.Random(f"bursts {seed} {rate}")
            bursts, t = [], 8.0
            while t < args.seconds:
                bursts.append(Episode(t, t + r.uniform(0.04, 0.09), r.choice(CAUSES), r.uniform(3.0, 6.0)))
                t += r.uniform(2.5, 7.5)
            serving = Serving(args.seconds, seed, rate, episodes=bursts, at_random=rate != 100.0)
            compare(score, [], judged(serving), args.seconds)
        print(f"{rate:7g} units/s: {score.false} false alarms in {score.hours:.2f} h")


if __name__ == "__main__":
    main()
