"""A judged session: what the reports, comparisons and exports are made from."""

from __future__ import annotations

from dataclasses import dataclass

from livemon.model.facts import SessionFacts
from livemon.model.findings import Blip, Finding, Transition


@dataclass(frozen=True, slots=True)
class StageStats:
    """One stage of one class over the whole session (all records count, warm-up too)."""

    class_key: str | None
    stage: str
    """``unaccounted`` is total minus the sum of its parts."""
    role: str
    """``device``, ``finalize``, ``host``, ``wait``, ``total``, ``cpu`` or ``unaccounted``."""
    n: int
    total_ms: float
    mean_ms: float
    min_ms: float
    max_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    share: float | None
    """Of the class's total time; ``None`` where lines give no total and parts may overlap."""
    warmup_n: int = 0
    """Records of ``n`` that count as warm-up: in totals, not in baselines and ratios."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The cycle of interleaved kernels, if there is one."""

    period: int | None
    n: int
    mean_ms: float | None


@dataclass(frozen=True, slots=True)
class ThreadStats:
    """One thread over the whole session."""

    pid: int
    tid: int
    name: str
    cpu_ms: float | None
    efficiency_share: float | None
    efficiency_share_from: str
    """``counters`` (exact), ``last_cpu`` (estimate), or the reason why it is unknown."""
    ipc: float | None
    cycles_per_ns: tuple[tuple[str, float | None], ...]
    """By core class; relative, not a clock frequency."""
    run_delay_ms: float | None
    migrations: int | None
    """CPU changes seen between samples (a lower bound); ``None`` if not measured."""
    lifetime_ns: int | None = None
    """From when it was found to its end; ``None`` for one that was still there."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of time in which something was not observed."""

    start_ns: int
    end_ns: int
    what: str
    """``log``, ``threads``, ``machine`` or ``session``."""
    reason: str


@dataclass(frozen=True, slots=True)
class LossCount:
    """What was lost in all, by source and reason."""

    source: str
    count: int
    unit: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Everything a report says, as values."""

    facts: SessionFacts
    path: str
    start_ns: int | None
    """First sample's time on the session clock; ``None`` for an empty session."""
    end_ns: int | None
    anchors: tuple[tuple[int, int], ...]
    """(session ns, unix ns) pairs, for ``WallMapping``."""
    criteria_sha256: str
    criteria_toml: str
    records: int
    lines: int
    malformed: int
    stages: tuple[StageStats, ...]
    steps: Steps
    threads: tuple[ThreadStats, ...]
    findings: tuple[Finding, ...]
    transitions: tuple[Transition, ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    gaps: tuple[Gap, ...] = ()
    losses: tuple[LossCount, ...] = ()
    notes: tuple[str, ...] = ()
    """What the reader must know: damage found on opening, what was not measured, guards."""
    blips: int = 0
    """Slow stretches below the threshold of an episode."""
    newest_blips: tuple[Blip, ...] = ()
    """The newest of them, in order of time."""
    whole_ns: tuple[int, int] | None = None
    """First and last moment of the session where only a stretch of it is told; else ``None``."""
    asked_ns: tuple[int, int] | None = None
    """The stretch that was asked for: ``start_ns`` and ``end_ns`` are those of the samples in it."""
