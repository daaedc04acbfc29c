"""Series and lanes that are made when they are looked at: of thousands of threads a screen shows forty.

They are the snapshot's own types: immutable, equal when their values are. What they are made from is
never changed afterwards, so it does not matter which thread looks first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from livemon.engine.rolling.grid import Doubles, Laid
from livemon.model.snapshot import Lane, Series

Values = tuple[float | None, ...]
Texts = tuple[str | None, ...]
Parts = tuple[slice, ...]

Key = tuple[int | None, int, int]
"""Row (``None``: one that did nothing), and the columns in which the thread was there."""
_IDLE, _UNKNOWN = -1, -2
"""Instead of the number of a class."""


class Drawn:
    """What the series and lanes of some threads are made from; the parts of a screen for all of them at once.

    Args:
        laid: The threads.
        first_bucket: Of the grid.
        bucket_ns: Of the grid.
        names: The core classes.
        is_exact: They come from counters.
    """

    def __init__(self, laid: Laid, first_bucket: int, bucket_ns: int, names: Sequence[str], *, is_exact: bool) -> None:
        self.first_bucket, self.bucket_ns, self.is_exact = first_bucket, bucket_ns, is_exact
        self.buckets = len(laid.has_ticks)
        self._laid, self._names = laid, tuple(names)
        told = np.flatnonzero(laid.has_ticks)
        self._told = (int(told[0]), int(told[-1]) + 1) if len(told) else (self.buckets, 0)
        self._tops: tuple[Parts, list[list[float]]] | None = None
        self._mains: tuple[Parts, list[list[int]], list[list[float]]] | None = None

    def _is_whole(self, first: int, last: int) -> bool:
        """Whether a thread was there in all the buckets that anything is told of."""
        return first <= self._told[0] and last >= self._told[1]

    def _seen(self, first: int, last: int) -> npt.NDArray[np.bool_]:
        """Buckets in which the thread was there and a tick was taken."""
        seen = self._laid.has_ticks.copy()
        seen[:first] = False
        seen[last:] = False
        return seen

    def percents(self, key: Key) -> tuple[Values, Values]:
        """Lowest and highest CPU percent of each bucket."""
        row, first, last = key
        seen = self._seen(first, last)
        if row is None:
            zeros = _optional(np.zeros(len(seen)), seen)
            return zeros, zeros
        return _optional(self._laid.low[row], seen), _optional(self._laid.high[row], seen)

    def top(self, key: Key) -> float:
        """Highest CPU percent of all buckets."""
        row, first, last = key
        return float(self._laid.high[row, first:last].max()) if row is not None and last > first else 0.0

    def tops(self, key: Key, parts: Parts) -> list[float] | None:
        """Highest CPU percent of each part; ``None`` of a thread that was not there all the time."""
        row, first, last = key
        if row is None or not self._is_whole(first, last):
            return None
        known = self._tops
        if known is None or known[0] is not parts:
            high = np.where(self._laid.has_ticks, self._laid.high, -math.inf)
            known = self._tops = (parts, _reduced(np.maximum, high, parts, -math.inf).tolist())
        return known[1][row]

    @cached_property
    def _placement(self) -> tuple[npt.NDArray[np.int64], Doubles, npt.NDArray[np.bool_]]:
        """Class with most CPU time, its share, and whether there is any: (threads, columns) each."""
        class_ns = self._laid.class_ns
        total = class_ns.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return class_ns.argmax(axis=0), class_ns.max(axis=0) / total, total > 0

    def classes(self, key: Key) -> tuple[Texts, Values]:
        """Class with most CPU time in each bucket and its share."""
        row, first, last = key
        seen = self._seen(first, last)
        none: Values = (None,) * len(seen)
        if row is None or not self._names:
            return tuple("" if is_seen and row is None else None for is_seen in seen.tolist()), none
        best, share, ran = self._placement
        known = seen & ran[row]
        shares: list[float | None] = share[row].tolist()
        classes: list[str | None] = [self._names[position] for position in best[row].tolist()]
        if not known.all():
            is_idle = (seen & (self._laid.high[row] <= 0)).tolist()
            for column in np.flatnonzero(~known).tolist():
                classes[column] = "" if is_idle[column] else None
                shares[column] = None
        return tuple(classes), tuple(shares)

    def mains(self, key: Key, parts: Parts) -> tuple[list[str | None], list[float]] | None:
        """As ``classes`` of each part; ``None`` of a thread that was not there all the time."""
        row, first, last = key
        if row is None or not self._names or not self._is_whole(first, last):
            return None
        known = self._mains
        if known is None or known[0] is not parts:
            known = self._mains = (parts, *self._mains_of(parts))
        names: tuple[str | None, ...] = (*self._names, None, "")
        return [names[number] for number in known[1][row]], known[2][row]

    def _mains_of(self, parts: Parts) -> tuple[list[list[int]], list[list[float]]]:
        """For all threads: number of the class (or ``_IDLE``, ``_UNKNOWN``) and its share."""
        best, share, ran = self._placement
        is_known = ran & self._laid.has_ticks
        busy = _reduced(np.add, is_known.astype(np.float64), parts, 0.0)
        is_idle = (self._laid.high <= 0) & self._laid.has_ticks & ~is_known
        idle = _reduced(np.add, is_idle.astype(np.float64), parts, 0.0)
        weights, begins = [], []
        place = np.arange(self.buckets, dtype=np.float64)
        for number in range(len(self._names)):
            mine = is_known & (best == number)
            weights.append(_reduced(np.add, np.where(mine, share, 0.0), parts, 0.0))
            begins.append(_reduced(np.minimum, np.where(mine, place, math.inf), parts, math.inf))
        weight = np.array(weights)
        most = weight.max(axis=0)
        # Of classes with equal shares the one that came first.
        main = np.where(weight == most, np.array(begins), math.inf).argmin(axis=0)
        main[busy == 0] = _UNKNOWN
        main[(busy == 0) & (idle > 0)] = _IDLE
        return main.tolist(), (most / np.maximum(busy, 1)).tolist()


def _reduced(how: np.ufunc, values: Doubles, parts: Parts, nothing: float) -> Doubles:
    """Each part of (threads, columns) as one value; parts follow one another, or are single columns."""
    out: Doubles = np.full((len(values), len(parts)), nothing)
    filled = [place for place, part in enumerate(parts) if part.stop > part.start]
    if filled:
        starts = [parts[place].start for place in filled]
        out[:, filled] = how.reduceat(values[:, : parts[filled[-1]].stop], starts, axis=1)
    return out


def _optional(values: Doubles, known: npt.NDArray[np.bool_]) -> Values:
    """Values with ``None`` where they are not known."""
    if known.all():
        return tuple(values.tolist())
    return tuple(v if k else None for v, k in zip(values.tolist(), known.tolist(), strict=True))


class LazySeries(Series):
    """A series whose values are made on first look."""

    __slots__ = ("_drawn", "_key", "_made")
    _drawn: Drawn
    _key: Key
    _made: tuple[Values, Values] | None

    def __init__(self, drawn: Drawn, key: Key) -> None:
        # The fields of a frozen class are set through its slots: thousands of these are made for a frame.
        _FIRST.__set__(self, drawn.first_bucket)
        _WIDTH.__set__(self, drawn.bucket_ns)
        _DRAWN.__set__(self, drawn)
        _KEY.__set__(self, key)
        _MADE.__set__(self, None)

    def _values(self) -> tuple[Values, Values]:
        made = self._made
        if made is None:
            made = self._drawn.percents(self._key)
            _MADE.__set__(self, made)
        return made

    @property
    def low(self) -> Values:
        """Lowest value of each bucket."""
        return self._values()[0]

    @property
    def high(self) -> Values:
        """Highest value of each bucket."""
        return self._values()[1]

    @property
    def buckets(self) -> int:
        """How many buckets."""
        return self._drawn.buckets

    @property
    def top(self) -> float:
        """The highest value."""
        return self._drawn.top(self._key)

    def prepared_tops(self, parts: Parts) -> list[float] | None:
        """See ``Series``."""
        return self._drawn.tops(self._key, parts)


class LazyLane(Lane):
    """A lane whose classes are made on first look."""

    __slots__ = ("_drawn", "_key", "_made")
    _drawn: Drawn
    _key: Key
    _made: tuple[Texts, Values] | None

    def __init__(self, drawn: Drawn, key: Key) -> None:
        _LANE_FIRST.__set__(self, drawn.first_bucket)
        _LANE_WIDTH.__set__(self, drawn.bucket_ns)
        _LANE_EXACT.__set__(self, drawn.is_exact)
        _LANE_DRAWN.__set__(self, drawn)
        _LANE_KEY.__set__(self, key)
        _LANE_MADE.__set__(self, None)

    def _values(self) -> tuple[Texts, Values]:
        made = self._made
        if made is None:
            made = self._drawn.classes(self._key)
            _LANE_MADE.__set__(self, made)
        return made

    @property
    def classes(self) -> Texts:
        """Class of each bucket."""
        return self._values()[0]

    @property
    def shares(self) -> Values:
        """Its share of the bucket's CPU time."""
        return self._values()[1]

    @property
    def buckets(self) -> int:
        """How many buckets."""
        return self._drawn.buckets

    def prepared_mains(self, parts: Parts) -> tuple[list[str | None], list[float]] | None:
        """See ``Lane``."""
        return self._drawn.mains(self._key, parts)


_FIRST: Any = Series.__dict__["first_bucket"]
_WIDTH: Any = Series.__dict__["bucket_ns"]
_DRAWN: Any = LazySeries.__dict__["_drawn"]
_KEY: Any = LazySeries.__dict__["_key"]
_MADE: Any = LazySeries.__dict__["_made"]
_LANE_FIRST: Any = Lane.__dict__["first_bucket"]
_LANE_WIDTH: Any = Lane.__dict__["bucket_ns"]
_LANE_EXACT: Any = Lane.__dict__["is_exact"]
_LANE_DRAWN: Any = LazyLane.__dict__["_drawn"]
_LANE_KEY: Any = LazyLane.__dict__["_key"]
_LANE_MADE: Any = LazyLane.__dict__["_made"]
