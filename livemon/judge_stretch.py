"""Telling of a stretch of a session: all of it is judged, and what lies outside is left out.

Healthy states, cycles and thread readings come from everything before, so a finding is the same whether
it is looked at through a stretch or in the report of the whole session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Literal

from livemon.engine.classes import Classified
from livemon.engine.engine import Engine
from livemon.engine.totals import Totals
from livemon.model.findings import Blip, Finding, Transition
from livemon.model.samples import Sample, Samples

Stretch = tuple[int, int]
"""First and last moment, session ns of arrival, both included."""
Place = Literal["before", "inside", "after"]
_arrival = attrgetter("arrival_ns")


class StretchOf:
    """What an engine and totals have to tell of a stretch.

    Args:
        engine: Is fed by the caller with every piece.
        totals: Are fed here; ``None``: somebody else has them.
        stretch: ``None``: the whole session.
    """

    def __init__(self, engine: Engine, totals: Totals | None, stretch: Stretch | None) -> None:
        self._engine = engine
        self._totals = totals
        self._stretch = stretch
        self._has_begun = stretch is None
        self._blips_before = 0
        self.blips = 0
        """Slow stretches below the threshold of an episode."""

    def pieces(self, samples: Sequence[Sample]) -> Iterator[tuple[Samples, Place]]:
        """Samples in arrival order, cut where the stretch begins and ends."""
        if self._stretch is None:
            yield samples, "inside"
            return
        start_ns, end_ns = self._stretch
        first = bisect_left(samples, start_ns, key=_arrival)
        last = max(bisect_right(samples, end_ns, key=_arrival), first)
        if first:
            yield samples[:first], "before"
        if last > first:
            yield samples[first:last], "inside"
        if last < len(samples):
            yield samples[last:], "after"

    def passed(self, place: Place | None, samples: Samples = (), classed: Sequence[Classified] = ()) -> None:
        """The engine has taken a piece (``None``: it has finished); the piece and what the classifier made of it."""
        if place != "before" and not self._has_begun:
            self._begin()
        if place == "before":
            self._blips_before = self._engine.blips
        elif place == "inside" or self._stretch is None:
            self.blips = self._engine.blips - self._blips_before
        totals = self._totals
        if totals is None:
            return
        if place == "before":
            totals.update(samples, ())
            return
        if self._stretch is not None:
            start_ns, end_ns = self._stretch
            classed = [item for item in classed if start_ns <= item.record.arrival_ns <= end_ns]
        if place == "inside":
            totals.update(samples, classed)
        else:  # classes that were settled late
            totals.finish(classed)

    def _begin(self) -> None:
        self._has_begun = True
        if self._totals is not None:
            self._totals.begin_anew()

    def findings(self) -> tuple[Finding, ...]:
        """Those that touch the stretch."""
        if self._stretch is None:
            return self._engine.get()
        start_ns, end_ns = self._stretch
        return tuple(
            finding
            for finding in self._engine.get()
            if finding.start_ns <= end_ns and (finding.end_ns is None or finding.end_ns >= start_ns)
        )

    def blips_told(self) -> tuple[Blip, ...]:
        """The newest slow stretches that lie in the stretch."""
        first_ns, last_ns = self._stretch or (-1 << 63, 1 << 63)
        return tuple(b for b in self._engine.newest_blips() if first_ns <= b.start_ns and b.end_ns <= last_ns)

    def transitions(self) -> tuple[Transition, ...]:
        """Those whose mark lies in the stretch."""
        if self._stretch is None:
            return self._engine.transitions()
        start_ns, end_ns = self._stretch
        return tuple(row for row in self._engine.transitions() if start_ns <= row.t0_ns <= end_ns)
