"""Slow stretches below the threshold of an episode: how many, and of the newest when, how slow, how near."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from livemon.engine.host_evidence import Block
from livemon.engine.logbins import Ints, ratio_of
from livemon.model.findings import Blip

HEIGHT = 1536
"""Height of evidence (see ``OnsetWatch.update``) from which on a stretch counts."""
_KEPT = 64
_SLOW = 1.1
"""Ratio from which the middle of a unit's host stages says that it was slow."""


class Blips:
    """Takes rows as they are watched with no episode open.

    Args:
        full_height: Height at which the evidence is that of an episode.
    """

    def __init__(self, full_height: float) -> None:
        self._full = full_height
        self._open: Blip | None = None
        """The stretch that goes on."""
        self._done: deque[Blip] = deque(maxlen=_KEPT)
        self.count = 0

    def update(self, block: Block, first: int, height: Ints) -> None:
        """Rows of a block from ``first`` on, with the height of the evidence at each."""
        up = height >= HEIGHT
        if not up.any():
            self._close()
            return
        edges = np.flatnonzero(np.diff(np.concatenate([[False], up, [False]])))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if begin:
                self._close()
            self._add(block, slice(first + begin, first + end), int(height[begin:end].max()))
            if end < len(up):
                self._close()

    def _add(self, block: Block, rows: slice, height: int) -> None:
        slow = (block.unit[rows, 0] > 0) | (block.stage_high[rows] & (block.stage[rows] > 0)).any(axis=1)
        if self._open is None:
            slow[0] = True  # the unit that has lifted the evidence to here
            self.count += 1
            start = int(block.start[rows.start])
            self._open = Blip(start, start, 0, None, 0.0)
        blip = self._open
        ends, ratios = block.end[rows][slow], block.ratio[rows][slow]
        slowest = ratio_of(int(ratios.max(initial=0)))
        if slowest < _SLOW:  # one stage alone: the middle of the stages does not show it
            slowest = blip.slowest or 0.0
        self._open = replace(
            blip,
            end_ns=max(blip.end_ns, int(ends.max(initial=0))),
            slow_units=blip.slow_units + int(slow.sum()),
            slowest=max(blip.slowest or 0.0, slowest) or None,
            evidence=max(blip.evidence, height / self._full),
        )

    def _close(self) -> None:
        if self._open is not None:
            self._done.append(self._open)
            self._open = None

    def became_episode(self) -> None:
        """The stretch that goes on has opened an episode: it is none of these."""
        if self._open is not None:
            self.count -= 1
            self._open = None

    def get(self) -> tuple[Blip, ...]:
        """The newest stretches, in order of time."""
        return (*self._done, *(() if self._open is None else (self._open,)))
