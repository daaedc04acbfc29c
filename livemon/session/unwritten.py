"""What is said in a session of samples that could not be written into it."""

from __future__ import annotations

from collections.abc import Iterable

from livemon.model.samples import Lost, Mark, Note, Sample, TargetEvent, ThreadTick, TimingRecord

_MOST_KEPT = 50
"""So many rare samples still go in at the end: they have to fit into the room put by."""


def dropped(before: Lost | None, samples: list[Sample], problem: str | None) -> Lost:
    """One ``Lost`` of samples that had to be dropped, together with those dropped before."""
    return Lost(
        samples[-1].arrival_ns,
        "session",
        len(samples) + (before.count if before else 0),
        "samples",
        f"could not be written: {problem}",
        samples[0].arrival_ns if before is None else before.start_ns,
        samples[-1].arrival_ns,
    )


def last_words(batches: Iterable[list[Sample]], before: Lost | None, problem: str) -> tuple[list[Sample], int]:
    """What goes into a session in place of samples for which there is no room up to its end.

    Args:
        batches: What waits to be written; not empty.
        before: What was dropped already.
        problem: Why nothing can be written.

    Returns:
        The newest marks, notes and events, and how much of what is lost, from when to when; and how many
        samples are lost.
    """
    samples = [sample for batch in batches for sample in batch]
    kept = [sample for sample in samples if isinstance(sample, Mark | Note | TargetEvent)][-_MOST_KEPT:]
    ticks = sum(isinstance(sample, ThreadTick) for sample in samples)
    records = sum(isinstance(sample, TimingRecord) for sample in samples)
    rest = len(samples) - len(kept) - ticks - records + (before.count if before else 0)
    end_ns = samples[-1].arrival_ns
    start_ns = samples[0].arrival_ns if before is None or before.start_ns is None else before.start_ns
    reason = f"could not be written: {problem}"
    counts = (("threads", ticks, "ticks"), ("log", records, "records"), ("session", rest, "samples"))
    lost = [Lost(end_ns, what, n, unit, reason, start_ns, end_ns) for what, n, unit in counts if n]
    return [*kept, *lost], ticks + records + rest
