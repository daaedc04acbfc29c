"""Two judged sessions side by side: what got better, what got worse, what can't be told.

Compared are classes and stages that both have. Warm-up units are left out. With enough units any shift
is significant, so each has a bound of what would matter: a part of the figure before (5 % of a median,
10 % of a P99), and at least 1 % of a whole unit of the class, which a short stage can't slow by more.
A shift is better or worse when its whole confidence interval lies beyond the bound, the same when it
lies within; one that reaches across can't be told from these recordings.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from livemon.export.bootstrap import Interval, shifts
from livemon.export.numbers import counted
from livemon.model.errors import UsageError
from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize
from livemon.model.judgement import Judgement
from livemon.model.samples import TimingRecord

Outcome = Literal["better", "worse", "same", "unknown"]
Key = tuple[str | None, str]
"""Class key and stage."""

MIN_UNITS = 8
MIN_UNITS_P99 = 100
MATTERS = {0.5: 0.05, 0.99: 0.10}
"""Quantile -> the part of it, before, by which a shift must at least differ from none."""
MATTERS_OF_UNIT = 0.01
"""The same as a part of a whole unit's median: what is less is not felt, whatever part of a stage it is."""


@dataclass(frozen=True, slots=True)
class SessionData:
    """A session with its raw durations."""

    judgement: Judgement
    durations_ms: Mapping[Key, array[float]]
    """In order of arrival, warm-up included."""
    sources: frozenset[str] = frozenset()
    """Formats of its lines: they say what a unit is."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One quantile before and after."""

    before_ms: float | None
    after_ms: float | None
    shift_ms: Interval | None
    outcome: Outcome
    reason: str = ""
    """Why it can't be told."""
    bound_ms: float | None = None
    """Shifts up to this much either way are the same for practical purposes."""


@dataclass(frozen=True, slots=True)
class StageShift:
    """One stage of one class before and after."""

    class_key: str | None
    stage: str
    role: str
    n_before: int
    n_after: int
    median: Shift
    p99: Shift


@dataclass(frozen=True, slots=True)
class FindingShift:
    """A kind of finding in one place, before and after."""

    kind: str
    what: str
    """Class and stage, or the cause."""
    change: Literal["vanished", "appeared", "stayed"]
    outcome: Outcome
    before: str
    after: str
    is_critical: bool = False
    """Whether one of those after is."""
    note: str = ""
    """What bears on it, for the reader."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it."""

    before: Judgement
    after: Judgement
    stages: tuple[StageShift, ...]
    findings: tuple[FindingShift, ...]
    step_ms: tuple[float | None, float | None]
    notes: tuple[str, ...]


def collect(judgement: Judgement, records: Iterable[tuple[TimingRecord, str | None]]) -> SessionData:
    """Raw durations of a session from its classed records; one pass, 8 bytes a value."""
    durations: dict[Key, array[float]] = {}
    sources: set[str] = set()
    for record, class_key in records:
        sources.add(record.source)
        for stage, duration_ms in record.stages:
            key = (class_key, stage)
            values = durations.get(key)
            if values is None:
                values = durations[key] = array("d")
            values.append(duration_ms)
    return SessionData(judgement, durations, frozenset(sources))


def compare(before: SessionData, after: SessionData, *, notes: Sequence[str] = ()) -> Comparison:
    """Compare two sessions.

    Args:
        before: The one to compare with.
        after: The other.
        notes: What the reader must know about how they were judged.

    Raises:
        UsageError: they can't be compared; says why.
    """
    _refuse_incomparable(before, after)
    shared = [key for key in before.durations_ms if key in after.durations_ms]
    units_ms = _units_ms(shared, before)
    stages = tuple(_stage_shift(key, before, after, units_ms[key[0]]) for key in shared)
    return Comparison(
        before.judgement,
        after.judgement,
        stages,
        tuple(_finding_shifts(before.judgement, after.judgement, stages)),
        (before.judgement.steps.mean_ms, after.judgement.steps.mean_ms),
        (*notes, *_notes(before, after, has_notes=bool(notes))),
    )


def _refuse_incomparable(before: SessionData, after: SessionData) -> None:
    for name, side in (("BEFORE", before), ("AFTER", after)):
        if not side.durations_ms:
            raise UsageError(f"can't compare: {name} ({side.judgement.path}) holds no timing record")
    if before.sources and after.sources and not before.sources & after.sources:
        raise UsageError(
            "can't compare: their units differ: BEFORE has lines of "
            f"{_listed(before.sources)}, AFTER of {_listed(after.sources)}"
        )
    classes = [{key[0] for key in side.durations_ms} for side in (before, after)]
    if not classes[0] & classes[1]:
        periods = (before.judgement.steps.period, after.judgement.steps.period)
        if periods[0] != periods[1] and all(map(_is_position, classes[0] | classes[1])):
            raise UsageError(
                f"can't compare: their cycles differ, {_cycle(periods[0])} before and {_cycle(periods[1])} after",
                "judge both by one criteria file with [classes.cycle] period or [classes] keys",
            )
        raise UsageError(
            f"can't compare: they have no class in common, {_listed(classes[0])} before and {_listed(classes[1])} after"
        )
    if not before.durations_ms.keys() & after.durations_ms.keys():
        stages = [{key[1] for key in side.durations_ms} for side in (before, after)]
        raise UsageError(
            "can't compare: no stage of a shared class is in both, "
            f"{_listed(stages[0])} before and {_listed(stages[1])} after"
        )


def _is_position(class_key: str | None) -> bool:
    """Whether a class is a position in a cycle (or none at all), not a label of the line's own."""
    return class_key is None or class_key.replace("/", "", 1).isdecimal()


def _cycle(period: int | None) -> str:
    return "none" if period is None or period == 1 else f"{period} runs"


def _listed(names: Iterable[str | None]) -> str:
    words = sorted("(no class)" if name is None else name for name in names)
    return ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")


def _units_ms(keys: Sequence[Key], side: SessionData) -> dict[str | None, float]:
    """How long a unit of each class takes: the median of its total, else the sum of its stages' medians."""
    parts: dict[str | None, float] = {}
    totals: dict[str | None, float] = {}
    for key in keys:
        values = _without_warmup(side, key)
        median = float(np.median(values)) if len(values) else 0.0
        if _role(key, side) == "total":
            totals[key[0]] = max(median, totals.get(key[0], 0.0))
        parts[key[0]] = parts.get(key[0], 0.0) + median
    return parts | totals


def _stage_shift(key: Key, before: SessionData, after: SessionData, unit_ms: float) -> StageShift:
    sides = [_without_warmup(side, key) for side in (before, after)]
    quantiles = (0.5, 0.99)
    fewest = min(len(values) for values in sides)
    intervals = shifts(sides[0], sides[1], quantiles) if fewest >= MIN_UNITS else (None, None)
    results = []
    for quantile, interval, least in zip(quantiles, intervals, (MIN_UNITS, MIN_UNITS_P99), strict=True):
        figures = [float(np.quantile(values, quantile)) if len(values) else None for values in sides]
        if fewest < least or interval is None:
            results.append(Shift(figures[0], figures[1], None, "unknown", f"needs {least} units a side, has {fewest}"))
        else:
            bound_ms = max(MATTERS[quantile] * abs(figures[0] or 0.0), MATTERS_OF_UNIT * unit_ms)
            outcome = _outcome(interval, bound_ms)
            reason = "the interval reaches across the bound of what matters" if outcome == "unknown" else ""
            results.append(Shift(figures[0], figures[1], interval, outcome, reason, bound_ms))
    return StageShift(key[0], key[1], _role(key, before, after), len(sides[0]), len(sides[1]), results[0], results[1])


def _without_warmup(side: SessionData, key: Key) -> np.ndarray:
    values = np.frombuffer(side.durations_ms[key], dtype=np.float64)
    warmup = next((r.warmup_n for r in side.judgement.stages if (r.class_key, r.stage) == key), 0)
    return values[warmup:] if warmup < len(values) else values


def _role(key: Key, *sides: SessionData) -> str:
    rows = (row for side in sides for row in side.judgement.stages)
    return next((row.role for row in rows if (row.class_key, row.stage) == key), "host")


def _outcome(interval: Interval, bound_ms: float) -> Outcome:
    if interval.low > bound_ms:
        return "worse"
    if interval.high < -bound_ms:
        return "better"
    return "same" if -bound_ms <= interval.low and interval.high <= bound_ms else "unknown"


def _finding_shifts(before: Judgement, after: Judgement, stages: Sequence[StageShift]) -> Iterable[FindingShift]:
    groups = [_grouped(judgement.findings) for judgement in (before, after)]
    for key in dict.fromkeys([*groups[0], *groups[1]]):
        old, new = groups[0].get(key, []), groups[1].get(key, [])
        words = (_amount(old, before), _amount(new, after))
        if not new:
            yield FindingShift(*key, "vanished", "better", *words)
        elif not old:
            is_critical = any(finding.severity == "critical" for finding in new)
            note = _of_a_part(new[-1], stages)
            yield FindingShift(*key, "appeared", "worse", *words, is_critical=is_critical, note=note)
        else:
            outcome = _outcome_of_stage(new[-1], stages)
            yield FindingShift(*key, "stayed", outcome, *words)


def _outcome_of_stage(finding: Finding, stages: Sequence[StageShift]) -> Outcome:
    """A finding that stayed is as much better or worse as its stage's median; episodes are too few to tell."""
    row = _stage_of(finding, stages)
    return row.median.outcome if row is not None else "unknown"


def _of_a_part(finding: Finding, stages: Sequence[StageShift]) -> str:
    """Says so where a stage was over its budget for a while and its median over the session has not moved."""
    row = _stage_of(finding, stages)
    if row is None or row.median.outcome != "same" or row.median.after_ms is None:
        return ""
    return f"for a part of the session: over all of it the median is the same, {row.median.after_ms:.2f} ms"


def _stage_of(finding: Finding, stages: Sequence[StageShift]) -> StageShift | None:
    if not isinstance(finding, OversizedFinalize):
        return None
    key = (finding.class_key, finding.stage)
    return next((row for row in stages if (row.class_key, row.stage) == key), None)


def _grouped(findings: Sequence[Finding]) -> dict[tuple[str, str], list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if isinstance(finding, OversizedFinalize):
            what = f"{finding.stage} of {finding.class_key}" if finding.class_key is not None else finding.stage
        else:
            what = finding.primary_cause or "cause unknown"
        groups.setdefault((finding.kind, what), []).append(finding)
    return groups


def _amount(findings: Sequence[Finding], judgement: Judgement) -> str:
    if not findings:
        return "none"
    first = findings[-1]
    if isinstance(first, OversizedFinalize):
        return f"{first.p50_ms:.2f} ms (median)"
    episodes = [f for f in findings if isinstance(f, HostSlowTransient)]
    end_ns = judgement.end_ns or 0
    slow_s = sum(((f.end_ns if f.end_ns is not None else end_ns) - f.start_ns) / 1e9 for f in episodes)
    length_s = (end_ns - (judgement.start_ns or 0)) / 1e9
    share = f", {100 * slow_s / length_s:.1f} % of the time" if length_s > 0 else ""
    return f"{counted(len(episodes), 'episode')}, {slow_s:.1f} s{share}"


def _notes(before: SessionData, after: SessionData, *, has_notes: bool) -> Iterable[str]:
    left, right = before.judgement, after.judgement
    if left.criteria_sha256 != right.criteria_sha256 and not has_notes:
        yield "They were judged by different criteria: pass --criteria FILE to judge both by one."
    if left.facts.host != right.facts.host:
        yield f"They are from different hosts ({left.facts.host or '?'}, {right.facts.host or '?'})."
    if _cycle(left.steps.period) != _cycle(right.steps.period):
        yield f"Their cycles differ: {_cycle(left.steps.period)} before, {_cycle(right.steps.period)} after."
    for name, side, other in (("BEFORE", before, after), ("AFTER", after, before)):
        alone = [key for key in side.durations_ms if key not in other.durations_ms]
        if alone:
            words = [f"{stage} of {class_key}" if class_key is not None else stage for class_key, stage in alone]
            yield f"Only in {name}, not compared: {_listed(words)}."
    if left.blips != right.blips:
        yield f"Slow stretches below the threshold of an episode: {left.blips} before, {right.blips} after."
