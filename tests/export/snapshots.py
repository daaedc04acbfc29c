"""Frames built by hand."""

from dataclasses import replace

from livemon.model.snapshot import (
    Figure,
    Lane,
    Series,
    Snapshot,
    StageRow,
    Status,
    TargetState,
    ThreadRow,
    Timeline,
    Verdict,
)
from tests.export.judgements import T0, WALL, S, oversized, transient

NONE = Figure(None, "unknown", "not measured")
EMPTY = Series(0, S, (), ())


def stage_row(class_key: str | None = "1/3", name: str = "validate", **changes: object) -> StageRow:
    row = StageRow(class_key, name, "finalize", 48, 90.0, 90.6, 107.8, 0.6, 5.0, "over", EMPTY)
    return replace(row, **changes)  # type: ignore[arg-type]


def thread_row(name: str = "worker-1", cpu_percent: float | None = 50.0, **changes: object) -> ThreadRow:
    row = ThreadRow(
        1, 4711, 4712, name, "serve", name.rstrip("0123456789-"), True, False, NONE, "P", "measured",
        NONE if cpu_percent is None else Figure(cpu_percent), NONE, NONE, NONE, Figure(10.0), NONE, Figure(0.25),
        Lane(0, S, (), (), True), EMPTY,
    )  # fmt: skip
    return replace(row, **changes)  # type: ignore[arg-type]


def snapshot(**changes: object) -> Snapshot:
    """An episode and an oversized stage, both ongoing."""
    status = Status(
        (TargetState(4711, "serve", "running"),), True, "recording", 101.0, 1204, 1000, 3, 600, 2, 5, (), 12.5, 4096,
        1.5, "", (),
    )  # fmt: skip
    base = Snapshot(
        at_ns=T0 + 20 * S,
        wall_ns=WALL + 20 * S,
        start_ns=T0,
        end_ns=T0 + 20 * S,
        span_ns=60 * S,
        verdict=Verdict("critical", ""),
        stages=(stage_row(), stage_row(None, 'pre"pare\n\\', p99_ms=None, share=None, budget_ms=None)),
        threads=(thread_row(), thread_row("worker-2", 150.0), thread_row("idle", None)),
        findings=(oversized(), transient(end_ns=None)),
        timeline=Timeline(Series(0, S, (0.0, 0.5, None), (0.0, 0.5, None)), (), (), ()),
        status=status,
    )
    return replace(base, **changes)  # type: ignore[arg-type]
