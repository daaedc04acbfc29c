"""Merging rows into packed blocks and making room, one small step at a time."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from array import array
from collections import deque
from collections.abc import Generator
from pathlib import Path

from livemon.session.batch import Batch, MergeError, merge_into
from livemon.session.codec import dump_steps, load_batch
from livemon.session.columns import ColumnError
from livemon.session.format import BLOCK_COLUMNS, PACK_NS, PACKED, RESTART, Block, make_block
from livemon.session.reserve import Reserve
from livemon.session.retention import Retention, used_bytes

_RECENT_MOST = 1_000_000
"""Numbers kept in memory for merging: some 8 MB, enough for 2,000 threads. Beyond, rows are read back."""
_MERGED_A_STEP = 10
_FEW = 64
"""Up to so many numbers a column stays a list."""
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
        self._packing: Generator[None, None, None] | None = None
        """The stretch that is being merged."""
        self._has_packed = False

    def appended(self, block: Block, batch: Batch) -> None:
        """Take note of a new row."""
        if block.has_state:
            self._starts.append(block._replace(data=b""))
        if len(batch.ticks.index) > _FEW:
            columns = batch.ticks.columns
            with contextlib.suppress(OverflowError):  # such a difference stays a list of Python's numbers
                for key, values in columns.items():
                    columns[key] = array("q", values)  # type: ignore[assignment]
        self._retention.grew(len(block.data), block.samples)
        self._recent.append((block, batch))
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
        """Some milliseconds of merging a stretch, or drop one; true if there is more to do."""
        if self._packing is None:
            self._packing = self._begin_packing()
        if self._packing is not None:
            if next(self._packing, self) is self:
                self._packing = None
                return self._has_packed
            return True
        if self._reserve is not None:
            self._reserve.restore()
        return self._retention.step()

    def make_room(self) -> bool:
        """Nothing can be written: the session is to stay this size, its oldest minutes make room.

        True if there may be room now.
        """
        if self._reserve is not None:
            self._reserve.shorten()
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(RESTART)")
        return self._retention.shrink_to_fit()

    def give_up_reserve(self) -> None:
        """Free all of the room put by: it is the end."""
        if self._reserve is not None:
            self._reserve.give_up()

    def finish(self, until_ns: int | None = None) -> None:
        """Merge what is left; what is not done by ``until_ns`` (monotonic) stays in single rows, as good as merged."""
        self.give_up_reserve()
        while True:
            self._packing = self._packing or self._begin_packing(is_last=True)
            if self._packing is None:
                return
            for _ in self._packing:
                if until_ns is not None and time.monotonic_ns() > until_ns:
                    self._packing.close()
                    return
            self._packing = None
            if not self._has_packed:
                return

    def _begin_packing(self, *, is_last: bool = False) -> Generator[None, None, None] | None:
        """Merge the oldest ``PACK_NS`` in steps, if more follows; ``None`` if there is nothing to merge.

        The newest stretch stays in single rows, which followers read without taking a merged block apart
        (``is_last``: it does not).
        """
        starts = self._starts
        if not starts or (len(starts) < 3 and not is_last):
            return None
        first = starts[0]
        for number, start in enumerate(starts):
            if number and (start.has_state == RESTART or not 0 <= start.start_ns - first.start_ns < PACK_NS):
                break
        else:
            if not is_last:
                return None
            number, start = len(starts), None
        if number > len(starts) - 2 and not is_last:
            return None
        return self._pack(first.id, None if start is None else start.id, number)

    def _pack(self, first_id: int, end_id: int | None, number: int) -> Generator[None, None, None]:
        """Replace the rows from ``first_id`` to before ``end_id`` by one, in steps.

        ``number`` is how many states they begin with. ``has_packed`` tells whether it went well: if not,
        the rows are as good as the merged block, and it is tried again some time.
        """
        db = self._db
        until = 1 << 62 if end_id is None else end_id
        self._has_packed = False
        held = self._take_recent(first_id, until)
        try:
            if held is None:
                rows = db.execute(f"{_COLUMNS} WHERE id >= ? AND id < ? ORDER BY id", (first_id, until)).fetchall()
                held = []
                for at in range(0, len(rows), _MERGED_A_STEP):
                    loaded = load_rows([Block(*row) for row in rows[at : at + _MERGED_A_STEP]])
                    if not loaded:
                        held = []
                        break
                    held += loaded
                    yield
            packed = yield from merge_rows_in_steps(held)
            if packed is not None:
                db.execute("BEGIN IMMEDIATE")
                db.execute("DELETE FROM block WHERE id >= ? AND id < ?", (first_id, until))
                db.execute(f"INSERT INTO block ({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", packed)
                db.execute("COMMIT")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            return
        for _ in range(number):
            self._starts.popleft()
        self._has_packed = bool(self._starts)

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
    steps = merge_rows_in_steps(rows)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            packed: Block | None = end.value
            return packed


def merge_rows_in_steps(rows: list[tuple[Block, Batch]]) -> Generator[None, None, Block | None]:
    """The same, some milliseconds a step."""
    blocks = [block for block, _ in rows]
    if len(blocks) < 2 or any(block.has_state == RESTART for block in blocks[1:]):
        return None
    merged = Batch()
    try:
        for done, _ in enumerate(merge_into(merged, (batch for _, batch in rows)), 1):
            if done % _MERGED_A_STEP == 0:
                yield
    except MergeError:
        return None
    data = yield from dump_steps(merged, 6)
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
