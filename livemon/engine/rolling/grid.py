"""The grid that charts are drawn on, and blocks of thread rings laid out on it.

Bucket ``k`` covers ``[k * bucket_ns, (k + 1) * bucket_ns)`` of the session clock, whatever the window:
scrolling moves the first bucket and changes only the newest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.engine.rolling.ring_memory import Floats, RingMemory
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
    """(threads,) whether it used any CPU time."""


PLAIN_THREADS = 4096
"""Up to so many threads a column has a row for each of them; beyond only for those that ran."""


@dataclass(frozen=True, slots=True)
class Column:
    """What all threads did in one bucket."""

    blocks: tuple[Block, ...]
    ticks: int
    values: Floats
    """(threads + 1, 2 + classes) lowest and highest CPU percent, CPU ns by class; the last row is of a thread that
    did nothing."""
    index: npt.NDArray[np.int32] | None
    """The threads, ascending; ``None``: all from 0 on."""
    is_kept: bool = False
    """It is in the memory of the rings, as no more comes into it: the newest one is made anew with each tick."""

    def kept(self, memory: RingMemory) -> Column:
        """The same to be there as long as the chart."""
        values = memory.floats(*self.values.shape)
        values[:] = self.values
        return Column(self.blocks, self.ticks, values, self.index, is_kept=True)

    def take(self, indexes: npt.NDArray[np.int64], out: Floats) -> None:
        """What some threads did."""
        last = len(self.values) - 1
        if self.index is None:
            np.take(self.values, indexes, axis=0, out=out, mode="clip")
        elif last:
            place = np.minimum(np.searchsorted(self.index, indexes), last - 1)
            np.take(self.values, np.where(self.index[place] == indexes, place, last), axis=0, out=out, mode="clip")


class Columns:
    """The columns of the newest grid: while it scrolls only the newest buckets have to be made."""

    def __init__(self) -> None:
        self._known: dict[int, Column] = {}
        self._memory = RingMemory()
        self._made_for = (0, 0)

    def of(self, blocks: Sequence[Block], grid: Grid, classes: int) -> list[Column | None]:
        """The columns of a grid, ``None`` where no tick was taken; ``blocks`` in order of time."""
        known = self._known if self._made_for == (grid.bucket_ns, classes) else {}
        kept, at = _placed(blocks, grid)
        inside: dict[int, list[Block]] = {}
        for block, column in zip(kept, at, strict=True):
            inside.setdefault(column, []).append(block)
        found: dict[int, Column] = {}
        newest = max(inside, default=0)
        for column, several in inside.items():
            bucket, mine = grid.first_bucket + column, tuple(several)
            made = known.get(bucket)
            # Blocks are equal only to themselves, and never change.
            if made is None or made.blocks != mine:
                made = self._make(mine, classes)
            found[bucket] = made if column == newest or made.is_kept else made.kept(self._memory)
        self._known, self._made_for = found, (grid.bucket_ns, classes)
        return [found.get(grid.first_bucket + column) for column in range(grid.columns)]

    def _make(self, blocks: tuple[Block, ...], classes: int) -> Column:
        index = np.concatenate([block.index for block in blocks])
        size = int(index.max()) + 1 if len(index) else 0
        threads = None
        if size > PLAIN_THREADS:
            threads, index = np.unique(index, return_inverse=True)
            size = len(threads)

        def row(number: int) -> Floats:
            return np.concatenate([block.row(number) for block in blocks])

        ticks = sum(block.ticks for block in blocks)
        listed = np.zeros(size + 1, np.float32)
        low = np.full(size + 1, np.inf, np.float32)
        made = np.zeros((2 + classes, size + 1), np.float32)
        np.add.at(listed, index, row(LISTED))
        np.minimum.at(low, index, row(LOW))
        np.maximum.at(made[1], index, row(HIGH))
        made[0] = np.where(listed < ticks, 0.0, low)
        for k in range(classes):
            np.add.at(made[2 + k], index, row(CLASSES + k))
        return Column(blocks, ticks, np.ascontiguousarray(made.T), threads)


def lay_out(columns: Sequence[Column | None], indexes: npt.NDArray[np.int64], classes: int) -> Laid:
    """Threads on a grid.

    Args:
        columns: Of the grid.
        indexes: Of the threads, (threads,): their rows.
        classes: How many core classes.
    """
    made = np.zeros((len(columns), len(indexes), 2 + classes), np.float32)
    for column, out in zip(columns, made, strict=True):
        if column is not None:
            column.take(indexes, out)
    low, high, *class_ns = made.transpose(2, 1, 0).astype(np.float64)
    has_ticks = np.array([column is not None and column.ticks > 0 for column in columns], np.bool_)
    shape = (classes, len(indexes), len(columns))
    ran: npt.NDArray[np.bool_] = np.logical_or.reduce(high > 0, axis=1)
    return Laid(low, high, np.array(class_ns).reshape(shape), has_ticks, ran)


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
