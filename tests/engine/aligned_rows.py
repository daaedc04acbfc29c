"""Samples made from tables of aligned buckets: what a study printed per bucket becomes units and thread ticks."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from livemon.model.samples import UNKNOWN, ClassColumns, Mark, Sample, ThreadInfo, ThreadTick, TimingRecord

TICK_NS = 100_000_000
PREPARE_MS = (0.12, 0.7)
"""A healthy and a host-slow unit's ``prepare``."""


@dataclass(frozen=True)
class UnitRow:
    """Units of a time bucket, seconds from t0."""

    start_s: float
    end_s: float
    n: int
    slow_share: float
    p50_ms: float
    native_ms: float
    callback_ms: float


@dataclass(frozen=True)
class ThreadRow:
    """One thread's work in a time bucket."""

    start_s: float
    end_s: float
    thread: str
    cpu_ms: float
    efficiency_share: float
    fast_rate: float
    efficiency_rate: float
    ipc: float


def unit_samples(t0_ns: int, rows: Sequence[UnitRow]) -> list[Sample]:
    """Units spread evenly over their bucket, the slow ones among them evenly too."""
    out: list[Sample] = []
    for row in rows:
        slow_so_far = 0
        for k in range(row.n):
            start = t0_ns + round((row.start_s + (row.end_s - row.start_s) * (k + 0.5) / row.n) * 1e9)
            is_slow = round((k + 1) * row.slow_share) > slow_so_far
            slow_so_far += is_slow
            end = start + round(row.p50_ms * 1e6)
            stages = (
                ("prepare", PREPARE_MS[is_slow]),
                ("native", row.native_ms),
                ("callback", row.callback_ms),
                ("total", row.p50_ms),
            )
            unit = f"{t0_ns}-{row.start_s}-{k}"
            out.append(TimingRecord(end, end, "line", "req_timing", unit, "short", stages, start_ns=start))
    return out


class ThreadColumns:
    """Cumulative counters over one session."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._sums = {(name, level): [10_000_000, 10_000_000, 10_000_000] for name in names for level in "PE"}

    def infos(self, t_ns: int) -> list[Sample]:
        return [ThreadInfo(t_ns, k, 1, 100 + k, name) for k, name in enumerate(self.names)]

    def tick(self, t_ns: int) -> ThreadTick:
        n = len(self.names)
        unknown = array("q", [UNKNOWN] * n)
        classes = tuple(
            ClassColumns(
                level, *(array("q", [self._sums[name, level][part] for name in self.names]) for part in range(3))
            )
            for level in "PE"
        )
        cpu = array("q", [self._sums[name, "P"][0] + self._sums[name, "E"][0] for name in self.names])
        return ThreadTick(t_ns, array("q", range(n)), cpu, unknown, unknown, unknown, classes, is_keyframe=True)

    def samples(self, t0_ns: int, rows: Sequence[ThreadRow]) -> list[Sample]:
        """A tick at the end of every 100 ms of each bucket."""
        out: list[Sample] = []
        for bucket in sorted({(row.start_s, row.end_s) for row in rows}):
            ticks = round((bucket[1] - bucket[0]) * 1e9) // TICK_NS
            for k in range(ticks):
                for row in rows:
                    if (row.start_s, row.end_s) == bucket:
                        self._work(row, row.cpu_ms * 1e6 / ticks)
                out.append(self.tick(t0_ns + round(bucket[0] * 1e9) + (k + 1) * TICK_NS))
        return out

    def _work(self, row: ThreadRow, cpu_ns: float) -> None:
        for level, share, rate in (
            ("E", row.efficiency_share, row.efficiency_rate),
            ("P", 1 - row.efficiency_share, row.fast_rate),
        ):
            sums = self._sums[row.thread, level]
            sums[0] += round(cpu_ns * share)
            sums[1] += round(cpu_ns * share * rate)
            sums[2] += round(cpu_ns * share * rate * row.ipc)


def session(
    transitions: Sequence[tuple[int, str, Sequence[UnitRow], Sequence[ThreadRow]]],
) -> list[Sample]:
    """Samples of several transitions (t0, mark text, rows, rows) in arrival order."""
    names = list(dict.fromkeys(row.thread for _, _, _, rows in transitions for row in rows))
    columns = ThreadColumns(names)
    first = transitions[0][0] - 3_000_000_000
    out: list[Sample] = [*columns.infos(first), columns.tick(first)] if names else []
    for t0_ns, text, units, threads in transitions:
        out.append(Mark(t0_ns, t0_ns, text))
        out += unit_samples(t0_ns, units)
        out += columns.samples(t0_ns, threads)
    return sorted(out, key=lambda sample: sample.arrival_ns)
