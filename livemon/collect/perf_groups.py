"""Which events count cycles and instructions on which core class of this machine.

On a machine with one core PMU the kernel's generic events do. On a hybrid machine a generic event
belongs to one of the PMUs and reads 0 on the other's cores, so there each PMU gets its own group, by
the PMU's type and in its own encoding from ``events/`` and ``format/`` in sysfs.

Some classes share a PMU: dense cores with the others of an AMD, low-power E cores with the E cores.
Then the class of most CPUs is what the PMU counted in all, less what was counted on each CPU of the
other classes: an event may be bound to a thread and a CPU, and costs nothing on the other CPUs.
Where these are too many the classes are joined (``P+E``) and not counted: a rate over both says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from livemon.collect.perf_layer import HW_CYCLES, HW_INSTRUCTIONS, PERF_TYPE_HARDWARE
from livemon.collect.procfs import read_text
from livemon.collect.topology import CorePmu, core_pmus
from livemon.model.facts import Cpu, Topology

_CYCLES = ("cpu-cycles", "cpu_cycles", "cycles")
_INSTRUCTIONS = ("instructions", "inst_retired", "instructions_retired")
_KNOWN = (("armv", (0x11, 0x08)), ("cpu_", (0x3C, 0xC0)))
"""Encodings by PMU name where sysfs lists no events: Arm's and Intel's architectural ones."""
MOST_CPUS_APART = 8
"""CPUs that are counted one by one to tell classes of one PMU apart; each is a group on every thread."""


class Counted(NamedTuple):
    """Which of the two a class's groups count."""

    cycles: bool
    instructions: bool


@dataclass(frozen=True, slots=True)
class ClassEvents:
    """The group that counts one core class."""

    core_class: str
    """The class; classes that one PMU can't tell apart are joined (``P+E``)."""
    pmu: str
    kind: int
    cycles: int
    instructions: int
    covers: tuple[str, ...]
    """All classes whose cores it counts."""
    cpus: tuple[int, ...] = ()
    """Where its PMU has other classes too: the CPUs on which it is counted, by a group on each."""
    is_rest: bool = False
    """Its group counts on all CPUs of the PMU: what the PMU's other classes counted is to be taken off."""

    @property
    def is_exclusive(self) -> bool:
        """No other class is counted with it (but LP-E with E), so that its running time is the class's CPU time."""
        return "+" not in self.core_class

    @property
    def places(self) -> tuple[int, ...]:
        """A group is opened for each of these: a CPU, or -1 for all."""
        return self.cpus or (-1,)


def class_events(topology: Topology, root: str = "/") -> tuple[ClassEvents, ...]:
    """The groups to open on each thread; empty where the topology lists no CPU."""
    pmus = [pmu for pmu in core_pmus(root) if pmu.cpus]
    if len(pmus) < 2:
        name = pmus[0].name if pmus else "generic events"
        return _of_pmu(name, (PERF_TYPE_HARDWARE, HW_CYCLES, HW_INSTRUCTIONS), topology, topology.cpus)
    groups: list[ClassEvents] = []
    for pmu in pmus:
        # Without any, none of its cores is in the target's cpuset.
        groups += _of_pmu(pmu.name, encodings(pmu), topology, [cpu for cpu in topology.cpus if cpu.cpu in pmu.cpus])
    order = {name: rank for rank, name in enumerate(topology.classes)}
    return tuple(sorted(groups, key=lambda group: order.get(group.core_class, len(order))))


def _of_pmu(name: str, codes: tuple[int, int, int], topology: Topology, cpus: Sequence[Cpu]) -> tuple[ClassEvents, ...]:
    """The groups of one PMU: one for each of its classes if these can be told apart."""
    by_class = {kind: tuple(cpu.cpu for cpu in cpus if cpu.core_class == kind) for kind in topology.classes}
    by_class = {kind: numbers for kind, numbers in by_class.items() if numbers}
    if not by_class:
        return ()
    classes = tuple(by_class)
    if len(classes) == 1:
        return (ClassEvents(classes[0], name, *codes, classes),)
    largest = max(by_class, key=lambda kind: len(by_class[kind]))
    if sum(len(numbers) for kind, numbers in by_class.items() if kind != largest) <= MOST_CPUS_APART:
        return tuple(
            ClassEvents(kind, name, *codes, (kind,), () if kind == largest else numbers, is_rest=kind == largest)
            for kind, numbers in by_class.items()
        )
    # Several efficiency classes count as the fastest of them.
    joined = classes[0] if set(classes) <= set(topology.efficiency_classes) else "+".join(classes)
    return (ClassEvents(joined, name, *codes, classes),)


def encodings(pmu: CorePmu) -> tuple[int, int, int]:
    """Event type and the codes for cycles and instructions on this PMU."""
    known = next((codes for prefix, codes in _KNOWN if pmu.name.startswith(prefix)), None)
    cycles = _listed(pmu.path, _CYCLES)
    instructions = _listed(pmu.path, _INSTRUCTIONS)
    if cycles is not None and instructions is not None:
        return pmu.type, cycles, instructions
    if known is not None:
        return pmu.type, *known
    # Generic events tied to this PMU by its type in their upper half.
    return PERF_TYPE_HARDWARE, pmu.type << 32 | HW_CYCLES, pmu.type << 32 | HW_INSTRUCTIONS


def _listed(path: str, names: Sequence[str]) -> int | None:
    for name in names:
        text = read_text(f"{path}/events/{name}")
        if text:
            config = encode(text, path)
            if config is not None:
                return config
    return None


def encode(event: str, path: str) -> int | None:
    """``event=0xc0,umask=0x1`` as a config, by the PMU's ``format`` files; ``None`` if it needs more than one.

    Args:
        event: Terms as sysfs lists them.
        path: The PMU's folder in sysfs.
    """
    config = 0
    for term in event.split(","):
        name, _, text = term.strip().partition("=")
        layout = read_text(f"{path}/format/{name}") if Path(f"{path}/format/{name}").exists() else None
        try:
            value = int(text, 0) if text else 1
        except ValueError:
            return None
        if layout is None:
            layout = "config:0-63" if name == "event" else None
        if layout is None or not layout.startswith("config:"):
            return None
        for part in layout.removeprefix("config:").split(","):
            low, _, high = part.partition("-")
            width = int(high or low) - int(low) + 1
            config |= (value & ((1 << width) - 1)) << int(low)
            value >>= width
        if value:
            return None
    return config
