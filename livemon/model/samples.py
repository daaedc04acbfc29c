"""The samples: everything that was observed, as immutable values in arrival order.

A session is an ordered stream of these. They hold what was read, never what was concluded, so a
recording can be judged again with other criteria or a better engine.

Two rules hold for every field:

- All ``*_ns`` times are on the **session clock**: ``CLOCK_MONOTONIC`` of the recording machine in a
  live session, the log's own clock in an imported one. ``ClockAnchor`` ties it to wall time.
- What could not be read is ``None``, or ``UNKNOWN`` (-1) inside integer columns. Never 0.

Columns are ``array('q')`` (signed 64 bit) so that the recorder needs no numpy and the engine can
view them without a copy through ``numpy.frombuffer``.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

UNKNOWN = -1
"""What stands in an integer column for a value that could not be read."""

_CORE_CLASS = re.compile(r"cpu(\d{1,5})_core_class", re.ASCII)

StageValues = tuple[tuple[str, float], ...]
"""Stage name and duration in ms, in the order of the line; values are finite and >= 0."""


@dataclass(frozen=True, slots=True)
class TimingRecord:
    """One unit of work (run, request, step, span) as one timing line told it.

    A line printed at the end of a unit covers the interval before it: ``t_ns`` is the unit's end
    unless ``start_ns`` is known exactly.
    """

    arrival_ns: int
    """When livemon read the line; records are judged in this order."""
    t_ns: int
    """The line's own time, else ``arrival_ns`` (see ``time_from``)."""
    time_from: Literal["line", "arrival", "order"]
    """``line``: the line carries it; ``arrival``: when it was read; ``order``: reconstructed
    from the durations of the lines before it (a file without stamps), which is an estimate."""
    source: str
    """Marker or format name, such as ``c_api_timing``."""
    unit: str | None
    """Run, request, step or invocation id, as text."""
    label: str | None
    """Kernel, callable or route, when the line says so."""
    stages: StageValues
    fields: tuple[tuple[str, str], ...] = ()
    """The line's other ``key=value`` pairs, as text (class keys are looked up here)."""
    pid: int | None = None
    tid: int | None = None
    start_ns: int | None = None
    """Exact start where the line gives it (spans)."""
    stream: int = 0
    """Index of the ``LogStream`` the line came from."""
    offset: int = UNKNOWN
    """Byte offset of the physical line in its stream; ``UNKNOWN`` for pipes that are not kept."""
    length: int = 0
    """Bytes of the physical line, terminator included."""
    line: int = 0
    """1-based number of the physical line in its stream."""


@dataclass(frozen=True, slots=True)
class LogStream:
    """A log, pipe or metrics endpoint that timing lines are read from."""

    arrival_ns: int
    index: int
    path: str
    """Where its text can be read again; empty when it can't (a pipe that is not kept)."""
    kind: Literal["file", "pipe", "child", "metrics"] = "file"
    format: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread as it was found; ``index`` names it in every ``ThreadTick`` of the session.

    Identity is (pid, tid, start time): a recycled tid is another index.
    """

    arrival_ns: int
    index: int
    pid: int
    tid: int
    name: str
    start_ticks: int = UNKNOWN
    """``starttime`` of /proc/PID/stat (clock ticks since boot); ``UNKNOWN`` if not to be had."""
    process: str = ""
    """Name of the process it belongs to."""
    affinity: str | None = None
    """CPU list it may run on, such as ``0-7,16``."""
    policy: str | None = None
    """Scheduling policy, such as ``SCHED_OTHER``."""
    nice: int | None = None
    cgroup: str | None = None
    is_self: bool = False
    """One of livemon's own threads."""


@dataclass(frozen=True, slots=True)
class ThreadGone:
    """The thread ended (or can no longer be read, see ``reason``)."""

    arrival_ns: int
    index: int
    reason: str = "exited"


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Cumulative counters of the threads of one tick on one core class (all ``array('q')``).

    Arrays have one entry for each entry of ``ThreadTick.index``; ``UNKNOWN`` where not measured.
    ``enabled_ns``/``running_ns`` are the counter's own times; running < enabled means that counts
    are of the active share only (scaled figures must be marked).
    """

    core_class: str
    cpu_ns: array[int]
    cycles: array[int]
    instructions: array[int]
    enabled_ns: array[int] | None = None
    running_ns: array[int] | None = None


@dataclass(frozen=True, slots=True)
class ThreadTick:
    """Cumulative readings of the threads that changed since the tick before (SoA, ``array('q')``).

    A thread that is not listed has not changed. ``is_keyframe``: every live thread is listed.
    """

    arrival_ns: int
    index: array[int]
    """``ThreadInfo.index`` of each entry."""
    cpu_ns: array[int]
    """On-CPU time (user + system)."""
    run_delay_ns: array[int]
    """Time spent runnable but waiting for a CPU."""
    slices: array[int]
    """Time slices run = switch-ins (voluntary + involuntary)."""
    last_cpu: array[int]
    """CPU it last ran on: a point sample, so placement from it is an estimate."""
    classes: tuple[ClassColumns, ...] = ()
    """Exact per-core-class counters, where the machine gives them; else empty."""
    is_keyframe: bool = False
    late_ns: int = 0
    """How late this tick was against the schedule."""


@dataclass(frozen=True, slots=True)
class MachineSample:
    """Machine and cgroup pressure, about once a second; cumulative counters as the kernel has them.

    ``values`` maps a name with its unit (``psi_cpu_some_us``, ``steal_ticks``, ``cpu3_softirq_ticks``,
    ``cpu3_freq_khz``, ``cgroup_throttled_us``, ``cgroup_nr_throttled``, ``thermal_throttle_count``,
    ``target_majflt``) to its value. A name that is missing was not readable. ``cpu3_core_class`` is there for
    a CPU that came online after the start: the place of its core class in ``Topology.classes``.
    """

    arrival_ns: int
    values: tuple[tuple[str, int], ...]

    @property
    def core_classes(self) -> dict[int, int]:
        """Of CPUs that came online after the start: CPU number -> place of its core class in ``Topology.classes``."""
        return {
            int(match[1]): place
            for name, place in self.values
            if name.endswith("_core_class") and place >= 0 and (match := _CORE_CLASS.fullmatch(name))
        }


@dataclass(frozen=True, slots=True)
class SelfSample:
    """livemon's recorder about itself, about once a second."""

    arrival_ns: int
    cpu_ns: int
    """Cumulative CPU time of the recorder."""
    rss_bytes: int
    ticks: int
    """Cumulative ticks done."""
    late_ticks: int
    """Cumulative ticks that came over 50 % of an interval late."""
    interval_ns: int
    """The sampling interval now in force."""
    session_bytes: int
    degraded: str = ""
    """What was switched down to stay within the CPU budget, in words; empty if nothing."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A named moment: transitions are aligned at marks."""

    arrival_ns: int
    t_ns: int
    text: str
    origin: Literal["log", "key", "command", "signal"] = "command"


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that was not observed, and why."""

    arrival_ns: int
    source: str
    """``log``, ``threads``, ``session`` or ``machine``, optionally ``:detail``."""
    count: int
    """How many lines, ticks, bytes or threads (``unit`` says which)."""
    unit: str
    reason: str
    start_ns: int | None = None
    end_ns: int | None = None
    """Set when the loss is a gap in time."""


@dataclass(frozen=True, slots=True)
class LogCount:
    """What a stream's parser did since the last such sample: nothing is silently ignored."""

    arrival_ns: int
    stream: int
    lines: int
    records: int
    malformed: int
    lag_ns: int | None = None
    """Arrival minus the line's own time, where lines carry one: how late the log is."""


@dataclass(frozen=True, slots=True)
class TargetEvent:
    """A process of the target came or went, was stopped or went on."""

    arrival_ns: int
    pid: int
    name: str
    event: Literal["found", "forked", "exited", "vanished", "exec", "stopped", "continued"]
    exit_status: int | None = None
    """Exit status where livemon is the parent; -N for signal N; else ``None``."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ClockAnchor:
    """The session clock and the wall clock read together."""

    arrival_ns: int
    mono_ns: int
    wall_ns: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something the person should know: a capability lost, a hotplug, a cpuset change."""

    arrival_ns: int
    severity: Literal["info", "warning", "error"]
    text: str
    remedy: str = ""


Sample = (
    TimingRecord
    | LogStream
    | ThreadInfo
    | ThreadGone
    | ThreadTick
    | MachineSample
    | SelfSample
    | Mark
    | Lost
    | LogCount
    | TargetEvent
    | ClockAnchor
    | Note
)
"""Everything has ``arrival_ns``; a stream of samples is ordered by it."""

Samples = Sequence[Sample]
