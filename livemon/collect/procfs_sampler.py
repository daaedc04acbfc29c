"""Threads from ``/proc`` on Linux: every thread each tick, cheaply, and nothing silently missed.

A tick does, in this order:

1. ``schedstat`` of every thread through kept descriptors (``procfs_table``); ESRCH says that one ended.
2. ``stat`` (last CPU) of those only whose slice count moved.
3. Once a second: what the processes forked, which ended or called exec, CPU time no thread accounts for.
4. The task folder's link count tells whether threads came or went; then, and every few seconds
   anyway, it is listed. New threads enter the same tick.
5. A few threads' slow facts (name, policy, nice, affinity), so that each is read every few seconds.
6. Hardware counters of the threads that ran (``perf_threads``).

Identity is (pid, tid, start time). A descriptor refers to one thread for ever, so a recycled tid shows
up as ESRCH on the old descriptor and as a new thread in the listing. Only reads are done on the target.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from typing import Literal

from livemon.collect.perf_layer import KernelPerf, PerfLayer
from livemon.collect.perf_threads import ThreadCounters
from livemon.collect.process_ends import ProcessEnds
from livemon.collect.process_tree import ZOMBIE_STATES, Check, Process, ProcessTree, unreadable
from livemon.collect.procfs import DENIED, GONE, list_numbers, raise_descriptor_limit
from livemon.collect.procfs_table import Thread, ThreadTable, open_table
from livemon.collect.stopped import StoppedProcesses
from livemon.collect.thread_facts import SlowFacts, thread_info
from livemon.collect.thread_opening import (
    SCHEDSTAT_REMEDY,
    Descriptors,
    ThreadOpener,
    clock_tick_ns,
    has_schedstat,
    schedstat_capabilities,
)
from livemon.collect.thread_overflow import Overflow
from livemon.collect.threads import SamplingOptions
from livemon.model.clock import Clock
from livemon.model.errors import TargetError
from livemon.model.facts import Capability
from livemon.model.samples import ClassColumns, Lost, Note, Sample, TargetEvent, ThreadGone, ThreadInfo, ThreadTick
from livemon.model.unfrozen import unfrozen

_UnfrozenTick = unfrozen(ThreadTick)
_SECOND_NS = 1_000_000_000
_CHECKED_A_TICK = 8
_LISTED_EVERY_S = 5
"""On a real ``/proc``, where each folder counts its links."""
_OPENING_NS = 25_000_000
"""CPU time that opening new threads may take in one tick; those that are left follow in the next."""
_TOLD_UNSEEN_NS = 30_000_000
"""CPU time of unseen threads below this is rounding: process totals come in clock ticks of 10 ms."""


class ProcSampler:
    """A ``ThreadSampler`` over ``/proc``; see the head of this file.

    Args:
        pids: The processes to begin with.
        options: How to sample.
        root: Where ``/proc`` and ``/sys`` are.
        clock: For the time of what is told outside a tick.
        perf: The kernel's perf events, or a script of them.

    Raises:
        TargetError: a process does not exist or can't be read.
    """

    def __init__(
        self,
        pids: Sequence[int],
        *,
        options: SamplingOptions,
        root: str,
        clock: Clock,
        perf: PerfLayer | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._tree = ProcessTree(root)
        self._stopped = StoppedProcesses(self._tree)
        limit = raise_descriptor_limit() if options.max_descriptors is None else options.max_descriptors
        self._descriptors = Descriptors(limit)
        self._opener = ThreadOpener(self._descriptors)
        self._processes: dict[int, Process] = {}
        self._ends = ProcessEnds(is_real=root == "/")
        self._pending: list[Sample] = []
        """What is to be told with the next tick."""
        self._alive = 0
        """Processes of the target, without livemon itself."""
        self._next_index = 0
        self._next_second_ns = 0
        self._seconds = 0
        self._is_real = root == "/"
        self._lists_all = True
        """Task folders are listed in this second even if nothing says that threads came or went."""
        self._unchecked: list[Process] = []
        """Processes still to be looked at in this second."""
        self._created: int | None = None
        """Threads and processes that began on this machine in the last second."""
        self._is_first = True
        self._facts = SlowFacts(options.interval_ns, is_real=root == "/")
        self._counters = ThreadCounters(
            perf or KernelPerf(),
            pids[0] if pids else "self",
            options=options,
            descriptors=self._descriptors,
            clock=clock,
            root=root,
        )
        try:
            for pid in pids:
                self.add_process(pid)
        except TargetError:
            self.close()
            raise
        self._opener.has_schedstat = all(has_schedstat(process) for process in self._processes.values())
        if not self._opener.has_schedstat:
            text = "this kernel keeps no schedstat: CPU times are in steps of 10 ms, run-queue delay is unknown"
            self._pending.append(Note(clock.monotonic_ns(), "warning", text, SCHEDSTAT_REMEDY))
        self._table = self._empty_table()
        self._overflow = Overflow(self._opener, options.interval_ns)
        if options.include_self and root == "/" and os.getpid() not in self._processes:
            self.add_process(os.getpid())
        self.capabilities: tuple[Capability, ...] = (
            *schedstat_capabilities(self._opener.has_schedstat),
            *self._counters.capabilities,
        )

    def _empty_table(self) -> ThreadTable:
        return open_table(has_schedstat=self._opener.has_schedstat, tick_ns=clock_tick_ns())

    @property
    def is_anything_alive(self) -> bool:
        """Whether any process of the target still runs (livemon itself does not count)."""
        return self._alive > 0

    def add_process(self, pid: int) -> None:
        """Sample this process and what it forks too.

        Raises:
            TargetError: there is no such process, or it can't be read.
        """
        if pid in self._processes:
            return
        try:
            process, stat = self._tree.open(pid)
        except (OSError, ValueError) as error:
            raise unreadable(pid, error) from error
        if stat.state in ZOMBIE_STATES:
            os.close(process.task_fd)
            raise TargetError(f"process {pid} ({stat.name}) has already ended", "name one that runs")
        self._take_in(process, "found", self._clock.monotonic_ns(), self._pending)
        self._tree.forget()

    def switch_counters(self, on: bool) -> None:
        """Take the hardware counters off the target, or put them back; without counters it does nothing."""
        self._counters.switch(on)

    def close(self) -> None:
        """Let go of everything that is open."""
        self._counters.close()
        for process in self._processes.values():
            for thread in process.threads.values():
                thread.close()
            os.close(process.task_fd)
        self._ends.close()
        self._processes.clear()
        self._alive = 0
        self._table = self._empty_table()

    def sample(self, now_ns: int, *, keyframe: bool = False, late_ns: int = 0) -> list[Sample]:
        """One tick; see ``ThreadSampler.sample``.

        Between ticks the caches go to others, so what a tick does not need is asked for by a flag, not a call.
        """
        out, self._pending = self._pending, []
        table = self._table
        moves, arrived = table.moves, list[Thread]()
        changed, dead = table.read()
        if self._overflow.threads:
            dead += self._overflow.take_ended()
            out += self._overflow.take_notes(now_ns)
        churned = {thread.pid for thread, _ in dead} if dead else ()
        for thread, error in dead:
            self._drop(thread, now_ns, out, "exited" if error in GONE else "can no longer be read")
        for pid in self._ends.poll():
            ended = self._processes.get(pid)
            if ended is not None and self._tree.check(ended).has_ended:
                self._end_process(ended, now_ns, out)
        if now_ns >= self._next_second_ns:
            self._next_second_ns = now_ns + _SECOND_NS
            self._created = self._tree.count_created()
            self._seconds += 1
            self._lists_all = not self._is_real or self._seconds % _LISTED_EVERY_S == 0
            self._unchecked = [p for p in self._processes.values() if self._lists_all or not p.is_self]
            if self._options.follow_children and (self._created != 0 or self._tree.is_anything_coming):
                self._follow_children(now_ns, out)
        checked = self._check_some(now_ns, out) if self._unchecked else ()
        out += self._stopped.follow(now_ns) if self._stopped.since else ()
        for process in tuple(self._processes.values()):
            if process.is_self and process.links > 0 and process not in checked:
                continue
            links = table.links(process.task_fd)
            if links != process.links or process.pid in churned or (process in checked and self._lists_all):
                arrived += self._list_threads(process, now_ns, out)
            if process.has_churn and process in checked and not process.is_self and process.links > 0:
                self._account(process, now_ns, out)
        if self._facts.is_due(len(table.threads)):
            out += [self._info(thread, now_ns) for thread in self._facts.next_changed(table)]
        if self._counters.is_counting:
            out += self._counters.follow(table, now_ns)
        if table.moves != moves:
            changed = [thread.position for thread in (*table.ran, *arrived) if thread.position >= 0]
        keyframe, self._is_first = keyframe or self._is_first, False
        out.append(self._tick(now_ns, None if keyframe else changed, keyframe, late_ns))
        return out

    def _tick(self, now_ns: int, positions: list[int] | None, keyframe: bool, late_ns: int) -> ThreadTick:
        table, counters = self._table, self._counters
        index, cpu_ns, run_delay_ns, slices, last_cpus = table.columns(positions)
        classes: tuple[ClassColumns, ...] = ()
        if self._overflow.threads or counters.is_counting:
            listed = table.threads[:] if positions is None else [table.threads[i] for i in positions]
            for thread, reading, last_cpu in self._overflow.read(everything=keyframe):
                listed.append(thread)
                index.append(thread.index)
                cpu_ns.append(reading[0])
                run_delay_ns.append(reading[1])
                slices.append(reading[2])
                last_cpus.append(last_cpu)
            if counters.is_counting:
                classes = counters.columns(listed, table)
        tick: ThreadTick = _UnfrozenTick(
            now_ns, index, cpu_ns, run_delay_ns, slices, last_cpus, classes, keyframe, late_ns
        )
        tick.__class__ = ThreadTick
        return tick

    def _take_in(self, process: Process, event: Literal["found", "forked"], now_ns: int, out: list[Sample]) -> None:
        process.is_self = process.pid == os.getpid()
        self._processes[process.pid] = process
        self._descriptors.left -= 1
        if not process.is_self:
            self._alive += 1
            self._descriptors.left -= self._ends.watch(process.pid)
            detail = self._tree.namespace_detail(process.pid)
            out.append(TargetEvent(now_ns, process.pid, process.name, event, detail=detail))

    def _list_threads(self, process: Process, now_ns: int, out: list[Sample]) -> list[Thread]:
        """Compare the task folder with what is known; returns the threads that are new."""
        is_first = process.links < 0
        try:
            # The count is taken first: a thread that comes in between is found by the next comparison.
            process.links = os.fstat(process.task_fd).st_nlink
            tids = list_numbers(process.task_fd)
        except OSError as error:
            if error.errno in GONE | DENIED:
                self._end_process(process, now_ns, out, error)
            return []
        known, present = process.threads, set(tids)
        if known.keys() == present:
            return []
        for thread in [thread for tid, thread in known.items() if tid not in present]:
            self._drop(thread, now_ns, out)
        arrived, unseen, unreadable = [], 0, 0
        until_ns = None if self._is_first else time.thread_time_ns() + _OPENING_NS
        for tid in sorted(present - known.keys()):
            if until_ns is not None and time.thread_time_ns() > until_ns:
                process.links = -1 if is_first else 0  # no such count: the next tick lists it again
                is_first = False
                break
            process.has_churn = True
            try:
                arrived.append(self._open_thread(process, tid, now_ns, out))
            except OSError as error:
                unseen += error.errno in GONE
                unreadable += error.errno not in GONE
            except ValueError:
                unreadable += 1
        if unseen:
            out.append(Lost(now_ns, "threads", unseen, "threads", "ended before they were read once"))
        if unreadable:
            out.append(Lost(now_ns, "threads", unreadable, "threads", f"of process {process.pid} could not be read"))
        if is_first:
            self._account(process, now_ns, out)  # what it used before is nobody's loss
        return arrived

    def _open_thread(self, process: Process, tid: int, now_ns: int, out: list[Sample]) -> Thread:
        thread, stat, reading = self._opener.open(process, tid, self._next_index)
        self._next_index += 1
        thread.affinity = self._facts.affinity(thread)
        process.threads[tid] = thread
        out.append(self._info(thread, now_ns))
        if self._table.descriptor_of(thread) >= 0:
            self._table.add(thread, stat, reading)
            self._facts.meet(thread)
            if not process.is_self:
                self._counters.add(thread)
        else:
            self._overflow.add(thread)
        return thread

    def _info(self, thread: Thread, now_ns: int) -> ThreadInfo:
        return thread_info(thread, self._processes[thread.pid], now_ns)

    def _drop(self, thread: Thread, now_ns: int, out: list[Sample], reason: str = "exited") -> None:
        process = self._processes.get(thread.pid)
        if process is not None:
            process.threads.pop(thread.tid, None)
            process.has_churn = True
        if thread.position >= 0:
            if process is not None:
                process.gone_cpu_ns += self._table.reading(thread.position)[0]
            self._table.remove(thread)
        else:
            self._overflow.remove(thread)
        self._counters.forget(thread)
        self._opener.close(thread)
        out.append(ThreadGone(now_ns, thread.index, reason))

    def _end_process(self, process: Process, now_ns: int, out: list[Sample], error: OSError | None = None) -> None:
        """Drop a process: it ended, unless ``error`` says that it may no longer be read."""
        is_denied = error is not None and error.errno in DENIED
        for thread in list(process.threads.values()):
            self._drop(thread, now_ns, out, "can no longer be read" if is_denied else "exited")
        del self._processes[process.pid]
        self._descriptors.left += 1 + self._ends.forget(process.pid)
        os.close(process.task_fd)
        if not process.is_self:
            self._alive -= 1
            kind: Literal["vanished", "exited"] = "vanished" if is_denied else "exited"
            detail = f"its task folder can no longer be read ({error})" if is_denied else ""
            out.append(TargetEvent(now_ns, process.pid, process.name, kind, detail=detail))

    def _check_some(self, now_ns: int, out: list[Sample]) -> set[Process]:
        """Look at this tick's share of the processes, each about once a second: who ended, what changed."""
        share = max(_CHECKED_A_TICK, math.ceil(len(self._processes) * self._options.interval_ns / _SECOND_NS))
        due, self._unchecked = self._unchecked[:share], self._unchecked[share:]
        alive = set()
        for process in due:
            if process.pid not in self._processes:
                continue
            check = self._tree.check(process)
            if check.has_ended:
                self._end_process(process, now_ns, out)
                continue
            alive.add(process)
            self._stopped.meet(process, check.state, now_ns)
            process.has_churn |= self._created != 0  # of threads that came and went, nothing else may be seen
            self._take_changes(process, check, now_ns, out)
        return alive

    def _take_changes(self, process: Process, check: Check, now_ns: int, out: list[Sample]) -> None:
        if check.name is not None:
            process.name = check.name
        if check.new_exe is not None:
            if process.exe is not None and not process.is_self:
                out.append(TargetEvent(now_ns, process.pid, process.name, "exec", detail=check.new_exe))
            process.exe = check.new_exe
        if check.new_cgroup is not None:
            text = f"process {process.pid} moved from cgroup {process.cgroup} to {check.new_cgroup}"
            process.cgroup = check.new_cgroup
            out.append(Note(now_ns, "info", text))
            out += [self._info(thread, now_ns) for thread in process.threads.values()]

    def _account(self, process: Process, now_ns: int, out: list[Sample]) -> None:
        """Tell the CPU time that was used between the last reading of threads and their end."""
        process.has_churn = False
        stat = self._tree.stat(process)
        if stat is None:
            return
        positions = [thread.position for thread in process.threads.values() if thread.position >= 0]
        seen_ns = process.gone_cpu_ns + sum(self._table.columns(positions)[1])
        unseen_ns = stat.cpu_ticks * clock_tick_ns() - seen_ns
        if process.unseen_cpu_ns is None:
            process.unseen_cpu_ns = unseen_ns
        elif unseen_ns - process.unseen_cpu_ns >= _TOLD_UNSEEN_NS:
            lost_ms = (unseen_ns - process.unseen_cpu_ns) // 1_000_000
            process.unseen_cpu_ns = unseen_ns
            reason = f"of process {process.pid}: threads that came and went between two ticks, last moments of others"
            out.append(Lost(now_ns, "threads:unseen", lost_ms, "ms of CPU time", reason))

    def _follow_children(self, now_ns: int, out: list[Sample]) -> None:
        parents = {pid for pid, process in self._processes.items() if not process.is_self}
        for pid in self._tree.find_children(parents):
            if pid in self._processes:
                continue
            try:
                process, _ = self._tree.open(pid)
            except (OSError, ValueError) as error:
                if not (isinstance(error, OSError) and error.errno in GONE):
                    out.append(Lost(now_ns, "threads", 1, "processes", f"child {pid} can't be read: {error}"))
                continue
            self._take_in(process, "forked", now_ns, out)
