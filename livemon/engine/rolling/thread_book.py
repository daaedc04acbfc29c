"""The threads of a session: who they are, from when to when."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.model.samples import ThreadGone, ThreadInfo

_NOT_GONE = 1 << 62
_KEPT_CHANGES = 4096
"""Of what changed about threads the newest are kept; before these a thread is shown as it was then."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The threads that were there at some time in a window; the same object as long as that does not change."""

    indexes: npt.NDArray[np.int64]
    alive: npt.NDArray[np.bool_]
    """Which of them are there at the end of the window."""
    infos: list[ThreadInfo]
    born_ns: list[int]
    gone_ns: list[int]
    """Far in the future while they are there."""
    places: tuple[tuple[int, bool], ...]
    """As ``ThreadRows.places``."""
    changes: int
    """How many of the changes that are known came until the end of the window."""


class ThreadBook:
    """The threads of a session: who they are, from when to when."""

    def __init__(self) -> None:
        self.infos: dict[int, ThreadInfo] = {}
        self._born = np.full(64, _NOT_GONE, np.int64)
        self._gone = np.full(64, _NOT_GONE, np.int64)
        self._listing: Listing | None = None
        self._changes: list[tuple[int, ThreadInfo]] = []
        """(when, what was known of the thread until then), in order of time."""

    def meet(self, info: ThreadInfo) -> None:
        """A thread was found, or something about it has changed."""
        k = info.index
        if k < 0:
            return
        if k >= len(self._born):
            more = np.full(max(2 * len(self._born), k + 1) - len(self._born), _NOT_GONE, np.int64)
            self._born, self._gone = np.concatenate([self._born, more]), np.concatenate([self._gone, more])
        if (before := self.infos.get(k)) is not None and before.arrival_ns <= info.arrival_ns:
            self._changes.append((info.arrival_ns, before))
            if len(self._changes) > _KEPT_CHANGES:
                del self._changes[: _KEPT_CHANGES // 4]
        self.infos[k] = info
        self._listing = None
        self._born[k] = min(self._born[k], info.arrival_ns)

    def end(self, gone: ThreadGone) -> None:
        """A thread ended."""
        if 0 <= gone.index < len(self._gone):
            self._gone[gone.index] = gone.arrival_ns
            self._listing = None

    def info(self, index: int, at_ns: int) -> ThreadInfo:
        """The thread as it was known at a time (as it was found, before that)."""
        for _, before in self._changes[self._changed_until(at_ns) :]:
            if before.index == index:
                return before
        return self.infos[index]

    def before(self, index: int, at_ns: int) -> ThreadInfo | None:
        """What was known of the thread before its last change until a time; ``None`` if there was none."""
        changes = reversed(self._changes[: self._changed_until(at_ns)])
        return next((before for _, before in changes if before.index == index), None)

    def _changed_until(self, at_ns: int) -> int:
        return bisect.bisect_right(self._changes, at_ns, key=lambda change: change[0])

    @property
    def size(self) -> int:
        """Highest thread index + 1, at least."""
        return len(self._born)

    def between(self, start_ns: int, end_ns: int, only: int | None = None) -> Listing:
        """The threads (or only one of them) that were there at some time in a window."""
        there = (self._born <= end_ns) & (self._gone >= start_ns)
        indexes = np.flatnonzero(there)
        if only is not None:
            indexes = indexes[indexes == only]
        alive = self._gone[indexes] > end_ns
        known, changes = self._listing, self._changed_until(end_ns)
        if (
            known is not None
            and known.changes == changes
            and np.array_equal(known.indexes, indexes)
            and np.array_equal(known.alive, alive)
        ):
            return known
        infos = [self.infos[index] for index in indexes.tolist()]
        if changes < len(self._changes):
            then: dict[int, ThreadInfo] = {}
            for _, before in self._changes[changes:]:
                then.setdefault(before.index, before)
            infos = [then.get(info.index, info) for info in infos]
        firsts = [is_there and not info.is_self for is_there, info in zip(alive.tolist(), infos, strict=True)]
        places = tuple(zip(indexes.tolist(), firsts, strict=True))
        lives = self._born[indexes].tolist(), self._gone[indexes].tolist()
        listing = Listing(indexes, alive, infos, *lives, places, changes)
        if only is None:
            self._listing = listing
        return listing

    def born_ns(self, index: int) -> int:
        """When it was found."""
        return int(self._born[index])

    def gone_ns(self, index: int) -> int | None:
        """When it ended; ``None`` while it is there."""
        gone = int(self._gone[index])
        return None if gone == _NOT_GONE else gone
