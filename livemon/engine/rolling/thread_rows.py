"""Rows of the thread table: arrays over all threads, Python values only for what is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.grid import Doubles, Grid, Laid, lay_out
from livemon.engine.rolling.lazy import LazyLane, LazySeries, Texts, Values
from livemon.engine.rolling.row_figures import RECENT_NS, RowFigures
from livemon.engine.rolling.thread_book import ThreadBook
from livemon.engine.rolling.thread_rings import SECOND, ThreadRings
from livemon.model.samples import ThreadInfo
from livemon.model.snapshot import Lane, Series, ThreadRow

_NUMBER = re.compile(r"[-_#:/ ]*\d+$")


@lru_cache(maxsize=65_536)
def role_name(name: str) -> str:
    """A thread's name without its number: ``worker-12`` -> ``worker``."""
    return _NUMBER.sub("", name) or name


def thread_rows(
    book: ThreadBook,
    rings: ThreadRings,
    cores: CoreClasses,
    grid: Grid,
    at_ns: int,
    span_ns: int,
    units: int | None,
    only: int | None = None,
) -> tuple[ThreadRow, ...]:
    """The rows of every thread that was there in the window.

    Args:
        book: Who they are.
        rings: What they did.
        cores: Core classes.
        grid: Of the charts.
        at_ns: The moment shown.
        span_ns: The window.
        units: Units of work in the newest ``RECENT_NS`` (or window); ``None`` where there are no timing lines.
        only: Only this thread.
    """
    there = book.between(at_ns - span_ns, at_ns)
    if only is not None:
        there = there[there == only]
    if not len(there):
        return ()
    row_of = np.full(book.size, -1, np.int64)
    row_of[there] = np.arange(len(there))
    names = rings.class_names
    blocks = rings.blocks(grid.start_ns, min(grid.end_ns, at_ns), grid.bucket_ns)
    laid = lay_out(blocks, grid, row_of, len(there), len(names))
    columns = _Columns(laid, grid, names, is_exact=rings.is_exact)
    now, _, now_ns = rings.sums(at_ns - SECOND, at_ns, book.size)
    recent, _, recent_ns = rings.sums(at_ns - min(RECENT_NS, span_ns), at_ns, book.size)
    figures = RowFigures(rings, cores, now[:, there], now_ns, recent[:, there], recent_ns, units, there)
    born, gone = book.lives(there)
    infos = book.infos
    return tuple(
        LazyRow(infos[index], figures, columns, row, (born[row], gone[row]), gone[row] > at_ns)
        for row, index in enumerate(there.tolist())
    )


_Key = tuple[int | None, int, int]
"""Row (``None``: one that did nothing), and the columns in which the thread was there."""


class _Columns:
    """Series and lanes of the rows, made when they are looked at; threads that did nothing share theirs."""

    def __init__(self, laid: Laid, grid: Grid, names: Sequence[str], *, is_exact: bool) -> None:
        self._laid = laid
        self._grid = grid
        self._start_ns, self._end_ns = grid.start_ns, grid.end_ns
        self._names = names
        self._is_exact = is_exact
        self._active = set(np.flatnonzero(laid.ran).tolist())
        self._idle: dict[tuple[int, int], tuple[Series, Lane]] = {}

    def of(self, row: int, born_ns: int, gone_ns: int) -> tuple[Series, Lane]:
        """Series and lane of a row."""
        grid = self._grid
        first = 0 if born_ns <= self._start_ns else min(grid.column(born_ns), grid.columns)
        last = grid.columns if gone_ns >= self._end_ns else max(grid.column(gone_ns) + 1, 0)
        if row in self._active:
            return self._made(row, first, last)
        idle = self._idle.get((first, last))
        if idle is None:
            idle = self._idle[first, last] = self._made(None, first, last)
        return idle

    def _made(self, row: int | None, first: int, last: int) -> tuple[Series, Lane]:
        grid = self._grid
        key = (row, first, last)
        first_bucket, bucket_ns = grid.first_bucket, grid.bucket_ns
        lane = LazyLane(first_bucket, bucket_ns, self._classes, key, is_exact=self._is_exact)
        return LazySeries(first_bucket, bucket_ns, self._percents, key), lane

    def _seen(self, first: int, last: int) -> npt.NDArray[np.bool_]:
        """Buckets in which the thread was there and a tick was taken."""
        seen = self._laid.has_ticks.copy()
        seen[:first] = False
        seen[last:] = False
        return seen

    def _percents(self, key: _Key) -> tuple[Values, Values]:
        row, first, last = key
        seen = self._seen(first, last)
        if row is None:
            zeros = _optional(np.zeros(len(seen)), seen)
            return zeros, zeros
        return _optional(self._laid.low[row], seen), _optional(self._laid.high[row], seen)

    def _classes(self, key: _Key) -> tuple[Texts, Values]:
        row, first, last = key
        seen = self._seen(first, last).tolist()
        none: Values = (None,) * len(seen)
        if row is None or not self._names:
            return tuple("" if is_seen and row is None else None for is_seen in seen), none
        by_class = self._laid.class_ns[:, row]
        total = by_class.sum(axis=0)
        best = by_class.argmax(axis=0)
        most = by_class.max(axis=0).tolist()
        classes: list[str | None] = []
        shares: list[float | None] = []
        ran = (self._laid.high[row] > 0).tolist()
        for column, (is_seen, whole) in enumerate(zip(seen, total.tolist(), strict=True)):
            known = is_seen and whole > 0
            idle = "" if is_seen and not ran[column] else None
            classes.append(self._names[best[column]] if known else idle)
            shares.append(most[column] / whole if known else None)
        return tuple(classes), tuple(shares)


class LazyRow(ThreadRow):
    """A row whose figures are made when they are looked at: of thousands of threads a screen shows forty."""

    __slots__ = ("_columns", "_drawn", "_figures", "_info", "_is_alive", "_life", "_row")
    _info: ThreadInfo
    _figures: RowFigures
    _columns: _Columns
    _row: int
    _life: tuple[int, int]
    _is_alive: bool
    _drawn: tuple[Series, Lane] | None

    def __init__(
        self, info: ThreadInfo, figures: RowFigures, columns: _Columns, row: int, life: tuple[int, int], is_alive: bool
    ) -> None:
        # A frozen class is filled through its slots; thousands of these are made for a frame.
        for put, value in zip(_PUT, (info, figures, columns, row, life, is_alive, None), strict=True):
            put(self, value)

    def _draw(self) -> tuple[Series, Lane]:
        drawn = self._drawn
        if drawn is None:
            series, lane = self._columns.of(self._row, *self._life)
            if self._figures.lacks_cpu(self._row):
                nothing = (None,) * len(lane.classes)
                series = Series(series.first_bucket, series.bucket_ns, nothing, nothing)
            drawn = series, lane
            _PUT[-1](self, drawn)
        return drawn

    index = property(lambda self: self._info.index)
    pid = property(lambda self: self._info.pid)
    tid = property(lambda self: self._info.tid)
    name = property(lambda self: self._info.name)
    process = property(lambda self: self._info.process)
    role = property(lambda self: role_name(self._info.name))
    is_alive = property(lambda self: self._is_alive)
    is_self = property(lambda self: self._info.is_self)
    affinity = property(lambda self: self._info.affinity)
    policy = property(lambda self: self._info.policy)
    last_cpu = property(lambda self: self._figures.last_cpu(self._row))
    core_class = property(lambda self: self._figures.core_class(self._row)[0])
    class_quality = property(lambda self: self._figures.core_class(self._row)[1])
    cpu_percent = property(lambda self: self._figures.cpu_percent(self._row))
    cpu_ms_per_unit = property(lambda self: self._figures.cpu_per_unit(self._row))
    ipc = property(lambda self: self._figures.ipc(self._row))
    cycles_per_ns = property(lambda self: self._figures.cycles_per_ns(self._row))
    wait_percent = property(lambda self: self._figures.wait_percent(self._row))
    migrations_per_s = property(lambda self: self._figures.migrations(self._row))
    efficiency_share = property(lambda self: self._figures.efficiency_share(self._row))
    series = property(lambda self: self._draw()[0])
    lane = property(lambda self: self._draw()[1])


_PUT = tuple(
    LazyRow.__dict__[name].__set__ for name in ("_info", "_figures", "_columns", "_row", "_life", "_is_alive", "_drawn")
)


def _optional(values: Doubles, known: npt.NDArray[np.bool_]) -> tuple[float | None, ...]:
    """Values with ``None`` where they are not known."""
    if known.all():
        return tuple(values.tolist())
    return tuple(v if k else None for v, k in zip(values.tolist(), known.tolist(), strict=True))
