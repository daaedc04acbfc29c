"""Rows of the thread table: many threads at once from arrays, Python objects only for what is shown.

Current figures (CPU %, waiting) are over the newest second; rates that need more events (IPC, cycle rate,
CPU per unit, migrations, efficiency share) over the newest ``RECENT_NS``, or the window if that is shorter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.grid import Doubles, Grid, Laid, lay_out
from livemon.engine.rolling.lazy import LazyLane, LazySeries, Texts, Values
from livemon.engine.rolling.thread_rings import (
    CLASSES,
    COUNTED,
    CPU,
    CYCLES,
    DELAY,
    HOPS,
    INSTRUCTIONS,
    SECOND,
    ThreadRings,
)
from livemon.model.samples import ThreadGone, ThreadInfo
from livemon.model.snapshot import Figure, Lane, Quality, Series, ThreadRow

RECENT_NS = 5 * SECOND
IPC_FLOOR_NS = 200_000
"""CPU time under which IPC and cycle rate are not given."""
_NUMBER = re.compile(r"[-_#:/ ]*\d+$")
_NOT_GONE = 1 << 62

NO_SECOND = Figure(None, "unknown", "no tick in the newest second")
NO_DELAY = Figure(None, "unknown", "run-queue delay can't be read here (livemon doctor says why)")
NO_COUNTERS = Figure(None, "unknown", "no hardware counters (livemon doctor says why)")
NO_CPU = Figure(None, "unknown", "ran too little for the counters in the last seconds")
NO_UNITS = Figure(None, "unknown", "no unit of work in the last seconds")
NO_WHERE = Figure(None, "unknown", "the CPU it runs on can't be read here")
NO_CLASSES = Figure(None, "unknown", "this machine's core classes are not known")
ONE_CLASS = Figure(None, "unknown", "all cores are of one class")
IDLE = Figure(None, "unknown", "did not run in the last seconds")
ZERO = Figure(0.0)
ALL = Figure(1.0)
NO_HOPS = Figure(0.0, "estimated", "CPU changes seen between samples")


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
    figures = _Figures(book, rings, cores, now[:, there], now_ns, recent[:, there], recent_ns, units, there)
    rows = []
    born, gone = book.lives(there)
    for row, index in enumerate(there.tolist()):
        info = book.infos[index]
        is_alive = gone[row] > at_ns
        core_class, quality = figures.core_class(row)
        series, lane = columns.of(row, born[row], gone[row])
        rows.append(
            ThreadRow(
                index, info.pid, info.tid, info.name, info.process, role_name(info.name), is_alive, info.is_self,
                figures.last_cpu(row), core_class, quality, figures.cpu_percent(row), figures.cpu_per_unit(row),
                figures.ipc(row), figures.cycles_per_ns(row), figures.wait_percent(row), figures.migrations(row),
                figures.efficiency_share(row), lane, series, info.affinity, info.policy,
            )
        )  # fmt: skip
    return tuple(rows)


class _Figures:
    """Current figures of the rows, computed for all of them, read one by one."""

    def __init__(
        self,
        book: ThreadBook,
        rings: ThreadRings,
        cores: CoreClasses,
        now: npt.NDArray[np.float32],
        now_ns: int,
        recent: npt.NDArray[np.float32],
        recent_ns: int,
        units: int | None,
        there: npt.NDArray[np.int64],
    ) -> None:
        known = np.minimum(there, len(rings.last_cpu) - 1)
        inside = there < len(rings.last_cpu)
        self._names = rings.class_names
        self._is_exact = rings.is_exact
        self._scaled: Quality = "scaled" if rings.is_scaled else "measured"
        self._scaled_reason = "the counters were active only part of the time" if rings.is_scaled else ""
        self._units = units
        self._now_ns, self._recent_ns = now_ns, recent_ns
        self._where = np.where(inside, rings.last_cpu[known], -1).tolist()
        self._has_delay = (rings.has_delay[known] & inside).tolist()
        self._has_where = (rings.has_where[known] & inside).tolist()
        self._has_counters = (rings.has_counters[known] & inside).tolist()
        self._cpu_now, self._delay_now = now[CPU].tolist(), now[DELAY].tolist()
        self._cpu, self._hops = recent[CPU].tolist(), recent[HOPS].tolist()
        self._cycles, self._instructions = recent[CYCLES].tolist(), recent[INSTRUCTIONS].tolist()
        self._counted = recent[COUNTED].tolist()
        by_class = recent[CLASSES : CLASSES + len(self._names)]
        self._classed = by_class.sum(axis=0).tolist() if self._names else [0.0] * len(there)
        is_efficiency = [cores.is_efficiency(name) for name in self._names]
        self._tells = len(self._names) > 1 or any(is_efficiency)
        self._efficient = by_class[is_efficiency].sum(axis=0).tolist() if self._names else [0.0] * len(there)
        self._most = by_class.argmax(axis=0).tolist() if self._names else [0] * len(there)
        self._where_class = cores.classes_of(np.asarray(self._where, np.int64)).tolist()
        self._topology = cores.names

    def last_cpu(self, row: int) -> Figure:
        return Figure(float(self._where[row])) if self._where[row] >= 0 else NO_WHERE

    def core_class(self, row: int) -> tuple[str | None, Quality]:
        """Class it ran on last."""
        if self._is_exact and self._classed[row] > 0:
            return self._names[self._most[row]], "measured"
        position = self._where_class[row]
        if position >= 0:
            return self._topology[position], "estimated" if len(self._topology) > 1 else "measured"
        return None, "unknown"

    def cpu_percent(self, row: int) -> Figure:
        if not self._now_ns:
            return NO_SECOND
        cpu = self._cpu_now[row]
        return Figure(100.0 * cpu / self._now_ns) if cpu else ZERO

    def cpu_per_unit(self, row: int) -> Figure:
        if not self._units:
            return NO_UNITS
        return Figure(self._cpu[row] / 1e6 / self._units) if self._cpu[row] else ZERO

    def ipc(self, row: int) -> Figure:
        if not self._has_counters[row]:
            return NO_COUNTERS
        if self._counted[row] < IPC_FLOOR_NS or self._cycles[row] <= 0:
            return NO_CPU
        return Figure(self._instructions[row] / self._cycles[row], self._scaled, self._scaled_reason)

    def cycles_per_ns(self, row: int) -> Figure:
        if not self._has_counters[row]:
            return NO_COUNTERS
        if self._counted[row] < IPC_FLOOR_NS:
            return NO_CPU
        return Figure(self._cycles[row] / self._counted[row], self._scaled, self._scaled_reason)

    def wait_percent(self, row: int) -> Figure:
        if not self._has_delay[row]:
            return NO_DELAY
        if not self._now_ns:
            return NO_SECOND
        both = self._cpu_now[row] + self._delay_now[row]
        return Figure(100.0 * self._delay_now[row] / both) if both > 0 else ZERO

    def migrations(self, row: int) -> Figure:
        if not self._has_where[row]:
            return NO_WHERE
        if not self._recent_ns:
            return NO_SECOND
        if not self._hops[row]:
            return NO_HOPS
        return Figure(self._hops[row] / (self._recent_ns / 1e9), "estimated", "CPU changes seen between samples")

    def efficiency_share(self, row: int) -> Figure:
        if not self._tells:
            return NO_CLASSES if not self._names else ONE_CLASS
        if self._classed[row] <= 0:
            return IDLE
        share = self._efficient[row] / self._classed[row]
        if self._is_exact:
            return ZERO if share == 0 else ALL if share == 1 else Figure(share)
        return Figure(share, "estimated", "from the CPU it was seen on at each tick")


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


def _optional(values: Doubles, known: npt.NDArray[np.bool_]) -> tuple[float | None, ...]:
    """Values with ``None`` where they are not known."""
    if known.all():
        return tuple(values.tolist())
    return tuple(v if k else None for v, k in zip(values.tolist(), known.tolist(), strict=True))
