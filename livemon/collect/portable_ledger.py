"""From plain per-thread readings to samples: indexes, arrivals, departures, changes. For systems without /proc."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from livemon.model.samples import UNKNOWN, ClassColumns, Sample, ThreadGone, ThreadInfo, ThreadTick

ClassValues = tuple[int, int, int]
"""CPU ns, cycles, instructions; ``UNKNOWN`` where not measured."""
_NAMED_BY_NS = 700_000_000
"""Threads name themselves after they start: a new one's name is read again after this time."""


@dataclass(frozen=True, slots=True)
class RawThread:
    """One thread as it was read in this tick; cumulative."""

    pid: int
    tid: int
    cpu_ns: int
    classes: tuple[ClassValues, ...] = ()


@dataclass(slots=True)
class _Known:
    index: int
    reading: RawThread
    name: str
    look_again_ns: int | None
    """When its name is to be read once more."""


class Ledger:
    """Keeps who was there, and makes each tick's samples.

    Args:
        class_names: Of each reading's ``classes``.
        reuses_ids: The system gives thread ids again: CPU time that goes back is another thread.
    """

    def __init__(self, class_names: Sequence[str] = (), *, reuses_ids: bool = True) -> None:
        self._class_names = tuple(class_names)
        self._reuses_ids = reuses_ids
        self._known: dict[tuple[int, int], _Known] = {}
        self._next_index = 0
        self._is_first = True

    def unnamed(self, threads: Sequence[RawThread], now_ns: int) -> list[RawThread]:
        """The only ones whose name must be read: those that are new, and once more those that were new a while ago."""
        return [thread for thread in threads if self._is_new(thread) or self._is_due(thread, now_ns)]

    def tick(
        self,
        now_ns: int,
        threads: Sequence[RawThread],
        names: Mapping[tuple[int, int], str],
        processes: Mapping[int, tuple[str, bool]],
        *,
        keyframe: bool,
        late_ns: int,
    ) -> list[Sample]:
        """The samples of a tick.

        Args:
            now_ns: The time.
            threads: Every live thread.
            names: Names of the ``unnamed`` threads.
            processes: By pid: name, and whether it is livemon itself.
            keyframe: List every thread.
            late_ns: How late the tick is.
        """
        out: list[Sample] = []
        present = {(thread.pid, thread.tid) for thread in threads}
        gone = [key for key in self._known if key not in present]
        out.extend(ThreadGone(now_ns, self._known.pop(key).index) for key in gone)
        keyframe = keyframe or self._is_first
        self._is_first = False
        listed: list[_Known] = []
        for thread in threads:
            key = (thread.pid, thread.tid)
            if self._is_new(thread):
                if key in self._known:  # its number is another thread's now: CPU time went back
                    out.append(ThreadGone(now_ns, self._known.pop(key).index))
                known = _Known(self._next_index, thread, names.get(key, ""), now_ns + _NAMED_BY_NS)
                self._known[key] = known
                self._next_index += 1
                out.append(_info(known, now_ns, processes))
                listed.append(known)
                continue
            known = self._known[key]
            if self._is_due(thread, now_ns):
                known.look_again_ns = None
                if names.get(key, known.name) != known.name:
                    known.name = names[key]
                    out.append(_info(known, now_ns, processes))
            if keyframe or known.reading != thread:
                known.reading = thread
                listed.append(known)
        out.append(self._tick(now_ns, listed, keyframe, late_ns))
        return out

    def _is_new(self, thread: RawThread) -> bool:
        known = self._known.get((thread.pid, thread.tid))
        return known is None or (self._reuses_ids and thread.cpu_ns < known.reading.cpu_ns)

    def _is_due(self, thread: RawThread, now_ns: int) -> bool:
        known = self._known.get((thread.pid, thread.tid))
        return known is not None and known.look_again_ns is not None and now_ns >= known.look_again_ns

    def _tick(self, now_ns: int, listed: Sequence[_Known], keyframe: bool, late_ns: int) -> ThreadTick:
        unknown = array("q", [UNKNOWN]) * len(listed)
        return ThreadTick(
            arrival_ns=now_ns,
            index=array("q", [known.index for known in listed]),
            cpu_ns=array("q", [known.reading.cpu_ns for known in listed]),
            run_delay_ns=unknown,
            slices=unknown,
            last_cpu=unknown,
            classes=tuple(self._class_columns(k, listed) for k in range(len(self._class_names))),
            is_keyframe=keyframe,
            late_ns=late_ns,
        )

    def _class_columns(self, k: int, listed: Sequence[_Known]) -> ClassColumns:
        nothing = (UNKNOWN, UNKNOWN, UNKNOWN)
        rows = [known.reading.classes[k] if known.reading.classes else nothing for known in listed]
        return ClassColumns(
            core_class=self._class_names[k],
            cpu_ns=array("q", [row[0] for row in rows]),
            cycles=array("q", [row[1] for row in rows]),
            instructions=array("q", [row[2] for row in rows]),
        )


def _info(known: _Known, now_ns: int, processes: Mapping[int, tuple[str, bool]]) -> ThreadInfo:
    thread = known.reading
    process, is_self = processes.get(thread.pid, ("", False))
    name = known.name or process
    return ThreadInfo(now_ns, known.index, thread.pid, thread.tid, name, process=process, is_self=is_self)
