"""The figures of one oversized finalize stage over its interval: median, share, savings.

The newest runs are kept apart (``tail``) until it is clear that they belong to the interval: a level
change or an end that is seen a few runs late takes them back, so no figure mixes two levels.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from livemon.engine.classes import Classified
from livemon.engine.quantiles import Quantiles, median
from livemon.engine.shapes import start_ns
from livemon.model.findings import OversizedFinalize, Severity
from livemon.model.severity import CRITICAL_SHARE, FIRM_RUNS, FIRM_S, is_critical

BASE_RUNS = 32
FIRM_BASE_RUNS = 8
EARLY_RUNS = 64
OVERLAP = 1.1
"""Totals that exceed the wall time by more than this are of units that overlap in time."""
MOST_LOST = 1.5
"""Lost lines are made up for by the run index up to this factor; beyond, it is a gap, not lost lines."""


class Run(NamedTuple):
    """One run of a class, as far as the figures need it."""

    value_ms: float
    start_ns: int
    t_ns: int
    run: int | None
    totals_ms: float
    """Sum of the totals of all the group's runs up to and including this one."""
    over: frozenset[str]
    """The rules it breaks."""
    is_ordered: bool
    """Its time was laid out from durations, not read."""

    @classmethod
    def of(cls, item: Classified, value_ms: float, totals_ms: float, over: frozenset[str]) -> Run:
        """The run of a classified record."""
        record, shape, values, _, _, run, *_ = item
        begin = start_ns(record, shape.wall_ms(values))
        return _run((value_ms, begin, record.t_ns, run, totals_ms, over, record.time_from == "order"))


_run = partial(tuple.__new__, Run)


@dataclass(slots=True)
class Interval:
    """An interval in which one stage of one class is oversized; figures are exact up to 2,048 runs."""

    id: str
    class_key: str | None
    stage: str
    period: int | None
    detected_ns: int
    first: Run
    tail_runs: int
    tail: deque[Run] = field(default_factory=deque)
    end_ns: int | None = None
    emitted_units: int = 0
    was_critical: bool = False
    """When it was last told."""
    rules: frozenset[str] = frozenset()
    runs: list[Run] | None = field(default_factory=list)
    """All its runs while they are few (``EARLY_RUNS``); then ``None``."""
    level_ms: float | None = None
    """Median of the newest kept runs; ``None`` before there are any."""
    _kept: Quantiles = field(default_factory=Quantiles)
    _last: Run | None = None
    _base: deque[float] = field(default_factory=lambda: deque(maxlen=BASE_RUNS))

    def add(self, run: Run) -> None:
        """Take the next run."""
        self.tail.append(run)
        if self.runs is not None:
            self.runs.append(run)
            if len(self.runs) > EARLY_RUNS:
                self.runs = None
        if len(self.tail) > self.tail_runs:
            self._keep(self.tail.popleft())

    def _keep(self, run: Run) -> None:
        kept = self._kept
        kept.add_one(run.value_ms)
        self._base.append(run.value_ms)
        self._last = run
        if kept.n % 4 == 0 or kept.n <= 8:
            self.level_ms = median(self._base)

    def take_back(self, runs: int) -> list[Run]:
        """Remove the newest runs (at most the tail's) and return them, oldest first."""
        taken = [self.tail.pop() for _ in range(min(runs, len(self.tail)))]
        taken.reverse()
        if self.runs is not None and taken:
            del self.runs[-len(taken) :]
        return taken

    @property
    def units(self) -> int:
        """Runs in the interval."""
        return self._kept.n + len(self.tail)

    @property
    def last(self) -> Run:
        """The newest run."""
        return self.tail[-1] if self.tail else self._last or self.first

    def base(self) -> list[float]:
        """The level before the tail: the newest kept durations in ms, fewer than ``BASE_RUNS`` early on."""
        return list(self._base)

    def finding(
        self, *, budget_ms: float | None, device: tuple[str, float, float] | None, typical_ratio: float | None
    ) -> OversizedFinalize:
        """The finding with the figures as they are now.

        Args:
            budget_ms: The budget in force.
            device: Device stage of the class, its median and its middle (interquartile mean, which the rule
                goes by) in ms, if it has one.
            typical_ratio: The ratio rule in force.
        """
        values = self._kept.copy()
        values.add([run.value_ms for run in self.tail])
        p50, mean = values.get(0.5) or 0.0, values.mean or 0.0
        share, denominator = self._share(values)
        seconds = (self.last.t_ns - self.first.start_ns) / 1e9
        is_firm = self.units >= FIRM_RUNS or seconds >= FIRM_S
        severe = is_critical(share, CRITICAL_SHARE, was=self.was_critical, is_firm=is_firm)
        severity: Severity = "critical" if severe else "warning"
        ratio = p50 / device[1] if device and device[1] > 0 else None
        rules = tuple(rule for rule in ("budget", "ratio") if rule in self.rules)
        return OversizedFinalize(
            id=self.id,
            severity=severity,
            class_key=self.class_key,
            stage=self.stage,
            p50_ms=p50,
            budget_ms=budget_ms,
            device_stage=device[0] if device else None,
            device_p50_ms=device[1] if device else None,
            ratio_to_device=ratio,
            device_middle_ms=device[2] if device and device[2] > 0 and _has_modes(device) else None,
            share_of_total=share,
            share_denominator=denominator,
            saving_ms_per_step=mean,
            saving_to_budget_ms_per_step=None if budget_ms is None else max(0.0, mean - budget_ms),
            units=self.units,
            start_ns=self.first.start_ns,
            end_ns=self.end_ns,
            detected_ns=self.detected_ns,
            rules=rules,
            evidence=self._evidence(p50, budget_ms, device, ratio, typical_ratio),
        )

    def _share(self, values: Quantiles) -> tuple[float | None, str]:
        last, first = self.last, self.first
        spent = values.total - first.value_ms
        totals = last.totals_ms - first.totals_ms
        wall = (last.t_ns - first.t_ns) / 1e6
        if self.units < 2:
            return None, "unknown: one run only"
        if wall > 0 and totals <= OVERLAP * wall:
            seen = self.units - 1
            if self.period and first.run is not None and last.run is not None:
                lost = (last.run - first.run) / self.period / seen
                if 1.0 < lost <= MOST_LOST:
                    spent *= lost
            if last.is_ordered:
                return min(spent / wall, 1.0), "sum of unit times (the log carries no times)"
            return min(spent / wall, 1.0), "wall time of the steps"
        if totals > 0:
            return min(spent / totals, 1.0), "sum of totals (units overlap in time)"
        return None, "unknown: no time passes between the runs"

    def _evidence(
        self,
        p50: float,
        budget_ms: float | None,
        device: tuple[str, float, float] | None,
        ratio: float | None,
        typical_ratio: float | None,
    ) -> str:
        parts = [f"median {p50:.1f} ms over {self.units} runs"]
        if budget_ms is not None:
            parts.append(f"{p50 / budget_ms:.1f}× the budget of {budget_ms:g} ms" if budget_ms else "budget 0 ms")
        if device and ratio is not None:
            limit = f" (limit {typical_ratio:g}×)" if typical_ratio is not None else ""
            is_modal = _has_modes(device) and device[2] > 0
            typical_ms = device[2] if is_modal else device[1]
            parts.append(f"{p50 / typical_ms:.2f}× {device[0]} at {typical_ms:.1f} ms{limit}")
            if is_modal:
                parts.append(
                    f"{device[0]} has more than one mode: taken by its middle, its median is {device[1]:.1f} ms"
                )
        return ", ".join(parts)


def _has_modes(device: tuple[str, float, float]) -> bool:
    """Whether the median of a device stage is far off its middle: it then jumps from mode to mode."""
    return abs(device[2] - device[1]) > 0.15 * device[1]


def is_other_level(runs: list[Run], base: list[float], factor: float, needed: int) -> int:
    """How many of the newest runs are at another level than ``base``; 0 if it has not changed.

    All but a few of ``runs`` must be off by ``factor`` on the same side, and by more than the base
    itself scatters: a heavy tail is not a new level. A base of a few runs says little of its scatter,
    so the factor is then doubled.
    """
    if len(base) < 3:
        return 0
    if len(base) < FIRM_BASE_RUNS:
        factor *= 2
    middle = median(base)
    scatter = median([abs(value - middle) for value in base])
    up = [run.value_ms > max(middle * factor, middle + 3 * scatter) for run in runs]
    down = [run.value_ms < min(middle / factor, middle - 3 * scatter) for run in runs]
    for side in (up, down):
        if sum(side) >= needed and side[-1]:
            return len(side) - side.index(True)
    return 0
