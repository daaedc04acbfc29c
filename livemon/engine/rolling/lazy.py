"""Series and lanes that are made when they are looked at: of thousands of threads a screen shows forty.

They are the snapshot's own types: immutable, equal when their values are. What they are made from is
never changed afterwards, so it does not matter which thread looks first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livemon.model.snapshot import Lane, Series

Values = tuple[float | None, ...]
Texts = tuple[str | None, ...]


_FIRST: Any = Series.__dict__["first_bucket"]
_WIDTH: Any = Series.__dict__["bucket_ns"]
_LANE_FIRST: Any = Lane.__dict__["first_bucket"]
_LANE_WIDTH: Any = Lane.__dict__["bucket_ns"]
_LANE_EXACT: Any = Lane.__dict__["is_exact"]
# The fields of a frozen class are set through its slots: thousands of these are made for a frame.


class LazySeries(Series):
    """A series whose values are made on first look.

    Args:
        first_bucket: As in ``Series``.
        bucket_ns: As in ``Series``.
        make: Gives (low, high) for ``key``.
        key: Handed to ``make``.
    """

    __slots__ = ("_key", "_made", "_make")
    _key: Any
    _made: tuple[Values, Values] | None
    _make: Callable[[Any], tuple[Values, Values]]

    def __init__(
        self, first_bucket: int, bucket_ns: int, make: Callable[[Any], tuple[Values, Values]], key: Any
    ) -> None:
        _FIRST.__set__(self, first_bucket)
        _WIDTH.__set__(self, bucket_ns)
        _MAKE.__set__(self, make)
        _KEY.__set__(self, key)
        _MADE.__set__(self, None)

    def _values(self) -> tuple[Values, Values]:
        made = self._made
        if made is None:
            made = self._make(self._key)
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


_MAKE: Any = LazySeries.__dict__["_make"]
_KEY: Any = LazySeries.__dict__["_key"]
_MADE: Any = LazySeries.__dict__["_made"]


class LazyLane(Lane):
    """A lane whose classes are made on first look.

    Args:
        first_bucket: As in ``Lane``.
        bucket_ns: As in ``Lane``.
        make: Gives (classes, shares) for ``key``.
        key: Handed to ``make``.
        is_exact: As in ``Lane``.
    """

    __slots__ = ("_key", "_made", "_make")
    _key: Any
    _made: tuple[Texts, Values] | None
    _make: Callable[[Any], tuple[Texts, Values]]

    def __init__(
        self,
        first_bucket: int,
        bucket_ns: int,
        make: Callable[[Any], tuple[Texts, Values]],
        key: Any,
        *,
        is_exact: bool,
    ) -> None:
        _LANE_FIRST.__set__(self, first_bucket)
        _LANE_WIDTH.__set__(self, bucket_ns)
        _LANE_EXACT.__set__(self, is_exact)
        _LANE_MAKE.__set__(self, make)
        _LANE_KEY.__set__(self, key)
        _LANE_MADE.__set__(self, None)

    def _values(self) -> tuple[Texts, Values]:
        made = self._made
        if made is None:
            made = self._make(self._key)
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


_LANE_MAKE: Any = LazyLane.__dict__["_make"]
_LANE_KEY: Any = LazyLane.__dict__["_key"]
_LANE_MADE: Any = LazyLane.__dict__["_made"]
