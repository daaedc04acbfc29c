"""Threads beyond the descriptor limit: read in turns by opening their files, each about once a second."""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator

from livemon.collect.procfs_table import Reading, Thread
from livemon.collect.thread_opening import ThreadOpener, clock_tick_ns
from livemon.model.samples import UNKNOWN, Note, Sample
from livemon.parse.procfs import parse_schedstat, parse_stat

_ROUND_NS = 1_000_000_000


class Overflow:
    """The threads that no descriptor could be kept for."""

    def __init__(self, opener: ThreadOpener, interval_ns: int) -> None:
        self._opener = opener
        self.threads: list[Thread] = []
        self._last: dict[int, Reading] = {}
        self._share = min(interval_ns / _ROUND_NS, 1.0)
        self._next = 0
        self._is_told = False
        self._ended: dict[Thread, int] = {}
        """Those that can't be read any more, with the error number."""

    def add(self, thread: Thread) -> None:
        """Take a thread in."""
        self.threads.append(thread)

    def remove(self, thread: Thread) -> None:
        """Drop a thread."""
        if thread in self.threads:
            self.threads.remove(thread)
            self._last.pop(thread.index, None)
            self._ended.pop(thread, None)

    def take_ended(self) -> list[tuple[Thread, int]]:
        """Threads that the last ``read`` could not read any more, each once, with the error number."""
        ended, self._ended = self._ended, {}
        return list(ended.items())

    def take_notes(self, now_ns: int) -> list[Sample]:
        """Says once that there are such threads."""
        if self._is_told:
            return []
        self._is_told = True
        text = "the limit on open files is reached: further threads are read once a second instead of every tick"
        return [Note(now_ns, "warning", text, "ulimit -n 65536 before starting livemon")]

    def read(self, *, everything: bool) -> Iterator[tuple[Thread, Reading, int]]:
        """This tick's share of the threads: those that changed (all, with ``everything``), with their last CPU.

        A thread that has ended or whose tid is another thread's now is left out; see ``take_ended``.
        """
        count = len(self.threads)
        share = count if everything else math.ceil(count * self._share)
        for _ in range(share):
            self._next = (self._next + 1) % count
            thread = self.threads[self._next]
            try:
                stat = parse_stat(thread.read_stat())
                if self._opener.has_schedstat:
                    reading = parse_schedstat(self._opener.read_schedstat(thread))
                else:
                    reading = (stat.cpu_ticks * clock_tick_ns(), UNKNOWN, UNKNOWN)
            except OSError as error:
                self._ended[thread] = error.errno or errno.EIO
                continue
            except ValueError:
                self._ended[thread] = errno.EBADMSG
                continue
            if stat.start_ticks != thread.start_ticks:
                self._ended[thread] = errno.ESRCH
                continue
            if everything or self._last.get(thread.index) != reading:
                self._last[thread.index] = reading
                yield thread, reading, stat.last_cpu
