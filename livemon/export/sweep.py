"""``--sweep KEY=a,b,c``: how much the findings depend on one threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from livemon.export.document import Block, Heading, Paragraph, Table, columns
from livemon.export.numbers import count, duration_s, ratio
from livemon.export.report_json import finding_json
from livemon.export.times import ClockName, SessionTimes
from livemon.model.errors import UsageError
from livemon.model.findings import Finding, HostSlowTransient
from livemon.model.judgement import Judgement

SCHEMA = 1
MAX_VALUES = 20
Results = Sequence[tuple[str, Judgement]]
"""(value, the session judged with it)."""


def parse_sweep(text: str) -> tuple[str, tuple[str, ...]]:
    """``KEY=a,b,c`` as the key and its values; commas inside brackets or quotes do not part values.

    Raises:
        UsageError: it is not of that form.

    >>> parse_sweep("finalize.open_of=[2,3],[4,5]")
    ('finalize.open_of', ('[2,3]', '[4,5]'))
    """
    key, equals, rest = text.partition("=")
    values: list[str] = [""]
    depth, quote = 0, ""
    for c in rest:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        if c == "," and depth == 0 and not quote:
            values.append("")
        else:
            values[-1] += c
    values = [value.strip() for value in values]
    if not equals or not key.strip() or not all(values):
        raise UsageError(f"--sweep {text}: not KEY=a,b,c", "such as finalize.budget_ms=3,5,8")
    if len(values) > MAX_VALUES:
        raise UsageError(f"--sweep takes at most {MAX_VALUES} values, not {len(values)}")
    return key.strip(), tuple(values)


def sweep_json(key: str, results: Results, clock: ClockName = "wall") -> dict[str, Any]:
    """Findings by value of the key."""
    return {
        "schema": SCHEMA,
        "key": key,
        "values": [
            {
                "value": value,
                "criteria_sha256": judgement.criteria_sha256,
                "findings": [finding_json(f, judgement, SessionTimes(judgement, clock)) for f in judgement.findings],
                "blips": judgement.blips,
            }
            for value, judgement in results
        ],
    }


def sweep_blocks(key: str, results: Results) -> Iterator[Block]:
    """A row a value, then which findings hold whatever the value is."""
    yield Heading(f"livemon report: sweep of {key}", 1)
    rows = []
    for value, judgement in results:
        episodes = [f for f in judgement.findings if isinstance(f, HostSlowTransient)]
        end_ns = judgement.end_ns or 0
        slow_s = sum(((f.end_ns if f.end_ns is not None else end_ns) - f.start_ns) / 1e9 for f in episodes)
        worst = max((f.slowdown for f in episodes if f.slowdown is not None), default=None)
        rows.append(
            (
                value,
                count(len(episodes)),
                duration_s(slow_s),
                ratio(worst),
                count(len(judgement.findings) - len(episodes)),
                count(judgement.blips),
            )
        )
    yield Table(columns("<value", "transients", "slow time", "worst", "oversized", "blips?"), tuple(rows))
    found = [{_place(finding) for finding in judgement.findings} for _, judgement in results]
    stable = set.intersection(*found)
    if len({frozenset(places) for places in found}) == 1:
        yield Paragraph("The findings are the same at every value.")
        return
    yield Paragraph(f"{len(stable)} found at every value. The others:")
    others = [
        (place, ", ".join(value for (value, _), places in zip(results, found, strict=True) if place in places))
        for place in sorted(set.union(*found) - stable)
    ]
    yield Table(columns("<finding", "<found at"), tuple(others))


def _place(finding: Finding) -> str:
    """What makes findings of two judgements the same one: kind and place, episodes by their start (0.5 s)."""
    if isinstance(finding, HostSlowTransient):
        return f"host-slow transient near {round(finding.start_ns / 5e8) / 2:.1f} s (session clock)"
    return f"oversized finalize {finding.stage}" + (f" of {finding.class_key}" if finding.class_key is not None else "")
