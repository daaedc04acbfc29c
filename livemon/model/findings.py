"""The findings: what the engine concluded, with the figures it concluded it from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["warning", "critical"]
Verdict = Literal["applies", "ruled_out", "unknown"]
CauseName = str
"""One of ``CAUSES``."""

CAUSES: tuple[str, ...] = (
    "placement",
    "cycle_rate",
    "ipc",
    "off_cpu",
    "throttled",
    "steal",
    "softirq",
    "migrations",
    "page_faults",
    "blocked",
    "more_work",
    "device",
    "completion_path",
)
"""Every hypothesis an episode is tested against, in the order in which they are tested."""

CAUSE_WORDS: dict[CauseName, str] = {
    "placement": "placement",
    "cycle_rate": "low cycle rate",
    "ipc": "low IPC",
    "off_cpu": "off the CPU",
    "throttled": "cgroup throttling",
    "steal": "stolen by the hypervisor",
    "softirq": "interrupts on its CPU",
    "migrations": "migrations",
    "page_faults": "page faults",
    "blocked": "blocked (lock, I/O, GIL)",
    "more_work": "more work per unit",
    "device": "slower device",
    "completion_path": "late completion",
}
"""The hypotheses for people, in a word or three."""


MIDDLE_STAGE = "median over the slow units; of a unit its middle host stage, of two their geometric mean"
"""How a slowdown is taken, as a rule."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One hypothesis about an episode, with its two figures."""

    cause: CauseName
    verdict: Verdict
    evidence: str
    """One line with the figures and units, or the reason why it can't be told."""
    during: float | None = None
    reference: float | None = None
    threads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """CPU per unit of one thread, multiplied out: instructions / (IPC x cycle rate)."""

    thread: str
    cpu_ms_during: float | None
    cpu_ms_reference: float | None
    factors: tuple[tuple[str, float | None], ...]
    """(``instructions``, ratio), (``ipc``, ratio), (``cycle_rate``, ratio): each as a multiplier on CPU time."""
    explained: float | None
    """Product of the factors."""
    residual: float | None
    """Observed ratio / explained; 1.0 closes exactly."""


@dataclass(frozen=True, slots=True)
class ThreadEvidence:
    """One thread during the episode and in its reference interval."""

    thread: str
    core_class: str | None
    cpu_ms_per_unit: tuple[float | None, float | None]
    """(during, reference), like all pairs here."""
    efficiency_share: tuple[float | None, float | None]
    cycles_per_ns: tuple[float | None, float | None]
    ipc: tuple[float | None, float | None]
    run_delay_share: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Bucket:
    """One time bucket of a transition, aligned at t0."""

    start_s: float
    """From t0; negative before it."""
    end_s: float
    units: int
    p50_ms: float | None = None
    p99_ms: float | None = None
    host_slow_share: float | None = None
    cpu_ms_per_unit: float | None = None
    efficiency_share: float | None = None
    cycles_per_ns: float | None = None
    ipc: float | None = None


@dataclass(frozen=True, slots=True)
class OversizedFinalize:
    """Host work after the device is done that breaks its budget or dwarfs the device stage."""

    id: str
    """Stable in one session: ``F1``, ``F2``, …"""
    severity: Severity
    class_key: str | None
    """The line's label, ``i/p`` for a position in a detected cycle, ``None`` if neither."""
    stage: str
    p50_ms: float
    budget_ms: float | None
    device_stage: str | None
    device_p50_ms: float | None
    ratio_to_device: float | None
    """Median to median."""
    share_of_total: float | None
    """Of the step's wall time (else of the sum of totals, see ``share_denominator``)."""
    share_denominator: str
    saving_ms_per_step: float | None
    """What removing the stage altogether would give, per step (one cycle, else one unit), on average."""
    saving_to_budget_ms_per_step: float | None
    units: int
    start_ns: int
    end_ns: int | None
    """``None`` while ongoing."""
    detected_ns: int
    rules: tuple[str, ...] = ()
    """``budget``, ``ratio``: which rules it breaks."""
    evidence: str = ""
    device_middle_ms: float | None = None
    """Interquartile mean of a device stage of more than one mode, whose median says little; else ``None``."""
    kind: Literal["oversized_finalize"] = "oversized_finalize"

    @property
    def judged_ratio(self) -> float | None:
        """The ratio to the device stage for people: by its middle where its median jumps from mode to mode."""
        return self.p50_ms / self.device_middle_ms if self.device_middle_ms else self.ratio_to_device


@dataclass(frozen=True, slots=True)
class HostSlowTransient:
    """An episode in which the host side was slow."""

    id: str
    """Stable in one session: ``T1``, ``T2``, …"""
    severity: Severity
    start_ns: int
    end_ns: int | None
    """``None`` while ongoing."""
    detected_ns: int
    slowdown: float | None
    """Ratio of host stage durations against the healthy state: ``slowdown_is`` says which."""
    peak_p99_ms: float | None
    """The highest P99 of units submitted in one second, of the first five seconds."""
    primary_cause: CauseName | None
    causes: tuple[Cause, ...] = ()
    ledger: tuple[LedgerRow, ...] = ()
    threads: tuple[ThreadEvidence, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    cost_ms: float | None = None
    """Time lost in the episode: whole units minus their healthy median, summed; 0 where they took no longer in all."""
    units: int = 0
    slow_units: int = 0
    longest_ms: float | None = None
    """Wall time of its longest slow unit."""
    host_ms: tuple[float, float] | None = None
    """Host time of a slow unit and of such a unit usually: all host stages, summed, on average."""
    not_recovered_by_5_s: bool = False
    detected_by: str = ""
    """Which evidence raised it, in words."""
    after_it: str = ""
    """What came after it, in words: the level before, another one (a level shift), or why that can't be told."""
    level_after: float | None = None
    """Host stages after it against those before it, as a ratio; ``None`` while not told."""
    transient_bins_s: float | None = None
    """Its length by the rule of 0.5 s bins (``Transition.transient_s``), counted from its start, for comparison."""
    does_not_show: tuple[str, ...] = ()
    """What the evidence does not show."""
    slowdown_is: str = MIDDLE_STAGE
    """How ``slowdown`` was taken, in words."""
    stopped_s: float = 0.0
    """How long a process of the target was stopped in it (by a signal or a debugger)."""
    kind: Literal["host_slow_transient"] = "host_slow_transient"

    @property
    def primary_words(self) -> str | None:
        """The primary cause for people; time off the CPU is told as waiting or blocked where that is known."""
        if self.primary_cause is None:
            return None
        if self.primary_cause == "off_cpu" and self.stopped_s > 0:
            return f"stopped for {self.stopped_s:.1f} s"
        if self.primary_cause == "off_cpu":
            blocked = next((cause.verdict for cause in self.causes if cause.cause == "blocked"), "unknown")
            if blocked != "unknown":
                return CAUSE_WORDS["blocked"] if blocked == "applies" else "waiting for a CPU"
        return CAUSE_WORDS.get(self.primary_cause, self.primary_cause)


Finding = OversizedFinalize | HostSlowTransient


@dataclass(frozen=True, slots=True)
class Blip:
    """A slow stretch below the threshold of an episode."""

    start_ns: int
    end_ns: int
    """End of its last slow unit."""
    slow_units: int
    slowest: float | None
    """Its slowest unit against the usual: the middle of its host stages' ratios; ``None``: one stage alone was slow."""
    evidence: float
    """How near it came to what opens an episode: 1.0 is enough, if there are enough units and time as well."""


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One step in the life of a finding; the log of these gives the state at any moment."""

    at_ns: int
    """Arrival time of the sample that caused it."""
    change: Literal["raised", "updated", "ended", "withdrawn"]
    finding: Finding


@dataclass(frozen=True, slots=True)
class Transition:
    """A mark with its aligned buckets."""

    t0_ns: int
    text: str
    buckets: tuple[Bucket, ...]
    transient_s: float | None
    """By the rule of bins of 0.5 s, for comparison with published tables."""
    reading: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingLog:
    """Findings by id as they were known at a time."""

    changes: tuple[FindingChange, ...] = field(default=())

    def known_at(self, at_ns: int | None) -> tuple[Finding, ...]:
        """The findings as known at ``at_ns`` (``None``: at the end), in order of detection."""
        state: dict[str, Finding] = {}
        for change in self.changes:
            if at_ns is not None and change.at_ns > at_ns:
                break
            if change.change == "withdrawn":
                state.pop(change.finding.id, None)
            else:
                state[change.finding.id] = change.finding
        return tuple(state.values())
