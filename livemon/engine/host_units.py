"""Timing records as columns: what the host detector needs of each unit, grouped by kind.

A *kind* is what has one healthy state: the same stream, source, class label and stage names. Kinds are
numbered in order of appearance and bounded; a kind beyond the bound is not judged (and counted).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from livemon.engine.classes import label_of
from livemon.engine.host_positions import Positions
from livemon.engine.logbins import COARSE_BINS, Floats, Ints, fine_bins
from livemon.engine.roles import CPU, DEVICE, FINALIZE, HOST, TOTAL, WAIT, role_of
from livemon.engine.unit_sizes import SizeGroups
from livemon.model.criteria import Criteria
from livemon.model.samples import TimingRecord

MAX_KINDS = 256
"""Healthy states that are kept; lines with ever new labels must not grow memory for ever."""
_MOST_MS = 1e9
"""Durations are taken as this at most (12 days), so that sums stay far from the end of int64."""
_MOST_PART = 0.8
_COMPLETION = ("callback", "handoff", "completion", "return")
"""Words that mark the path from the device's completion back to its waiter."""


@dataclass(slots=True)
class Kind:
    """Units that share a healthy state, and where their stages stand in a line."""

    index: int
    label: str | None
    names: tuple[str, ...]
    host: tuple[int, ...]
    """Columns that are evidence of host slowness: host and finalize stages."""
    device: tuple[int, ...]
    completion: tuple[int, ...]
    cpu: tuple[int, ...]
    total: int | None
    parts: tuple[int, ...]
    """Columns whose sum is the unit's wall time where the line has no total."""
    not_size: tuple[int, ...] = ()
    """Columns that are no part of the unit's size: host work and waiting."""
    sizes: SizeGroups | None = None
    """For lines that name no class: groups of sizes, each a kind of its own."""
    positions: Positions | None = None
    """For the same lines: their cycle, whose positions are kinds of their own; it goes before the sizes."""
    groups: dict[tuple[int, int], int] = field(default_factory=dict)
    """(low, high) cuts of a group -> its kind."""
    parent: int | None = None
    """The kind whose healthy state this one goes on with."""
    position: tuple[int, int] | None = None
    """(period, position) in the parent's cycle."""
    seen: set[tuple[int, str | None]] = field(default_factory=set)
    seen_before: set[tuple[int, str | None]] = field(default_factory=set)

    def rotate(self) -> None:
        """Forget the oldest ids; called as time goes on."""
        if self.seen or self.seen_before:
            self.seen, self.seen_before = set(), self.seen


@dataclass(slots=True)
class Units:
    """Columns of units, in the order in which they are judged."""

    arrival: Ints
    """ns"""
    end: Ints
    """The unit's own end, ns."""
    start: Ints
    """Its submission, ns: exact or end minus wall time."""
    wall: Ints
    """Its wall time, ns."""
    kind: Ints
    """Number of its kind."""
    row: Ints
    """Its row in that kind's values."""
    size: Ints
    """Fine bin of its size (see ``unit_sizes``); 0: not looked at."""
    values: dict[int, Floats]
    """Kind -> (units of the kind, stages of the kind) in ms."""

    def __len__(self) -> int:
        return len(self.arrival)

    def take(self, order: Ints) -> Units:
        """The units of ``order``, in that order; values are shared."""
        return Units(
            self.arrival[order],
            self.end[order],
            self.start[order],
            self.wall[order],
            self.kind[order],
            self.row[order],
            self.size[order],
            self.values,
        )

    @staticmethod
    def join(parts: list[Units]) -> Units:
        """Several sets of units one after the other."""
        if len(parts) == 1:
            return parts[0]
        offsets: dict[int, int] = {}
        blocks: dict[int, list[Floats]] = {}
        rows = []
        for part in parts:
            row = part.row.copy()
            for k, block in part.values.items():
                mine = part.kind == k
                if not mine.any():
                    continue
                row[mine] += offsets.get(k, 0)
                offsets[k] = offsets.get(k, 0) + len(block)
                blocks.setdefault(k, []).append(block)
            rows.append(row)
        return Units(
            np.concatenate([part.arrival for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.wall for part in parts]),
            np.concatenate([part.kind for part in parts]),
            np.concatenate(rows),
            np.concatenate([part.size for part in parts]),
            {k: np.concatenate(several) for k, several in blocks.items()},
        )


class UnitIntake:
    """Turns records into columns and drops repeated lines."""

    def __init__(self, criteria: Criteria) -> None:
        self._criteria = criteria
        self.kinds: list[Kind] = []
        self._by_key: dict[tuple[object, ...], Kind | None] = {}
        self._by_front: dict[tuple[object, ...], Kind] = {}
        self.skipped = 0
        """Units beyond ``MAX_KINDS``."""

    def _make(
        self, key: tuple[object, ...], record: TimingRecord, label: str | None, names: tuple[str, ...]
    ) -> Kind | None:
        roles = [role_of(name, self._criteria) for name in names]
        host = tuple(k for k, role in enumerate(roles) if role in (HOST, FINALIZE))
        kind = None
        if host and len(self.kinds) < MAX_KINDS:
            device = tuple(k for k, role in enumerate(roles) if role == DEVICE)
            kind = Kind(
                index=len(self.kinds),
                label=label,
                names=names,
                host=host,
                device=device,
                completion=tuple(k for k in host if any(word in names[k].lower() for word in _COMPLETION)),
                cpu=tuple(k for k, role in enumerate(roles) if role == CPU),
                total=next((k for k, role in enumerate(roles) if role == TOTAL and names[k] == "total"), None)
                or next((k for k, role in enumerate(roles) if role == TOTAL), None),
                parts=tuple(k for k, role in enumerate(roles) if role in (HOST, FINALIZE, DEVICE, WAIT)),
                not_size=tuple(k for k, role in enumerate(roles) if role in (HOST, FINALIZE, WAIT)),
            )
            if label is None:
                kind.positions = Positions(self._criteria.classes.cycle)
                if device or kind.total is not None:
                    kind.sizes = SizeGroups("device" if device else "rest")
            self.kinds.append(kind)
        if len(self._by_key) < 16 * MAX_KINDS:
            self._by_key[key] = kind
        return kind

    def _kind_of(self, record: TimingRecord, names: tuple[str, ...]) -> Kind | None:
        """The kind of a record whose key is not known yet."""
        label = label_of(record, self._criteria)
        key = (record.stream, record.source, label, names)
        if key in self._by_key:
            return self._by_key[key]
        return self._make(key, record, label, names)

    def read(self, records: Sequence[TimingRecord]) -> tuple[Units, Ints]:
        """The records that are units with host stages, as columns; repeated lines are left out.

        Also which records they are, by position. Their ``arrival`` is the caller's to fill in.
        """
        keys = self._criteria.classes.keys
        front = len(keys)
        by_front = self._by_front
        flat: list[int] = []
        values: dict[int, list[float]] = {}
        ids: dict[int, list[str | None]] = {
            kind.index: [] for kind in self.kinds if kind.positions is not None and kind.positions.needs_units
        }
        for number, record in enumerate(records):
            stages = record.stages
            if not stages:
                continue
            names, numbers = zip(*stages)  # noqa: B905 - pairs; told so it takes half as long again
            # Records alike in source, stage names and the fields at the front of the line are of one kind.
            key = (names, record.fields[:front] if front else record.label, record.source, record.stream)
            kind = by_front.get(key)
            if kind is None:
                kind = self._kind_of(record, names)
                if kind is None:
                    self.skipped += len(self.kinds) >= MAX_KINDS
                    continue
                is_front = not front or tuple(name for name, _ in record.fields[:front]) == keys
                if is_front and len(by_front) < 16 * MAX_KINDS:
                    by_front[key] = kind
            end = record.t_ns
            if record.unit is not None:
                ident = (end, record.unit)
                if ident in kind.seen or ident in kind.seen_before:
                    continue
                kind.seen.add(ident)
            index = kind.index
            if index in ids:
                ids[index].append(record.unit)
            if index in values:
                values[index] += numbers
            else:
                values[index] = list(numbers)
            start = record.start_ns
            flat += (number, index, end, -1 if start is None else start)
        table = np.array(flat, np.int64).reshape(-1, 4)
        kept, kind_column, end_column, start_column = (table[:, k].copy() for k in range(4))
        n = len(table)
        row_column = np.zeros(n, np.int64)
        wall = np.zeros(n, np.int64)
        columns: dict[int, Floats] = {}
        for k, several in values.items():
            made = self.kinds[k]
            block = columns[k] = np.array(several).reshape(-1, len(made.names))
            mine = slice(None) if len(values) == 1 else kind_column == k
            row_column[mine] = np.arange(len(block))
            taken = block[:, made.parts if made.total is None else (made.total,)]
            # Whole ns before summing: a sum of floats may depend on the shape of the block.
            wall[mine] = np.rint(np.minimum(taken, _MOST_MS) * 1e6).astype(np.int64).sum(axis=1)
        start_column = np.where(start_column >= 0, np.minimum(start_column, end_column), end_column - wall)
        size = np.zeros(n, np.int64)
        for k in [k for k in columns if self.kinds[k].label is None]:
            rest = self._by_position(k, ids[k], columns, kind_column, row_column) if ids.get(k) else True
            if rest and self.kinds[k].sizes is not None:
                self._by_size(k, columns, kind_column, row_column, size)
        return Units(end_column, end_column, start_column, wall, kind_column, row_column, size, columns), kept

    def _by_position(self, k: int, ids: list[str | None], columns: dict[int, Floats], kinds: Ints, rows: Ints) -> bool:
        """Give the units of an unlabelled kind to the kinds of their positions; whether some have none."""
        kind, block = self.kinds[k], columns[k]
        positions = kind.positions
        assert positions is not None
        number = positions.take(ids, block[:, kind.host].sum(axis=1))
        mine = np.flatnonzero(kinds == k)
        for position in np.unique(number[number >= 0]).tolist():
            sub = self._position(kind, positions, position)
            if sub is None:
                continue
            chosen = number == position
            columns[sub.index] = block[chosen]
            kinds[mine[chosen]] = sub.index
            rows[mine[chosen]] = np.arange(int(chosen.sum()))
        left = kinds[mine] == k
        if left.all():
            return True
        if left.any():
            columns[k] = block[left]
            rows[mine[left]] = np.arange(int(left.sum()))
            return True
        del columns[k]
        return False

    def _position(self, kind: Kind, positions: Positions, position: int) -> Kind | None:
        """The kind of a position; ``None`` where there are too many kinds."""
        known = positions.kinds.get((positions.period, position))
        if known is None:
            if len(self.kinds) >= MAX_KINDS:
                return None
            known = positions.kinds[positions.period, position] = len(self.kinds)
            self.kinds.append(self._part_of(kind, kind.index, (positions.period, position)))
        return self.kinds[known]

    def _part_of(self, kind: Kind, parent: int | None, position: tuple[int, int] | None = None) -> Kind:
        """A kind of some of a kind's units."""
        return replace(
            kind,
            index=len(self.kinds),
            sizes=None,
            positions=None,
            groups={},
            parent=parent,
            position=position,
            seen=set(),
            seen_before=set(),
        )

    def _by_size(self, k: int, columns: dict[int, Floats], kinds: Ints, rows: Ints, size: Ints) -> None:
        """Give the units of an unlabelled kind to the kinds of their size groups."""
        kind, block = self.kinds[k], columns[k]
        groups = kind.sizes
        assert groups is not None
        if kind.device:
            sizes = np.rint(block[:, kind.device] * 1e6).sum(axis=1) / 1e6
        else:
            total = (kind.total or 0,)
            parts = np.rint(block[:, total] * 1e6).sum(axis=1) - np.rint(block[:, kind.not_size] * 1e6).sum(axis=1)
            sizes = np.maximum(parts, 0) / 1e6
        fine = fine_bins(sizes)
        mine = np.flatnonzero(kinds == k)
        size[mine] = fine
        groups.add(fine)
        if not groups.cuts:
            return
        number = groups.groups_of(fine)
        edges = (0, *groups.cuts, COARSE_BINS)
        del columns[k]
        for group in np.unique(number).tolist():
            chosen = number == group
            sub = self._group(kind, edges[group], edges[group + 1])
            columns[sub.index] = block[chosen]
            kinds[mine[chosen]] = sub.index
            rows[mine[chosen]] = np.arange(int(chosen.sum()))

    def _group(self, kind: Kind, low: int, high: int) -> Kind:
        """The kind of a size group; it goes on with the state of the group it is most of."""
        known = kind.groups.get((low, high))
        if known is not None:
            return self.kinds[known]
        if len(self.kinds) >= MAX_KINDS:
            return kind
        around = min(
            ((edge, k) for edge, k in kind.groups.items() if edge[0] <= low and high <= edge[1]),
            key=lambda item: item[0][1] - item[0][0],
            default=((0, COARSE_BINS), kind.index),
        )
        groups = kind.sizes
        assert groups is not None
        is_most = groups.share(low, high, *around[0]) >= _MOST_PART
        sub = self._part_of(kind, around[1] if is_most else None)
        self.kinds.append(sub)
        kind.groups[low, high] = sub.index
        return sub

    def new_cell(self, *, may_switch: bool) -> list[int]:
        """A second is over: forget old ids, look for cycles and groups of sizes.

        Args:
            may_switch: Whether a cycle may be taken on or given up now.

        Returns:
            Kinds of positions that mean something else from now on.
        """
        anew: list[int] = []
        for kind in self.kinds:
            kind.rotate()
            if kind.sizes is not None:
                kind.sizes.new_cell()
            if kind.positions is not None and kind.positions.new_cell(may_switch=may_switch):
                anew += kind.positions.kinds.values()
        return anew

    def give_up_positions(self, part: Kind) -> None:
        """The cycle of which a kind is a position is in doubt."""
        positions = self.kinds[part.parent or 0].positions
        if positions is not None:
            positions.give_up()
