"""Opening a group, and finding out which groups this machine and this user may open."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass

from livemon.collect.perf_errors import explain
from livemon.collect.perf_groups import ClassEvents
from livemon.collect.perf_layer import EXCLUDE_KERNEL, PERF_TYPE_HARDWARE, PerfLayer
from livemon.model.facts import Capability

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
    """Open each class's group once, with the kernel's part and without, and close it again.

    Args:
        layer: The kernel, or a script of it.
        events: A group for each core class.
        tid: The thread to try it on; 0 is livemon's own.
        root: Where ``/proc`` is looked for, for reasons.
    """
    if not events:
        return Probed(capabilities=(Capability(NAME, False, *explain(errno.ENOENT, root)),))
    usable: list[ClassEvents] = []
    capabilities: list[Capability] = []
    flags = 0
    for event in events:
        refusal: OSError | None = None
        for attempt in sorted({flags, EXCLUDE_KERNEL}):
            try:
                members, has_instructions = open_group(layer, event, tid, attempt)
            except OSError as error:
                refusal = error
                continue
            close_group(layer, members)
            usable.append(event)
            flags, refusal = attempt, None
            capabilities.append(Capability(_name(event), True, _describe(event, has_instructions, flags)))
            break
        if refusal is not None:
            what = NAME if event.kind == PERF_TYPE_HARDWARE else f"{event.pmu} counters"
            capabilities.append(Capability(_name(event), False, *explain(refusal.errno, root, what)))
    return Probed(tuple(usable), flags, tuple(capabilities))


def open_group(layer: PerfLayer, event: ClassEvents, tid: int, flags: int) -> tuple[list[int], bool]:
    """A group's descriptors, the leader (cycles) first, and whether it has instructions beside cycles.

    Raises:
        OSError: the kernel refused; nothing stays open.
    """
    leader = layer.open(event.kind, event.cycles, tid, -1, flags)
    try:
        return [leader, layer.open(event.kind, event.instructions, tid, leader, flags)], True
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL}:
            return [leader], False
        layer.close(leader)
        raise


def close_group(layer: PerfLayer, members: Sequence[int]) -> None:
    """Take a group off, the leader last."""
    for descriptor in reversed(members):
        layer.close(descriptor)


def _name(event: ClassEvents) -> str:
    return f"{NAME} {event.core_class}"


def _describe(event: ClassEvents, has_instructions: bool, flags: int) -> str:
    what = "cycles and instructions" if has_instructions else "cycles; this PMU counts no instructions"
    where = "user space only, as perf_event_paranoid is 2" if flags & EXCLUDE_KERNEL else "user space and kernel"
    note = "" if event.is_exclusive else "; one PMU for several classes: it can't tell them apart"
    return f"{event.pmu}: {what} ({where}){note}"
