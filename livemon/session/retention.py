"""Making room in one session: the oldest minutes go first, what was marked as worth keeping stays.

A stretch that has to go is replaced by its rare samples (threads, streams, anchors, marks, events,
notes) and one ``Lost`` that says from when to when. Stretches within ``KEEP_AROUND_NS`` of an interval
in ``keep`` stay at full detail until nothing else is left to drop.
"""

from __future__ import annotations

import sqlite3

from livemon.model.samples import LogCount, Lost, SelfSample
from livemon.session.batch import FIRST_ROW_KIND, KINDS, Batch, Row
from livemon.session.codec import dump_batch, load_batch
from livemon.session.columns import ColumnError
from livemon.session.format import (
    BLOCK_COLUMNS,
    KEEP_AROUND_NS,
    NO_STATE,
    PACKED,
    THINNED,
    Block,
    make_block,
)

_FILL = 0.97
"""Share of the cap from which room is made."""
_LOST, _LOG_COUNT, _SELF = KINDS.index(Lost), KINDS.index(LogCount), KINDS.index(SelfSample)
_REASON = "dropped to keep the session below its size cap"
_MERGE_BYTES = 8192
_ROW_BYTES = 16384
"""Pages that a row begins, at most."""
_SAMPLE_BYTES = 1024
"""A copy in a plain table, at most."""
_NEWEST_NS = 60_000_000_000
"""The last minute is never dropped."""


def used_bytes(db: sqlite3.Connection) -> int:
    """Bytes of the database that are in use (freed pages are used again before it grows); 0 if unknown."""
    try:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        pages = db.execute("PRAGMA page_count").fetchone()[0] - db.execute("PRAGMA freelist_count").fetchone()[0]
    except sqlite3.Error:
        return 0
    return int(size * pages)


class Retention:
    """Keeps one session below ``max_bytes``."""

    def __init__(self, db: sqlite3.Connection, max_bytes: int) -> None:
        self._db = db
        self._max_bytes = max_bytes
        self._most_bytes = max_bytes
        """What may be in use at most; as long as that is little nobody has to look."""

    def grew(self, data_bytes: int, samples: int) -> None:
        """A row with so much data was added."""
        self._most_bytes += data_bytes + samples * _SAMPLE_BYTES + _ROW_BYTES

    def step(self) -> bool:
        """Thin the oldest stretch if the session is too big; true if one was."""
        if self._most_bytes <= self._max_bytes * _FILL:
            return False
        self._most_bytes = used_bytes(self._db)
        if self._most_bytes <= self._max_bytes * _FILL:
            return False
        return self._thin_oldest()

    def shrink_to_fit(self) -> bool:
        """Make the present size the cap, and make some room at once; true if there is any."""
        self._max_bytes = min(self._max_bytes, used_bytes(self._db))
        made = [self._thin_oldest() for _ in range(4)]
        return any(made)

    def _thin_oldest(self) -> bool:
        db = self._db
        try:
            found = self._oldest()
            if found is None:
                return False
            block = Block(*db.execute(f"SELECT {BLOCK_COLUMNS} FROM block WHERE id = ?", (found,)).fetchone())
            before = db.execute(
                f"SELECT {BLOCK_COLUMNS} FROM block WHERE id < ? AND id > 0 ORDER BY id DESC LIMIT 1", (found,)
            ).fetchone()
            thin = thin_block(block, None if before is None else Block(*before))
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM block WHERE id >= ? AND id <= ?", (thin.id, block.id))
            db.execute(f"INSERT INTO block ({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", thin)
            db.execute("COMMIT")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            return False
        return True

    def _oldest(self) -> int | None:
        """The oldest packed block that may go; one of those to keep only if there is no other."""
        newest = self._db.execute("SELECT max(end_ns) FROM block WHERE id > 0").fetchone()[0]
        if newest is None:
            return None
        sql = "SELECT id FROM block AS b WHERE level = ? AND id > 0 AND end_ns < ? {} ORDER BY id LIMIT 1"
        unkept = (
            "AND NOT EXISTS (SELECT 1 FROM keep WHERE keep.start_ns - :around <= b.end_ns"
            " AND keep.end_ns + :around >= b.start_ns)"
        )
        for condition in (unkept.replace(":around", str(KEEP_AROUND_NS)), ""):
            row = self._db.execute(sql.format(condition), (PACKED, newest - _NEWEST_NS)).fetchone()
            if row is not None:
                return int(row[0])
        return None


def thin_block(block: Block, before: Block | None) -> Block:
    """What stays of a block, joined with the stretch before it if that has gone too and both are small."""
    kept = _rare_samples(block)
    first = block
    if before is not None and before.level == THINNED and before.is_intact() and len(before.data) < _MERGE_BYTES:
        kept = _join(load_batch(before.data), kept)
        first = before
    return make_block(
        first.id,
        block.last_id,
        min(first.start_ns, block.start_ns),
        max(first.end_ns, block.end_ns),
        len(kept.order),
        THINNED,
        NO_STATE,
        dump_batch(kept, 6),
    )


def _rare_samples(block: Block) -> Batch:
    try:
        full = load_batch(block.data) if block.is_intact() else Batch()
    except ColumnError:
        full = Batch()
    kept = Batch()
    rows = {kind: iter(entries) for kind, entries in full.rows.items()}
    counts: dict[int, list[int]] = {}
    dropped = 0
    for kind in full.order:
        if kind < FIRST_ROW_KIND:
            dropped += 1
            continue
        row = next(rows[kind])
        if kind == _LOG_COUNT:
            _, stream, *counted, _ = row
            total = counts.setdefault(stream, [0, 0, 0])
            counts[stream] = [a + b for a, b in zip(total, counted, strict=True)]
        elif kind == _SELF:
            dropped += 1
        else:
            kept.order.append(kind)
            kept.rows.setdefault(kind, []).append(row)
    for stream, numbers in counts.items():
        kept.order.append(_LOG_COUNT)
        kept.rows.setdefault(_LOG_COUNT, []).append((block.end_ns, stream, *numbers, None))
    count = dropped or block.samples
    kept.order.append(_LOST)
    lost: Row = (block.end_ns, "session", count, "samples", _REASON, block.start_ns, block.end_ns)
    kept.rows.setdefault(_LOST, []).append(lost)
    kept.appends = [len(kept.order)]
    return kept


def _join(first: Batch, second: Batch) -> Batch:
    """Two thinned stretches as one; their losses, which end each of them, become one loss."""
    joined = Batch(order=first.order[:-1] + second.order)
    for kind in {*first.rows, *second.rows}:
        joined.rows[kind] = first.rows.get(kind, []) + second.rows.get(kind, [])
    later = second.rows[_LOST][-1]
    earlier = first.rows[_LOST][-1]
    losses = joined.rows[_LOST]
    losses.remove(earlier)
    losses[-1] = (*later[:2], earlier[2] + later[2], *later[3:5], earlier[5], later[6])
    joined.appends = [len(joined.order)]
    return joined
