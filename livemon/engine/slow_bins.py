"""The rule of 0.5 s bins: which units are host-slow by it, and how long a transient is in whole bins.

It quantises and looks at all later bins, so it is kept beside the finer figures for comparison with published
tables: of a mark (``transitions``) and of every episode, there from its start.
"""

from __future__ import annotations

import numpy as np

from livemon.engine.host_evidence import Block, Flags
from livemon.engine.host_units import Kind, Units
from livemon.engine.logbins import Ints
from livemon.model.criteria import Transitions

_MOST_BINS = 200_000


def host_slow(
    units: Units, block: Block, kinds: list[Kind], healthy_ms: dict[int, float], criteria: Transitions
) -> tuple[Flags, Flags, Flags]:
    """By row: whether the unit was host-slow, whether that is known, and whether its class counts.

    ``healthy_ms``: the slow stage's healthy median by kind, where it is known. Where it is above the
    threshold, the threshold can't tell slow units from healthy ones: the learned baseline does.
    """
    c = criteria
    slow: Flags = (block.unit[:, 1] > 0) & block.ready
    told: Flags = block.ready.copy()
    counted = np.ones(len(block), np.bool_)
    for k in units.values:
        kind = kinds[k]
        threshold = c.slow_ms if c.slow_stage in kind.names else None
        is_other = bool(c.only_class) and kind.label != c.only_class
        if is_other or (threshold is not None and healthy_ms.get(k, 0.0) <= threshold):
            mine = (units.kind == k).nonzero()[0]
            if is_other:
                counted[mine] = False
            elif len(mine):
                slow[mine] = units.values[k][units.row[mine], kind.names.index(c.slow_stage)] > threshold
                told[mine] = True
    return slow, told, counted


def transient_s(slow: Ints, told: Ints, criteria: Transitions) -> float | None:
    """Length to the first bin from which every later non-empty bin has few slow units; ``None``: all are empty."""
    if not told.any():
        return None
    high = np.flatnonzero((told > 0) & (slow >= criteria.bin_share * told))
    return (int(high[-1]) + 1 if len(high) else 0) * criteria.bin_s


class SlowBins:
    """The bins of one episode, from its start on.

    Args:
        t0_ns: The start.
        criteria: Bins, and the share of slow units.
    """

    def __init__(self, t0_ns: int, criteria: Transitions) -> None:
        self._t0_ns = t0_ns
        self._c = criteria
        self._bin_ns = round(criteria.bin_s * 1e9)
        self._counts: Ints = np.zeros((2, 64), np.int64)
        """(slow, told) by bin."""

    def add(self, block: Block, rows: Ints) -> None:
        """Take rows of a block by their submission; earlier ones are left out."""
        rows = rows[block.told[rows] & block.counted[rows] & (block.start[rows] >= self._t0_ns)]
        if not len(rows):
            return
        number = np.minimum((block.start[rows] - self._t0_ns) // self._bin_ns, _MOST_BINS - 1)
        if (last := int(number.max())) >= self._counts.shape[1]:
            grown = np.zeros((2, min(2 * last, _MOST_BINS)), np.int64)
            grown[:, : self._counts.shape[1]] = self._counts
            self._counts = grown
        np.add.at(self._counts[0], number[block.host_slow[rows]], 1)
        np.add.at(self._counts[1], number, 1)

    def get(self) -> float | None:
        """Length of the transient so far, in whole bins, s."""
        return transient_s(self._counts[0], self._counts[1], self._c)
