"""Samples -> series for drawings: stage durations per class and thread lanes, in bounded memory.

Durations are kept as minimum and maximum a bucket, so peaks survive; a bucket without a record is
a gap. A lane is the core class on which a thread spent most of its CPU time in the bucket.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from livemon.export.thread_deltas import ThreadDeltas
from livemon.model.facts import Topology
from livemon.model.samples import Sample, ThreadTick, TimingRecord
from livemon.model.snapshot import Lane, Series

ClassedSample = tuple[Sample, str | None]
"""A sample with the class key of its timing record; ``None`` for all other samples."""


@dataclass(frozen=True, slots=True)
class StagePlot:
    """Durations of one stage of one class over the session, in ms."""

    class_key: str | None
    stage: str
    series: Series


@dataclass(frozen=True, slots=True)
class ThreadPlot:
    """Core class and CPU use of one thread over the session."""

    pid: int
    tid: int
    name: str
    cpu_ms: float
    lane: Lane
    cpu: Series
    """Percent of one core, mean of the bucket."""


@dataclass(frozen=True, slots=True)
class Plots:
    """Everything a report draws."""

    start_ns: int
    bucket_ns: int
    buckets: int
    stages: tuple[StagePlot, ...] = ()
    threads: tuple[ThreadPlot, ...] = ()
    """Busiest first."""
    left_out: int = 0
    """Stages of classes beyond the cap."""


class _Range:
    """Minimum and maximum a bucket."""

    __slots__ = ("high", "low")

    def __init__(self, buckets: int) -> None:
        self.low = array("d", [float("inf")]) * buckets
        self.high = array("d", [float("-inf")]) * buckets

    def add(self, bucket: int, value: float) -> None:
        if value < self.low[bucket]:
            self.low[bucket] = value
        if value > self.high[bucket]:
            self.high[bucket] = value

    def series(self, bucket_ns: int) -> Series:
        seen = [low <= high for low, high in zip(self.low, self.high, strict=True)]
        return Series(
            0,
            bucket_ns,
            tuple(v if ok else None for v, ok in zip(self.low, seen, strict=True)),
            tuple(v if ok else None for v, ok in zip(self.high, seen, strict=True)),
        )


class PlotBuilder:
    """Collects the series of a session in one pass; memory depends on ``buckets``, not on its length."""

    def __init__(
        self, start_ns: int, end_ns: int, topology: Topology, *, buckets: int = 360, max_stages: int = 60
    ) -> None:
        self._start_ns = start_ns
        self._bucket_ns = max(1, -(-(end_ns - start_ns + 1) // buckets))
        self._buckets = buckets
        self._max_stages = max_stages
        self._stages: dict[tuple[str | None, str], _Range] = {}
        self._left_out: set[tuple[str | None, str]] = set()
        self._deltas = ThreadDeltas(topology)
        self._cpu_ns: dict[int, array[int]] = {}
        self._class_ns: dict[int, dict[str, array[int]]] = {}
        self._observed = bytearray(buckets)
        self._is_exact: dict[int, bool] = {}

    def _bucket(self, t_ns: int) -> int:
        return min(max((t_ns - self._start_ns) // self._bucket_ns, 0), self._buckets - 1)

    def _spread(self, start_ns: int, end_ns: int) -> Iterator[tuple[int, float]]:
        """Buckets that an interval touches, with the part of it that lies in each."""
        for bucket in range(self._bucket(start_ns), self._bucket(end_ns - 1) + 1):
            bucket_start_ns = self._start_ns + bucket * self._bucket_ns
            overlap_ns = min(end_ns, bucket_start_ns + self._bucket_ns) - max(start_ns, bucket_start_ns)
            yield bucket, max(overlap_ns, 0) / (end_ns - start_ns)

    def add(self, samples: Iterable[ClassedSample]) -> None:
        """Take samples in recorded order."""
        for sample, class_key in samples:
            if isinstance(sample, TimingRecord):
                self._add_record(sample, class_key)
            else:
                self._add_thread_sample(sample)

    def _add_record(self, record: TimingRecord, class_key: str | None) -> None:
        bucket = self._bucket(record.t_ns)
        for stage, duration_ms in record.stages:
            key = (class_key, stage)
            kept = self._stages.get(key)
            if kept is None:
                if len(self._stages) >= self._max_stages:
                    if len(self._left_out) < 1000:
                        self._left_out.add(key)
                    continue
                kept = self._stages[key] = _Range(self._buckets)
            kept.add(bucket, duration_ms)

    def _add_thread_sample(self, sample: Sample) -> None:
        spread: list[tuple[int, float]] = []
        for delta in self._deltas.update(sample):
            if delta.cpu_ns is None:
                continue
            # All deltas of a tick cover the same interval.
            spread = spread or list(self._spread(delta.start_ns, delta.end_ns))
            cpu = self._cpu_ns.get(delta.thread)
            if cpu is None:
                cpu = self._cpu_ns[delta.thread] = array("q", [0]) * self._buckets
            for bucket, part in spread:
                cpu[bucket] += int(delta.cpu_ns * part)
            if not delta.cpu_ns:
                continue
            classes = self._class_ns.setdefault(delta.thread, {})
            for name, class_ns in delta.class_cpu_ns:
                lane = classes.get(name)
                if lane is None:
                    lane = classes[name] = array("q", [0]) * self._buckets
                for bucket, part in spread:
                    lane[bucket] += int(class_ns * part)
            self._is_exact[delta.thread] = delta.is_exact and self._is_exact.get(delta.thread, True)
        if isinstance(sample, ThreadTick) and self._deltas.interval_ns is not None:
            start_ns, end_ns = self._deltas.interval_ns
            for bucket in range(self._bucket(start_ns), self._bucket(end_ns - 1) + 1):
                self._observed[bucket] = 1

    def plots(self, *, max_threads: int = 24) -> Plots:
        """The series so far, threads with most CPU time first."""
        busiest = sorted(self._cpu_ns, key=lambda index: (-sum(self._cpu_ns[index]), index))[:max_threads]
        return Plots(
            self._start_ns,
            self._bucket_ns,
            self._buckets,
            tuple(
                StagePlot(class_key, stage, kept.series(self._bucket_ns))
                for (class_key, stage), kept in self._stages.items()
            ),
            tuple(self._thread(index) for index in busiest if sum(self._cpu_ns[index])),
            len(self._left_out),
        )

    def _thread(self, index: int) -> ThreadPlot:
        info = self._deltas.infos.get(index)
        cpu = self._cpu_ns[index]
        classes = self._class_ns.get(index, {})
        names: list[str | None] = []
        shares: list[float | None] = []
        for bucket in range(self._buckets):
            if not self._observed[bucket]:
                names.append(None)
                shares.append(None)
                continue
            by_class = {name: lane[bucket] for name, lane in classes.items() if lane[bucket]}
            most = max(by_class, key=lambda name: by_class[name], default="")
            names.append(most)
            shares.append(by_class[most] / sum(by_class.values()) if by_class else None)
        percent = tuple(
            100 * ns / self._bucket_ns if seen else None for ns, seen in zip(cpu, self._observed, strict=True)
        )
        return ThreadPlot(
            info.pid if info else 0,
            info.tid if info else 0,
            info.name if info else f"thread {index}",
            sum(cpu) / 1e6,
            Lane(0, self._bucket_ns, tuple(names), tuple(shares), self._is_exact.get(index, False)),
            Series(0, self._bucket_ns, percent, percent),
        )
