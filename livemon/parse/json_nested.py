"""A unit in the path of a JSON number: ``{"prefill": {"ms": 12.3}}``, ``{"timings_ms": {"prefill": 12.3}}``.

A unit over or under a number is as explicit as one in its key. What it belongs to must be able to be a
measured duration: counts by country (``{"users": {"us": 12, "de": 3}}``) and settings are none.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

from livemon.parse import keys, units

_SETTINGS: Final = frozenset(
    ("config", "configuration", "settings", "setting", "options", "policy", "limits", "defaults", "args", "params",
     "parameters", "flags")
)  # fmt: skip
_CODES: Final = frozenset(("s", "us", "ns"))
"""Units that are other things too, among keys of the same look: countries, shards."""
_SECONDS: Final = frozenset(("secs", "seconds"))
_NANOS: Final = frozenset(("nanos", "nanoseconds"))


def unit_over(path: str, key: str, inherited: str | None) -> str | None:
    """The unit of the numbers under a key: its own (``timings_ms``, ``ms``), or what stands over it.

    Args:
        path: Where the key stands, with a dot at its end; empty at the top.
        key: The key of an object.
        inherited: What stands over it.
    """
    suffix = keys.unit_suffix(key)
    if suffix is not None:
        unit: str | None = suffix[1]
    elif key in keys.UNIT_WORDS and key not in _CODES:
        return keys.UNIT_WORDS[key]
    else:
        unit = inherited
    if unit is None or not keys.is_measured(key) or _is_setting(key) or any(map(_is_setting, path.split("."))):
        return None
    stem = suffix[0] if suffix else key
    return unit if keys.is_measured(stem.removesuffix("s")) else None


def has_unit_over(key: str, item: object, unit: str | None) -> bool:
    """Whether a number takes the unit that stands over it."""
    return (
        unit is not None
        and type(item) in (int, float)
        and keys.may_be_bare(key)
        and keys.is_measured(key)
        and not keys.is_statistic(key)
    )


def duration_under(path: str, key: str, item: dict[str, Any]) -> float | None:
    """Ms of an object whose key is a unit (``{"ms": 12.3}``), or whose keys are seconds and nanoseconds of one value.

    Args:
        path: Where the object stands, with a dot at its end; empty at the top.
        key: Its key.
        item: The object.

    Returns:
        ``None`` if it is none, or if two units give two values.

    Raises:
        MalformedError: a negative or infinite number, or longer than a day.
    """
    found = [(k, v) for k, v in item.items() if k in keys.UNIT_WORDS and type(v) in (int, float) and v != -1]
    if not found or not keys.may_be_bare(key) or not keys.is_measured(f"{key}_ms") or not keys.is_measured(key):
        return None
    if any(map(_is_setting, path.split("."))):
        return None
    if found[0][0] in _CODES and any(
        len(k) <= 2 and k not in keys.UNIT_WORDS and type(v) in (int, float) for k, v in item.items()
    ):
        return None
    values = []
    for name, value in found:
        if not 0 <= value < math.inf:
            raise units.MalformedError(f"{value} is no duration")
        values.append(units.scaled(float(value) if value < 1e30 else 1e30, keys.UNIT_WORDS[name]))
    if len(values) == 1:
        return values[0]
    names = [name for name, _ in found]
    if len(names) == 2 and not _SECONDS.isdisjoint(names) and not _NANOS.isdisjoint(names):
        return math.fsum(values)
    return values[0] if all(math.isclose(value, values[0], rel_tol=1e-3) for value in values) else None


@lru_cache(maxsize=4096)
def shown_path(path: str) -> str:
    """A path without the units in it: ``timings_ms.`` -> ``timings.``, ``ms.`` -> nothing."""
    parts = []
    for part in path.split("."):
        suffix = keys.unit_suffix(part)
        if part not in keys.UNIT_WORDS:
            parts.append(suffix[0] if suffix else part)
    return ".".join(parts)


def _is_setting(key: str) -> bool:
    return not _SETTINGS.isdisjoint(keys.words(key))
