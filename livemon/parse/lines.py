r"""Bytes to physical lines, however they are cut into chunks.

A line ends at ``\n``, ``\r\n`` or a lone ``\r`` (progress bars); only ``\n`` counts as the end of a
physical line. What is not terminated is held back. A line longer than the cap keeps its first part.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LINE_CAP: Final = 1 << 20
"""Bytes of a line that are read; the rest is dropped and the line counted as truncated."""


class Segment(NamedTuple):
    """One terminated stretch of a physical line."""

    data: bytes
    """Without its terminator; at most ``LINE_CAP`` bytes."""
    offset: int
    length: int
    """Bytes in the stream, terminator included."""
    is_line_end: bool
    """Ended by a newline; else by a lone carriage return."""
    is_truncated: bool


class LineAssembly:
    """Holds back what is not terminated yet; memory is bounded by the cap."""

    def __init__(self, offset: int = 0) -> None:
        self._held = bytearray()
        self.held_bytes = 0
        """Bytes of the line that is not terminated yet."""
        self.has_return = False
        """The last byte was a carriage return: a newline may follow."""
        self.offset = offset
        """Byte offset of the first byte that was not handed on."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held back."""
        return not self.held_bytes and not self.has_return

    def feed(self, data: bytes) -> list[Segment]:
        """Take bytes, give the segments they terminate."""
        segments: list[Segment] = []
        if not data:
            return segments
        if self.has_return:
            # The carriage return before the cut: with a newline now the two are one terminator.
            self.has_return = False
            if data[0] == 10:
                self._end(segments, b"", 2, True)
                data = data[1:]
            else:
                self._end(segments, b"", 1, False)
        *lines, rest = data.split(b"\n")
        for line in lines:
            if b"\r" in line:
                self._cut(segments, line)
            else:
                self._end(segments, line, 1, True)
        if b"\r" in rest:
            *pieces, rest = rest.split(b"\r")
            if not rest:
                rest = pieces.pop()
                self.has_return = True
            for piece in pieces:
                self._end(segments, piece, 1, False)
        if rest:
            self._hold(rest)
        return segments

    def _cut(self, segments: list[Segment], line: bytes) -> None:
        """A stretch with carriage returns in it that ended with a newline."""
        *pieces, last = line.split(b"\r")
        ending = 1
        if not last:
            last = pieces.pop()
            ending = 2
        for piece in pieces:
            self._end(segments, piece, 1, False)
        self._end(segments, last, ending, True)

    def _end(self, segments: list[Segment], body: bytes, terminator: int, is_line_end: bool) -> None:
        """The held part and ``body`` make a segment."""
        size = self.held_bytes + len(body)
        if self.held_bytes:
            self._hold(body)
            body = bytes(self._held)
            self._held.clear()
            self.held_bytes = 0
        segments.append(Segment(body[:LINE_CAP], self.offset, size + terminator, is_line_end, size > LINE_CAP))
        self.offset += size + terminator

    def _hold(self, rest: bytes) -> None:
        room = LINE_CAP - len(self._held)
        if room > 0:
            self._held += rest[:room]
        self.held_bytes += len(rest)

    def finish(self) -> tuple[Segment, bool] | None:
        """The rest, and whether a carriage return terminated it; ``None`` if there is none."""
        if self.is_empty:
            return None
        segments: list[Segment] = []
        terminated = self.has_return
        self.has_return = False
        self._end(segments, b"", int(terminated), False)
        return segments[0], terminated

    def drop(self, offset: int) -> int:
        """Forget the held-back part and go on at ``offset``; returns the bytes forgotten."""
        lost = self.held_bytes + self.has_return
        self._held.clear()
        self.held_bytes = 0
        self.has_return = False
        self.offset = offset
        return lost
