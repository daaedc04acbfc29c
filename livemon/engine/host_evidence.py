"""Units as evidence: one row per unit with all that the onset and recovery watches look at."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from livemon.engine.host_baseline import CLIP, CLIP_ALONE, CLIP_DOWN, FASTER, NAT, WAYS, KindBaseline
from livemon.engine.host_positions import is_doubtful
from livemon.engine.host_units import Kind, Units
from livemon.engine.logbins import FINE, Floats, Ints, fine_bins, fine_of_ratio, value_of
from livemon.engine.long_units import long_units
from livemon.engine.unit_sizes import APART
from livemon.model.criteria import HostSlow

Evidence32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

STAGE_WAYS = (1, 2, 3)
"""The ways that are tested on one stage alone; the smallest slowdown is too near to drift there."""
WALL, SIZE = -2, -1
"""Positions of the wall time and the size among a kind's watched columns."""
MAX_STAGES = 16
"""Stage names that are watched one by one."""
_LIGHT_UNITS = 40.0
"""What a mixture's past counts in the kinds of its positions."""
_PART = 0.35
"""Share of units that a partial slowdown is taken to hit."""
_MIXED: Evidence32 = np.rint(NAT * np.log((1 - _PART) + _PART * np.exp(np.arange(CLIP_DOWN, CLIP + 1) / NAT))).astype(
    np.int32
)


@dataclass(slots=True)
class KindRows:
    """The rows of one kind in a block."""

    rows: Ints
    fine: Ints
    """Fine bins of the watched columns, (rows, columns)."""


@dataclass(slots=True)
class Block:
    """Rows in the order in which they are judged."""

    arrival: Ints
    start: Ints
    end: Ints
    wall: Ints
    tau: Ints
    """State time, ns: goes on with the units' own time, is not moved by clock steps and stalls."""
    unit: Evidence32
    """Evidence of the unit, (rows, WAYS)."""
    stage: Evidence32
    """Evidence of each stage alone, (rows, stages * len(STAGE_WAYS))."""
    stage_high: Flags
    """Whether that stage is well above its healthy median, like ``stage``."""
    ratio: Ints
    """Median log ratio to the healthy state in fine bins, (rows,)."""
    ready: Flags
    """Whether the unit's kind has a healthy state to compare with."""
    kinds: dict[int, KindRows]
    kind_of_row: Ints
    long: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Rows that are long units (see ``long_units``): their host time and the usual one, ms."""
    host_slow: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Whether the unit is host-slow by the rule of the transitions; set by their study, like the next two."""
    told: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Whether that is known."""
    counted: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Whether its class counts there."""

    def __len__(self) -> int:
        return len(self.arrival)

    def chill(self, cold: Flags, woken: Flags) -> Flags:
        """Let cold units count for little; which units may be learned.

        A kind may pause because another kind's unit goes on: a long unit is cold only where all units are.
        """
        if self.long:
            self.long = {row: told for row, told in self.long.items() if not woken[row]}
            cold[list(self.long)] = False
        self.unit[cold] = np.minimum(self.unit[cold], NAT)
        self.stage[cold] = np.minimum(self.stage[cold], NAT)
        return ~cold

    def mixed(self, rows: slice) -> Evidence32:
        """Evidence for a slowdown that hits a part of the units, (rows, WAYS)."""
        return _MIXED[self.unit[rows] - CLIP_DOWN]


class EvidenceMaker:
    """Keeps the healthy state of every kind and weighs units against it."""

    def __init__(self, criteria: HostSlow) -> None:
        self._criteria = criteria
        self.baselines: list[KindBaseline] = []
        self.columns: list[tuple[int, ...]] = []
        """Watched columns of each kind: host stages first, then device and CPU columns.

        After them come the wall time (``WALL``) and the size (``SIZE``).
        """
        self._stages: dict[str, int] = {}
        self.is_low_rate = False
        self._high = fine_of_ratio(criteria.min_slowdown)

    @property
    def stages(self) -> list[str]:
        """Names of the stages watched one by one, in the order of their columns."""
        return list(self._stages)

    def meet(self, kinds: list[Kind]) -> None:
        """Make room for kinds that have appeared."""
        for kind in kinds[len(self.baselines) :]:
            columns = (*kind.host, *kind.device, *kind.cpu)
            self.columns.append(columns)
            made = KindBaseline(len(kind.host), len(columns) + 2)
            self.baselines.append(made if kind.parent is None else self._copied(kind))
            for k in kind.host:
                if kind.names[k] not in self._stages and len(self._stages) < MAX_STAGES:
                    self._stages[kind.names[k]] = len(self._stages)

    def _copied(self, kind: Kind) -> KindBaseline:
        """The healthy state of the parent, for a kind that goes on with it; light for a position of its cycle."""
        made = copy.deepcopy(self.baselines[kind.parent or 0])
        if kind.position is not None:
            made.move(0, _LIGHT_UNITS)
        return made

    def renew(self, kinds: Iterable[Kind]) -> None:
        """Let kinds go on with their parents' healthy states anew."""
        for kind in kinds:
            if kind.index < len(self.baselines):
                self.baselines[kind.index] = self._copied(kind)

    def is_doubtful(self, kind: Kind, kinds: list[Kind], blocks: Iterable[tuple[Block, Ints]]) -> bool:
        """Whether rows of blocks do not show the cycle (any more) that a kind is a position of."""
        if kind.position is None:
            return False
        parts = {k.index: k.position for k in kinds if k.parent == kind.parent and k.position is not None}
        parts = {k: at for k, at in parts.items() if at[0] == kind.position[0] and k < len(self.baselines)}
        if len(parts) < kind.position[0]:
            return False
        levels = [0.0] * kind.position[0]
        for k, (_, at) in parts.items():
            levels[at] = float(self.baselines[k].median[: self.baselines[k].hosts].mean()) * FINE
        logs: list[float] = []
        positions: list[int] = []
        for block, rows in blocks:
            for k in parts.keys() & block.kinds.keys():
                part = block.kinds[k]
                fine = part.fine[np.isin(part.rows, rows), : self.baselines[k].hosts]
                logs += (fine.mean(axis=1) * FINE).tolist()
                positions += [parts[k][1]] * len(fine)
        return is_doubtful(logs, positions, levels)

    def is_ready(self, kind: int) -> bool:
        """Whether a kind's warm-up is over."""
        c = self._criteria
        return self.baselines[kind].learned >= (c.low_rate_warmup_units if self.is_low_rate else c.warmup_units)

    def healthy_ms(self, stage: str, kinds: list[Kind], block: Block) -> dict[int, float]:
        """Healthy median of a stage for the kinds of a block that have it and are past their warm-up, ms."""
        found = {}
        for k in block.kinds:
            column = kinds[k].names.index(stage) if stage in kinds[k].names else -1
            if column in self.columns[k] and self.is_ready(k):
                found[k] = value_of(float(self.baselines[k].median[self.columns[k].index(column)]))
        return found

    def fine(self, kind: int, units: Units, rows: Ints) -> Ints:
        """Fine bins of the watched columns of some units of one kind."""
        columns = self.columns[kind]
        values = np.empty((len(rows), len(columns) + 1))
        values[:, : WALL + 1] = units.values[kind][units.row[rows]][:, columns]
        values[:, WALL + 1] = units.wall[rows] / 1e6
        fine = np.empty((len(rows), len(columns) + 2), np.int64)
        fine[:, :SIZE] = fine_bins(values)
        fine[:, SIZE] = units.size[rows]
        return fine

    def weigh(self, units: Units, tau: Ints, kinds: list[Kind]) -> Block:
        """Rows of evidence for units."""
        self.meet(kinds)
        c = self._criteria
        n = len(units)
        width = len(self._stages) * len(STAGE_WAYS)
        unit = np.zeros((n, WAYS), np.int32)
        stage = np.zeros((n, width), np.int32)
        high = np.zeros((n, width), np.bool_)
        ratio = np.zeros(n, np.int64)
        ready = np.zeros(n, np.bool_)
        by_kind: dict[int, KindRows] = {}
        long: dict[int, tuple[float, float]] = {}
        for k in units.values:
            rows = np.flatnonzero(units.kind == k)
            if not len(rows):
                continue
            fine = self.fine(k, units, rows)
            by_kind[k] = KindRows(rows, fine)
            if not self.is_ready(k):
                if c.absolute_ms is not None and c.absolute_stage in kinds[k].names:
                    values = units.values[k][units.row[rows], kinds[k].names.index(c.absolute_stage)]
                    unit[rows] = np.where(values > c.absolute_ms, CLIP_ALONE, CLIP_DOWN)[:, None]
                    ratio[rows] = np.where(values > c.absolute_ms, self._high, 0)
                    ready[rows] = True
                continue
            baseline, kind = self.baselines[k], kinds[k]
            stages, whole, log_ratio = baseline.evidence(fine)
            other = np.zeros(len(rows), np.bool_)
            if kind.label is None:
                # A size that was never seen is other work, not slow work.
                other = baseline.is_strange(fine[:, SIZE], APART["device" if kind.device else "rest"])
                stages[other], whole[other] = 0, 0
            if len(baseline.used) < 3:
                whole[~other, 0] = CLIP_DOWN  # one or two stages drift too easily for the smallest slowdown
            unit[rows] = whole
            ratio[rows] = log_ratio
            ready[rows] = ~other
            if units.wall[rows].max() >= c.long_unit_s * 1e9:
                for row, told in self._long(units.values[k][units.row[rows]], fine, kind).items():
                    if not other[row]:
                        at = int(rows[row])
                        long[at] = told
                        unit[at] = baseline.clip
                        ratio[at] = fine_of_ratio(told[0] / told[1])
            for position, column in enumerate(kind.host):
                number = self._stages.get(kind.names[column])
                if number is None or position not in baseline.used:
                    continue
                at = number * len(STAGE_WAYS)
                stage[rows, at : at + len(STAGE_WAYS)] = stages[:, position, STAGE_WAYS]
                above = fine[:, position] - baseline.median[position] >= self._high
                high[rows, at : at + len(STAGE_WAYS)] = above[:, None]
        times = (units.arrival, units.start, units.end, units.wall, tau)
        return Block(*times, unit, stage, high, ratio, ready, by_kind, units.kind, long)

    def _long(self, values: Floats, fine: Ints, kind: Kind) -> dict[int, tuple[float, float]]:
        device = values[:, kind.device]
        return long_units(
            values[:, kind.host], device, fine, self.baselines[kind.index], len(kind.device), self._criteria
        )

    def speedup(self, block: Block) -> Evidence32:
        """Evidence of rows that they are faster than what was learned, (rows, len(FASTER))."""
        out = np.zeros((len(block), len(FASTER)), np.int32)
        for k, part in block.kinds.items():
            if self.is_ready(k):
                out[part.rows] = self.baselines[k].speedup(part.fine)
        out[~block.ready] = 0
        return out
