"""Judged sessions built by hand: the two stories, an empty one, and one in which nothing could be measured."""

from dataclasses import replace

from livemon.model.facts import Capability, Cpu, SessionFacts, Target, Topology
from livemon.model.findings import (
    Bucket,
    Cause,
    HostSlowTransient,
    LedgerRow,
    OversizedFinalize,
    ThreadEvidence,
    Transition,
)
from livemon.model.judgement import Gap, Judgement, LossCount, StageStats, Steps, ThreadStats

T0 = 5_000_000_000_000
"""First sample, on the session clock."""
WALL = 1_748_345_000_000_000_000
S = 1_000_000_000

FACTS = SessionFacts(
    host="box",
    livemon_version="0.1.0",
    targets=(Target(4711, "serve", "python serve.py --token=<redacted>"),),
    topology=Topology(
        cpus=(Cpu(0, "P"), Cpu(1, "P"), Cpu(2, "E")), classes=("P", "E"), efficiency_classes=("E",), online=3
    ),
    capabilities=(
        Capability("perf_counters", False, "perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=1"),
    ),
    environment=(("kernel", "6.18"),),
)


def stage(
    class_key: str | None, name: str, role: str, n: int = 16, mean: float = 10.0, share: float | None = 0.5
) -> StageStats:
    return StageStats(
        class_key, name, role, n, mean * n, mean, mean * 0.9, mean * 1.2, mean, mean * 1.1, mean * 1.19, share, 1
    )


def oversized(
    class_key: str | None = "1/3", p50: float = 90.6, ratio: float | None = 3.2, **changes: object
) -> OversizedFinalize:
    base = OversizedFinalize(
        id="F1",
        severity="critical",
        class_key=class_key,
        stage="validate",
        p50_ms=p50,
        budget_ms=5.0,
        device_stage="runner_run",
        device_p50_ms=None if ratio is None else p50 / ratio,
        ratio_to_device=ratio,
        share_of_total=0.6,
        share_denominator="sum of the class's totals",
        saving_ms_per_step=p50,
        saving_to_budget_ms_per_step=p50 - 5,
        units=16,
        start_ns=T0 + 1 * S,
        end_ns=None,
        detected_ns=T0 + 2 * S,
        rules=("budget", "ratio"),
        evidence="median 90.6 ms against a budget of 5 ms",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def transient(**changes: object) -> HostSlowTransient:
    base = HostSlowTransient(
        id="T1",
        severity="warning",
        start_ns=T0 + 8 * S,
        end_ns=T0 + 11 * S,
        detected_ns=T0 + 8 * S + 120_000_000,
        slowdown=5.8,
        peak_p99_ms=17.1,
        primary_cause="placement",
        causes=(
            Cause("placement", "applies", "E share 0.96 against 0.00", 0.96, 0.0, ("client-short",)),
            Cause("ipc", "applies", "IPC 1.7 against 3.3", 1.7, 3.3, ("client-short",)),
            Cause("throttled", "unknown", "cgroup cpu.stat was not readable"),
            Cause("device", "ruled_out", "9.93 ms against 9.44 ms", 9.93, 9.44),
        ),
        ledger=(
            LedgerRow(
                "client-short", 1.8, 0.31, (("instructions", 1.0), ("ipc", 1.94), ("cycle_rate", 2.9)), 5.63, 1.03
            ),
        ),
        threads=(ThreadEvidence("client-short", "E", (1.8, 0.31), (0.96, 0.0), (1.4, 4.0), (1.7, 3.3), (0.02, None)),),
        buckets=(Bucket(-2.0, 0.0, 200, 9.9, 10.3, 0.0, 0.31, 0.0, 4.0, 3.3), Bucket(0.0, 0.5, 0)),
        cost_ms=512.5,
        units=240,
        slow_units=228,
        detected_by="host stages",
        does_not_show=("why the scheduler chose those cores",),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def judgement(**changes: object) -> Judgement:
    """Both stories in 20 s."""
    base = Judgement(
        facts=FACTS,
        path="/tmp/box.livemon",
        start_ns=T0,
        end_ns=T0 + 20 * S,
        anchors=((T0, WALL),),
        criteria_sha256="ab" * 32,
        criteria_toml="",
        records=48,
        lines=60,
        malformed=1,
        stages=(
            stage("0/3", "validate", "finalize", mean=50.0, share=0.5),
            stage("0/3", "runner_run", "device", mean=30.0, share=0.3),
            stage("0/3", "unaccounted", "unaccounted", mean=20.0, share=0.2),
            stage("0/3", "total", "total", mean=100.0, share=1.0),
            stage("1/3", "validate", "finalize", mean=90.6, share=0.6),
            stage("1/3", "runner_run", "device", mean=28.0, share=0.2),
            stage("1/3", "total", "total", mean=150.0, share=1.0),
        ),
        steps=Steps(3, 16, 558.0),
        threads=(
            ThreadStats(4711, 4712, "client-short", 812.5, 0.18, "counters", 2.9, (("P", 4.0), ("E", 1.4)), 12.0, 7),
            ThreadStats(4711, 4713, "idle", 0.0, None, "no core class is known here", None, (), None, None),
        ),
        findings=(oversized(), transient()),
        transitions=(Transition(T0 + 8 * S, "hetero on", transient().buckets, 3.0),),
        marks=((T0 + 8 * S, "hetero on"),),
        gaps=(Gap(T0 + 15 * S, T0 + 16 * S, "threads", "recorder was stopped"),),
        losses=(LossCount("log:a.log", 3, "lines", "rotated away"),),
        notes=("212 bytes at the end could not be read",),
        blips=2,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def empty(**changes: object) -> Judgement:
    """A session in which nothing was found in the log."""
    base = Judgement(
        facts=SessionFacts(),
        path="/tmp/empty.livemon",
        start_ns=None,
        end_ns=None,
        anchors=(),
        criteria_sha256="",
        criteria_toml="",
        records=0,
        lines=1204,
        malformed=0,
        stages=(),
        steps=Steps(None, 0, None),
        threads=(),
        findings=(),
    )
    return replace(base, **changes)  # type: ignore[arg-type]
