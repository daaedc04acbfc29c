"""Merging rows into packed blocks and making room, one small step at a time."""

from __future__ import annotations

import contextlib
import sqlite3
from array import array
from collections import deque
from dataclasses import replace
from pathlib import Path

from livemon.session.batch import Batch, MergeError, merge
from livemon.session.codec import dump_batch, load_batch
from livemon.session.columns import ColumnError
from livemon.session.format import BLOCK_COLUMNS, PACK_NS, PACKED, RESTART, Block, block_row, make_block
from livemon.session.reserve import Reserve
from livemon.session.retention import Retention, used_bytes

_RECENT_MOST = 200_000
"""Numbers kept in memory for merging: some 2 MB. Beyond, rows are read back."""
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
        self._recent: deque[tuple[Block, Batch]] = deque()
        """Newest rows as columns, so that merging need not take them apart again."""
        self._recent_numbers = 0

    def appended(self, block: Block, batch: Batch) -> None:
        """Take note of a new row."""
        bare = replace(block, data=b"")
        if block.has_state:
            self._starts.append(bare)
        columns = batch.ticks.columns
        with contextlib.suppress(OverflowError):  # such a difference stays a list of Python's numbers
            for key, values in columns.items():
                columns[key] = array("q", values)  # type: ignore[assignment]
        self._recent.append((bare, batch))
        self._recent_numbers += _numbers(batch)
        while self._recent_numbers > _RECENT_MOST:
            self._forget_oldest()

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
            held = self._take_recent(first_id, until)
            if held is None:
                rows = db.execute(f"{_COLUMNS} WHERE id >= ? AND id < ? ORDER BY id", (first_id, until)).fetchall()
                held = load_rows([Block(*row) for row in rows])
            packed = merge_rows(held)
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

    def _take_recent(self, first_id: int, until: int) -> list[tuple[Block, Batch]] | None:
        """The rows from memory; ``None`` if they are not all there."""
        recent = self._recent
        while recent and recent[0][0].id < first_id:
            self._forget_oldest()
        if not recent or recent[0][0].id != first_id:
            return None
        held = []
        while recent and recent[0][0].id < until:
            held.append(recent[0])
            self._forget_oldest()
        return held

    def _forget_oldest(self) -> None:
        _, batch = self._recent.popleft()
        self._recent_numbers -= _numbers(batch)


def _numbers(batch: Batch) -> int:
    """How many numbers a batch holds, roughly."""
    return len(batch.ticks.index) * (1 + len(batch.ticks.columns)) + 10 * len(batch.timings.arrival)


def load_rows(blocks: list[Block]) -> list[tuple[Block, Batch]]:
    """Rows with their batches; empty if one of them can't be read."""
    if not all(block.is_intact() for block in blocks):
        return []
    try:
        return [(block, load_batch(block.data)) for block in blocks]
    except ColumnError:
        return []


def merge_rows(rows: list[tuple[Block, Batch]]) -> Block | None:
    """One packed block of several rows; ``None`` if they had better stay as they are."""
    blocks = [block for block, _ in rows]
    if len(blocks) < 2 or any(block.has_state == RESTART for block in blocks[1:]):
        return None
    try:
        data = dump_batch(merge(batch for _, batch in rows), 6)
    except MergeError:
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
