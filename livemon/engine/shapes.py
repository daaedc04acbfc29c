"""The shape of a record: which of its stages play which role, looked up once per set of names."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from livemon.engine.roles import CPU, DEVICE, FINALIZE, TOTAL, UNACCOUNTED, RoleTable
from livemon.model.criteria import Criteria
from livemon.model.samples import StageValues, TimingRecord

_first = itemgetter(0)
_second = itemgetter(1)
OVERLAP_TOLERANCE = 1.02
"""Parts may exceed their total by 2 % (rounding in the line) before they count as overlapping."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Stage names of one kind of line with their roles, and where each role stands.

    A table makes one of each kind, so it is told apart by identity: it is a key on every record's path.
    """

    names: tuple[str, ...]
    roles: tuple[str, ...]
    finalize: tuple[int, ...]
    device: tuple[int, ...]
    total: int | None
    """The line's own total; ``None`` if it states none."""
    parts: tuple[int, ...]
    """Stages that are parts of the wall time: everything but totals and CPU time."""

    def total_ms(self, values: tuple[float, ...]) -> float | None:
        """The unit's wall time as the line states it; ``None`` without a total."""
        return None if self.total is None else values[self.total]

    def wall_ms(self, values: tuple[float, ...]) -> float:
        """The unit's wall time: its total, else the sum of its parts, which is a lower bound."""
        return values[self.total] if self.total is not None else sum([values[k] for k in self.parts])

    def unaccounted_ms(self, values: tuple[float, ...]) -> float | None:
        """Total minus the parts; ``None`` without a total or parts, or where the parts overlap."""
        if self.total is None or not self.parts:
            return None
        total = values[self.total]
        rest = total - sum([values[k] for k in self.parts])
        if rest >= 0:
            return rest
        return 0.0 if total - rest <= total * OVERLAP_TOLERANCE else None


class ShapeTable:
    """Shapes by stage names under one set of criteria."""

    def __init__(self, criteria: Criteria) -> None:
        self._roles = RoleTable(criteria.roles)
        self._known: dict[tuple[str, ...], Shape] = {}

    def of(self, stages: StageValues) -> tuple[Shape, tuple[float, ...]]:
        """The shape of a line and its values in ms, in the line's order."""
        return self.named(tuple(map(_first, stages))), tuple(map(_second, stages))

    def named(self, names: tuple[str, ...]) -> Shape:
        """The shape of lines with these stages."""
        shape = self._known.get(names)
        if shape is None:
            shape = self._make(names)
            if len(self._known) < 10_000:
                self._known[names] = shape
        return shape

    def role(self, stage: str) -> str:
        """Role of a stage name; ``unaccounted`` is its own role."""
        return UNACCOUNTED if stage == UNACCOUNTED else self._roles.role(stage)

    def _make(self, names: tuple[str, ...]) -> Shape:
        roles = tuple(self.role(name) for name in names)
        totals = [k for k, role in enumerate(roles) if role == TOTAL]
        given = [k for k in totals if self._roles.is_given(names[k])]
        named = [k for k in totals if names[k] == TOTAL]
        device = tuple(k for k, role in enumerate(roles) if role == DEVICE)
        given_device = tuple(k for k in device if self._roles.is_given(names[k]))
        return Shape(
            names=names,
            roles=roles,
            finalize=tuple(k for k, role in enumerate(roles) if role == FINALIZE),
            device=given_device or device,
            total=next(iter(given + named + totals), None),
            parts=tuple(k for k, role in enumerate(roles) if role not in (TOTAL, CPU, UNACCOUNTED)),
        )


def start_ns(record: TimingRecord, wall_ms: float) -> int:
    """When the unit began: exact where the line says so, else its end minus its wall time."""
    return record.start_ns if record.start_ns is not None else record.t_ns - round(wall_ms * 1e6)
