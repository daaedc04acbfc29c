"""The criteria: every threshold with its unit and default, as immutable values.

``Criteria()`` is the default set. Reading TOML, checking it with line numbers, writing it out and
its sha256 live beside the values, so that a threshold exists in exactly one place.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Roles:
    """Stage names by role, over the built-in lexicon."""

    device: tuple[str, ...] = ()
    finalize: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    wait: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    cpu: tuple[str, ...] = ()
    """CPU time of the unit, not a stage of its wall time."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """The cycle of interleaved kernels."""

    period: int | bool | None = None
    """A number of runs; ``None`` detects it; ``False``: there is none."""
    max_period: int = 16


@dataclass(frozen=True, slots=True)
class Classes:
    """How a record gets its class."""

    keys: tuple[str, ...] = ()
    """Fields of the line that make up the class, joined with ``/``; empty: the line's label."""
    cycle: Cycle = field(default_factory=Cycle)


@dataclass(frozen=True, slots=True)
class Finalize:
    """When a finalize stage is oversized."""

    budget_ms: float | None = 5.0
    """``None``: rule off."""
    device_ratio: float | None = 1.5
    """Of the class's median device stage; ``None``: rule off."""
    open_of: tuple[int, int] = (4, 5)
    """Open when so many of the last so many runs are over; close when as many are under."""
    min_device_ms: float = 1.0
    level_change: float = 1.5


@dataclass(frozen=True, slots=True)
class Criteria:
    """All of it."""

    roles: Roles = field(default_factory=Roles)
    classes: Classes = field(default_factory=Classes)
    finalize: Finalize = field(default_factory=Finalize)
