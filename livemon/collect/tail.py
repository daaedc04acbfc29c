"""Following a log by its path, through every way in which logs are rotated.

The theory. A ``Tail`` has one current file and may have older ones that are still written to.
Everything is found by polling, so it works on NFS and in containers alike:

- append: bytes after the position;
- rename and create, or delete and recreate: the path leads to another (device, inode) than the
  file that is open. The old one is read on for a while, because writers switch late; the new one
  is read from its beginning. An inode number can't be used again while the file is open;
- copytruncate and ``> log``: the content check of ``FollowedFile`` fails; reading begins again at 0;
- a copy put in place (editors, ``cp`` and ``mv``): the new file begins with what was read: go on;
- the file does not exist yet, or vanishes: wait for it; what is created later is read whole.

Each such piece is a *generation*: a line never continues from one into another, so whoever parses
keeps one parser per generation. No byte is given out twice. What can't be known to have been
read is said in ``Restarted``; what was left out on purpose in ``Skipped``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from livemon.collect.tail_file import ContentReplacedError, Fingerprint, FollowedFile, Identity, line_start_before

LINGER_NS = 60_000_000_000
"""How long an old file is read on after its last byte."""
PATH_CHECK_NS = 300_000_000
"""A file that grows is taken for the one that its path leads to for so long; one that does not is looked up."""
MAX_BACKLOG_BYTES = 4 << 20
"""Further behind than this, a tail goes to the end and says what it left out."""
KEEP_BYTES = 256 << 10
"""How much before the end reading goes on after a skip."""
READ_BYTES = 256 << 10
PAST_FILES = 32
"""Files that were read to their end and are remembered, in case they appear under another name."""


class Chunk(NamedTuple):
    """New bytes of a generation, in order and without gaps but for ``Skipped``."""

    generation: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Restarted:
    """A further generation begins."""

    generation: int
    offset: int
    reason: str
    may_have_lost: bool
    """Lines written between the last look and the restart may never have been seen."""


@dataclass(frozen=True, slots=True)
class Ended:
    """No more bytes will come of this generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Bytes that were left out, whole lines; the generation goes on at ``resume_offset``."""

    generation: int
    resume_offset: int
    count_bytes: int
    lines: int | None
    """``None``: not counted."""
    reason: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """The log can't be read at the moment, or can be read again (``is_over``)."""

    text: str
    remedy: str = ""
    is_over: bool = False


TailEvent = Chunk | Restarted | Ended | Skipped | Trouble


@dataclass(slots=True)
class _Old:
    """A file that the path no longer leads to."""

    file: FollowedFile
    generation: int
    active_ns: int


class Tail:
    """Follows one path.

    Args:
        path: A regular file, now or later.
        from_start: Read what is already there; else begin at its end. A file that does not exist yet
            is always read whole.
        linger_ns: How long an old file is read on after its last byte.
        max_backlog_bytes: See ``MAX_BACKLOG_BYTES``; what was there at the start is never skipped.
        position: Begin here: what lies before was read under another name.
    """

    def __init__(
        self,
        path: str,
        *,
        from_start: bool = False,
        position: int | None = None,
        linger_ns: int = LINGER_NS,
        max_backlog_bytes: int = MAX_BACKLOG_BYTES,
    ) -> None:
        self.path = path
        self._linger_ns = linger_ns
        self._max_backlog_bytes = max_backlog_bytes
        self._file: FollowedFile | None = None
        self._generation = 0
        self._generations = 1
        self._old: list[_Old] = []
        self._trouble: int | None = None
        self._checked_ns: int | None = None
        self._backfill_to = 0
        self._start: int | None = 0 if from_start else position
        self._is_first = True
        self._lost: Fingerprint | None = None
        self._past: deque[Fingerprint] = deque(maxlen=PAST_FILES)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """The files that are open, so that a rotated name is not taken for another log."""
        files = [old.file for old in self._old] + ([self._file] if self._file else [])
        return tuple(file.identity for file in files)

    @property
    def backlog_bytes(self) -> int:
        """How far behind the end of the current file reading is."""
        return self._file.backlog_bytes if self._file else 0

    @property
    def is_catching_up(self) -> bool:
        """Whether what was there when the file was opened is not all read yet."""
        return self._file is not None and self._file.position < self._backfill_to

    @property
    def is_open(self) -> bool:
        """Whether there is a file to read."""
        return self._file is not None

    def read_before(self, fd: int) -> int:
        """How much of the file behind ``fd`` was already read here under another name (0: nothing of it)."""
        open_files = [old.file for old in self._old] + ([self._file] if self._file else [])
        for known in [file.fingerprint for file in open_files] + list(self._past):
            if known.is_start_of(fd):
                return known.position
        return 0

    def poll(self, now_ns: int, max_bytes: int) -> list[TailEvent]:
        """What is new, at most ``max_bytes`` of it.

        Args:
            now_ns: The time, on any steady clock.
            max_bytes: Limit of the bytes given out.
        """
        events: list[TailEvent] = []
        left = max_bytes
        if self._old:
            for old in list(self._old):
                left -= self._poll_old(old, now_ns, left, events)
        if self._file is None:
            self._open(events, now_ns)
        given = 0
        if self._file is not None:
            given = self._read_current(left, events)
            left -= given
        if not given or self._checked_ns is None or now_ns - self._checked_ns >= PATH_CHECK_NS:
            self._checked_ns = now_ns
            if self._file is not None and self._is_rotated():
                # What was appended up to the rename comes before anything of the new file.
                left -= self._read_current(max(left, 0) + READ_BYTES, events)
                self._switch(events, now_ns)
                if self._file is not None:
                    self._read_current(max(left, 0), events)
        return events

    def finish(self) -> list[TailEvent]:
        """Let go of everything; each open generation ends."""
        events: list[TailEvent] = []
        for old in self._old:
            old.file.close()
            events.append(Ended(old.generation))
        if self._file is not None:
            unread = self._file.backlog_bytes
            if unread > 0:
                skip = self._file.skip_to(self._file.position + unread)
                reason = "the recording ended before it was read"
                events.append(Skipped(self._generation, self._file.position, skip.count_bytes, skip.lines, reason))
            self._file.close()
            events.append(Ended(self._generation))
        self._old.clear()
        self._file = None
        return events

    def _open(self, events: list[TailEvent], now_ns: int) -> None:
        fd = self._open_path(events)
        if fd is None:
            self._is_first = False
            return
        size = os.fstat(fd).st_size
        start = 0
        if self._lost is not None:
            if self._lost.is_start_of(fd):
                start = self._lost.position
            else:
                events.append(Ended(self._generation))
                self._begin_generation()
                events.append(Restarted(self._generation, 0, "opened again, with other content", may_have_lost=True))
        elif self._is_first:
            start = line_start_before(fd, size) if self._start is None else min(self._start, size)
        self._lost = None
        self._is_first = False
        self._backfill_to = size
        self._file = FollowedFile(fd, start)
        self._checked_ns = now_ns

    def _open_path(self, events: list[TailEvent]) -> int | None:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            self._tell_trouble(error, events)
            return None
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            self._tell_trouble(OSError(errno.EINVAL, "not a regular file any more"), events)
            return None
        if self._trouble is not None:
            events.append(Trouble(f"{self.path} is there now", is_over=True))
            self._trouble = None
        return fd

    def _tell_trouble(self, error: OSError, events: list[TailEvent]) -> None:
        code = error.errno or errno.EIO
        if code == self._trouble:
            return
        self._trouble = code
        if code == errno.ENOENT:
            events.append(Trouble(f"{self.path} does not exist yet: waiting for it"))
        elif code in (errno.EACCES, errno.EPERM):
            events.append(
                Trouble(f"{self.path} may not be read", "run livemon as a user that may, or: chmod a+r the log")
            )
        else:
            events.append(Trouble(f"{self.path} can't be read: {error.strerror}"))

    def _is_rotated(self) -> bool:
        """Whether the path leads to another file than the one that is open."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - many times a second: no Path objects
        except OSError:
            return False  # between rename and create, or gone for good: the open file is read on
        return self._file is not None and (status.st_dev, status.st_ino) != self._file.identity

    def _switch(self, events: list[TailEvent], now_ns: int) -> None:
        """Take the file that the path leads to now; the one before is read on for a while."""
        before = self._file
        fd = self._open_path(events)
        if fd is None or before is None:
            return
        if before.fingerprint.is_start_of(fd):
            position = before.position
            before.close()
            self._file = FollowedFile(fd, position)
            return
        self._old.append(_Old(before, self._generation, now_ns))
        self._begin_generation()
        self._file = FollowedFile(fd, 0)
        self._backfill_to = 0
        events.append(Restarted(self._generation, 0, "rotated: another file has its name", may_have_lost=False))

    def _begin_generation(self) -> None:
        self._generation = self._generations
        self._generations += 1

    def _poll_old(self, old: _Old, now_ns: int, left: int, events: list[TailEvent]) -> int:
        given = 0
        if left <= 0:
            return given
        is_over = now_ns - old.active_ns > self._linger_ns
        try:
            data = old.file.read(left)
        except (ContentReplacedError, OSError):
            data, is_over = b"", True  # truncated after it was renamed: what matters of it was read
        if data:
            events.append(Chunk(old.generation, old.file.position - len(data), data))
            old.active_ns = now_ns
            given = len(data)
        elif is_over:
            events.append(Ended(old.generation))
            self._past.append(old.file.fingerprint)
            old.file.close()
            self._old.remove(old)
        return given

    def _read_current(self, limit: int, events: list[TailEvent]) -> int:
        """Bytes given out of the current file, at most ``limit``."""
        given = 0
        while self._file is not None and given < limit:
            room = limit - given
            try:
                data = self._file.read(room if room < READ_BYTES else READ_BYTES)
            except ContentReplacedError as change:
                self._restart(change, events)
                continue
            except OSError as error:
                # ESTALE and EIO of network file systems: the path is opened again at the next look.
                self._lose(error, events)
                break
            if not data:
                break
            events.append(Chunk(self._generation, self._file.position - len(data), data))
            given += len(data)
            if not self._file.backlog_bytes:
                break
            self._skip_if_far_behind(self._file, events)
        return given

    def _restart(self, change: ContentReplacedError, events: list[TailEvent]) -> None:
        file = self._file
        if file is None:
            return
        if not change.is_cut_back:
            self._past.append(file.fingerprint)
            file.restart()
        events.append(Ended(self._generation))
        self._begin_generation()
        self._backfill_to = 0
        events.append(Restarted(self._generation, file.position, change.reason, may_have_lost=not change.is_cut_back))

    def _lose(self, error: OSError, events: list[TailEvent]) -> None:
        if self._file is not None:
            self._lost = self._file.fingerprint
            self._file.close()
            self._file = None
        self._tell_trouble(error, events)

    def _skip_if_far_behind(self, file: FollowedFile, events: list[TailEvent]) -> None:
        if file.backlog_bytes <= self._max_backlog_bytes or file.position < self._backfill_to:
            return
        keep = min(KEEP_BYTES, self._max_backlog_bytes // 2)
        skip = file.skip_to(file.position + file.backlog_bytes - keep)
        events.append(
            Skipped(
                self._generation,
                file.position,
                skip.count_bytes,
                skip.lines,
                "written faster than it can be read: went on near the end",
            )
        )
