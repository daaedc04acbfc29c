"""Threads through psutil, where nothing better is: CPU time per thread, and what is missing said."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import psutil

from livemon.collect.portable_ledger import Ledger, RawThread
from livemon.collect.portable_processes import PortableProcesses
from livemon.collect.threads import SamplingOptions
from livemon.model.facts import Capability
from livemon.model.samples import Note, Sample


def capabilities() -> tuple[Capability, ...]:
    """What psutil gives and what it does not."""
    missing = f"psutil on {sys.platform} does not tell it"
    remedy = "run livemon on Linux or macOS"
    return (
        Capability("thread CPU time", True, "psutil"),
        Capability("run-queue delay", False, missing, remedy),
        Capability("last CPU", False, missing, remedy),
        Capability("core classes", False, missing, remedy),
        Capability("hardware counters", False, missing, remedy),
        Capability("thread names", False, missing, remedy),
    )


class PortableSampler:
    """A ``ThreadSampler`` over psutil.

    Raises:
        TargetError: a process does not exist.
    """

    def __init__(self, pids: Sequence[int], *, options: SamplingOptions) -> None:
        self._processes = PortableProcesses(
            pids, follow_children=options.follow_children, include_self=options.include_self
        )
        self._ledger = Ledger()
        self._denied: set[int] = set()
        self.capabilities: tuple[Capability, ...] = capabilities()

    @property
    def is_anything_alive(self) -> bool:
        """Whether any process of the target still runs."""
        return self._processes.is_anything_alive

    def add_process(self, pid: int) -> None:
        """Sample this process too; see ``ThreadSampler.add_process``."""
        self._processes.add(pid)

    def switch_counters(self, on: bool) -> None:
        """There are none."""

    def close(self) -> None:
        """Nothing is kept open."""

    def sample(self, now_ns: int, *, keyframe: bool = False, late_ns: int = 0) -> list[Sample]:
        """One tick; see ``ThreadSampler.sample``."""
        out = self._processes.poll(now_ns)
        threads: list[RawThread] = []
        for pid in self._processes.pids:
            try:
                listed = self._processes.process(pid).threads()
            except psutil.AccessDenied:
                if pid not in self._denied:
                    self._denied.add(pid)
                    text = f"the threads of process {pid} may not be read"
                    out.append(Note(now_ns, "warning", text, "run livemon as its user or as administrator"))
                continue
            except psutil.Error:
                continue  # it ended in between: the next poll tells
            threads += [RawThread(pid, t.id, round((t.user_time + t.system_time) * 1e9)) for t in listed]
        facts = self._processes.facts()
        return out + self._ledger.tick(now_ns, threads, {}, facts, keyframe=keyframe, late_ns=late_ns)
