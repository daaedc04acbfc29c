"""Whether log durations repeat: the fit of a period, the search for one, signs that there is none, lost lines."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.engine.quantiles import median, quantile

GOOD_FIT = 0.75
NEAR_BEST = 0.05
FAINT_FIT = 0.25
_FEW_CYCLES = 6
_MUCH_LESS = 1.5
NARROW = 0.45
"""Spread (log) below which runs are taken as one class."""
ODD, LOSS, MORE_LOST = 3.0, 2.0, 0.25
"""What an odd value, a lost line and each further line lost with it cost on a path, in distances that are
still the same level."""


def fit(xs: Sequence[float], positions: Sequence[int], period: int) -> float:
    """How much of the spread the phases explain: 1 all of it, 0 nothing; see the theory above."""
    middle = median(xs)
    spread = sum([abs(x - middle) for x in xs])
    if spread == 0:
        return 0.0
    return 1.0 - residual(xs, positions, period) * len(xs) / spread


def residual(xs: Sequence[float], positions: Sequence[int], period: int) -> float:
    """Mean distance of the values from the median of their phase."""
    phases: dict[int, list[float]] = {}
    for x, position in zip(xs, positions, strict=True):
        phases.setdefault(position % period, []).append(x)
    left = 0.0
    for values in phases.values():
        middle = median(values)
        left += sum([abs(x - middle) for x in values])
    return left / len(xs)


def discover(xs: Sequence[float], positions: Sequence[int], max_period: int, *, is_strict: bool = False) -> int | None:
    """The period of log durations at run positions (index or order); ``None`` if there is no cycle in them.

    Args:
        xs: Log durations.
        positions: Run indexes, or the order of the lines.
        max_period: The longest period looked for.
        is_strict: Allow for the medians being taken from the same few values: for searches that try
            many stretches.

    >>> import math
    >>> steps = [math.log(v) for v in (17, 86, 52)] * 3
    >>> discover(steps, range(9), 16)
    3
    """
    raw: dict[int, float] = {}
    strict: dict[int, float] = {}
    for period in range(2, max_period + 1):
        if len(xs) >= max(3 * period, 9) and len({position % period for position in positions}) == period:
            raw[period] = fit(xs, positions, period)
            strict[period] = 1.0 - (1.0 - raw[period]) * len(xs) / (len(xs) - period)
    if max((strict if is_strict else raw).values(), default=0.0) <= GOOD_FIT:
        return None
    # More phases of fewer values each fit better by chance alone: a multiple of the cycle always fits best. So the
    # periods are compared by what is left after allowing for that; a part of the best one, while that has few
    # cycles, with a wider margin, unless the best one leaves much less unexplained.
    best = max(strict, key=lambda period: (strict[period], -period))
    left = 1.0 - strict[best]
    for period, value in strict.items():
        is_part = best % period == 0 and len(xs) < _FEW_CYCLES * best and 1.0 - value <= _MUCH_LESS * left
        if value >= strict[best] - (2 if is_part else 1) * NEAR_BEST:
            return period
    return None


def has_no_cycle(xs: Sequence[float], positions: Sequence[int], max_period: int, least_pairs: int) -> bool:
    """Whether no lag up to ``max_period`` brings the values near to themselves.

    A cycle of any period p has small |x[i] - x[i + p]|, long before three cycles are there to fit it.
    Unknown (false) until every lag has ``least_pairs`` pairs.
    """
    middle = median(xs)
    spread = sum([abs(x - middle) for x in xs]) / len(xs)
    at = dict(zip(positions, xs, strict=True))
    for lag in range(max_period, 0, -1):
        apart = sorted([abs(x - at[k + lag]) for k, x in at.items() if k + lag in at])
        if len(apart) < least_pairs:
            return False
        kept = apart[: len(apart) - len(apart) // 6]  # a spike spoils two pairs of each lag
        if sum(kept) < 0.5 * spread * len(kept):
            return False
    return True


def still_shows(xs: Sequence[float], positions: Sequence[int], period: int) -> bool:
    """Whether a known cycle shows through values that something else has made noisy (an overloaded host)."""
    freedom = len(xs) - period
    return period > 1 and freedom > 0 and (1.0 - fit(xs, positions, period)) * len(xs) / freedom <= 1.0 - FAINT_FIT


def is_narrow(xs: Sequence[float]) -> bool:
    """Whether values are one class: no spread worth telling apart (from 12 values on, outliers are left out)."""
    ordered = sorted(xs)
    if len(ordered) < 12:
        return len(ordered) >= 6 and ordered[-1] - ordered[0] < NARROW
    return quantile(ordered, 0.9) - quantile(ordered, 0.1) < NARROW


def cheapest_slips(costs: Sequence[Sequence[float]]) -> list[int]:
    """By how many phases each run has slipped, along the cheapest path that starts unslipped.

    Args:
        costs: For each run, in order, its distance from the level of every slip (at most ``ODD``).

    >>> cheapest_slips([(0, 3, 3), (3, 0, 3), (3, 0, 3)])
    [0, 1, 1]
    >>> cheapest_slips([(0, 3, 3), (3, 0, 3), (0, 3, 3)])
    [0, 0, 0]
    """
    period = len(costs[0])
    paths: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for run in costs:
        step: dict[int, tuple[float, tuple[int, ...]]] = {}
        for slip in range(period):
            cost, path = min(
                (cost + (LOSS + MORE_LOST * ((slip - before - 1) % period) if slip != before else 0.0), path)
                for before, (cost, path) in paths.items()
            )
            step[slip] = cost + run[slip], (*path, slip)
        paths = step
    return list(min(paths.values())[1])
