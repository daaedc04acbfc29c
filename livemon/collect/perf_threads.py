"""Hardware counters of the sampled threads, per core class."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.collect.procfs_table import Thread
from livemon.model.facts import Capability
from livemon.model.samples import ClassColumns, Sample


class NoCounters:
    """Counters that are not there: says why, counts nothing."""

    def __init__(self, capabilities: tuple[Capability, ...] = ()) -> None:
        self.capabilities = capabilities

    def follow(self, threads: Sequence[Thread], now_ns: int) -> list[Sample]:
        """Nothing to attach."""
        return []

    def columns(self, threads: Sequence[Thread]) -> tuple[ClassColumns, ...]:
        """No columns."""
        return ()

    def forget(self, thread: Thread) -> None:
        """Nothing to close."""

    def switch(self, on: bool) -> None:
        """Nothing to switch."""

    def close(self) -> None:
        """Nothing to close."""
