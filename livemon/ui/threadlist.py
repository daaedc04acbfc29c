"""Which threads are listed and in what order: filter, sort, group; pure."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import overload

from livemon.model.snapshot import ThreadRow, ThreadRows
from livemon.ui.filtering import Filter
from livemon.ui.render.threads import Group, thread_value

RESORT_NS = 3_000_000_000
"""Rows keep their places for this long, so that they don't move under the eye."""
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
        self._rows, self._order = rows, order
        self.keys = keys

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, position: int) -> ThreadRow: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[ThreadRow]: ...
    def __getitem__(self, position: int | slice) -> ThreadRow | Sequence[ThreadRow]:
        if isinstance(position, slice):
            return Arranged(self._rows, self._order[position], self.keys[position])
        return self._rows[self._order[position]]

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
            keys: list[object] = [listed[place][0] for place in order]
            self._ordered = _Order(listed, set(involved), order, keys)
        return Arranged(rows, self._ordered.order, self._ordered.keys)

    @staticmethod
    def entries(rows: Sequence[ThreadRow], by: str, expanded: AbstractSet[str]) -> Sequence[Entry]:
        """Threads as they are, or gathered into groups (``process``, ``name``, ``role``)."""
        if by == "none":
            return Ungrouped(rows)
        members: dict[str, list[ThreadRow]] = {}
        for row in rows:
            members.setdefault(group_key(row, by), []).append(row)
        out: list[Entry] = []
        for key, group_rows in members.items():
            is_expanded = key in expanded
            out.append(Entry(None, Group(key, tuple(group_rows), is_expanded)))
            if is_expanded:
                out.extend(Entry(row, indent="  ") for row in group_rows)
        return out


class Ungrouped(Sequence[Entry]):
    """An entry for each row, made when it is asked for: of thousands of threads a screen shows forty."""

    def __init__(self, rows: Sequence[ThreadRow]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> Entry: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Entry]: ...
    def __getitem__(self, position: int | slice) -> Entry | Sequence[Entry]:
        found = self._rows[position]
        return Ungrouped(found) if isinstance(found, Sequence) else Entry(found)

    def keys(self) -> list[object]:
        """The key of each entry."""
        return self._rows.keys if isinstance(self._rows, Arranged) else [row.index for row in self._rows]


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
