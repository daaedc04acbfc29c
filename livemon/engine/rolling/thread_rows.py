"""Rows of the thread table: arrays over all threads, Python values only for what is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.grid import Columns, Grid
from livemon.engine.rolling.row_figures import NOW_ROWS, RECENT_NS, RECENT_ROWS, RowFigures
from livemon.engine.rolling.thread_book import ThreadBook
from livemon.engine.rolling.thread_charts import FEW, Charts, Watched
from livemon.engine.rolling.thread_rings import CPU, SECOND, ThreadRings
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
    watched: Watched | None = None,
    columns: Columns | None = None,
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
        watched: Whose charts are looked at; ``None``: nobody keeps track.
        columns: Remembers the columns of the charts from frame to frame.
    """
    there = book.between(at_ns - span_ns, at_ns)
    if only is not None:
        there = there[there == only]
    if not len(there):
        return ()
    blocks = rings.blocks(grid.start_ns, min(grid.end_ns, at_ns), grid.bucket_ns)
    now, now_ns = rings.sums(at_ns - SECOND, at_ns, book.size, NOW_ROWS)
    recent, recent_ns = rings.sums(at_ns - min(RECENT_NS, span_ns), at_ns, book.size, RECENT_ROWS)
    busiest = there[np.argsort(now[CPU, there])[-FEW:]]
    laid_out = (columns or Columns()).of(blocks, grid, len(rings.class_names))
    charts = Charts(laid_out, grid, there, rings, watched, busiest)
    figures = RowFigures(rings, cores, now[:, there], now_ns, recent[:, there], recent_ns, units, there)
    infos = [book.infos[index] for index in there.tolist()]
    table = _Table(at_ns, infos, figures, charts, *book.lives(there))
    return tuple([LazyRow(table, row) for row in range(len(infos))])


@dataclass(frozen=True, slots=True)
class _Table:
    """What the rows of a frame are made from."""

    at_ns: int
    infos: Sequence[ThreadInfo]
    figures: RowFigures
    charts: Charts
    born_ns: Sequence[int]
    gone_ns: Sequence[int]


class LazyRow(ThreadRow):
    """A row whose figures are made when they are looked at: of thousands of threads a screen shows forty."""

    __slots__ = ("_drawn", "_row", "_table")
    _table: _Table
    _row: int
    _drawn: tuple[Series, Lane] | None

    def __init__(self, table: _Table, row: int) -> None:
        # A frozen class is filled through its slots; thousands of these are made for a frame.
        _PUT_TABLE(self, table)
        _PUT_ROW(self, row)
        _PUT_DRAWN(self, None)

    @property
    def _info(self) -> ThreadInfo:
        return self._table.infos[self._row]

    def _draw(self) -> tuple[Series, Lane]:
        drawn = self._drawn
        if drawn is None:
            table, row = self._table, self._row
            series, lane = table.charts.of(table.infos[row].index, table.born_ns[row], table.gone_ns[row])
            if table.figures.lacks_cpu(row):
                nothing = (None,) * lane.buckets
                series = Series(series.first_bucket, series.bucket_ns, nothing, nothing)
            drawn = series, lane
            _PUT_DRAWN(self, drawn)
        return drawn

    index = property(lambda self: self._table.infos[self._row].index)
    pid = property(lambda self: self._info.pid)
    tid = property(lambda self: self._info.tid)
    name = property(lambda self: self._info.name)
    process = property(lambda self: self._info.process)
    role = property(lambda self: role_name(self._info.name))
    is_alive = property(lambda self: self._table.gone_ns[self._row] > self._table.at_ns)
    is_self = property(lambda self: self._info.is_self)
    affinity = property(lambda self: self._info.affinity)
    policy = property(lambda self: self._info.policy)
    last_cpu = property(lambda self: self._table.figures.last_cpu(self._row))
    core_class = property(lambda self: self._table.figures.core_class(self._row)[0])
    class_quality = property(lambda self: self._table.figures.core_class(self._row)[1])
    cpu_percent = property(lambda self: self._table.figures.cpu_percent(self._row))
    cpu_ms_per_unit = property(lambda self: self._table.figures.cpu_per_unit(self._row))
    ipc = property(lambda self: self._table.figures.ipc(self._row))
    cycles_per_ns = property(lambda self: self._table.figures.cycles_per_ns(self._row))
    wait_percent = property(lambda self: self._table.figures.wait_percent(self._row))
    migrations_per_s = property(lambda self: self._table.figures.migrations(self._row))
    efficiency_share = property(lambda self: self._table.figures.efficiency_share(self._row))
    series = property(lambda self: self._draw()[0])
    lane = property(lambda self: self._draw()[1])


_PUT_TABLE = LazyRow.__dict__["_table"].__set__
_PUT_ROW = LazyRow.__dict__["_row"].__set__
_PUT_DRAWN = LazyRow.__dict__["_drawn"].__set__
