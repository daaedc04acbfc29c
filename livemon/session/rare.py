"""The rare samples of a session, read from their plain tables without its blocks."""

from __future__ import annotations

from typing import Any

from livemon.model.samples import ClockAnchor, LogStream, Lost, Mark, Note, Sample, TargetEvent
from livemon.session.reader import SessionReader

_KINDS: tuple[type[Any], ...] = (LogStream, ClockAnchor, TargetEvent, Lost, Note, Mark)


def rare_samples(reader: SessionReader) -> list[Sample]:
    """Streams, clock anchors, target events, losses, notes and marks of the whole session, by arrival.

    A short read, unless the tables are damaged: then they are taken from the blocks.
    """
    found: list[Sample] = [kind(*row) for kind in _KINDS for row in reader._source._rare(kind)]
    found.sort(key=lambda sample: sample.arrival_ns)
    return found
