"""The healthy state of one kind of unit, and what a unit's durations say for or against "slowed down".

Per stage a log histogram with exponential forgetting, smoothed, with a uniform floor:
``p0 = (1 - eps) * smooth(h) / n + eps / B``. It holds skewed, bimodal and heavy-tailed stages in bounded
memory, which a median and a spread can't. The hypothesis "slowed by d" is the same histogram moved up
by ln d; the evidence of a duration is ``ln(p1 / p0)``, clipped, as a whole number of 1/64 nat. Beyond
everything ever seen the evidence is full.

A unit's evidence is the **median over its host stages**: a garbage collection or a cache miss hits one
stage, a slow host hits all. Values are learned late and only from quiet time; the detector sees to that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from livemon.engine.logbins import COARSE_BINS, PER_COARSE, Floats, Ints

NAT = 64
"""Evidence is counted in 1/NAT of a nat."""
SHIFTS: tuple[tuple[int, ...], ...] = ((6,), (11,), (20,), (30, 38, 48, 60))
"""Slowdowns that are tested, in coarse bins: 1.4, 1.9, 3.3, and 6 to 36 times as an even mixture."""
WAYS = len(SHIFTS)
CLIP = 6 * NAT
"""Most evidence of one stage for slowness, where several stages agree."""
CLIP_ALONE = 4 * NAT
"""The same for a unit with one or two host stages, and for one stage by itself."""
CLIP_DOWN = -4 * NAT
FASTER = (11, 20)
"""Speed-ups that are tested while a session is young, in coarse bins: 1.9 and 3.3 times."""
_EPS = 0.03
_REBUILD_UNITS = 256
_MODE_PART = 0.02
_MODE_ABOVE = 5


def _smoothed(hist: Floats, sigma: float) -> Floats:
    """Rows convolved with a Gaussian of ``sigma`` bins."""
    reach = math.ceil(3 * sigma)
    weights = [math.exp(-0.5 * (k / sigma) ** 2) for k in range(reach + 1)]
    scale = weights[0] + 2 * sum(weights[1:])
    out = hist * (weights[0] / scale)
    for k in range(1, reach + 1):
        part = hist * (weights[k] / scale)
        out[:, k:] += part[:, :-k]
        out[:, :-k] += part[:, k:]
    return out


def _around(p: Floats) -> Floats:
    """Sum over each bin and two on either side."""
    padded = np.zeros((len(p), p.shape[1] + 5))
    padded[:, 3:-2] = p
    running: Floats = padded.cumsum(axis=1)
    return running[:, 5:] - running[:, :-5]


def _moved(p: Floats, shift: int, floor: float) -> Floats:
    """Rows moved up (down if negative) by ``shift`` bins, the floor moved in."""
    out = np.full_like(p, floor)
    if shift > 0:
        out[:, shift:] = p[:, :-shift]
    else:
        out[:, :shift] = p[:, -shift:]
    return out


class KindBaseline:
    """Healthy durations of the watched stages of one kind.

    Args:
        hosts: How many of the watched columns, the first ones, are host stages.
        columns: How many columns are watched.
    """

    def __init__(self, hosts: int, columns: int) -> None:
        self.hosts = hosts
        self.columns = columns
        self.clip = CLIP if hosts >= 3 else CLIP_ALONE
        self._hosts: Ints = np.arange(hosts)
        self._flat: Ints = np.arange(columns) * COARSE_BINS
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        hosts, columns = self.hosts, self.columns
        self.weight = 0.0
        """Units remembered, after forgetting."""
        self._sizes = (0, COARSE_BINS)
        """Smallest and largest coarse bin of the sizes learned (last column)."""
        self.learned = 0
        """Units ever learned."""
        self._hist = np.zeros((columns, COARSE_BINS))
        self._since = 0
        self.median: Floats = np.zeros(columns)
        """Fine bins, (columns,)."""
        self.top: Ints = np.full(hosts, COARSE_BINS)
        """Coarse bin of the longest that is remembered, by host stage."""
        self.slower: npt.NDArray[np.int32] = np.zeros((hosts, WAYS, COARSE_BINS), np.int32)
        """Evidence for each way of being slower, by host stage and coarse bin."""
        self.alone: npt.NDArray[np.int32] = np.zeros((hosts, WAYS, COARSE_BINS), np.int32)
        """The same for one stage by itself: less, and nothing for values that are a mode of the healthy state."""
        self.faster: npt.NDArray[np.int32] = np.zeros((hosts, len(FASTER), COARSE_BINS), np.int32)
        self.used: Ints = np.arange(hosts)
        """Host stages that carry evidence: not those that are mostly zero."""

    def is_strange(self, size: Ints, apart: int) -> npt.NDArray[np.bool_]:
        """Whether sizes (fine bins) lie further outside all that was learned than ``apart`` coarse bins."""
        low, high = self._sizes
        coarse = size // PER_COARSE
        return (size > 0) & ((coarse > high + apart) | (coarse < low - apart))

    def forget(self, factor: float) -> None:
        """Let the past count less."""
        self._hist *= factor
        self.weight *= factor

    def move(self, by: int, weight: float) -> None:
        """The host stages are at another level for good, ``by`` fine bins higher; the past counts ``weight`` units."""
        coarse = round(by / PER_COARSE)
        if coarse:
            self._hist[: self.hosts] = _moved(self._hist[: self.hosts], coarse, 0.0)
        if self.weight > weight:
            self.forget(weight / self.weight)
        self.rebuild()

    def learn(self, fine: Ints) -> None:
        """Take in healthy units: fine bins, (units, columns)."""
        n = len(fine)
        if not n:
            return
        coarse = fine // PER_COARSE
        flat = coarse + self._flat
        self._hist += np.bincount(flat.ravel(), minlength=self._hist.size).reshape(self._hist.shape)
        self.weight += n
        self.learned += n
        self._since += n
        if self._since >= min(_REBUILD_UNITS, max(8, self.weight / 8)):
            self.rebuild()

    def rebuild(self) -> None:
        """Make the tables from the histogram."""
        self._since = 0
        if self.weight <= 0:
            return
        total = self._hist.sum(axis=1, keepdims=True)
        running = np.cumsum(self._hist, axis=1)
        middle = (running >= 0.5 * total).argmax(axis=1)
        rows = np.arange(self.columns)
        inside = self._hist[rows, middle]
        part = (0.5 * total[:, 0] - (running[rows, middle] - inside)) / np.maximum(inside, 1e-12)
        self.median = (middle + part) * PER_COARSE
        sizes = np.flatnonzero(self._hist[-1] > 1e-3)
        self._sizes = (int(sizes[0]), int(sizes[-1])) if len(sizes) else (0, COARSE_BINS)
        used = np.flatnonzero(self._hist[: self.hosts, 0] <= 0.5 * total[: self.hosts, 0])
        self.used = used if len(used) else np.arange(self.hosts)
        sigma = min(max(9.0 * self.weight**-0.35, 1.6), 4.0)
        hist = self._hist[: self.hosts]
        eps = _EPS + 1.0 / (self.weight + 10.0)
        floor = eps / COARSE_BINS
        p0 = (1.0 - eps) * _smoothed(hist / total[: self.hosts], sigma) + floor
        log0, log_floor = np.log(p0), float(np.log(np.full(1, floor))[0])
        bins = np.arange(COARSE_BINS)
        seen = hist > 1e-3
        top = np.where(seen.any(axis=1), COARSE_BINS - 1 - seen[:, ::-1].argmax(axis=1), COARSE_BINS)
        self.top = top
        beyond = bins > (top + 2 + round(sigma))[:, None]
        # A share of the work that was always that long may grow: a shift of the mix, not a slow stage.
        above = bins > (self.median[: self.hosts] / PER_COARSE + _MODE_ABOVE)[:, None]
        is_mode = above & (_around(p0) >= _MODE_PART)
        for way, shifts in enumerate(SHIFTS):
            if len(shifts) == 1:
                log1 = _moved(log0, shifts[0], log_floor)
            else:
                log1 = np.log(
                    sum([_moved(p0, shift, floor) for shift in shifts[1:]], _moved(p0, shifts[0], floor)) / len(shifts)
                )
            evidence = np.rint((log1 - log0) * NAT)
            evidence[beyond] = CLIP
            evidence[:, 0] = 0  # printed as zero: says nothing
            self.slower[:, way] = np.clip(evidence, CLIP_DOWN, CLIP)
            self.alone[:, way] = np.minimum(self.slower[:, way], np.where(is_mode, 0, CLIP_ALONE))
        for way, shift in enumerate(FASTER):
            evidence = np.rint((_moved(log0, -shift, log_floor) - log0) * NAT)
            evidence[:, 0] = 0
            self.faster[:, way] = np.clip(evidence, CLIP_DOWN, CLIP_ALONE)

    def evidence(self, fine: Ints) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Ints]:
        """What units say: fine bins of the watched columns, (units, columns).

        Returns:
            Evidence by stage, (units, hosts, ways), in 1/64 nat and clipped for one stage alone;
            evidence of the unit, (units, ways); and its median log ratio to the healthy state in
            fine bins, (units,).
        """
        used = self.used
        coarse = fine[:, : self.hosts] // PER_COARSE
        stages = self.slower[self._hosts, :, coarse]
        ratios = np.rint(fine[:, : self.hosts] - self.median[: self.hosts]).astype(np.int64)
        if len(used) < self.hosts:
            stages, ratios = stages[:, used], ratios[:, used]
        unit = _median(stages.transpose(0, 2, 1))
        ratio = _median(ratios)
        alone: npt.NDArray[np.int32] = self.alone[self._hosts, :, coarse]
        whole: npt.NDArray[np.int32] = np.minimum(unit, self.clip)
        return alone, whole, ratio.astype(np.int64)

    def speedup(self, fine: Ints) -> npt.NDArray[np.int32]:
        """Evidence that units are faster than the state learned so far, (units, len(FASTER))."""
        used = self.used
        coarse = fine[:, : self.hosts] // PER_COARSE
        return _median(self.faster[self._hosts, :, coarse][:, used].transpose(0, 2, 1))


def _median(values: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Median over the last axis in whole numbers (of an even count: the lower middle's mean with the upper)."""
    n = values.shape[-1]
    if n == 1:
        return np.asarray(values[..., 0], np.int32)
    ordered = np.sort(values, axis=-1)
    middle = n // 2
    if n % 2:
        return np.asarray(ordered[..., middle], np.int32)
    return np.asarray((ordered[..., middle - 1] + ordered[..., middle]) // 2, np.int32)
