"""What a viewer costs as a whole process, beside other versions of it on the same growing session.

    python tests/benchmarks/ui_process.py [--threads 40] [--stages 12] [--seconds 30] [--tree OTHER_CHECKOUT ...]

One process writes a session in real time (10 ticks a second, a quarter of the threads in each); every
checkout shows it with ``livemon attach`` on its own pseudo-terminal at the same time, twice, in turns of a
few seconds. CPU is from /proc/PID/task/*/schedstat, in percent of one core: the median of the turns.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from array import array
from pathlib import Path

from livemon.model.clock import SystemClock
from livemon.model.facts import Cpu, SessionFacts, Topology
from livemon.model.samples import ClassColumns, ClockAnchor, LogStream, Sample, ThreadInfo, ThreadTick, TimingRecord
from livemon.session.writer import SessionWriter
from tests.benchmarks.ui_cost import ROOT, Run, drain, process_seconds

SECOND = 1_000_000_000
TICK = SECOND // 10
FACTS = SessionFacts(
    topology=Topology(tuple(Cpu(k, "P" if k < 8 else "E") for k in range(16)), ("P", "E"), "bench", ("E",), 16)
)
STAGES = ("prepare", "queue", "device_wall", "validate", "post")


class Growing:
    """Writes a session as a recorder does, tick by tick.

    Args:
        path: The session.
        threads: How many threads.
        stages: Rows of stages: six to a class.
        rate: Records a second.
    """

    def __init__(self, path: Path, threads: int, stages: int, rate: int) -> None:
        self._random = random.Random(1)
        self._threads, self._rate = threads, rate
        self._classes = [f"c{k}" for k in range(max(stages // (len(STAGES) + 1), 1))]
        self._totals = [[0] * threads for _ in range(4)]
        self._units = self._ticks = 0
        self._writer = SessionWriter(path, FACTS, max_bytes=4 << 30, clock=SystemClock())
        now = time.monotonic_ns()
        infos = [ThreadInfo(now, k, 7, 100 + k, f"w-{k}", process="serve") for k in range(threads)]
        anchor = ClockAnchor(now, now, time.time_ns())
        self._writer.append([anchor, LogStream(now, 0, "/gone.log"), *infos])
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        next_ns = time.monotonic_ns()
        while not self._is_stopped.wait(max(next_ns - time.monotonic_ns(), 0) / 1e9):
            self._writer.append(self._tick(time.monotonic_ns()))
            next_ns += TICK

    def _tick(self, now: int) -> list[Sample]:
        r = self._random
        count = max(self._rate // 10, 1)
        batch: list[Sample] = []
        for k in range(count):
            self._units += 1
            t = now - TICK + k * TICK // count
            parts = tuple((name, round(r.lognormvariate(0, 0.2), 3)) for name in STAGES)
            total = ("total", round(sum(value for _, value in parts) + 0.2, 3))
            label = self._classes[self._units % len(self._classes)]
            unit = str(self._units)
            batch.append(TimingRecord(t, t, "line", "req", unit, label, (*parts, total), line=self._units))
        self._ticks += 1
        n = self._threads
        ran = sorted(r.sample(range(n), max(1, round(n * 0.27)))) if self._ticks % 50 else list(range(n))
        cpu, delay, p, e = self._totals
        for k in ran:
            work = r.randrange(20_000_000)
            cpu[k] += work
            delay[k] += work // 10
            (e if k % 3 == 0 else p)[k] += work

        def pick(values: list[int], times: int = 1) -> array[int]:
            return array("q", [values[k] * times for k in ran])

        classes = tuple(ClassColumns(name, pick(v), pick(v, 4), pick(v, 9)) for name, v in (("P", p), ("E", e)))
        last = array("q", [8 if k % 3 == 0 else 0 for k in ran])
        is_keyframe = self._ticks % 50 == 0
        batch.append(
            ThreadTick(now, array("q", ran), pick(cpu), pick(delay), pick(cpu), last, classes, is_keyframe=is_keyframe)
        )
        return batch

    def close(self) -> None:
        """End the session."""
        self._is_stopped.set()
        self._thread.join()
        self._writer.close()


def measure(trees: list[Path], options: argparse.Namespace) -> None:
    """Run the viewers and print what each costs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "growing.livemon"
        growing = Growing(path, options.threads, options.stages, options.rate)
        time.sleep(1.0)
        runs: dict[str, Run] = {}
        for copy in ("a", "b"):
            for tree in trees:
                argv = [sys.executable, "-m", "livemon", "attach", str(path)]
                runs[f"{tree} {copy}"] = Run(argv, options.width, options.height, folder=tree)
        # A window of 60 s is full after a minute: only then does a frame cost what it will.
        drain(runs, options.warmup)
        if options.keys:
            for run in runs.values():
                os.write(run.fd, options.keys.encode())
            drain(runs, 2.0)
        shares: dict[str, list[float]] = {name: [] for name in runs}
        written = dict.fromkeys(runs, 0)
        turns = max(round(options.seconds / 3), 1)
        for _ in range(turns):
            before = {name: process_seconds(run.pid) for name, run in runs.items()}
            start = time.perf_counter()
            count = drain(runs, 3.0)
            took = time.perf_counter() - start
            for name, run in runs.items():
                shares[name].append((process_seconds(run.pid) - before[name]) / took * 100)
                written[name] += count[name]
        for name, run in runs.items():
            values = sorted(shares[name])
            print(
                f"{name:<40} {statistics.median(values):5.2f} % of a core ({values[0]:.1f} to {values[-1]:.1f})"
                f"   {written[name] / (3 * turns):6.0f} B/s   {run.memory_mb():4.0f} MB",
                flush=True,
            )
            run.close()
        growing.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=40)
    parser.add_argument("--stages", type=int, default=12)
    parser.add_argument("--rate", type=int, default=20, help="records a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warmup", type=float, default=60.0)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--height", type=int, default=50)
    parser.add_argument("--keys", default="", help="pressed before measuring")
    parser.add_argument("--tree", type=Path, action="append", default=[], help="another checkout to run beside this")
    options = parser.parse_args()
    measure([ROOT, *(tree.resolve() for tree in options.tree)], options)


if __name__ == "__main__":
    main()
