"""The snapshot: everything one frame of the screen needs, as immutable values.

Live and replayed frames are the same type, made by the same code (``livemon.viewer``), so a widget
never knows which one it shows. Series are on a fixed grid: bucket ``k`` covers
``[k * bucket_ns, (k + 1) * bucket_ns)`` of the session clock, so a scrolled chart changes only in
its newest columns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from livemon.model.facts import Capability, Cpu
from livemon.model.findings import Finding
from livemon.model.judgement import Gap
from livemon.model.severity import SeverityRules

Quality = Literal["measured", "scaled", "estimated", "stale", "unknown"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its quality; ``unknown`` has no value and always a reason."""

    value: float | None
    quality: Quality = "measured"
    reason: str = ""
    """Why it is unknown, scaled, estimated or stale; with the remedy."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values over the grid, oldest first; ``None`` is a gap and is drawn as one."""

    first_bucket: int
    bucket_ns: int
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    """Minimum and maximum inside each bucket: peaks survive zooming out."""

    @property
    def buckets(self) -> int:
        """How many buckets."""
        return len(self.high)

    @property
    def top(self) -> float:
        """The highest value; 0 where there is none."""
        return max((value for value in self.high if value is not None), default=0.0)

    def prepared_tops(self, parts: tuple[slice, ...]) -> list[float] | None:
        """The highest value of each of some buckets (minus infinity for none), if many series are made together."""
        return None


@dataclass(frozen=True, slots=True)
class Lane:
    """Core class of a thread over the grid."""

    first_bucket: int
    bucket_ns: int
    classes: tuple[str | None, ...]
    """The class with most CPU time in the bucket; ``""`` idle, ``None`` not observed."""
    shares: tuple[float | None, ...]
    """That class's share of the bucket's CPU time, 0..1."""
    is_exact: bool
    """From per-class counters; else estimated from the last CPU."""

    @property
    def buckets(self) -> int:
        """How many buckets."""
        return len(self.classes)

    def prepared_mains(self, parts: tuple[slice, ...]) -> tuple[list[str | None], list[float]] | None:
        """The class with most CPU time in each of some buckets and its share, if many lanes are made together."""
        return None


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage of one class in the window."""

    class_key: str | None
    stage: str
    role: str
    n: int
    last_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    share: float | None
    budget_ms: float | None
    state: Literal["ok", "over", "slow", "warming", "silent", "unjudged"]
    """``unjudged``: the recording is still being judged and this moment is not reached yet."""
    series: Series
    """Durations in ms."""
    reference_ms: float | None = None
    """Usual duration in the healthy state; ``None`` while it is not known (sparklines are drawn against it)."""
    reference_high_ms: float | None = None
    """The same of the highest duration in a second: what is usual for a cell that shows the maximum of many units."""


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread in the window."""

    index: int
    pid: int
    tid: int
    name: str
    process: str
    role: str
    """Name without its number (``worker-12`` -> ``worker``): threads of one kind group by it."""
    is_alive: bool
    is_self: bool
    last_cpu: Figure
    core_class: str | None
    """Class it ran on last; ``None`` unknown."""
    class_quality: Quality
    cpu_percent: Figure
    """Of one core, over the newest second."""
    cpu_ms_per_unit: Figure
    ipc: Figure
    cycles_per_ns: Figure
    wait_percent: Figure
    """Run-queue delay / (CPU time + run-queue delay) over the newest second."""
    migrations_per_s: Figure
    efficiency_share: Figure
    lane: Lane
    series: Series
    """CPU percent."""
    affinity: str | None = None
    policy: str | None = None
    delay_percent: Figure = Figure(None, "unknown", "not told")
    """Run-queue delay in the newest second, in percent of it: what ``wait_percent`` of several threads is made from."""


class ThreadRows(Sequence[ThreadRow]):
    """Rows that are made when they are looked at: of thousands of threads a screen shows forty."""

    @property
    @abstractmethod
    def places(self) -> tuple[tuple[int, bool], ...]:
        """(Index, whether it is there and not livemon's own) of each row; the same object while nothing changes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class MarkPoint:
    """A mark on the timeline."""

    t_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The session's span at the current zoom: what the scrubber draws."""

    host_slow_share: Series
    """Share of units that were host-slow per bucket, 0..1."""
    episodes: tuple[Finding, ...]
    marks: tuple[MarkPoint, ...]
    gaps: tuple[Gap, ...]
    judged_ns: int | None = None
    """Up to where the recording is judged; ``None``: all of it."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """One process of the target, in words."""

    pid: int
    name: str
    state: str
    """``running``, ``exited with 3 at 12:04:31``, ``vanished at …``."""


@dataclass(frozen=True, slots=True)
class Status:
    """The status bar."""

    targets: tuple[TargetState, ...]
    is_recording: bool
    recorder_state: str
    """``recording``, ``closed``, ``recorder pid 4711 gone at …``, ``replay``."""
    units_per_s: float | None
    lines: int
    records: int
    malformed: int
    ticks: int
    late_ticks: int
    lost: int
    """How often something was lost; what and how much is in ``lost_reasons``."""
    lost_reasons: tuple[str, ...]
    log_lag_ms: float | None
    session_bytes: int
    self_cpu_percent: float | None
    """Recorder's own CPU, of one core."""
    degraded: str
    notes: tuple[str, ...]
    """Newest first: banners such as a full disk, a stepped clock, a resumed machine."""
    is_counted: bool = True
    """Lines, records, malformed and ticks are of the whole session; else it is not read that far yet."""
    trouble: Literal["", "silent", "gone"] = ""
    """``silent``: the recorder is there but writes nothing; ``gone``: it went without closing the session."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The overview's first line."""

    level: Literal["ok", "warming", "warning", "critical", "unknown"]
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One frame."""

    at_ns: int
    """The moment that is shown, on the session clock."""
    wall_ns: int | None
    start_ns: int
    """First moment of the session."""
    end_ns: int
    """Newest moment of the session; ``end_ns - at_ns`` is how far behind the view is."""
    span_ns: int
    """Width of the charts."""
    verdict: Verdict
    stages: tuple[StageRow, ...]
    threads: Sequence[ThreadRow]
    findings: tuple[Finding, ...]
    """As known at ``at_ns``."""
    timeline: Timeline
    status: Status
    cpus: tuple[Cpu, ...] = ()
    classes: tuple[str, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    period: int | None = None
    interval_ns: int = 100_000_000
    """The sampling interval: one step of the time cursor."""
    severities: SeverityRules = field(default_factory=SeverityRules)
    """From when a finding is critical."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One physical line of a log with what was read from it."""

    t_ns: int | None
    stream: str
    line: int
    text: str
    """The text, or why it can't be shown (``file is gone``) when ``is_text`` is false."""
    is_text: bool
    stages: tuple[tuple[str, float], ...] = ()
    unit: str | None = None
    class_key: str | None = None


@dataclass(frozen=True, slots=True)
class StageDetail:
    """A stage's distribution in the window: histogram, quantile bands over time, what-if."""

    class_key: str | None
    stage: str
    role: str
    edges_ms: tuple[float, ...]
    counts: tuple[int, ...]
    """``len(edges_ms) - 1`` log-spaced bins."""
    p50: Series
    p90: Series
    p99: Series
    n: int
    mean_ms: float | None
    budget_ms: float | None
    saving_ms_per_step: float | None
    """What removing the stage would give per step."""
    saving_to_budget_ms_per_step: float | None


@dataclass(frozen=True, slots=True)
class ThreadDetail:
    """One thread's series in the window and its slow facts."""

    row: ThreadRow
    wait_percent: Series
    cpu_ms_per_unit: Series
    ipc: Series
    cycles_per_ns: Series
    per_class: tuple[tuple[str, Figure, Figure, Figure], ...]
    """(class, CPU share, IPC, cycles per ns) in the window."""
    facts: tuple[tuple[str, str], ...]


class ViewSource(Protocol):
    """What the screens read: a live or finished session, behind one face.

    Methods are called from one worker thread at a time, never from the UI loop when slow.
    """

    is_live: bool
    path: str

    def poll(self) -> bool:
        """Take in what the recorder wrote since the last call; true if there was anything."""
        ...

    def bounds_ns(self) -> tuple[int, int]:
        """First and newest moment."""
        ...

    def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
        """The frame at ``at_ns`` (``None``: the newest), charts of ``columns`` buckets over ``span_ns``."""
        ...

    def log_lines(self, at_ns: int, before: int, after: int, stream: str | None = None) -> tuple[LogLine, ...]:
        """Lines around a moment, oldest first."""
        ...

    def stage_detail(
        self, class_key: str | None, stage: str, at_ns: int | None, span_ns: int, columns: int
    ) -> StageDetail | None:
        """A stage's distribution; ``None`` if it has no record in the window."""
        ...

    def thread_detail(self, index: int, at_ns: int | None, span_ns: int, columns: int) -> ThreadDetail | None:
        """One thread; ``None`` if it was not there."""
        ...

    def all_findings(self) -> tuple[Finding, ...]:
        """Everything known at the end, for the key that shows all."""
        ...

    def moments_ns(self) -> tuple[tuple[int, str], ...]:
        """Marks, and the moments from which findings are shown, in order, with their text: where ``e``/``E`` go."""
        ...

    def add_mark(self, text: str, at_ns: int | None = None) -> None:
        """Write a mark into the session.

        Raises:
            SessionError: the session can't be written.
        """
        ...

    def close(self) -> None:
        """Let go of the session."""
        ...


@runtime_checkable
class HasRevision(Protocol):
    """A ``ViewSource`` may have this too: then what matters is drawn at once, ahead of the frame rate."""

    def revision(self) -> int:
        """A number that changes with every finding raised or ended, target event and loss; cheap."""
        ...


@runtime_checkable
class Judges(Protocol):
    """A ``ViewSource`` may have this too: it judges a recording bit by bit in ``poll`` while it is already shown."""

    @property
    def judging(self) -> float | None:
        """Share of the session that is judged, 0..1; ``None`` once all of it is."""
        ...


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A row of the sessions list."""

    path: str
    name: str
    start_wall_ns: int | None
    duration_s: float
    size_bytes: int
    state: str
    """``recording (pid 4711)``, ``closed``, ``not closed cleanly``, ``damaged``, ``newer format``."""
    targets: str
    findings: int | None = None
    detail: tuple[str, ...] = field(default=())
