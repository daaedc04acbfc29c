"""Hardware counters of the sampled threads: which thread has its groups, and what they cost the target.

One group (cycles, instructions) per core PMU is attached to each thread; it counts while the thread
runs on that PMU's cores (``perf_groups`` says what is done where classes share a PMU). The cost falls
on the target: each event makes each of its context switches dearer. So it is announced, threads that
switch very often go without, the busiest come first where descriptors are short, and all can be
switched off. Where a machine has no PMU nothing is put in its place: software events would cost the
target the same and say nothing that ``schedstat`` does not.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Sequence

from livemon.collect.perf_accounts import Account, class_columns, share_out, together
from livemon.collect.perf_errors import explain
from livemon.collect.perf_groups import ClassEvents, class_events
from livemon.collect.perf_layer import PerfLayer, Reading
from livemon.collect.perf_probe import SWITCHED_OFF, close_groups, open_groups, probe
from livemon.collect.procfs_table import Thread, ThreadTable
from livemon.collect.thread_opening import Descriptors
from livemon.collect.threads import SamplingOptions
from livemon.collect.topology import cpuset_cpus, online_cpus, read_topology
from livemon.model.clock import Clock
from livemon.model.facts import Capability
from livemon.model.samples import ClassColumns, Lost, Note, Sample

_SECOND_NS = 1_000_000_000
_OPENING_SHARE = 0.1
"""Of an interval that may go into attaching counters to new threads; the rest get theirs in the next tick."""
_CALM_SHARE = 0.5
"""A thread gets its counters back when it switches less often than this share of the limit."""
_EXCHANGES_A_SECOND = 8
_BUSIER = 1.5
"""A thread takes over another's counters if it used so many times its CPU time in a second."""
_RESERVED_SHARE = 8
"""One part in so many of the descriptors is kept for the files of new threads."""


class CountedThread:
    """A thread with its groups."""

    __slots__ = ("accounts", "cpu_ns", "is_attached", "is_suspended", "slices", "thread", "used_ns")

    def __init__(self, thread: Thread, classes: int) -> None:
        self.thread = thread
        self.accounts = [Account() for _ in range(classes)]
        self.is_attached = False
        self.is_suspended = False
        """Taken off for now: it switches too often, or its events stopped counting."""
        self.slices: int | None = None
        self.cpu_ns = 0
        self.used_ns = 0
        """CPU time in the last second."""


class ThreadCounters:
    """Attaches, reads and takes off the groups of all threads.

    Args:
        layer: The kernel, or a script of it.
        pid: Whose CPUs count; see ``read_topology``.
        options: Interval and switch limit.
        descriptors: The limit that is shared with the threads' own files.
        clock: Bounds the time spent attaching in one tick.
        root: Where ``/proc`` and ``/sys`` are looked for.
    """

    def __init__(
        self,
        layer: PerfLayer,
        pid: int | str,
        *,
        options: SamplingOptions,
        descriptors: Descriptors,
        clock: Clock,
        root: str = "/",
    ) -> None:
        self._layer = layer
        self._pid = pid
        self._options = options
        self._descriptors = descriptors
        self._clock = clock
        self._root = root
        self._waiting: deque[CountedThread] = deque()
        self._counted: dict[int, CountedThread] = {}
        """By thread index."""
        self._is_on = options.counters
        self._next_second_ns = 0
        self._told: set[str] = set()
        self._events: tuple[ClassEvents, ...] = ()
        self._flags = 0
        self._class_of: dict[int, str] = {}
        """Class of each CPU."""
        self._cpus: tuple[tuple[int, ...], ...] = ()
        """CPUs online, and the target's cpuset."""
        self._parts: list[int] = []
        """Positions in ``_events`` of those that are read as they are."""
        self._rests: list[tuple[int, list[int]]] = []
        """Positions of those that others of their PMU are taken off, and of these others."""
        self._needed = 0
        """Descriptors that a thread's groups take."""
        self.capabilities: tuple[Capability, ...] = SWITCHED_OFF.capabilities
        if options.counters:
            self._look_at_cpus()

    @property
    def is_counting(self) -> bool:
        """Whether there are counters, and they are switched on."""
        return self._is_on and bool(self._events)

    def add(self, thread: Thread) -> None:
        """A new thread: gets its groups at the next ``follow``."""
        if self._events:
            counted = self._counted[thread.index] = CountedThread(thread, len(self._events))
            self._waiting.append(counted)

    def forget(self, thread: Thread) -> None:
        """The thread ended, or is no longer read."""
        counted = self._counted.pop(thread.index, None)
        if counted is not None:
            self._detach(counted)
            counted.is_suspended = True  # it may still wait in the queue

    def switch(self, on: bool) -> None:
        """Take all counters off, or put them back; what was counted stays."""
        if on == self._is_on:
            return
        self._is_on = on
        self._waiting.clear()
        for counted in self._counted.values():
            if on:
                self._waiting.append(counted)
            else:
                self._detach(counted)

    def close(self) -> None:
        """Take all counters off."""
        for counted in self._counted.values():
            self._detach(counted)
        self._counted.clear()
        self._waiting.clear()

    def follow(self, table: ThreadTable, now_ns: int) -> list[Sample]:
        """Attach groups to the threads that wait for theirs, within this tick's time; tell what is new."""
        out: list[Sample] = []
        if not self._events or not self._is_on:
            return out
        if now_ns >= self._next_second_ns:
            self._next_second_ns = now_ns + _SECOND_NS
            self._follow_cpus()
            self._watch(table, now_ns, out)
        attached = self._attach_waiting(now_ns, out) if self._waiting else 0
        if attached and "cost" not in self._told:
            self._told.add("cost")
            text = (
                f"hardware counters are on, {self._needed} events a thread: they make the target's context"
                " switches dearer (one event by about 24 %, three by 41 %)"
            )
            out.append(Note(now_ns, "info", text, "--no-counters leaves them off"))
        return out

    def columns(self, threads: Sequence[Thread], table: ThreadTable) -> tuple[ClassColumns, ...]:
        """Read the groups of these threads: columns in their order, one set per class."""
        if not self._events or not self._is_on:
            return ()
        rows: list[list[Account] | None] = []
        for thread in threads:
            counted = self._counted.get(thread.index)
            if counted is not None and counted.is_attached:
                self._read(counted, table)
            rows.append(counted.accounts if counted is not None and counted.is_attached else None)
        return tuple(
            class_columns(events, [None if row is None else row[k] for row in rows])
            for k, events in enumerate(self._events)
        )

    def _read(self, counted: CountedThread, table: ThreadTable) -> None:
        accounts = counted.accounts
        try:
            if self._rests:
                readings = self._read_apart(accounts)
            else:
                readings = [self._layer.read(account.groups[0][0]) for account in accounts]
        except OSError:
            readings = [None]
        if None in readings:
            # Its events can't count any more (a CPU or PMU went away): tried again in a second.
            self._detach(counted)
            counted.is_suspended = True
            return
        deltas = [a.add(reading) for a, reading in zip(accounts, readings, strict=True) if reading is not None]
        share_out(accounts, deltas, self._likely_class(counted.thread, table))

    def _read_apart(self, accounts: Sequence[Account]) -> list[Reading | None]:
        """One reading for each class where classes share a PMU.

        The PMU's whole is read after its parts: what runs meanwhile counts as the rest's until the next
        reading of the parts has it.
        """
        read = self._layer.read
        found: list[Reading | None] = [None] * len(accounts)
        for k in self._parts:
            found[k] = together([read(group[0]) for group in accounts[k].groups])
        for k, others in self._rests:
            whole, parts = read(accounts[k].groups[0][0]), [found[other] for other in others]
            found[k] = accounts[k].less(whole, parts)
        return found

    def _likely_class(self, thread: Thread, table: ThreadTable) -> int:
        """Class of the CPU it ran on last."""
        core_class = self._class_of.get(table.last_cpu(thread.position))
        return next((k for k, events in enumerate(self._events) if core_class in events.covers), 0)

    def _look_at_cpus(self) -> None:
        """Which classes there are now, and which of their groups can be opened."""
        self._cpus = self._cpus_now()
        topology = read_topology(self._root, self._pid)
        probed = probe(self._layer, class_events(topology, self._root), root=self._root)
        self._events, self._flags, self.capabilities = probed.usable, probed.flags, probed.capabilities
        self._class_of = {cpu.cpu: cpu.core_class for cpu in topology.cpus}
        self._parts = [k for k, event in enumerate(self._events) if not event.is_rest]
        self._rests = [
            (k, [n for n in self._parts if self._events[n].pmu == event.pmu])
            for k, event in enumerate(self._events)
            if event.is_rest
        ]
        self._needed = 2 * sum(len(event.places) for event in self._events)

    def _cpus_now(self) -> tuple[tuple[int, ...], ...]:
        return online_cpus(self._root), cpuset_cpus(self._root, self._pid)

    def _follow_cpus(self) -> None:
        """After CPUs came, went or were taken away the classes may be others: one without a group counts as another."""
        if self._cpus_now() == self._cpus:
            return
        before = [event.core_class for event in self._events]
        for counted in self._counted.values():
            self._detach(counted)
        self._look_at_cpus()
        self._waiting.clear()
        for counted in self._counted.values():
            kept = dict(zip(before, counted.accounts, strict=True))
            counted.accounts = [kept.get(event.core_class) or Account() for event in self._events]
            self._waiting.append(counted)

    # -- attaching

    def _attach_waiting(self, now_ns: int, out: list[Sample]) -> int:
        deadline_ns = self._clock.monotonic_ns() + round(self._options.interval_ns * _OPENING_SHARE)
        attached = 0
        while self._waiting and self._clock.monotonic_ns() <= deadline_ns:
            counted = self._waiting.popleft()
            if counted.is_attached or counted.is_suspended or counted.thread.position < 0:
                continue
            if not self._has_room:
                self._tell("room", now_ns, out, explain(errno.EMFILE, self._root, "counters of the less busy threads"))
                continue  # the exchange below gives it its turn if it is busy
            attached += self._attach(counted, now_ns, out)
        return attached

    @property
    def _has_room(self) -> bool:
        return self._descriptors.left - self._needed >= self._descriptors.limit // _RESERVED_SHARE

    def _attach(self, counted: CountedThread, now_ns: int, out: list[Sample]) -> bool:
        for event, account in zip(self._events, counted.accounts, strict=True):
            try:
                account.reopen(*open_groups(self._layer, event, counted.thread.tid, self._flags))
            except OSError as error:
                self._detach(counted)
                if error.errno != errno.ESRCH:
                    counted.is_suspended = True
                    self._refused(error, now_ns, out)
                return False
            self._descriptors.left -= account.descriptors
        counted.is_attached = True
        return True

    def _refused(self, error: OSError, now_ns: int, out: list[Sample]) -> None:
        """Said once per reason: a thousand threads are refused for one reason."""
        key = f"errno {error.errno}"
        if key not in self._told:
            out.append(
                Lost(now_ns, "threads:counters", 1, "threads", f"no counters for one at least: {error.strerror}")
            )
        self._tell(key, now_ns, out, explain(error.errno, self._root, "counters of a thread"))

    def _detach(self, counted: CountedThread) -> None:
        counted.is_attached = False
        for account in counted.accounts:
            close_groups(self._layer, account.groups)
            self._descriptors.left += account.descriptors
            account.groups = []

    # -- once a second: cost and fairness

    def _watch(self, table: ThreadTable, now_ns: int, out: list[Sample]) -> None:
        for counted in self._counted.values():
            position = counted.thread.position
            if position < 0:
                continue
            cpu_ns, _, slices = table.reading(position)
            rate = slices - counted.slices if counted.slices is not None else 0
            counted.used_ns, counted.cpu_ns, counted.slices = cpu_ns - counted.cpu_ns, cpu_ns, slices
            self._watch_rate(counted, rate, now_ns, out)
        without = [c for c in self._counted.values() if not c.is_attached and not c.is_suspended]
        if without and not self._has_room:
            self._exchange(without)

    def _watch_rate(self, counted: CountedThread, rate: int, now_ns: int, out: list[Sample]) -> None:
        limit = self._options.counter_switches_per_s
        if counted.is_attached and rate > limit:
            self._detach(counted)
            counted.is_suspended = True
            thread = f"{counted.thread.name}#{counted.thread.tid}"
            text = f"hardware counters taken off {thread}: they would make each of its {rate} switches a second dearer"
            out.append(Note(now_ns, "info", text))
        elif counted.is_suspended and rate < limit * _CALM_SHARE:
            counted.is_suspended = False
            self._waiting.append(counted)

    def _exchange(self, without: list[CountedThread]) -> None:
        """Where descriptors are short, give those of the idlest threads to the busiest without."""
        idle = sorted((c for c in self._counted.values() if c.is_attached), key=lambda c: c.used_ns)
        busy = sorted(without, key=lambda c: -c.used_ns)
        for loser, winner in zip(idle, busy[:_EXCHANGES_A_SECOND], strict=False):
            if winner.used_ns <= loser.used_ns * _BUSIER:
                return
            self._detach(loser)
            self._waiting.append(winner)

    def _tell(self, key: str, now_ns: int, out: list[Sample], why: tuple[str, str]) -> None:
        if key not in self._told:
            self._told.add(key)
            out.append(Note(now_ns, "warning", *why))
