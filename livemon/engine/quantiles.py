"""Quantiles of a stream in bounded memory: exact while small, then a fixed log histogram.

Up to ``EXACT`` values are kept as they are. Beyond that they go into bins of 1 % width, so a
quantile is off by at most half a bin (0.5 %); count, sum, minimum and maximum stay exact.
Values are durations in ms; everything below ``FLOOR_MS`` shares the first bin.

>>> q = Quantiles()
>>> q.add([3.0, 1.0, 2.0])
>>> q.n, q.total, q.get(0.5), q.get(1.0)
(3, 6.0, 2.0, 3.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

EXACT = 2048
"""Values kept before the histogram takes over."""
FLOOR_MS = 1e-6
_STEP = math.log(1.01)
_BINS = 3_200
"""1e-6 ms to beyond 2 years at 1 % a bin."""


class Quantiles:
    """Count, sum, extremes and quantiles of the values seen so far."""

    __slots__ = ("_bins", "_values", "maximum", "minimum", "n", "total")
    _values: list[float]
    """All values while ``_bins`` is ``None``, else those that are not in it yet."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.minimum = math.inf
        self.maximum = -math.inf
        self._values = []
        self._bins: npt.NDArray[np.int64] | None = None

    def add(self, values: Sequence[float]) -> None:
        """Take further values, finite and >= 0."""
        if not values:
            return
        self.n += len(values)
        # One by one from the left, so that the sum does not depend on how the stream was cut.
        total = self.total
        for value in values:
            total += value
        self.total = total
        self.minimum = min(self.minimum, min(values))
        self.maximum = max(self.maximum, max(values))
        self._values.extend(values)
        if len(self._values) > EXACT:
            self._spill()

    def add_one(self, value: float) -> None:
        """Take one further value."""
        self.n += 1
        self.total += value
        if value < self.minimum:
            self.minimum = value
        if value > self.maximum:
            self.maximum = value
        self._values.append(value)
        if len(self._values) > EXACT:
            self._spill()

    def copy(self) -> Quantiles:
        """An independent copy."""
        other = Quantiles()
        other.n, other.total, other.minimum, other.maximum = self.n, self.total, self.minimum, self.maximum
        other._values = list(self._values)
        other._bins = None if self._bins is None else self._bins.copy()
        return other

    def _spill(self) -> None:
        if self._bins is None:
            self._bins = np.zeros(_BINS, np.int64)
        logs = np.log(np.maximum(np.asarray(self._values, np.float64), FLOOR_MS) / FLOOR_MS)
        self._bins += np.bincount(np.minimum((logs / _STEP).astype(np.int64), _BINS - 1), minlength=_BINS)
        self._values.clear()

    @property
    def mean(self) -> float | None:
        """Arithmetic mean; ``None`` without values."""
        return self.total / self.n if self.n else None

    def get(self, q: float) -> float | None:
        """The quantile ``q`` in 0..1 (linear between order statistics); ``None`` without values."""
        if not self.n:
            return None
        if self._bins is None:
            return quantile(sorted(self._values), q)
        if self._values:
            self._spill()
        rank = q * (self.n - 1)
        k = int(np.searchsorted(np.cumsum(self._bins), rank, side="right"))
        return min(max(FLOOR_MS * math.exp((k + 0.5) * _STEP), self.minimum), self.maximum)


def quantile(ordered: Sequence[float], q: float) -> float:
    """Quantile of an ordered, non-empty sequence, linear between order statistics."""
    position = q * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def median(values: Sequence[float]) -> float:
    """Median of a non-empty sequence."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def midmean(values: Sequence[float]) -> float:
    """Mean of the middle half of a non-empty sequence: where a distribution lies.

    With one mode it is the median within noise. With two modes of like weight, as a device stage
    has them, the median jumps from one mode to the other; this stays between them.

    >>> midmean([19.0, 34.0, 19.0, 34.0, 400.0])
    29.0
    """
    ordered = sorted(values)
    cut = len(ordered) // 4
    kept = ordered[cut : len(ordered) - cut]
    return sum(kept) / len(kept)
