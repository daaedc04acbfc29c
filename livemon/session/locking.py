"""One recorder a session: an advisory lock on ``SESSION-lock``, and who holds it.

The lock is on a file of its own, because closing any descriptor of the database would drop SQLite's
own locks. The kernel lets go of it when the recorder dies, however it dies, and it is seen across pid
namespaces; the pid is for the message.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


def lock_path(path: Path) -> Path:
    """Where the lock of a session is."""
    return path.with_name(path.name + "-lock")


class HeldError(Exception):
    """Another recorder has the session; ``holder`` is its pid as text, or empty."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


class RecorderLock:
    """The lock while it is held.

    Raises:
        HeldError: Another process holds it.
        OSError: The lock file can't be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = lock_path(path)
        self._fd = self._take()

    def _take(self) -> int:
        tries = 5  # A reader that looks whether we are alive holds a shared lock for a moment.
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
                os.close(fd)
                tries -= 1
                if not tries:
                    raise HeldError(holder) from None
                time.sleep(0.02)
                continue
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    os.close(fd)
                    raise
            # Whoever held it before may have unlinked it between our open and our lock.
            if _is_same_file(fd, self._path):
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
                return fd
            os.close(fd)

    def release(self) -> None:
        """Let go and remove the file."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                if _is_same_file(self._fd, self._path):
                    self._path.unlink()
            os.close(self._fd)
            self._fd = -1


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def is_locked(path: Path) -> bool | None:
    """Whether a recorder holds the session; ``None`` if that can't be told."""
    try:
        fd = os.open(lock_path(path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(fd)
    return False
