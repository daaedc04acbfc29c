"""One open log file: how far it has been read, and how to tell that its content was replaced.

A size that grew proves nothing: a file may have been truncated and filled past the old position
between two looks. So every read takes in some bytes before the position and compares them with
what was there, and the first bytes of the file are compared too. Samples of bytes at earlier
positions tell a file that was cut back (what is left was read already) from one that was started
anew.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

Identity = tuple[int, int]
"""(device, inode)."""

HEAD_BYTES = 512
OVERLAP_BYTES = 256
SAMPLE_BYTES = 64
MAX_SAMPLES = 256
FEW_BYTES = 4096
"""What a log that grows slowly has grown by between two looks, at most."""
COUNT_BLOCK_BYTES = 1 << 20
COUNT_LIMIT_BYTES = 128 << 20
"""Above this the lines of a skipped stretch are not counted."""


class ContentReplacedError(Exception):
    """The bytes before the position are not those that were read.

    Args:
        is_cut_back: What is left are the bytes that were read, only fewer.
    """

    def __init__(self, reason: str, *, is_cut_back: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_cut_back = is_cut_back


@dataclass(frozen=True, slots=True)
class Skip:
    """Bytes that were passed over."""

    offset: int
    count_bytes: int
    lines: int | None
    """Line ends among them; ``None``: not counted, there were too many bytes."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What was read of a file, to know its bytes again under another name."""

    position: int
    head: bytes
    before: bytes

    def is_start_of(self, fd: int) -> bool:
        """Whether the file behind ``fd`` begins with what was read."""
        if self.position == 0 or os.fstat(fd).st_size < self.position:
            return False
        size = len(self.before)
        same_before = os.pread(fd, size, self.position - size) == self.before
        return same_before and os.pread(fd, len(self.head), 0) == self.head


class FollowedFile:
    """A regular file that is read from ``position`` on.

    Args:
        fd: Open for reading; closed by ``close``.
        position: Where reading begins.
    """

    def __init__(self, fd: int, position: int = 0) -> None:
        self.fd = fd
        status = os.fstat(fd)
        self.identity: Identity = (status.st_dev, status.st_ino)
        self.position = position
        self.backlog_bytes = 0
        """How much of the file lies after the position, at the last look."""
        self._has_grown = False
        """Whether the last look found new bytes: then the next one reads before it asks."""
        self._seen = (-1, -1)
        self._head = b""
        self._before = b""
        self._samples: list[tuple[int, bytes]] = []
        self._adopt(position)

    def _adopt(self, position: int) -> None:
        """Take the bytes before ``position`` as read."""
        self.position = position
        self._head = os.pread(self.fd, min(HEAD_BYTES, position), 0)
        start = max(position - OVERLAP_BYTES, 0)
        self._before = os.pread(self.fd, position - start, start)
        self._samples.clear()
        if self._before:
            self._samples.append((position, self._before[-SAMPLE_BYTES:]))
        self.backlog_bytes = max(self._seen[0] - position, 0)

    def links(self) -> int:
        """Names the file still has; 0 when it was deleted."""
        return os.fstat(self.fd).st_nlink

    def read(self, limit: int) -> bytes:
        """Up to ``limit`` new bytes; empty at the end of the file.

        Raises:
            ContentReplacedError: the file no longer has the content that was read.
        """
        position, known, head = self.position, self._before, self._head
        before = len(known)
        data, size = b"", 0
        if self._has_grown and position and limit >= FEW_BYTES:
            # A log that grows will most likely have grown: then its size need not be asked for first.
            data = os.pread(self.fd, before + FEW_BYTES, position - before)
            size = position - before + len(data)
            self._seen = (size, -1)
        if not before < len(data) < before + FEW_BYTES:
            status = os.fstat(self.fd)
            size = status.st_size
            seen = (size, status.st_mtime_ns)
            self._has_grown = False
            if seen == self._seen and size == position:
                return b""
            self._seen = seen
            if size < position:
                self._raise_shrunk(size)
            if not position:
                self._pass_hole(status)
                position, known, head = self.position, self._before, self._head
                before = len(known)
            new = size - position
            data = os.pread(self.fd, before + (new if new < limit else limit), position - before)
        is_same = data.startswith(known) and (position <= before or os.pread(self.fd, len(head), 0) == head)
        if not is_same:
            if len(data) < before:
                self._raise_shrunk(os.fstat(self.fd).st_size)
            raise ContentReplacedError("truncated and written past the old position")
        fresh = data[before:]
        if fresh:
            if len(head) < HEAD_BYTES and len(head) == position:
                self._head = (head + fresh)[:HEAD_BYTES]
            self.position = position = position + len(fresh)
            self._before = data[-OVERLAP_BYTES:]
            self._has_grown = True
            samples = self._samples
            samples.append((position, data[-SAMPLE_BYTES:]))
            if len(samples) > MAX_SAMPLES:
                del samples[:-1:2]
        self.backlog_bytes = size - position if size > position else 0
        return fresh

    def _raise_shrunk(self, size: int) -> None:
        if size > 0 and self._is_prefix(size):
            self._adopt(size)
            raise ContentReplacedError(f"cut back to {size} bytes that were read before", is_cut_back=True)
        raise ContentReplacedError("truncated")

    def _is_prefix(self, size: int) -> bool:
        """Whether the file's first ``size`` bytes look like the ones that were read."""
        head = self._head[:size]
        if not head or os.pread(self.fd, len(head), 0) != head:
            return False
        below = [sample for sample in self._samples if sample[0] <= size]
        if not below:
            return size <= len(head)
        position, expected = below[-1]
        return os.pread(self.fd, len(expected), position - len(expected)) == expected

    @property
    def fingerprint(self) -> Fingerprint:
        """What was read so far."""
        return Fingerprint(self.position, self._head, self._before)

    def restart(self) -> None:
        """Read from the beginning."""
        self._seen = (-1, -1)
        self._adopt(0)

    def _pass_hole(self, status: os.stat_result) -> None:
        """Begin after the hole that the file begins with.

        A writer without ``O_APPEND`` goes on at its old offset after a truncation and leaves one.
        """
        if status.st_blocks * 512 < status.st_size and hasattr(os, "SEEK_DATA"):
            try:
                self._adopt(os.lseek(self.fd, 0, os.SEEK_DATA))
            except OSError:
                return  # no data yet, or a file system that does not know holes

    def skip_to(self, position: int) -> Skip:
        """Pass over everything up to the first line that begins at or after ``position``."""
        start = self.position
        lines: int | None = 0
        at = start
        counted = position - start <= COUNT_LIMIT_BYTES
        if not counted:
            lines, at = None, position
        while at < position:
            block = os.pread(self.fd, min(COUNT_BLOCK_BYTES, position - at), at)
            if not block:
                break
            lines = None if lines is None else lines + block.count(b"\n")
            at += len(block)
        while True:
            block = os.pread(self.fd, COUNT_BLOCK_BYTES, at)
            end = block.find(b"\n")
            at += end + 1 if end >= 0 else len(block)
            if end >= 0 and lines is not None:
                lines += 1
            if end >= 0 or not block:
                break
        self._adopt(at)
        return Skip(start, at - start, lines)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.fd)


def line_start_before(fd: int, end: int) -> int:
    """Where the line begins that ``end`` is in: ``end`` itself just after a line end."""
    at = end
    while at > max(end - COUNT_BLOCK_BYTES, 0):
        size = min(4096, at)
        block = os.pread(fd, size, at - size)
        found = block.rfind(b"\n")
        if found >= 0:
            return at - size + found + 1
        at -= size
    return at if at == 0 else end
