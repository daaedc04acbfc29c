"""Host time of slow units: summed over the stages, beside the slowdown of the middle stage."""

from __future__ import annotations

import pytest

from livemon.model.samples import TimingRecord
from tests.engine.serving import Episode, Serving, seconds
from tests.engine.test_host_slow import CRITERIA, judged


def test_host_time_of_a_slow_unit_is_summed_over_all_host_stages() -> None:
    samples = Serving(30, episodes=[Episode(12.0, 15.0, "off_cpu", 4.0)]).samples()
    (finding,), _ = judged(samples)
    assert finding.host_ms is not None
    slow, usual = [], []
    for sample in samples:
        if isinstance(sample, TimingRecord):
            host_ms = sum(ms for name, ms in sample.stages if name in CRITERIA.roles.host)
            if 12.0 <= seconds(sample.t_ns) - sum(ms for _, ms in sample.stages) / 1e3 < 15.0:
                slow.append(host_ms)
            elif seconds(sample.t_ns) < 12.0:
                usual.append(host_ms)
    assert finding.host_ms[0] == pytest.approx(sum(slow) / len(slow), rel=0.05)
    assert finding.host_ms[1] == pytest.approx(sum(usual) / len(usual), rel=0.05)
    assert finding.longest_ms is not None
    assert finding.peak_p99_ms is not None
    assert finding.longest_ms >= finding.peak_p99_ms
