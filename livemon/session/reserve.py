"""Room put by for a full disk: ``SESSION-reserve``, given up when a write fails for want of space.

With a full disk SQLite can neither lengthen its log nor copy it into the database, so not even old
minutes could be dropped. The reserve is as long as the log becomes; once it is given up the log can be
copied, old minutes free their pages, and recording goes on within the size that the session has. A last
part is kept for the end: what could not be recorded, and why, is written then.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

RESERVE_BYTES = 2 << 20
LAST_BYTES = 64 << 10
"""Of it, so much is kept for the end; on a small disk there is only that."""
_AGAIN_FROM_BYTES = 64 << 20
"""Free space from which a reserve that was given up is made again."""


class Reserve:
    """The reserve of one session; none if there is too little space to begin with."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + "-reserve")
        self._is_there = False
        self._has_last = False
        self._make(RESERVE_BYTES * 4)

    def _make(self, wanted_free_bytes: int) -> None:
        try:
            found = os.statvfs(self._path.parent)
            free_bytes = found.f_bavail * found.f_frsize
            is_small = free_bytes < wanted_free_bytes
            if free_bytes < LAST_BYTES * 2 or (is_small and self._has_last):
                return
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        size = LAST_BYTES if is_small else RESERVE_BYTES
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, size)
            else:
                os.write(fd, bytes(size))
            self._is_there, self._has_last = not is_small, True
        except OSError:
            self.give_up()
        finally:
            os.close(fd)

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()

    def shorten(self) -> None:
        """Free the space but for what is kept for the end."""
        if self._is_there:
            self._is_there = False
            with contextlib.suppress(OSError):
                os.truncate(self._path, LAST_BYTES)

    def give_up(self) -> None:
        """Free all of it."""
        self._is_there = self._has_last = False
        self._remove()

    def restore(self) -> None:
        """Make it again if it was given up and there is space once more."""
        if not self._is_there:
            self._make(_AGAIN_FROM_BYTES)
