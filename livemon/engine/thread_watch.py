"""Episodes that only thread counters show: threads that leave their healthy state, or start outside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from livemon.engine.host_episode import TickWork
from livemon.engine.thread_health import Vote

_OPEN_TICKS = 2
_COLD_TICKS = 3
_CLOSE_TICKS = 3
_OPEN_NS = 150_000_000
_WARM_PART = 0.4


@dataclass(frozen=True, slots=True)
class ThreadEvent:
    """An episode of threads begins or is over."""

    what: Literal["threads", "cold", "over"]
    t_ns: int
    """When it began, or when the last tick that says so ended."""


class ThreadWatch:
    """Counts ticks that say so, and ticks that don't, in a row."""

    def __init__(self) -> None:
        self._moved = 0
        self._cold = 0
        self._calm = 0
        self._began = 0
        self._cold_began = 0
        self.last_ns = 0
        """End of the last tick that spoke for the episode."""

    def clear(self) -> None:
        """Start counting anew."""
        self._moved = self._cold = self._calm = 0

    def watch(self, tick: TickWork, vote: Vote, *, alone: bool, young: bool) -> ThreadEvent | None:
        """With no episode open: whether one begins.

        Args:
            tick: The tick's work.
            vote: What its threads say.
            alone: There are no units to go by.
            young: No healthy state of the threads is known yet, and there is load.
        """
        begins = tick.arrival_ns - tick.tick_ns
        if young and vote.is_cold:
            self._cold += 1
            if self._cold == 1:
                self._cold_began = begins
            if self._cold >= _COLD_TICKS:
                self.last_ns = tick.arrival_ns
                return ThreadEvent("cold", self._cold_began)
        elif vote.busy:
            self._cold = 0
        # Threads known from an idle time alone can't speak for those that only now have work.
        if alone and vote.has_moved and 2 * vote.known >= vote.busy:
            self._moved += 1
            if self._moved == 1:
                self._began = begins
            if self._moved >= _OPEN_TICKS and tick.arrival_ns - self._began >= _OPEN_NS:
                self.last_ns = tick.arrival_ns
                return ThreadEvent("threads", self._began)
        elif vote.known:
            self._moved = 0
        return None

    def recover(self, tick: TickWork, vote: Vote, *, is_cold: bool) -> ThreadEvent | None:
        """With such an episode open: whether it is over."""
        if is_cold:
            tells, goes_on = vote.busy > 0, vote.cold > _WARM_PART * vote.busy
        else:
            tells, goes_on = vote.known > 0, vote.has_moved
        if not tells:
            return None
        if goes_on:
            self._calm = 0
            self.last_ns = tick.arrival_ns
            return None
        self._calm += 1
        return ThreadEvent("over", self.last_ns) if self._calm >= _CLOSE_TICKS else None
