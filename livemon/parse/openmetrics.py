"""Prometheus and OpenMetrics text -> distributions of durations; no I/O, linear time, nothing raises.

A duration is a histogram or summary (declared, or told by its ``_sum`` with ``_count``) whose unit
is in its name (``_seconds``, ``_ms``, …), in ``# UNIT``, or given. Anything else is no duration.
Triton has no histograms: its duration counters are paired with their request counter by a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from livemon.parse.units import UNIT_MS

Labels = tuple[tuple[str, str], ...]

NOT_STAGES = ("go_", "process_", "promhttp_", "python_", "scrape_")
"""Families about the runtime or the scraping itself."""

COUNTER_PAIRS: dict[str, tuple[str, str]] = {
    f"nv_inference_{what}_duration_us": (what, "nv_inference_request_success")
    for what in ("request", "queue", "compute_input", "compute_infer", "compute_output")
}
"""Counter of cumulative duration -> (stage, counter of the units that it sums up)."""

MAX_LINES = 200_000
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL = re.compile(r'\s*(?:([A-Za-z_][A-Za-z0-9_.]*)|"((?:[^"\\]|\\.)*)")\s*(?:=\s*"((?:[^"\\]|\\.)*)")?\s*(,|\})')
_QUOTED_NAME = ""
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One line: a name, its labels sorted by name, and its value."""

    name: str
    labels: Labels
    value: float


@dataclass(slots=True)
class Exposition:
    """A scrape, read."""

    samples: list[MetricSample] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class Distribution:
    """One histogram or summary of durations with its labels, as it stands (cumulative)."""

    stage: str
    unit_ms: float
    """What one of its units is in ms."""
    labels: Labels
    count: float
    total: float
    """Sum of the durations in its own unit."""
    buckets: tuple[tuple[float, float], ...] = ()
    """(upper bound in its own unit, cumulative count), sorted."""
    quantiles: tuple[tuple[float, float], ...] = ()
    """(quantile, value in its own unit) as the endpoint computed them over a window of its own."""
    created: float | None = None
    """When the series began, unix s, where it says so."""


def read_exposition(text: str) -> Exposition:
    """Read a scrape; a line that is not understood is counted, never guessed."""
    out = Exposition()
    for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
        line = line.strip()
        if not line:
            continue
        out.lines += 1
        if line.startswith("#"):
            _read_comment(line, out)
            continue
        sample = _read_sample(line)
        if sample is None:
            out.malformed += 1
        else:
            out.samples.append(sample)
    return out


def _read_comment(line: str, out: Exposition) -> None:
    words = line.split(None, 3)
    if len(words) >= 4 and words[1] == "TYPE":
        out.types[words[2]] = words[3].strip().lower()
    elif len(words) >= 4 and words[1] == "UNIT":
        out.units[words[2]] = words[3].strip().lower()


def _read_sample(line: str) -> MetricSample | None:
    match = _NAME.match(line)
    name, position = (match.group(), match.end()) if match else ("", 0)
    while line[position : position + 1] in (" ", "\t"):
        position += 1
    labels: list[tuple[str, str]] = []
    if line.startswith("{", position):
        end = _read_labels(line, position + 1, labels)
        if end is None:
            return None
        position = end
    if labels and labels[0][0] == _QUOTED_NAME:
        name = labels.pop(0)[1]
    words = line[position:].split(None, 1)
    if not name or not words or any(key == _QUOTED_NAME for key, _ in labels):
        return None
    try:
        return MetricSample(name, tuple(sorted(labels)), float(words[0]))
    except ValueError:
        return None


def _read_labels(line: str, position: int, labels: list[tuple[str, str]]) -> int | None:
    """Read up to the closing brace; returns the position behind it, ``None`` for a torn or wrong list.

    A quoted name alone (``{"a.b", x="1"}``) is the metric's own.
    """
    while True:
        while line[position : position + 1] in (" ", "\t"):
            position += 1
        if line.startswith("}", position):
            return position + 1
        label = _LABEL.match(line, position)
        if label is None:
            return None
        bare, quoted, value, end = label.groups()
        if value is None:
            if quoted is None:
                return None
            labels.append((_QUOTED_NAME, _unescaped(quoted)))
        else:
            labels.append((bare if bare is not None else _unescaped(quoted), _unescaped(value)))
        position = label.end()
        if end == "}":
            return position


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: "\n" if m.group(1) == "n" else m.group(1), text) if "\\" in text else text


def unit_of(family: str, exposition: Exposition, given: Mapping[str, str]) -> tuple[str, float] | None:
    """(stage name, ms per unit) of a family; ``None`` if nothing says that it is a duration."""
    bare = family.rpartition(":")[2]
    for name in (family, bare):
        if name in given and given[name] in UNIT_MS:
            return bare, UNIT_MS[given[name]]
    base, _, suffix = bare.rpartition("_")
    if base and suffix in UNIT_MS and len(suffix) > 1:
        return base, UNIT_MS[suffix]
    declared = exposition.units.get(family)
    return (bare, UNIT_MS[declared]) if declared in UNIT_MS else None


@dataclass(slots=True)
class _Series:
    count: float | None = None
    total: float | None = None
    created: float | None = None
    buckets: list[tuple[float, float]] = field(default_factory=list)
    quantiles: list[tuple[float, float]] = field(default_factory=list)


def distributions(exposition: Exposition, given: Mapping[str, str] | None = None) -> list[Distribution]:
    """All distributions of durations in a scrape, in order of appearance.

    Args:
        exposition: The scrape.
        given: Family name -> unit, for families that do not say theirs.
    """
    units: dict[str, tuple[str, float] | None] = {}
    series: dict[tuple[str, Labels], _Series] = {}
    for sample in exposition.samples:
        family, part = _family_of(sample.name, exposition.types)
        if not part or family.startswith(NOT_STAGES):
            continue
        if family not in units:
            units[family] = unit_of(family, exposition, given or {})
        if units[family] is None:
            continue
        special = "le" if part == "bucket" else "quantile" if part == "quantile" else ""
        labels = tuple(pair for pair in sample.labels if pair[0] != special)
        _fill(series.setdefault((family, labels), _Series()), part, sample, special)
    out = []
    for (family, labels), found in series.items():
        unit = units[family]
        if unit is None or found.count is None or found.total is None:
            continue
        if not (math.isfinite(found.count) and math.isfinite(found.total)) or min(found.count, found.total) < 0:
            continue
        out.append(
            Distribution(
                stage=unit[0],
                unit_ms=unit[1],
                labels=labels,
                count=found.count,
                total=found.total,
                buckets=tuple(sorted(found.buckets)),
                quantiles=tuple(sorted(found.quantiles)),
                created=found.created,
            )
        )
    return out + list(_counter_pairs(exposition.samples))


def _family_of(name: str, types: Mapping[str, str]) -> tuple[str, str]:
    """(family, part) of a sample's name; no part if it belongs to no histogram or summary."""
    if types.get(name) == "summary":
        return name, "quantile"
    for suffix in ("_count", "_sum", "_bucket", "_created"):
        if name.endswith(suffix):
            family = name.removesuffix(suffix)
            if types.get(family, "untyped") in ("histogram", "summary", "untyped", "unknown"):
                return family, suffix[1:]
    return name, ""


def _fill(series: _Series, part: str, sample: MetricSample, special: str) -> None:
    if part == "count":
        series.count = sample.value
    elif part == "sum":
        series.total = sample.value
    elif part == "created":
        series.created = sample.value
    else:
        try:
            bound = float(dict(sample.labels)[special])
        except (KeyError, ValueError):
            return
        if math.isnan(bound) or math.isnan(sample.value):
            return
        (series.buckets if part == "bucket" else series.quantiles).append((bound, sample.value))


def _counter_pairs(samples: Iterable[MetricSample]) -> Iterable[Distribution]:
    wanted = {count for _, count in COUNTER_PAIRS.values()}
    samples = list(samples)
    counts = {(s.name, s.labels): s.value for s in samples if s.name in wanted}
    for sample in samples:
        pair = COUNTER_PAIRS.get(sample.name)
        count = counts.get((pair[1], sample.labels)) if pair else None
        if pair is None or count is None or not (math.isfinite(sample.value) and math.isfinite(count)):
            continue
        if min(sample.value, count) >= 0:
            yield Distribution(pair[0], UNIT_MS["us"], sample.labels, count, sample.value)
