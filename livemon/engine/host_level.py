"""How slow units are against the healthy state of their kind, as a level that can be compared with another one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from livemon.engine.host_evidence import Block, Flags
from livemon.engine.logbins import Ints

_LEAST_UNITS = 12
_SURE = 4.0
"""A shift is this many times its standard error at least."""

Levels = dict[int, "Level"]
"""By kind."""


@dataclass(frozen=True, slots=True)
class Level:
    """Log ratios of some units to the healthy state of their kind, in fine bins."""

    units: int
    quartiles: tuple[float, float, float]

    @property
    def variance(self) -> float:
        """Of the median."""
        return (1.25 * (self.quartiles[2] - self.quartiles[0] + 1) / 1.35) ** 2 / self.units

    def off(self, before: Level, tolerance: int) -> float:
        """By how much it lies off another level; 0 within the tolerance, or where the quartiles disagree."""
        moved = [mine - other for mine, other in zip(self.quartiles, before.quartiles, strict=True)]
        sign = math.copysign(1, moved[1])
        is_off = abs(moved[1]) >= tolerance and min(m * sign for m in moved) >= tolerance / 2
        return moved[1] if is_off else 0.0

    def noise(self, other: Level) -> float:
        """How far two medians may lie apart by chance."""
        return _SURE * math.sqrt(self.variance + other.variance)


def levels(
    blocks: Iterable[tuple[Block, Flags]], *, since_ns: int | None = None, until_ns: int | None = None
) -> Levels:
    """Levels of the kinds with enough units submitted in a time; with each block, which of its rows count."""
    found: dict[int, list[Ints]] = {}
    for block, may in blocks:
        chosen = may & block.ready
        if since_ns is not None:
            chosen &= block.start >= since_ns
        if until_ns is not None:
            chosen &= block.start < until_ns
        if chosen.any():
            kinds, ratios = block.kind_of_row[chosen], block.ratio[chosen]
            for k in np.unique(kinds).tolist():
                found.setdefault(k, []).append(ratios[kinds == k])
    out = {}
    for k, parts in found.items():
        ordered = np.sort(np.concatenate(parts))
        n = len(ordered)
        if n >= _LEAST_UNITS:
            low, middle, high = (float(ordered[n // 4]), float(ordered[n // 2]), float(ordered[(3 * n) // 4]))
            out[k] = Level(n, (low, middle, high))
    return out
