"""What an episode cost: time of whole units, and none where they took no longer."""

from dataclasses import replace

import pytest

from livemon.model.samples import TimingRecord
from tests.engine.serving import Episode, Serving, seconds
from tests.engine.test_host_slow import judged


def test_stages_that_grow_while_the_unit_does_not_have_no_negative_cost() -> None:
    samples = Serving(30, threads=False, episodes=[Episode(12.0, 14.0, "placement")]).samples()
    shorter = [
        replace(s, stages=tuple((name, 8.0 if name == "total" else value) for name, value in s.stages))
        if isinstance(s, TimingRecord) and s.t_ns is not None and 12 <= seconds(s.t_ns) < 14.2
        else s
        for s in samples
    ]
    (longer,), _ = judged(samples)
    (same,), _ = judged(shorter)
    assert longer.cost_ms is not None
    assert longer.cost_ms > 100
    assert same.cost_ms == 0
    assert same.slowdown == pytest.approx(longer.slowdown)
    told = next(cause.evidence for cause in same.causes if cause.cause == "off_cpu")
    assert "slow units took no longer in all" in told
