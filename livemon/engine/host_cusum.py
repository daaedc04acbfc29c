"""Cumulative sums that restart at zero, many columns at once and exact.

``S[i] = max(0, S[i-1] + x[i])`` per column. In whole numbers this equals
``C[i] - min(0, min of C up to i)`` with C the running sum, so a batch is a few array operations and the
result does not depend on where a stream is cut. A *run* is what came since S was last zero; counts
of anything over the run come from running sums in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.engine.logbins import Ints


@dataclass(slots=True)
class Sums:
    """A batch worked through; nothing is kept until ``Cusum.commit``."""

    level: Ints
    """S after each row, (rows, columns)."""
    first: Ints
    """Row at which the current run began, (rows, columns); -1: before this batch."""
    counts: list[Ints]
    """For each counted thing: its sum over the run so far, (rows, columns)."""


class Cusum:
    """Carried state of the sums.

    Args:
        columns: How many sums run side by side.
        things: How many things are counted over the runs.
    """

    def __init__(self, columns: int, things: int) -> None:
        self.level: Ints = np.zeros(columns, np.int64)
        self.started: Ints = np.full((2, columns), -1, np.int64)
        """When the current run began: two clocks of the caller's, per column."""
        self.counts: list[Ints] = [np.zeros(columns, np.int64) for _ in range(things)]

    def grow(self, columns: int) -> None:
        """Add columns, at zero."""
        more = columns - len(self.level)
        if more > 0:
            self.level = np.concatenate([self.level, np.zeros(more, np.int64)])
            self.started = np.concatenate([self.started, np.full((2, more), -1, np.int64)], axis=1)
            self.counts = [np.concatenate([c, np.zeros(more, np.int64)]) for c in self.counts]

    def clear(self) -> None:
        """Back to zero."""
        self.level[:] = 0
        self.started[:] = -1
        for count in self.counts:
            count[:] = 0

    def run(self, x: npt.NDArray[np.int32], *things: npt.NDArray[np.bool_]) -> Sums:
        """Work through a batch: x and things are (rows, columns)."""
        rows, columns = x.shape
        total = x.cumsum(axis=0, dtype=np.int64)
        total += self.level
        lowest = np.minimum.accumulate(total, axis=0)
        np.minimum(lowest, 0, out=lowest)
        level = total - lowest
        zero = np.where(level == 0, np.arange(rows)[:, None], -1)
        np.maximum.accumulate(zero, axis=0, out=zero)
        goes_on = zero < 0  # the run began before this batch, if there is one
        first = zero + 1
        first[goes_on & (self.level > 0)] = -1
        before = np.maximum(zero, 0)
        number = np.arange(columns)
        counts = []
        for thing, carried in zip(things, self.counts, strict=True):
            count = thing.cumsum(axis=0, dtype=np.int64)
            count -= np.where(goes_on, -carried, count[before, number])
            counts.append(count)
        return Sums(level, first, counts)

    def commit(self, sums: Sums, row: int, *clocks: Ints) -> None:
        """Keep the state after ``row``; ``clocks`` are the caller's two clocks per row of the batch."""
        self.level = sums.level[row].copy()
        running = self.level > 0
        first = sums.first[row]
        inside = running & (first >= 0)
        for k, clock in enumerate(clocks):
            moved = np.where(inside, clock[np.minimum(np.maximum(first, 0), len(clock) - 1)], self.started[k])
            self.started[k] = np.where(running, moved, -1)
        for k, count in enumerate(sums.counts):
            self.counts[k] = np.where(running, count[row], 0)

    def begins(self, sums: Sums, clock: Ints, which: int) -> Ints:
        """The value of one of the clocks at which each run began, (rows, columns)."""
        first = sums.first
        return np.where(first >= 0, clock[np.minimum(np.maximum(first, 0), len(clock) - 1)], self.started[which])
