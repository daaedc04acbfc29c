#!/usr/bin/env python3
"""Samples per second through ``Engine.feed`` on one core, and the report of an hour.

    engine_speed.py [--records N] [--threads N] [--ticks N] [--hours H] [--session PATH]

The hour has 256 threads at 10 Hz of which a quarter changes each time, and 100 records a second; it takes a
minute to record unless ``--session`` names a file: made there once, read from then on. Rates are per CPU
second. Samples are made beforehand; batches of one record show what working in batches gains.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from livemon.engine.engine import Engine  # noqa: E402
from livemon.model.criteria import Criteria  # noqa: E402
from livemon.model.facts import SessionFacts  # noqa: E402
from livemon.model.samples import ClassColumns, Sample, ThreadInfo, ThreadTick, TimingRecord  # noqa: E402
from livemon.session.writer import SessionWriter  # noqa: E402
from tests.benchmarks.session_costs import TICK_NS, recording  # noqa: E402

T0 = 10**15
STAGES = (("prepare", 0.12), ("queue", 0.08), ("features", 0.16), ("native", 9.4), ("action_head", 0.06))


def timing(n: int, per_s: float) -> list[Sample]:
    r = random.Random(1)
    out: list[Sample] = []
    for k in range(n):
        t = T0 + round(k / per_s * 1e9)
        stages = tuple((name, ms * r.lognormvariate(0, 0.12)) for name, ms in STAGES)
        total = sum(ms for _, ms in stages)
        out.append(TimingRecord(t, t, "line", "serve", str(k), "short", (*stages, ("total", total))))
    return out


def ticks(n: int, threads: int, classes: tuple[str, ...]) -> list[Sample]:
    r = random.Random(2)
    out: list[Sample] = [ThreadInfo(T0, k, 1, k, f"worker-{k}") for k in range(threads)]
    cpu, delay = [0] * threads, [0] * threads
    index = array("q", range(threads))
    for k in range(n):
        for i in range(threads):
            cpu[i] += r.randrange(5_000_000)
            delay[i] += 1000
        column = array("q", cpu)
        by_class = tuple(
            ClassColumns(c, array("q", column), array("q", [4 * v for v in cpu]), array("q", [9 * v for v in cpu]))
            for c in classes
        )
        at = T0 + (k + 1) * 100_000_000
        zeros = array("q", bytes(8 * threads))
        out.append(ThreadTick(at, index, column, array("q", delay), array("q", column), zeros, by_class))
    return out


def feed(samples: Sequence[Sample], batch: int) -> float:
    engine = Engine(Criteria(), SessionFacts())
    started = time.process_time()
    for k in range(0, len(samples), batch):
        engine.feed(samples[k : k + batch])
    engine.finish()
    return time.process_time() - started


def best(run: Callable[[], float]) -> float:
    return min(run() for _ in range(3))


def make_hour(path: Path, hours: float) -> None:
    """Record such a session."""
    writer = SessionWriter(path, SessionFacts(interval_ns=TICK_NS))
    for n, batch in enumerate(recording(round(36_000 * hours), 256, 10, False)):
        writer.append(batch)
        if n % 10 == 0:
            writer.maintain()
    writer.close()


def report(path: Path) -> tuple[float, float, float]:
    """Wall s, CPU s of all processes and the largest one's peak MB of ``livemon report --json``."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "livemon", "report", "--json", str(path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    json.load(process.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--threads", type=int, default=256)
    parser.add_argument("--ticks", type=int, default=400)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--session", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = args.session or Path(directory, "hour.livemon")
        if not path.exists():
            make_hour(path, args.hours)
        wall_s, cpu_s, peak_mb = report(path)
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        print(
            f"report --json of {path.stat().st_size / 1e6:.0f} MB: {wall_s:.1f} s, CPU {cpu_s:.1f} s, {peak_mb:.0f} MB"
        )
        print(f"  (load of the machine per CPU meanwhile: {load:.1f})")
    for per_s in (125, 1000, 10_000):
        samples = timing(args.records, per_s)
        for batch in (4096, 100, 1):
            some = samples if batch > 1 else samples[:3000]
            rate = len(some) / best(lambda s=some, b=batch: feed(s, b))  # type: ignore[misc]
            print(f"timing records at {per_s} a second, batches of {batch}: {rate:,.0f} records/s")
    for classes in ((), ("P", "E")):
        samples = ticks(args.ticks, args.threads, classes)
        n = args.ticks * args.threads
        spent = best(lambda s=samples: feed(s, 4096))  # type: ignore[misc]
        print(f"ticks of {args.threads} threads, classes {classes or 'none'}: {n / spent:,.0f} thread samples/s")
    long = [args.records // 4, args.records]
    spent_by_length = [best(lambda n=n: feed(timing(n, 1000), 4096)) / n for n in long]  # type: ignore[misc]
    print(f"time a record, session four times as long: {spent_by_length[1] / spent_by_length[0]:.2f} times")


if __name__ == "__main__":
    main()
