"""Stage durations in rings: every unit while memory lasts, then per second, then per minute.

One ring holds one kind of line of one class, all its stages side by side. The newest units are
kept as they are (quantiles of them are exact); seconds keep count, sum, lowest and highest for two hours,
minutes also a histogram of 7 % bins for a day. Units are placed by their own time.

Each unit also gets a mark whether its host stages together took over ``SLOW`` times what is usual for the
ring: the timeline's share of host-slow units is counted from it. What is usual is learned from units that
were not slow, in steps of ``LEARN_EVERY`` units, so it does not depend on how the stream was cut.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livemon.engine.classes import Classified
from livemon.engine.roles import HOST, UNACCOUNTED
from livemon.engine.rolling.duration_bins import DurationBins, bin_of
from livemon.engine.rolling.thread_rings import SECOND
from livemon.engine.shapes import Shape

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SLOW = 1.6
LEARN_EVERY = 64
_LEARN_FROM = 40
_REMEMBERED = 512
CHUNK = 512
RAW_BYTES = 24 << 20
"""What all rings may hold of single units."""
SECONDS = 7_200
MINUTES = 1_500
_OPEN_MINUTES = 3


@dataclass(slots=True)
class Cell:
    """What a second or minute holds of every stage; arrays are (stages,)."""

    n: int
    total_ns: Ints
    """Whole ns, so that the sum does not depend on the order of the units."""
    low: Doubles
    high: Doubles
    slow: int
    bins: DurationBins | None = None
    """In minutes only."""

    def mean_ms(self) -> Doubles:
        """Mean of each stage, (stages,)."""
        mean: Doubles = self.total_ns / (1e6 * self.n)
        return mean


@dataclass(frozen=True, slots=True)
class Chunk:
    """Single units."""

    t_ns: Ints
    values: Doubles
    """(stages, units) in ms."""
    slow: npt.NDArray[np.bool_]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.t_ns.nbytes + self.values.nbytes + self.slow.nbytes) + 300


class StageRing:
    """One kind of line of one class."""

    def __init__(self, class_key: str | None, shape: Shape, source: str) -> None:
        self.class_key = class_key
        self.source = source
        has_rest = shape.total is not None and bool(shape.parts)
        self.stages = (*shape.names, UNACCOUNTED) if has_rest else shape.names
        self.roles = (*shape.roles, UNACCOUNTED) if has_rest else shape.roles
        self.shape = shape
        self.units = 0
        """Units so far."""
        self._host = [k for k, role in enumerate(shape.roles) if role == HOST]
        self._pending: list[tuple[int, tuple[float, ...]]] = []
        self.chunks: deque[Chunk] = deque()
        self._raw_bytes = 0
        self.raw_from_ns = -(1 << 62)
        """Single units are complete from here on."""
        self.seconds: dict[int, Cell] = {}
        self.minutes: dict[int, Cell] = {}
        self._usual: float | None = None
        self._learned: deque[float] = deque(maxlen=_REMEMBERED)
        self._since_learned = 0
        self._slow_in_row = 0

    def add(self, item: Classified) -> None:
        """Take a unit."""
        values = item.values
        if len(self.stages) > len(values):
            rest = item.shape.unaccounted_ms(values)
            values = (*values, math.nan if rest is None else rest)
        self._pending.append((item.record.t_ns, values))
        if len(self._pending) >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Make the pending units visible to reads."""
        if not self._pending:
            return
        t_ns = np.array([t for t, _ in self._pending], np.int64)
        values = np.array([v for _, v in self._pending], np.float64).T
        slow = self._mark_slow(values)
        self._pending.clear()
        self.units += len(t_ns)
        order = np.argsort(t_ns, kind="stable")
        t_ns, values, slow = t_ns[order], values[:, order], slow[order]
        chunk = Chunk(t_ns, values, slow)
        self.chunks.append(chunk)
        self._raw_bytes += chunk.nbytes
        self._merge_small()
        self._count(self.seconds, SECOND, SECONDS, t_ns, values, slow, has_bins=False)
        self._count(self.minutes, 60 * SECOND, MINUTES, t_ns, values, slow, has_bins=True)

    def _merge_small(self) -> None:
        """Chunks of a live session are a few units each: merge the newest ones as they fill up."""
        while len(self.chunks) > 1 and len(self.chunks[-1].t_ns) + len(self.chunks[-2].t_ns) <= CHUNK:
            b, a = self.chunks.pop(), self.chunks.pop()
            t_ns = np.concatenate([a.t_ns, b.t_ns])
            order = np.argsort(t_ns, kind="stable")
            values = np.concatenate([a.values, b.values], axis=1)[:, order]
            merged = Chunk(t_ns[order], values, np.concatenate([a.slow, b.slow])[order])
            self.chunks.append(merged)
            self._raw_bytes += merged.nbytes - a.nbytes - b.nbytes

    def shrink(self, max_bytes: int) -> None:
        """Drop the oldest single units beyond what the ring may hold."""
        while self._raw_bytes > max_bytes and len(self.chunks) > 1:
            chunk = self.chunks.popleft()
            self._raw_bytes -= chunk.nbytes
            self.raw_from_ns = max(self.raw_from_ns, int(chunk.t_ns[-1]) + 1)

    def _mark_slow(self, values: Doubles) -> npt.NDArray[np.bool_]:
        n = values.shape[1]
        slow = np.zeros(n, np.bool_)
        if not self._host:
            return slow
        host = values[self._host].sum(axis=0)
        for k, value in enumerate(host.tolist()):
            is_slow = self._usual is not None and value > SLOW * self._usual
            self._slow_in_row = self._slow_in_row + 1 if is_slow else 0
            # What has been slow for very long is how it is now.
            if not is_slow or self._slow_in_row > 20 * LEARN_EVERY:
                self._learned.append(value)
                self._since_learned += 1
                if self._since_learned >= LEARN_EVERY or (self._usual is None and self._since_learned >= _LEARN_FROM):
                    self._usual = float(np.median(self._learned))
                    self._since_learned = 0
            slow[k] = is_slow
        return slow

    def _count(
        self,
        cells: dict[int, Cell],
        width_ns: int,
        most: int,
        t_ns: Ints,
        values: Doubles,
        slow: npt.NDArray[np.bool_],
        *,
        has_bins: bool,
    ) -> None:
        buckets = t_ns // width_ns
        starts = np.flatnonzero(np.r_[True, buckets[1:] != buckets[:-1]])
        ends = np.r_[starts[1:], len(buckets)]
        with_bins = bin_of(values) if has_bins else None
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            part = values[:, start:end]
            whole_ns = np.rint(np.nan_to_num(part) * 1e6).astype(np.int64)
            cell = cells.get(int(buckets[start]))
            if cell is None:
                size = values.shape[0]
                bins = DurationBins(size) if has_bins else None
                cell = cells[int(buckets[start])] = Cell(
                    0, np.zeros(size, np.int64), np.full(size, np.inf), np.full(size, -np.inf), 0, bins
                )
                while len(cells) > most:
                    del cells[next(iter(cells))]
            cell.n += end - start
            cell.total_ns += whole_ns.sum(axis=1)
            cell.low = np.fmin(cell.low, np.fmin.reduce(part, axis=1))
            cell.high = np.fmax(cell.high, np.fmax.reduce(part, axis=1))
            cell.slow += int(slow[start:end].sum())
            if with_bins is not None and cell.bins is not None:
                cell.bins.add(with_bins[:, start:end])
        if has_bins:
            self._pack_old()

    def _pack_old(self) -> None:
        """Minutes that are past get no more units, but for late ones."""
        for key in list(self.minutes)[-2 * _OPEN_MINUTES : -_OPEN_MINUTES]:
            bins = self.minutes[key].bins
            if bins is not None:
                bins.pack()

    # -- reading

    def raw(self, start_ns: int, end_ns: int) -> tuple[Ints, Doubles, npt.NDArray[np.bool_]] | None:
        """Single units in ``[start_ns, end_ns]``: (t_ns, (stages, units), slow); ``None`` where not all are held."""
        if start_ns < self.raw_from_ns:
            return None
        parts: list[tuple[Ints, Doubles, npt.NDArray[np.bool_]]] = []
        for chunk in reversed(self.chunks):
            t_ns = chunk.t_ns
            if t_ns[0] >= start_ns and t_ns[-1] <= end_ns:
                parts.append((t_ns, chunk.values, chunk.slow))
            elif t_ns[0] <= end_ns and t_ns[-1] >= start_ns:
                a, b = np.searchsorted(t_ns, start_ns), np.searchsorted(t_ns, end_ns, side="right")
                parts.append((t_ns[a:b], chunk.values[:, a:b], chunk.slow[a:b]))
            elif t_ns[-1] < start_ns - 60 * SECOND:
                break
        if not parts:
            return np.zeros(0, np.int64), np.zeros((len(self.stages), 0)), np.zeros(0, np.bool_)
        parts.reverse()
        times, values, slow = zip(*parts, strict=True)
        return np.concatenate(times), np.concatenate(values, axis=1), np.concatenate(slow)

    def cells(self, start_ns: int, end_ns: int, bucket_ns: int) -> tuple[int, list[tuple[int, Cell]]]:
        """Seconds or minutes of a window, whichever suits: (width in ns, (start, cell) in order)."""
        oldest = min(self.seconds, default=0) * SECOND
        is_pruned = len(self.seconds) >= SECONDS and start_ns < oldest
        chosen, width = (
            (self.minutes, 60 * SECOND) if is_pruned or bucket_ns >= 120 * SECOND else (self.seconds, SECOND)
        )
        first, last = start_ns // width, end_ns // width
        if last - first < len(chosen):
            found = [(b * width, chosen[b]) for b in range(first, last + 1) if b in chosen]
        else:
            found = [(b * width, cell) for b, cell in sorted(chosen.items()) if first <= b <= last]
        return width, found

    def minute_cells(self, start_ns: int, end_ns: int) -> Iterator[Cell]:
        """Minutes that overlap a window."""
        for bucket, cell in self.minutes.items():
            if bucket * 60 * SECOND <= end_ns and (bucket + 1) * 60 * SECOND > start_ns:
                yield cell


def shown_class(class_key: str | None) -> str | None:
    """Class that a row is shown under: a cycle of one tells nothing apart."""
    return None if class_key == "0/1" else class_key


class StageRings:
    """All rings of a session."""

    MAX_RINGS = 500

    def __init__(self) -> None:
        self._rings: dict[tuple[str | None, Shape, str], StageRing] = {}
        self._unshrunk = 0
        self.left_out = 0
        """Units of further classes that are not shown."""

    def add(self, items: Sequence[Classified]) -> None:
        """Take classified records."""
        for item in items:
            class_key = shown_class(item.class_key)
            key = (class_key, item.shape, item.record.source)
            ring = self._rings.get(key)
            if ring is None:
                if len(self._rings) >= self.MAX_RINGS:
                    self.left_out += 1
                    continue
                ring = self._rings[key] = StageRing(class_key, item.shape, item.record.source)
            ring.add(item)
        self._unshrunk += len(items)
        if self._unshrunk > 4096:
            self._unshrunk = 0
            for ring in self._rings.values():
                ring.shrink(RAW_BYTES // len(self._rings))

    def rings(self) -> list[StageRing]:
        """All rings, up to date."""
        for ring in self._rings.values():
            ring.flush()
        return list(self._rings.values())
