"""The engine as a whole: the same findings whatever the batches, nothing raised by any stream, nothing outside it."""

from __future__ import annotations

import random
from array import array

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livemon.engine.engine import DETECTORS, Engine
from livemon.model.criteria import Criteria
from livemon.model.facts import Cpu, SessionFacts, Topology
from livemon.model.findings import Finding, FindingChange
from livemon.model.samples import (
    ClassColumns,
    Lost,
    MachineSample,
    Mark,
    Sample,
    ThreadGone,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)
from tests.engine.serving import Episode, Serving, ns

FACTS = SessionFacts(topology=Topology((Cpu(0, "P"), Cpu(1, "E")), ("P", "E"), "test", ("E",), 2))


def cut(samples: list[Sample], edges: list[int]) -> tuple[list[FindingChange], Engine]:
    engine = Engine(Criteria(), FACTS)
    out: list[FindingChange] = []
    for a, b in zip([0, *edges], [*edges, len(samples)], strict=True):
        out += engine.feed(samples[a:b])
    return out + engine.finish(), engine


SESSIONS = {
    "units and threads": Serving(24, rate=60, episodes=[Episode(12, 14), Episode(16, 17, "ipc", 3.0)], idle=[(19, 21)]),
    "shuffled bursts": Serving(24, rate=60, episodes=[Episode(12, 16)], stalls=[(13, 15), (18, 19.5)]),
    "threads alone": Serving(24, units=False, episodes=[Episode(0, 3), Episode(12, 14)]),
    "slow from the start": Serving(24, rate=60, episodes=[Episode(0, 5), Episode(18, 20, "off_cpu")]),
    "no threads, clock steps": Serving(24, rate=60, threads=False, episodes=[Episode(0, 4)], clock_steps=[(14, -2.0)]),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_findings_do_not_depend_on_how_the_stream_is_cut(name: str) -> None:
    samples = SESSIONS[name].samples()
    samples = sorted([*samples, Mark(ns(12), ns(12), "go")], key=lambda s: s.arrival_ns)
    whole, engine = cut(samples, [])
    assert whole
    r = random.Random(3)
    for edges in (
        list(range(1, len(samples))),
        list(range(17, len(samples), 17)),
        sorted(r.sample(range(1, len(samples)), 60)),
    ):
        changes, other = cut(samples, edges)
        assert repr(changes) == repr(whole)
        assert repr(other.get()) == repr(engine.get())
        assert repr(other.transitions()) == repr(engine.transitions())
        assert repr(other.changes) == repr(engine.changes)
        assert other.blips == engine.blips


def test_changes_replay_to_the_findings() -> None:
    _, engine = cut(SESSIONS["units and threads"].samples(), [])
    latest: dict[str, Finding] = {change.finding.id: change.finding for change in engine.changes}
    assert tuple(latest.values()) == engine.get()
    assert [change.at_ns for change in engine.changes] == sorted(change.at_ns for change in engine.changes)


def test_the_log_of_changes_is_bounded_and_what_stays_is_the_same_whatever_the_cuts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("livemon.engine.engine.KEPT_CHANGES", 3)
    monkeypatch.setattr("livemon.engine.host_life.KEPT_WHOLE", 1)
    samples = Serving(40, rate=60, episodes=[Episode(t, t + 3) for t in (10, 16, 22, 28)]).samples()
    _, whole = cut(samples, [])
    _, parts = cut(samples, list(range(50, len(samples), 50)))
    assert repr(whole.changes) == repr(parts.changes)
    assert all(c.change != "updated" for c in whole.changes[:-3])
    assert [c.change for c in whole.changes if c.change != "updated"] == ["raised", "ended"] * 4
    host = [f for f in whole.get() if f.kind == "host_slow_transient"]
    assert [bool(f.ledger) for f in host] == [False, False, False, True]
    assert all(f.primary_cause == "placement" for f in host)


@pytest.mark.parametrize("kind", DETECTORS)
def test_every_detector_keeps_the_contract(kind: str) -> None:
    detector = DETECTORS[kind](Criteria(), SessionFacts())
    assert detector.update([]) == []
    assert detector.get() == ()
    changes = detector.update(SESSIONS["units and threads"].samples()) + detector.finish()
    assert {change.finding.id for change in changes} == {finding.id for finding in detector.get()}
    assert all(finding.kind == kind for finding in detector.get())


times = st.integers(0, 30_000_000_000)
counts = st.integers(-1, 2**62)
durations = st.one_of(st.floats(0, 1e12, allow_nan=False), st.sampled_from([0.0, 0.12, 0.6, 5.0, 90.0]))


@st.composite
def records(draw: st.DrawFn, at: int) -> TimingRecord:
    names = draw(
        st.sampled_from([("prepare",), ("prepare", "native", "total"), ("validate", "runner_run", "total"), ("run",)])
    )
    stages = tuple((name, draw(durations)) for name in names)
    t = draw(st.one_of(st.just(at), times, st.integers(-(2**62), 2**62)))
    unit = draw(st.one_of(st.none(), st.integers(0, 40).map(str)))
    label = draw(st.sampled_from([None, "a", "b"]))
    start = draw(st.one_of(st.none(), st.just(t), times))
    return TimingRecord(at, t, "line", "x", unit, label, stages, start_ns=start, stream=draw(st.integers(0, 1)))


@st.composite
def ticks(draw: st.DrawFn, at: int) -> ThreadTick:
    n = draw(st.integers(0, 4))

    def column(size: int) -> array[int]:
        return array("q", draw(st.lists(counts, min_size=size, max_size=size)))

    classes = tuple(
        ClassColumns(level, column(n), column(n), column(draw(st.sampled_from([n, n, n + 1]))))
        for level in draw(st.sampled_from([(), ("P", "E"), ("P",), ("LP-E",)]))
    )
    index = array("q", draw(st.lists(st.integers(-1, 6), min_size=n, max_size=n)))
    return ThreadTick(at, index, column(n), column(n), column(n), column(n), classes)


@st.composite
def streams(draw: st.DrawFn) -> list[Sample]:
    out: list[Sample] = []
    for at in sorted(draw(st.lists(times, max_size=40))):
        kind = draw(st.integers(0, 9))
        if kind < 5:
            out.append(draw(records(at)))
        elif kind < 7:
            out.append(draw(ticks(at)))
        elif kind == 7:
            out.append(ThreadInfo(at, draw(st.integers(0, 6)), 1, 2, draw(st.sampled_from(["a", "b"]))))
        elif kind == 8:
            values = (("steal_ticks", draw(counts)), ("cpu0_softirq_ticks", draw(counts)))
            out.append(
                draw(st.sampled_from([MachineSample(at, values), ThreadGone(at, 3), Lost(at, "log", 1, "lines", "x")]))
            )
        else:
            out.append(Mark(at, draw(times), "m"))
    return out


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(stream=streams(), edges=st.lists(st.integers(0, 40), max_size=4))
def test_no_stream_makes_the_engine_raise_and_cuts_do_not_matter(stream: list[Sample], edges: list[int]) -> None:
    whole, engine = cut(stream, [])
    other, _ = cut(stream, sorted(min(e, len(stream)) for e in edges))
    assert repr(other) == repr(whole)
    engine.transitions()
    for finding in engine.get():
        if finding.kind == "host_slow_transient":
            first, last = stream[0].arrival_ns, stream[-1].arrival_ns
            assert first <= finding.start_ns <= finding.detected_ns <= last
            assert finding.end_ns is None or finding.start_ns <= finding.end_ns <= last


@settings(max_examples=12, deadline=None)
@given(
    start=st.floats(9, 14),
    length=st.floats(0.6, 4),
    cause=st.sampled_from(["placement", "ipc", "cycle_rate", "off_cpu"]),
    seed=st.integers(0, 1000),
)
def test_an_episode_anywhere_is_found_once_and_inside_the_stream(
    start: float, length: float, cause: str, seed: int
) -> None:
    samples = Serving(20, rate=80, seed=seed, episodes=[Episode(start, start + length, cause, 4.0)]).samples()
    _, engine = cut(samples, [])
    (finding,) = [f for f in engine.get() if f.kind == "host_slow_transient"]
    assert abs(finding.start_ns - ns(start)) < 1e8
    assert finding.end_ns is None or abs(finding.end_ns - ns(start + length)) < 2.5e8
    assert finding.primary_cause == cause  # type: ignore[union-attr]
