"""Transitions: marks give t0, units and threads are put into buckets aligned at it."""

from __future__ import annotations

from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding, Transition
from livemon.model.samples import Samples


class TransitionStudy:
    """Collects what the aligned buckets need."""

    def __init__(self, criteria: Criteria, facts: SessionFacts) -> None:
        self._criteria = criteria
        self._facts = facts

    def update(self, samples: Samples) -> None:
        """Take in samples."""

    def get(self, findings: tuple[Finding, ...]) -> tuple[Transition, ...]:
        """The transitions so far."""
        return ()
