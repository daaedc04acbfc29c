"""Changes of how threads may be scheduled: affinity, nice, policy, cgroup; as words beside an episode's causes.

Such facts are read every few seconds (``collect.thread_facts``), so a change is told by when it was *seen*: it may
have come up to a round earlier, which is why a stretch before an episode's start counts too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from livemon.model.samples import ThreadInfo

_BEFORE_NS = 5_000_000_000
"""How long before an episode's start a change counts that was seen then."""
_KEPT = 512
"""Newest changes that are kept."""
_THREADS = 65_536
_NAMED = 3
_TOLD = 4
_FACTS = ("affinity", "nice", "policy", "cgroup")


class SchedulingChanges:
    """Remembers what each thread was last found with, and the newest changes."""

    def __init__(self) -> None:
        self._known: dict[int, ThreadInfo] = {}
        self._changes: deque[tuple[int, str, str]] = deque(maxlen=_KEPT)
        """(seen at, thread name, what changed)."""

    def meet(self, info: ThreadInfo) -> None:
        """A thread was found, or something about it has changed."""
        before = self._known.get(info.index)
        if before is None and len(self._known) >= _THREADS:
            return
        self._known[info.index] = info
        if before is None or info.is_self:
            return
        if what := ", ".join(_differences(before, info)):
            self._changes.append((info.arrival_ns, info.name, what))

    def lose(self, index: int) -> None:
        """A thread ended."""
        self._known.pop(index, None)

    def words(self, start_ns: int, end_ns: int) -> str:
        """What changed around an episode: begins with ``; `` or is empty.

        Args:
            start_ns: Its start.
            end_ns: Its end, or now: what was seen later is left out.
        """
        groups: dict[tuple[int, str], list[str]] = {}
        for seen_ns, name, what in self._changes:
            if start_ns - _BEFORE_NS <= seen_ns <= end_ns:
                groups.setdefault((round((seen_ns - start_ns) / 1e8), what), []).append(name)
        told = []
        for (tenths, what), names in list(groups.items())[:_TOLD]:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            side = "after" if tenths >= 0 else "before"
            told.append(f"{', '.join(names[:_NAMED])}{more}: {what} (seen {abs(tenths) / 10:.1f} s {side} the start)")
        if len(groups) > _TOLD:
            told.append(f"{len(groups) - _TOLD} more changes of affinity, nice or policy")
        return "".join(f"; {text}" for text in told)


def _differences(before: ThreadInfo, after: ThreadInfo) -> Iterator[str]:
    """Facts known on both sides that differ."""
    for fact in _FACTS:
        old, new = getattr(before, fact), getattr(after, fact)
        if old is not None and new is not None and old != new:
            yield f"{fact} {old} → {new}"
