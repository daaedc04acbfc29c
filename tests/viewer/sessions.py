"""Sessions for the viewer's tests: a decode loop with threads, written as a recorder writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from livemon.model.clock import ManualClock
from livemon.model.facts import Cpu, SessionFacts, Target, Topology
from livemon.model.samples import ClockAnchor, LogCount, LogStream, Sample, SelfSample
from livemon.session.writer import SessionWriter
from tests.engine.kernels import KERNELS, MS, SECOND, kernel_runs
from tests.engine.ticks import TICK_NS, Work

FACTS = SessionFacts(
    host="testhost",
    targets=(Target(100, "serve"),),
    topology=Topology((Cpu(0, "P"), Cpu(1, "E")), ("P", "E"), "test", ("E",), 2),
)
START_NS = 1_000 * SECOND


def log_text(runs: int) -> tuple[bytes, list[tuple[int, int]]]:
    """A log of the kernel runs; (offset, length) of each timing line. Every tenth line is followed by chatter."""
    text = b""
    places = []
    for record in kernel_runs(KERNELS, runs, start_ns=START_NS):
        values = "  ".join(f"{name}={value}ms" for name, value in record.stages)
        line = f"[c_api_timing] run={record.unit}  {values}\n".encode()
        places.append((len(text), len(line)))
        text += line
        if int(record.unit or 0) % 10 == 0:
            text += b"INFO chatter\n"
    return text, places


def decode_session(runs: int = 200, threads: int = 4, log: Path | None = None) -> list[list[Sample]]:
    """Appends of a recorder: ticks each 100 ms, records in between; worker-1 runs on E cores from the middle on."""
    text, places = log_text(runs)
    if log is not None:
        log.write_bytes(text)
    records = [
        replace(r, offset=offset, length=length, line=k + 1 + (k + 9) // 10)
        for k, (r, (offset, length)) in enumerate(
            zip(kernel_runs(KERNELS, runs, start_ns=START_NS), places, strict=True)
        )
    ]
    work = Work(threads, t_ns=START_NS)
    first: list[Sample] = [
        LogStream(START_NS, 0, str(log) if log else ""),
        ClockAnchor(START_NS, START_NS, 1_760_000_000_000_000_000),
        *work.infos(),
    ]
    appends: list[list[Sample]] = [[*first, work.tick()]]
    end = records[-1].t_ns
    middle = (START_NS + end) // 2
    done = 0
    while work.t_ns < end:
        work.run(0, 20 * MS, on="P")
        work.run(1, 5 * MS, on="E" if work.t_ns > middle else "P", cpu=1 if work.t_ns > middle else 0)
        batch: list[Sample] = []
        while done < len(records) and records[done].arrival_ns <= work.t_ns + TICK_NS:
            batch.append(records[done])
            done += 1
        batch.append(work.tick([0, 1]))
        if (work.t_ns - START_NS) % SECOND == 0:
            ticks = (work.t_ns - START_NS) // TICK_NS
            batch.append(LogCount(work.t_ns, 0, 20, 5, 1 if ticks == 100 else 0, 3 * MS))
            batch.append(SelfSample(work.t_ns, ticks * 1_000_000, 1, ticks, 0, TICK_NS, 1000 * ticks))
        appends.append(batch)
    return appends


def write_session(
    path: Path, appends: Sequence[Sequence[Sample]], facts: SessionFacts = FACTS, *, close: bool = True
) -> SessionWriter:
    """Write the appends; leaves the writer open if asked to."""
    writer = SessionWriter(path, facts, clock=ManualClock())
    for batch in appends:
        writer.append(batch)
    writer.flush()
    if close:
        writer.close()
    return writer
