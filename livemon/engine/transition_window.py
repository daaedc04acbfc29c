"""The time around one mark: bins of units and of thread work from 2 s before it to the horizon after it."""

from __future__ import annotations

import math

import numpy as np

from livemon.engine.buckets import AlignedBuckets
from livemon.engine.host_episode import TickWork
from livemon.engine.host_evidence import Block
from livemon.engine.host_units import Kind, Units
from livemon.engine.logbins import Ints
from livemon.engine.quantiles import Quantiles
from livemon.engine.slow_bins import transient_s
from livemon.engine.thread_work import ROWS
from livemon.model.criteria import Transitions

BEFORE_S = 2.0


class TransitionWindow:
    """Sums per bin around one mark.

    Args:
        t0_ns: The mark's time.
        text: The mark's text.
        criteria: Bins, horizon, and what makes a unit host-slow.
    """

    def __init__(self, t0_ns: int, text: str, criteria: Transitions) -> None:
        c = criteria
        self.t0_ns = t0_ns
        self.text = text
        self._c = c
        self._bin_ns = round(c.bin_s * 1e9)
        self.before = math.ceil(BEFORE_S / c.bin_s)
        """Bins before the mark."""
        self.bins = self.before + math.ceil(c.horizon_s / c.bin_s)
        self.end_ns = t0_ns + round(c.horizon_s * 1e9)
        self.units: Ints = np.zeros(self.bins, np.int64)
        self.slow: Ints = np.zeros(self.bins, np.int64)
        self.told: Ints = np.zeros(self.bins, np.int64)
        """Units of which it is known whether they were slow."""
        self.device_ns: Ints = np.zeros(self.bins, np.int64)
        self.device_units: Ints = np.zeros(self.bins, np.int64)
        self.completion = [Quantiles() for _ in range(self.bins)]
        self.work: dict[int, Ints] = {}
        """Bin -> (ROWS, names) sums."""
        self.buckets = AlignedBuckets(t0_ns)

    def _bin(self, t_ns: int) -> int:
        return (t_ns - self.t0_ns) // self._bin_ns + self.before

    def add_units(self, units: Units, block: Block, kinds: list[Kind], earliest_ns: int) -> None:
        """Take units (and their evidence, row by row) that were submitted at ``earliest_ns`` or later."""
        number = (units.start - self.t0_ns) // self._bin_ns + self.before
        inside = (number >= 0) & (number < self.bins) & (units.start >= earliest_ns) & block.counted
        if not inside.any():
            return
        slow, told = block.host_slow, block.told
        for k, values in units.values.items():
            kind = kinds[k]
            mine = np.flatnonzero(inside & (units.kind == k))
            if not len(mine):
                continue
            rows = values[units.row[mine]]
            if kind.device:
                spent = np.rint(rows[:, kind.device] * 1e6).astype(np.int64).sum(axis=1)
                np.add.at(self.device_ns, number[mine], spent)
                np.add.at(self.device_units, number[mine], 1)
            if kind.completion:
                for at, value in zip(number[mine].tolist(), rows[:, kind.completion[0]].tolist(), strict=True):
                    self.completion[at].add([value])
        np.add.at(self.units, number[inside], 1)
        np.add.at(self.slow, number[inside & slow & told], 1)
        np.add.at(self.told, number[inside & told], 1)
        self.buckets.add_units(units.start[inside], units.wall[inside], slow[inside], told[inside])

    def add_tick(self, tick: TickWork, names: int) -> None:
        """Take a tick's work by its middle."""
        number = self._bin(tick.middle_ns)
        if not 0 <= number < self.bins:
            return
        work = self.work.get(number)
        if work is None or work.shape[1] < names:
            grown = np.zeros((ROWS, names), np.int64)
            if work is not None:
                grown[:, : work.shape[1]] = work
            work = self.work[number] = grown
        work[:, tick.numbers] += tick.work
        self.buckets.add_tick(tick.middle_ns, tick.work)

    def shares(self) -> list[float | None]:
        """Host-slow share of each bin from the mark on; ``None`` for an empty bin."""
        return [
            slow / told if told else None
            for slow, told in zip(self.slow[self.before :].tolist(), self.told[self.before :].tolist(), strict=True)
        ]

    def transient_s(self) -> float | None:
        """Length of the transient by the bin rule; ``None`` without units after the mark."""
        return transient_s(self.slow[self.before :], self.told[self.before :], self._c)

    def sums(self, start_s: float, end_s: float, names: int) -> tuple[Ints, int]:
        """Thread work (ROWS, names) and units of the bins in [start, end) seconds from the mark."""
        first = self.before + math.floor(start_s / self._c.bin_s + 1e-9)
        last = self.before + math.ceil(end_s / self._c.bin_s - 1e-9)
        out = np.zeros((ROWS, names), np.int64)
        for number in range(max(first, 0), min(last, self.bins)):
            work = self.work.get(number)
            if work is not None:
                out[:, : work.shape[1]] += work
        return out, int(self.units[max(first, 0) : max(last, 0)].sum())

    def stage_sums(self, start_s: float, end_s: float) -> tuple[tuple[float, int], tuple[float, int]]:
        """(sum of device ms, units) and (sum of bins' median completion ms x units, units) in [start, end) s."""
        first = max(self.before + math.floor(start_s / self._c.bin_s + 1e-9), 0)
        last = max(self.before + math.ceil(end_s / self._c.bin_s - 1e-9), 0)
        device = int(self.device_ns[first:last].sum()) / 1e6, int(self.device_units[first:last].sum())
        bins = self.completion[first:last]
        medians = [(quantiles.n, median) for quantiles in bins if (median := quantiles.get(0.5)) is not None]
        return device, (sum(n * median for n, median in medians), sum(n for n, _ in medians))
