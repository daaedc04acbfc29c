"""What reading a log gives: records with the line's own time, and counts of everything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from livemon.model.samples import StageValues


class ParsedRecord(NamedTuple):
    """One timing record as its line told it; nothing in it was read from a clock."""

    line: int
    """1-based number of the physical line."""
    offset: int
    """Byte offset of the physical line."""
    length: int
    """Bytes of the physical line, terminator included."""
    t_ns: int | None
    """The line's own stamp on ``clock``; with ``clock`` ``None`` ns since a start nobody knows (an uptime)."""
    clock: Literal["unix", "monotonic"] | None
    source: str
    """Tag or format name."""
    unit: str | None
    """Run, request, step or invocation id as text."""
    label: str | None
    """Kernel, callable or route, when the line says so."""
    pid: int | None
    tid: int | None
    stages: StageValues
    """Stage name and ms, in the order of the line; finite and >= 0, never empty."""
    fields: tuple[tuple[str, str], ...]
    """The line's other ``key=value`` pairs as text."""
    start_ns: int | None
    """Exact start on ``clock``, where the line gives it."""


@dataclass(slots=True)
class ParseStats:
    """Counts since the start of the stream; each line is one of them or carries records."""

    lines: int = 0
    """Physical lines, terminated."""
    records: int = 0
    ignored: int = 0
    """Lines without timing."""
    malformed: int = 0
    """Values and records that are no durations, or torn."""
    unterminated: int = 0
    """Rests without a terminator that were not read."""
    truncated: int = 0
    """Lines longer than the cap; only their first part was read."""
    grouped: int = 0
    """Records of which a stage was put under ``other`` because there were too many names."""
    formats: dict[str, int] = field(default_factory=dict)
    """Source -> records."""

    def as_json(self) -> dict[str, object]:
        """The summary ``livemon parse`` ends with."""
        out: dict[str, object] = {
            "lines": self.lines,
            "records": self.records,
            "ignored": self.ignored,
            "malformed": self.malformed,
            "unterminated": self.unterminated,
            "formats": dict(sorted(self.formats.items())),
        }
        if self.truncated:
            out["truncated"] = self.truncated
        if self.grouped:
            out["grouped"] = self.grouped
        return out
