"""One log as a stream: bytes in, timing records out, everything else counted.

The same bytes give the same records however they are cut into chunks. Nothing is read from a file
or a clock here: the caller moves bytes, and says (``calendar.reference_ns``) when "now" is, for stamps
that lack their year. Big pieces are read in bulk (``bulk``), small ones line by line (``fewlines``,
``linewise``), with the same outcome.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from livemon.parse.bulk import BulkReader, Shapes
from livemon.parse.fewlines import FewLines
from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from livemon.parse.record import ParsedRecord
from livemon.parse.template import Batch

_BULK_BYTES: Final = 4096
_BY_PLACE: Final = attrgetter("line", "offset")


class TimingStream:
    """Reads one log.

    Args:
        options: How to read it.
        offset: Byte offset of the first byte fed.
        line: Number of physical lines before it.
    """

    def __init__(self, options: ParseOptions, *, offset: int = 0, line: int = 0) -> None:
        self._lines = LineReader(options, offset=offset, line=line)
        shapes = Shapes(self._lines)
        self._bulk = BulkReader(self._lines, shapes)
        self._few = FewLines(self._lines, shapes)
        self.stats: Final = self._lines.stats
        """Counts since the start."""
        self.calendar: Final = self._lines.calendar
        """What fills in for a missing zone, year and date; set its ``reference_ns``."""

    @property
    def tail_text(self) -> str:
        """The last lines without timing, shortened; for messages that must show what was seen."""
        return self._lines.tail_text

    def feed(self, data: bytes) -> list[ParsedRecord]:
        """Take the next bytes; records of the lines they terminate, in order."""
        if len(data) < _BULK_BYTES:
            return self._few.feed(data)
        items = self._bulk.feed(data)
        records: list[ParsedRecord] = []
        for item in items:
            if isinstance(item, Batch):
                records.extend(item.records())
            else:
                records.append(item)
        if len(items) > 1:
            records.sort(key=_BY_PLACE)
        return records

    def feed_columns(self, data: bytes) -> list[Batch | ParsedRecord]:
        """Like ``feed``, but lines of one shape stay together as columns: for bulk readers.

        Items are in the order of their first lines; a batch may have lines from between others.
        """
        return self._bulk.feed(data)

    def finish(self) -> list[ParsedRecord]:
        """The stream ends: the unterminated rest is read if the options say so, else counted."""
        return self._lines.finish()

    def reset(self, offset: int = 0) -> None:
        """The log was rotated or truncated: the held-back part is dropped and counted, lines restart at 1."""
        self._lines.reset(offset)

    def take_anchors(self) -> list[tuple[int | None, int, int]]:
        """(pid, mono_ns, wall_ns) of the clock anchors seen since the last call."""
        return self._lines.take_anchors()
