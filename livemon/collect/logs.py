"""All the logs of a recording: paths, globs that gain files, pipes; each one a numbered stream."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from livemon.collect.log_request import LogRequest, is_glob
from livemon.collect.pipe import PipeTail
from livemon.collect.tail import Tail, TailEvent, Trouble

RESCAN_NS = 1_000_000_000
MAX_FOLLOWED = 200


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """A further stream is followed from now on."""

    path: str
    """Empty when its text can't be read again."""
    label: str
    is_pipe: bool
    is_child: bool


LogEvent = TailEvent | StreamOpened


class LogSet:
    """Follows every requested log.

    Args:
        requests: What to follow. Files that a glob gains later are read from their beginning; a file
            that was read under another name (rotation, copy) goes on where it was left.
    """

    def __init__(self, requests: Sequence[LogRequest]) -> None:
        self._tails: list[Tail | PipeTail] = []
        self._pipes: list[PipeTail] = []
        self.has_pipes = False
        """Whether anything followed is a pipe: only then is there anything to wait for."""
        self.is_catching_up = False
        """Whether the last look left lines that are to be read at full speed: old ones of files, any of pipes."""
        self._opened: list[tuple[int, LogEvent]] = []
        self._globs = [request for request in requests if request.fd is None and is_glob(request.path)]
        self.has_files = bool(self._globs)
        """Whether anything followed is a file, now or later: further bytes are always possible then."""
        self._unmatched = {request.path: None for request in self._globs}
        """Patterns that matched nothing so far."""
        self._paths: set[str] = set()
        self._scanned_ns: int | None = None
        self._has_told_limit = False
        for request in requests:
            if request.fd is not None:
                self._add_open(request, request.fd)
            elif not is_glob(request.path):
                self._add_path(request)

    @property
    def waitable_fds(self) -> tuple[int, ...]:
        """Pipes whose readiness means new bytes."""
        if not self._pipes:
            return ()
        return tuple(fd for pipe in self._pipes if (fd := pipe.waitable_fd) is not None)

    @property
    def has_anything_to_come(self) -> bool:
        """Whether further bytes are possible: false when all there was are pipes that ended."""
        return self.has_files or any(pipe.is_open for pipe in self._pipes)

    @property
    def backlog_bytes(self) -> int:
        """How far behind reading is, over all files."""
        return sum(tail.backlog_bytes for tail in self._tails if isinstance(tail, Tail))

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Patterns that have never matched a file."""
        return tuple(self._unmatched)

    def is_there(self, stream: int) -> bool:
        """Whether there is anything behind a stream: false for a file that does not exist (yet)."""
        tail = self._tails[stream]
        return not isinstance(tail, Tail) or tail.is_open

    def poll(self, now_ns: int, max_bytes: int) -> list[tuple[int, LogEvent]]:
        """What is new, with the number of its stream; at most ``max_bytes`` of each.

        Args:
            now_ns: The time, on any steady clock.
            max_bytes: Limit for each stream.
        """
        if self._globs and (self._scanned_ns is None or now_ns - self._scanned_ns >= RESCAN_NS):
            self._scan(is_first=self._scanned_ns is None)
            self._scanned_ns = now_ns
        events, self._opened = self._opened, []
        is_catching_up = False
        for stream, tail in enumerate(self._tails):
            new = tail.poll(now_ns, max_bytes)
            if new:
                for event in new:
                    events.append((stream, event))
                is_catching_up = is_catching_up or tail.is_catching_up
        self.is_catching_up = is_catching_up
        return events

    def finish(self) -> list[tuple[int, LogEvent]]:
        """Let go of all logs."""
        return [(stream, event) for stream, tail in enumerate(self._tails) for event in tail.finish()]

    def _add(self, tail: Tail | PipeTail, opened: StreamOpened) -> None:
        self._opened.append((len(self._tails), opened))
        self._tails.append(tail)
        if isinstance(tail, PipeTail):
            self._pipes.append(tail)
            self.has_pipes = True
        else:
            self.has_files = True

    def _add_open(self, request: LogRequest, fd: int) -> None:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            # ``watch - < file``: the descriptor's own path, so that it is followed like any other.
            path = os.path.realpath(f"/dev/fd/{fd}")
            os.close(fd)
            self._add_path(LogRequest(path, from_start=True))
            return
        self._add(PipeTail(fd, request.path), StreamOpened("", request.path, True, request.is_child))

    def _add_path(self, request: LogRequest, position: int | None = None) -> None:
        path = os.path.abspath(request.path)  # noqa: PTH100 - a symlink must stay one: it may lead elsewhere tomorrow
        if path in self._paths:
            return
        self._paths.add(path)
        try:
            is_pipe = not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path)  # noqa: PTH112, PTH116
        except OSError:
            is_pipe = False
        if is_pipe:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._add(PipeTail(fd, path, ends=False), StreamOpened("", path, True, request.is_child))
        else:
            tail = Tail(path, from_start=request.from_start, position=position)
            self._add(tail, StreamOpened(path, path, False, request.is_child))

    def _scan(self, *, is_first: bool) -> None:
        for request in self._globs:
            for path in sorted(glob.glob(request.path, recursive=True)):  # noqa: PTH207 - absolute patterns too
                self._unmatched.pop(request.path, None)
                absolute = os.path.abspath(path)  # noqa: PTH100
                if absolute in self._paths:
                    continue
                if len(self._tails) >= MAX_FOLLOWED:
                    self._tell_limit(request.path)
                    return
                self._consider(absolute, request, is_first=is_first)

    def _consider(self, path: str, request: LogRequest, *, is_first: bool) -> None:
        """Follow a file that a glob matches, unless it is one that is being read under another name."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._add_path(LogRequest(path, from_start=True))  # says why it can't be read, and waits
            return
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return
            files = [tail for tail in self._tails if isinstance(tail, Tail)]
            if any((status.st_dev, status.st_ino) in tail.identities for tail in files):
                return
            position = max((tail.read_before(fd) for tail in files), default=0)
        finally:
            os.close(fd)
        from_start = request.from_start or not is_first
        self._add_path(LogRequest(path, from_start=from_start and not position), position or None)

    def _tell_limit(self, pattern: str) -> None:
        if not self._has_told_limit and self._tails:
            self._has_told_limit = True
            text = f"{pattern} matches more than {MAX_FOLLOWED} files: the further ones are not followed"
            self._opened.append((0, Trouble(text, "give a narrower pattern")))
