"""Confidence intervals for shifts of quantiles, by a block bootstrap: seeded, bounded in time and memory.

Neighbouring units are alike (an episode slows hundreds in a row), so single values are not drawn
but stretches of consecutive ones: up to ``BLOCKS`` a side. Values are reduced to counts over at most
``BINS`` levels of the pooled data, finer towards the tail, so a draw is a weighted sum of blocks and
a million units cost no more than a thousand. Below ``BINS`` different values the levels are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 600
BLOCKS = 100
BINS = 512
_SEED = 20_250_527

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def shifts(before: Values, after: Values, quantiles: tuple[float, ...], *, draws: int = DRAWS) -> tuple[Interval, ...]:
    """Shift (after minus before) of each quantile, with its interval.

    Args:
        before: Durations in order of time, (n,) float64, n >= 1.
        after: The same for the other session.
        quantiles: Which ones, 0..1.
        draws: Bootstrap draws.
    """
    levels = _levels(np.concatenate([before, after]))
    random = np.random.default_rng(_SEED)
    drawn_before = _drawn(before, levels, quantiles, draws, random)
    drawn_after = _drawn(after, levels, quantiles, draws, random)
    point = np.quantile(after, quantiles) - np.quantile(before, quantiles)
    low, high = np.quantile(drawn_after - drawn_before, (0.025, 0.975), axis=0)
    return tuple(
        Interval(float(p), float(min(a, p)), float(max(b, p))) for p, a, b in zip(point, low, high, strict=True)
    )


def _levels(pooled: Values) -> Values:
    exact = np.unique(pooled)
    if len(exact) <= BINS:
        return exact
    body = np.linspace(0.0, 0.97, BINS // 2, endpoint=False)
    tail = np.linspace(0.97, 1.0, BINS - BINS // 2)
    return np.unique(np.quantile(pooled, np.concatenate([body, tail])))


def _drawn(
    values: Values, levels: Values, quantiles: tuple[float, ...], draws: int, random: np.random.Generator
) -> Values:
    """Quantiles of resampled values, (draws, len(quantiles))."""
    blocks = min(BLOCKS, len(values))
    bins = np.clip(np.searchsorted(levels, values), 0, len(levels) - 1)
    block = np.arange(len(values)) * blocks // len(values)
    counts = np.zeros((blocks, len(levels)))
    np.add.at(counts, (block, bins), 1.0)
    weights = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=draws).astype(np.float64)
    below = np.cumsum(weights @ counts, axis=1)
    total = below[:, -1:]
    out = np.empty((draws, len(quantiles)))
    for column, quantile in enumerate(quantiles):
        # The first level that at least the wanted part of the draw lies at or below.
        reached = below >= np.maximum(quantile * total, 1e-9)
        out[:, column] = levels[np.argmax(reached, axis=1)]
    return out
