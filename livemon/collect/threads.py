"""Sampling the threads of processes: what a sampler is, its options, and which one fits this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from livemon.model.clock import Clock, SystemClock
from livemon.model.facts import Capability
from livemon.model.samples import Sample


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How threads are sampled."""

    interval_ns: int = 100_000_000
    """Time between two calls of ``sample``: what slow work is spread over."""
    counters: bool = True
    """Hardware counters per thread, where there are any; they cost the target CPU time at each switch."""
    counter_switches_per_s: int = 5_000
    """Counters of a thread that switches more often than this are taken off: each costs it about 1 µs a switch."""
    follow_children: bool = True
    """Take in what the processes fork."""
    include_self: bool = True
    """livemon's own process is sampled beside the target."""
    max_cpu_percent: float = 5.0
    """Of one core: above it livemon cuts itself down (see ``livemon.collect.budget``)."""
    max_descriptors: int | None = None
    """Open files to keep; ``None``: what the system allows after raising the soft limit."""


class ThreadSampler(Protocol):
    """Reads every thread of some processes, tick by tick."""

    capabilities: tuple[Capability, ...]
    """What this sampler can and can't read here."""

    def sample(self, now_ns: int, *, keyframe: bool = False, late_ns: int = 0) -> list[Sample]:
        """One tick: what came, went, was lost or is to be told, then one ``ThreadTick``.

        Args:
            now_ns: The time, on the session clock.
            keyframe: List every live thread, not only those that changed.
            late_ns: How late this tick is; handed through.
        """
        ...

    def add_process(self, pid: int) -> None:
        """Sample this process and what it forks too.

        Raises:
            TargetError: there is no such process, or it can't be read.
        """
        ...

    def switch_counters(self, on: bool) -> None:
        """Take the hardware counters off the target, or put them back; without counters it does nothing."""
        ...

    def close(self) -> None:
        """Let go of everything that is open."""
        ...

    @property
    def is_anything_alive(self) -> bool:
        """Whether any process of the target still runs (livemon itself does not count)."""
        ...


def open_sampler(
    pids: Sequence[int],
    *,
    options: SamplingOptions | None = None,
    root: str = "/",
    clock: Clock | None = None,
) -> ThreadSampler:
    """The best sampler for this machine, on these processes.

    Raises:
        TargetError: a process does not exist or can't be read.
    """
    options = options or SamplingOptions()
    clock = clock or SystemClock()
    if root != "/" or (sys.platform.startswith("linux") and Path("/proc/self/stat").exists()):
        from livemon.collect.procfs_sampler import ProcSampler

        return ProcSampler(pids, options=options, root=root, clock=clock)
    if sys.platform == "darwin":
        from livemon.collect.darwin import DarwinSampler

        return DarwinSampler(pids, options=options)
    from livemon.collect.portable import PortableSampler

    return PortableSampler(pids, options=options)
