"""The cycle of interleaved kernels: finds its period in one stage's durations and tells each run's position.

Theory
------
A decode step calls its kernels in a fixed order, so the durations of a stage repeat with the number of
kernels. With x = log(duration) and the runs sorted into phases by index modulo p::

    fit(p) = 1 - sum|x - median of its phase| / sum|x - median of all|     (``livemon.engine.cycle_fit``)

The period is the smallest p whose fit, less what so many phases fit by chance, is within 0.05 of the best
(0.1 for a part of it that fits nearly as well), if the best is > 0.75 over at least three cycles (and nine
runs: two levels alternate by chance too often in less). If the durations hardly differ
there is nothing to tell apart: period 1. Position is the run index modulo p, so lost lines shift
nothing. Without a usable index it is the order of the lines; then a lost line shows as a value that
fits another phase's level, and the next value decides whether the phase has slipped.

The lines that come before the period is known, and those after the pattern breaks, are *held*: their
positions come out later, in order, when it is clear what they are. What can happen after a break:
the same cycle at new levels (a regression, a fix), another period, or no cycle at all. Levels that
have collapsed into one keep their positions. At most ``HOLD`` runs are held.

Departure from plain fitting: an aperiodic stream is searched ever more rarely, so that the work per
run stays constant.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from livemon.engine import cycle_fit
from livemon.engine.cycle_fit import NARROW, ODD, cheapest_slips, discover, has_no_cycle, is_narrow, residual
from livemon.engine.quantiles import median

HOLD = 64
"""Runs held at most before the answer is: no cycle."""
STEADY = 0.25
"""Mean distance (log) from the phase medians below which the old period holds at new levels."""
SAME_LEVEL = 0.2
"""Distance (log) within which a value belongs to another phase's level."""
_FLOOR_MS = 0.01
_LEVEL_RUNS = 5
_STILL = 0.05


class _State(Enum):
    SEARCHING = auto()
    """Nothing known yet: runs are held."""
    LOCKED = auto()
    """A period (1 included) with a level for each phase."""
    BROKEN = auto()
    """The pattern broke: runs are held until it is clear what came instead."""
    APERIODIC = auto()
    """Levels differ without a cycle."""
    FIXED = auto()
    """The criteria give the period, or say that there is none."""


@dataclass(slots=True)
class _Run:
    index: int | None
    order: int
    x: float
    counts: bool
    """False for warm-up: it has a position but teaches nothing."""
    shift: int = 0
    """Lines lost before it, modulo the period, as far as it could be told (without an index)."""


class Cycle:
    """Positions of the runs of one stream in its cycle.

    Every ``update`` returns the phases of the oldest runs that are still without one, in their order:
    none while the runs are held, several when a question is settled. A phase is (position,
    period), (0, 1) where all runs are alike, or ``None`` where they differ without a cycle.

    Args:
        period: A fixed period, ``False`` for none, ``None`` to find it.
        max_period: The longest period looked for.
    """

    def __init__(self, period: int | bool | None = None, max_period: int = 16) -> None:
        self._max_period = max_period
        self._fixed = 0 if period is False else int(period) if period is not None and period is not True else None
        self._state = _State.SEARCHING if self._fixed is None else _State.FIXED
        self._period = max(self._fixed, 1) if self._fixed is not None else 1
        self._by_index = True
        self._held: list[_Run] = []
        self._recent: deque[_Run] = deque(maxlen=3 * max_period + 8)
        self._levels: list[deque[float]] = []
        self._answers: list[list[tuple[int, int] | None]] = []
        """What ``update`` returns for a run of each phase."""
        self._middles: list[float | None] = []
        self._misfits: deque[bool] = deque()
        self._shift = 0
        self._back_slips = 0
        self._order = 0
        self._patience = 8
        self._until_search = 8

    @property
    def period(self) -> int | None:
        """The period in force: 1 for runs that are alike or have no cycle, ``None`` while it is not known."""
        return None if self._state is _State.SEARCHING else self._period

    @property
    def by_index(self) -> bool:
        """Whether positions come from the run index (lost lines shift nothing)."""
        return self._by_index

    @property
    def held(self) -> int:
        """Runs that have no phase yet."""
        return len(self._held)

    def update(self, index: int | None, value_ms: float, *, counts: bool = True) -> list[tuple[int, int] | None]:
        """Take the next run.

        Args:
            index: Its run index; ``None`` if the line has none.
            value_ms: Its duration.
            counts: False for a warm-up run.
        """
        run = _Run(index, self._order, math.log(value_ms if value_ms > _FLOOR_MS else _FLOOR_MS), counts, self._shift)
        self._order += 1
        if counts and self._state is _State.LOCKED and not self._held:
            phases = self._follow_plainly(run)
            if phases is not None:
                return phases
        if self._state is _State.FIXED:
            if not self._fixed:
                return [None]
            return [((run.order if index is None else index) % self._period, self._period)]
        if counts:
            self._recent.append(run)
        if self._state is _State.LOCKED:
            return self._follow(run)
        if self._state is _State.APERIODIC:
            return self._search_rarely(run)
        self._held.append(run)
        return self._settle()

    def finish(self) -> list[tuple[int, int] | None]:
        """The stream has ended: the held runs get the best phase that is known, or none."""
        return self._release()

    # -- while the pattern holds

    def _follow_plainly(self, run: _Run) -> list[tuple[int, int] | None] | None:
        """The same as ``_follow`` for a run that plainly fits, in fewer steps: nearly every run of a session."""
        period = self._period
        phase = (run.index if self._by_index and run.index is not None else run.order + run.shift) % period
        middle = self._middles[phase]
        x = run.x
        if middle is None or not -SAME_LEVEL <= x - middle <= SAME_LEVEL:
            return None
        self._recent.append(run)
        misfits = self._misfits
        misfits.append(False)
        if len(misfits) > 24 and len(misfits) > 4 * period:
            misfits.popleft()
        values = self._levels[phase]
        values.append(x)
        if len(values) < _LEVEL_RUNS or not -_STILL <= x - middle <= _STILL:
            self._middles[phase] = median(values)
        return self._answers[phase]

    def _follow(self, run: _Run) -> list[tuple[int, int] | None]:
        if not run.counts:
            if self._held:
                self._held.append(run)
                return []
            return [self._phase(run)]
        is_misfit = not self._fits(run, self._position(run) % self._period)
        self._misfits.append(is_misfit)
        if len(self._misfits) > max(4 * self._period, 24):
            self._misfits.popleft()
        if not is_misfit and not self._held:
            self._learn(run)
            return [self._phase(run)]
        self._held.append(run)
        if not self._by_index and self._slipped():
            return self._relocked(run) or self._release()
        if not is_misfit:
            return self._relocked(run) or self._release()  # a single odd run, or one phase at a new level
        if len(self._held) > self._period or self._misses_often():
            self._state = _State.BROKEN
            return self._settle()
        return []

    def _misses_often(self) -> bool:
        """Whether so many of the last four cycles do not fit that it can't be one phase's new level."""
        newest = list(self._misfits)[-4 * self._period :]
        return self._period > 1 and len(newest) == 4 * self._period and sum(newest) >= 0.4 * len(newest)

    def _relocked(self, run: _Run) -> list[tuple[int, int] | None]:
        """Look again when the pattern fits with too many exceptions, and lock what is found instead.

        Such are: every sixth run of a "single" class is odd; lines without an index seem to come twice,
        as they do when the cycle is longer than was thought.
        """
        is_doubtful = self._period == 1 and sum(self._misfits) >= 4
        if not is_doubtful and self._back_slips < 2:
            return []
        self._misfits.clear()
        self._back_slips = 0
        found = self._discover(list(self._recent))
        if found is None or (found[0], found[1]) == (self._period, self._by_index):
            return []
        return self._lock(*found)

    def _fits(self, run: _Run, phase: int) -> bool:
        level = self._middles[phase]
        if level is None:
            return True
        off = abs(run.x - level)
        if off <= SAME_LEVEL:
            return True
        if not self._by_index:
            # Without an index a value at another phase's level speaks of a lost line, even when it is not far off.
            nearer = min(SAME_LEVEL, off - 0.1)
            if any(other is not None and abs(run.x - other) < nearer for other in self._middles):
                return False
        return off < NARROW or off < 4 * median([abs(x - level) for x in self._levels[phase]])

    def _slipped(self) -> bool:
        """Whether the newest held run fits again once lost lines are allowed for; then places them all.

        Two runs are the least that can tell a loss from an odd value.
        """
        if len(self._held) < 2 or self._period == 1:
            return False
        costs = [self._distances(run) for run in self._held]
        slips = cheapest_slips(costs)
        if costs[-1][slips[-1]] >= 1.0:
            return False
        for run, slip in zip(self._held, slips, strict=True):
            run.shift += slip
        self._shift += slips[-1]
        self._misfits.clear()
        if self._period > 2 and slips[-1] > self._period // 2:
            self._back_slips += 1
        elif self._order % (8 * self._period) == 0:
            self._back_slips = 0
        return True

    def _distances(self, run: _Run) -> list[float]:
        """How far a run is from the level of each slip, in units of ``SAME_LEVEL``."""
        return [self._distance(run, slip) for slip in range(self._period)]

    def _distance(self, run: _Run, slip: int) -> float:
        level = self._middles[(self._position(run) + slip) % self._period]
        if not run.counts or level is None:
            return 0.0
        return min(abs(run.x - level) / SAME_LEVEL, ODD)

    def _align(self, runs: Sequence[_Run]) -> None:
        """After a break without an index: turn the phases so that they meet the levels known before it."""
        if self._by_index or self._period == 1 or not all(self._levels):
            return
        costs = [
            sum([self._distance(run, slip) for run in runs if run.counts]) / len(runs) for slip in range(self._period)
        ]
        slip = costs.index(min(costs))
        if costs[slip] < 1.0:
            self._shift += slip
            for run in self._held:
                run.shift += slip

    # -- while it does not

    def _settle(self) -> list[tuple[int, int] | None]:
        runs = [run for run in self._held if run.counts]
        xs = [run.x for run in runs]
        was_locked = self._state is _State.BROKEN
        if is_narrow(xs) and not (was_locked and self._has_fallen(xs)):
            return self._lock(1, self._by_index, runs)
        at = [self._position(run) for run in runs]
        if was_locked and len(xs) >= max(4, 2 * self._period) and residual(xs, at, self._period) < STEADY:
            return self._lock(self._period, self._by_index, runs)
        found = self._discover(runs)
        if found is not None:
            return self._lock(*found)
        if len(self._held) >= HOLD or (runs and self._is_aperiodic(runs)):
            if was_locked and self._by_index and cycle_fit.still_shows(xs, at, self._period):
                return self._lock(self._period, True, runs)
            self._state = _State.APERIODIC
            self._period = 1
            self._patience = self._until_search = 8
            return self._release()
        return []

    def _has_fallen(self, xs: Sequence[float]) -> bool:
        """Whether all phases have come down to one low level: a fix, whose positions stay what they were."""
        lowest = min((middle for middle in self._middles if middle is not None), default=-math.inf)
        return self._period > 1 and median(xs) < lowest + SAME_LEVEL

    def _is_aperiodic(self, runs: Sequence[_Run]) -> bool:
        """Whether it is clear that there is no cycle; without an index, lost lines may hide one."""
        indexes = [run.index for run in runs if run.index is not None]
        if len(set(indexes)) < len(runs):
            return False
        return has_no_cycle([run.x for run in runs], indexes, self._max_period, 6)

    def _discover(self, runs: Sequence[_Run]) -> tuple[int, bool, Sequence[_Run]] | None:
        """Period, whether it goes by the index, and the runs that show it."""
        indexes = [run.index for run in runs if run.index is not None]
        if len(indexes) == len(runs) and len(set(indexes)) == len(runs):
            period = discover([run.x for run in runs], indexes, self._max_period)
            if period is not None:
                return period, True, runs
            lengths = {len(runs)}
        else:
            lengths = {min(n, len(runs)) for n in (9, 12, 18, 24, 36, len(runs))}
        # Without an index a lost line spoils what lies before it, so the newest runs are looked at by themselves.
        for length in sorted(lengths):
            newest = runs[-length:]
            period = discover(
                [run.x for run in newest], [run.order for run in newest], self._max_period, is_strict=True
            )
            if period is not None:
                return period, False, newest
        return None

    def _lock(self, period: int, by_index: bool, runs: Sequence[_Run]) -> list[tuple[int, int] | None]:
        if (period, by_index) != (self._period, self._by_index):
            self._shift = 0
            for run in self._recent:
                run.shift = 0
            for run in self._held:
                run.shift = 0
        elif self._state is _State.BROKEN:
            self._align(runs)
        self._state = _State.LOCKED
        self._back_slips = 0
        self._period, self._by_index = period, by_index
        self._levels = [deque(maxlen=_LEVEL_RUNS) for _ in range(period)]
        self._answers = [[(phase, period)] for phase in range(period)]
        self._misfits.clear()
        for run in runs:
            self._levels[self._position(run) % period].append(run.x)
        self._middles = [median(values) if values else None for values in self._levels]
        if not by_index and period > 1 and len(runs) < len(self._held):
            self._place_earlier(len(self._held) - len(runs))
        phases = [self._phase(run) for run in self._held]
        self._held.clear()
        return phases

    def _place_earlier(self, count: int) -> None:
        """Runs before those that showed the period: lines may have been lost between them."""
        earlier = self._held[:count][::-1]
        for run, slip in zip(earlier, cheapest_slips([self._distances(run) for run in earlier]), strict=True):
            run.shift += slip

    def _search_rarely(self, run: _Run) -> list[tuple[int, int] | None]:
        self._until_search -= 1
        if self._until_search <= 0 and run.counts:
            runs = list(self._recent)
            found = (1, self._by_index, runs[-12:]) if is_narrow([r.x for r in runs[-12:]]) else self._discover(runs)
            if found is not None:
                self._lock(*found)
                return [self._phase(run)]
            self._patience = min(self._patience + self._patience // 2, 256)
            self._until_search = self._patience
        return [None]

    # -- positions

    def _position(self, run: _Run) -> int:
        if self._by_index and run.index is not None:
            return run.index
        return run.order + run.shift

    def _phase(self, run: _Run) -> tuple[int, int] | None:
        if self._state is not _State.LOCKED:
            return None
        return self._position(run) % self._period, self._period

    def _learn(self, run: _Run) -> None:
        if not run.counts:
            return
        phase = self._position(run) % self._period
        values, middle = self._levels[phase], self._middles[phase]
        values.append(run.x)
        # A value close to the middle hardly moves it: the median is only taken anew where it may have moved.
        if middle is None or len(values) < _LEVEL_RUNS or abs(run.x - middle) > _STILL:
            self._middles[phase] = median(values)

    def _release(self) -> list[tuple[int, int] | None]:
        if self._state is _State.LOCKED:
            for run in self._held:
                self._learn(run)
        phases = [self._phase(run) for run in self._held]
        self._held.clear()
        return phases
