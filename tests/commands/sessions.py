"""Real session files for tests of the commands: a fixture made of the same streams that the exports are tested with."""

from dataclasses import replace
from pathlib import Path

from livemon.model.samples import ClockAnchor, LogCount, LogStream, Mark, Sample
from livemon.session.writer import SessionWriter
from tests.export.judgements import FACTS, T0, WALL, S
from tests.export.streams import records, threads


def write_session(path: Path, *, scale: float = 1.0, n: int = 48, labels: bool = False, seed: int = 1) -> Path:
    """48 runs of three kernels with an oversized validate, beside threads of which one moves to E cores.

    Args:
        path: Where.
        scale: Of validate.
        n: Runs.
        labels: Whether lines say their kernel; else the cycle has to be found.
        seed: Of the noise.
    """
    units = [
        replace(record, label=f"kernel{key[0]}" if labels else None)
        for record, key in records(n, scale=scale, seed=seed)
    ]
    samples: list[Sample] = [
        ClockAnchor(T0, T0, WALL),
        LogStream(T0, 0, "/nowhere/serve.log"),
        *sorted([*units, *threads(), Mark(T0 + 8 * S, T0 + 8 * S, "hetero on")], key=lambda s: s.arrival_ns),
        LogCount(T0 + 20 * S, 0, n + 12, n, 1),
    ]
    writer = SessionWriter(path, replace(FACTS, origin="import"), is_bulk=True)
    writer.append(samples)
    writer.close()
    return path


def write_session_without_timing(path: Path) -> Path:
    """1,204 lines in which nothing was found."""
    writer = SessionWriter(path, FACTS, is_bulk=True)
    writer.append([LogStream(T0, 0, "/nowhere/serve.log"), LogCount(T0 + S, 0, 1204, 0, 0)])
    writer.close()
    return path
