"""Marks put in from outside: asked of the recorder while it lives, appended to a session that has ended."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from livemon.model.errors import SessionError
from livemon.model.samples import Mark
from livemon.session import tables
from livemon.session.batch import KINDS, Batch
from livemon.session.codec import dump_batch
from livemon.session.format import APPENDED, BLOCK_COLUMNS, NO_STATE, make_block
from livemon.session.locking import HeldError, RecorderLock
from livemon.session.opening import connect_writable
from livemon.session.recent import RecentReader

Origin = Literal["log", "key", "command", "signal"]
_MOST_CHARS = 500


def write_into(path: Path, statement: str, rows: Sequence[tuple[int | str, ...]]) -> None:
    """One small write beside the recorder.

    Raises:
        SessionError: The session can't be written.
    """
    try:
        with contextlib.closing(connect_writable(path)) as db, db:
            db.executemany(statement, rows)
    except sqlite3.Error as error:
        raise SessionError(f"can't write into {path}: {error}") from None


def put_mark(path: Path, text: str, t_ns: int, origin: Origin, *, is_recording: bool, end_ns: int | None) -> None:
    """Put a mark into a session.

    Args:
        path: The session.
        text: What it says; control characters and what is too long are cut.
        t_ns: The moment, session clock.
        origin: Where it comes from.
        is_recording: A recorder will take it up; else it is appended here.
        end_ns: Arrival of the newest sample; ``None`` for an empty session.

    Raises:
        SessionError: The session can't be written.
    """
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_MOST_CHARS]
    if not clean:
        raise SessionError("a mark needs a text")
    if not is_recording:
        try:
            lock = RecorderLock(path)
        except HeldError:
            pass  # A recorder has come meanwhile.
        except OSError as error:
            raise SessionError(f"can't write into {path}: {error.strerror}") from None
        else:
            try:
                _append(path, Mark(max(t_ns, end_ns or t_ns), t_ns, clean, origin))
            finally:
                lock.release()
            return
    write_into(path, "INSERT INTO mark_request (t_ns, text, origin) VALUES (?,?,?)", [(t_ns, clean, origin)])


def _append(path: Path, mark: Mark) -> None:
    row = (mark.arrival_ns, mark.t_ns, mark.text, mark.origin)
    kind = KINDS.index(Mark)
    batch = Batch(order=bytearray([kind]), appends=[1], rows={kind: [row]})
    # A recorder that was killed has left its newest appends there: the numbers go on behind them.
    recent = RecentReader(path, None)
    newest = max((block.id for block in recent.after(0)), default=0)
    recent.close()
    try:
        with contextlib.closing(connect_writable(path)) as db, db:
            last = max(db.execute("SELECT max(last_id) FROM block").fetchone()[0] or 0, newest)
            at = mark.arrival_ns
            block = make_block(last + 1, last + 1, at, at, 1, APPENDED, NO_STATE, dump_batch(batch))
            db.execute(f"INSERT INTO block ({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", block)
            for statement, rows in tables.copies(batch):
                db.executemany(statement, rows)
            db.execute("UPDATE recorder SET last_block = ? WHERE last_block IS NOT NULL", (last + 1,))
    except sqlite3.Error as error:
        raise SessionError(f"can't write into {path}: {error}") from None
