"""What the keys of a flat JSON object mean, worked out once for each order of keys."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from livemon.parse import keys
from livemon.parse.json_units import JSON_UNITS

ID_PATHS: Final = ("ai.operation.id",)
_MAX_PLANS: Final = 512
_MAX_KEYS: Final = 64


class JsonPlan(NamedTuple):
    """The keys by what they are for; a name in lower case with the key it is taken from."""

    suffixes: tuple[tuple[str, str] | None, ...]
    """Of each key: its stem and unit."""
    ids: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]
    numbers: tuple[tuple[str, str], ...]
    """``pid`` and ``tid``."""
    times: tuple[str, ...]


_plans: dict[tuple[str, ...], JsonPlan | None] = {}


def plan_of(value: dict[str, Any]) -> JsonPlan | None:
    """The plan of an object's keys; ``None`` if they need a look at the whole object, or are too many to remember."""
    names = tuple(value)
    plan = _plans.get(names)
    if plan is None and names not in _plans and len(_plans) < _MAX_PLANS and len(names) <= _MAX_KEYS:
        plan = _plans[names] = _plan(names)
    return plan


def _plan(names: tuple[str, ...]) -> JsonPlan | None:
    if any(all(marker in names for marker in row.markers) for row in JSON_UNITS):
        return None
    if any(name.endswith(ID_PATHS) for name in names):
        return None
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.rpartition(".")[2].lower(), name)
    return JsonPlan(
        tuple(keys.unit_suffix(name) for name in names),
        tuple((k, first[k]) for k in keys.ID_KEYS[:-1] if k in first),
        tuple(first[k] for k in keys.LABEL_KEYS[:-1] if k in first),
        tuple((k, first[k]) for k in ("pid", "tid") if k in first),
        tuple(first[k] for k in keys.TIME_KEYS if k in first),
    )
