"""Two scrapes -> what happened between them: means and quantile bounds of durations.

A mean is the difference of the sums over the difference of the counts. Families that counted the
same number of units for the same labels describe the same units and become stages of one interval.
A count or sum that went back, a newer ``_created`` or process start is a restart: everything counted
since belongs to the interval. A series seen for the first time in a later scrape began in it; one that
was away for some scrapes is read against the last one it was in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from livemon.parse.openmetrics import Distribution, Exposition, Labels, distributions, read_exposition
from livemon.parse.units import CEILING_MS

MAX_SERIES = 2000
"""Series followed at most; more are counted, not read."""
QUANTILES = (0.5, 0.9, 0.99)
NOT_CLASSES = frozenset(("engine", "host", "hostname", "instance", "job", "namespace", "pod", "version", "le"))
"""Labels that say where a series comes from, not what kind of unit it counts."""


@dataclass(frozen=True, slots=True)
class MetricInterval:
    """What one class of units did between two scrapes."""

    label: str | None
    """Values of the labels that tell kinds of units apart, joined with ``/``."""
    stages: tuple[tuple[str, float], ...]
    """Mean duration in ms by stage."""
    fields: tuple[tuple[str, str], ...]
    """``n``, quantile bounds in ms by stage, and the labels."""


@dataclass(frozen=True, slots=True)
class ScrapeReading:
    """A scrape, read against the one before it."""

    intervals: tuple[MetricInterval, ...]
    lines: int
    malformed: int
    durations: int
    """Series of durations in the scrape."""
    left_out: int
    """Series beyond the cap."""
    notes: tuple[str, ...] = ()


class MetricDeltas:
    """Follows one endpoint from scrape to scrape.

    Args:
        units: Family name -> unit, for families whose name does not say it.
    """

    def __init__(self, units: Mapping[str, str] | None = None) -> None:
        self._units = dict(units or {})
        self._before: dict[tuple[str, Labels], Distribution] | None = None
        self._process_start: float | None = None

    def update(self, text: str) -> ScrapeReading:
        """Read a scrape. The first one gives no interval: what it counted happened at unknown times."""
        exposition = read_exposition(text)
        found = distributions(exposition, self._units)
        now = {(d.stage, d.labels): d for d in found[:MAX_SERIES]}
        before = self._before
        has_restarted = self._restarted(exposition)
        # What is missing now may come back: it is kept, up to the cap, the longest missing first to go.
        missing = [item for item in (before or {}).items() if item[0] not in now and not has_restarted]
        self._before = dict(missing[max(0, len(missing) - MAX_SERIES) :]) | now
        notes: list[str] = []
        units: dict[tuple[Labels, int], list[tuple[Distribution, float]]] = {}
        malformed = exposition.malformed
        resets = 0
        for key, current in now.items() if before is not None else ():
            assert before is not None
            delta = current
            old = before.get(key)
            if old is not None and not has_restarted and not _is_reset(old, current):
                delta = _minus(current, old)
            elif old is not None:
                resets += 1
            if delta.count < 1:
                continue
            mean_ms = delta.total / delta.count * delta.unit_ms
            if not math.isfinite(mean_ms) or not 0 <= mean_ms <= CEILING_MS:
                malformed += 1
                continue
            units.setdefault((current.labels, round(delta.count)), []).append((delta, mean_ms))
        if resets:
            notes.append(f"counters of the metrics endpoint started again ({resets} series)")
        return ScrapeReading(
            tuple(_interval(labels, n, stages) for (labels, n), stages in units.items()),
            exposition.lines,
            malformed,
            len(found),
            max(0, len(found) - MAX_SERIES),
            tuple(notes),
        )

    def _restarted(self, exposition: Exposition) -> bool:
        start = next((s.value for s in exposition.samples if s.name == "process_start_time_seconds"), None)
        before, self._process_start = self._process_start, start
        return start is not None and before is not None and start > before + 1


def _is_reset(old: Distribution, new: Distribution) -> bool:
    if None not in (old.created, new.created) and old.created != new.created:
        return True
    # A sum of floats may lose its last digits when it is added up anew (multi-process exporters).
    return new.count < old.count or new.total < old.total * (1 - 1e-9)


def _minus(new: Distribution, old: Distribution) -> Distribution:
    bounds = [bound for bound, _ in new.buckets]
    if bounds == [bound for bound, _ in old.buckets]:
        pairs = zip(new.buckets, old.buckets, strict=True)
        buckets = tuple((bound, count - old_count) for (bound, count), (_, old_count) in pairs)
    else:
        buckets = ()
    return Distribution(
        new.stage,
        new.unit_ms,
        new.labels,
        new.count - old.count,
        max(new.total - old.total, 0.0),
        buckets,
        new.quantiles,
    )


def _interval(labels: Labels, n: int, stages: list[tuple[Distribution, float]]) -> MetricInterval:
    fields: list[tuple[str, str]] = [("n", str(n))]
    for delta, _ in stages:
        for quantile in QUANTILES:
            name = f"{delta.stage}.p{quantile * 100:g}"
            low, high = _bounds(delta, quantile)
            if low is not None:
                fields.append((f"{name}_above_ms", f"{low * delta.unit_ms:g}"))
            if high is not None:
                fields.append((f"{name}_at_most_ms", f"{high * delta.unit_ms:g}"))
        fields += [
            (f"{delta.stage}.summary_q{quantile:g}_ms", f"{value * delta.unit_ms:g}")
            for quantile, value in delta.quantiles
            if math.isfinite(value)
        ]
    fields += labels
    kinds = [value for key, value in labels if key not in NOT_CLASSES and value]
    return MetricInterval(
        "/".join(kinds) or None, tuple((delta.stage, mean_ms) for delta, mean_ms in stages), tuple(fields)
    )


def _bounds(delta: Distribution, quantile: float) -> tuple[float | None, float | None]:
    """Between which bucket bounds the quantile lies; ``None`` where the histogram does not say."""
    low: float | None = 0.0 if delta.buckets else None
    rank = quantile * delta.count
    for bound, count in delta.buckets:
        if count >= rank - 1e-9:
            return low, bound if math.isfinite(bound) else None
        low = bound
    return None, None
