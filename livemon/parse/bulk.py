"""Reading a log fast: blocks of lines of known shapes as columns, everything else line by line.

``BulkReader`` gives what ``LineReader`` gives, in the same order, as batches and single records.
It learns shapes from the lines that the stream reads (``template``). Only whole lines of a block go
the fast way, and none that could depend on its neighbours: with container parts about, the block is
read line by line.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from livemon.parse.linewise import LineReader
from livemon.parse.record import ParsedRecord
from livemon.parse.template import DIGITS, Batch, Lines, Template

_MAX_TEMPLATES: Final = 64
_MAX_REFUSED: Final = 4096
_MAX_LINE: Final = 4096


class Shapes:
    """What the shapes of a stream's lines mean, learnt from lines that were read the long way.

    Args:
        stream: Knows which names are recorded as they are.
    """

    def __init__(self, stream: LineReader) -> None:
        self._stream = stream
        self.known: dict[bytes, Template] = {}
        self._refused: set[bytes] = set()

    def may_learn(self, text: bytes, shape: bytes) -> bool:
        """Whether a line is worth reading for its shape."""
        return b"_timing" in shape and shape not in self._refused and len(text) <= _MAX_LINE

    def learn(self, text: bytes, shape: bytes, records: list[ParsedRecord]) -> Template | None:
        """Take in a line and what was read in it; its template, if it is plain enough."""
        if not self.may_learn(text, shape):
            return None
        if len(records) == 1 and len(self.known) < _MAX_TEMPLATES and self._stream.is_settled(records[0]):
            template = Template.of(text, records[0])
            if template is not None:
                self.known[shape] = template
                return template
        if len(self._refused) < _MAX_REFUSED:
            self._refused.add(shape)
        return None


class BulkReader:
    """Reads a stream's bytes in bulk.

    Args:
        stream: Takes what can't be read in bulk, and all counts.
        shapes: The shapes that the stream's lines had so far.
    """

    def __init__(self, stream: LineReader, shapes: Shapes) -> None:
        self._stream = stream
        self._shapes = shapes
        self._last: Template | None = None

    def feed(self, data: bytes) -> list[Batch | ParsedRecord]:
        """Take the next bytes; batches and records in the order of the lines (a batch by its first line)."""
        out: list[Batch | ParsedRecord] = []
        if not self._stream.can_tag_in_bulk:
            out.extend(self._stream.feed(data))
            return out
        if not self._stream.is_at_line_start:
            end = data.find(b"\n") + 1
            if not end:
                out.extend(self._stream.feed(data))
                return out
            out.extend(self._stream.feed(data[:end]))
            data = data[end:]
        end = data.rfind(b"\n") + 1
        if end:
            block = data[:end] if end < len(data) else data
            if b"\r" in block or not self._stream.is_at_line_start:
                out.extend(self._stream.feed(block))
            else:
                self._read_block(block, out)
        if end < len(data):
            out.extend(self._stream.feed(data[end:]))
        return out

    def _read_block(self, block: bytes, out: list[Batch | ParsedRecord]) -> None:
        stream = self._stream
        if self._last is not None:
            batch = self._last.read(block, stream.line + 1)
            if batch is not None:
                batch.source, batch.members = Lines(block, stream.line, stream.offset), range(len(batch))
                stream.account(len(batch), len(block), batch.template.record.source)
                out.append(batch)
                return
        self._last = None
        lines = Lines(block, stream.line, stream.offset)
        shapes = block.translate(None, DIGITS).split(b"\n")
        at = 0
        while at < len(lines.texts):
            at = self._read_lines(lines, shapes, at, out)

    def _read_lines(self, lines: Lines, shapes: list[bytes], start: int, out: list[Batch | ParsedRecord]) -> int:
        """Read lines from ``start`` up to the next line that teaches a new shape; returns where to go on."""
        groups: dict[bytes, list[int]] = {}
        templates = self._shapes.known
        slow: list[int] = []
        texts = lines.texts
        end = len(texts)
        learning = False
        for at in range(start, end):
            shape = shapes[at]
            group = groups.get(shape)
            if group is not None:
                group.append(at)
            elif shape in templates:
                groups[shape] = [at]
            else:
                slow.append(at)
                text = texts[at]
                if b"stdout P" in text or b"stderr P" in text or b'"log":' in text:
                    # Container parts: what follows may be the rest of this line.
                    slow = list(range(start, end))
                    groups.clear()
                    break
                if self._shapes.may_learn(text, shape):
                    learning = True
                    end = at + 1
                    break
        batches = self._read_groups(lines, groups, slow)
        self._emit(lines, end, batches, slow, out, learning)
        if len(groups) == 1 and not slow and end - start > 1:
            self._last = templates[next(iter(groups))]
        return end

    def _read_groups(self, lines: Lines, groups: dict[bytes, list[int]], slow: list[int]) -> list[tuple[int, Batch]]:
        """Batches with their first line; lines of groups that can't be read in bulk go to ``slow``."""
        batches: list[tuple[int, Batch]] = []
        texts = lines.texts
        refused = False
        for shape, members in groups.items():
            block = b"\n".join([texts[i] for i in members]) + b"\n"
            batch = None
            if len(block) <= _MAX_LINE * len(members):
                batch = self._shapes.known[shape].read(block, [lines.line + 1 + i for i in members])
            if batch is None:
                slow.extend(members)
                refused = True
            else:
                batch.source, batch.members = lines, members
                batches.append((members[0], batch))
        if refused:
            slow.sort()
        return batches

    def _emit(
        self,
        lines: Lines,
        end: int,
        batches: list[tuple[int, Batch]],
        slow: list[int],
        out: list[Batch | ParsedRecord],
        learning: bool,
    ) -> None:
        """Read the slow lines at their places, and put everything out by first line."""
        stream = self._stream
        events: list[tuple[int, Batch | None]] = [(at, None) for at in slow]
        for first, batch in batches:
            stream.account(len(batch), 0, batch.template.record.source)
            events.append((first, batch))
        events.sort(key=itemgetter(0))
        for at, found in events:
            if found is not None:
                out.append(found)
                continue
            stream.move_to(lines.line + at, lines.offset_of(at))
            malformed = stream.stats.malformed
            records = stream.read_line(lines.texts[at])
            out.extend(records)
            if learning and at == end - 1:
                text = lines.texts[at]
                found_in_it = records if stream.stats.malformed == malformed else []
                self._shapes.learn(text, text.translate(None, DIGITS), found_in_it)
        stream.move_to(lines.line + end, lines.offset_of(end))
