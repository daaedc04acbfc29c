"""A log line by line: assembled, unwrapped, read by the first rule that knows the line, turned into records.

The same bytes give the same records however they are cut into chunks. Container parts are joined
here, names are kept bounded, and what gave no record is counted.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from livemon.model.samples import StageValues
from livemon.parse.keyplans import KeyPlans
from livemon.parse.lines import LINE_CAP, LineAssembly, Segment
from livemon.parse.names import NameGroups
from livemon.parse.options import ParseOptions
from livemon.parse.reading import Draft
from livemon.parse.record import ParsedRecord, ParseStats
from livemon.parse.rules import Rules
from livemon.parse.timestamps import find
from livemon.parse.unwrap import Unwrapped

if TYPE_CHECKING:
    from livemon.parse.explain import Explainer  # for --explain only; every reader of a log waits for its imports

_TAIL_LINES: Final = 5
_TAIL_CHARS: Final = 200
_PART_CAP: Final = 1 << 20
_LONGEST_KEY: Final = 80


class LineReader:
    """Reads one log line by line.

    Args:
        options: How to read it.
        offset: Byte offset of the first byte fed.
        line: Number of physical lines before it.
        explainer: Told of every line, if someone wants to know why.
    """

    def __init__(
        self, options: ParseOptions, *, offset: int = 0, line: int = 0, explainer: Explainer | None = None
    ) -> None:
        self._explainer = explainer
        self._rules = Rules(options)
        self._plans = KeyPlans(self._rules.calendar) if self._rules.are_automatic and explainer is None else None
        self._accept_unterminated = options.accept_unterminated
        self._lines = LineAssembly(offset)
        self._line = line
        self._names = NameGroups()
        self._labels = NameGroups()
        self._anchors: list[tuple[int | None, int, int]] = []
        self._parts: dict[str, Unwrapped] = {}
        """The text of each container stream that goes on in its next line."""
        self._line_has_timing = False
        self._is_inside_line = False
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self.stats = ParseStats()
        self.calendar = self._rules.calendar

    @property
    def tail_text(self) -> str:
        """The last lines without timing, shortened; for messages that must show what was seen."""
        return "\n".join(self._tail)

    def feed(self, data: bytes) -> list[ParsedRecord]:
        """Take the next bytes; records of the lines they terminate."""
        records: list[ParsedRecord] = []
        for segment in self._lines.feed(data):
            self._read(segment, records)
        return records

    def read_line(self, text: bytes) -> list[ParsedRecord]:
        """Read one whole line, given without its newline; nothing is held back and no carriage return is in it."""
        lines = self._lines
        size = len(text)
        if self._plans is not None and not self._parts and b"=" in text[:_LONGEST_KEY]:
            planned = self._read_planned(text, size)
            if planned is not None:
                lines.offset += size + 1
                return [planned]
        records: list[ParsedRecord] = []
        self._read(Segment(text[:LINE_CAP], lines.offset, size + 1, True, size > LINE_CAP), records)
        lines.offset += size + 1
        return records

    def _read_planned(self, data: bytes, size: int) -> ParsedRecord | None:
        """Read a line of plain pairs, if its keys are known; ``None``: nothing was done."""
        assert self._plans is not None
        found = self._plans.read(data)
        if found is None:
            return None
        label = found.label
        stats = self.stats
        if label is not None:
            label = self._labels.get(label)
            stats.grouped += label != found.label
        stats.lines += 1
        stats.records += 1
        stats.formats["keyvalue"] = stats.formats.get("keyvalue", 0) + 1
        self._line += 1
        stamp = found.stamp
        return ParsedRecord(
            self._line,
            self._lines.offset,
            size + 1,
            None if stamp is None else stamp.t_ns,
            None if stamp is None else stamp.clock,
            "keyvalue",
            found.unit,
            label,
            found.pid,
            found.tid,
            self._grouped(found.stages),
            tuple(found.fields),
            None,
        )

    @property
    def line(self) -> int:
        """Physical lines read so far."""
        return self._line

    @property
    def offset(self) -> int:
        """Byte offset of the first byte that was not handed on."""
        return self._lines.offset

    @property
    def is_at_line_start(self) -> bool:
        """Whether nothing is held back: no unterminated line, no container part, no carriage return before."""
        return self._lines.is_empty and not self._parts and not self._is_inside_line

    def place_at_line_start(self) -> tuple[int, int] | None:
        """Lines read so far and the offset of the next; ``None`` while anything is held back."""
        lines = self._lines
        if self._parts or self._is_inside_line or lines.held_bytes or lines.has_return:
            return None
        return self._line, lines.offset

    @property
    def can_tag_in_bulk(self) -> bool:
        """Whether tagged lines are read as tagged lines: no pattern or other format goes before them."""
        return self._rules.tags_come_first

    def is_settled(self, record: ParsedRecord) -> bool:
        """Whether every name of the record is recorded as it is, now and later."""
        return all(self._names.is_settled(name) for name, _ in record.stages) and (
            record.label is None or self._labels.is_settled(record.label)
        )

    def account(self, records: int, size: int, source: str) -> None:
        """Count lines that a bulk reader read, one record each; with a size they also move the position."""
        if size:
            self._line += records
            self._lines.offset += size
        self.stats.lines += records
        self.stats.records += records
        self.stats.formats[source] = self.stats.formats.get(source, 0) + records

    def move_to(self, line: int, offset: int) -> None:
        """The lines up to ``line`` are read, by whomever; go on behind them."""
        self._line = line
        self._lines.offset = offset

    def finish(self) -> list[ParsedRecord]:
        """The stream ends: the unterminated rest is read if the options say so, else counted."""
        records: list[ParsedRecord] = []
        rest = self._lines.finish()
        if rest is not None:
            segment, terminated = rest
            if terminated or self._accept_unterminated:
                self._read(segment, records)
                self._end_line()
            else:
                self.stats.unterminated += 1
        self.stats.unterminated += len(self._parts)
        self._parts.clear()
        return records

    def reset(self, offset: int = 0) -> None:
        """The log was rotated or truncated: the held-back part is dropped and counted, lines restart at 1."""
        if self._lines.drop(offset):
            self.stats.unterminated += 1
        self.stats.unterminated += len(self._parts)
        self._parts.clear()
        self._line = 0
        self._line_has_timing = False
        self._is_inside_line = False

    def take_anchors(self) -> list[tuple[int | None, int, int]]:
        """(pid, mono_ns, wall_ns) of the clock anchors seen since the last call."""
        anchors = self._anchors
        self._anchors = []
        return anchors

    def _read(self, segment: Segment, records: list[ParsedRecord]) -> None:
        if segment.data:
            data = segment.data
            if segment.is_truncated:
                # The last word may be cut; what is before it is whole.
                self.stats.truncated += 1
                data = data[: max(data.rfind(b" "), 0)] or data
            self._read_text(data.decode("utf-8", "replace"), segment, records)
        if segment.is_line_end:
            self._end_line()
        else:
            self._is_inside_line = True

    def _end_line(self) -> None:
        self._line += 1
        self.stats.lines += 1
        if not self._line_has_timing:
            self.stats.ignored += 1
        self._line_has_timing = False
        self._is_inside_line = False

    def _read_text(self, text: str, segment: Segment, records: list[ParsedRecord]) -> None:
        line = self._rules.unwrap(text)
        if line.part or self._parts:
            joined = self._join(line)
            if joined is None:
                self._line_has_timing = True
                if self._explainer is not None:
                    self._explainer.held(self._line + 1, line)
                return
            line = joined
        reading = self._rules.read(line)
        if "[CLOCK_ANCHOR]" in line.text:
            self._anchors.extend(self._rules.anchors(line.text))
        if reading.problems:
            self.stats.malformed += len(reading.problems)
            self._line_has_timing = True
        found = [self._record(draft, line, segment) for draft in reading.drafts]
        if self._explainer is not None:
            self._explainer.line(self._line + 1, line, reading, found)
        if found:
            self._line_has_timing = True
            records.extend(found)
        elif not reading.problems and line.text and not line.text.isspace():
            self._tail.append(line.text[:_TAIL_CHARS])

    def _join(self, line: Unwrapped) -> Unwrapped | None:
        """Container parts make one line; ``None`` while more is to come."""
        if not line.part:
            # Something else came between; what was held is torn.
            self.stats.malformed += len(self._parts)
            self._parts.clear()
            return line
        held = self._parts.pop(line.stream, None)
        if held is not None:
            room = _PART_CAP - len(held.text)
            held.text += line.text[: max(room, 0)]
            line, part = held, line.part
        else:
            part = line.part
        if part == "P":
            self._parts[line.stream] = line
            return None
        return self._rules.unwrap_again(line)

    def _record(self, draft: Draft, line: Unwrapped, segment: Segment) -> ParsedRecord:
        stamp = draft.stamp
        if not draft.is_untimed and (stamp is None or stamp.rank < 5):
            stamp = find(line.text, self.calendar, stamp or line.stamp)
        start_ns = draft.start_ns
        if draft.is_start_stamped and stamp is not None and stamp.clock is not None:
            start_ns = stamp.t_ns
        label = draft.label
        if label is not None:
            label = self._labels.get(label)
            self.stats.grouped += label != draft.label
        self.stats.records += 1
        formats = self.stats.formats
        formats[draft.source] = formats.get(draft.source, 0) + 1
        return ParsedRecord(
            self._line + 1,
            segment.offset,
            segment.length,
            None if stamp is None else stamp.t_ns,
            None if stamp is None else stamp.clock,
            draft.source,
            draft.unit,
            label,
            line.pid if draft.pid is None else draft.pid,
            draft.tid,
            self._grouped(draft.stages),
            tuple(draft.fields),
            start_ns,
        )

    def _grouped(self, stages: list[tuple[str, float]]) -> StageValues:
        """Stages under the names they are recorded by; of two that fall together the first stays."""
        names = self._names
        before = names.grouped
        out = [(names.get(name), value) for name, value in stages]
        if names.grouped != before:
            self.stats.grouped += 1
        if len(out) > 1 and len({name for name, _ in out}) < len(out):
            first: dict[str, float] = {}
            for name, value in out:
                first.setdefault(name, value)
            return tuple(first.items())
        return tuple(out)
