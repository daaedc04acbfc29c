"""Reading what can't be read twice: standard input, FIFOs, process substitution.

The writer must never wait for livemon: a pipe is always emptied, and what comes faster than it can
be read is thrown away, counted.
"""

from __future__ import annotations

import os
import select
from dataclasses import dataclass

from livemon.collect.tail import Chunk, Ended, Skipped, TailEvent, Trouble

READ_BYTES = 64 << 10
DRAIN_BYTES = 8 << 20
"""At most so much is taken from a pipe in one poll, given out or not."""
_PIPE_BYTES = 1 << 20


@dataclass(slots=True)
class _Dropping:
    """A stretch that is being thrown away, up to the next line end."""

    count_bytes: int = 0
    lines: int = 0


class PipeTail:
    """Follows one pipe.

    Args:
        fd: Open for reading; closed at the end.
        path: What it is called in messages.
        ends: The end of the stream is the end (standard input); else a further writer may come (FIFO).
    """

    def __init__(self, fd: int, path: str, *, ends: bool = True) -> None:
        self.path = path
        self.fd: int | None = fd
        self._ends = ends
        self._offset = 0
        self._is_mid_line = False
        self._poller = select.poll()
        self._poller.register(fd, select.POLLIN | select.POLLHUP)
        _enlarge(fd)

    @property
    def waitable_fd(self) -> int | None:
        """The descriptor whose readiness means new bytes; ``None`` when ready would not mean that.

        A FIFO without a writer is always ready, so it is polled by time only.
        """
        return self.fd if self._ends else None

    def poll(self, now_ns: int, max_bytes: int) -> list[TailEvent]:
        """What is new; at most ``max_bytes`` are given out, the rest is emptied and counted.

        Args:
            now_ns: The time; not needed here, tails are all called alike.
            max_bytes: Limit of the bytes given out.
        """
        del now_ns
        events: list[TailEvent] = []
        dropping: _Dropping | None = None
        taken = 0
        while self.fd is not None and taken < DRAIN_BYTES and self._is_readable():
            try:
                data = os.read(self.fd, READ_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                events.append(Trouble(f"{self.path} can't be read any more: {error.strerror}"))
                data = b""
            if not data:
                if self._ends:
                    self._end(events, dropping)
                    return events
                break
            taken += len(data)
            if taken > max_bytes and dropping is None:
                dropping = _Dropping()
            if dropping is None:
                self._give(data, events)
            else:
                dropping.count_bytes += len(data)
                dropping.lines += data.count(b"\n")
                self._offset += len(data)
                self._is_mid_line = not data.endswith(b"\n")
        self._stop_dropping(events, dropping)
        return events

    def _is_readable(self) -> bool:
        return bool(self._poller.poll(0))

    def _give(self, data: bytes, events: list[TailEvent]) -> None:
        if self._resync:
            end = data.find(b"\n") + 1
            if end == 0:
                self._offset += len(data)
                return
            self._offset += end
            data = data[end:]
            self._resync = False
        if data:
            events.append(Chunk(0, self._offset, data))
            self._offset += len(data)

    _resync = False

    def _stop_dropping(self, events: list[TailEvent], dropping: _Dropping | None) -> None:
        if dropping is None:
            return
        # The line that was cut is dropped to its end with the next bytes.
        self._resync = self._is_mid_line
        lines = dropping.lines + (1 if self._is_mid_line else 0)
        reason = "written faster than it can be read: thrown away, so that the writer need not wait"
        events.append(Skipped(0, self._offset, dropping.count_bytes, lines, reason))

    def _end(self, events: list[TailEvent], dropping: _Dropping | None) -> None:
        self._stop_dropping(events, dropping)
        events.append(Ended(0))
        self.finish()

    def finish(self) -> list[TailEvent]:
        """Let go of the pipe."""
        if self.fd is None:
            return []
        self._poller.unregister(self.fd)
        os.close(self.fd)
        self.fd = None
        return []


def _enlarge(fd: int) -> None:
    """Ask for a larger pipe, so that a burst between two polls does not hold the writer up."""
    try:
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(fd, F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        return  # not Linux, not a pipe, or over the user's limit: the size it has is good enough
