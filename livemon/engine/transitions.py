"""Transitions: marks give t0; units and threads are put into buckets and bins aligned at it.

The bin rule: bins of 0.5 s from t0 to t0 + 20 s, each with the share of host-slow units among those
*submitted* in it. The transient lasts until the start of the first bin from which every later non-empty
bin has a share below 10 %. It looks at all later bins, so it is history, not monitoring; it is shown
beside the episodes because published tables are made with it, and it counts in whole bins.

Readings compare the transient with the steady state (10 to 20 s): device duration, completion path,
placement or cycle rate with a rise of CPU per unit, an unexplained rise with a low IPC, and quick
recovery. While a control group departs from its known behaviour no reading is drawn.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from livemon.engine.host_episode import TickWork
from livemon.engine.host_evidence import Block
from livemon.engine.host_units import Kind, Units
from livemon.engine.transition_reading import read_window
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
        self._ticks: deque[TickWork] = deque()
        self._open: list[TransitionWindow] = []
        self._done: deque[Transition] = deque(maxlen=MOST)
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

    def add_units(self, units: Units, block: Block) -> None:
        """Units and their evidence, row by row."""
        for window in self._open:
            window.add_units(units, block, self.kinds, window.t0_ns - REACH_NS)
        self._units.append((int(block.arrival[-1]), units, block))

    def add_tick(self, tick: TickWork) -> None:
        """One tick's work."""
        for window in self._open:
            window.add_tick(tick, len(self.names))
        self._ticks.append(tick)

    def new_cell(self, now_ns: int) -> None:
        """A second is over: close windows whose horizon has passed, let go of old units."""
        rows = sum(len(units) for _, units, _ in self._units)
        while self._units and (self._units[0][0] < now_ns - 2 * REACH_NS or rows > _MOST_UNITS):
            rows -= len(self._units.popleft()[1])
        while self._ticks and self._ticks[0].arrival_ns < now_ns - 2 * REACH_NS:
            self._ticks.popleft()
        for window in [w for w in self._open if w.end_ns + _GRACE_NS < now_ns]:
            self._open.remove(window)
            self._finish(window)

    def _transition(self, window: TransitionWindow) -> Transition:
        reading = read_window(window, tuple(self.names), self._criteria)
        return Transition(window.t0_ns, window.text, window.buckets.get(), window.transient_s(), reading)

    def _finish(self, window: TransitionWindow) -> None:
        self._done.append(self._transition(window))

    def get(self) -> tuple[Transition, ...]:
        """All transitions in order of their marks; open windows with what they have so far."""
        found = sorted([*self._done, *map(self._transition, self._open)], key=lambda t: (t.t0_ns, t.text))
        c = self._criteria.transitions
        if not c.control:
            return tuple(found)
        departed = [t for t in found if t.text == c.control and (t.transient_s or 0.0) > c.control_max_transient_s]
        if not departed:
            return tuple(found)
        worst = max(t.transient_s or 0.0 for t in departed)
        guard = f"no reading: the control {c.control!r} departs from its known behaviour (transient {worst:g} s)"
        return tuple(
            replace(t, reading=tuple(Cause(cause.cause, "unknown", guard) for cause in t.reading)) for t in found
        )
