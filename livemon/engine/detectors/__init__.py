"""Detectors, one algorithm a file, behind one verb set (``update``, ``finish``, ``get``)."""

from __future__ import annotations

from typing import Protocol

from livemon.model.findings import Finding, FindingChange
from livemon.model.samples import Samples


class Detector(Protocol):
    """A detector over the ordered samples.

    Findings and changes must not depend on how the stream was cut into batches.
    """

    def update(self, samples: Samples) -> list[FindingChange]:
        """Take the next samples, in arrival order; returns what changed, in order of ``at_ns``."""
        ...

    def finish(self) -> list[FindingChange]:
        """The stream has ended (not: paused); settles what was waiting for more."""
        ...

    def get(self) -> tuple[Finding, ...]:
        """The findings so far, in order of detection."""
        ...
