"""Opening a session for reading, wherever it lies and however it was left."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import quote

from livemon.model.errors import SessionError
from livemon.session.format import APPLICATION_ID, FORMAT
from livemon.session.recent import recent_path

_BUSY_S = 2.0
DAMAGE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file can raise (the second one for a damaged name in its schema)."""


class Connection:
    """A read-only connection to a session, or to a copy of it where it can't be read in place.

    Raises:
        SessionError: There is no session, or it is of a newer format.
        sqlite3.DatabaseError: It is damaged so that SQLite can't open it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_copy = False
        """What is read is a copy made on opening: it does not follow a recorder."""
        self.place = path
        """Where what is read lies."""
        self._folder: str | None = None
        check_is_there(path)
        self.db = self._connect()
        try:
            check_format(self.db, path)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        try:
            return _try(self.path, "mode=ro")
        except sqlite3.OperationalError as error:
            if "malformed" in str(error) or "disk I/O" in str(error):
                raise
        # A log that needs shared memory in a folder that can't be written.
        wal = self.path.with_name(self.path.name + "-wal")
        if not wal.exists() or wal.stat().st_size == 0:
            return _try(self.path, "mode=ro&immutable=1")
        self._folder = tempfile.mkdtemp(prefix="livemon-")
        self.is_copy = True
        copy = self.place = Path(self._folder) / "session"
        if recent_path(self.path).exists():
            shutil.copyfile(recent_path(self.path), recent_path(copy))  # first: what moves on is then in the log
        shutil.copyfile(self.path, copy)
        shutil.copyfile(wal, copy.with_name("session-wal"))
        return _try(copy, "mode=rw")

    def close(self) -> None:
        """Let go of the file and of the copy."""
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self.db.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def connect_writable(path: Path) -> sqlite3.Connection:
    """A connection for a small write beside the recorder; the session must exist."""
    return sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?mode=rw", uri=True, timeout=_BUSY_S)


def _try(path: Path, mode: str) -> sqlite3.Connection:
    name = quote(os.fsencode(path.absolute()))
    db = sqlite3.connect(
        f"file:{name}?{mode}", uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    # A damaged text must not raise: its row's checksum says that it is damaged.
    db.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def check_is_there(path: Path) -> None:
    """Complain about what is plainly not a session file.

    Raises:
        SessionError: No such file, a folder, not readable, or empty.
    """
    try:
        if path.is_dir():
            raise SessionError(f"{path} is a folder, not a session", "see 'livemon sessions'")
        size = path.stat().st_size
        if not os.access(path, os.R_OK):
            raise SessionError(f"can't read {path}: permission denied")
    except FileNotFoundError:
        raise SessionError(f"there is no session {path}", "see 'livemon sessions'") from None
    except OSError as error:
        raise SessionError(f"can't read {path}: {error.strerror}") from None
    if not size:
        raise SessionError(f"{path} is empty: nothing was recorded")


def check_is_ours(path: Path) -> None:
    """Complain about a file that SQLite refuses and that is not a damaged session either.

    Only for such files: reading a database past SQLite drops the locks that this process has on it.

    Raises:
        SessionError: It is another kind of file.
    """
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise SessionError(f"can't read {path}: {error.strerror}") from None
    if not _looks_like_ours(head):
        raise _not_ours(path)


def _not_ours(path: Path) -> SessionError:
    return SessionError(f"{path} is not a livemon session", "to read a log use 'livemon import --log'")


def _looks_like_ours(head: bytes) -> bool:
    """Whether one of the two marks of a session file is there: any one byte of them may be damaged."""
    magic = b"SQLite format 3\0"
    same = sum(a == b for a, b in zip(head, magic, strict=False))
    ours = head[68:72] == APPLICATION_ID.to_bytes(4, "big")
    return (same == len(magic) and (ours or _close(head[68:72]))) or (ours and same >= len(magic) - 1)


def _close(found: bytes) -> bool:
    expected = APPLICATION_ID.to_bytes(4, "big")
    return sum(a == b for a, b in zip(found, expected, strict=False)) >= 3


def check_format(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a newer format, saying which version reads it.

    Raises:
        SessionError: The file is of a newer format, or another program's database.
    """
    application = db.execute("PRAGMA application_id").fetchone()[0]
    if not _close(application.to_bytes(4, "big", signed=True)):
        raise _not_ours(path)
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found <= FORMAT:
        return
    try:
        row = db.execute("SELECT value FROM meta WHERE key = 'livemon_version'").fetchone()
    except sqlite3.Error:
        row = None
    needed = f"livemon {row[0]} or newer" if row else "a newer livemon"
    raise SessionError(
        f"{path} is in session format {found}; this livemon reads up to {FORMAT}", f"open it with {needed}"
    )
