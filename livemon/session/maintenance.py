"""Merging rows into packed blocks and making room, one small step at a time."""

from __future__ import annotations

import sqlite3
from collections import deque
from pathlib import Path

from livemon.session.batch import MergeError, merge
from livemon.session.codec import dump_batch, load_batch
from livemon.session.columns import ColumnError
from livemon.session.format import BLOCK_COLUMNS, PACK_NS, PACKED, Block, block_row, make_block
from livemon.session.retention import Retention, used_bytes

_COLUMNS = f"SELECT {BLOCK_COLUMNS} FROM block"


class Maintenance:
    """The writer's housekeeping on its own connection."""

    def __init__(self, db: sqlite3.Connection, path: Path, max_bytes: int) -> None:
        self._db = db
        self._path = path
        self._retention = Retention(db, path, max_bytes)
        self._starts: deque[tuple[int, int]] = deque()
        """(block id, start) of the rows with a full state that are not packed yet."""

    def appended(self, block: Block) -> None:
        """Take note of a new row."""
        if block.has_state:
            self._starts.append((block.id, block.start_ns))

    def size_bytes(self) -> int:
        """Bytes of the session on disk, its log included."""
        return used_bytes(self._db, self._path)

    def step(self) -> bool:
        """Merge one stretch or drop one; true if there is more to do."""
        if self._pack_one():
            return True
        return self._retention.step()

    def make_room(self) -> bool:
        """The disk is full: the oldest minutes give up their pages, and the session stays this size."""
        return self._retention.shrink_to_fit()

    def finish(self) -> None:
        """Merge everything that is left."""
        while self._pack_one():
            pass
        if self._starts:
            self._pack(self._starts[0][0], None)

    def _pack_one(self) -> bool:
        """Merge the oldest stretch of ``PACK_NS``, if there is a later one that starts a chain."""
        starts = self._starts
        if len(starts) < 3:
            return False
        first_id, first_ns = starts[0]
        for number in range(1, len(starts) - 1):
            end_id, end_ns = starts[number]
            if not 0 <= end_ns - first_ns < PACK_NS:
                break
        else:
            return False
        if not self._pack(first_id, end_id):
            return False
        for _ in range(number):
            starts.popleft()
        return True

    def _pack(self, first_id: int, end_id: int | None) -> bool:
        """Replace the rows from ``first_id`` to before ``end_id`` by one; false if that must wait."""
        db = self._db
        until = 1 << 62 if end_id is None else end_id
        try:
            rows = db.execute(f"{_COLUMNS} WHERE id >= ? AND id < ? ORDER BY id", (first_id, until)).fetchall()
            blocks = [Block(*row) for row in rows]
            packed = merge_blocks(blocks)
            if packed is None:
                return True
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM block WHERE id >= ? AND id < ?", (first_id, until))
            db.execute(f"INSERT INTO block ({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", block_row(packed))
            db.execute("COMMIT")
        except sqlite3.Error:
            # The rows are as good as the merged block: try again at the next step.
            if db.in_transaction:
                db.execute("ROLLBACK")
            return False
        return True


def merge_blocks(blocks: list[Block]) -> Block | None:
    """One packed block of several rows; ``None`` if they had better stay as they are."""
    if len(blocks) < 2 or not all(block.is_intact() for block in blocks):
        return None
    try:
        data = dump_batch(merge(load_batch(block.data) for block in blocks), 6)
    except (MergeError, ColumnError):
        return None
    return make_block(
        blocks[0].id,
        blocks[-1].last_id,
        min(block.start_ns for block in blocks),
        max(block.end_ns for block in blocks),
        sum(block.samples for block in blocks),
        PACKED,
        bool(blocks[0].has_state),
        data,
    )
