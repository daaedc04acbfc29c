"""The threads of a session: who they are, from when to when."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livemon.model.samples import ThreadGone, ThreadInfo

_NOT_GONE = 1 << 62


class ThreadBook:
    """The threads of a session: who they are, from when to when."""

    def __init__(self) -> None:
        self.infos: dict[int, ThreadInfo] = {}
        self._born = np.full(64, _NOT_GONE, np.int64)
        self._gone = np.full(64, _NOT_GONE, np.int64)

    def meet(self, info: ThreadInfo) -> None:
        """A thread was found, or something about it has changed."""
        k = info.index
        if k < 0:
            return
        if k >= len(self._born):
            more = np.full(max(2 * len(self._born), k + 1) - len(self._born), _NOT_GONE, np.int64)
            self._born, self._gone = np.concatenate([self._born, more]), np.concatenate([self._gone, more])
        self.infos[k] = info
        self._born[k] = min(self._born[k], info.arrival_ns)

    def end(self, gone: ThreadGone) -> None:
        """A thread ended."""
        if 0 <= gone.index < len(self._gone):
            self._gone[gone.index] = gone.arrival_ns

    @property
    def size(self) -> int:
        """Highest thread index + 1, at least."""
        return len(self._born)

    def between(self, start_ns: int, end_ns: int) -> npt.NDArray[np.int64]:
        """Indexes of the threads that were there at some time in a window."""
        return np.flatnonzero((self._born <= end_ns) & (self._gone >= start_ns))

    def lives(self, indexes: npt.NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """When threads were found, and when they ended (far in the future while they are there)."""
        return self._born[indexes].tolist(), self._gone[indexes].tolist()

    def born_ns(self, index: int) -> int:
        """When it was found."""
        return int(self._born[index])

    def gone_ns(self, index: int) -> int | None:
        """When it ended; ``None`` while it is there."""
        gone = int(self._gone[index])
        return None if gone == _NOT_GONE else gone
