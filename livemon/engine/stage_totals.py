"""Every stage of every class over the whole session, time that no stage accounts for, and the steps.

Records are collected per class and shape and taken in by the thousand, so a record costs about a
microsecond here. ``unaccounted`` is a unit's total minus its parts; spans that come on lines of their own
(``chip.run`` after ``chip.run.validate``) are joined by unit id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from livemon.engine.classes import Classified, Group
from livemon.engine.quantiles import Quantiles
from livemon.engine.roles import CPU, TOTAL, UNACCOUNTED
from livemon.engine.shapes import Shape
from livemon.model.judgement import StageStats, Steps

ROWS = 1024
"""Records that are taken in together; also the most that a reading has to catch up on, per class and shape."""
MAX_STAGES = 2_000
"""Stages of classes that are told apart; further ones are summed up under ``OTHERS``."""
OTHERS = "(others)"
_JOINED_UNITS = 4096


@dataclass(slots=True)
class _Stage:
    role: str
    durations: Quantiles = field(default_factory=Quantiles)
    warmup_n: int = 0


@dataclass(slots=True)
class _Steps:
    """First and last run of a stream in its newest cycle; the cycle's steps so far."""

    period: int
    n: int = 0
    cycle: int | None = None
    runs: int = 0
    first: tuple[int, int | None] | None = None
    last: tuple[int, int | None] | None = None
    counted: int = 0

    def add(self, item: Classified, class_key: str) -> None:
        record, _, _, _, is_warmup, run, *_ = item
        if run is None:
            if self.runs == 0 or class_key.startswith("0/"):
                self.n += 1
        else:
            cycle = run // self.period
            if cycle != self.cycle:
                self.n += 1
                self.cycle = cycle
        self.runs += 1
        if not is_warmup:
            here = (record.t_ns, run)
            if self.first is None:
                self.first = here
            else:
                self.counted += 1
            self.last = here

    def mean_ms(self) -> float | None:
        """Wall time of a step: from run to run, times the period."""
        if self.first is None or self.last is None:
            return None
        wall = (self.last[0] - self.first[0]) / 1e6
        runs = self.counted
        if self.first[1] is not None and self.last[1] is not None:
            runs = max(self.last[1] - self.first[1], runs)
        return wall / runs * self.period if runs > 0 and wall > 0 else None


class StageTotals:
    """Statistics by class and stage in bounded memory."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str | None, Shape], list[tuple[float, ...]]] = {}
        self._warmups: dict[tuple[str | None, Shape], int] = {}
        self._stages: dict[tuple[str | None, str], _Stage] = {}
        self._joins: OrderedDict[tuple[Group, str, str], float] = OrderedDict()
        self._steps: dict[Group, _Steps] = {}
        self.folded = 0
        """Records summed up under ``OTHERS``, or left out where even the kinds of line are too many."""

    def take(self, items: Iterable[Classified]) -> None:
        """Take classified records."""
        for item in items:
            self._add(item)

    def _add(self, item: Classified) -> None:
        _, shape, values, class_key, is_warmup, _, period, _, group = item
        key = (class_key, shape)
        rows = self._rows.get(key)
        if rows is None:
            if len(self._rows) >= MAX_STAGES:
                self.folded += 1
                key = (OTHERS, shape)
                if key not in self._rows and len(self._rows) >= 2 * MAX_STAGES:
                    return
            rows = self._rows.setdefault(key, [])
        rows.append(values)
        if is_warmup:
            self._warmups[key] = self._warmups.get(key, 0) + 1
        if len(rows) >= ROWS:
            self._take(key, rows)
        if len(shape.names) == 1 and item.record.unit is not None:
            self._join(item)
        if period is not None and class_key is not None:
            steps = self._steps.get(group)
            if steps is None or steps.period != period:
                steps = self._steps[group] = _Steps(period)
            steps.add(item, class_key)

    def _take(self, key: tuple[str | None, Shape], rows: list[tuple[float, ...]]) -> None:
        class_key, shape = key
        warmups = self._warmups.pop(key, 0)
        for k, values in enumerate(zip(*rows, strict=True)):
            stage = self._stage(class_key, shape.names[k], shape.roles[k])
            stage.durations.add(values)
            stage.warmup_n += warmups
        if shape.total is not None and shape.parts:
            rests = [rest for rest in map(shape.unaccounted_ms, rows) if rest is not None]
            if rests:
                stage = self._stage(class_key, UNACCOUNTED, UNACCOUNTED)
                stage.durations.add(rests)
                stage.warmup_n += warmups
        rows.clear()

    def _stage(self, class_key: str | None, name: str, role: str) -> _Stage:
        stage = self._stages.get((class_key, name))
        if stage is None:
            if len(self._stages) >= MAX_STAGES:
                class_key, name = OTHERS, role
                stage = self._stages.get((class_key, name))
            if stage is None:
                stage = self._stages[class_key, name] = _Stage(role)
        return stage

    def _join(self, item: Classified) -> None:
        """Spans: add to the parent's parts, or settle the parent when its own line comes (after its parts)."""
        name, value = item.shape.names[0], item.values[0]
        unit = item.record.unit or ""
        parts = self._joins.pop((item.group, unit, name), None)
        if parts is not None and item.shape.roles[0] == TOTAL and parts <= value:
            stage = self._stage(item.class_key, UNACCOUNTED, UNACCOUNTED)
            stage.durations.add([value - parts])
            stage.warmup_n += item.is_warmup
        parent, dot, _ = name.rpartition(".")
        if dot:
            key = (item.group, unit, parent)
            self._joins[key] = self._joins.get(key, 0.0) + value
            if len(self._joins) > _JOINED_UNITS:
                self._joins.popitem(last=False)

    def _catch_up(self) -> None:
        for key, rows in self._rows.items():
            if rows:
                self._take(key, rows)

    def stages(self) -> tuple[StageStats, ...]:
        """Every stage of every class, by class and then in the order in which they were first seen."""
        self._catch_up()
        classes: dict[str | None, None] = dict.fromkeys(class_key for class_key, _ in self._stages)
        order = {key: n for n, key in enumerate(sorted(classes, key=_class_order))}
        rows = [self._stats(key, stage) for key, stage in self._stages.items() if stage.durations.n]
        return tuple(sorted(rows, key=lambda row: (order[row.class_key], row.stage == UNACCOUNTED)))

    def _stats(self, key: tuple[str | None, str], stage: _Stage) -> StageStats:
        class_key, name = key
        d = stage.durations
        return StageStats(
            class_key=class_key,
            stage=name,
            role=stage.role,
            n=d.n,
            total_ms=d.total,
            mean_ms=d.mean or 0.0,
            min_ms=d.minimum,
            max_ms=d.maximum,
            p50_ms=d.get(0.5) or 0.0,
            p90_ms=d.get(0.9) or 0.0,
            p99_ms=d.get(0.99) or 0.0,
            share=self._share(class_key, name, stage),
            warmup_n=stage.warmup_n,
        )

    def _share(self, class_key: str | None, name: str, stage: _Stage) -> float | None:
        """Of the class's total; ``None`` without one, for CPU time, and where the parts exceed it."""
        if stage.role == CPU:
            return None
        totals = [s for (key, _), s in self._stages.items() if key == class_key and s.role == TOTAL]
        if not totals:
            return None
        whole = max(totals, key=lambda s: (s.durations.n, s.durations.total)).durations.total
        return stage.durations.total / whole if whole > 0 and stage.durations.total <= whole * 1.0000001 else None

    def steps(self, waiting: int) -> Steps:
        """The cycle with the most runs in it; without one, the units.

        Args:
            waiting: Records that have no class yet.
        """
        if self._steps:
            best = max(self._steps.values(), key=lambda steps: (steps.period > 1, steps.runs))
            return Steps(best.period, best.n, best.mean_ms())
        self._catch_up()
        units = [s for s in self._stages.values() if s.role == TOTAL]
        n = sum(s.durations.n for s in units)
        return Steps(None, n or waiting, sum(s.durations.total for s in units) / n if n else None)


def _class_order(class_key: str | None) -> tuple[bool, str, int, str]:
    """No class first, positions of a cycle by number, labels by name, the others last."""
    if class_key is None:
        return False, "", 0, ""
    position, slash, period = class_key.partition("/")
    if slash and position.isdecimal() and period.isdecimal():
        return True, period.zfill(6), int(position), ""
    return True, "~" if class_key == OTHERS else "a", 0, class_key
