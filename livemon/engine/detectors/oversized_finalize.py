"""Oversized finalize: host work after the device is done that breaks its budget or dwarfs the device.

Theory
------
Per class, a run is *over* when its finalize stage takes longer than the budget, or than
``device_ratio`` times the middle of the class's device stage (and than a floor). A finding opens when 4
of the last 5 runs are over (it starts with the first of them) and ends when 4 of the last 5 are not:
single spikes and the cold first run never open one. With more history the median of the last 21 runs
must agree, or the newest runs must be clear of the limit, so a stage that hovers at its limit does not
flap; one that is over again within ``RESUME_RUNS`` runs goes on as the same finding. A level that
changes by half inside a finding ends it and opens the next: a regression on top of a regression is
told apart. If the level comes back within ``EARLY_RUNS`` runs it was a disturbance (a host-slow episode,
say): the next finding is withdrawn and the first goes on.

The ratio rule goes by the device's interquartile mean, as device stages often have two modes between which
a median jumps; the figures reported are medians. The device stage comes from the same line, or from other
lines of the same class where each span has its own.

A finding is updated when its runs have grown by a quarter, so the log of changes grows with the
logarithm of the session.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from livemon.engine.classes import Classified, Classifier, Group
from livemon.engine.finalize_figures import Interval, Run, is_other_level
from livemon.engine.quantiles import median, midmean
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding, FindingChange, OversizedFinalize
from livemon.model.samples import Samples

RESUME_RUNS = 32
"""Runs of the class within which a stage that is over again is the same finding."""
CLEAR = 1.1
"""The newest runs decide alone when their median is this factor beyond the limit."""
STATES = 4096
"""Stages of classes that are followed at the same time; names beyond that are not judged."""
_HISTORY_RUNS = 21
_LOOK_AGAIN_RUNS = 9
_DEVICE_RUNS = 256
_LEAST_MS = 1e-3
_SILENT_NS = 30_000_000_000
_NONE, _BUDGET, _RATIO, _BOTH = (frozenset(rules) for rules in ((), ("budget",), ("ratio",), ("budget", "ratio")))


@dataclass(slots=True)
class _Device:
    """The device stage of a class."""

    stage: str = ""
    values: deque[float] = field(default_factory=lambda: deque(maxlen=_DEVICE_RUNS))
    middle_ms: float = 0.0
    n: int = 0

    def add(self, stage: str, value_ms: float) -> None:
        self.stage = stage
        self.values.append(value_ms)
        self.n += 1
        if self.n % 16 == 0 or self.n <= 32:
            self.middle_ms = midmean(self.values)


@dataclass(slots=True)
class _State:
    """One finalize stage of one class."""

    recent: deque[Run]
    device: _Device | None = None
    """Of its class; ``None`` while none was met."""
    history: deque[float] = field(default_factory=lambda: deque(maxlen=_HISTORY_RUNS))
    interval: Interval | None = None
    ended: Interval | None = None
    before: Interval | None = None
    """The interval whose level the open one departed from."""
    runs_since_end: int = 0


@dataclass(slots=True)
class _GroupState:
    totals_ms: float = 0.0
    parts_ms: float = 0.0
    has_totals: bool = False
    period: dict[str, int | None] = field(default_factory=dict)


class OversizedFinalizeDetector:
    """Finds oversized finalize stages; see the theory at the head of the file.

    Args:
        criteria: Budget, ratio, window; roles and class keys.
        facts: Not needed: what a line says is enough.
    """

    def __init__(self, criteria: Criteria, facts: SessionFacts | None = None) -> None:
        self._rules = criteria.finalize
        self._needed, self._window = criteria.finalize.open_of
        self._classifier = Classifier(criteria)
        self._states: dict[tuple[Group, str | None, str], _State] = {}
        self._devices: dict[tuple[Group, str | None], _Device] = {}
        self._groups: dict[Group, _GroupState] = {}
        self._findings: dict[str, OversizedFinalize] = {}
        self._open: dict[str, tuple[_State, Group]] = {}
        self._changes: list[FindingChange] = []
        self._taken = 0
        self._raised = 0

    def update(self, samples: Samples) -> list[FindingChange]:
        """Take the next samples, in arrival order; returns what changed."""
        return self.take(self._classifier.update(samples))

    def finish(self) -> list[FindingChange]:
        """The stream has ended; judges the runs that waited for a class."""
        return self.take(self._classifier.finish())

    def get(self) -> tuple[Finding, ...]:
        """The findings so far, in order of detection, with their newest figures."""
        for state, group in self._open.values():
            if state.interval is not None:
                self._findings[state.interval.id] = self._figures(state.interval, group)
        return tuple(self._findings.values())

    @property
    def period(self) -> int | None:
        """The detected period: 1 for no cycle, ``None`` while unknown."""
        return self._classifier.period

    def take(self, items: Sequence[Classified]) -> list[FindingChange]:
        """Take the next records whose classes somebody else has settled; returns what changed."""
        self._changes = []
        for item in items:
            _, shape, values, _, is_warmup, _, _, _, of = item
            group = self._groups.get(of)
            if group is None:
                group = self._groups[of] = _GroupState()
            if shape.total is not None:
                group.has_totals = True
                group.totals_ms += values[shape.total]
            else:
                group.parts_ms += shape.wall_ms(values)
            if not is_warmup:
                if shape.device:
                    self._take_device(item)
                for k in shape.finalize:
                    self._take(item, shape.names[k], values[k], group)
            self._taken += 1
            if self._taken % 256 == 0:
                self._end_silent(item.known_ns, item.record.t_ns)
        return self._changes

    def _take_device(self, item: Classified) -> None:
        key = (item.group, item.class_key)
        device = self._devices.get(key)
        if device is None:
            if len(self._devices) >= STATES:
                return
            device = self._devices[key] = _Device()
        shape, values = item.shape, item.values
        k = shape.device[0] if len(shape.device) == 1 else max(shape.device, key=values.__getitem__)
        device.add(shape.names[k], values[k])

    def _take(self, item: Classified, stage: str, value_ms: float, group: _GroupState) -> None:
        is_labelled = item.period is None and item.class_key is not None
        if not is_labelled and group.period.setdefault(stage, item.period) != item.period:
            group.period[stage] = item.period
            self._end_other_periods(item, stage)
        key = (item.group, item.class_key, stage)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= STATES:
                return
            state = self._states[key] = _State(deque(maxlen=self._window))
        totals = group.totals_ms if group.has_totals else group.parts_ms
        if state.device is None:
            state.device = self._devices.get(key[:2])
        run = Run.of(item, value_ms, totals, self._over(state.device, value_ms))
        state.recent.append(run)
        state.history.append(value_ms)
        if state.interval is None:
            state.runs_since_end += 1
            self._may_open(state, item, stage)
        else:
            state.interval.add(run)
            self._follow(state, state.interval, item)

    # -- rules

    def _limit_ms(self, key: tuple[Group, str | None, str]) -> float:
        """The duration from which any rule is broken; infinite when all are off."""
        limits = [] if self._rules.budget_ms is None else [self._rules.budget_ms]
        device = self._devices.get(key[:2])
        if self._rules.device_ratio is not None and device is not None:
            limits.append(max(self._rules.device_ratio * device.middle_ms, self._rules.min_device_ms))
        return min(limits, default=float("inf"))

    def _over(self, device: _Device | None, value_ms: float) -> frozenset[str]:
        rules = self._rules
        is_over = rules.budget_ms is not None and value_ms > rules.budget_ms
        if (
            device is not None
            and rules.device_ratio is not None
            and value_ms > rules.min_device_ms
            and value_ms > rules.device_ratio * device.middle_ms
        ):
            return _BOTH if is_over else _RATIO
        return _BUDGET if is_over else _NONE

    def _is_confirmed(self, state: _State, limit_ms: float, *, is_over: bool) -> bool:
        """Whether the longer history agrees, or the newest runs are clear of the limit."""
        newest = median([run.value_ms for run in state.recent])
        if is_over:
            return newest > CLEAR * limit_ms or median(state.history) > limit_ms
        return newest < limit_ms / CLEAR or median(state.history) <= limit_ms

    # -- the life of a finding

    def _may_open(self, state: _State, item: Classified, stage: str) -> None:
        over = [run for run in state.recent if run.over]
        if len(over) < self._needed:
            return
        key = (item.group, item.class_key, stage)
        if not self._is_confirmed(state, self._limit_ms(key), is_over=True):
            return
        ended = state.ended
        if (
            ended is not None
            and state.runs_since_end <= RESUME_RUNS
            and not is_other_level(over, ended.base(), self._rules.level_change, self._needed)
        ):
            ended.end_ns = None
            self._begin(state, ended, list(state.recent)[-min(state.runs_since_end, len(state.recent)) :], item)
            self._emit("updated", ended, item)
            return
        first = state.recent.index(over[0])
        runs = list(state.recent)[first:]
        interval = Interval(
            id=f"F{self._raised + 1}",
            class_key=item.class_key,
            stage=stage,
            period=item.period,
            detected_ns=item.known_ns,
            first=runs[0],
            tail_runs=self._window,
        )
        self._raised += 1
        self._begin(state, interval, runs, item)
        self._emit("raised", interval, item)

    def _begin(self, state: _State, interval: Interval, runs: list[Run], item: Classified) -> None:
        """Open an interval, or go on with one, from these runs."""
        state.interval, state.ended = interval, None
        self._open[interval.id] = (state, item.group)
        for run in runs:
            interval.add(run)
        interval.rules = self._broken(state)

    def _broken(self, state: _State) -> frozenset[str]:
        """The rules that most of the newest runs break."""
        half = len(state.recent) / 2
        return frozenset(rule for rule in ("budget", "ratio") if sum(rule in run.over for run in state.recent) > half)

    def _follow(self, state: _State, interval: Interval, item: Classified) -> None:
        newest = state.recent[-1]
        if not newest.over:
            if self._ends(state, interval, item):
                self._end(state, interval, item)
                return
        elif self._is_off(newest, interval):
            recent = list(state.recent)
            if self._is_back(state, interval, recent):
                self._take_up(state, interval, item)
                return
            over = sum([bool(run.over) for run in recent])
            changed = is_other_level(recent, interval.base(), self._rules.level_change, self._needed)
            if changed and over >= self._needed:
                self._change_level(state, interval, item, changed)
                return
        units = interval.units
        grown = units >= 1.25 * interval.emitted_units
        if grown or units % _LOOK_AGAIN_RUNS == 0:
            rules = self._broken(state) or interval.rules
            if grown or rules != interval.rules:
                interval.rules = rules
                self._emit("updated", interval, item)

    def _is_off(self, run: Run, interval: Interval) -> bool:
        """Whether a run is not at the interval's level: the cheap question before ``is_other_level``."""
        level, factor = interval.level_ms, self._rules.level_change
        return level is not None and not level / factor <= run.value_ms <= level * factor

    def _ends(self, state: _State, interval: Interval, item: Classified) -> bool:
        """Whether the newest runs keep to the rules; then takes them back from the interval."""
        recent = list(state.recent)
        if sum([not run.over for run in recent]) < self._needed:
            return False
        key = (item.group, item.class_key, interval.stage)
        if not self._is_confirmed(state, self._limit_ms(key), is_over=False):
            return False
        interval.take_back(next((k for k, run in enumerate(reversed(recent)) if run.over), len(recent)))
        return True

    def _change_level(self, state: _State, interval: Interval, item: Classified, changed: int) -> None:
        """The newest ``changed`` runs are at another level: they begin the next finding."""
        interval.take_back(changed)
        self._end(state, interval, item)
        state.ended, state.before = None, interval
        for _ in range(len(state.recent) - changed):
            state.recent.popleft()
        state.history.clear()
        state.history.extend(run.value_ms for run in state.recent)
        self._may_open(state, item, interval.stage)

    def _is_back(self, state: _State, interval: Interval, recent: list[Run]) -> bool:
        """Whether the runs are again at the level that this interval departed from, and it was a short one."""
        before = state.before
        if before is None or interval.runs is None or before.level_ms is None or interval.level_ms is None:
            return False
        old, new, now = (
            math.log(max(level, _LEAST_MS))
            for level in (before.level_ms, interval.level_ms, median([run.value_ms for run in recent]))
        )
        return abs(now - old) < 0.4 * abs(new - old)

    def _take_up(self, state: _State, interval: Interval, item: Classified) -> None:
        """The level was another one for a short while only (a host-slow episode): one finding goes on."""
        before, runs = state.before, interval.runs or []
        if before is None:
            return
        self._findings.pop(interval.id, None)
        self._open.pop(interval.id, None)
        self._changes.append(FindingChange(item.known_ns, "withdrawn", self._figures(interval, item.group)))
        state.before = None
        before.end_ns = None
        self._begin(state, before, runs, item)
        self._emit("updated", before, item)

    def _end(self, state: _State, interval: Interval, item: Classified) -> None:
        interval.end_ns = interval.last.t_ns
        state.interval, state.ended, state.runs_since_end = None, interval, 0
        self._emit("ended", interval, item)
        self._open.pop(interval.id, None)

    def _end_other_periods(self, item: Classified, stage: str) -> None:
        """Another cycle is in force: positions of the one before have no more runs."""
        for state, group in list(self._open.values()):
            interval = state.interval
            if interval is not None and group == item.group and interval.stage == stage:
                is_position = interval.period is not None or interval.class_key is None
                if is_position and interval.period != item.period:
                    self._end(state, interval, item._replace(group=group))

    def _end_silent(self, known_ns: int, t_ns: int) -> None:
        """End findings of classes that no longer run while others do."""
        for state, group in list(self._open.values()):
            interval = state.interval
            if interval is None or interval.units < 2:
                continue
            step = (interval.last.t_ns - interval.first.t_ns) / (interval.units - 1)
            if t_ns - interval.last.t_ns > max(_SILENT_NS, 50 * step):
                interval.end_ns = interval.last.t_ns
                state.interval, state.ended, state.runs_since_end = None, interval, 0
                self._record("ended", interval, group, known_ns)
                self._open.pop(interval.id, None)

    # -- telling

    def _emit(self, change: str, interval: Interval, item: Classified) -> None:
        self._record(change, interval, item.group, item.known_ns)

    def _record(self, change: str, interval: Interval, group: Group, at_ns: int) -> None:
        finding = self._findings[interval.id] = self._figures(interval, group)
        interval.emitted_units, interval.was_critical = interval.units, finding.severity == "critical"
        kind = {"raised": "raised", "updated": "updated", "ended": "ended"}[change]
        self._changes.append(FindingChange(at_ns, kind, finding))  # type: ignore[arg-type]

    def _figures(self, interval: Interval, group: Group) -> OversizedFinalize:
        device = self._devices.get((group, interval.class_key))
        return interval.finding(
            budget_ms=self._rules.budget_ms,
            device=None if device is None else (device.stage, median(device.values), device.middle_ms),
            typical_ratio=self._rules.device_ratio,
        )
