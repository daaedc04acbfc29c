"""A session that starts slow: units that become lastingly faster show that it was.

While a session is young its first seconds are all there is to learn from. If the units then become
faster by 1.9 times or more for good, what was learned was not the healthy state: everything before the
fall was an episode, and learning starts over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livemon.engine.host_baseline import FASTER, NAT
from livemon.engine.host_cusum import Cusum
from livemon.engine.host_evidence import Block, EvidenceMaker, Flags
from livemon.engine.logbins import Ints, ratio_of

YOUNG_CELLS = 60
"""Seconds with units in which a session is young."""
_LEVEL = 20 * NAT
_LEVEL_FEW_STAGES = 60 * NAT
_UNITS = 8
_RUN_NS = 300_000_000


@dataclass(frozen=True, slots=True)
class Speedup:
    """Units have become faster for good."""

    row: int
    start_ns: int
    """Submission of the first fast unit."""


def speedup_ratio(fast: Ints) -> float:
    """By how much units are faster, > 1: their log ratios to what was learned, in fine bins."""
    return max(ratio_of(-int(np.sort(fast)[len(fast) // 2])), 1.0) if len(fast) else 1.0


class SpeedupWatch:
    """Adds up evidence that units are faster than what was learned."""

    def __init__(self) -> None:
        self._sum = Cusum(len(FASTER), 3)
        self.is_watching = True

    def stop(self) -> None:
        """The session has shown its healthy state, or is no longer young."""
        self.is_watching = False

    def update(self, block: Block, rows: slice, maker: EvidenceMaker) -> Speedup | None:
        """Work through rows until units have become faster."""
        evidence = maker.speedup(block)[rows]
        tau, ready = block.tau[rows], block.ready[rows]
        clocks = (tau - np.minimum(block.wall[rows], tau), block.start[rows])
        few = np.isin(block.kind_of_row[rows], [k for k, b in enumerate(maker.baselines) if len(b.used) < 3])
        shape = evidence.shape
        told, of_few = (np.broadcast_to(flags[:, None], shape) for flags in (ready, few & ready))
        sums = self._sum.run(evidence, evidence > 0, told, of_few)
        enough = np.where(2 * sums.counts[2] > sums.counts[1], _LEVEL_FEW_STAGES, _LEVEL)
        hit: Flags = np.asarray(
            (sums.level >= enough)
            & (sums.counts[0] >= _UNITS)
            & (tau[:, None] - self._sum.begins(sums, clocks[0], 0) >= _RUN_NS)
            & (2 * sums.counts[0] >= sums.counts[1])
        )
        found = np.asarray(hit.any(axis=1))
        row = int(found.argmax()) if found.any() else len(tau) - 1
        speedup = None
        if found[row]:
            column = int(np.where(hit[row], sums.level[row], -1).argmax())
            start = int(self._sum.begins(sums, clocks[1], 1)[row, column])
            speedup = Speedup(row, start)
        self._sum.commit(sums, row, *clocks)
        return speedup
