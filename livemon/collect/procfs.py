"""Files of ``/proc`` and ``/sys``: whole small reads, what their errors mean, the descriptor limit."""

from __future__ import annotations

import errno
import os

GONE = frozenset({errno.ESRCH, errno.ENOENT})
"""Both mean that the process or thread has ended: which one depends on when."""
DENIED = frozenset({errno.EACCES, errno.EPERM})
NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})

_READ_BYTES = 1 << 16
_RESERVED_DESCRIPTORS = 64


def read_file(path: str, *, dir_fd: int | None = None, limit: int = 1 << 22) -> bytes:
    """A small file, whole (at most ``limit`` bytes).

    Raises:
        OSError: it can't be opened or read; see ``GONE`` and ``DENIED``.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        data = os.read(descriptor, _READ_BYTES)
        if len(data) < 4096:  # one page at least comes in one read
            return data
        parts = [data]
        total = len(data)
        while data and total < limit:
            data = os.read(descriptor, _READ_BYTES)
            parts.append(data)
            total += len(data)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def read_text(path: str) -> str | None:
    """A small text file without the space around it; ``None`` if it can't be read."""
    try:
        return read_file(path).decode("utf-8", "backslashreplace").strip()
    except OSError:
        return None


def read_int(path: str) -> int | None:
    """A file that holds one number; ``None`` if it can't be read or holds something else."""
    text = read_text(path)
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def list_numbers(directory: str | int) -> list[int]:
    """The entries of a directory that are numbers: pids of ``/proc``, tids of a ``task`` folder.

    Raises:
        OSError: it can't be listed.
    """
    return [int(name) for name in os.listdir(directory) if name.isdecimal()]  # noqa: PTH208  (takes a descriptor)


def raise_descriptor_limit() -> int:
    """Raise the soft limit on open files to the hard one; returns how many livemon may keep open."""
    import resource  # not there on Windows, where the rest of this module may be imported

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass  # the soft limit stays in force
    if soft == resource.RLIM_INFINITY:
        soft = 1 << 20
    return max(soft - _RESERVED_DESCRIPTORS, 0)
