"""The grid that charts are drawn on, and blocks of thread rings laid out on it.

Bucket ``k`` covers ``[k * bucket_ns, (k + 1) * bucket_ns)`` of the session clock, whatever the window:
scrolling moves the first bucket and changes only the newest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.engine.rolling.thread_rings import CLASSES, HIGH, LISTED, LOW, Block, Floats, Ints
from livemon.model.snapshot import Series

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Grid:
    """A stretch of buckets."""

    first_bucket: int
    bucket_ns: int
    columns: int

    @classmethod
    def ending(cls, end_ns: int, span_ns: int, columns: int) -> Grid:
        """The grid of a window of ``span_ns`` that ends at ``end_ns``; a bucket that begins there is not in it yet."""
        columns = max(columns, 1)
        bucket_ns = max(-(-span_ns // columns), 1)
        return cls((end_ns - 1) // bucket_ns - columns + 1, bucket_ns, columns)

    @property
    def start_ns(self) -> int:
        """Start of the first bucket."""
        return self.first_bucket * self.bucket_ns

    @property
    def end_ns(self) -> int:
        """End of the last bucket."""
        return (self.first_bucket + self.columns) * self.bucket_ns

    def column(self, t_ns: int) -> int:
        """Column of a moment; outside 0..columns-1 when it is not in the window."""
        return t_ns // self.bucket_ns - self.first_bucket

    def columns_of(self, begin_ns: int, width_ns: int) -> tuple[int, int]:
        """The columns (first, stop) that a stretch fills: all it overlaps if it is wider than a bucket, else one."""
        first = self.column(begin_ns)
        stop = self.column(begin_ns + width_ns - 1) + 1 if width_ns > self.bucket_ns else first + 1
        return min(max(first, 0), self.columns), min(max(stop, 0), self.columns)

    def series(self, low: Sequence[float | None], high: Sequence[float | None]) -> Series:
        """A series on this grid."""
        return Series(self.first_bucket, self.bucket_ns, tuple(low), tuple(high))

    def empty(self) -> Series:
        """A series of gaps."""
        gaps = (None,) * self.columns
        return Series(self.first_bucket, self.bucket_ns, gaps, gaps)


def optional(values: Doubles) -> tuple[float | None, ...]:
    """Values with ``None`` for NaN."""
    unknown = np.isnan(values)
    if not unknown.any():
        return tuple(values.tolist())
    return tuple(np.where(unknown, None, values).tolist())  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Laid:
    """Threads on a grid."""

    low: Doubles
    """(threads, columns) lowest CPU percent; nothing where no tick was taken (``has_ticks``)."""
    high: Doubles
    class_ns: Doubles
    """(classes, threads, columns) CPU ns."""
    has_ticks: npt.NDArray[np.bool_]
    """(columns,)."""
    ran: npt.NDArray[np.bool_]
    """(threads,) whether it ran at all."""


def lay_out(blocks: Sequence[Block], grid: Grid, indexes: npt.NDArray[np.int64], classes: int) -> Laid:
    """Threads on a grid.

    Args:
        blocks: In order of time.
        grid: Where to.
        indexes: Of the threads, (threads,) ascending: their rows.
        classes: How many core classes.
    """
    rows, columns = len(indexes), grid.columns
    cells = rows * columns
    kept, at = _placed(blocks, grid)
    ticks = np.bincount(at, [block.ticks for block in kept], columns)[:columns]
    listed = np.zeros(cells)
    low = np.full(cells, np.inf, np.float32)
    high = np.zeros(cells, np.float32)
    class_ns = np.zeros((classes, cells))
    row, block_of, values = _entries(kept, indexes)
    if len(row):
        cell = row * columns + np.array(at)[block_of]
        listed += np.bincount(cell, values[LISTED], cells)
        np.minimum.at(low, cell, values[LOW])
        np.maximum.at(high, cell, values[HIGH])
        for k in range(classes):
            class_ns[k] = np.bincount(cell, values[CLASSES + k], cells)
    shape = (rows, columns)
    listed = listed.reshape(shape)
    lowest: Doubles = np.where(listed < ticks, 0.0, low.reshape(shape))
    highest: Doubles = high.reshape(shape).astype(np.float64)
    return Laid(lowest, highest, class_ns.reshape((classes, *shape)), ticks > 0, listed.sum(axis=1) > 0)


def _entries(blocks: Sequence[Block], indexes: npt.NDArray[np.int64]) -> tuple[Ints, Ints, Floats]:
    """What the blocks hold of some threads: (row, number of the block, (ROWS, entries))."""
    counts = [len(block.index) for block in blocks]
    if not sum(counts) or not len(indexes):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, np.zeros((0, 0), np.float32)
    size = int(indexes[-1]) + 1
    row_of = np.full(size + 1, -1, np.int64)
    row_of[indexes] = np.arange(len(indexes))
    row = row_of[np.minimum(np.concatenate([block.index for block in blocks]), size)]
    block_of = np.repeat(np.arange(len(blocks)), counts)
    wanted = np.flatnonzero(row >= 0)
    if len(wanted) == len(row):
        return row, block_of, np.concatenate([block.rows for block in blocks], axis=1)
    ends = np.cumsum(counts)
    parts = np.split(wanted, np.searchsorted(wanted, ends[:-1]))
    rows = [block.rows[:, part - begin] for block, part, begin in zip(blocks, parts, ends - counts, strict=True)]
    return row[wanted], block_of[wanted], np.concatenate(rows, axis=1)


def _placed(blocks: Sequence[Block], grid: Grid) -> tuple[list[Block], list[int]]:
    """The blocks inside a grid with their columns; one wider than a bucket is there for each that it fills."""
    first_bucket, bucket_ns, columns = grid.first_bucket, grid.bucket_ns, grid.columns
    # A tick tells of the time before it and belongs where it ends.
    lasts = [(block.end_ns - 1) // bucket_ns - first_bucket for block in blocks]
    kept: list[Block] = []
    at: list[int] = []
    for block, last in zip(blocks, lasts, strict=True):
        if not 0 <= last < columns:
            continue
        if block.ticks > 1 and block.end_ns - block.start_ns > 1.5 * bucket_ns:
            wide = range(max(grid.column(block.start_ns), 0), last + 1)
            kept += [block] * len(wide)
            at += wide
        else:
            kept.append(block)
            at.append(last)
    return kept, at
