"""Host-slow transients: found with their causes, and not found where there are none."""

from __future__ import annotations

import random
from array import array
from dataclasses import replace

import pytest

from livemon.engine.detectors.host_slow import HostSlowDetector
from livemon.model.criteria import Criteria, Roles, load_criteria
from livemon.model.facts import Cpu, SessionFacts, Topology
from livemon.model.findings import CAUSES, FindingChange, HostSlowTransient
from livemon.model.samples import UNKNOWN, ClassColumns, Sample, ThreadGone, ThreadTick
from tests.engine.serving import Episode, Serving, ns, seconds

CRITERIA = Criteria(roles=Roles(host=("prepare", "features", "handoff", "action_head")))


def judged(
    samples: list[Sample], criteria: Criteria = CRITERIA, facts: SessionFacts | None = None
) -> tuple[list[HostSlowTransient], list[FindingChange]]:
    detector = HostSlowDetector(criteria, facts or SessionFacts())
    changes = detector.update(samples) + detector.finish()
    return [f for f in detector.get() if isinstance(f, HostSlowTransient)], changes


def verdicts(finding: HostSlowTransient) -> dict[str, str]:
    assert [cause.cause for cause in finding.causes] == list(CAUSES)
    assert all(cause.evidence for cause in finding.causes)
    return {cause.cause: cause.verdict for cause in finding.causes}


@pytest.mark.parametrize("cause", ["placement", "cycle_rate", "ipc", "off_cpu"])
def test_an_episode_is_found_at_once_with_its_ends_its_cause_and_its_slowdown(cause: str) -> None:
    found, changes = judged(Serving(30, episodes=[Episode(12.0, 15.5, cause, 4.0)]).samples())
    (finding,) = found
    assert seconds(finding.start_ns) == pytest.approx(12.0, abs=0.05)
    assert 0.1 < seconds(finding.detected_ns) - 12.0 < 0.3
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(15.5, abs=0.08)
    assert finding.slowdown == pytest.approx(4.0, rel=0.1)
    assert finding.primary_cause == cause
    assert verdicts(finding)[cause] == "applies"
    assert finding.units == pytest.approx(350 / (1.0 + 0.01), rel=0.25)
    assert finding.slow_units >= 0.97 * finding.units
    assert changes[0].change == "raised"
    assert [c.change for c in changes if c.change != "updated"] == ["raised", "ended"]


def test_the_other_causes_are_ruled_out_and_the_ledger_closes() -> None:
    (finding,), _ = judged(Serving(30, episodes=[Episode(12, 16, "placement")]).samples())
    said = verdicts(finding)
    assert said["off_cpu"] == said["blocked"] == said["more_work"] == said["device"] == "ruled_out"
    placement = finding.causes[0]
    assert placement.during == pytest.approx(1.0, abs=0.02)
    assert placement.reference == pytest.approx(0.0, abs=0.02)
    assert set(placement.threads) == {"client", "dispatch", "callback"}
    for row in finding.ledger:
        assert row.residual == pytest.approx(1.0, abs=0.02)
        assert dict(row.factors)["instructions"] == pytest.approx(1.0, abs=0.05)
    dispatch = next(row for row in finding.threads if row.thread == "dispatch")
    assert dispatch.core_class == "E"
    assert dispatch.cycles_per_ns == (pytest.approx(1.35, rel=0.02), pytest.approx(4.0, rel=0.02))
    assert any("scheduler" in text for text in finding.does_not_show)


def test_without_counters_it_is_found_and_the_causes_are_unknown_with_a_reason() -> None:
    (finding,), _ = judged(Serving(30, threads=False, episodes=[Episode(12, 14, "placement")]).samples())
    said = verdicts(finding)
    assert said["placement"] == said["ipc"] == said["cycle_rate"] == "unknown"
    assert "no thread counters" in finding.causes[0].evidence
    assert said["off_cpu"] == "ruled_out"  # the lines state CPU time per unit
    assert finding.primary_cause is None
    assert finding.threads == finding.ledger == ()


def test_thread_counters_alone_find_it_too() -> None:
    for cause in ("placement", "cycle_rate"):
        episodes = [Episode(12, 15, cause), Episode(22, 24, cause)]
        found, _ = judged(Serving(30, units=False, episodes=episodes).samples())
        assert [round(seconds(f.start_ns)) for f in found] == [12, 22]
        for finding, end in zip(found, (15, 24), strict=True):
            assert finding.end_ns is not None
            assert seconds(finding.end_ns) == pytest.approx(end, abs=0.25)
            assert finding.primary_cause == cause
            assert finding.slowdown is None
            assert finding.units == 0


def test_thread_counters_alone_find_an_episode_that_was_there_from_the_start() -> None:
    (finding,), _ = judged(Serving(20, units=False, episodes=[Episode(0, 4, "placement")]).samples())
    assert seconds(finding.start_ns) < 0.3
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(4, abs=0.3)
    assert finding.primary_cause == "placement"


def test_a_session_that_starts_slow_shows_it_by_becoming_faster() -> None:
    (finding,), _ = judged(Serving(30, threads=False, episodes=[Episode(0, 6, "placement", 4.0)]).samples())
    assert seconds(finding.start_ns) < 0.2
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(6, abs=0.1)
    assert finding.slowdown == pytest.approx(4.0, rel=0.25)
    later, _ = judged(Serving(40, episodes=[Episode(0, 6), Episode(25, 27)]).samples())
    assert [round(seconds(f.start_ns)) for f in later] == [0, 25]


def test_placement_is_estimated_from_the_last_cpu_where_no_counter_tells_it() -> None:
    facts = SessionFacts(topology=Topology((Cpu(0, "P"), Cpu(1, "E")), ("P", "E"), "test", ("E",), 2))
    serving = Serving(30, classes=(), episodes=[Episode(12, 15, "placement")])
    serving.last_cpu = lambda t, _name: int(12 < t <= 15)
    (finding,), _ = judged(serving.samples(), facts=facts)
    assert finding.primary_cause == "placement"
    assert "estimated" in finding.causes[0].evidence
    assert any("estimated" in text for text in finding.does_not_show)
    assert verdicts(finding)["ipc"] == "unknown"


def test_placement_is_estimated_where_one_counter_stands_for_several_classes() -> None:
    facts = SessionFacts(topology=Topology((Cpu(0, "P"), Cpu(1, "E")), ("P", "E"), "test", ("E",), 2))
    serving = Serving(30, classes=("P+E",), episodes=[Episode(12, 15, "placement")])
    serving.last_cpu = lambda t, _name: int(12 < t <= 15)
    samples = serving.samples()
    for sample in samples:
        if isinstance(sample, ThreadTick):
            for column in sample.classes:
                for k in range(len(column.cpu_ns)):
                    column.cpu_ns[k] = UNKNOWN
    (finding,), _ = judged(samples, facts=facts)
    assert finding.primary_cause == "placement"
    assert "estimated" in finding.causes[0].evidence
    assert {row.core_class for row in finding.threads} == {"E"}
    assert verdicts(finding)["ipc"] == "unknown"  # a rate over both classes says nothing


def test_a_machine_of_efficiency_cores_alone_is_no_slow_start() -> None:
    (finding,), _ = judged(Serving(30, classes=("E",), episodes=[Episode(12, 15, "ipc", 3.0)]).samples())
    assert seconds(finding.start_ns) == pytest.approx(12, abs=0.1)
    assert finding.primary_cause == "ipc"
    assert verdicts(finding)["placement"] == "unknown"
    assert {row.core_class for row in finding.threads} == {"E"}
    assert judged(Serving(20, units=False, classes=("E",)).samples())[0] == []


@pytest.mark.parametrize(
    ("names", "zero"), [(("P", "LP-E"), "E"), (("big", "LITTLE"), ""), (("PRIME", "LITTLE"), "BIG"), (("X", "Y"), "Z")]
)
def test_classes_of_other_names_and_numbers_tell_placement(names: tuple[str, str], zero: str) -> None:
    facts = SessionFacts()
    if names == ("X", "Y"):  # names that say nothing: the topology has to
        cpus = (Cpu(0, "X"), Cpu(1, "Y"), Cpu(2, "Z"))
        facts = SessionFacts(topology=Topology(cpus, ("X", "Z", "Y"), "test", ("Y",), 3))
    samples: list[Sample] = []
    for sample in Serving(30, episodes=[Episode(12, 15, "placement")]).samples():
        if isinstance(sample, ThreadTick):
            classes = [replace(c, core_class=name) for c, name in zip(sample.classes, names, strict=True)]
            none = array("q", bytes(8 * len(sample.index)))
            classes += [ClassColumns(zero, none, none, none)] if zero else []
            sample = replace(sample, classes=tuple(classes))
        samples.append(sample)
    (finding,), _ = judged(samples, facts=facts)
    assert finding.primary_cause == "placement"
    assert {row.core_class for row in finding.threads} == {names[1]}
    assert all(row.residual == pytest.approx(1.0, abs=0.02) for row in finding.ledger)


def test_waiting_for_a_cpu_is_told_from_being_blocked() -> None:
    serving = Serving(30, classes=(), episodes=[Episode(12, 15, "off_cpu")])
    (blocked,), _ = judged(serving.samples())
    assert verdicts(blocked)["off_cpu"] == verdicts(blocked)["blocked"] == "applies"
    serving.delay = lambda t: 2.0 if 12 <= t < 15 else 0.01
    (waiting,), _ = judged(serving.samples())
    assert verdicts(waiting)["off_cpu"] == "applies"
    assert verdicts(waiting)["blocked"] == "ruled_out"
    assert waiting.causes[3].during == pytest.approx(0.67, abs=0.05)
    assert waiting.primary_cause == "off_cpu"


def test_throttling_and_steal_come_from_the_machine() -> None:
    def machine(t: float) -> dict[str, int]:
        inside = min(max(t - 12, 0), 3)
        return {"cgroup_throttled_us": round(inside * 4e5), "steal_ticks": round(t), "cpu0_softirq_ticks": round(t)}

    (finding,), _ = judged(Serving(30, episodes=[Episode(12, 15, "off_cpu")], machine=machine).samples())
    said = verdicts(finding)
    assert said["throttled"] == "applies"
    assert said["steal"] == said["softirq"] == "ruled_out"
    assert said["page_faults"] == "unknown"
    assert finding.primary_cause == "throttled"


def test_a_long_episode_is_marked_updated_a_bounded_number_of_times_and_critical() -> None:
    found, changes = judged(Serving(60, episodes=[Episode(12, 50)]).samples())
    (finding,) = found
    assert finding.not_recovered_by_5_s
    assert finding.severity == "critical"
    assert 3 <= sum(c.change == "updated" for c in changes) <= 10


def test_an_episode_that_goes_on_stays_open() -> None:
    (finding,), _ = judged(Serving(20, episodes=[Episode(15, 30)]).samples())
    assert finding.end_ns is None


def test_the_rule_of_half_second_bins_is_told_beside_the_finer_figures() -> None:
    episodes = [Episode(12, 12.9), Episode(20, 23.2), Episode(35, 60)]
    found, _ = judged(Serving(70, rate=60, episodes=episodes).samples())
    lengths = [finding.transient_bins_s for finding in found]
    assert lengths == [1.0, 3.5, pytest.approx(25, abs=0.5)]
    finer = load_criteria("[transitions]\nbin_s = 0.1\n")
    found, _ = judged(Serving(30, rate=100, episodes=[Episode(12, 14.03)]).samples(), finer)
    assert found[0].transient_bins_s == pytest.approx(2.1, abs=0.11)
    none_slow = load_criteria("[transitions]\nslow_ms = 1e6\n")
    found, _ = judged(Serving(30, rate=100, episodes=[Episode(12, 14)]).samples(), none_slow)
    assert found[0].transient_bins_s == 0.0
    found, _ = judged(Serving(30, units=False, episodes=[Episode(12, 14)]).samples())
    assert found[0].transient_bins_s is None


def test_a_state_that_lasts_becomes_the_new_normal_and_says_so() -> None:
    episodes = [Episode(12, 200, factor=3.0), Episode(160, 163)]
    serving = Serving(180, rate=40, threads=False, episodes=[episodes[0]])
    serving.shape = lambda t, _n, stages, _r: stages.update(
        {k: v * 4 for k, v in stages.items()} if 160 <= t < 163 else {}
    )
    found, _ = judged(serving.samples())
    assert [round(seconds(f.start_ns)) for f in found] == [12, 160]
    assert found[0].end_ns is not None
    assert seconds(found[0].end_ns) == pytest.approx(132, abs=1.5)
    assert "level shift: still so after 120 s" in found[0].after_it
    assert found[1].slowdown == pytest.approx(4, rel=0.15)


def test_an_episode_ends_with_its_load() -> None:
    serving = Serving(30, episodes=[Episode(12, 20)], idle=[(14, 22)])
    (finding,), _ = judged(serving.samples())
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(14, abs=0.1)
    assert finding.after_it.startswith("the load stopped; back to the level before it")


@pytest.mark.parametrize(
    "episode",
    [
        Episode(20, 26, "ipc", 1.5),
        Episode(20, 26, "placement", 5.0, share=0.35),
        Episode(20, 26, "ipc", 2.5, only="features"),
        Episode(20, 20.7, "placement", 5.0),
    ],
    ids=["small factor", "a third of the units", "one stage", "short"],
)
def test_harder_kinds_of_slowness_are_found(episode: Episode) -> None:
    (finding,), _ = judged(Serving(35, episodes=[episode]).samples())
    assert seconds(finding.start_ns) == pytest.approx(episode.start, abs=0.5)
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(episode.end, abs=0.4)


def test_low_rates_are_judged_with_fewer_units() -> None:
    (finding,), _ = judged(Serving(60, rate=2.0, episodes=[Episode(30, 40)]).samples())
    assert seconds(finding.start_ns) == pytest.approx(30, abs=0.6)
    assert seconds(finding.detected_ns) < 32
    assert finding.primary_cause == "placement"


def test_at_ten_units_a_second_threads_that_agree_shorten_the_wait() -> None:
    delays = []
    for seed in range(6):
        serving = Serving(45, seed, 10.0, at_random=True, episodes=[Episode(20, 24), Episode(33, 37)])
        found, _ = judged(serving.samples())
        assert len(found) == 2
        delays += [seconds(f.detected_ns) - start for f, start in zip(found, (20, 33), strict=True)]
    assert sorted(delays)[len(delays) // 2] < 0.4
    assert max(delays) < 1.0


@pytest.mark.parametrize("rate", [40.0, 90.0])
def test_bursts_that_are_over_when_their_threads_are_read_raise_nothing(rate: float) -> None:
    bursts, r = [], random.Random(7)
    for k in range(30):
        start = 8 + 3 * k + r.random()
        bursts.append(Episode(start, start + r.uniform(0.04, 0.09), r.choice(["placement", "ipc", "cycle_rate"])))
    assert judged(Serving(100, 3, rate, at_random=True, episodes=bursts).samples())[0] == []


def test_episodes_close_together_are_told_apart_and_the_second_is_no_new_normal() -> None:
    episodes = [Episode(12, 14), Episode(15, 17), Episode(17.8, 19)]
    found, _ = judged(Serving(30, episodes=episodes).samples())
    assert [round(seconds(f.start_ns), 1) for f in found] == [12.0, 15.0, 17.8]
    assert [f.id for f in found] == ["T1", "T2", "T3"]


def gc_spikes(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    if number % 120 == 60:
        stages[r.choice(list(stages))] += r.uniform(20, 200)


def drift(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    for name in ("prepare", "features"):
        stages[name] *= 1 + 0.5 * t / 120


def two_modes(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    if r.random() < 0.3:
        stages["prepare"] *= 4.4


def bursts(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    if 0.5 < t % 10 < 0.545:
        for name in stages:
            stages[name] *= 4.2


def cycle(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    for name in ("prepare", "features", "action_head"):
        stages[name] *= (1.0, 4.2, 2.2)[number % 3]


def heavy(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
    for name in stages:
        stages[name] *= r.lognormvariate(0, 0.35)
    if r.random() < 0.05:
        stages[r.choice(list(stages))] *= 1.6 * r.paretovariate(1.4)


QUIET = {
    "steady": Serving(60),
    "garbage collection": Serving(60, shape=gc_spikes),
    "drift": Serving(120, rate=50, shape=drift),
    "two modes": Serving(60, shape=two_modes),
    "bursts": Serving(60, shape=bursts),
    "interleaved kernels": Serving(60, shape=cycle),
    "heavy tails": Serving(60, shape=heavy),
    "idle gaps": Serving(60, idle=[(10, 11), (20, 25), (33, 33.7), (41, 55)]),
    "log stalls": Serving(60, stalls=[(12, 13), (20, 24.5), (33, 33.6)]),
    "clock steps": Serving(60, clock_steps=[(15, -2.0), (25, 3.0), (35, 40.0), (45, -0.7)]),
    "no counts": Serving(60, counts=False),
    "one class": Serving(60, classes=("P",)),
}


@pytest.mark.parametrize("name", QUIET)
def test_healthy_sessions_raise_nothing(name: str) -> None:
    found, changes = judged(QUIET[name].samples())
    assert not found
    assert not changes


def test_counter_resets_churn_and_missing_counters_raise_nothing() -> None:
    samples: list[Sample] = []
    for sample in Serving(40).samples():
        if isinstance(sample, ThreadTick):
            t = seconds(sample.arrival_ns)
            if 20 < t < 20.2:
                samples.append(ThreadGone(sample.arrival_ns, 0))
            if 15 < t < 15.15:  # a glitch of zeros
                for column in (
                    sample.cpu_ns,
                    *(c for k in sample.classes for c in (k.cpu_ns, k.cycles, k.instructions)),
                ):
                    for k in range(len(column)):
                        column[k] = 0
        samples.append(sample)
    assert judged(samples)[0] == []


def test_a_repeated_line_counts_once() -> None:
    samples = [twice for s in Serving(30, threads=False, episodes=[Episode(12, 14)]).samples() for twice in (s, s)]
    (doubled,), _ = judged(samples)
    (single,), _ = judged(samples[::2])
    assert doubled == single


def test_slow_stretches_below_an_episode_are_counted() -> None:
    detector = HostSlowDetector(CRITERIA, SessionFacts())
    detector.update(QUIET["bursts"].samples())
    assert 3 <= detector.slow_stretches.count <= 8
    assert not detector.get()


def test_thresholds_come_from_the_criteria() -> None:
    samples = Serving(30, threads=False, episodes=[Episode(12, 14)]).samples()
    strict = load_criteria("[host_slow]\nmin_units = 999\nstage_min_units = 999\npartial_min_units = 999\n")
    assert judged(samples, strict)[0] == []
    assert len(judged(samples)[0]) == 1


def test_an_absolute_threshold_judges_units_whose_healthy_state_is_not_known_yet() -> None:
    criteria = load_criteria('[host_slow]\nabsolute_stage = "prepare"\nabsolute_ms = 0.3\n')
    samples = Serving(20, threads=False, episodes=[Episode(0.0, 1.2)]).samples()
    (finding,), _ = judged(samples, criteria)
    assert seconds(finding.detected_ns) < 0.4
    assert finding.end_ns is not None
    assert seconds(finding.end_ns) == pytest.approx(1.2, abs=0.1)
    assert finding.slowdown is None  # against what would it be?


def test_unlabelled_requests_of_two_sizes_are_told_apart_by_their_device_time() -> None:
    def sizes(t: float, number: int, stages: dict[str, float], r: random.Random) -> None:
        if 20 <= t < 40:
            for name in ("prepare", "features"):
                stages[name] *= 3.0

    serving = Serving(60, label=None, threads=False, shape=sizes)
    samples = []
    for sample in serving.samples():
        t = seconds(sample.arrival_ns)
        if 20 <= t < 40:  # all requests are large ones
            stages = tuple((n, v * 3.6 if n == "native" else v) for n, v in sample.stages)  # type: ignore[union-attr]
            sample = type(sample)(**{**{f: getattr(sample, f) for f in sample.__slots__}, "stages": stages})
        samples.append(sample)
    assert judged(samples)[0] == []


def test_causes_are_decided_on_the_second_sample_of_truth_not_on_time_outside_the_stream() -> None:
    (finding,), _ = judged(Serving(20, episodes=[Episode(12, 14)]).samples())
    assert ns(0) <= finding.start_ns <= finding.detected_ns <= ns(20)
