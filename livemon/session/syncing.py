"""Has the log on the disk a moment after each second's row, or after each append, on a thread of its own.

Waiting for a disk can take seconds on a busy machine; a sample must not wait for it. The thread also keeps
the log short, before SQLite does that in the middle of a write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path

_LEAST_S = 0.8
"""Time between two syncs, unless each append is to be synced: a little less than between two rows."""
_CHECKPOINT_BYTES = 1 << 20
"""What may have gone into the log until it is written back into the database."""
_ROW_BYTES = 6 * 4096
"""Pages that a row changes beside those of its data: its leaf, tables, the list of free pages."""
_sync = getattr(os, "fdatasync", os.fsync)


class Syncer:
    """The thread; runs until ``stop``.

    Args:
        path: The session.
        is_durable: Sync after each append, as often as the disk can follow; else about once a second.
    """

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        self._wal = path.with_name(path.name + "-wal")
        self._path = path
        self._least_s = 0.0 if is_durable else _LEAST_S
        self._written_bytes = 0
        """Since the log was last written back, at most: merging writes what is in the rows once more."""
        self._fd = -1
        self._due = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="livemon-sync", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        db: sqlite3.Connection | None = None
        synced_s = time.monotonic()
        while self._has_more(synced_s):
            with contextlib.suppress(sqlite3.Error):
                # A failure here shows up in the recorder's own writes, which say so.
                self.sync()
                synced_s = time.monotonic()
                if self._written_bytes >= _CHECKPOINT_BYTES:
                    self._written_bytes = 0
                    if db is None:
                        db = sqlite3.connect(self._path, timeout=0, isolation_level=None)
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if db is not None:
            db.close()

    def _has_more(self, synced_s: float) -> bool:
        """Wait for something to sync; false when it is the end."""
        self._due.wait()
        left_s = synced_s + self._least_s - time.monotonic()
        if left_s > 0:
            self._stopped.wait(left_s)
        self._due.clear()
        return not self._stopped.is_set()

    def appended(self, data_bytes: int) -> None:
        """A row with so much data was written."""
        self._written_bytes += 2 * data_bytes + _ROW_BYTES
        self._due.set()

    def sync(self) -> None:
        """Have what was written so far on the disk."""
        with contextlib.suppress(OSError):
            if self._fd < 0:
                self._fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)  # the same file until the recorder closes it
            _sync(self._fd)

    def stop(self) -> None:
        """End the thread, waiting for what it is doing."""
        self._stopped.set()
        self._due.set()
        self._thread.join()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
