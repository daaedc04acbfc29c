"""The criteria: every threshold with its unit and default, as immutable values.

``Criteria()`` is the default set. A key exists in exactly one place: the field here, whose metadata
says its unit and meaning; ``livemon.model.criteria_toml`` reads, checks and writes TOML from these
fields alone, so the file that ``livemon criteria --init`` writes can't go stale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def _key(default: Any, text: str, unit: str = "", low: float | None = None, high: float | None = None) -> Any:
    """A threshold: default, meaning, unit, and the closed range that makes sense."""
    return field(default=default, metadata={"text": text, "unit": unit, "low": low, "high": high})


@dataclass(frozen=True, slots=True)
class Roles:
    """Stage names by role, over the built-in lexicon."""

    device: tuple[str, ...] = _key((), "stages in which the device works")
    finalize: tuple[str, ...] = _key((), "host work after the device is done")
    host: tuple[str, ...] = _key((), "host work")
    wait: tuple[str, ...] = _key((), "waiting in a queue or for a lock")
    total: tuple[str, ...] = _key((), "the whole unit")
    cpu: tuple[str, ...] = _key((), "CPU time of the unit, not a stage of its wall time")


@dataclass(frozen=True, slots=True)
class Cycle:
    """The cycle of interleaved kernels."""

    period: int | bool | None = _key(None, "runs in a cycle; omit to detect; false: there is none", "runs", 1, 10_000)
    max_period: int = _key(16, "longest cycle that is looked for", "runs", 2, 64)


@dataclass(frozen=True, slots=True)
class Classes:
    """How a record gets its class."""

    keys: tuple[str, ...] = _key((), "fields of the line that make up the class, joined with /; none: the line's label")
    cycle: Cycle = field(default_factory=Cycle)


@dataclass(frozen=True, slots=True)
class Finalize:
    """When a finalize stage is oversized."""

    budget_ms: float | None = _key(5.0, "median over this is oversized; false: rule off", "ms", 0)
    device_ratio: float | None = _key(
        1.5, "median over this many times the class's median device stage is oversized; false: rule off", "ratio", 0
    )
    open_of: tuple[int, int] = _key(
        (4, 5), "opens when so many of the last so many runs are over, closes when as many are under", "runs", 1, 1000
    )
    min_device_ms: float = _key(1.0, "floor of the finalize time for the ratio rule", "ms", 0)
    level_change: float = _key(1.5, "a change of the median by this factor starts a new finding", "ratio", 1)


@dataclass(frozen=True, slots=True)
class HostSlow:
    """When the host side is slow, and when it no longer is."""

    warmup_units: int = _key(40, "units of a class before its baseline counts", "units", 4, 100_000)
    warmup_s: float = _key(1.0, "time before a baseline counts", "s", 0, 3600)
    low_rate_per_s: float = _key(5.0, "below this rate the shorter warm-up applies", "units/s", 0)
    low_rate_warmup_units: int = _key(12, "warm-up at low rates", "units", 4, 100_000)
    half_life_s: float = _key(60.0, "memory of the healthy baseline, in active time", "s", 1, 86_400)
    threshold: float = _key(16.0, "evidence (log likelihood ratio) that opens an episode", "nats", 1, 1000)
    min_units: int = _key(4, "slow units before an episode opens", "units", 1, 1000)
    min_units_with_counters: int = _key(2, "the same when thread counters agree", "units", 1, 1000)
    min_run_s: float = _key(0.15, "shortest slow stretch that opens an episode", "s", 0, 60)
    partial_threshold: float = _key(24.0, "evidence when only a part of the units is slow", "nats", 1, 1000)
    partial_min_units: int = _key(8, "slow units when only a part is slow", "units", 1, 1000)
    partial_min_run_s: float = _key(0.4, "shortest stretch when only a part is slow", "s", 0, 60)
    partial_min_share: float = _key(0.2, "share of slow units when only a part is slow", "share", 0, 1)
    stage_threshold: float = _key(28.0, "evidence when one stage alone is slow", "nats", 1, 1000)
    stage_min_units: int = _key(12, "slow units when one stage alone is slow", "units", 1, 1000)
    stage_min_run_s: float = _key(0.3, "shortest stretch when one stage alone is slow", "s", 0, 60)
    min_slowdown: float = _key(1.3, "median slowdown of the stretch below which nothing opens", "ratio", 1, 100)
    long_unit_s: float = _key(
        0.5, "one unit whose host stages last longer than usual by this opens an episode", "s", 0.01, 3600
    )
    long_unit_ratio: float = _key(4.0, "and this many times as long", "ratio", 1, 1000)
    end_evidence: float = _key(12.0, "reverse evidence that ends an episode", "nats", 1, 1000)
    end_quiet_s: float = _key(0.3, "time without a slow unit before an episode ends", "s", 0, 60)
    gap_s: float = _key(1.0, "an episode ends with the load when units stop for longer", "s", 0.01, 3600)
    level_shift_s: float = _key(120.0, "a state that lasts longer becomes the new normal", "s", 1, 86_400)
    recheck_s: float = _key(
        3.0, "units after an episode are compared with the level before it over so long", "s", 1, 60
    )
    recheck_units: int = _key(24, "and over so many units at least", "units", 12, 100_000)
    recheck_ratio: float = _key(1.1, "a level that changed by this factor, up or down, starts anew", "ratio", 1, 100)
    recover_by_s: float = _key(5.0, "later recovery is marked as not recovered", "s", 0, 3600)
    absolute_stage: str = _key("", "stage of the rule for units without a learned healthy state; empty: no such rule")
    absolute_ms: float | None = _key(None, "above this such a unit is slow (strictly); false: no such rule", "ms", 0)
    critical_slowdown: float = _key(4.0, "slowdown from which an episode is critical", "ratio", 1, 1000)


@dataclass(frozen=True, slots=True)
class Causes:
    """When a cause applies to an episode."""

    efficiency_classes: tuple[str, ...] = _key(
        (), "core classes that count as efficiency cores; none: by topology, name"
    )
    efficiency_share_points: float = _key(0.25, "placement: rise of the efficiency share", "share", 0, 1)
    cycle_rate_ratio: float = _key(0.8, "cycle rate on fast cores at or below this ratio", "ratio", 0, 1)
    ipc_ratio: float = _key(0.8, "IPC at or below this ratio", "ratio", 0, 1)
    cpu_ratio: float = _key(2.0, "CPU per unit that counts as a rise", "ratio", 1, 1000)
    off_cpu_ratio: float = _key(
        1.4, "slow with CPU per unit at or below this ratio is time off the CPU", "ratio", 1, 1000
    )
    more_work_ratio: float = _key(1.4, "instructions per unit at or above this ratio", "ratio", 1, 1000)
    run_delay_points: float = _key(0.15, "rise of run-queue delay's share of runnable time", "share", 0, 1)
    device_ratio: float = _key(1.10, "device stage above this ratio", "ratio", 1, 1000)
    device_plus_ms: float = _key(0.3, "and by more than this", "ms", 0)
    completion_ratio: float = _key(3.0, "completion stage above this ratio", "ratio", 1, 1000)
    completion_plus_ms: float = _key(0.2, "and by more than this", "ms", 0)
    thread_busy_ms: float = _key(0.25, "CPU time in a tick below which a thread has no vote", "ms", 0)
    quick_recovery_s: float = _key(5.0, "transients of at most this length recovered quickly", "s", 0, 3600)


@dataclass(frozen=True, slots=True)
class Transitions:
    """The study of a mark: aligned buckets after t0."""

    bin_s: float = _key(0.5, "bins of the recovery rule", "s", 0.01, 60)
    bin_share: float = _key(0.1, "share of host-slow units from which a bin is slow", "share", 0, 1)
    horizon_s: float = _key(20.0, "window after the mark", "s", 1, 3600)
    slow_stage: str = _key("prepare", "stage whose duration makes a unit host-slow")
    slow_ms: float | None = _key(
        0.3, "above this (strictly); false, or above it when healthy: against the learned baseline", "ms", 0
    )
    only_class: str = _key("", "class of the units that count; empty: all")
    control: str = _key("", "text of the marks that are the control group; empty: none")
    control_max_transient_s: float = _key(1.0, "a control group above this draws no reading", "s", 0, 3600)


@dataclass(frozen=True, slots=True)
class Criteria:
    """All of it."""

    roles: Roles = field(default_factory=Roles)
    classes: Classes = field(default_factory=Classes)
    finalize: Finalize = field(default_factory=Finalize)
    host_slow: HostSlow = field(default_factory=HostSlow)
    causes: Causes = field(default_factory=Causes)
    transitions: Transitions = field(default_factory=Transitions)


def load_criteria(text: str, *, name: str = "criteria") -> Criteria:
    """Read criteria from TOML text; what it leaves out keeps its default.

    Args:
        text: TOML, as in the file that ``livemon criteria --init`` writes.
        name: What to call the file in an error.

    Raises:
        UsageError: not TOML, an unknown key, a wrong type or range; says the line.
    """
    if not text:
        # Most sessions are judged by the defaults, and their first figures wait for this.
        return Criteria()
    from livemon.model.criteria_toml import read

    return read(text, name=name)


def criteria_sha256(text: str) -> str:
    """Sha256 of a criteria file's text (UTF-8), the one ``sha256sum FILE`` prints; of the defaults if empty."""
    from livemon.model.criteria_toml import sha256

    return sha256(text)
