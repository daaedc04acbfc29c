"""Kinds of work that a line does not name, told apart by how much of it there is.

Requests of several sizes in one unlabelled stream have several healthy states. Where the part of a unit
that the host does not determine (its device time, else the rest of its wall time) falls into groups
with nothing between them, each group is a kind of its own.
"""

from __future__ import annotations

import numpy as np

from livemon.engine.logbins import COARSE_BINS, PER_COARSE, Floats, Ints

APART = {"device": 6, "rest": 15}
"""Coarse bins without units between two groups: 1.4 times for device time, 2.5 times for the rest of a unit."""
MAX_GROUPS = 4
_LEAST_UNITS = 12
_LEAST_PART = 0.02
_EMPTY_PART = 0.001
_FACTOR = 2.0 ** (-1 / 120)


class SizeGroups:
    """Sizes seen so far, and the cuts between their groups."""

    def __init__(self, source: str) -> None:
        self.apart = APART[source]
        self._seen: Floats = np.zeros(COARSE_BINS)
        self._new = 0
        self.cuts: tuple[int, ...] = ()
        """Coarse bins; group i is below cut i."""

    def add(self, fine: Ints) -> None:
        """Take units' sizes as fine bins."""
        self._seen += np.bincount(fine // PER_COARSE, minlength=COARSE_BINS)
        self._new += len(fine)

    def groups_of(self, fine: Ints) -> Ints:
        """Number of the group of each size."""
        return np.searchsorted(self.cuts, fine // PER_COARSE, side="right")

    def share(self, low: int, high: int, low_all: int, high_all: int) -> float:
        """Part of the units of [low_all, high_all) that lies in [low, high), in coarse bins."""
        whole = float(self._seen[low_all:high_all].sum())
        return float(self._seen[low:high].sum()) / whole if whole else 0.0

    def new_cell(self) -> bool:
        """A second is over: look for further cuts; whether there are any."""
        if not self._new:
            return False
        self._new = 0
        self._seen *= _FACTOR
        total = float(self._seen.sum())
        if len(self.cuts) >= MAX_GROUPS - 1 or total < 2 * _LEAST_UNITS:
            return False
        filled = np.flatnonzero(self._seen > max(_EMPTY_PART * total, 0.5))
        if len(filled) < 2:
            return False
        gaps = np.diff(filled)
        running = np.cumsum(self._seen)
        least = max(_LEAST_UNITS, _LEAST_PART * total)
        before = self.cuts
        for at in np.argsort(-gaps, kind="stable").tolist():
            if gaps[at] <= self.apart or len(self.cuts) >= MAX_GROUPS - 1:
                break
            low, high = int(filled[at]), int(filled[at + 1])
            cut = (low + high + 1) // 2
            if any(low < known <= high for known in self.cuts):
                continue
            if running[low] >= least and total - running[low] >= least:
                self.cuts = tuple(sorted((*self.cuts, cut)))
        return self.cuts != before
