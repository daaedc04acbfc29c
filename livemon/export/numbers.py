"""Figures as text for people and as values for JSON: unknown stays unknown."""

from __future__ import annotations

import math

UNKNOWN_TEXT = "–"
"""What a table shows where a value could not be measured; never 0."""


def number(value: float | None) -> float | None:
    """A value for JSON: ``None`` where it is unknown or not finite."""
    return value if value is not None and math.isfinite(value) else None


def ms(value: float | None) -> str:
    """Milliseconds with three significant digits or more, without the unit.

    >>> ms(0.1234), ms(50.559), ms(2426.84), ms(None)
    ('0.123', '50.56', '2,426.8', '–')
    """
    return decimals(value, (0.1, 4), (1, 3), (100, 2), (100_000, 1))


def decimals(value: float | None, *steps: tuple[float, int]) -> str:
    """``value`` with the decimals of the first step it is below (in size); none beyond the last."""
    value = number(value)
    if value is None:
        return UNKNOWN_TEXT
    if value == 0:
        return "0"
    places = next((p for limit, p in steps if abs(value) < limit), 0)
    return f"{value:,.{places}f}"


def percent(share: float | None) -> str:
    """A share of 1 as percent."""
    value = number(None if share is None else share * 100)
    return UNKNOWN_TEXT if value is None else f"{value:.1f} %" if value < 9.95 else f"{value:.0f} %"


def ratio(value: float | None) -> str:
    """A factor, such as ``3.2×``."""
    value = number(value)
    return UNKNOWN_TEXT if value is None else f"{value:.2f}×" if abs(value) < 10 else f"{value:.1f}×"


def plain(value: float | None, places: int = 2) -> str:
    """A figure with a fixed number of decimals."""
    value = number(value)
    return UNKNOWN_TEXT if value is None else f"{value:,.{places}f}"


def count(value: int | None) -> str:
    """A whole number with thousands separators."""
    return UNKNOWN_TEXT if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """``1 record``, ``1,204 records``."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration_s(seconds: float | None) -> str:
    """A length of time for people.

    >>> duration_s(0.5), duration_s(75), duration_s(7260), duration_s(None)
    ('0.50 s', '75.0 s', '2 h 1 min', '–')
    """
    seconds = number(seconds)
    if seconds is None:
        return UNKNOWN_TEXT
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 300:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
