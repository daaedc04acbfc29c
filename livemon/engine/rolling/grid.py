"""The grid that charts are drawn on, and blocks of thread rings laid out on it.

Bucket ``k`` covers ``[k * bucket_ns, (k + 1) * bucket_ns)`` of the session clock, whatever the window:
scrolling moves the first bucket and changes only the newest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.engine.rolling.thread_rings import CLASSES, HIGH, LISTED, LOW, Block
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


def lay_out(blocks: Sequence[Block], grid: Grid, row_of: npt.NDArray[np.int64], rows: int, classes: int) -> Laid:
    """Blocks on a grid.

    Args:
        blocks: In order of time.
        grid: Where to.
        row_of: Row by thread index, -1 for threads that are not wanted.
        rows: How many rows.
        classes: How many core classes.
    """
    columns = grid.columns
    ticks = np.zeros(columns, np.int64)
    cells = rows * columns
    listed = np.zeros(cells)
    low = np.full(cells, np.inf, np.float32)
    high = np.zeros(cells, np.float32)
    class_ns = np.zeros((classes, cells))
    starts = [max(grid.column(block.start_ns), 0) for block in blocks]
    ends = [grid.column(block.end_ns - 1) for block in blocks]
    kept, at = [], []
    for block, first, last in zip(blocks, starts, ends, strict=True):
        if last < 0 or last >= columns:
            continue
        # A tick tells of the time before it and belongs where it ends. A block wider than a bucket fills them all.
        wide = (
            range(first, last + 1)
            if block.ticks > 1 and block.end_ns - block.start_ns > 1.5 * grid.bucket_ns
            else (last,)
        )
        for column in wide:
            ticks[column] += block.ticks
            if len(block.index):
                kept.append(block)
                at.append(column)
    if kept:
        index = np.concatenate([block.index for block in kept])
        column_of = np.repeat(at, [len(block.index) for block in kept])
        row = row_of[np.minimum(index, len(row_of) - 1)]
        cell = row * columns + column_of
        values = np.concatenate([block.rows for block in kept], axis=1)
        wanted = (row >= 0) & (index < len(row_of))
        if not wanted.all():
            cell, values = cell[wanted], values[:, wanted]
        listed += np.bincount(cell, values[LISTED], cells)
        np.minimum.at(low, cell, values[LOW])
        np.maximum.at(high, cell, values[HIGH])
        for k in range(classes):
            class_ns[k] = np.bincount(cell, values[CLASSES + k], cells)
    has_ticks = ticks > 0
    shape = (rows, columns)
    listed = listed.reshape(shape)
    lowest: Doubles = np.where(listed < ticks, 0.0, low.reshape(shape))
    highest: Doubles = high.reshape(shape).astype(np.float64)
    return Laid(lowest, highest, class_ns.reshape((classes, *shape)), has_ticks, listed.sum(axis=1) > 0)
