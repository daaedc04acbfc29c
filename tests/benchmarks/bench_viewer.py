"""What a frame costs: CPU ms of snapshots, seeks and details over sessions of several sizes.

    python tests/benchmarks/bench_viewer.py [--threads N --minutes M]

Prints CPU time (not wall time), so a busy machine changes the figures little.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path

from livemon.model.clock import ManualClock
from livemon.model.facts import Cpu, SessionFacts, Topology
from livemon.model.samples import ClassColumns, LogStream, Sample, ThreadInfo, ThreadTick, TimingRecord
from livemon.session.writer import SessionWriter
from livemon.viewer import SessionView

SECOND = 1_000_000_000
TICK = 100_000_000
START = 1_000 * SECOND
FACTS = SessionFacts(
    topology=Topology(tuple(Cpu(k, "P" if k < 8 else "E") for k in range(16)), ("P", "E"), "bench", ("E",), 16)
)


def write(path: Path, threads: int, minutes: float, rate: int) -> None:
    """A session with 27 % of its threads running in a tick and ``rate`` records of 6 stages a second."""
    r = random.Random(1)
    writer = SessionWriter(path, FACTS, max_bytes=4 << 30, clock=ManualClock())
    writer.append(
        [
            LogStream(START, 0, "/gone.log"),
            *(ThreadInfo(START, k, 7, 100 + k, f"w-{k}", process="serve") for k in range(threads)),
        ]
    )
    cpu, delay, p, e = ([0] * threads for _ in range(4))
    ticks = round(minutes * 600)
    unit = 0
    for tick in range(ticks):
        now = START + (tick + 1) * TICK
        batch: list[Sample] = []
        for k in range(rate // 10):
            unit += 1
            t = now - TICK + k * TICK // (rate // 10)
            values = tuple(
                (name, round(r.lognormvariate(0, 0.2), 3)) for name in ("prepare", "queue", "native", "post", "cpu")
            )
            batch.append(
                TimingRecord(t, t, "line", "req", str(unit), "ab"[unit % 2], (*values, ("total", 7.0)), line=unit)
            )
        ran = sorted(r.sample(range(threads), max(1, round(threads * 0.27)))) if tick % 50 else list(range(threads))
        for k in ran:
            work = r.randrange(20_000_000)
            cpu[k] += work
            delay[k] += work // 10
            (e if k % 3 == 0 else p)[k] += work
        pick = lambda values, times=1: array("q", [values[k] * times for k in ran])  # noqa: E731, B023
        classes = tuple(ClassColumns(name, pick(v), pick(v, 4), pick(v, 9)) for name, v in (("P", p), ("E", e)))
        last = array("q", [8 if k % 3 == 0 else 0 for k in ran])
        batch.append(
            ThreadTick(
                now, array("q", ran), pick(cpu), pick(delay), pick(cpu), last, classes, is_keyframe=tick % 50 == 0
            )
        )
        writer.append(batch)
    writer.close()


def cpu_ms(work: Callable[[], object], times: int = 5) -> float:
    """CPU ms of the best of a few runs."""
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best * 1e3


def measure(threads: int, minutes: float, rate: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.livemon"
        write(path, threads, minutes, rate)
        begin = time.process_time()
        view = SessionView(path)
        opened = time.process_time() - begin
        start, end = view.bounds_ns()
        r = random.Random(2)
        print(f"\n{threads} threads, {minutes:g} min, {rate} records/s: opened in {opened:.1f} s CPU")
        print(f"  newest frame, 60 s in 60 buckets   {cpu_ms(lambda: view.snapshot(None, 60 * SECOND, 60)):8.1f} ms")
        print(f"  newest frame, 60 s in 200 buckets  {cpu_ms(lambda: view.snapshot(None, 60 * SECOND, 200)):8.1f} ms")
        print(f"  newest frame, whole, 120 buckets   {cpu_ms(lambda: view.snapshot(None, end - start, 120)):8.1f} ms")
        seeks = [cpu_ms(lambda: view.snapshot(r.randrange(start, end), 60 * SECOND, 120), 1) for _ in range(10)]
        print(f"  seek anywhere, 60 s, 120 buckets   {sorted(seeks)[5]:8.1f} ms median, {max(seeks):.1f} ms worst")
        stage = cpu_ms(lambda: view.stage_detail("a", "native", None, 60 * SECOND, 120))
        thread = cpu_ms(lambda: view.thread_detail(0, None, 60 * SECOND, 120))
        print(f"  stage detail, thread detail        {stage:8.1f} ms, {thread:.1f} ms")
        print(
            f"  peak memory of this process        {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB"
        )
        view.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--rate", type=int, default=100)
    options = parser.parse_args()
    for sizes in [(options.threads, options.minutes)] if options.threads else [(40, 5), (2000, 1.5), (256, 10)]:
        measure(*sizes, options.rate)
