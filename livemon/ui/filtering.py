"""The filter language of ``/``: words, fields and comparisons, checked while typing."""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from livemon.model.snapshot import LogLine, StageRow, ThreadRow

_TERM = re.compile(r"^(?P<not>[-!]?)(?P<field>[a-z_]+)(?P<op>>=|<=|!=|:|=|>|<)(?P<value>.*)$", re.IGNORECASE)

TEXT_FIELDS = {
    "name",
    "thread",
    "process",
    "proc",
    "role",
    "class",
    "label",
    "stage",
    "state",
    "unit",
    "stream",
    "text",
    "policy",
}
NUMBER_FIELDS = {"cpu", "wait", "ipc", "cyc", "unit_ms", "mig", "eff", "tid", "pid", "core", "median", "p50", "p99", "last",
                 "share", "n", "line"}  # fmt: skip
_FIGURES = {"cpu": "cpu_percent", "wait": "wait_percent", "ipc": "ipc", "cyc": "cycles_per_ns", "unit_ms": "cpu_ms_per_unit",
            "mig": "migrations_per_s", "core": "last_cpu"}  # fmt: skip

THREAD_FIELDS = {
    "",
    "name",
    "thread",
    "process",
    "proc",
    "role",
    "class",
    "state",
    "policy",
    "eff",
    "tid",
    "pid",
    *_FIGURES,
}
"""Fields that threads have; a term on any other says nothing about them."""
STAGE_FIELDS = {"", "stage", "label", "role", "state", "median", "p50", "p99", "last", "n", "share"}
"""The same of stages."""


class FilterError(ValueError):
    """The filter can't be understood; the message says which word and why."""


@dataclass(frozen=True, slots=True)
class Term:
    """One condition; all terms of a filter must hold."""

    field: str
    """Empty: plain text, looked for everywhere."""
    op: str
    values: tuple[str, ...]
    """Any of them (``a|b``)."""
    is_not: bool
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter; an empty one lets everything through."""

    terms: tuple[Term, ...] = ()
    text: str = ""

    def words_on(self, fields: AbstractSet[str]) -> str:
        """The part of the filter that says something about rows with these fields, as it was typed."""
        typed = zip(self.text.split(), self.terms, strict=True)
        return " ".join(word for word, term in typed if term.field in fields)

    def keeps_thread(self, row: ThreadRow) -> bool:
        """Whether a thread is shown; terms on fields that threads don't have say nothing about it."""
        return all(_holds(term, _thread_text(row, term.field), _thread_number(row, term.field)) for term in self.terms)

    def keeps_stage(self, row: StageRow) -> bool:
        """Whether a stage is shown."""
        return all(_holds(term, _stage_text(row, term.field), _stage_number(row, term.field)) for term in self.terms)

    def keeps_line(self, line: LogLine) -> bool:
        """Whether a log line is shown."""
        return all(_holds(term, _line_text(line, term.field), _line_number(line, term.field)) for term in self.terms)


def parse_filter(text: str) -> Filter:
    """Read a filter.

    Raises:
        FilterError: a field is not known, or a comparison is not with a number.
    """
    terms: list[Term] = []
    for word in text.split():
        match = _TERM.match(word)
        if match is None:
            is_not = word[0] in "-!" and len(word) > 1
            terms.append(Term("", ":", _alternatives(word[1:] if is_not else word), is_not))
            continue
        name, op, value = match["field"].lower(), match["op"], match["value"]
        is_not = bool(match["not"])
        if name not in TEXT_FIELDS | NUMBER_FIELDS:
            raise FilterError(f"no field {name!r}: there are {', '.join(sorted(TEXT_FIELDS | NUMBER_FIELDS))}")
        if not value:
            raise FilterError(f"{name}{op} needs a value")
        if name in NUMBER_FIELDS:
            try:
                number = float(value.rstrip("%"))
            except ValueError:
                raise FilterError(f"{name}{op} needs a number, not {value!r}") from None
            terms.append(Term(name, "=" if op == ":" else op, (), is_not, number))
        elif op in (":", "=", "!="):
            terms.append(Term(name, "=" if op != ":" else op, _alternatives(value), is_not != (op == "!=")))
        else:
            raise FilterError(f"{name} is text: use {name}:{value}")
    return Filter(tuple(terms), text.strip())


def _alternatives(value: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in value.split("|") if part)


def _holds(term: Term, text: tuple[str, ...] | None, number: tuple[float | None] | None) -> bool:
    if term.number is not None:
        if number is None:
            return True
        value = number[0]
        if value is None:
            return False
        holds = {
            "=": abs(value - term.number) < 1e-9,
            "!=": abs(value - term.number) >= 1e-9,
            ">": value > term.number,
            "<": value < term.number,
            ">=": value >= term.number,
            "<=": value <= term.number,
        }[term.op]
        return holds != term.is_not
    if text is None:
        return True
    if term.op == "=" or (term.field == "class" and all(len(v) <= 2 for v in term.values)):
        found = any(part.lower() in term.values for part in text)
    else:
        found = any(value in part.lower() for part in text for value in term.values)
    return found != term.is_not


def _thread_text(row: ThreadRow, name: str) -> tuple[str, ...] | None:
    match name:
        case "":
            return (row.name, row.process, row.role, f"#{row.tid}", row.core_class or "")
        case "name" | "thread":
            return (row.name,)
        case "process" | "proc":
            return (row.process,)
        case "role":
            return (row.role,)
        case "class":
            return (row.core_class or "unknown",)
        case "state":
            return ("running" if row.is_alive else "ended",)
        case "policy":
            return (row.policy or "",)
        case _:
            return None


def _thread_number(row: ThreadRow, name: str) -> tuple[float | None] | None:
    if name in _FIGURES:
        value: float | None = getattr(row, _FIGURES[name]).value
        return (value,)
    match name:
        case "eff":
            share = row.efficiency_share.value
            return (None if share is None else share * 100,)
        case "tid":
            return (row.tid,)
        case "pid":
            return (row.pid,)
        case _:
            return None


def _stage_text(row: StageRow, name: str) -> tuple[str, ...] | None:
    match name:
        case "":
            return (row.stage, row.class_key or "", row.role, row.state)
        case "stage":
            return (row.stage,)
        case "label":
            return (row.class_key or "",)
        case "role":
            return (row.role,)
        case "state":
            return (row.state,)
        case _:
            return None


def _stage_number(row: StageRow, name: str) -> tuple[float | None] | None:
    match name:
        case "median" | "p50":
            return (row.p50_ms,)
        case "p99":
            return (row.p99_ms,)
        case "last":
            return (row.last_ms,)
        case "n":
            return (row.n,)
        case "share":
            return (None if row.share is None else row.share * 100,)
        case _:
            return None


def _line_text(line: LogLine, name: str) -> tuple[str, ...] | None:
    match name:
        case "" | "text":
            return (line.text,)
        case "stage":
            return tuple(stage for stage, _ in line.stages)
        case "label":
            return (line.class_key or "",)
        case "unit":
            return (line.unit or "",)
        case "stream":
            return (line.stream,)
        case _:
            return None


def _line_number(line: LogLine, name: str) -> tuple[float | None] | None:
    return (line.line,) if name == "line" else None
