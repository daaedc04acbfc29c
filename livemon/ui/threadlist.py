"""Which threads are listed and in what order: filter, sort, group; pure."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import overload

from livemon.model.snapshot import ThreadRow, ThreadRows
from livemon.ui.filtering import Filter
from livemon.ui.render.threads import Group, thread_value, total, total_wait

RESORT_NS = 3_000_000_000
"""Rows keep their places for this long, so that they don't move under the eye."""
MANY_ENDED = 4
"""From so many on, threads that have ended are one line, which opens like a group."""
ENDED = "ended"
_TEXTS = {"name": "name", "process": "process", "class": "core_class"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the thread panel: a thread or a group."""

    row: ThreadRow | None
    group: Group | None = None
    indent: str = ""

    @property
    def key(self) -> object:
        """What the selection sticks to."""
        return self.row.index if self.row is not None else ("group", self.group.key if self.group else "")


def group_sort_key(rows: Sequence[ThreadRow], key: str, name: str) -> tuple[int, float | str]:
    """As ``sort_key``, of a group by what its line shows: sums, all waiting; else its largest member; texts by name."""
    if key in _TEXTS:
        return (0, name.lower())
    if key in ("cpu_percent", "cpu_ms_per_unit", "migrations_per_s"):
        value = total(rows, key).value
    elif key == "wait_percent":
        value = total_wait(rows).value
    else:
        known = [part.value for part in (thread_value(row, key) for row in rows) if part.value is not None]
        value = max(known, default=None)
    return (1, 0.0) if value is None else (0, -value)


def sort_key(row: ThreadRow, key: str) -> tuple[int, float | str, int]:
    """Largest figures first, unknown ones last; texts in order; ties in order of appearance."""
    if key in _TEXTS:
        text = getattr(row, _TEXTS[key])
        return (1, "", row.index) if text is None else (0, str(text).lower(), row.index)
    value = thread_value(row, key).value
    return (1, 0.0, row.index) if value is None else (0, -value, row.index)


@dataclass(frozen=True, slots=True)
class _Order:
    """Of thousands of threads the same ones are listed frame after frame."""

    listed: tuple[tuple[int, bool], ...]
    involved: AbstractSet[int]
    order: list[int]
    keys: list[object]


def places_of(rows: Sequence[ThreadRow]) -> tuple[tuple[int, bool], ...]:
    """As ``ThreadRows.places``."""
    return tuple([(row.index, row.is_alive and not row.is_self) for row in rows])


class Arranged(Sequence[ThreadRow]):
    """Rows in an order, taken from where they are when they are asked for.

    Args:
        rows: All of them.
        order: The place in ``rows`` of each.
        keys: Their indexes, in order.
    """

    def __init__(self, rows: Sequence[ThreadRow], order: list[int], keys: list[object]) -> None:
        self._rows, self.order = rows, order
        self.keys = keys

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, position: int) -> ThreadRow: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[ThreadRow]: ...
    def __getitem__(self, position: int | slice) -> ThreadRow | Sequence[ThreadRow]:
        if isinstance(position, slice):
            return Arranged(self._rows, self.order[position], self.keys[position])
        return self._rows[self.order[position]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class ThreadList:
    """Keeps an order between frames and makes the entries of one."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._sorted_for: tuple[str, bool] | None = None
        self._sorted_ns = 0
        self._ordered: _Order | None = None
        self._group_places: dict[str, int] = {}
        self._groups_for: tuple[object, ...] = ()
        self._split: tuple[object, int, int] = (None, 0, 0)

    def ordered(
        self, rows: Sequence[ThreadRow], key: str, *, is_reversed: bool, at_ns: int | None, involved: AbstractSet[int]
    ) -> Sequence[ThreadRow]:
        """The rows in order: those of the shown episode first, livemon's own and those that have ended last.

        ``at_ns`` is ``None`` while standing still.
        """
        is_stale = at_ns is None or not 0 <= at_ns - self._sorted_ns < RESORT_NS
        if is_stale or self._sorted_for != (key, is_reversed):
            known = sorted(rows, key=lambda row: sort_key(row, key))
            if is_reversed:
                known.reverse()
                known.sort(key=lambda row: sort_key(row, key)[0])
            self._places = {row.index: place for place, row in enumerate(known)}
            self._sorted_for, self._sorted_ns = (key, is_reversed), at_ns or 0
            self._ordered = None
        listed = rows.places if isinstance(rows, ThreadRows) else places_of(rows)
        if self._ordered is None or self._ordered.listed != listed or self._ordered.involved != involved:
            places, last = self._places, len(self._places)
            ranks = [(k not in involved, not is_first, places.get(k, last + k)) for k, is_first in listed]
            order = sorted(range(len(ranks)), key=ranks.__getitem__)
            # Of the rest, livemon's own threads stand before those that have ended.
            rest = len(order)
            while rest and not listed[order[rest - 1]][1] and listed[order[rest - 1]][0] not in involved:
                rest -= 1
            order[rest:] = sorted(order[rest:], key=lambda place: not rows[place].is_alive)
            keys: list[object] = [listed[place][0] for place in order]
            self._ordered = _Order(listed, set(involved), order, keys)
        return Arranged(rows, self._ordered.order, self._ordered.keys)

    def entries(self, rows: Sequence[ThreadRow], by: str, expanded: AbstractSet[str]) -> Sequence[Entry]:
        """Threads as ``ordered`` has them, many ended ones as one; or in groups (``process``, ``name``, ``role``)."""
        if by == "none":
            return self._with_ended_as_one(rows, expanded)
        members: dict[str, list[ThreadRow]] = {}
        for row in rows:
            members.setdefault(group_key(row, by), []).append(row)
        # Groups keep their places as long as threads do.
        groups_for = (self._sorted_for, self._sorted_ns, by)
        if self._groups_for != groups_for or not self._sorted_ns:
            key, is_reversed = self._sorted_for or ("name", False)
            known = sorted(members, key=lambda name: group_sort_key(members[name], key, name), reverse=is_reversed)
            self._group_places = {name: place for place, name in enumerate(known)}
            self._groups_for = groups_for
        involved: AbstractSet[int] = self._ordered.involved if self._ordered is not None else set()

        def rank(item: tuple[str, list[ThreadRow]]) -> tuple[bool, bool, int]:
            name, group_rows = item
            has_involved = any(row.index in involved for row in group_rows)
            is_last = all(row.is_self or not row.is_alive for row in group_rows)
            return not has_involved, is_last, self._group_places.get(name, len(members))

        out: list[Entry] = []
        for key, group_rows in sorted(members.items(), key=rank):
            is_expanded = key in expanded
            out.append(Entry(None, Group(key, tuple(group_rows), is_expanded)))
            if is_expanded:
                out.extend(Entry(row, indent="  ") for row in group_rows)
        return out

    def _with_ended_as_one(self, rows: Sequence[ThreadRow], expanded: AbstractSet[str]) -> Sequence[Entry]:
        """A service that makes a thread for each request leaves a screenful of ended ones behind it.

        Where all of it has ended, as at the end of a session, its threads are listed as they were.
        """
        order = rows.order if isinstance(rows, Arranged) else None
        if order is None or self._split[0] is not order:
            first = len(rows)
            while first and not rows[first - 1].is_alive:
                first -= 1
            if not any(row.is_alive and not row.is_self for row in rows[:first]):
                first = len(rows)
            self._split = (order, first, len(rows) - first)
        _, first, count = self._split
        if count < MANY_ENDED:
            return Ungrouped(rows)
        ended = tuple(rows[first:])
        is_expanded = ENDED in expanded
        out = [Entry(None, Group(ENDED, ended, is_expanded))]
        if is_expanded:
            out += [Entry(row, indent="  ") for row in ended]
        return Ungrouped(rows[:first], out)


class Ungrouped(Sequence[Entry]):
    """An entry for each row, made when it is asked for: of thousands of threads a screen shows forty."""

    def __init__(self, rows: Sequence[ThreadRow], after: Sequence[Entry] = ()) -> None:
        self._rows, self._after = rows, after

    def __len__(self) -> int:
        return len(self._rows) + len(self._after)

    @overload
    def __getitem__(self, position: int) -> Entry: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Entry]: ...
    def __getitem__(self, position: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(position, slice):
            return [self[place] for place in range(*position.indices(len(self)))]
        place = range(len(self))[position]
        return self._after[place - len(self._rows)] if place >= len(self._rows) else Entry(self._rows[place])

    def keys(self) -> list[object]:
        """The key of each entry."""
        rows = self._rows
        keys: list[object] = rows.keys if isinstance(rows, Arranged) else [row.index for row in rows]
        return [*keys, *(entry.key for entry in self._after)] if self._after else keys


def keys_of(entries: Sequence[Entry]) -> list[object]:
    """What the selection sticks to, for each entry."""
    return entries.keys() if isinstance(entries, Ungrouped) else [entry.key for entry in entries]


def group_key(row: ThreadRow, by: str) -> str:
    """The group that a thread belongs to."""
    if by == "process":
        return f"{row.process}:{row.pid}"
    return row.name if by == "name" else row.role


def visible_rows(rows: Sequence[ThreadRow], wanted: Filter) -> Sequence[ThreadRow]:
    """The rows that pass the filter; threads that have ended stay listed while the window holds them."""
    return [row for row in rows if wanted.keeps_thread(row)] if wanted.terms else rows
