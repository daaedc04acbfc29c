"""A scripted session: synthetic, seeded, the same frame for the same question; what the UI tests look at.

Three kernels run in a cycle; validate is oversized in two of them. Host-slow episodes lie at
40–43.2 s, 95–99 s and from 170 s on (ongoing at the end, 172.4 s). Thread samples are missing at 60–66 s.
"""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

import math

from livemon.model.errors import SessionError
from livemon.model.facts import Capability, Cpu
from livemon.model.findings import (
    Bucket,
    Cause,
    Finding,
    HostSlowTransient,
    LedgerRow,
    OversizedFinalize,
    ThreadEvidence,
)
from livemon.model.judgement import Gap
from livemon.model.snapshot import (
    Figure,
    Lane,
    LogLine,
    MarkPoint,
    Series,
    Snapshot,
    StageDetail,
    StageRow,
    Status,
    TargetState,
    ThreadDetail,
    ThreadRow,
    Timeline,
    Verdict,
)

S = 1_000_000_000
START_NS = 1_000 * S
WALL_NS = 1_767_225_600 * S  # 2026-01-01 00:00:00 UTC
EPISODES = ((40.0, 43.2), (95.0, 99.0), (170.0, 176.0))
GAP = (60.0, 66.0)
NO_PMU = "no hardware counters on this machine: perf_event_open says ENOENT; remedy: none in a guest without a PMU"
NAMES = (
    "dispatch",
    "client-short",
    "client-long",
    "gpu-worker",
    "tokenizer",
    "detok",
    "io-loop",
    "gc",
    "worker-1",
    "worker-2",
)
KINDS = ("decode_layer", "final_rms", "lm_head")
STAGES = (
    ("prepare_ctx", "host", 0.6),
    ("runner_run", "device", 20.0),
    ("validate", "finalize", 16.0),
    ("total", "total", 60.0),
)
VALIDATE = (16.0, 86.0, 52.0)


def noise(*key: int) -> float:
    """0..1, a fixed function of its arguments."""
    x = 0x9E3779B97F4A7C15
    for part in key:
        x = (x ^ (part + 0x7F4A7C15)) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        x ^= x >> 29
    return (x >> 11) / (1 << 53)


def slow_at(t_s: float) -> bool:
    return any(start <= t_s < end for start, end in EPISODES)


def in_gap(t_s: float) -> bool:
    return GAP[0] <= t_s < GAP[1]


class ScriptedSource:
    """Implements ``ViewSource``; ``end_s`` can be moved by a test (a growing live session)."""

    def __init__(
        self, *, threads: int = 10, end_s: float = 172.4, is_live: bool = False, counters: bool = True
    ) -> None:
        self.is_live = is_live
        self.path = "/tmp/scripted.livemon"
        self.end_s = end_s
        self.count = threads
        self.counters = counters
        self.marks: list[MarkPoint] = [MarkPoint(START_NS + 20 * S, "hetero on")]
        self.calls: list[str] = []
        self.is_closed = False
        self.is_read_only = False
        self.fails: Exception | None = None
        self.verdict_text: str | None = None
        self.has_text = True
        self._polled_s = -1.0

    def poll(self) -> bool:
        if self.fails is not None:
            raise self.fails
        news = self.end_s != self._polled_s
        self._polled_s = self.end_s
        return news

    def bounds_ns(self) -> tuple[int, int]:
        return START_NS, START_NS + round(self.end_s * S)

    def close(self) -> None:
        self.is_closed = True

    # Frames.

    def snapshot(self, at_ns: int | None, span_ns: int, columns: int) -> Snapshot:
        if self.fails is not None:
            raise self.fails
        self.calls.append("snapshot")
        start, end = self.bounds_ns()
        at = end if at_ns is None else min(max(at_ns, start), end)
        at_s = (at - START_NS) / S
        grid = self._grid(at, span_ns, columns)
        findings = self._findings(at_s)
        return Snapshot(
            at_ns=at,
            wall_ns=WALL_NS + (at - START_NS),
            start_ns=start,
            end_ns=end,
            span_ns=span_ns,
            verdict=self._verdict(at_s),
            stages=tuple(self._stages(at_s, grid)),
            threads=tuple(self._thread(i, at_s, grid) for i in range(self.count)),
            findings=findings,
            timeline=Timeline(
                host_slow_share=self._series(grid, lambda t, k: (0.6 + 0.4 * noise(1, k)) if slow_at(t) else 0.03 * noise(2, k)),
                episodes=tuple(f for f in findings if f.kind == "host_slow_transient"),
                marks=tuple(self.marks),
                gaps=(Gap(START_NS + round(GAP[0] * S), START_NS + round(GAP[1] * S), "threads", "recorder was suspended"),),
            ),
            status=Status(
                targets=(TargetState(4711, "serve", "running"),),
                is_recording=self.is_live,
                recorder_state="recording" if self.is_live else "replay",
                units_per_s=17.4,
                lines=round(at_s * 20),
                records=round(at_s * 17.4),
                malformed=2,
                ticks=round(at_s * 10),
                late_ticks=3,
                lost=0,
                lost_reasons=(),
                log_lag_ms=12.0,
                session_bytes=round(at_s * 6000),
                self_cpu_percent=0.8,
                degraded="",
                notes=(),
            ),
            cpus=tuple(Cpu(n, "P" if n < 8 else "E") for n in range(16)),
            classes=("P", "E"),
            capabilities=(
                Capability("thread times", True, "read from /proc/PID/task/*/schedstat"),
                Capability("hardware counters", self.counters, "cpu_core and cpu_atom PMUs" if self.counters else NO_PMU,
                           "" if self.counters else "run outside the guest"),
            ),
            period=3,
        )  # fmt: skip

    def _grid(self, at: int, span_ns: int, columns: int) -> tuple[int, int, int]:
        bucket_ns = max(span_ns // max(columns, 1), 100_000_000)
        last = at // bucket_ns
        count = min(columns, max(span_ns // bucket_ns, 1))
        return last - count + 1, bucket_ns, count

    def _series(self, grid: tuple[int, int, int], value: object) -> Series:
        first, bucket_ns, count = grid
        highs: list[float | None] = []
        lows: list[float | None] = []
        for k in range(first, first + count):
            t = (k * bucket_ns - START_NS) / S
            if t < 0 or in_gap(t):
                highs.append(None)
                lows.append(None)
            else:
                high = value(t, k)  # type: ignore[operator]
                highs.append(high)
                lows.append(high * 0.9)
        return Series(first, bucket_ns, tuple(lows), tuple(highs))

    def _verdict(self, at_s: float) -> Verdict:
        if self.verdict_text is not None:
            return Verdict("critical", self.verdict_text)
        for start, end in EPISODES:
            if start <= at_s < end:
                return Verdict(
                    "critical",
                    f"HOST-SLOW for {at_s - start:.1f} s · requests 1.26× · placement: dispatch, client-short on E cores (0.97)",
                )
        if at_s < 5:
            return Verdict("warming", "learning what is usual: 12 of 30 units")
        return Verdict(
            "warning",
            "finalize too long: validate takes 86 ms in final_rms, budget 5 ms · hosts are at their usual speed",
        )

    def _stages(self, at_s: float, grid: tuple[int, int, int]) -> list[StageRow]:
        rows = []
        for c, kind in enumerate(KINDS):
            total = 0.6 + 20 + VALIDATE[c] + 5
            for s, (stage, role, base) in enumerate(STAGES):
                usual = VALIDATE[c] if stage == "validate" else total if stage == "total" else base
                factor = 1.26 if slow_at(at_s) and role != "device" else 1.0
                last = usual * factor * (0.96 + 0.08 * noise(c, s, round(at_s * 10)))
                budget = 5.0 if stage == "validate" else None
                over = budget is not None and usual > budget
                rows.append(
                    StageRow(
                        class_key=kind, stage=stage, role=role, n=round(60 * 5.8), last_ms=last, p50_ms=usual,
                        p99_ms=usual * 1.31, share=usual / total, budget_ms=budget,
                        state="over" if over else "slow" if slow_at(at_s) and role == "host" else "ok",
                        series=self._series(
                            grid,
                            lambda t, k, u=usual, r=role, c=c, s=s: u
                            * (1.26 if slow_at(t) and r != "device" else 1.0)
                            * (0.97 + 0.06 * noise(c, s, k) + (2.5 if noise(c, s, k, 9) > 0.985 else 0)),
                        ),
                        reference_ms=usual,
                    )
                )  # fmt: skip
        return rows

    def _thread(self, i: int, at_s: float, grid: tuple[int, int, int]) -> ThreadRow:
        name = NAMES[i] if i < len(NAMES) else f"worker-{i - 7}"
        moves = i in (0, 1)
        base = (72.0, 55.0, 31.0, 88.0, 12.0, 9.0, 4.0, 0.4)[i] if i < 8 else 3.0 + (i * 7) % 40
        on_e = moves and slow_at(at_s)
        second = int(at_s)
        cpu = base * (0.97 + 0.06 * noise(i, second))
        known = self.counters
        no = Figure(None, "unknown", NO_PMU)

        def lane_class(t: float, k: int) -> str | None:
            if t < 0 or in_gap(t):
                return None
            if base < 1 and noise(i, k) < 0.7:
                return ""
            return "E" if (moves and slow_at(t)) or (i > 8 and i % 3 == 0) else "P"

        first, bucket_ns, count = grid
        times = [((k * bucket_ns - START_NS) / S, k) for k in range(first, first + count)]
        classes = tuple(lane_class(t, k) for t, k in times)
        return ThreadRow(
            index=i, pid=4711, tid=4720 + i, name=name, process="serve", role=name.rstrip("0123456789").rstrip("-"),
            is_alive=not (i == 5 and at_s > 120), is_self=False,
            last_cpu=Figure(8.0 + i % 8 if on_e else float(i % 8), "estimated", "a point sample"),
            core_class="E" if on_e or (i > 8 and i % 3 == 0) else "P",
            class_quality="measured" if known else "estimated",
            cpu_percent=Figure(cpu),
            cpu_ms_per_unit=Figure(1.8 if on_e else 0.31 + i * 0.07),
            ipc=Figure(1.7 if on_e else 3.3) if known else no,
            cycles_per_ns=(Figure(1.4, "scaled", "counter active 62 % of the time") if on_e else Figure(4.0)) if known else no,
            wait_percent=Figure(31.0 if on_e else 0.8 + noise(i, second, 3)),
            delay_percent=Figure(cpu * 0.31 / 0.69 if on_e else cpu * 0.01),
            migrations_per_s=Figure(14.0 if on_e else 0.2),
            efficiency_share=Figure(0.97 if on_e else 0.0),
            lane=Lane(first, bucket_ns, classes, tuple(0.95 if c else None for c in classes), known),
            series=self._series(grid, lambda t, k: base * (0.9 + 0.2 * noise(i, k))),
            affinity="0-15", policy="SCHED_OTHER",
        )  # fmt: skip

    # Findings.

    def _findings(self, at_s: float) -> tuple[Finding, ...]:
        found: list[Finding] = []
        for number, (start, end) in enumerate(EPISODES):
            if at_s >= start + 0.4:
                found.append(transient(number + 1, start, end if at_s >= end else None))
        if at_s >= 8:
            found.append(finalize("F1", "final_rms", 86.0, 3.9, 8.0))
            found.append(finalize("F2", "lm_head", 52.0, 1.45, 9.0))
        return tuple(found)

    def all_findings(self) -> tuple[Finding, ...]:
        return self._findings(self.end_s)

    def moments_ns(self) -> tuple[tuple[int, str], ...]:
        moments = [
            (START_NS + round((start + 0.4) * S), f"T{n + 1} host-slow, shown 0.4 s after its start")
            for n, (start, _) in enumerate(EPISODES)
            if start + 0.4 <= self.end_s
        ]
        moments += [(START_NS + 8 * S, "F1 finalize final_rms"), (START_NS + 9 * S, "F2 finalize lm_head")]
        moments += [(mark.t_ns, mark.text) for mark in self.marks]
        return tuple(sorted(moments))

    def add_mark(self, text: str, at_ns: int | None = None) -> None:
        if self.is_read_only:
            raise SessionError("the session can't be written: it is on a read-only file system", "copy it elsewhere")
        self.marks.append(MarkPoint(self.bounds_ns()[1] if at_ns is None else at_ns, text))

    # Details.

    def log_lines(self, at_ns: int, before: int, after: int, stream: str | None = None) -> tuple[LogLine, ...]:
        if not self.has_text:
            return (LogLine(at_ns, "serve.log", 0, "serve.log is gone: its text can't be shown", is_text=False),)
        centre = (at_ns - START_NS) * 10 // S
        lines = []
        last = round(self.end_s * 10)
        for n in range(max(centre - before, 0), min(centre + after, last) + 1):
            t_ns = START_NS + n * S // 10
            if n % 4 == 3:
                lines.append(
                    LogLine(t_ns, "serve.log", n + 1, f"INFO scheduler step {n} queue=\x1b[31m3\x1b[0m", is_text=True)
                )
                continue
            c = n % 3
            stages = (
                ("prepare_ctx", 0.58),
                ("runner_run", 19.72),
                ("validate", VALIDATE[c]),
                ("total", 60.0 + VALIDATE[c]),
            )
            text = f"[c_api_timing] run={n} " + " ".join(f"{name}={ms:.2f}" for name, ms in stages)
            lines.append(LogLine(t_ns, "serve.log", n + 1, text, True, stages, str(n), KINDS[c]))
        return tuple(lines)

    def stage_detail(
        self, class_key: str | None, stage: str, at_ns: int | None, span_ns: int, columns: int
    ) -> StageDetail | None:
        snapshot = self.snapshot(at_ns, span_ns, columns)
        row = next((r for r in snapshot.stages if (r.class_key, r.stage) == (class_key, stage)), None)
        if row is None or row.p50_ms is None:
            return None
        edges = tuple(row.p50_ms * 10 ** ((k - 12) / 20) for k in range(25))
        counts = tuple(round(80 * math.exp(-((k - 12) ** 2) / 6)) for k in range(24))
        scaled = [
            Series(row.series.first_bucket, row.series.bucket_ns, row.series.low,
                   tuple(None if v is None else v * f for v in row.series.high))
            for f in (1.0, 1.12, 1.3)
        ]  # fmt: skip
        return StageDetail(class_key, stage, row.role, edges, counts, *scaled, sum(counts), row.p50_ms * 1.02, row.budget_ms,
                           row.p50_ms, None if row.budget_ms is None else row.p50_ms - row.budget_ms)  # fmt: skip

    def thread_detail(self, index: int, at_ns: int | None, span_ns: int, columns: int) -> ThreadDetail | None:
        snapshot = self.snapshot(at_ns, span_ns, columns)
        if not 0 <= index < len(snapshot.threads):
            return None
        row = snapshot.threads[index]
        grid = self._grid(snapshot.at_ns, span_ns, columns)
        moves = index in (0, 1)
        return ThreadDetail(
            row,
            self._series(grid, lambda t, k: 31.0 if moves and slow_at(t) else 1.0),
            self._series(grid, lambda t, k: 1.8 if moves and slow_at(t) else 0.31),
            self._series(grid, lambda t, k: 1.7 if moves and slow_at(t) else 3.3),
            self._series(grid, lambda t, k: 1.4 if moves and slow_at(t) else 4.0),
            (("P", Figure(0.9), Figure(3.3), Figure(4.0)), ("E", Figure(0.1), Figure(None, "unknown", "active share under 5 %"), Figure(1.4))),
            (("affinity", "0-15"), ("policy", "SCHED_OTHER"), ("first seen", "00:00:00")),
        )  # fmt: skip


def transient(number: int, start: float, end: float | None) -> HostSlowTransient:
    names = ("dispatch", "client-short")
    return HostSlowTransient(
        id=f"T{number}", severity="critical", start_ns=START_NS + round(start * S),
        end_ns=None if end is None else START_NS + round(end * S), detected_ns=START_NS + round((start + 0.4) * S),
        slowdown=1.26, peak_p99_ms=84.2, primary_cause="placement",
        causes=(
            Cause("placement", "applies", "efficiency-core share 0.97 against 0.00 (dispatch, client-short)", 0.97, 0.0, names),
            Cause("cycle_rate", "applies", "1.4 against 4.0 cycles per CPU ns (0.35×)", 1.4, 4.0, names),
            Cause("off_cpu", "ruled_out", "run-queue delay 1.2 % against 0.9 %", 1.2, 0.9),
            Cause("throttled", "unknown", "no cgroup cpu.stat is readable here"),
        ),
        ledger=(
            LedgerRow("dispatch", 1.8, 0.31, (("instructions", 1.02), ("ipc", 1.94), ("cycle_rate", 2.86)), 5.66, 1.03),
            LedgerRow("client-short", 1.7, 0.38, (("instructions", 1.0), ("ipc", None), ("cycle_rate", None)), None, None),
        ),
        threads=(
            ThreadEvidence("dispatch", "E", (1.8, 0.31), (0.97, 0.0), (1.4, 4.0), (1.7, 3.3), (0.012, 0.009)),
            ThreadEvidence("gpu-worker", None, (0.52, 0.52), (0.0, 0.0), (None, None), (None, None), (0.01, 0.01)),
        ),
        buckets=tuple(
            Bucket(k * 0.5, (k + 1) * 0.5, 9, 60.0 * (1.26 if k >= 0 else 1), 84.0 if k >= 0 else 70.0, 0.9 if k >= 0 else 0.02,
                   1.8 if k >= 0 else 0.31, 0.97 if k >= 0 else 0.0, 1.4 if k >= 0 else 4.0, 1.7 if k >= 0 else 3.3)
            for k in range(-4, 6)
        ),
        cost_ms=412.0, units=31, slow_units=28, not_recovered_by_5_s=True, detected_by="host stages above 1.15× of usual in 9 of 12 units",
        does_not_show=("why the scheduler chose these cores", "what ran on the P cores meanwhile"),
    )  # fmt: skip


def finalize(finding_id: str, label: str, p50: float, ratio: float, start: float) -> OversizedFinalize:
    return OversizedFinalize(
        id=finding_id, severity="critical", class_key=label, stage="validate", p50_ms=p50, budget_ms=5.0,
        device_stage="runner_run", device_p50_ms=20.0, ratio_to_device=ratio, share_of_total=0.55,
        share_denominator="step wall time", saving_ms_per_step=p50, saving_to_budget_ms_per_step=p50 - 5, units=48,
        start_ns=START_NS + round(start * S), end_ns=None, detected_ns=START_NS + round(start * S), rules=("budget", "ratio"),
        evidence=f"median {p50} ms over 48 units",
    )  # fmt: skip
