"""Reads a session: all of it, what is new, or a stretch; beside a recorder or after it.

A reader never holds a transaction between calls, so the recorder's log can always be written back. A
block whose checksum is wrong, and a hole in the ids, is never read around: what depends on it is left
out until the next full state, and ``damage`` says from when to when.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from livemon.model.facts import SessionFacts
from livemon.model.samples import Sample
from livemon.session.collector import collector_resting
from livemon.session.decoder import Decoder
from livemon.session.format import RECENT, Block
from livemon.session.marking import Origin, put_mark, write_into
from livemon.session.ranges import decode_block, not_seen, read_range
from livemon.session.recent import recent_path
from livemon.session.recorder_state import RecorderState
from livemon.session.source import BlockSource

_BATCH_BLOCKS = 256
_BATCH_BYTES = 8 << 20
_SMALL_BATCH_BYTES = 1 << 16


class SessionReader:
    """A session that is read.

    Raises:
        SessionError: There is no such session, it is of a newer format, or nothing of it can be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._source = BlockSource(self.path)
        self.facts: SessionFacts = self._source.facts
        self.rewind()

    def rewind(self) -> None:
        """Start the next ``read_new`` at the beginning."""
        self._decoder = Decoder()
        self._seen = 0
        self._decoded = 0
        """Append up to which rows were decoded; the newest ones may have been returned without."""
        self._end_ns: int | None = None
        self._pending: deque[Sample] = deque()

    @property
    def damage(self) -> tuple[str, ...]:
        """What is wrong with the file, in words, as far as it was read; empty for a sound session."""
        return self._source.damage.messages()

    @property
    def recorder(self) -> RecorderState:
        """Who records or recorded it, and whether they still do."""
        return self._source.recorder()

    @property
    def bounds_ns(self) -> tuple[int, int] | None:
        """Arrival of the first and the newest sample; ``None`` for an empty session."""
        return self._source.bounds_ns()

    @property
    def size_bytes(self) -> int:
        """Bytes of the session's files."""
        return sum(
            file.stat().st_size
            for file in (self.path, self.path.with_name(self.path.name + "-wal"), recent_path(self.path))
            if file.exists()
        )

    def anchors(self) -> list[tuple[int, int]]:
        """(session ns, unix ns) pairs of the whole session, without reading its samples."""
        return self._source.anchors()

    def read_new(self, limit: int | None = None) -> list[Sample]:
        """Everything after the last call, in recorded order; at most ``limit`` samples."""
        pending = self._pending
        most_bytes = _BATCH_BYTES if limit is None else _SMALL_BATCH_BYTES
        with collector_resting():
            while limit is None or len(pending) < limit:
                blocks = self._source.blocks_after(self._decoded, _BATCH_BLOCKS, most_bytes)
                new = [block for block in blocks if block.level != RECENT or block.id > self._seen]
                if not new:
                    self._check_end()
                    break
                for block in new:
                    pending.extend(self._take(block))
        if limit is None or limit >= len(pending):
            samples = list(pending)
            pending.clear()
            return samples
        return [pending.popleft() for _ in range(limit)]

    def _check_end(self) -> None:
        """A session that was closed says how many appends it has."""
        last = self.recorder.last_block
        if last is not None and last > self._seen:
            self._source.damage.hole(self._seen + 1, last, self._end_ns, None)

    def _take(self, block: Block) -> list[Sample]:
        """The samples of the next block that were not returned before."""
        if block.last_id <= self._decoded:
            return []
        if block.id > self._seen + 1:
            self._source.damage.hole(self._seen + 1, block.id - 1, self._end_ns, block.start_ns)
        if block.level != RECENT:
            if block.id > self._decoded + 1:
                self._decoder.lose()
            self._decoded = block.last_id
        samples = decode_block(self._decoder, block, self._source.damage, self._end_ns)
        if block.id <= self._seen:
            # Rows that were read one by one have been merged with later ones, or dropped, meanwhile.
            samples = not_seen(block, samples, self._seen, self._end_ns)
        if block.last_id > self._seen:
            self._seen = block.last_id
            self._end_ns = block.end_ns
        return samples

    def read_range(self, start_ns: int, end_ns: int) -> list[Sample]:
        """The samples that arrived in ``[start_ns, end_ns]``, in recorded order.

        Before them come the streams, the threads that appear (as they were known at the start) and,
        unless the session begins later, one keyframe ``ThreadTick`` with every live thread's newest
        readings at the start (its ``arrival_ns`` is when the last of them was read). A short read:
        at most one packed block and what is asked for.
        """
        return read_range(self._source, start_ns, end_ns)

    def add_mark(self, text: str, t_ns: int, origin: Origin = "command") -> None:
        """Put a mark into the session: its recorder takes it up, or it is appended if there is none.

        Raises:
            SessionError: The session can't be written.
        """
        bounds = self.bounds_ns
        is_recording = self.recorder.is_alive is not False
        end_ns = bounds[1] if bounds else None
        put_mark(self.path, text, t_ns, origin, is_recording=is_recording, end_ns=end_ns)

    def keep(self, stretches: Sequence[tuple[int, int, str]]) -> None:
        """Ask that (start, end, reason) stay at full detail, with half a minute around, when room is made.

        Raises:
            SessionError: The session can't be written.
        """
        write_into(self.path, "INSERT OR IGNORE INTO keep (start_ns, end_ns, reason) VALUES (?,?,?)", stretches)

    def close(self) -> None:
        """Let go of the session."""
        self._source.close()
