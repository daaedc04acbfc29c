"""``--fail-on KIND[:SEVERITY]``: which findings make a report fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from livemon.model.errors import UsageError
from livemon.model.findings import Finding

KINDS = ("host_slow_transient", "oversized_finalize", "any")
_RANK = {"warning": 0, "critical": 1}


@dataclass(frozen=True, slots=True)
class FailOn:
    """One condition."""

    kind: str
    severity: str = "warning"
    """The least severity that counts."""

    def is_met_by(self, finding: Finding) -> bool:
        """Whether this finding fails the report."""
        return self.kind in ("any", finding.kind) and _RANK[finding.severity] >= _RANK[self.severity]


def parse_fail_on(texts: Iterable[str], kinds: Sequence[str] = KINDS) -> tuple[FailOn, ...]:
    """Conditions from the command line.

    Raises:
        UsageError: an unknown kind or severity.
    """
    conditions = []
    for text in texts:
        kind, colon, severity = text.strip().replace("-", "_").partition(":")
        if kind not in kinds:
            raise UsageError(f"--fail-on {text}: no finding of kind '{kind}'", f"kinds are {', '.join(kinds)}")
        if colon and severity not in _RANK:
            raise UsageError(f"--fail-on {text}: no severity '{severity}'", "severities are warning, critical")
        conditions.append(FailOn(kind, severity or "warning"))
    return tuple(conditions)


def failures(conditions: Sequence[FailOn], findings: Iterable[Finding]) -> list[Finding]:
    """The findings that meet any of the conditions."""
    return [f for f in findings if any(condition.is_met_by(f) for condition in conditions)]
