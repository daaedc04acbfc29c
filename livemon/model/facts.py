"""What a session says of itself once, at its start: who, where, with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU of the topology."""

    cpu: int
    core_class: str
    """``P``, ``E``, ``LP-E``, ``M``, … by rank of speed; ``unknown`` where the machine does not say."""
    node: int | None = None
    llc: int | None = None
    core: int | None = None
    """Physical core; CPUs that share it are SMT siblings."""
    capacity: int | None = None
    max_khz: int | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """The CPUs the target may run on, and how their classes were told apart."""

    cpus: tuple[Cpu, ...] = ()
    classes: tuple[str, ...] = ()
    """Class names, fastest first; one entry on a uniform machine."""
    class_source: str = "unknown"
    """Where the classes come from, in words (``cpu_capacity``, ``cpu_core/cpu_atom PMU``, …)."""
    efficiency_classes: tuple[str, ...] = ()
    """The classes that count as efficiency cores."""
    online: int = 0
    """CPUs online on the host, which may be more than ``cpus`` (cpuset)."""
    others: tuple[Cpu, ...] = ()
    """The host's CPUs outside the cpuset: it may change, and threads may have run there before."""

    def class_of(self, cpu: int) -> str:
        """Core class of a CPU number; ``unknown`` for one that is not listed."""
        for entry in (*self.cpus, *self.others):
            if entry.cpu == cpu:
                return entry.core_class
        return "unknown"


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that can or can't be observed here, and what to do about it."""

    name: str
    available: bool
    reason: str
    """Why not (or how, when available)."""
    remedy: str = ""
    """The exact command or change that would make it available; empty if none."""


@dataclass(frozen=True, slots=True)
class Target:
    """A process that is watched."""

    pid: int
    name: str
    command: str = ""
    """Command line, with arguments that look like secrets redacted."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Written at the start of a recording; never filled in from the machine that reads it."""

    origin: Literal["live", "import", "demo"] = "live"
    host: str = ""
    livemon_version: str = ""
    interval_ns: int = 100_000_000
    clock: Literal["monotonic", "unix", "order"] = "monotonic"
    """What the session clock is: the machine's or log's monotonic clock; unix time in ns; or
    ``order``: a log without stamps, laid end to end from its own durations (an estimate)."""
    targets: tuple[Target, ...] = ()
    topology: Topology = field(default_factory=Topology)
    capabilities: tuple[Capability, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    """Kernel, CPU model, governor, cgroup limits, … as text."""
    criteria_toml: str = ""
    """The criteria file in force, whole; empty means the defaults."""
    criteria_sha256: str = ""
