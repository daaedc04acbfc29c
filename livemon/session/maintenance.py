"""Merging rows into packed blocks and making room, one small step at a time."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from dataclasses import replace
from pathlib import Path

from livemon.session.batch import MergeError, merge
from livemon.session.codec import dump_batch, load_batch
from livemon.session.columns import ColumnError
from livemon.session.format import BLOCK_COLUMNS, PACK_NS, PACKED, RESTART, Block, block_row, make_block
from livemon.session.reserve import Reserve
from livemon.session.retention import Retention, used_bytes

_COLUMNS = f"SELECT {BLOCK_COLUMNS} FROM block"


class Maintenance:
    """The writer's housekeeping on its own connection."""

    def __init__(self, db: sqlite3.Connection, path: Path, max_bytes: int, reserve: Reserve | None) -> None:
        self._db = db
        self._path = path
        self._reserve = reserve
        self._retention = Retention(db, max_bytes)
        self._starts: deque[Block] = deque()
        """The rows with a full state that are not packed yet (without their data)."""

    def appended(self, block: Block) -> None:
        """Take note of a new row."""
        if block.has_state:
            self._starts.append(replace(block, data=b""))

    def size_bytes(self) -> int:
        """Bytes in use, the log included."""
        try:
            log = self._path.with_name(self._path.name + "-wal").stat().st_size
        except OSError:
            log = 0
        return used_bytes(self._db) + log

    def step(self) -> bool:
        """Merge one stretch or drop one; true if there is more to do."""
        if self._pack_one():
            return True
        if self._reserve is not None:
            self._reserve.restore()
        return self._retention.step()

    def make_room(self) -> bool:
        """Nothing can be written: the session is to stay this size, its oldest minutes make room.

        True if there may be room now.
        """
        if self._reserve is not None:
            self._reserve.give_up()
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(RESTART)")
        return self._retention.shrink_to_fit()

    def finish(self) -> None:
        """Merge everything that is left."""
        if self._reserve is not None:
            self._reserve.give_up()
        while self._pack_one(is_last=True):
            pass

    def _pack_one(self, *, is_last: bool = False) -> bool:
        """Merge the oldest ``PACK_NS``, if more follows; true if there may be another.

        The newest stretch stays in single rows, which followers read without taking a merged block apart
        (``is_last``: it does not).
        """
        starts = self._starts
        if not starts or (len(starts) < 3 and not is_last):
            return False
        first = starts[0]
        for number, start in enumerate(starts):
            if number and (start.has_state == RESTART or not 0 <= start.start_ns - first.start_ns < PACK_NS):
                break
        else:
            if not is_last:
                return False
            number, start = len(starts), None
        if number > len(starts) - 2 and not is_last:
            return False
        if not self._pack(first.id, None if start is None else start.id):
            return False
        for _ in range(number):
            starts.popleft()
        return bool(starts)

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
    if any(block.has_state == RESTART for block in blocks[1:]):
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
        blocks[0].has_state,
        data,
    )
