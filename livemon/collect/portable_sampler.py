"""What the samplers without ``/proc`` have in common: processes in, each one's threads, samples out."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.collect.portable_ledger import Ledger, RawThread
from livemon.collect.portable_processes import PortableProcesses
from livemon.collect.threads import SamplingOptions
from livemon.model.facts import Capability
from livemon.model.samples import Note, Sample


class LedgerSampler:
    """A ``ThreadSampler`` over a system that tells a process's threads in one call; ``_threads`` and ``_name`` say how.

    Args:
        pids: The processes to begin with.
        options: How to sample.
        ledger: Who was there before.
        capabilities: What the system tells and what it does not.
        rights: With which rights more can be read, in words.

    Raises:
        TargetError: a process does not exist.
    """

    def __init__(
        self,
        pids: Sequence[int],
        *,
        options: SamplingOptions,
        ledger: Ledger,
        capabilities: tuple[Capability, ...],
        rights: str,
    ) -> None:
        self._processes = PortableProcesses(
            pids, follow_children=options.follow_children, include_self=options.include_self
        )
        self._ledger = ledger
        self._rights = rights
        self._denied: set[int] = set()
        self.capabilities = capabilities

    @property
    def is_anything_alive(self) -> bool:
        """Whether any process of the target still runs."""
        return self._processes.is_anything_alive

    def add_process(self, pid: int) -> None:
        """Sample this process too; see ``ThreadSampler.add_process``."""
        self._processes.add(pid)

    def switch_counters(self, on: bool) -> None:
        """Nothing to switch: the system keeps counters anyway, or has none."""

    def close(self) -> None:
        """Nothing is kept open."""

    def sample(self, now_ns: int, *, keyframe: bool = False, late_ns: int = 0) -> list[Sample]:
        """One tick; see ``ThreadSampler.sample``."""
        out = self._processes.poll(now_ns)
        threads: list[RawThread] = []
        for pid in self._processes.pids:
            try:
                threads += self._threads(pid)
            except PermissionError as error:
                if pid not in self._denied:
                    self._denied.add(pid)
                    text = f"the threads of process {pid} may not be read ({error.strerror})"
                    out.append(Note(now_ns, "warning", text, self._rights))
            except OSError:
                continue  # it ended in between: the next poll tells
        names = {(thread.pid, thread.tid): self._name(thread) for thread in self._ledger.unnamed(threads, now_ns)}
        facts = self._processes.facts()
        return out + self._ledger.tick(now_ns, threads, names, facts, keyframe=keyframe, late_ns=late_ns)

    def _threads(self, pid: int) -> list[RawThread]:
        """The threads of a process now.

        Raises:
            PermissionError: it may not be read.
            OSError: it has ended.
        """
        raise NotImplementedError

    def _name(self, thread: RawThread) -> str:
        """A thread's own name; empty if it has none or the system does not tell it."""
        raise NotImplementedError
