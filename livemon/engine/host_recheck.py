"""After an episode: the healthy state, frozen while it lasted, is checked against the units that came then.

The end of an episode says that units are no longer slow, not that they are where they were before. So
nothing is learned until some seconds of units are there, and their level is compared with that of the
last seconds before the onset, both against the same frozen healthy state, kind by kind:

- within ``recheck_ratio``: the healthy state stands, and what was held back is learned;
- beyond it for three times as long, steadily, and in the quartiles as well as in the median (a mix of
  modes that shifts moves the median alone): a level shift. The healthy state is moved there, its past
  counts no more than the units that show the new level;
- anything else is a recovery that goes on: the newest seconds are looked at, for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from livemon.engine.host_evidence import EvidenceMaker
from livemon.engine.host_learning import Cell, Learning
from livemon.engine.host_level import Levels, levels
from livemon.engine.logbins import fine_of_ratio, ratio_of
from livemon.model.criteria import HostSlow

_WINDOWS = 3
"""Times that a shift must last as long as what shows that there is none."""
_PATIENCE = 10
"""Such times after which no level is steady enough to tell."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the check came to."""

    text: str
    ratio: float | None = None
    """Level after against the level before."""


class Recheck:
    """The check after one episode.

    Args:
        criteria: How long, how many units, how far.
        before: Levels before the onset.
        end_ns: End of the episode.
        maker: Holds the healthy states.
        learning: Holds back what comes.
    """

    def __init__(
        self, criteria: HostSlow, before: Levels, end_ns: int, maker: EvidenceMaker, learning: Learning
    ) -> None:
        self._c = criteria
        self._before = before
        self._end_ns = end_ns
        self._maker = maker
        self._learning = learning
        self._tolerance = max(fine_of_ratio(criteria.recheck_ratio), 1)
        self._cells = 0
        self._held: deque[tuple[Cell, bool]] = deque()
        learning.held, learning.held_kinds = self._held, before.keys()
        self._newest = -1

    def update(self) -> Outcome | None:
        """A second is over: what the check came to, ``None`` while it goes on."""
        held = self._held
        if not held or held[-1][0].number == self._newest:
            return None
        self._newest = held[-1][0].number
        self._cells += 1
        windows = self._windows()
        if not windows:
            return None
        cells = windows[0]
        found = self._levels(cells)
        shifts = self._shifts(found)
        if shifts and not any(shifts.values()):
            self._close(cells)
            return self._told("back to the level before it", found, cells)
        steady = self._steady(windows) if len(windows) == _WINDOWS else {}
        if steady:
            everything = [cell for cell, _ in held]
            for k, (shift, units) in steady.items():
                self._maker.baselines[k].move(round(shift), float(units))
            self._close(everything, whole=True)
            found = self._levels(everything)
            return self._told("level shift, taken as the new normal", found, everything)
        if self._cells > _PATIENCE * len(cells):
            self._close([])
            return Outcome("no steady level followed that could be compared with the one before it")
        return None

    def _windows(self) -> list[list[Cell]]:
        """The newest seconds, newest window first, each long and populated enough; older ones are let go."""
        out: list[list[Cell]] = []
        cells: list[Cell] = []
        rows = used = 0
        for cell, _ in reversed(self._held):
            cells.append(cell)
            rows += cell.rows
            used += 1
            if len(cells) >= self._c.recheck_s and rows >= self._c.recheck_units:
                out.append(cells[::-1])
                cells, rows = [], 0
                if len(out) == _WINDOWS:
                    break
        if len(out) == _WINDOWS:
            while len(self._held) > used:
                self._held.popleft()
        return out

    def _levels(self, cells: Iterable[Cell]) -> Levels:
        return levels((block for cell in cells for block in cell.blocks), since_ns=self._end_ns)

    def _shifts(self, found: Levels) -> dict[int, float]:
        """Shift of each kind known from before, 0 where there is none for sure."""
        out = {}
        for k, level in found.items():
            if (before := self._before.get(k)) is not None:
                off = level.off(before, self._tolerance)
                out[k] = off if abs(off) >= level.noise(before) else 0.0
        return out

    def _steady(self, windows: list[list[Cell]]) -> dict[int, tuple[float, int]]:
        """Kinds that are at one new level in all windows: (shift, units)."""
        parts = [self._levels(cells) for cells in windows]
        whole = self._levels(cell for cells in windows for cell in cells)
        steady = {}
        for k, shift in self._shifts(whole).items():
            offs = [part[k].off(self._before[k], self._tolerance) for part in parts if k in part]
            if shift and offs and all(off and abs(off - shift) < self._tolerance for off in offs):
                steady[k] = shift, whole[k].units
        return steady

    def _told(self, what: str, found: Levels, cells: list[Cell]) -> Outcome:
        told = {k: level for k, level in found.items() if k in self._before}
        units = sum(level.units for level in told.values())
        moved = sum((level.quartiles[1] - self._before[k].quartiles[1]) * level.units for k, level in told.items())
        ratio = ratio_of(moved / units)
        seconds = cells[-1].number - cells[0].number + 1
        return Outcome(f"{what} ({ratio:.2f} times, {units} units in {seconds} s)", ratio)

    def _close(self, cells: list[Cell], *, whole: bool = False) -> None:
        """Learn those of some seconds that were quiet (or all), and go on learning."""
        self._learning.held, self._learning.held_kinds = None, ()
        chosen = [cell for cell in cells if whole or self._quiet(cell)]
        self._learning.learn_units(chosen, self._before.keys(), others=False)

    def _quiet(self, cell: Cell) -> bool:
        return any(quiet for held, quiet in self._held if held is cell)

    def drop(self) -> None:
        """There is nothing to check any more."""
        self._close([])

    def interrupt(self, why: str) -> Outcome:
        """Something came in between: learn what is beyond doubt."""
        cells = [cell for cell, _ in self._held]
        found = self._levels(cells)
        shifts = self._shifts(found)
        if shifts and not any(shifts.values()):
            self._close(cells)
            return self._told(f"{why}; until then back to the level before it", found, cells)
        self._close([])
        return Outcome(f"{why} before its level could be told")
