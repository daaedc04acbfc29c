"""Rows of the thread table: arrays over all threads, Python values only for what is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import numpy as np

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.grid import Columns, Grid
from livemon.engine.rolling.row_figures import NOW_ROWS, RECENT_NS, RECENT_ROWS, RowFigures
from livemon.engine.rolling.thread_book import Listing, ThreadBook
from livemon.engine.rolling.thread_charts import FEW, Charts, Watched
from livemon.engine.rolling.thread_rings import CPU, SECOND, ThreadRings
from livemon.model.samples import ThreadInfo
from livemon.model.snapshot import Lane, Series, ThreadRow, ThreadRows

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
) -> Sequence[ThreadRow]:
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
    listing = book.between(at_ns - span_ns, at_ns, only)
    there = listing.indexes
    if not len(there):
        return ()
    blocks = rings.blocks(grid.start_ns, min(grid.end_ns, at_ns), grid.bucket_ns)
    now, now_ns = rings.sums(at_ns - SECOND, at_ns, book.size, NOW_ROWS)
    recent, recent_ns = rings.sums(at_ns - min(RECENT_NS, span_ns), at_ns, book.size, RECENT_ROWS)
    busiest = there[np.argsort(now[CPU, there])[-FEW:]]
    laid_out = (columns or Columns()).of(blocks, grid, len(rings.class_names))
    charts = Charts(laid_out, grid, there, rings, watched, busiest)
    figures = RowFigures(rings, cores, now, now_ns, recent, recent_ns, units)
    return LazyRows(_Table(listing, figures, charts))


@dataclass(frozen=True, slots=True)
class _Table:
    """What the rows of a frame are made from."""

    listing: Listing
    figures: RowFigures
    charts: Charts


class LazyRows(ThreadRows):
    """The rows of a frame."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._made: dict[int, LazyRow] = {}

    @property
    def places(self) -> tuple[tuple[int, bool], ...]:
        """See ``ThreadRows``."""
        return self._table.listing.places

    def __len__(self) -> int:
        return len(self._table.listing.infos)

    @overload
    def __getitem__(self, place: int) -> ThreadRow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ThreadRow]: ...
    def __getitem__(self, place: int | slice) -> ThreadRow | Sequence[ThreadRow]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        row = self._made.get(place)
        if row is None:
            k = range(len(self))[place]
            # Two threads may look at once: both get the row that was there first.
            row = self._made.setdefault(k, LazyRow(self._table, k))
        return row


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
        return self._table.listing.infos[self._row]

    @property
    def _figures(self) -> RowFigures:
        return self._table.figures

    def _draw(self) -> tuple[Series, Lane]:
        drawn = self._drawn
        if drawn is None:
            table, row = self._table, self._row
            listing = table.listing
            index = listing.infos[row].index
            series, lane = table.charts.of(index, listing.born_ns[row], listing.gone_ns[row])
            if table.figures.lacks_cpu(index):
                nothing = (None,) * lane.buckets
                series = Series(series.first_bucket, series.bucket_ns, nothing, nothing)
            drawn = series, lane
            _PUT_DRAWN(self, drawn)
        return drawn

    index = property(lambda self: self._info.index)
    pid = property(lambda self: self._info.pid)
    tid = property(lambda self: self._info.tid)
    name = property(lambda self: self._info.name)
    process = property(lambda self: self._info.process)
    role = property(lambda self: role_name(self._info.name))
    is_alive = property(lambda self: bool(self._table.listing.alive[self._row]))
    is_self = property(lambda self: self._info.is_self)
    affinity = property(lambda self: self._info.affinity)
    policy = property(lambda self: self._info.policy)
    last_cpu = property(lambda self: self._figures.last_cpu(self.index))
    core_class = property(lambda self: self._figures.core_class(self.index)[0])
    class_quality = property(lambda self: self._figures.core_class(self.index)[1])
    cpu_percent = property(lambda self: self._figures.cpu_percent(self.index))
    cpu_ms_per_unit = property(lambda self: self._figures.cpu_per_unit(self.index))
    ipc = property(lambda self: self._figures.ipc(self.index))
    cycles_per_ns = property(lambda self: self._figures.cycles_per_ns(self.index))
    wait_percent = property(lambda self: self._figures.wait_percent(self.index))
    delay_percent = property(lambda self: self._figures.delay_percent(self.index))
    migrations_per_s = property(lambda self: self._figures.migrations(self.index))
    efficiency_share = property(lambda self: self._figures.efficiency_share(self.index))
    series = property(lambda self: self._draw()[0])
    lane = property(lambda self: self._draw()[1])


_PUT_TABLE = LazyRow.__dict__["_table"].__set__
_PUT_ROW = LazyRow.__dict__["_row"].__set__
_PUT_DRAWN = LazyRow.__dict__["_drawn"].__set__
