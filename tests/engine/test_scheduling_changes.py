"""Changes of affinity, nice and policy stand in the evidence of the episode around which they were seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livemon.engine.detectors.host_slow import HostSlowDetector
from livemon.engine.scheduling_changes import SchedulingChanges
from livemon.model.facts import SessionFacts
from livemon.model.findings import HostSlowTransient
from livemon.model.samples import Sample, ThreadInfo
from tests.engine.serving import Episode, Serving, ns
from tests.engine.test_host_slow import CRITERIA

FREE = ThreadInfo(0, 1, 10, 11, "prepper", affinity="0-1", policy="SCHED_OTHER", nice=0)


def changed(at_s: float, info: ThreadInfo = FREE, **facts: object) -> ThreadInfo:
    return replace(info, arrival_ns=ns(at_s), **facts)  # type: ignore[arg-type]


def evidence(samples: list[Sample]) -> dict[str, str]:
    detector = HostSlowDetector(CRITERIA, SessionFacts())
    detector.update(sorted(samples, key=lambda sample: sample.arrival_ns))
    detector.finish()
    (finding,) = detector.get()
    assert isinstance(finding, HostSlowTransient)
    return {cause.cause: cause.evidence for cause in finding.causes}


def test_a_thread_that_is_pinned_and_reniced_in_an_episode_is_named_with_both_changes() -> None:
    samples = Serving(30, classes=(), episodes=[Episode(12.0, 15.0, "off_cpu")]).samples()
    first = next(s for s in samples if isinstance(s, ThreadInfo) and s.name == "client")
    free = replace(first, affinity="0-1", policy="SCHED_OTHER", nice=0)
    samples[samples.index(first)] = free
    samples += [changed(12.8, free, affinity="0", nice=10), changed(16.5, free)]
    said = evidence(samples)
    for cause in ("off_cpu", "placement"):
        assert said[cause].endswith("; client: affinity 0-1 → 0, nice 0 → 10 (seen 0.8 s after the start)")
    assert not any("nice" in text for cause, text in said.items() if cause not in ("off_cpu", "placement"))


def test_threads_that_changed_alike_are_told_together_and_what_was_seen_long_before_is_not() -> None:
    changes = SchedulingChanges()
    infos = [replace(FREE, index=k, name=f"worker-{k}") for k in range(5)]
    for info in infos:
        changes.meet(info)
        changes.meet(changed(3.0, info, policy="SCHED_IDLE"))
        changes.meet(changed(11.0, info, policy="SCHED_BATCH"))
    assert changes.words(ns(12.0), ns(14.0)) == (
        "; worker-0, worker-1, worker-2 and 2 more: policy SCHED_IDLE → SCHED_BATCH (seen 1.0 s before the start)"
    )


@pytest.mark.parametrize("facts", [{"affinity": None}, {"name": "renamed"}, {}])
def test_a_fact_that_could_not_be_read_or_a_new_name_is_no_change(facts: dict[str, object]) -> None:
    changes = SchedulingChanges()
    changes.meet(FREE)
    changes.meet(changed(11.0, **facts))
    assert changes.words(ns(12.0), ns(14.0)) == ""
