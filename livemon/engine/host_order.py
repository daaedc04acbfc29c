"""The order and the time in which units are judged, whatever the log's delivery does.

- Units are judged as they arrive. Only a burst that comes *late* (a stalled or block-buffered log) is held
  for 30 ms and put in order of the units' own time, as such a burst may be shuffled.
- **State time** goes on with the units' own time, by at most the time that also passed in arrivals or one
  second: neither a step of the log's clock nor a stall moves it by itself.
- A **gap** is a pause in both the units' own time and their arrival. After one the first units of a kind
  are *cold* (a wake from idle, a clock that ramps up) and count for little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livemon.engine.host_evidence import Flags
from livemon.engine.host_units import Units
from livemon.engine.logbins import Ints

LATE_NS = 150_000_000
"""A unit whose line comes this much later than usual belongs to a late burst."""
HOLD_NS = 30_000_000
_BACK_NS = 500_000_000
_BACK_UNITS = 4
_JUMP_NS = 1_000_000_000
COLD_UNITS = 3
_COLD_GAP_NS = 400_000_000
GAP_SPACINGS = 10
_PACE = 1 / 16


@dataclass(slots=True)
class Ordered:
    """Units in the order in which they are judged."""

    units: Units
    position: Ints
    """Position in the samples of the sample with which each is judged."""
    at: Ints
    """Arrival time of that sample, ns."""


class LateBursts:
    """Holds late bursts back until they can be put in order."""

    def __init__(self) -> None:
        self.usual_lag: int | None = None
        """Usual time from a unit's end to its arrival, ns; ``None`` while unknown: nothing is late."""
        self._held: list[Units] = []
        self._since = 0
        self._lags: list[Ints] = []

    def new_cell(self) -> None:
        """A second of arrivals is over: take its median lag as the usual one."""
        if self._lags:
            lags = np.sort(np.concatenate(self._lags))
            self.usual_lag = int(lags[len(lags) // 2])
            self._lags = []

    def order(self, units: Units, position: Ints, arrivals: Ints) -> Ordered | None:
        """Units that can be judged now.

        Args:
            units: New units, in arrival order.
            position: Their positions in the samples.
            arrivals: Arrival of every sample of the batch, rising.
        """
        n = len(units)
        if n:
            self._lags.append(units.arrival - units.end)
        late = np.zeros(0, np.int64)
        if n and self.usual_lag is not None:
            late = np.flatnonzero(units.arrival - units.end > self.usual_lag + LATE_NS)
        if not self._held and not len(late):
            return Ordered(units, position, units.arrival) if n else None
        parts: list[Units] = []
        positions: list[Ints] = []
        at: list[Ints] = []
        cursor = 0
        while True:
            if not self._held:
                nearest = late[np.searchsorted(late, cursor) :]
                stop = int(nearest[0]) if len(nearest) else n
                rows = np.arange(cursor, stop)
                parts.append(units.take(rows))
                positions.append(position[rows])
                at.append(units.arrival[rows])
                if stop >= n:
                    break
                self._since, cursor = int(units.arrival[stop]), stop
            due = int(np.searchsorted(arrivals, self._since + HOLD_NS))
            stop = int(np.searchsorted(position, due))
            if stop > cursor:
                self._held.append(units.take(np.arange(cursor, stop)))
                cursor = stop
            if due >= len(arrivals):
                break
            burst = self.release()
            if burst is not None:
                parts.append(burst)
                positions.append(np.full(len(burst), due))
                at.append(np.full(len(burst), arrivals[due]))
        if not parts:
            return None
        return Ordered(Units.join(parts), np.concatenate(positions), np.concatenate(at))

    def release(self) -> Units | None:
        """What is held, in order of the units' own time."""
        if not self._held:
            return None
        held = Units.join(self._held)
        self._held = []
        return held.take(np.argsort(held.end, kind="stable"))


def _shifted(values: Ints, first: int) -> Ints:
    """What came before each value."""
    before = np.empty_like(values)
    before[0] = first
    before[1:] = values[:-1]
    return before


class StateClock:
    """State time, gaps and cold units."""

    def __init__(self, gap_s: float) -> None:
        self.tau = 0
        self._newest: int | None = None
        self._arrival = 0
        self._behind = 0
        self._gap_ns = round(gap_s * 1e9)
        self._kinds: list[_KindPace] = []
        self._pace = Pace()
        self._since_gap = 0
        self.woken: Flags = np.zeros(0, np.bool_)
        """Of the units of the last ``update``: which are the first ones, of any kind, after a gap."""

    @property
    def rate_per_s(self) -> float:
        """Units per second of the last seconds under load."""
        return self._pace.rate_per_s

    @property
    def gap_ns(self) -> float:
        """A pause longer than this is a gap."""
        return self._pace.gap_ns(self._gap_ns)

    def new_cell(self, seconds: int) -> None:
        """So many seconds of arrivals are over, units came in the first of them: update the paces."""
        self._pace.new_cell(seconds, self._gap_ns)
        for pace in self._kinds:
            pace.new_cell(seconds, _COLD_GAP_NS)

    def update(self, units: Units, at: Ints) -> tuple[Ints, Flags, Flags]:
        """State time of each unit, whether a gap came before it, and whether it is cold; sets ``woken`` too."""
        n = len(units)
        self._pace.units += n
        end = units.end
        first = self._newest is None
        newest_before = int(end[0]) if self._newest is None else self._newest
        newest = np.maximum.accumulate(np.maximum(end, newest_before))
        if (newest - end > _BACK_NS).any():
            newest = self._stepped(end, newest_before)
        else:
            self._behind = 0
        before = _shifted(newest, newest_before)
        arrived = at - _shifted(at, int(at[0]) if first else self._arrival)
        moved = np.minimum(np.maximum(newest - before, 0), np.maximum(arrived, _JUMP_NS))
        tau = self.tau + moved.cumsum()
        paused = np.minimum(units.start - before, arrived)
        gap = paused > self.gap_ns
        if first:
            gap[0] = True
        self.tau, self._newest, self._arrival = int(tau[-1]), int(newest[-1]), int(at[-1])
        cold = np.zeros(n, np.bool_)
        for k in sorted(set(units.kind.tolist())):
            while len(self._kinds) <= k:
                self._kinds.append(_KindPace())
            rows = np.flatnonzero(units.kind == k)
            cold[rows] = self._kinds[k].update(units.start[rows], end[rows], at[rows])
        if self._since_gap >= COLD_UNITS and not gap.any():
            self.woken = np.zeros(n, np.bool_)
        else:
            last = np.maximum.accumulate(np.where(gap, number := np.arange(n), -1))
            since = np.where(last >= 0, number - last, number + self._since_gap)
            self._since_gap = min(int(since[-1]) + 1, COLD_UNITS)
            self.woken = since < COLD_UNITS
        return tau, gap, cold

    def _stepped(self, end: Ints, newest: int) -> Ints:
        """The newest time so far of each unit, where the log's clock may have been set back."""
        out = np.empty(len(end), np.int64)
        for k, value in enumerate(end.tolist()):
            if newest - value > _BACK_NS:
                self._behind += 1
                if self._behind >= _BACK_UNITS:
                    newest, self._behind = value, 0
            else:
                newest, self._behind = max(newest, value), 0
            out[k] = newest
        return out


class Pace:
    """Units per second while there is load: a pause longer than a gap does not count as slowness."""

    def __init__(self) -> None:
        self.rate_per_s = 0.0
        self.units = 0
        """In this second so far."""
        self._empty = 0

    def gap_ns(self, least_ns: float) -> float:
        """A pause longer than this is a gap."""
        return max(least_ns, GAP_SPACINGS * 1e9 / self.rate_per_s if self.rate_per_s > 0 else 0.0)

    def new_cell(self, seconds: int, least_ns: float) -> None:
        """So many seconds are over; units came in the first of them."""
        if self.units:
            if self._empty * 1e9 <= self.gap_ns(least_ns):
                for _ in range(min(self._empty, 64)):
                    self.rate_per_s -= self.rate_per_s * _PACE
            self._empty = 0
            self.rate_per_s += (self.units - self.rate_per_s) * (_PACE if self.rate_per_s else 1.0)
            self.units = 0
        else:
            self._empty += 1
        self._empty += seconds - 1


class _KindPace(Pace):
    """Pauses of one kind."""

    def __init__(self) -> None:
        super().__init__()
        self._end: int | None = None
        self._at = 0
        self._left = COLD_UNITS

    def update(self, start: Ints, end: Ints, at: Ints) -> Flags:
        """Which units are cold."""
        n = len(start)
        self.units += n
        known = self._end is not None
        before = _shifted(end, int(end[0]) if self._end is None else self._end)
        arrived = at - _shifted(at, self._at if known else int(at[0]))
        woken = np.minimum(start - before, arrived) > self.gap_ns(_COLD_GAP_NS)
        number = np.arange(n)
        last = np.maximum.accumulate(np.where(woken, number, -1))
        since = np.where(last >= 0, number - last, number + COLD_UNITS - self._left)
        self._left = max(COLD_UNITS - int(since[-1]) - 1, 0)
        self._end, self._at = int(end[-1]), int(at[-1])
        cold: Flags = since < COLD_UNITS
        return cold
