"""Opening a class's groups, and finding out which groups this machine and this user may open."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass

from livemon.collect.perf_errors import explain
from livemon.collect.perf_groups import ClassEvents, Counted
from livemon.collect.perf_layer import EXCLUDE_KERNEL, PERF_TYPE_HARDWARE, PerfLayer
from livemon.model.facts import Capability
from livemon.parse.procfs import format_cpu_list

NAME = "hardware counters"


@dataclass(frozen=True, slots=True)
class Probed:
    """What came out of it."""

    usable: tuple[ClassEvents, ...] = ()
    flags: int = 0
    """``EXCLUDE_KERNEL`` if only user space may be counted."""
    capabilities: tuple[Capability, ...] = ()


SWITCHED_OFF = Probed(capabilities=(Capability(NAME, False, "switched off (--no-counters)", "leave the option out"),))


def probe(layer: PerfLayer, events: Sequence[ClassEvents], *, tid: int = 0, root: str = "/") -> Probed:
    """Open each class's groups once, with the kernel's part and without, and close them again.

    Args:
        layer: The kernel, or a script of it.
        events: The groups for each core class.
        tid: The thread to try it on; 0 is livemon's own.
        root: Where ``/proc`` is looked for, for reasons.
    """
    if not events:
        return Probed(capabilities=(Capability(NAME, False, *explain(errno.ENOENT, root)),))
    usable: list[ClassEvents] = []
    capabilities: list[Capability] = []
    flags = 0
    for event in events:
        if not event.is_exclusive:
            reason = (
                f"{event.pmu} counts {' and '.join(event.covers)} cores alike, and there are too many to tell apart"
            )
            capabilities.append(Capability(_name(event), False, reason))
            continue
        refusal: OSError | None = None
        for attempt in sorted({flags, EXCLUDE_KERNEL}):
            try:
                groups, counted = open_groups(layer, event, tid, attempt)
            except OSError as error:
                refusal = error
                continue
            close_groups(layer, groups)
            usable.append(event)
            flags, refusal = attempt, None
            more = "sudo sysctl kernel.perf_event_paranoid=1" if flags else ""
            capabilities.append(Capability(_name(event), True, _describe(event, counted, flags), more))
            break
        if refusal is not None:
            what = NAME if event.kind == PERF_TYPE_HARDWARE else f"{event.pmu} counters"
            capabilities.append(Capability(_name(event), False, *explain(refusal.errno, root, what)))
    # Classes that are told apart on one PMU are counted all or none: the rest would have the others in it.
    refused = {event.pmu: event.core_class for event in events if event not in usable}
    for event in [event for event in usable if event.pmu in refused]:
        usable.remove(event)
        at = next(at for at, capability in enumerate(capabilities) if capability.name == _name(event))
        reason = f"they would have those of {refused[event.pmu]} in them, which can't be counted apart"
        capabilities[at] = Capability(_name(event), False, reason)
    return Probed(tuple(usable), flags, tuple(capabilities))


def open_groups(layer: PerfLayer, event: ClassEvents, tid: int, flags: int) -> tuple[list[list[int]], Counted]:
    """The groups of a class, each one's leader (cycles, if it has them) first, and what they count.

    Raises:
        OSError: the kernel refused; nothing stays open.
    """
    groups: list[list[int]] = []
    has_cycles = has_instructions = True
    try:
        for cpu in event.places:
            try:
                groups.append([layer.open(event.kind, event.cycles, tid, -1, flags, cpu)])
            except OSError as error:
                has_cycles = False
                groups.append([_lone_instructions(layer, event, tid, flags, cpu, error)])
                continue
            has_instructions &= _add_instructions(layer, event, tid, groups[-1], flags, cpu)
        if not has_cycles and not has_instructions:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    except OSError:
        close_groups(layer, groups)
        raise
    return groups, Counted(has_cycles, has_instructions)


def _lone_instructions(layer: PerfLayer, event: ClassEvents, tid: int, flags: int, cpu: int, no_cycles: OSError) -> int:
    """A group of instructions alone, for a PMU that has no event for cycles.

    Raises:
        OSError: ``no_cycles``, where the refusal has another reason, or instructions are refused too.
    """
    if no_cycles.errno not in {errno.ENOENT, errno.EOPNOTSUPP}:
        raise no_cycles
    try:
        return layer.open(event.kind, event.instructions, tid, -1, flags, cpu)
    except OSError:
        raise no_cycles from None


def _add_instructions(layer: PerfLayer, event: ClassEvents, tid: int, group: list[int], flags: int, cpu: int) -> bool:
    try:
        group.append(layer.open(event.kind, event.instructions, tid, group[0], flags, cpu))
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL}:
            raise
        return False
    return True


def close_groups(layer: PerfLayer, groups: Sequence[Sequence[int]]) -> None:
    """Take groups off, each one's leader last."""
    for group in groups:
        for descriptor in reversed(group):
            layer.close(descriptor)


def _name(event: ClassEvents) -> str:
    return f"{NAME} {event.core_class}"


def _describe(event: ClassEvents, counted: Counted, flags: int) -> str:
    what = "cycles and instructions"
    if not counted.instructions:
        what = "cycles; this PMU counts no instructions: IPC is unknown"
    elif not counted.cycles:
        what = "instructions; this PMU counts no cycles: IPC and cycle rate are unknown"
    where = "user space only, as perf_event_paranoid is 2" if flags & EXCLUDE_KERNEL else "user space and kernel"
    how = ""
    if event.is_rest:
        how = "; less what was counted on the cores of its PMU's other classes"
    elif event.cpus:
        how = f"; bound to CPU {format_cpu_list(event.cpus)}, as its PMU has other classes too"
    return f"{event.pmu}: {what} ({where}){how}"
