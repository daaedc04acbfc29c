"""Reading what can't be read twice: standard input, FIFOs, process substitution.

The writer must never wait for livemon, so a pipe is always emptied, into memory. What is given out at
a time is limited; what waits is limited too: when a writer stays faster than reading for so long
that ``QUEUE_BYTES`` wait, reading goes on near the end, and what was left out is counted.
"""

from __future__ import annotations

import os
import select
from collections import deque

from livemon.collect.tail import KEEP_BYTES, Chunk, Ended, Skipped, TailEvent, Trouble

READ_BYTES = 64 << 10
DRAIN_BYTES = 8 << 20
"""At most so much is taken from a pipe in one poll."""
QUEUE_BYTES = 64 << 20
FINISH_BYTES = 1 << 20
"""So much is still read when the recording ends."""
_PIPE_BYTES = 1 << 20
_LEAST_PIPE_BYTES = 16 << 10
"""What a pipe holds everywhere."""
_BUSY_SHARE = 8
"""A pipe that was filled to this part of its room between two looks is waited for."""


class PipeTail:
    """Follows one pipe.

    Args:
        fd: Open for reading; closed at the end.
        path: What it is called in messages.
        ends: The end of the stream is the end (standard input); else a further writer may come (FIFO).
        queue_bytes: See ``QUEUE_BYTES``.
    """

    def __init__(self, fd: int, path: str, *, ends: bool = True, queue_bytes: int = QUEUE_BYTES) -> None:
        self.path = path
        self._fd: int | None = fd
        self._ends = ends
        self._queue_bytes = queue_bytes
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._offset = 0
        self._must_end = False
        self._poller = select.poll()
        self._poller.register(fd, select.POLLIN | select.POLLHUP)
        self._room = _enlarge(fd)
        self._is_busy = True

    @property
    def waitable_fd(self) -> int | None:
        """The descriptor whose readiness is worth a wake-up; ``None`` when looking by time is enough.

        That is so while little comes: then the pipe holds all that is written between two looks, and
        no line costs a wake-up of its own. A FIFO without a writer is always ready.
        """
        return self._fd if self._ends and self._is_busy else None

    @property
    def is_open(self) -> bool:
        """Whether anything may still come."""
        return self._fd is not None or self._queued > 0 or self._must_end

    @property
    def is_catching_up(self) -> bool:
        """Whether bytes wait in memory."""
        return self._queued > 0

    def poll(self, now_ns: int, max_bytes: int) -> list[TailEvent]:
        """What is new; at most ``max_bytes`` are given out, the rest waits.

        Args:
            now_ns: The time; not needed here, tails are all called alike.
            max_bytes: Limit of the bytes given out.
        """
        del now_ns
        events: list[TailEvent] = []
        self._drain(events)
        if self._queued > self._queue_bytes:
            self._skip(events)
        given = 0
        while self._queue and given < max_bytes:
            data = self._queue.popleft()
            self._queued -= len(data)
            events.append(Chunk(0, self._offset, data))
            self._offset += len(data)
            given += len(data)
        if self._must_end and not self._queue:
            self._must_end = False
            events.append(Ended(0))
        return events

    def _drain(self, events: list[TailEvent]) -> None:
        taken = 0
        while self._fd is not None and taken < DRAIN_BYTES and self._poller.poll(0):
            try:
                data = os.read(self._fd, READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                events.append(Trouble(f"{self.path} can't be read any more: {error.strerror}"))
                data = b""
            if not data:
                if self._ends:
                    self._must_end = True
                    self._close()
                return
            self._queue.append(data)
            self._queued += len(data)
            taken += len(data)
        self._is_busy = taken >= self._room // _BUSY_SHARE

    def _skip(self, events: list[TailEvent]) -> None:
        """Leave out all that waits but the end, up to a line end."""
        skipped = lines = 0
        while self._queue and self._queued > min(KEEP_BYTES, self._queue_bytes // 2):
            data = self._queue.popleft()
            self._queued -= len(data)
            skipped += len(data)
            lines += data.count(b"\n")
        while self._queue:
            data = self._queue.popleft()
            end = data.find(b"\n") + 1
            self._queued -= end or len(data)
            skipped += end or len(data)
            if end:
                lines += 1
                if end < len(data):
                    self._queue.appendleft(data[end:])
                break
        self._offset += skipped
        reason = "written faster than it can be read: went on near the end"
        events.append(Skipped(0, self._offset, skipped, lines, reason))

    def _close(self) -> None:
        if self._fd is not None:
            self._poller.unregister(self._fd)
            os.close(self._fd)
            self._fd = None

    def finish(self) -> list[TailEvent]:
        """Let go of the pipe; what waits is given out, or counted if that would take too long."""
        events: list[TailEvent] = []
        self._drain(events)
        self._close()
        if self._queued > FINISH_BYTES:
            self._skip(events)
        self._must_end = True
        return events + self.poll(0, self._queued + 1)


def _enlarge(fd: int) -> int:
    """Ask for a larger pipe, so that a burst between two polls does not hold the writer up; returns its size."""
    try:
        from fcntl import F_SETPIPE_SZ, fcntl

        return fcntl(fd, F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        return _LEAST_PIPE_BYTES  # not Linux, not a pipe, or over the user's limit
