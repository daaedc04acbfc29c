"""Units that name no class, told apart by their position in a cycle of their host time.

Kernels that run in a fixed order under one name have several healthy states: a mixture of them hides that
one of them is slow. Once a second the log of the units' host time is looked at by run index (the fit of
``cycle_fit``). A period that shows several times in a row is taken on, one that no longer shows is given
up, both only while no episode is open; until then, and for units without an index, the mixture judges.
A position goes on with the mixture's healthy state, made light, so nothing is new to it.

Positions come from the index alone, so that lost, doubled and shuffled lines shift nothing. Numbering
that starts anew turns the positions: they are given up at once. And before an episode is opened its
units must still show the cycle, unturned (``is_doubtful``): an order that was lost is no slow host.
"""

from __future__ import annotations

import numpy as np

from livemon.engine.classes import index_of
from livemon.engine.cycle_fit import discover, is_narrow, still_shows
from livemon.engine.logbins import Floats, Ints
from livemon.model.criteria import Cycle

_LOOKED_AT = 96
_LEAST = 24
_AGREE = 3
"""Looks that must agree."""
_MOST_PATIENCE = 64
_RESTART = 256
_SAME = 0.2
"""Mean distance (log) of units that are at their levels."""


def is_doubtful(logs: list[float], positions: list[int], levels: list[float]) -> bool:
    """Whether units do not show the cycle any more, or show it turned.

    Args:
        logs: Log of their host time.
        positions: Of each of them.
        levels: The usual log of each position.
    """
    period = len(levels)
    if len(logs) < 2 * period:
        return False
    off = [
        sum(abs(x - levels[(at + slip) % period]) for x, at in zip(logs, positions, strict=True)) / len(logs)
        for slip in range(period)
    ]
    return (min(off) < 0.5 * off[0] and min(off) < _SAME) or not still_shows(logs, positions, period)


class Positions:
    """The cycle of one kind.

    Args:
        criteria: The period if it is given, else the longest one looked for.
    """

    def __init__(self, criteria: Cycle) -> None:
        fixed = criteria.period
        self._is_searching = fixed is None or fixed is True
        self._max_period = criteria.max_period
        self.period = 1 if self._is_searching or not fixed else int(fixed)
        """In force; 1: there is none."""
        self.kinds: dict[tuple[int, int], int] = {}
        """(period, position) -> number of its kind."""
        self._indexes: list[int] = []
        self._logs: list[float] = []
        self._newest = -1
        self._has_turned = False
        """Numbering has started anew."""
        self._is_doubted = False
        self._found = 1
        self._agreed = 0
        self._wait = self._patience = 0

    @property
    def needs_units(self) -> bool:
        """Whether anything is to be done with units now."""
        return self.period > 1 or (self._is_searching and self._wait <= 0 and len(self._logs) < _LOOKED_AT)

    def take(self, units: list[str | None], host_ms: Floats) -> Ints:
        """Position of each unit; -1: none. Some are kept to look at.

        Args:
            units: Their ids.
            host_ms: Their host time.
        """
        index = np.array([-1 if (i := index_of(unit)) is None else i for unit in units], np.int64)
        known = index >= 0
        if self.period > 1 and self._is_searching:
            newest = np.maximum.accumulate(np.concatenate([[self._newest], index]))
            self._newest = int(newest[-1])
            again = (index >= 0) & (newest[:-1] - index > _RESTART) & (2 * index < newest[:-1])
            if self._has_turned or again.any():
                known &= ~np.logical_or.accumulate(again) & (not self._has_turned)
                self._has_turned = True
        if self._is_searching:
            chosen = np.flatnonzero(known)[: max(_LOOKED_AT - len(self._logs), 0)]
            self._indexes += index[chosen].tolist()
            self._logs += np.log(np.maximum(host_ms[chosen], 1e-3)).tolist()
        return np.where(known & (self.period > 1), index % self.period, -1)

    def give_up(self) -> None:
        """The cycle is in doubt: with the next second the mixture judges again."""
        self._is_doubted = True

    def new_cell(self, *, may_switch: bool) -> bool:
        """A second is over: look whether there is a cycle; switch if that is allowed; whether one is taken on."""
        if not self._is_searching:
            return False
        if (self._has_turned or self._is_doubted) and may_switch:
            self._has_turned = self._is_doubted = False
            self.period, self._found, self._agreed, self._indexes, self._logs = 1, 1, 0, [], []
        self._wait -= 1
        if self._wait > 0 or len(self._logs) < _LEAST:
            return False
        found = self._look()
        self._indexes, self._logs = [], []
        self._agreed = self._agreed + 1 if found == self._found else 1
        self._found = found
        if found == self.period:
            # The longer it is known, the rarer it is looked at again.
            self._patience = min(2 * self._patience + 1, 8 if found > 1 else _MOST_PATIENCE)
            self._wait = self._patience
        else:
            self._wait = self._patience = 0
            if self._agreed >= _AGREE and may_switch:
                self.period, self._newest = found, -1
                return found > 1
        return False

    def _look(self) -> int:
        indexes, logs = self._indexes, self._logs
        if len(set(indexes)) < len(indexes) or is_narrow(logs):
            return 1
        if self.period > 1 and still_shows(logs, indexes, self.period):
            return self.period
        return discover(logs, indexes, self._max_period) or 1
