"""When an episode begins and when it is over, row by row and exact.

Onset: three banks of cumulative sums (``host_cusum``) over the evidence of the units; and the long unit, which
needs no second one (``long_units``).

=========  =====================================  ==========================================
bank       adds up                                 for
=========  =====================================  ==========================================
``all``    a unit's evidence                       a slow host: every unit, most stages
``part``   ln(0.65 + 0.35 e^evidence)              a part of the units (threads that bounce)
``stage``  one stage's evidence                    one stage of the host side alone
``long``   one unit that lasted for many           a host so slow that few units end
=========  =====================================  ==========================================

With an exact healthy state a sum reaches h about once in e^h units by chance (Lorden). On top each
bank wants a number of slow units, a least duration (short bursts and cold wakes are no episode) and a
median slowdown. Thread counters that move while a sum is up add to it and lower the number of units.

Recovery, whichever comes first:

- reverse evidence adds up on normal units and is taken back by slow ones; the episode ends with its last
  slow unit, when the reverse evidence is enough, time has passed without a slow unit, and more normal
  units in a row came than the share of slow ones makes likely;
- where single units tell little (one noisy stage), a cumulative sum of the evidence for "healthy" against
  "this share of the units is slow": the episode ends where the sum's run began.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from livemon.engine.host_baseline import CLIP, CLIP_DOWN, NAT, WAYS
from livemon.engine.host_cusum import Cusum, Sums
from livemon.engine.host_evidence import STAGE_WAYS, Block, Flags
from livemon.engine.logbins import Ints, fine_of_ratio
from livemon.model.criteria import HostSlow

COUNTERS_ADD = 6 * NAT
"""What a tick whose threads have moved adds to a sum that is up."""
COUNTERS_LAST_NS = 250_000_000
"""How long such a tick lowers the number of units."""
_SMALL_FACTOR = 1.5
"""The smallest slowdown wants this many times the evidence …"""
_SMALL_RUN_NS = 500_000_000
"""… and this long a run."""
_NORMAL_NEEDED: Ints = np.array(
    [math.ceil(math.log(1e-4) / math.log1p(-min(max(percent, 10), 98) / 100)) for percent in range(101)]
)
"""Normal units in a row that chance makes rarer than 1 in 10,000, by percent of slow units in the episode."""
_HEALTHY: Ints = np.array(
    [
        [-round(NAT * math.log1p(share / 10 * math.expm1(x / NAT))) for x in range(CLIP_DOWN, CLIP + 1)]
        for share in range(10)
    ]
)
"""Evidence for "healthy" against "slow in so many tenths of the units", by tenths and a unit's evidence."""
_HEALTHY_LEVEL = 16 * NAT
_HEALTHY_UNITS = 6
_LONG_WAY = 1
"""An episode that a long unit has opened goes on while units are this much slower."""
LATEST = 24
"""Newest units in which a partial slowdown must still show."""
_LATEST_ALL = 6
_LATEST_PART = 2
"""Slow units in the newer half of them."""
_GATE = 0.4
"""Of a bank's threshold: time in which a sum was above it is not learned."""
FULL_HEIGHT = 1024 / _GATE
"""Height (see ``OnsetWatch.update``) at which the evidence is that of an episode."""


@dataclass(frozen=True, slots=True)
class Onset:
    """A bank has reached its conditions."""

    row: int
    """Row of the block at which it did."""
    bank: str
    way: int
    """Which slowdown (index of ``SHIFTS``) fits best."""
    stage: int | None
    """Number of the stage, for the bank ``stage``."""
    start: int
    """When the run began, ns."""
    long_ms: tuple[float, float] | None = None
    """For the bank ``long``: host time of the unit and the usual one."""


def _starts_of(block: Block, rows: slice) -> tuple[Ints, Ints]:
    """The two clocks of a run: state time and real time of a unit's submission."""
    return block.tau[rows] - np.minimum(block.wall[rows], block.tau[rows]), block.start[rows]


class OnsetWatch:
    """The three banks, side by side in one set of sums: ``all``, then ``part``, then ``stage``."""

    def __init__(self, criteria: HostSlow) -> None:
        c = criteria
        self._c = c
        self._sums = Cusum(2 * WAYS, 3)
        self._strong = fine_of_ratio(c.min_slowdown)
        self._latest: Flags = np.zeros((0, 2 * WAYS), np.bool_)
        """Whether each of the newest units was slow."""
        self._moved_ns: int | None = None
        self.is_sparse = False
        """Units come so rarely that one less is enough, and half the run where threads agree."""
        self._limits(0)

    def _limits(self, stage_columns: int) -> None:
        """Conditions of every column."""
        c = self._c
        parts = (WAYS, WAYS, stage_columns)
        self._level: Ints = _each(parts, (c.threshold * NAT, c.partial_threshold * NAT, c.stage_threshold * NAT))
        self._gate: Ints = (self._level * _GATE).astype(np.int64)
        self._units: Ints = _each(parts, (c.min_units, c.partial_min_units, c.stage_min_units))
        self._run: Ints = _each(parts, (c.min_run_s * 1e9, c.partial_min_run_s * 1e9, c.stage_min_run_s * 1e9))
        self._level[0] = round(c.threshold * NAT * _SMALL_FACTOR)
        self._run[0] = max(int(self._run[0]), _SMALL_RUN_NS)

    def clear(self) -> None:
        """Forget all evidence."""
        self._sums.clear()
        self._moved_ns = None

    def bump(self, arrival_ns: int, tau: int) -> Onset | None:
        """Threads have moved in the tick at that time: count it where evidence is up already.

        Args:
            arrival_ns: Time of the tick.
            tau: State time of the last unit.
        """
        bank = self._sums
        whole = slice(0, WAYS)
        level = bank.level[whole]
        if not (level > 0).any():
            return None
        level[level > 0] += COUNTERS_ADD
        self._moved_ns = arrival_ns
        slow, strong, ready = (count[whole] for count in bank.counts)
        opened = (
            (level >= self._level[whole])
            & (slow >= min(self._c.min_units, self._c.min_units_with_counters))
            & (tau - bank.started[0, whole] >= self._run_with_counters)
            & (2 * strong >= ready)
        )
        if len(self._latest):
            opened &= self._latest[-1, whole]  # a burst that is over opens nothing
        if not opened.any():
            return None
        column = int(np.where(opened, level, -1).argmax())
        return Onset(-1, "all", column, None, int(bank.started[1, column]))

    @property
    def _run_with_counters(self) -> Ints:
        """How long a run of the bank ``all`` must be where threads have moved."""
        run = self._run[:WAYS]
        return run // 2 if self.is_sparse else run

    def _units_needed(self, arrival: Ints) -> Ints:
        """Slow units that the bank ``all`` wants at each row."""
        needed = np.full(len(arrival), max(self._c.min_units - self.is_sparse, 1))
        if self._moved_ns is not None:
            near = arrival <= self._moved_ns + COUNTERS_LAST_NS
            needed[near] = np.minimum(needed[near], self._c.min_units_with_counters)
        return needed

    def update(self, block: Block, rows: slice) -> tuple[Onset | None, Ints]:
        """Work through rows until an onset; how far each row's highest sum is up, as share of its gate x 1024.

        The state is left after the row of the onset, else after the last row.
        """
        width = 2 * WAYS + block.stage.shape[1]
        if width != len(self._level):
            self._sums.grow(width)
            self._limits(width - 2 * WAYS)
        ready = block.ready[rows]
        strong = (block.ratio[rows] >= self._strong) & ready
        unit = block.unit[rows]
        n = len(unit)
        evidence = np.empty((n, width), np.int32)
        slow, high = np.empty((2, n, width), np.bool_)
        told = np.empty((n, width), np.bool_)
        evidence[:, :WAYS] = unit
        np.multiply(block.mixed(rows), ready[:, None], out=evidence[:, WAYS : 2 * WAYS])
        evidence[:, 2 * WAYS :] = block.stage[rows]
        np.greater(evidence, 0, out=slow)
        slow[:, WAYS : 2 * WAYS] = slow[:, :WAYS]
        high[:, :WAYS] = strong[:, None]
        high[:, WAYS : 2 * WAYS] = slow[:, :WAYS] & strong[:, None]
        high[:, 2 * WAYS :] = block.stage_high[rows] & slow[:, 2 * WAYS :]
        told[:] = ready[:, None]
        sums = self._sums.run(evidence, slow, high, told)
        clocks = _starts_of(block, rows)
        opened = sums.level >= self._level
        height = (sums.level * 1024 // self._gate).max(axis=1)
        row, onset = n - 1, None
        if np.logical_or.reduce(opened, axis=None):
            # A sum stays up for a while after a stretch that was too short: only a slow unit opens an episode.
            opened &= slow & self._conditions(sums, block.tau[rows], clocks, block.arrival[rows])
            opened[:, : 2 * WAYS] &= self._still_slow(slow[:, : 2 * WAYS], sums.counts[0][:, : 2 * WAYS])
            hit = np.asarray(opened.any(axis=1))
            if hit.any():
                row = int(hit.argmax())
                onset = self._choose(row, clocks[1], sums, opened[row])
        long = next((r - rows.start for r in sorted(block.long) if rows.start <= r <= rows.start + row), None)
        if long is not None and (onset is None or long < row):
            row, onset = long, self._long(long, block, rows, sums, clocks[1])
        self._sums.commit(sums, row, *clocks)
        self._latest = np.concatenate([self._latest, slow[: row + 1, : 2 * WAYS]])[-LATEST:]
        return onset, height[: row + 1]

    def _long(self, row: int, block: Block, rows: slice, sums: Sums, start: Ints) -> Onset:
        """One unit opens an episode; units that were slow before it belong to it."""
        way = int(sums.level[row, :WAYS].argmax())
        began = int(self._sums.begins(sums, start, 1)[row, way])
        at = rows.start + row
        return Onset(row, "long", _LONG_WAY, None, min(began, int(block.start[at])), block.long[at])

    def _still_slow(self, slow: Flags, in_run: Ints) -> Flags:
        """Where the newest units are slow too, (rows, 2 * WAYS): a burst that is over opens nothing."""
        tally = np.cumsum(np.concatenate([self._latest, slow]), axis=0)
        rows = np.arange(len(self._latest), len(tally))
        before = np.zeros((1, tally.shape[1]), np.int64)
        padded = np.concatenate([before, tally])
        newest = tally[rows] - padded[np.maximum(rows + 1 - _LATEST_ALL, 0)]
        recent = tally[rows] - padded[np.maximum(rows + 1 - LATEST, 0)]
        still: Flags = newest >= np.minimum(in_run, _LATEST_ALL // 2)
        half = tally[rows] - padded[np.maximum(rows + 1 - LATEST // 2, 0)]
        still[:, WAYS:] = (recent[:, WAYS:] >= self._c.partial_min_share * LATEST) & (half[:, WAYS:] >= _LATEST_PART)
        return still

    def _conditions(self, sums: Sums, tau: Ints, clocks: tuple[Ints, Ints], arrival: Ints) -> Flags:
        """Where the runs are long, slow and populated enough, (rows, columns)."""
        slow, high, told = sums.counts
        run_ns = tau[:, None] - self._sums.begins(sums, clocks[0], 0)
        met = run_ns >= self._run
        if self.is_sparse and self._moved_ns is not None:
            near = (arrival <= self._moved_ns + COUNTERS_LAST_NS)[:, None]
            met[:, :WAYS] |= near & (run_ns[:, :WAYS] >= self._run_with_counters)
        needed = np.broadcast_to(self._units, slow.shape).copy()
        needed[:, :WAYS] = self._units_needed(arrival)[:, None]
        met &= slow >= needed
        met[:, :WAYS] &= 2 * high[:, :WAYS] >= told[:, :WAYS]
        met[:, WAYS:] &= 2 * high[:, WAYS:] >= slow[:, WAYS:]
        part = slice(WAYS, 2 * WAYS)
        met[:, part] &= slow[:, part] >= self._c.partial_min_share * told[:, part]
        return met

    def _choose(self, row: int, start: Ints, sums: Sums, opened: Flags) -> Onset:
        """The bank and slowdown that explain the run best, in the order of the banks."""
        for name, columns in (
            ("all", slice(0, WAYS)),
            ("part", slice(WAYS, 2 * WAYS)),
            ("stage", slice(2 * WAYS, len(opened))),
        ):
            if opened[columns].any():
                at = int(np.where(opened[columns], sums.level[row, columns], -1).argmax())
                begin = int(self._sums.begins(sums, start, 1)[row, columns.start + at])
                if name == "stage":
                    return Onset(row, name, STAGE_WAYS[at % len(STAGE_WAYS)], at // len(STAGE_WAYS), begin)
                return Onset(row, name, at, None, begin)
        raise AssertionError("no bank has opened")


def _each(counts: tuple[int, ...], values: tuple[float, ...]) -> Ints:
    """Each value as often as its count says, as whole numbers."""
    return np.repeat(np.rint(np.array(values)).astype(np.int64), counts)


@dataclass(slots=True)
class Recovery:
    """How far an open episode's recovery is after a batch of rows."""

    row: int | None
    """The row at which it was over; ``None``: it goes on."""
    slow: Flags
    """Which rows were slow, up to that row."""
    end_ns: int | None = None
    """When it was over, where that is not the end of the last slow unit."""


class RecoveryWatch:
    """Reverse evidence in an open episode."""

    def __init__(self, criteria: HostSlow, onset: Onset, tau: int) -> None:
        self._c = criteria
        self.way = onset.way
        self._stage = onset.stage
        self._sum = Cusum(1, 0)
        self._healthy = Cusum(1, 1)
        self._last_slow_tau = tau
        self._normal = 0
        """Normal units since the last slow one."""
        self.slow_units = 0
        self.units = 0

    def evidence(self, block: Block, rows: slice) -> Ints:
        """Evidence for slowness of each row under the episode's own slowdown."""
        if self._stage is None:
            return block.unit[rows, self.way].astype(np.int64)
        at = self._stage * len(STAGE_WAYS) + STAGE_WAYS.index(max(self.way, STAGE_WAYS[0]))
        return block.stage[rows, at].astype(np.int64)

    def update(self, block: Block, rows: slice) -> Recovery:
        """Work through rows until the episode is over."""
        c = self._c
        evidence = self.evidence(block, rows)
        n = len(evidence)
        # A row of an unknown kind, or without the stage, says nothing.
        tells = block.ready[rows] & (evidence != 0)
        slow = tells & (evidence > 0)
        reverse = np.clip(-evidence, NAT // 2, 4 * NAT)
        reverse = np.where(slow, -4 * NAT, np.where(tells, reverse, 0))
        sums = self._sum.run(reverse[:, None].astype(np.int32))
        tau = block.tau[rows]
        number = np.arange(n)
        last = np.maximum.accumulate(np.where(slow, number, -1))
        last_tau = np.where(last >= 0, tau[np.maximum(last, 0)], self._last_slow_tau)
        tally = np.cumsum(tells & ~slow)
        normal = np.where(last >= 0, tally - tally[np.maximum(last, 0)], tally + self._normal)
        slow_units = self.slow_units + np.cumsum(slow)
        units = self.units + np.cumsum(tells)
        percent = np.clip(100 * (slow_units + 1) // np.maximum(units - normal + 2, 1), 0, 100)
        enough = normal >= _NORMAL_NEEDED[percent]
        over = (sums.level[:, 0] >= c.end_evidence * NAT) & enough & (tau - last_tau >= c.end_quiet_s * 1e9)
        over &= ~slow
        # The other way: a sum of evidence for "healthy" against "this share is slow".
        share = np.clip((10 * slow_units) // np.maximum(units, 1), 2, 9)
        healthy = np.where(tells, _HEALTHY[share, evidence - CLIP_DOWN], 0)
        back = self._healthy.run(healthy[:, None].astype(np.int32), tells[:, None])
        clocks = _starts_of(block, rows)
        began = self._healthy.begins(back, clocks[0], 0)[:, 0]
        over_too = (back.level[:, 0] >= _HEALTHY_LEVEL) & (back.counts[0][:, 0] >= _HEALTHY_UNITS)
        over_too &= tau - began >= c.end_quiet_s * 1e9
        ended = bool(over.any() or over_too.any())
        row = int((over | over_too).argmax()) if ended else n - 1
        end_ns = int(self._healthy.begins(back, clocks[1], 1)[row, 0]) if ended and not over[row] else None
        self._sum.commit(sums, row)
        self._healthy.commit(back, row, *clocks)
        self._last_slow_tau = int(last_tau[row])
        self._normal = int(normal[row])
        self.slow_units, self.units = int(slow_units[row]), int(units[row])
        return Recovery(row if ended else None, slow[: row + 1], end_ns)
