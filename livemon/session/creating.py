"""Making the file of a session: its lock, its tables, and whether SQLite's log can be used where it lies."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from livemon import __version__
from livemon.model.errors import SessionError
from livemon.model.facts import SessionFacts
from livemon.model.samples import Note
from livemon.session.facts_json import facts_to_json
from livemon.session.filesystem import NETWORK, filesystem_of
from livemon.session.format import (
    APPLICATION_ID,
    BLOCK_COLUMNS,
    CLOSED_FORMAT,
    FORMAT,
    NO_STATE,
    PACKED,
    SCHEMA,
    make_block,
    text_crc,
)
from livemon.session.locking import HeldError, RecorderLock
from livemon.session.recent import RecentFile
from livemon.session.recorder_state import boot_id, host_name, start_ticks

FACTS_BLOCK = 0
_BUSY_S = 0.05


@dataclass(frozen=True, slots=True)
class Created:
    """A new session, open for its recorder."""

    lock: RecorderLock
    db: sqlite3.Connection
    has_wal: bool
    recent: RecentFile | None
    """Where the newest appends go first; ``None``: each goes into the database at once."""
    note: Note | None
    """What is to be said about the place."""


def create_session(path: Path, facts: SessionFacts, *, wall_ns: int, is_bulk: bool, is_durable: bool) -> Created:
    """Make a session; ``SessionWriter`` says what the arguments mean.

    Raises:
        SessionError: Another recorder has it, there is already a session, or it can't be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = RecorderLock(path)
    except HeldError as error:
        who = f"recorder pid {error.holder}" if error.holder else "another recorder"
        raise SessionError(
            f"{path} is being recorded by {who}", f"see it with 'livemon attach {path}', or choose another path"
        ) from None
    except OSError as error:
        raise SessionError(f"can't write {path}: {error.strerror}", "choose another place") from None
    try:
        if path.exists() and path.stat().st_size:
            raise SessionError(f"{path} already exists", "remove it or choose another path")
        db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            _make_tables(db, facts, wall_ns, is_bulk=is_bulk)
            kind = None if is_bulk else filesystem_of(path.parent)
            has_wal = not is_bulk and kind not in NETWORK and _use_log(db)
            recent = _make_recent(db, path, wall_ns) if has_wal and not is_durable else None
        except BaseException:
            db.close()
            raise
    except SessionError:
        lock.release()
        raise
    except (OSError, sqlite3.Error) as error:
        lock.release()
        raise SessionError(f"can't write {path}: {error}", "choose another place") from None
    note = None
    if not is_bulk and not has_wal:
        where = f"on a network file system ({kind})" if kind in NETWORK else "where SQLite's log can't be used"
        note = Note(0, "warning", f"the session is {where}: viewers may delay the recorder", "record to a local disk")
    return Created(lock, db, has_wal, recent, note)


def _make_tables(db: sqlite3.Connection, facts: SessionFacts, wall_ns: int, *, is_bulk: bool) -> None:
    db.execute("PRAGMA cache_size=-1024")
    db.execute("PRAGMA temp_store=MEMORY")
    db.execute("PRAGMA journal_mode=" + ("OFF" if is_bulk else "TRUNCATE"))
    db.execute("PRAGMA synchronous=" + ("OFF" if is_bulk else "NORMAL"))
    facts_json = facts_to_json(facts)
    meta = {"facts": facts_json, "created_wall_ns": str(wall_ns), "livemon_version": __version__}
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    db.execute(f"PRAGMA user_version={CLOSED_FORMAT}")
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            db.execute(statement)
    db.executemany("INSERT INTO meta VALUES (?,?,?)", [(key, v, text_crc(key, v)) for key, v in meta.items()])
    db.execute(
        "INSERT INTO recorder (pid, start_ticks, host, boot, started_wall_ns) VALUES (?,?,?,?,?)",
        (os.getpid(), start_ticks(os.getpid()), host_name(), boot_id(), wall_ns),
    )
    copy = make_block(FACTS_BLOCK, FACTS_BLOCK, 0, 0, 0, PACKED, NO_STATE, facts_json.encode())
    db.execute(f"INSERT INTO block ({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", copy)
    db.execute("COMMIT")


def _use_log(db: sqlite3.Connection) -> bool:
    if db.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
        return False
    db.execute("PRAGMA wal_autocheckpoint=400")  # a backstop: the syncer is to come first
    return True


def _make_recent(db: sqlite3.Connection, path: Path, wall_ns: int) -> RecentFile | None:
    try:
        recent = RecentFile(path, wall_ns)
    except OSError:
        return None  # the database takes each append as well
    try:
        db.execute(f"PRAGMA user_version={FORMAT}")
    except BaseException:
        recent.close(is_needed=False)
        raise
    return recent
