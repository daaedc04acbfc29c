"""What the parse tests share: lines in, records and counts out."""

from __future__ import annotations

from livemon.parse.options import ParseOptions
from livemon.parse.record import ParsedRecord, ParseStats
from livemon.parse.stream import TimingStream

DEFAULT = ParseOptions(zone="UTC")
LABELS = ParseOptions(labels=True, zone="UTC")


def read(data: bytes | str, options: ParseOptions = DEFAULT) -> tuple[list[ParsedRecord], ParseStats]:
    stream = TimingStream(options)
    stream.calendar.reference_ns = 1_790_000_000_000_000_000  # 2026-09-21
    records = stream.feed(data.encode() if isinstance(data, str) else data)
    return [*records, *stream.finish()], stream.stats


def stages(line: str, options: ParseOptions = DEFAULT) -> dict[str, float]:
    """The stages of a line that gives one record, or nothing."""
    records, _ = read(line + "\n", options)
    assert len(records) <= 1, records
    return dict(records[0].stages) if records else {}


def one(line: str, options: ParseOptions = DEFAULT) -> ParsedRecord:
    records, _ = read(line + "\n", options)
    assert len(records) == 1, records
    return records[0]
