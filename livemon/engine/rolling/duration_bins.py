"""Histograms of durations in fixed bins of 7 %, from 1 µs to 40 minutes; packed when they are rarely touched.

A quantile read from them is off by at most half a bin (3.5 %).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

BINS = 320
_FIRST_MS, _STEP = 1e-3, math.log(1.07)
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EDGES_MS: Doubles = _FIRST_MS * np.exp(np.arange(BINS + 1) * _STEP)
"""(BINS + 1,) edges in ms; what lies outside is counted in the first or last bin."""


def bin_of(values_ms: Doubles) -> Ints:
    """Bin of each value; ``BINS`` where it is NaN."""
    logs = np.log(np.maximum(np.nan_to_num(values_ms, nan=_FIRST_MS), _FIRST_MS) / _FIRST_MS) / _STEP
    bins: Ints = np.minimum(logs.astype(np.int64), BINS - 1)
    bins[np.isnan(values_ms)] = BINS
    return bins


def counts_of(values_ms: Doubles) -> Doubles:
    """(BINS,) counts of values without NaN."""
    counts: Doubles = np.bincount(bin_of(values_ms), minlength=BINS + 1)[:BINS].astype(np.float64)
    return counts


def binned_quantile(counts: Doubles | None, q: float) -> float | None:
    """Quantile in ms of (BINS,) counts; ``None`` if there are none."""
    n = 0.0 if counts is None else float(counts.sum())
    if counts is None or not n:
        return None
    k = min(int(np.searchsorted(np.cumsum(counts), q * (n - 1), side="right")), BINS - 1)
    return float(np.sqrt(EDGES_MS[k] * EDGES_MS[k + 1]))


class DurationBins:
    """Counts of several stages, (stages, BINS)."""

    __slots__ = ("_dense", "_packed", "_stages")

    def __init__(self, stages: int) -> None:
        self._stages = stages
        self._dense: npt.NDArray[np.uint32] | None = np.zeros((stages, BINS), np.uint32)
        self._packed: tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32]] | None = None

    def add(self, bins: Ints) -> None:
        """Count units; ``bins`` is (stages, units) from ``bin_of``."""
        if self._dense is None:
            self._dense = self._unpack()
            self._packed = None
        for row in range(self._stages):
            self._dense[row] += np.bincount(bins[row], minlength=BINS + 1)[:BINS].astype(np.uint32)

    def pack(self) -> None:
        """Take less room: a minute of a steady stage has a few dozen bins in use."""
        if self._dense is not None:
            flat = self._dense.ravel()
            used = np.flatnonzero(flat)
            if self._stages * BINS <= 1 << 16:
                self._packed = used.astype(np.uint16), flat[used]
                self._dense = None

    def _unpack(self) -> npt.NDArray[np.uint32]:
        out = np.zeros(self._stages * BINS, np.uint32)
        if self._packed is not None:
            out[self._packed[0]] = self._packed[1]
        return out.reshape(self._stages, BINS)

    def counts(self) -> Doubles:
        """(stages, BINS) counts."""
        return (self._unpack() if self._dense is None else self._dense).astype(np.float64)
