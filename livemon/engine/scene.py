"""What is known of an episode when its causes are looked for."""

from __future__ import annotations

from dataclasses import dataclass

from livemon.engine.machine_pressure import Rates
from livemon.engine.thread_figures import Witness


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that is known about an episode."""

    witnesses: list[Witness]
    slowdown: float | None
    seconds: tuple[float, float]
    """Length of the episode and of its reference."""
    cpu_stage: tuple[float, float] | None
    """CPU ms per unit as the lines state it: (during, reference) of a typical unit."""
    device_ms: tuple[str, float, float] | None
    """Device stage: (name, during, reference) medians."""
    completion_ms: tuple[str, float, float] | None
    pressure: tuple[Rates | None, Rates | None]
    """Machine rates (during, reference)."""
    tells_placement: bool
    is_estimated: bool
    """Placement comes from the last CPU."""
    has_threads: bool
    is_cold: bool = False
    """No healthy state was known when it began."""
    changes: str = ""
    """Changes of affinity, nice, policy around its start and in it: words that begin with ``; ``, or empty."""
    is_early: bool = False
    """It has just begun: threads that wait for a CPU have not told it yet."""
    stopped: str = ""
    """Which processes were stopped in it and for how long, in words."""
    lost_ms: float | None = None
    """What a slow unit took longer than usual, on average."""
