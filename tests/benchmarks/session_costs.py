"""What a session costs: CPU an append, disk an hour, reading an hour, seeking; printed, not asserted.

    python -m tests.benchmarks.session_costs [--minutes 10] [--threads 256] [--records 10] [--classes]

A recording of ``threads`` threads at 10 Hz, 27 % of them changed in a tick, with ``records`` timing records
a tick, is written as a recorder would (one append a tick, one ``maintain`` a second), then read.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

from livemon.model.facts import SessionFacts
from livemon.model.samples import (
    ClassColumns,
    LogCount,
    LogStream,
    MachineSample,
    Sample,
    SelfSample,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)
from livemon.session.writer import SessionWriter

TICK_NS = 100_000_000
START_NS = 1_000_000_000_000
STAGES = (("prepare_ctx", 0.7), ("bind_callable", 0.1), ("runner_run", 20.0), ("validate", 14.0), ("total", 36.0))


def recording(ticks: int, threads: int, records: int, has_classes: bool) -> Iterator[list[Sample]]:
    rng = random.Random(1)
    values = [[rng.randrange(10**11), rng.randrange(10**9), 0, rng.randrange(16)] for _ in range(threads)]
    counters = [[[0, 0, 0] for _ in range(2)] for _ in range(threads)]
    first: list[Sample] = [LogStream(START_NS, 0, "/var/log/serve.log")]
    first += [ThreadInfo(START_NS, i, 4711, 5000 + i, f"worker-{i}", 10**6 + i, "serve") for i in range(threads)]
    yield first
    run = offset = 0
    for number in range(ticks):
        now_ns = START_NS + number * TICK_NS + rng.randrange(300_000)
        batch: list[Sample] = []
        for _ in range(records):
            run += 1
            offset += 130
            at_ns = now_ns - int(rng.expovariate(1 / 2e6))
            stages = tuple((name, round(abs(rng.gauss(ms, ms / 10)), 2)) for name, ms in STAGES)
            batch.append(
                TimingRecord(now_ns, at_ns, "line", "c_api_timing", str(run), None, stages, (("dev", "0"),), None)
            )
        ran = list(range(threads)) if number % 50 == 0 else [i for i in range(threads) if rng.random() < 0.27]
        for i in ran:
            row = values[i]
            spent = int(rng.expovariate(1 / 2e7)) % 10**8
            row[0] += spent
            row[1] += int(rng.expovariate(1 / 1e6))
            row[2] += rng.randrange(1, 60)
            row[3] = rng.randrange(16) if rng.random() < 0.3 else row[3]
            if has_classes:
                counter = counters[i][rng.random() < 0.2]
                counter[0] += spent
                counter[1] += spent * 3 + rng.randrange(10**6)
                counter[2] += spent * 7 + rng.randrange(10**7)
        classes = tuple(
            ClassColumns(name, *(array("q", [counters[i][at][k] for i in ran]) for k in range(3)))
            for at, name in enumerate(("P", "E"))
            if has_classes
        )
        columns = [array("q", [values[i][k] for i in ran]) for k in range(4)]
        batch.append(ThreadTick(now_ns, array("q", ran), *columns, classes, number % 50 == 0))
        batch.append(LogCount(now_ns, 0, records, records, 0))
        if number % 10 == 0:
            names = [f"cpu{c}_{what}_ticks" for c in range(16) for what in ("softirq", "irq")]
            batch.append(MachineSample(now_ns, tuple((name, number * 3) for name in names)))
            batch.append(SelfSample(now_ns, number * 10**6, 12 << 20, number, 0, TICK_NS, 10**6))
        yield batch


READ = """
import sys, time, resource
from livemon.session.reader import SessionReader
start = time.perf_counter()
reader = SessionReader(sys.argv[1])
first, last = reader.bounds_ns
opened = time.perf_counter() - start
start = time.process_time()
count = 0
while samples := reader.read_new(4096):
    count += len(samples)
read = time.process_time() - start
worst = 0.0
for part in range(20):
    at_ns = first + (last - first) * part // 20
    start = time.perf_counter()
    reader.read_range(at_ns, at_ns + 1_000_000_000)
    worst = max(worst, time.perf_counter() - start)
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(opened, read, count, worst, rss)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=256)
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--classes", action="store_true")
    args = parser.parse_args()
    ticks = round(args.minutes * 600)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session"
        writer = SessionWriter(path, SessionFacts())
        appending = maintaining = 0.0
        slowest = 0.0
        for number, batch in enumerate(recording(ticks, args.threads, args.records, args.classes)):
            before = time.thread_time()
            writer.append(batch)
            after = time.thread_time()
            appending += after - before
            if number % 10 == 0:
                writer.maintain()
                step = time.thread_time() - after
                maintaining += step
                slowest = max(slowest, step)
        before = time.perf_counter()
        writer.close()
        closing = time.perf_counter() - before
        size = path.stat().st_size
        hours = args.minutes / 60
        read = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
        opened_s, read_s, count, worst_s, rss_mb = map(float, read.stdout.split())
    tick_s = TICK_NS / 1e9
    for name, spent in (("append", appending), ("maintain", maintaining)):
        print(f"{name:22} {spent / ticks * 1e3:8.3f} ms CPU a tick ({spent / ticks / tick_s:.2%} of a core)")
    print(f"longest step           {slowest * 1e3:8.1f} ms")
    print(f"close                  {closing * 1e3:8.1f} ms")
    print(f"disk                   {size / 1e6 / hours:8.1f} MB an hour")
    print(f"open                   {opened_s * 1e3:8.1f} ms")
    print(f"read one hour          {read_s / hours:8.2f} s CPU ({count / hours:,.0f} samples, {rss_mb:.0f} MB peak)")
    print(f"seek, worst of 20      {worst_s * 1e3:8.1f} ms")


if __name__ == "__main__":
    main()
