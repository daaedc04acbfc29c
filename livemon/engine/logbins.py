"""Durations on a logarithmic grid of whole numbers, so that everything built on them is exact.

Fine bins are 1 % wide, coarse bins six fine ones. Edges are found by comparison with a fixed table,
never by a logarithm of the value, so equal durations fall into equal bins on every machine and
sums over bins do not depend on how a stream was cut.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FLOOR_MS = 0.0005
"""Durations below this are printed as zero by most programs; they share fine bin 0."""
FINE = 0.01
"""Width of a fine bin, in ln."""
PER_COARSE = 6
COARSE_BINS = 357
"""Up to beyond 10 days."""
FINE_BINS = COARSE_BINS * PER_COARSE
_EDGES = FLOOR_MS * np.exp(np.arange(FINE_BINS - 1) * FINE)


def fine_bins(values_ms: Floats) -> Ints:
    """Fine bin of each duration in ms, same shape; 0: below ``FLOOR_MS``."""
    bins: Ints = _EDGES.searchsorted(values_ms, side="right")
    return bins


def fine_of_ratio(ratio: float) -> int:
    """How many fine bins a factor spans."""
    return round(math.log(ratio) / FINE)


def ratio_of(fine: float) -> float:
    """The factor that so many fine bins span."""
    return math.exp(fine * FINE)


def value_of(fine: float) -> float:
    """Duration in ms in the middle of a (fractional) fine bin."""
    return FLOOR_MS * math.exp((fine - 0.5) * FINE)
