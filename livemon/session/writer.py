"""Writes a session: an append a tick, a transaction a second, and whatever goes wrong the recorder goes on.

An append of what comes with every tick is written beside the database first (``recent``); with the first
append of anything else, after a second at the latest, all of them become one row. Where there is no such
file each append is a row.

An append that can't be written (full disk, quota, a file system gone read-only, a reader in the way)
stays in a bounded queue and is tried again, at most once a second; ``problem`` says so meanwhile.
What had to be dropped from the queue is recorded as ``Lost`` with its stretch of time as soon as
writing works again. The counters' chain then starts anew with a full state, so nothing that is read
later depends on what was lost.

Nothing here takes longer than one row: merging rows and making room is ``maintain``, one small step
a call, to be called in spare time (an append does it itself when nobody has for a while); syncing and
checkpoints are on a thread of their own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections import deque
from pathlib import Path

from livemon.model.clock import Clock, SystemClock
from livemon.model.facts import SessionFacts
from livemon.model.samples import Lost, Mark, Note, Sample, Samples
from livemon.session import tables, unwritten
from livemon.session.codec import dump_batch
from livemon.session.creating import create_session
from livemon.session.encoder import Encoder
from livemon.session.format import (
    APPENDED,
    BLOCK_COLUMNS,
    CLOSED_FORMAT,
    DEFAULT_MAX_BYTES,
    NO_STATE,
    PACKED,
    RECENT_NS,
    RESTART,
    STATE,
    STATE_EVERY_NS,
    Block,
    make_block,
)
from livemon.session.maintenance import Maintenance
from livemon.session.rescue import Rescue, Whereabouts
from livemon.session.reserve import Reserve
from livemon.session.syncing import Syncer

_RETRY_NS = 1_000_000_000
_PASSING = ("locked", "busy")
_FREE_SPACE = "free some space, or record elsewhere with --record"
_QUEUE_APPENDS = 600
_QUEUE_SAMPLES = 20_000
_OVERDUE_NS = 30_000_000_000
_INSERT = f"INSERT INTO block ({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)"
_MOST_HELD_SAMPLES = 64
"""An append of more goes into the database at once: columns pay then."""
_SIZE_EVERY = 5
"""Calls of ``maintain`` after which the size is looked up again: three questions to SQLite."""
_CLOSING_NS = 200_000_000
"""So long may merging what is left hold up the end; unmerged rows are as good, only bigger."""
_NO_SPACE = ("full", "disk I/O error")
"""What SQLite says of a full disk, and of a quota."""


class SessionWriter:
    """The one writer of a session.

    Args:
        path: The file to make; its folder is made too.
        facts: What the session says of itself.
        max_bytes: Size from which the oldest minutes make room.
        clock: For retries and the times of opening and closing.
        is_bulk: For imports: appends are large, written as packed blocks, and nothing is synced
            before ``close``.
        is_durable: Each append is synced as soon as the disk can, not once a second.
        rescue_folder: Where the session is kept if somebody removes it meanwhile; ``None``: nowhere.

    Raises:
        SessionError: Another recorder has it, there is already a session, or it can't be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        facts: SessionFacts,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Clock | None = None,
        is_bulk: bool = False,
        is_durable: bool = False,
        rescue_folder: Path | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self.problem: str | None = None
        """Why nothing can be written at the moment, in words; ``None`` while all is well."""
        self.lost_samples = 0
        """Samples dropped so far because they could not be written."""
        self.rescue: Rescue | None = None
        """After ``close``: what became of a session that was removed meanwhile."""
        self._clock: Clock = clock or SystemClock()
        self._is_bulk = is_bulk
        self._encoder = Encoder()
        self._queue: deque[list[Sample]] = deque()
        self._queued = 0
        self._dropped: Lost | None = None
        self._retry_at_ns = 0
        self._failing_ns = 0
        self._reason = ""
        self._state_ns: int | None = None
        self._has_lost_chain = False
        self._next_id = 1
        self._mark_seen = 0
        self._is_closed = False
        self._notes: list[Note] = []
        wall_ns = self._clock.wall_ns()
        created = create_session(self.path, facts, wall_ns=wall_ns, is_bulk=is_bulk, is_durable=is_durable)
        self._lock, self._db, self._has_wal, self._recent = created.lock, created.db, created.has_wal, created.recent
        if created.note is not None:
            self._notes.append(created.note)
        self._held: list[list[Sample]] = []
        """The newest appends, which are in no row yet but in the file of the newest."""
        self._held_since_ns = 0
        self._whereabouts = Whereabouts(self.path, rescue_folder)
        self._maintenance = Maintenance(self._db, self.path, max_bytes, None if is_bulk else Reserve(self.path))
        self._size_bytes = self._maintenance.size_bytes()
        self._size_age = 0
        self._maintained_ns: int | None = None
        self._syncer = None if is_bulk or not self._has_wal else Syncer(self.path, is_durable=is_durable)

    @property
    def size_bytes(self) -> int:
        """Bytes of the session on disk, its log included, as they were some seconds ago at most."""
        return self._size_bytes

    def append(self, samples: Samples) -> None:
        """Write samples in one piece; see the module on what happens when that fails.

        Raises:
            TypeError: Something in ``samples`` is not a sample.
            ValueError: The columns of a tick differ in length.
        """
        if not self._queue:
            if not samples:
                return
            recent, held = self._recent, self._held
            now_ns = samples[-1].arrival_ns
            if not held:
                self._held_since_ns = now_ns
            if (
                recent is not None
                and 0 <= now_ns - self._held_since_ns < RECENT_NS
                and len(samples) <= _MOST_HELD_SAMPLES
                and self._state_ns is not None
                and not self._notes
                and recent.put(self._next_id, samples)
            ):
                held.append(list(samples))
                self._next_id += 1
                return
        batch = list(samples)
        if batch and self._notes:
            batch = [Note(batch[0].arrival_ns, n.severity, n.text, n.remedy) for n in self._notes] + batch
            self._notes.clear()
        if not self._queue and self._write(batch):
            self._maintain_if_overdue(batch[-1].arrival_ns)
            return
        was_well = not self._queue
        if batch:
            self._enqueue(batch)
        now_ns = self._clock.monotonic_ns()
        if was_well:
            self._failing_ns = self._queue[0][0].arrival_ns
            self._cope(now_ns)
        elif now_ns >= self._retry_at_ns:
            self._retry(now_ns)

    def _write(self, samples: list[Sample] | None) -> bool:
        """Make one row of the appends that are held and a new one; ``None``: of the former alone."""
        appends = self._held if samples is None else [*self._held, samples]
        first_id = self._next_id - len(self._held)
        now_ns = appends[-1][-1].arrival_ns
        if self._is_bulk or self._state_ns is None or not 0 <= now_ns - self._state_ns < STATE_EVERY_NS:
            self._encoder.needs_state = True
        starts_chain = self._encoder.needs_state
        has_state = NO_STATE if not starts_chain else RESTART if self._has_lost_chain else STATE
        try:
            batch = self._encoder.encode(*appends)
        except (TypeError, ValueError):
            self._encoder.needs_state = self._has_lost_chain = True
            raise
        data = dump_batch(batch, 6 if self._is_bulk else 0)
        arrivals = [sample.arrival_ns for append in appends for sample in append]
        level, last_id = PACKED if self._is_bulk else APPENDED, first_id + len(appends) - 1
        block = make_block(first_id, last_id, min(arrivals), max(arrivals), len(arrivals), level, has_state, data)
        if not self._insert(block, tables.copies(batch)):
            # The chain has moved on without this row: the next one must not build upon it.
            self._encoder.needs_state = self._has_lost_chain = True
            return False
        if starts_chain:
            self._state_ns = now_ns
            self._has_lost_chain = False
        if not self._is_bulk:
            self._maintenance.appended(block, batch)
        self._next_id = last_id + 1
        if self._held and self._recent is not None:
            self._held.clear()
            self._recent.begin_anew()
        if self._syncer is not None:
            self._syncer.appended(len(data))
        return True

    def _insert(self, block: Block, copies: list[tables.Copy]) -> bool:
        db = self._db
        try:
            if copies:
                db.execute("BEGIN IMMEDIATE")
                db.execute(_INSERT, block)
                for statement, rows in copies:
                    db.executemany(statement, rows)
                db.execute("COMMIT")
            else:
                db.execute(_INSERT, block)
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            self.problem = str(error)
            return False
        self.problem = None
        return True

    def _enqueue(self, batch: list[Sample]) -> None:
        self._queue.append(batch)
        self._queued += len(batch)
        while len(self._queue) > 1 and (len(self._queue) > _QUEUE_APPENDS or self._queued > _QUEUE_SAMPLES):
            dropped = self._queue.popleft()
            self._queued -= len(dropped)
            self.lost_samples += len(dropped)
            self._dropped = unwritten.dropped(self._dropped, dropped, self.problem)

    def _cope(self, now_ns: int) -> None:
        """A write has failed: when to try again, and whether room can be made at once."""
        if self.problem is not None and any(word in self.problem for word in _PASSING):
            self._retry_at_ns = now_ns  # somebody else is writing: the next tick will do
            return
        reason = self._reason = self.problem or self._reason
        self._retry_at_ns = now_ns + _RETRY_NS
        if self._is_bulk or not any(word in reason for word in _NO_SPACE):
            return
        if self._maintenance.make_room() and self._write_queue():
            text = f"no room to record ({reason}): the oldest minutes make room"
            self._notes.append(Note(0, "error", text, _FREE_SPACE))

    def _retry(self, now_ns: int) -> None:
        if not self._write_queue():
            self._cope(now_ns)

    def _write_queue(self) -> bool:
        """Write what is queued as one append, with what is to be said about it."""
        samples = [sample for batch in self._queue for sample in batch]
        at_ns = samples[-1].arrival_ns
        if self._dropped is not None:
            samples.insert(0, self._dropped)
        if self._reason:
            lasted = f"{(at_ns - self._failing_ns) / 1e9:.1f} s"
            samples.append(Note(at_ns, "error", f"could not record for {lasted}: {self._reason}", _FREE_SPACE))
        if not self._write(samples):
            return False
        self._queue.clear()
        self._queued = 0
        self._dropped, self._reason = None, ""
        return True

    def _write_last_words(self) -> None:
        """There is no room up to the end: say so in the session, in the room put by for that."""
        reason = self.problem or self._reason
        self._maintenance.give_up_reserve()
        words, lost = unwritten.last_words(self._queue, self._dropped, reason)
        self.lost_samples += lost - (self._dropped.count if self._dropped else 0)
        self._write(words)
        self.problem = reason

    def _maintain_if_overdue(self, now_ns: int) -> None:
        if self._is_bulk:
            return
        since_ns = self._maintained_ns
        if since_ns is None:
            self._maintained_ns = now_ns
        elif now_ns - since_ns >= _OVERDUE_NS:
            has_more = self.maintain()
            self._maintained_ns = since_ns if has_more else now_ns

    def maintain(self) -> bool:
        """One small step of merging rows or making room (some ms); true if there is more to do.

        To be called in spare time: about once a second, and while there is more to do with each tick.
        """
        if self._is_bulk or self._is_closed:
            return False
        self._maintained_ns = None
        if (note := self._whereabouts.look()) is not None:
            self._notes.append(note)
        self._size_age += 1
        if self._size_age >= _SIZE_EVERY:
            self._size_age = 0
            self._size_bytes = self._maintenance.size_bytes()
        return self._maintenance.step()

    def take_marks(self) -> list[Mark]:
        """Marks that other processes put in since the last call; ``arrival_ns`` is now.

        They are not in the recording before they are appended.
        """
        try:
            rows = self._db.execute(
                "SELECT id, t_ns, text, origin FROM mark_request WHERE id > ? ORDER BY id", (self._mark_seen,)
            ).fetchall()
        except sqlite3.Error:
            return []  # what is wrong shows in the next append
        if rows:
            self._mark_seen = rows[-1][0]
        now_ns = self._clock.monotonic_ns()
        return [Mark(now_ns, t_ns, text, origin) for _, t_ns, text, origin in rows]

    def flush(self) -> None:
        """Write what is queued and have it on the disk before returning."""
        if self._queue:
            self._write_queue()
        elif self._held:
            self._write(None)
        if self._syncer is not None:
            self._syncer.sync()

    def close(self, reason: str = "closed") -> None:
        """Write everything, say why recording ended, and leave one self-contained file; safe to repeat."""
        if self._is_closed:
            return
        if self._queue:
            self._retry(self._clock.monotonic_ns())
        if self._queue:
            self._write_last_words()
        elif self._held and not self._write(None):
            self._maintenance.give_up_reserve()
            self._write(None)  # else they are read from beside the database
        elif not self._is_bulk:
            self._maintenance.finish(time.monotonic_ns() + _CLOSING_NS)
        self._is_closed = True
        if self._syncer is not None:
            self._syncer.stop()
        try:
            self._db.execute(
                "UPDATE recorder SET closed_wall_ns = ?, closed_reason = ?, last_block = ?",
                (self._clock.wall_ns(), reason, self._next_id - 1),
            )
            if not self._held:
                self._db.execute(f"PRAGMA user_version={CLOSED_FORMAT}")
            self.rescue = self._whereabouts.rescue(self._db)
            if self._has_wal:
                # Refused while a viewer is attached, or for want of room; the last viewer does it then.
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    self._db.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.Error as error:
            self.problem = self.problem or str(error)
        finally:
            self._db.close()
            if self._recent is not None:
                self._recent.close(is_needed=bool(self._held))
            self._lock.release()
