"""Has the log on the disk once a second, or after each append, and keeps it short, on a thread of its own.

Waiting for a disk can take seconds on a busy machine; a sample must not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

_EVERY_S = 1.0
_CHECKPOINT_BYTES = 1 << 20
"""Length of the log from which it is written back into the database."""


class Syncer:
    """The thread; runs until ``stop``.

    Args:
        path: The session.
        is_durable: Sync after each append, not once a second: as often as the disk can follow.
    """

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        self._wal = path.with_name(path.name + "-wal")
        self._path = path
        self._is_durable = is_durable
        self._is_stopped = False
        self._due = threading.Event()
        self._thread = threading.Thread(target=self._run, name="livemon-sync", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        db: sqlite3.Connection | None = None
        synced: tuple[int, int] | None = None
        while not self._has_to_stop():
            with contextlib.suppress(OSError, sqlite3.Error):
                # A failure here shows up in the recorder's own writes, which say so.
                stat = self._wal.stat()
                if (stat.st_size, stat.st_mtime_ns) == synced:
                    continue
                self.sync()
                synced = stat.st_size, stat.st_mtime_ns
                if stat.st_size >= _CHECKPOINT_BYTES:
                    if db is None:
                        db = sqlite3.connect(self._path, timeout=0, isolation_level=None)
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if db is not None:
            db.close()

    def _has_to_stop(self) -> bool:
        """Wait for the next sync to be due."""
        self._due.wait(_EVERY_S)
        self._due.clear()
        return self._is_stopped

    def appended(self) -> None:
        """Something was written."""
        if self._is_durable:
            self._due.set()

    def sync(self) -> None:
        """Have what was written so far on the disk."""
        with contextlib.suppress(OSError):
            fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def stop(self) -> None:
        """End the thread, waiting for what it is doing."""
        self._is_stopped = True
        self._due.set()
        self._thread.join()
