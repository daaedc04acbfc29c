"""The engine: a pure function of the ordered samples; it wires the detectors.

Theory of operation:

- Samples come in arrival order; "now" is the last sample's arrival. No clock, no I/O, no threads.
- Batches are a convenience of the caller. Every detector acts at moments that the samples define
  (a record, a tick, a whole second of arrival time), so any cutting of the stream into batches
  gives the same findings byte for byte. Live, replay at any speed and a seek are therefore one thing.
- Work per sample does not depend on the session's length; memory is bounded.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from livemon.engine.classes import Classified
from livemon.engine.detectors import Detector
from livemon.engine.detectors.host_slow import HostSlowDetector
from livemon.engine.detectors.oversized_finalize import OversizedFinalizeDetector
from livemon.engine.host_life import without_details
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Blip, Finding, FindingChange, Transition
from livemon.model.samples import Samples

DETECTORS: dict[str, Callable[[Criteria, SessionFacts], Detector]] = {
    "host_slow_transient": HostSlowDetector,
    "oversized_finalize": OversizedFinalizeDetector,
}
"""Kind of finding -> its detector."""


KEPT_CHANGES = 5000
"""Newest changes that are kept whole; of older ones the updates go, what remains loses its details."""


class Engine:
    """All detectors over one stream of samples.

    Args:
        criteria: Thresholds, roles and class keys.
        facts: What the session says of itself (core classes, for one).
        kinds: The detectors that run; the others find nothing.
    """

    def __init__(self, criteria: Criteria, facts: SessionFacts, kinds: Collection[str] = DETECTORS.keys()) -> None:
        self._detectors = {kind: make(criteria, facts) for kind, make in DETECTORS.items() if kind in kinds}
        self.changes: list[FindingChange] = []
        """The changes so far, in order of time; see ``KEPT_CHANGES`` for long sessions."""
        self._settled = 0

    def feed(self, samples: Samples, classed: Sequence[Classified] | None = None) -> list[FindingChange]:
        """Take in the next samples, in arrival order; what changed, in order of time.

        Args:
            samples: The samples.
            classed: What the caller's classifier makes of them, so that nobody does it twice; then always.
        """
        changed: list[FindingChange] = []
        for detector in self._detectors.values():
            if classed is not None and isinstance(detector, OversizedFinalizeDetector):
                changed += detector.take(classed)
            else:
                changed += detector.update(samples)
        return self._keep(changed)

    def finish(self, classed: Sequence[Classified] | None = None) -> list[FindingChange]:
        """The stream is over: evaluate what waited for more samples; ``classed``: as in ``feed``."""
        changed: list[FindingChange] = []
        for detector in self._detectors.values():
            if classed is not None and isinstance(detector, OversizedFinalizeDetector):
                changed += detector.take(classed)
            else:
                changed += detector.finish()
        return self._keep(changed)

    def get(self) -> tuple[Finding, ...]:
        """All findings as known now, in order of detection."""
        found = [finding for detector in self._detectors.values() for finding in detector.get()]
        return tuple(sorted(found, key=lambda finding: finding.detected_ns))

    def transitions(self) -> tuple[Transition, ...]:
        """The marks with their aligned buckets."""
        host = self._detectors.get("host_slow_transient")
        return host.study.get() if isinstance(host, HostSlowDetector) else ()

    @property
    def blips(self) -> int:
        """Slow stretches below the threshold of an episode."""
        host = self._detectors.get("host_slow_transient")
        return host.slow_stretches.count if isinstance(host, HostSlowDetector) else 0

    def newest_blips(self) -> tuple[Blip, ...]:
        """The newest of them."""
        host = self._detectors.get("host_slow_transient")
        return host.slow_stretches.get() if isinstance(host, HostSlowDetector) else ()

    def _keep(self, changed: list[FindingChange]) -> list[FindingChange]:
        changed.sort(key=lambda change: change.at_ns)
        for change in changed:
            bisect.insort_right(self.changes, change, key=lambda kept: kept.at_ns)
        while len(self.changes) - self._settled > KEPT_CHANGES:
            old = self.changes[self._settled]
            if old.change == "updated":
                del self.changes[self._settled]
            else:
                self.changes[self._settled] = replace(old, finding=without_details(old.finding))
                self._settled += 1
        return changed
