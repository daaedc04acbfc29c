"""A scripted recording: appends as a recorder makes them, and sessions made of them."""

import random
from array import array
from collections.abc import Sequence
from pathlib import Path

from livemon.model.clock import ManualClock
from livemon.model.facts import SessionFacts, Target, Topology
from livemon.model.samples import (
    ClockAnchor,
    LogCount,
    LogStream,
    MachineSample,
    Sample,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)
from livemon.session.writer import SessionWriter

ROOT = Path(__file__).parents[2]
"""Where programs that import this are started."""
START_NS = 1_000_000_000_000
TICK_NS = 100_000_000
FACTS = SessionFacts(
    host="testhost",
    livemon_version="0.1.0",
    targets=(Target(4711, "serve", "serve --model x"),),
    topology=Topology(classes=("P", "E"), efficiency_classes=("E",)),
    environment=(("kernel", "6.18"),),
)


def recording(ticks: int, threads: int = 6, records: int = 2, seed: int = 1) -> list[list[Sample]]:
    """One append a tick; threads run now and then, records come in between."""
    rng = random.Random(seed)
    values = [[rng.randrange(10**9), 0, 0, 0] for _ in range(threads)]
    first: list[Sample] = [
        LogStream(START_NS, 0, "/var/log/serve.log"),
        ClockAnchor(START_NS, START_NS, 1_760_000_000_000_000_000),
        *(ThreadInfo(START_NS, i, 4711, 4800 + i, f"worker-{i}", 100 + i, "serve") for i in range(threads)),
    ]
    appends = []
    unit = 0
    for number in range(ticks):
        now_ns = START_NS + (number + 1) * TICK_NS
        batch: list[Sample] = first if number == 0 else []
        for _ in range(records):
            unit += 1
            stages = (("prepare", rng.randrange(100) / 100), ("validate", rng.randrange(9000) / 100))
            batch.append(
                TimingRecord(now_ns - 5_000, now_ns - 9_000, "line", "c_api_timing", str(unit), None, stages, line=unit)
            )
        ran = [i for i in range(threads) if number % 50 == 0 or rng.random() < 0.5]
        for i in ran:
            values[i][0] += rng.randrange(10**8)
            values[i][1] += rng.randrange(10**6)
            values[i][2] += rng.randrange(40)
            values[i][3] = rng.randrange(8)
        columns = (array("q", [values[i][column] for i in ran]) for column in range(4))
        batch.append(ThreadTick(now_ns, array("q", ran), *columns, is_keyframe=number % 50 == 0))
        if number % 10 == 0:
            batch.append(MachineSample(now_ns, (("steal_ticks", number * 3), ("cpu3_freq_khz", 2_000_000 + number))))
            batch.append(LogCount(now_ns, 0, 20, 20, 0))
        appends.append(batch)
    return appends


def flat(appends: Sequence[Sequence[Sample]]) -> list[Sample]:
    return [sample for batch in appends for sample in batch]


def write(path: Path, appends: Sequence[Sequence[Sample]], **options: bool) -> SessionWriter:
    """An open session with these appends, maintained as a recorder does."""
    writer = SessionWriter(path, FACTS, clock=ManualClock(), **options)
    for number, batch in enumerate(appends):
        writer.append(batch)
        if number % 10 == 9:
            writer.maintain()
    return writer


def thread_values(samples: Sequence[Sample], until_ns: int) -> dict[int, tuple[int, ...]]:
    """The newest readings of each thread before a moment, by looking at every sample."""
    newest: dict[int, tuple[int, ...]] = {}
    for sample in samples:
        if isinstance(sample, ThreadTick) and sample.arrival_ns < until_ns:
            columns = (sample.cpu_ns, sample.run_delay_ns, sample.slices, sample.last_cpu)
            for at, index in enumerate(sample.index):
                newest[index] = tuple(column[at] for column in columns)
    return newest
