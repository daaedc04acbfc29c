"""Makes the golden sessions of the present format: ``python -m tests.session.make_golden``.

Run it once for each new format, never to make a failing test pass: files of a format that was released
must be read for ever as they are. What is there is left as it is.
"""

import shutil
import sqlite3
import tempfile
from array import array
from pathlib import Path

from livemon.model.clock import ManualClock
from livemon.model.samples import (
    ClassColumns,
    LogCount,
    Lost,
    Mark,
    Note,
    Sample,
    SelfSample,
    TargetEvent,
    ThreadGone,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)
from livemon.session.format import CLOSED_FORMAT, FORMAT
from livemon.session.jsonl import LineWriter
from livemon.session.recent import recent_path
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, START_NS, TICK_NS, flat, recording

FOLDER = Path(__file__).parent / "golden"


def appends() -> list[list[Sample]]:
    """Every kind of sample, with what is optional and without."""
    batches = recording(130, threads=3, records=1)
    at_ns = START_NS + 40 * TICK_NS

    def column(*values: int) -> "array[int]":
        return array("q", values)

    counters = ClassColumns("P", column(5, 6), column(7, -1), column(8, 9), column(10, 11), column(10, 5))
    batches[40] += [
        Mark(at_ns, at_ns - 5, "déploiement ✓", "key"),
        Lost(at_ns, "threads", 3, "ticks", "late", at_ns - 9, at_ns),
        Lost(at_ns, "log", 1, "lines", "rotated"),
        LogCount(at_ns, 0, 5, 4, 1, 12_345),
        TargetEvent(at_ns, 4711, "serve", "exited", -9, "killed"),
        Note(at_ns, "warning", "cycles not available", "sysctl kernel.perf_event_paranoid=1"),
        SelfSample(at_ns, 5, 6, 7, 8, TICK_NS, 9, "counters off"),
        ThreadInfo(at_ns, 3, 4711, 4900, "gpu", 77, "serve", "0-3", "SCHED_FIFO", -5, "/x.slice", True),
        ThreadTick(
            at_ns,
            column(0, 3),
            column(2**40, 1),
            column(-1, 5),
            column(3, -1),
            column(0, 7),
            (counters, ClassColumns("E", column(1, 2), column(3, 4), column(-1, -1))),
            late_ns=12_000_000,
        ),
        ThreadGone(at_ns, 3, "exited"),
        TimingRecord(
            at_ns, at_ns - 7, "line", "STRACE", "4711/9", "hid=1f", (("run", 1 / 3),), (("k", "v w"),), 4711, 4712,
            at_ns - 900, 0, 123_456, 80, 999,
        ),
        TimingRecord(at_ns, at_ns, "arrival", "keyvalue", None, None, (), offset=-1),
    ]  # fmt: skip
    return batches


def main() -> None:
    """Write a closed session, one whose recorder was killed, and what both hold."""
    FOLDER.mkdir(exist_ok=True)
    batches = appends()
    with tempfile.TemporaryDirectory() as folder:
        for name, number, is_closed in (("closed", CLOSED_FORMAT, True), ("killed", FORMAT, False)):
            golden = FOLDER / f"format{number}-{name}.livemon"
            if golden.exists():
                continue
            path = Path(folder) / name
            writer = SessionWriter(path, FACTS, clock=ManualClock())
            for at, batch in enumerate(batches):
                writer.append(batch)
                if at % 10 == 9:
                    writer.maintain()
            if is_closed:
                writer.close()
            else:
                with sqlite3.connect(path) as db:
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                shutil.copyfile(recent_path(path), recent_path(golden))
            shutil.copyfile(path, golden)
            writer.close()
    lines = LineWriter().lines(flat(batches))
    expected = FOLDER / f"format{CLOSED_FORMAT}.jsonl"
    if not expected.exists():
        expected.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
