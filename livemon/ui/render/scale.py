"""Fixed scales with labels: what the height of a bar means is written beside it and does not drift."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from livemon.ui.render.numbers import significant


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values onto levels; the same scale is shared by a group of charts."""

    kind: Literal["linear", "log"]
    low: float
    high: float
    unit: str

    def level(self, value: float, steps: int) -> int:
        """The level 0..``steps - 1`` of ``value``; values beyond an end have the level of that end."""
        return bisect_right(thresholds(self, steps), value)

    def is_over(self, value: float) -> bool:
        """Whether the value is beyond the top and drawn cut off."""
        return value > self.high

    @property
    def label(self) -> str:
        """For the header: ``0–100 %``, ``0.1–1000 ms log``."""
        suffix = " log" if self.kind == "log" else ""
        return f"{_short(self.low)}–{_short(self.high)} {self.unit}{suffix}".replace(" ×", "×")


@lru_cache(maxsize=256)
def thresholds(scale: Scale, steps: int) -> tuple[float, ...]:
    """The least value of each level but the lowest: a value's level is how many of them it has reached."""
    low, high = scale.low, scale.high
    if scale.kind == "log":
        return tuple(low * (high / low) ** (step / steps) for step in range(1, steps))
    return tuple(low + (high - low) * step / steps for step in range(1, steps))


def _short(value: float) -> str:
    text = significant(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


PERCENT = Scale("linear", 0.0, 100.0, "%")
SHARE = Scale("linear", 0.0, 1.0, "")
RELATIVE = Scale("log", 0.75, 3.0, "×")
"""Durations against their own median: 1.0 is a low step, each step is 1.19×, the top is 3×."""


MOST_RATIO = 200.0
"""Of a logarithmic scale's ends: a level of eight is then less than twice the one below."""


def nice_linear(high: float, unit: str) -> Scale:
    """0 up to the next round number times a power of ten."""
    if high <= 0 or not math.isfinite(high):
        return Scale("linear", 0.0, 1.0, unit)
    power = 10.0 ** math.floor(math.log10(high))
    top = next(step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 20) if step * power >= high * 0.999999) * power
    return Scale("linear", 0.0, top, unit)


def nice_log(low: float, high: float, unit: str) -> Scale:
    """1, 2 or 5 times a power of ten around the values: a decade at least, ``MOST_RATIO`` at most.

    Bars have eight levels: over five decades 3 and 20 ms would look alike. What lies below is at the lowest level.
    """
    steps = (1.0, 2.0, 5.0, 10.0)
    high = max(high, low, 1e-6)
    power = 10.0 ** math.floor(math.log10(high) + 1e-9)
    top = next(step for step in steps if step * power >= high * 0.999999) * power
    low = min(max(low, top / MOST_RATIO), top / 10)
    power = 10.0 ** math.floor(math.log10(low) + 1e-9)
    bottom = max(step * power for step in steps if step * power <= low * 1.000001)
    return Scale("log", bottom, top, unit)
