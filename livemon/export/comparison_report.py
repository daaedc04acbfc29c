"""A comparison as JSON values and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from livemon.export.comparison import (
    MATTERS,
    MATTERS_OF_UNIT,
    Comparison,
    FindingShift,
    Outcome,
    Shift,
    StageShift,
)
from livemon.export.document import Block, Bullets, Column, Facts, Heading, Level, Paragraph, Table, Verdict, columns
from livemon.export.finding_document import cause_words, class_words
from livemon.export.numbers import count, counted, ms, number
from livemon.model.errors import UsageError

SCHEMA = 1
KINDS = ("host_slow_transient", "oversized_finalize", "any", "worse")
_WORDS: dict[Outcome, str] = {"better": "better", "worse": "WORSE", "same": "same", "unknown": "can't tell"}
_LEVELS: dict[Outcome, Level] = {"better": "ok", "worse": "warning", "same": "ok", "unknown": "unknown"}
"""A shift by itself is no more than a warning: how bad a stage is says its finding."""


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison, schema 1; what can't be told is ``null`` with a reason."""
    return {
        "schema": SCHEMA,
        "before": _side_json(comparison, 0),
        "after": _side_json(comparison, 1),
        "stages": [
            {
                "class": row.class_key,
                "stage": row.stage,
                "role": row.role,
                "n_before": row.n_before,
                "n_after": row.n_after,
                "median": _shift_json(row.median),
                "p99": _shift_json(row.p99),
            }
            for row in comparison.stages
        ],
        "findings": [
            {
                "kind": row.kind,
                "what": row.what,
                "change": row.change,
                "outcome": row.outcome,
                "before": row.before,
                "after": row.after,
            }
            for row in comparison.findings
        ],
        "notes": list(comparison.notes),
    }


def _side_json(comparison: Comparison, side: int) -> dict[str, Any]:
    judgement = (comparison.before, comparison.after)[side]
    return {
        "path": judgement.path,
        "records": judgement.records,
        "findings": len(judgement.findings),
        "criteria_sha256": judgement.criteria_sha256,
        "step_mean_ms": number(comparison.step_ms[side]),
    }


def _shift_json(shift: Shift) -> dict[str, Any]:
    interval = shift.shift_ms
    return {
        "before_ms": number(shift.before_ms),
        "after_ms": number(shift.after_ms),
        "shift_ms": None if interval is None else number(interval.value),
        "ci95_ms": None if interval is None else [number(interval.low), number(interval.high)],
        "same_within_ms": number(shift.bound_ms),
        "outcome": shift.outcome,
        "reason": shift.reason or None,
    }


def comparison_blocks(comparison: Comparison) -> Iterator[Block]:
    """The comparison in words: the sum of it first."""
    yield Heading("livemon compare", 1)
    yield from _verdicts(comparison)
    yield Heading("Sessions")
    yield Facts(tuple(_facts(comparison)))
    yield Heading("Findings")
    if comparison.findings:
        yield Table(
            columns("<finding", "<change", "<before", "<after"),
            tuple((_finding_words(row), row.change, row.before, row.after) for row in comparison.findings),
        )
    else:
        yield Paragraph("None before, none after.")
    yield Heading("Stages")
    median, p99 = (f"{100 * MATTERS[quantile]:.0f} %" for quantile in (0.5, 0.99))
    yield Paragraph(
        "Shift of the median and of P99 in ms, with 95 % confidence intervals; warm-up left out. What matters is a "
        f"shift of {median} of a median, {p99} of a P99, and at least {100 * MATTERS_OF_UNIT:.0f} % of the class's "
        'whole unit (column "matters"): better or worse lies wholly beyond that, the same wholly within; what reaches '
        "across can't be told. Other load on the machine shifts P99 first: compare like with like."
    )
    for class_key in dict.fromkeys(row.class_key for row in comparison.stages):
        rows = [row for row in comparison.stages if row.class_key == class_key]
        yield from _tables(class_key, rows)
    if comparison.notes:
        yield Heading("To know")
        yield Bullets(comparison.notes)


def _verdicts(comparison: Comparison) -> Iterator[Block]:
    outcomes = [row.median.outcome for row in comparison.stages]
    tails = [row.p99.outcome for row in comparison.stages]
    order: tuple[Outcome, ...] = ("worse", "better", "same")
    overall: Outcome = next((o for o in order if o in outcomes), "unknown")
    sentence = f"Of {counted(len(outcomes), 'stage')} (medians, per class): {_counts(outcomes)}."
    if {"worse", "better"} & set(tails):
        sentence += f" Their P99: {_counts(tails)}."
    yield Verdict(_LEVELS[overall], sentence)
    for row in comparison.findings:
        if row.change != "stayed":
            note = f" ({row.note})" if row.note else ""
            sentence = f"{_finding_words(row)} {row.change}: {row.before} before, {row.after} after{note}."
            yield Verdict("critical" if row.is_critical else _LEVELS[row.outcome], sentence)


def _counts(outcomes: Sequence[Outcome]) -> str:
    names: list[tuple[Outcome, str]] = [
        ("better", "better"), ("worse", "worse"), ("same", "the same"), ("unknown", "can't be told"),
    ]  # fmt: skip
    return ", ".join(f"{outcomes.count(o)} {name}" for o, name in names if o in outcomes)


def _finding_words(row: FindingShift) -> str:
    what = row.what if row.kind == "oversized_finalize" else cause_words(row.what)
    return f"{row.kind.replace('_', ' ')}, {what}"


def _facts(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for name, judgement, step_ms in (
        ("Before", comparison.before, comparison.step_ms[0]),
        ("After", comparison.after, comparison.step_ms[1]),
    ):
        step = f", mean step {ms(step_ms)} ms" if step_ms is not None else ""
        yield name, f"{judgement.path}: {counted(judgement.records, 'record')}{step}"


def _tables(class_key: str | None, rows: Sequence[StageShift]) -> Iterator[Block]:
    head = (
        *columns("<stage", "<", "before", "after", "shift", "95 % interval", "matters?"),
        Column("", is_number=False),
        *columns("n before???", "n after???"),
    )
    body = []
    for row in rows:
        for name, shift in (("P50", row.median), ("P99", row.p99)):
            is_first = name == "P50"
            body.append(
                (
                    row.stage if is_first else "",
                    name,
                    ms(shift.before_ms),
                    ms(shift.after_ms),
                    _signed(None if shift.shift_ms is None else shift.shift_ms.value),
                    _interval_words(shift),
                    "–" if shift.bound_ms is None else f"±{ms(shift.bound_ms)}",
                    _WORDS[shift.outcome],
                    count(row.n_before) if is_first else "",
                    count(row.n_after) if is_first else "",
                )
            )
    missing = sorted({shift.reason for row in rows for shift in (row.median, row.p99) if shift.shift_ms is None})
    yield Table(head, tuple(body), f"Class {class_words(class_key)}" if class_key is not None else "")
    yield from (Paragraph(f"Can't tell without an interval: {reason}.") for reason in missing)


def _signed(value: float | None) -> str:
    return "–" if value is None else ("+" if value > 0 else "−" if value < 0 else "") + ms(abs(value))


def _interval_words(shift: Shift) -> str:
    if shift.shift_ms is None:
        return "–"
    return f"{_signed(shift.shift_ms.low)} to {_signed(shift.shift_ms.high)}"


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse conditions that are not known, before any work.

    Raises:
        UsageError: an unknown kind.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"--fail-on {kind}: not known here", f"kinds are {', '.join(KINDS)}")


def comparison_failures(comparison: Comparison, kinds: Sequence[str]) -> list[str]:
    """Which ``--fail-on`` conditions are met, in words.

    A finding's kind is met when one of it appeared or got worse; ``worse`` when any stage got worse
    or any finding appeared; ``any`` is every finding kind.

    Raises:
        UsageError: an unknown kind.
    """
    check_kinds(kinds)
    met = [
        f"{_finding_words(row)} {row.change}"
        for row in comparison.findings
        if row.outcome == "worse" and {row.kind, "any", "worse"} & set(kinds)
    ]
    if "worse" in kinds:
        for stage in comparison.stages:
            where = f"{stage.stage} of {stage.class_key}" if stage.class_key is not None else stage.stage
            met += [
                f"{name} of {where} got worse"
                for name, shift in (("median", stage.median), ("P99", stage.p99))
                if shift.outcome == "worse"
            ]
    return met
