"""Host-slow transients."""

from __future__ import annotations

from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding, FindingChange
from livemon.model.samples import Samples


class HostSlowDetector:
    """Finds host-slow transients."""

    blips = 0

    def __init__(self, criteria: Criteria, facts: SessionFacts) -> None:
        self._criteria = criteria
        self._facts = facts

    def update(self, samples: Samples) -> list[FindingChange]:
        """Take in samples."""
        return []

    def finish(self) -> list[FindingChange]:
        """The stream is over."""
        return []

    def get(self) -> tuple[Finding, ...]:
        """All findings as known now."""
        return ()
