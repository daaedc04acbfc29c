"""The facts of a thread that seldom change, read a few threads at a time."""

from __future__ import annotations

import os
from collections import deque

from livemon.collect.process_tree import Process
from livemon.collect.procfs import read_file
from livemon.collect.procfs_table import Thread, ThreadTable, in_turn
from livemon.model.samples import ThreadInfo
from livemon.parse.procfs import format_cpu_list, parse_stat, parse_status_field, slow_fields

_ROUND_NS = 2_000_000_000
"""Each thread's facts are read once in this time, as long as that is at most ``_LOOKS_PER_S``."""
_LOOKS_PER_S = 200
_LONGEST_ROUND_NS = 5_000_000_000
"""With more threads than that allows a round takes longer, but no longer than this."""
_BATCH = 16
"""Threads that are looked at together: few small looks cost more than one, a big one delays its tick."""
_NAMED_BY_NS = 700_000_000
"""Threads name themselves after they start: a new one gets a look of its own after this time."""


class SlowFacts:
    """Goes round the threads and tells whose name, policy, nice or affinity has changed."""

    def __init__(self, interval_ns: int, *, is_real: bool) -> None:
        self._share = interval_ns / _ROUND_NS
        self._cheap = interval_ns * _LOOKS_PER_S / 1e9
        """Looks a tick up to which a round is a short one."""
        self._least_share = interval_ns / _LONGEST_ROUND_NS
        self._naming_ticks = max(1, round(_NAMED_BY_NS / interval_ns))
        self._ticks = 0
        self._new: deque[tuple[int, Thread]] = deque()
        """Threads that are new, each with the tick of its look."""
        self._owed = 0.0
        self._next = 0
        self._is_real = is_real
        self._formatted: dict[frozenset[int], str] = {}

    def meet(self, thread: Thread) -> None:
        """A new thread: it may still be named after the one that started it."""
        self._new.append((self._ticks + self._naming_ticks, thread))

    def affinity(self, thread: Thread) -> str | None:
        """CPUs it may run on as a list; ``None`` if that can't be read."""
        try:
            if self._is_real:
                cpus = frozenset(os.sched_getaffinity(thread.tid))
                text = self._formatted.get(cpus)
                if text is None:
                    text = self._formatted[cpus] = format_cpu_list(cpus)
                return text
            return parse_status_field(read_file(f"{thread.tid}/status", dir_fd=thread.task_fd), b"Cpus_allowed_list")
        except OSError:
            return None

    def is_due(self, threads: int) -> bool:
        """Whether enough of so many threads are owed a look; call once a tick."""
        self._ticks += 1
        owed = self._owed + max(min(threads * self._share, self._cheap), threads * self._least_share)
        self._owed = owed = owed if owed < threads else threads
        return owed >= _BATCH or owed >= threads or (bool(self._new) and self._new[0][0] <= self._ticks)

    def next_changed(self, table: ThreadTable) -> list[Thread]:
        """Read the threads that are owed a look; returns those with a changed fact."""
        changed = []
        for _ in range(_BATCH):
            if not self._new or self._new[0][0] > self._ticks:
                break
            _, thread = self._new.popleft()
            if thread.position >= 0:  # else it has ended
                table.look(thread.position, 1)  # first: what changes from here on is seen by the next look
                if self._update(thread):
                    changed.append(thread)
        count = min(int(self._owed), len(table))
        if count:
            self._owed -= count
            first, self._next = self._next % len(table), (self._next + count) % len(table)
            looks = table.look(first, count) if self._is_real else in_turn(first, count, len(table))
            changed += [thread for thread in map(table.threads.__getitem__, looks) if self._update(thread)]
        return changed

    def _update(self, thread: Thread) -> bool:
        try:
            data = thread.read_stat()
            affinity, seen = self.affinity(thread), slow_fields(data)
            if seen == thread.seen and affinity == thread.affinity:
                return False  # as a rule: nothing is worked out anew
            stat = parse_stat(data)
        except (OSError, ValueError):
            return False  # it ended: the next tick finds that
        thread.seen = seen
        new = (stat.name, stat.policy, stat.nice, affinity)
        if new == (thread.name, thread.policy, thread.nice, thread.affinity):
            return False
        thread.name, thread.policy, thread.nice, thread.affinity = new
        return True


def thread_info(thread: Thread, process: Process, now_ns: int) -> ThreadInfo:
    """All that is known of a thread, as a sample."""
    return ThreadInfo(
        arrival_ns=now_ns,
        index=thread.index,
        pid=thread.pid,
        tid=thread.tid,
        name=thread.name,
        start_ticks=thread.start_ticks,
        process=process.name,
        affinity=thread.affinity,
        policy=thread.policy,
        nice=thread.nice,
        cgroup=process.cgroup,
        is_self=process.is_self,
    )
