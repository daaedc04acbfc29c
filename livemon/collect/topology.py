"""The CPUs of this machine, their core classes, and how these were told apart.

Sources, best first: the core PMUs (``cpu_core``, ``cpu_atom``, one per Arm cluster), ``cpu_capacity``,
the maximum frequency, AMD's preferred-core ranking. A source counts when it tells at least two kinds
apart; when all that are readable say "alike", the machine is uniform; when none is readable, the class
is ``unknown``. Classes are named by rank of speed, never by guesses about a model.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from livemon.collect.cgroups import cgroup_folders
from livemon.collect.procfs import read_int, read_text
from livemon.model.errors import TargetError
from livemon.model.facts import Cpu, Topology
from livemon.parse.procfs import parse_cpu_list

UNKNOWN_CLASS = "unknown"
_ALIKE_CAPACITY = 0.92
"""Two CPUs are of one class if the slower one has at least this share of the other's ``cpu_capacity``:
cores of one kind differ by up to 7 %, kinds differ by 13 % and more."""
_ALIKE_SPEED = 0.85
"""The same of frequencies and rankings: favoured cores, and those under a stacked cache, differ by up to
11 % from others of their kind; dense and efficiency cores by 17 % and more."""


@dataclass(frozen=True, slots=True)
class CorePmu:
    """A PMU device that counts the core events of some CPUs."""

    name: str
    type: int
    cpus: tuple[int, ...]
    path: str


def core_pmus(root: str = "/") -> tuple[CorePmu, ...]:
    """The core PMUs, those of most CPUs first; a device is one if it lists ``cpus`` or is called ``cpu``."""
    found = []
    online = online_cpus(root)
    for device in sorted(_under(root, "sys/bus/event_source/devices").glob("*")):
        kind = read_int(f"{device}/type")
        listed = read_text(f"{device}/cpus")
        if kind is None or (listed is None and device.name != "cpu"):
            continue
        try:
            cpus = parse_cpu_list(listed) if listed is not None else online
        except ValueError:
            continue
        found.append(CorePmu(device.name, kind, cpus, str(device)))
    return tuple(found)


def online_cpus(root: str = "/") -> tuple[int, ...]:
    """CPUs that are online on the host; empty if that can't be read."""
    return _cpu_list(_under(root, "sys/devices/system/cpu/online"))


def cpuset_cpus(root: str = "/", pid: int | str = "self") -> tuple[int, ...]:
    """CPUs that the process's cpuset leaves it; empty if there is no such limit to be read.

    A group without files of its own has what the nearest one above it has.
    """
    for folder in cgroup_folders(root, pid, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            cpus = _cpu_list(Path(folder, name))
            if cpus:
                return cpus
    return ()


def read_topology(root: str = "/", pid: int | str = "self") -> Topology:
    """The CPUs that a process may run on, with their classes.

    Args:
        root: Where ``/proc`` and ``/sys`` are looked for.
        pid: Whose cpuset counts; livemon's own by default, which in a container is the target's too.
    """
    if root == "/" and not sys.platform.startswith("linux"):
        return _elsewhere()
    online = online_cpus(root)
    allowed = cpuset_cpus(root, pid)
    everything = tuple(_read_cpu(root, cpu) for cpu in online)
    # Classes are told from the whole host, so that a cpuset of E cores only is not called uniform.
    classed, names, source, efficient = _classify(everything, core_pmus(root), _rankings(root, online))
    cpus = tuple(cpu for cpu in classed if not allowed or cpu.cpu in allowed)
    present = {cpu.core_class for cpu in cpus}
    if len(names) == 1 and " hypervisor" in (read_text(str(_under(root, "proc/cpuinfo"))) or ""):
        source += ", as this VM sees it: the host may run its CPUs on cores of any class"
    if len(cpus) < len(classed):
        source += f"; cpuset of {len(cpus)} of the host's {len(online)} CPUs"
    return Topology(
        cpus=cpus,
        classes=tuple(name for name in names if name in present),
        class_source=source,
        efficiency_classes=tuple(name for name in efficient if name in present),
        online=len(online),
        others=tuple(cpu for cpu in classed if allowed and cpu.cpu not in allowed),
    )


def classes_of_new(start: Topology, now: Topology) -> dict[int, str | None]:
    """The classes of the CPUs that came online since ``start``, as ``start`` calls them.

    Names go by rank, so that a class may be called otherwise now: it is the one of the CPUs that were
    there before. ``None`` for a class of which ``start`` had no CPU.
    """
    before = {cpu.cpu: cpu.core_class for cpu in (*start.cpus, *start.others)}
    every = (*now.cpus, *now.others)
    known: dict[str, set[str]] = {cpu.core_class: set() for cpu in every}
    for cpu in every:
        if cpu.cpu in before:
            known[cpu.core_class].add(before[cpu.cpu])
    taken = set[str]().union(*known.values())
    found: dict[int, str | None] = {}
    for cpu in every:
        if cpu.cpu not in before:
            names = known[cpu.core_class] or ({cpu.core_class} & set(start.classes)) - taken
            found[cpu.cpu] = min(names) if len(names) == 1 else None
    return found


def _elsewhere() -> Topology:
    if sys.platform == "darwin":
        from livemon.collect import darwin

        try:
            return darwin.topology(darwin.LibProc())
        except TargetError as error:
            return Topology(class_source=str(error), online=os.cpu_count() or 0)
    return Topology(class_source=f"{sys.platform} does not tell core classes", online=os.cpu_count() or 0)


def _read_cpu(root: str, number: int) -> Cpu:
    base = _under(root, f"sys/devices/system/cpu/cpu{number}")
    core = read_int(f"{base}/topology/core_id")
    package = read_int(f"{base}/topology/physical_package_id")
    siblings = _cpu_list(base / "topology/core_cpus_list") or _cpu_list(base / "topology/thread_siblings_list")
    if siblings:
        core = siblings[0]  # core_id is unique within a package only; the first sibling is unique anyway
    elif core is not None and package is not None:
        core = package * 100_000 + core
    nodes = [int(entry.name[4:]) for entry in base.glob("node[0-9]*") if entry.name[4:].isdecimal()]
    return Cpu(
        cpu=number,
        core_class=UNKNOWN_CLASS,
        node=nodes[0] if nodes else None,
        llc=_last_level_cache(base),
        core=core,
        capacity=read_int(f"{base}/cpu_capacity"),
        max_khz=read_int(f"{base}/cpufreq/cpuinfo_max_freq"),
    )


def _last_level_cache(base: Path) -> int | None:
    """The first CPU of those that share its outermost cache: names the cache."""
    best: tuple[int, int] | None = None
    for index in base.glob("cache/index[0-9]*"):
        level = read_int(f"{index}/level")
        shared = _cpu_list(index / "shared_cpu_list")
        if level is not None and shared and (best is None or level > best[0]):
            best = (level, shared[0])
    return best[1] if best else None


def _rankings(root: str, cpus: Iterable[int]) -> dict[int, int]:
    """AMD's preferred-core ranking by CPU; on hybrid parts the dense cores rank well below."""
    ranks = {}
    for cpu in cpus:
        base = _under(root, f"sys/devices/system/cpu/cpu{cpu}/cpufreq")
        rank = read_int(f"{base}/amd_pstate_prefcore_ranking")
        if rank:
            ranks[cpu] = rank
    return ranks


_Classes = tuple[tuple[Cpu, ...], tuple[str, ...], str, tuple[str, ...]]
"""CPUs with classes, class names fastest first, source, efficiency classes."""


def _classify(cpus: tuple[Cpu, ...], pmus: Sequence[CorePmu], ranks: dict[int, int]) -> _Classes:
    capacities = {cpu.cpu: cpu.capacity for cpu in cpus if cpu.capacity}
    frequencies = {cpu.cpu: cpu.max_khz for cpu in cpus if cpu.max_khz}
    speed, alike = (capacities, _ALIKE_CAPACITY) if capacities else (frequencies or ranks, _ALIKE_SPEED)
    # A PMU may list CPUs that are offline: without another one it is no class of this machine now.
    pmus = [replace(pmu, cpus=tuple(cpu.cpu for cpu in cpus if cpu.cpu in pmu.cpus)) for pmu in pmus]
    if len([pmu for pmu in pmus if pmu.cpus]) > 1:
        return _by_pmu(cpus, pmus, speed, alike)
    sources = (
        ("cpu_capacity", capacities, _ALIKE_CAPACITY),
        ("cpufreq maximum", frequencies, _ALIKE_SPEED),
        ("amd_pstate ranking", ranks, _ALIKE_SPEED),
    )
    for source, values, alike in sources:
        groups = _levels(values, alike)
        if len(groups) > 1 and len(values) == len(cpus):
            return _named(cpus, groups, source)
    for source, values, _ in sources:
        if values and len(values) == len(cpus):
            return _named(cpus, [frozenset(values)], f"uniform: {source} is alike on all CPUs")
    if pmus:
        return _named(cpus, [frozenset(cpu.cpu for cpu in cpus)], f"uniform: one core PMU ({pmus[0].name})")
    source = "this machine does not say (no core PMU, cpu_capacity or cpufreq)"
    return cpus, (UNKNOWN_CLASS,) if cpus else (), source, ()


def _levels(values: dict[int, int], alike: float) -> list[frozenset[int]]:
    """CPUs grouped by speed, fastest first: a new group where the next slower one is well below."""
    groups: list[set[int]] = []
    previous = 0
    for cpu, value in sorted(values.items(), key=lambda item: (-item[1], item[0])):
        if not groups or value < previous * alike:
            groups.append(set())
        groups[-1].add(cpu)
        previous = value
    return [frozenset(group) for group in groups]


def _named(cpus: tuple[Cpu, ...], groups: list[frozenset[int]], source: str) -> _Classes:
    """Names by rank: P, then M (M1, M2, … if several), the slowest E."""
    middles = len(groups) - 2
    names = ["P", *([f"M{i + 1}" for i in range(middles)] if middles > 1 else ["M"] * max(middles, 0)), "E"]
    names = names[: len(groups)] if len(groups) < 2 else names
    return _assign(cpus, list(zip(names, groups, strict=True)), source, ("E",) if len(groups) > 1 else ())


def _by_pmu(cpus: tuple[Cpu, ...], pmus: Sequence[CorePmu], speed: dict[int, int], alike: float) -> _Classes:
    """Each PMU is a class at least; one with low-power cores apart from the rest is two."""
    by_name = {pmu.name: frozenset(pmu.cpus) for pmu in pmus if pmu.cpus}
    source = "core PMUs " + ", ".join(sorted(by_name))
    if "cpu_core" in by_name:
        groups = [("P", by_name["cpu_core"])]
        atoms = by_name.get("cpu_atom", frozenset())
        low_power = by_name.get("cpu_lowpower") or _low_power(cpus, atoms, speed, alike)
        groups += [("E", atoms - low_power), ("LP-E", low_power)]
        return _assign(cpus, [group for group in groups if group[1]], source, ("E", "LP-E"))
    ranked = sorted(
        by_name.values(), key=lambda group: (-max((speed.get(cpu, 0) for cpu in group), default=0), min(group))
    )
    split = [
        part for group in ranked for part in (_levels({c: speed[c] for c in group if c in speed}, alike) or [group])
    ]
    if not speed:
        # Nothing says which PMU's cores are the fast ones: classes are apart, but without a rank.
        named = [(f"{UNKNOWN_CLASS}-{name}", group) for name, group in sorted(by_name.items())]
        return _assign(cpus, named, source + " (nothing says which are faster)", ())
    return _named(cpus, split, source)


def _low_power(cpus: tuple[Cpu, ...], atoms: frozenset[int], speed: dict[int, int], alike: float) -> frozenset[int]:
    """E cores of a cluster of their own: outside the big cache that others share, or well below in speed.

    On a part that has no other E cores these are the E cores.
    """
    caches: dict[int, set[int]] = {}
    for cpu in cpus:
        if cpu.llc is not None:
            caches.setdefault(cpu.llc, set()).add(cpu.cpu)
    outside = frozenset[int]().union(*(group for group in caches.values() if group <= atoms))
    if outside and outside != atoms:
        return outside
    levels = _levels({cpu: speed[cpu] for cpu in atoms if cpu in speed}, alike)
    return levels[-1] if len(levels) > 1 else frozenset()


def _assign(
    cpus: tuple[Cpu, ...], groups: list[tuple[str, frozenset[int]]], source: str, efficient: tuple[str, ...]
) -> _Classes:
    class_of = {cpu: name for name, group in groups for cpu in group}
    classed = tuple(replace(cpu, core_class=class_of.get(cpu.cpu, UNKNOWN_CLASS)) for cpu in cpus)
    names = [name for name, group in groups if any(cpu.cpu in group for cpu in cpus)]
    if any(cpu.core_class == UNKNOWN_CLASS for cpu in classed):
        names.append(UNKNOWN_CLASS)
    return classed, tuple(names), source, tuple(name for name in efficient if name in names)


def _cpu_list(path: Path) -> tuple[int, ...]:
    try:
        return parse_cpu_list(read_text(str(path)) or "")
    except ValueError:
        return ()


def _under(root: str, path: str) -> Path:
    return Path(root) / path
