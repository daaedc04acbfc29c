"""What the host detector finds must not depend on how the stream was cut."""

from __future__ import annotations

from livemon.engine.engine import Engine
from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.findings import Finding
from livemon.model.samples import Sample


def found_whole_and_cut(samples: list[Sample], criteria: Criteria, batch: int) -> tuple[Finding, ...]:
    """Host-slow transients of the stream; the same, checked here, when it is fed ``batch`` samples at a time."""
    whole, cut = (Engine(criteria, SessionFacts(), ("host_slow_transient",)) for _ in range(2))
    whole.feed(samples)
    for at in range(0, len(samples), batch):
        cut.feed(samples[at : at + batch])
    whole.finish()
    cut.finish()
    assert whole.get() == cut.get()
    return tuple(whole.get())
