"""What a stream of lines tells of findings: one ``raised``, changes of severity, one ``ended``.

A detector's changes are finer than what somebody reads: a finding that ends may go on a moment later, and a stage at
a new level ends one finding and raises the next at once. So an end is told when it has stood for a while; one that is
taken back before that is not told at all, and one that is taken back later is told as ``again``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from livemon.model.findings import Finding, FindingChange, OversizedFinalize

STANDS_NS = {"host_slow_transient": 1_000_000_000, "oversized_finalize": 5_000_000_000}
"""Kind of finding -> how long its end must stand before it is told."""
_SEVERITY_NS = 5_000_000_000
"""A change of severity this soon after the last line of a finding waits."""
Event = Literal["raised", "severity", "again", "ended", "withdrawn"]


@dataclass(frozen=True, slots=True)
class FindingLine:
    """One line."""

    at_ns: int
    event: Event
    finding: Finding
    note: str = ""
    """What the finding itself does not say, in words."""
    is_implied: bool = False
    """The next line says it too: people need not read both."""


@dataclass(slots=True)
class _Told:
    severity: str
    at_ns: int
    """Time of its last line."""
    has_ended: bool = False


class FindingLines:
    """Makes lines of changes; feed it also when nothing changed, for the ends that wait."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}
        self._ends: dict[str, FindingChange] = {}
        """Ends that are not told yet."""

    def take(self, changes: Iterable[FindingChange], now_ns: int) -> list[FindingLine]:
        """The lines due by ``now_ns`` (arrival of the newest sample), in order."""
        out: list[FindingLine] = []
        for change in changes:
            out += self._due(change.at_ns)
            out += self._change(change)
        return out + self._due(now_ns)

    def finish(self) -> list[FindingLine]:
        """The stream is over: nothing takes an end back any more."""
        return self._due(None)

    def _due(self, now_ns: int | None) -> list[FindingLine]:
        due = [c for c in self._ends.values() if now_ns is None or c.at_ns + STANDS_NS[c.finding.kind] <= now_ns]
        return [self._end(change) for change in due]

    def _end(self, change: FindingChange) -> FindingLine:
        finding = change.finding
        del self._ends[finding.id]
        told = self._told[finding.id]
        note = "" if told.severity == finding.severity else f"it was {told.severity} when last told"
        self._told[finding.id] = _Told(finding.severity, change.at_ns, has_ended=True)
        return FindingLine(change.at_ns, "ended", finding, note)

    def _change(self, change: FindingChange) -> list[FindingLine]:
        finding, told = change.finding, self._told.get(change.finding.id)
        if change.change == "withdrawn":
            self._ends.pop(finding.id, None)
            if self._told.pop(finding.id, None) is None:
                return []
            return [
                FindingLine(change.at_ns, "withdrawn", finding, "its level did not last: the finding before it goes on")
            ]
        if told is None:
            self._told[finding.id] = _Told(finding.severity, change.at_ns)
            out = self._level_change(finding)
            note = f"another level than {out[0].finding.id}, which has ended" if out else ""
            out.append(FindingLine(change.at_ns, "raised", finding, note))
            if finding.end_ns is not None:
                self._ends[finding.id] = change
            return out
        if finding.end_ns is not None:
            if finding.id in self._ends or not told.has_ended:
                self._ends[finding.id] = change if change.change == "ended" else self._newer_end(change)
            return []
        self._ends.pop(finding.id, None)
        if told.has_ended:
            self._told[finding.id] = _Told(finding.severity, change.at_ns)
            return [FindingLine(change.at_ns, "again", finding, "it had ended")]
        if finding.severity != told.severity and change.at_ns - told.at_ns >= _SEVERITY_NS:
            self._told[finding.id] = _Told(finding.severity, change.at_ns)
            return [FindingLine(change.at_ns, "severity", finding, f"it was {told.severity}")]
        return []

    def _newer_end(self, change: FindingChange) -> FindingChange:
        """Newer figures of a finding whose end waits: the time of the end stays."""
        waiting = self._ends.get(change.finding.id)
        return FindingChange(change.at_ns if waiting is None else waiting.at_ns, "ended", change.finding)

    def _level_change(self, finding: Finding) -> list[FindingLine]:
        """The end of the finding that this one follows: a stage that went to another level is one line for people."""
        if not isinstance(finding, OversizedFinalize):
            return []
        for other in [change.finding for change in self._ends.values()]:
            if isinstance(other, OversizedFinalize) and (other.class_key, other.stage) == (
                finding.class_key,
                finding.stage,
            ):
                return [replace(self._end(self._ends[other.id]), is_implied=True)]
        return []
