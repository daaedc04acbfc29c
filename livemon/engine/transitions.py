"""Transitions: marks give t0; units and threads are put into buckets and bins aligned at it.

The bin rule: bins of 0.5 s from t0 to t0 + 20 s, each with the share of host-slow units among those
*submitted* in it. The transient lasts until the start of the first bin from which every later non-empty
bin has a share below 10 %. It looks at all later bins, so it is history, not monitoring; it is shown
beside the episodes because published tables are made with it, and it counts in whole bins.

Readings (``transition_reading``) compare the transients of all marks of one text with their steady states.
While a control group departs from its known behaviour no reading is drawn.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from livemon.engine.host_episode import TickWork
from livemon.engine.host_evidence import Block
from livemon.engine.host_units import Kind, Units
from livemon.engine.slow_bins import host_slow
from livemon.engine.transition_reading import WindowFigures, figures, read_group
from livemon.engine.transition_window import BEFORE_S, TransitionWindow
from livemon.model.criteria import Criteria
from livemon.model.findings import Cause, Transition
from livemon.model.samples import Mark

REACH_NS = round((BEFORE_S + 4.0) * 1e9)
"""How far back of a mark's arrival units and ticks are at hand for it."""
MOST = 256
"""Transitions that are kept; the newest win."""
_MOST_UNITS = 200_000
_GRACE_NS = 2_000_000_000


class TransitionStudy:
    """Fed by the host detector; without marks it only keeps the last seconds at hand."""

    def __init__(self, criteria: Criteria) -> None:
        self._criteria = criteria
        self._units: deque[tuple[int, Units, Block]] = deque()
        self._rows = 0
        """In ``_units``."""
        self._ticks: deque[TickWork] = deque()
        self._open: list[TransitionWindow] = []
        self._done: deque[tuple[Transition, WindowFigures]] = deque(maxlen=MOST)
        self.kinds: list[Kind] = []
        self.names: list[str] = []
        """Thread names by number."""

    def add_mark(self, mark: Mark) -> None:
        """A mark is a moment to look at."""
        window = TransitionWindow(mark.t_ns, mark.text, self._criteria.transitions)
        earliest = mark.arrival_ns - REACH_NS
        for _, units, block in self._units:
            window.add_units(units, block, self.kinds, earliest)
        for tick in self._ticks:
            if tick.middle_ns >= earliest:
                window.add_tick(tick, len(self.names))
        self._open.append(window)
        if len(self._open) > MOST:
            self._finish(self._open.pop(0))

    def add_units(self, units: Units, block: Block, healthy_ms: dict[int, float]) -> None:
        """Units, their evidence row by row, and by kind the healthy median of the stage that tells slow ones.

        The block learns which of its units are host-slow by the rule.
        """
        c = self._criteria.transitions
        block.host_slow, block.told, block.counted = host_slow(units, block, self.kinds, healthy_ms, c)
        for window in self._open:
            window.add_units(units, block, self.kinds, window.t0_ns - REACH_NS)
        self._units.append((int(block.arrival[-1]), units, block))
        self._rows += len(units)

    def add_tick(self, tick: TickWork) -> None:
        """One tick's work."""
        for window in self._open:
            window.add_tick(tick, len(self.names))
        self._ticks.append(tick)

    def new_cell(self, now_ns: int) -> None:
        """A second is over: close windows whose horizon has passed, let go of old units."""
        while self._units and (self._units[0][0] < now_ns - 2 * REACH_NS or self._rows > _MOST_UNITS):
            self._rows -= len(self._units.popleft()[1])
        while self._ticks and self._ticks[0].arrival_ns < now_ns - 2 * REACH_NS:
            self._ticks.popleft()
        for window in [w for w in self._open if w.end_ns + _GRACE_NS < now_ns]:
            self._open.remove(window)
            self._finish(window)

    def _finish(self, window: TransitionWindow) -> None:
        self._done.append(self._kept(window))

    def _kept(self, window: TransitionWindow) -> tuple[Transition, WindowFigures]:
        found = figures(window, tuple(self.names))
        return Transition(window.t0_ns, window.text, window.buckets.get(), found.transient_s), found

    def get(self) -> tuple[Transition, ...]:
        """All transitions in order of their marks; open windows with what they have so far."""
        rows = sorted([*self._done, *map(self._kept, self._open)], key=lambda row: (row[0].t0_ns, row[0].text))
        c = self._criteria.transitions
        groups: dict[str, list[WindowFigures]] = {}
        for transition, found in rows:
            groups.setdefault(transition.text, []).append(found)
        readings = {text: read_group(group, self._criteria.causes) for text, group in groups.items()}
        worst = max((found.transient_s or 0.0 for found in groups.get(c.control, [])), default=0.0)
        if c.control and worst > c.control_max_transient_s:
            guard = f"no reading: the control {c.control!r} departs from its known behaviour (transient {worst:g} s)"
            readings = {
                text: tuple(Cause(cause.cause, "unknown", guard) for cause in reading)
                for text, reading in readings.items()
            }
        return tuple(replace(transition, reading=readings[transition.text]) for transition, _ in rows)
