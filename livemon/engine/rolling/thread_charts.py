"""CPU series and core lanes of the threads of one frame, laid out for those that are looked at.

Of thousands of threads a screen shows forty: those that were looked at in the frame before (``Watched``) and the
busiest ones are laid out at once, all of them when another one is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from livemon.engine.rolling.grid import Column, Grid, Laid, lay_out
from livemon.engine.rolling.lazy import Drawn, LazyLane, LazySeries
from livemon.engine.rolling.thread_rings import ThreadRings
from livemon.model.snapshot import Lane, Series

FEW = 64
"""So many threads are laid out together, whoever is looked at."""


class Watched:
    """Whose charts are looked at, from frame to frame."""

    def __init__(self) -> None:
        self._newest: set[int] = set()
        self._known: set[int] = set()

    def next(self, looked_at: set[int]) -> set[int]:
        """Threads that were looked at in the newest frame of which any was; the next frame fills ``looked_at``."""
        self._known = set(self._newest) or self._known
        self._newest = looked_at
        return self._known


class Charts:
    """The charts of one frame.

    Args:
        columns: What the threads did, bucket by bucket.
        grid: Of the charts.
        there: Indexes of the threads.
        rings: Where the blocks are from.
        watched: Whom to lay out at once; ``None``: all.
        busiest: Threads that are likely to be looked at first.
    """

    def __init__(
        self,
        columns: Sequence[Column | None],
        grid: Grid,
        there: npt.NDArray[np.int64],
        rings: ThreadRings,
        watched: Watched | None,
        busiest: npt.NDArray[np.int64],
    ) -> None:
        self._grid, self._there = grid, there
        self._names, self._is_exact = tuple(rings.class_names), rings.is_exact
        self._columns = columns
        self._looked_at: set[int] = set()
        chosen = there
        if watched is not None and len(there) > FEW:
            before = np.array(list(watched.next(self._looked_at)), np.int64)
            chosen = there[np.isin(there, np.concatenate([busiest, before]))]
        self._layout = self._lay_out(chosen)

    def _lay_out(self, indexes: npt.NDArray[np.int64]) -> _Layout:
        laid = lay_out(self._columns, indexes, len(self._names))
        return _Layout(laid, self._grid, indexes.tolist(), self._names, is_exact=self._is_exact)

    def of(self, index: int, born_ns: int, gone_ns: int) -> tuple[Series, Lane]:
        """Series and lane of a thread that was there from when to when."""
        self._looked_at.add(index)
        layout = self._layout
        if index not in layout.places:
            layout = self._layout = self._lay_out(self._there)
        return layout.of(index, born_ns, gone_ns)


class _Layout:
    """Series and lanes of some threads; those that did nothing share theirs."""

    def __init__(self, laid: Laid, grid: Grid, indexes: Sequence[int], names: Sequence[str], *, is_exact: bool) -> None:
        self.places = {index: place for place, index in enumerate(indexes)}
        self._grid = grid
        # Series and lanes hold on to what they are made from, so that must not hold on to them.
        self._drawn = Drawn(laid, grid.first_bucket, grid.bucket_ns, names, is_exact=is_exact)
        self._ran = laid.ran
        self._idle: dict[tuple[int, int], tuple[Series, Lane]] = {}

    def of(self, index: int, born_ns: int, gone_ns: int) -> tuple[Series, Lane]:
        """See ``Charts``."""
        grid = self._grid
        first = 0 if born_ns <= grid.start_ns else min(grid.column(born_ns), grid.columns)
        last = grid.columns if gone_ns >= grid.end_ns else max(grid.column(gone_ns) + 1, 0)
        row = self.places[index]
        if self._ran[row]:
            return self._made(row, first, last)
        idle = self._idle.get((first, last))
        if idle is None:
            idle = self._idle[first, last] = self._made(None, first, last)
        return idle

    def _made(self, row: int | None, first: int, last: int) -> tuple[Series, Lane]:
        key = (row, first, last)
        return LazySeries(self._drawn, key), LazyLane(self._drawn, key)
