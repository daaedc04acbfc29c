"""The session file: its format, and why it is so.

A session is one SQLite 3 file (``application_id`` ``LVMN``, ``user_version`` the format number). It
holds the samples in the order in which they were recorded, never anything concluded from them.

``block``
    The truth. Appends are counted from 1 without holes; a row holds those from ``id`` to ``last_id``.
    ``data`` is their samples as columns, counters as differences from the value before, zlib-compressed
    (``codec``, ``batch``, ``columns``). ``level`` 0 is a row as appended, of about a second; every
    ``STATE_EVERY_NS`` one of them carries the full state of all threads, so that any moment is a short
    read away. In spare time the rows of ``PACK_NS`` are merged into one of level 1, which takes two
    thirds of the space. Level 2 is a stretch that had to make
    room: its rare samples are kept, the rest is one ``Lost``. Row 0 is a second copy of the facts.
    ``crc`` is the CRC-32 of the row (all columns): a row with another one is treated as if it had
    never been written, and reported. A hole in the ids is a lost row, and reported too.
``meta``
    ``facts`` (JSON), ``created_wall_ns``, ``livemon_version``, each with its CRC-32.
``recorder``
    Who writes: pid, start time, host, boot, and how it ended.
``mark_request``, ``keep``
    What other processes may write: marks that the recorder is to take up, and stretches of time
    that must stay at full detail when the oldest minutes are dropped.
``thread``, ``stream``, ``mark``, ``note``, ``event``, ``lost``, ``anchor``
    Copies of the rare samples as plain tables, for people with ``sqlite3``. ``at_ns`` is arrival.

The appends of the newest second are not in ``block`` yet while a session is recorded: they stand in
``SESSION-recent`` beside it, whose format and reason ``recent`` tells. They go into one row together, at
once with any sample that is neither a thread tick nor a timing record. Without WAL, with ``--durable``
and for imports there is no such file: each append is a row.

Why SQLite: of the candidates that were measured (JSON Lines, msgpack, Arrow, DuckDB, row and column
layouts) it alone lost no tick to SIGKILL, has readers that never block the writer, and is in the
standard library. Why columns in blobs: a row a thread and tick takes 111 MB an hour, this 20. Why WAL:
a commit is one sequential write. It does not work on network file systems: there the rollback journal
is used, and a ``Note`` says so. On a clean close the file goes back to the rollback journal, so that
it opens read-only anywhere, and ``-wal``, ``-shm``, ``-recent`` and ``-lock`` beside it go away.

What a crash costs: SIGKILL at any moment at most the append in flight. Loss of power at most the last
second, because each second goes into the log in one piece, which a thread of its own syncs at once. Syncing each tick
(``--durable``) costs a tick at most; a row and a flush each tick were measured to take 0.5 % of a core,
which is more than half of what recording costs else, and the process being watched writes to that disk.

Compatibility: columns and kinds are only added. A file of a newer format is refused with the version
that reads it. Format 1 is the first, and that of every session that was closed. Format 2 is format 1
with ``SESSION-recent`` beside it: a session that is being recorded, or whose recorder was killed.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import NamedTuple

APPLICATION_ID = 0x4C564D4E
"""``LVMN``."""
FORMAT = 2
"""The newest format this version reads, and that of a session while it is recorded."""
CLOSED_FORMAT = 1
"""That of a session which is one file: closed, or with every append in it at once."""

STATE_EVERY_NS = 5_000_000_000
PACK_NS = 10_000_000_000
RECENT_NS = 1_000_000_000
"""So long appends stand in ``SESSION-recent`` only."""
KEEP_AROUND_NS = 30_000_000_000
"""Pre- and post-roll kept around what must stay."""

APPENDED, PACKED, THINNED, RECENT = 0, 1, 2, 3
"""``level``; the last one only in memory: an append out of ``SESSION-recent``, in that file's own form."""
NO_STATE, STATE, RESTART = 0, 1, 2
"""``has_state``: none; the full state, with which the chain also goes on; the full state after something
could not be written: the chain before it ends there, so it can't be merged with what was before."""

DEFAULT_MAX_BYTES = 512 * 1024 * 1024

SCHEMA = """
CREATE TABLE block (id INTEGER PRIMARY KEY, last_id INTEGER NOT NULL, start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL, samples INTEGER NOT NULL, level INTEGER NOT NULL, has_state INTEGER NOT NULL,
    crc INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE meta (key TEXT NOT NULL, value TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE recorder (pid INTEGER NOT NULL, start_ticks INTEGER, host TEXT NOT NULL, boot TEXT NOT NULL,
    started_wall_ns INTEGER NOT NULL, closed_wall_ns INTEGER, closed_reason TEXT, last_block INTEGER);
CREATE TABLE mark_request (id INTEGER PRIMARY KEY AUTOINCREMENT, t_ns INTEGER NOT NULL, text TEXT NOT NULL,
    origin TEXT NOT NULL);
CREATE TABLE keep (id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
    reason TEXT NOT NULL, UNIQUE (start_ns, end_ns, reason));
CREATE TABLE thread (at_ns INTEGER, idx INTEGER, pid INTEGER, tid INTEGER, name TEXT, start_ticks INTEGER,
    process TEXT, affinity TEXT, policy TEXT, nice INTEGER, cgroup TEXT, is_self INTEGER, crc INTEGER NOT NULL);
CREATE TABLE stream (at_ns INTEGER, idx INTEGER, path TEXT, kind TEXT, format TEXT, crc INTEGER NOT NULL);
CREATE TABLE mark (at_ns INTEGER, t_ns INTEGER, text TEXT, origin TEXT, crc INTEGER NOT NULL);
CREATE TABLE note (at_ns INTEGER, severity TEXT, text TEXT, remedy TEXT, crc INTEGER NOT NULL);
CREATE TABLE event (at_ns INTEGER, pid INTEGER, name TEXT, event TEXT, exit_status INTEGER, detail TEXT,
    crc INTEGER NOT NULL);
CREATE TABLE lost (at_ns INTEGER, source TEXT, count INTEGER, unit TEXT, reason TEXT, start_ns INTEGER,
    end_ns INTEGER, crc INTEGER NOT NULL);
CREATE TABLE anchor (at_ns INTEGER, mono_ns INTEGER, wall_ns INTEGER, crc INTEGER NOT NULL);
"""

BLOCK_COLUMNS = "id, last_id, start_ns, end_ns, samples, level, has_state, crc, data"


class Block(NamedTuple):
    """One row of ``block``, its columns in order."""

    id: int
    last_id: int
    start_ns: int
    """Smallest arrival in it."""
    end_ns: int
    """Largest arrival in it."""
    samples: int
    level: int
    has_state: int
    crc: int
    data: bytes

    def is_intact(self) -> bool:
        """Whether the row is what was written."""
        try:
            return self.crc == block_crc(
                self.id, self.last_id, self.start_ns, self.end_ns, self.samples, self.level, self.has_state, self.data
            )
        except (struct.error, TypeError):
            return False


def block_crc(
    id_: int, last_id: int, start_ns: int, end_ns: int, samples: int, level: int, has_state: int, data: bytes
) -> int:
    """The checksum of a block row."""
    head = struct.pack("<qqqqqqq", id_, last_id, start_ns, end_ns, samples, level, has_state)
    return zlib.crc32(data, zlib.crc32(head))


def make_block(
    id_: int, last_id: int, start_ns: int, end_ns: int, samples: int, level: int, has_state: int, data: bytes
) -> Block:
    """A row with its checksum."""
    crc = block_crc(id_, last_id, start_ns, end_ns, samples, level, has_state, data)
    return Block(id_, last_id, start_ns, end_ns, samples, level, has_state, crc, data)


def text_crc(*values: object) -> int:
    """The checksum of a row of one of the plain tables."""
    plain = [int(value) if isinstance(value, bool) else value for value in values]
    return zlib.crc32(json.dumps(plain).encode())
