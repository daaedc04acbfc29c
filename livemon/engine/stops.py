"""Processes of the target that were stopped: nothing is slower, and no unit is left to show it.

A stop is an episode of its own from the last tick in which a thread of the process ran, if units were being
served then: an idle process that is stopped keeps nobody waiting as far as the log tells. It is over
when the process goes on; a unit that was under way shows the same time afterwards, and adds nothing new.
"""

from __future__ import annotations

from livemon.engine.host_episode import TickWork
from livemon.engine.host_learning import CELL_NS, Learning
from livemon.engine.host_life import EpisodeLife
from livemon.engine.thread_health import Vote
from livemon.engine.thread_work import CPU, ThreadWork
from livemon.model.samples import Mark, TargetEvent, ThreadGone, ThreadInfo

Ticked = tuple[int, TickWork | TargetEvent, Vote]
"""A tick's work, or what became of a process, by its position in the samples."""
NO_VOTE = Vote(0, 0, 0, 0)
NEWS = frozenset((ThreadInfo, ThreadGone, TargetEvent, Mark))
"""Kinds of samples that are taken between the ticks before them and those after."""

_LOOK_BACK_NS = 2 * CELL_NS
"""A stop is told within this time."""


class Stops:
    """Opens episodes for stops and adds stops to episodes that are open."""

    def __init__(self, life: EpisodeLife, threads: ThreadWork, learning: Learning) -> None:
        self._life = life
        self._threads = threads
        self._learning = learning
        self._stopped: dict[int, int] = {}
        """Pid -> since when, ns."""

    @property
    def is_any(self) -> bool:
        """Whether a process is stopped now."""
        return bool(self._stopped)

    def take(self, event: TargetEvent, last_unit_ns: int | None, idle_ns: float) -> bool:
        """Take what became of a process; whether an episode that its stop has opened is over by that.

        Args:
            event: What became of it.
            last_unit_ns: Arrival of the newest unit; ``None`` in a session without units.
            idle_ns: From such a pause on there was no load.
        """
        at_ns, episode = event.arrival_ns, self._life.open
        if event.event == "stopped" and event.pid not in self._stopped:
            since_ns = self._stopped[event.pid] = self._since(event)
            is_loaded = since_ns < at_ns if last_unit_ns is None else since_ns - last_unit_ns <= idle_ns
            if episode is None and is_loaded:
                self._life.begin_by_stop(event, since_ns)
            elif episode is not None:
                episode.stops[event.pid] = event, since_ns, None
        elif event.pid in self._stopped and event.event in ("continued", "exited", "vanished"):
            del self._stopped[event.pid]
            if episode is not None and event.pid in episode.stops:
                told, since_ns, _ = episode.stops[event.pid]
                episode.stops[event.pid] = told, since_ns, at_ns
                episode.last_slow_ns = max(episode.last_slow_ns, at_ns)
                return episode.is_stop and not self._stopped
        return False

    def _since(self, event: TargetEvent) -> int:
        """When a thread of the process ran last, as far as it was stopped within the time that a look takes."""
        numbers = self._threads.numbers_of(event.name)
        for tick in reversed(self._learning.recent_ticks(event.arrival_ns)):
            if tick.arrival_ns < event.arrival_ns - _LOOK_BACK_NS:
                break
            if any(n in numbers and spent > 0 for n, spent in zip(tick.numbers, tick.work[CPU], strict=True)):
                return tick.arrival_ns
        return event.arrival_ns
