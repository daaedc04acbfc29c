"""Which events count cycles and instructions on which core class of this machine.

On a machine with one core PMU the kernel's generic events do. On a hybrid machine a generic event
belongs to one of the PMUs and reads 0 on the other's cores, so there each PMU gets its own group, by
the PMU's type and in its own encoding from ``events/`` and ``format/`` in sysfs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from livemon.collect.perf_layer import HW_CYCLES, HW_INSTRUCTIONS, PERF_TYPE_HARDWARE
from livemon.collect.procfs import read_text
from livemon.collect.topology import CorePmu, core_pmus
from livemon.model.facts import Topology

_CYCLES = ("cpu-cycles", "cpu_cycles", "cycles")
_INSTRUCTIONS = ("instructions", "inst_retired", "instructions_retired")
_KNOWN = (("armv", (0x11, 0x08)), ("cpu_", (0x3C, 0xC0)))
"""Encodings by PMU name where sysfs lists no events: Arm's and Intel's architectural ones."""


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
    is_exclusive: bool = True
    """No other class is counted with it (LP-E with E apart), so that its running time is the class's CPU time."""


def class_events(topology: Topology, root: str = "/") -> tuple[ClassEvents, ...]:
    """The groups to open on each thread; empty where the topology lists no CPU."""
    pmus = [pmu for pmu in core_pmus(root) if pmu.cpus]
    if len(pmus) < 2:
        classes = topology.classes
        if not classes:
            return ()
        name = pmus[0].name if pmus else "generic events"
        joined = classes[0] if len(classes) == 1 else "+".join(classes)
        return (ClassEvents(joined, name, PERF_TYPE_HARDWARE, HW_CYCLES, HW_INSTRUCTIONS, classes, len(classes) == 1),)
    groups = []
    for pmu in pmus:
        present = {cpu.core_class for cpu in topology.cpus if cpu.cpu in pmu.cpus}
        covers = tuple(name for name in topology.classes if name in present)
        if not covers:
            continue  # none of its cores is in the target's cpuset
        # Several efficiency classes count as the fastest of them.
        is_exclusive = len(covers) == 1 or set(covers) <= set(topology.efficiency_classes)
        core_class = covers[0] if is_exclusive else "+".join(covers)
        groups.append(ClassEvents(core_class, pmu.name, *encodings(pmu), covers, is_exclusive))
    order = {name: rank for rank, name in enumerate(topology.classes)}
    return tuple(sorted(groups, key=lambda group: order.get(group.core_class, len(order))))


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
