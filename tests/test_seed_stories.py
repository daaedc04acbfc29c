"""The two stories livemon comes from, from their printed figures to the report, through the command line."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PRINTED = {  # run: (prepare_ctx, runner_run, validate, total), ms, as published
    0: (0.83, 64.30, 76.21, 492.60),
    1: (0.70, 33.69, 14.62, 51.62),
    2: (0.74, 35.67, 83.08, 214.28),
    3: (0.69, 34.40, 51.88, 117.21),
    44: (0.58, 19.72, 90.62, 150.38),
    45: (0.60, 34.32, 48.28, 109.97),
    46: (0.61, 18.22, 15.97, 36.60),
    47: (0.60, 20.21, 82.17, 142.39),
}
VALIDATE_RANGES = {0: (48.3, 53.6), 1: (14.49, 17.0), 2: (82.05, 85.3)}
REST_MS = {0: 28.5, 1: 2.3, 2: 39.5}
VALIDATE_TOTAL_MS, RUNNER_TOTAL_MS = 2426.8, 1274.5


def filled(values: list[float], total: float, keep: set[int]) -> list[float]:
    """``values`` shifted evenly (but for the indexes to keep) to sum up to ``total``, in hundredths."""
    free = [i for i in range(len(values)) if i not in keep]
    missing = round((total - sum(values)) * 100)
    for n, i in enumerate(free):
        share = missing * (n + 1) // len(free) - missing * n // len(free)
        values[i] = round(values[i] + share / 100, 2)
    return values


def seed_rows() -> dict[int, tuple[float, float, float, float]]:
    """48 runs: the printed eight, the rest filled in so that counts, sums and extremes are the published ones."""
    runs = [r for r in range(48) if r not in PRINTED]
    validate, runner = [], []
    for n, run in enumerate(runs):
        low, high = VALIDATE_RANGES[run % 3]
        validate.append(round(low + (high - low) * ((n * 7) % 13) / 13, 2))
        runner.append(round(18.9 + 0.05 * (n % 7) if n % 7 < 4 else 33.8 + 0.1 * (n % 5), 2))
    smallest = next(i for i, r in enumerate(runs) if r % 3 == 1)
    validate[smallest], runner[smallest] = 14.49, 17.89
    validate = filled(
        validate,
        VALIDATE_TOTAL_MS - sum(r[2] for r in PRINTED.values()),
        {smallest} | {i for i, r in enumerate(runs) if r % 3 == 1},
    )
    runner = filled(runner, RUNNER_TOTAL_MS - sum(r[1] for r in PRINTED.values()), {smallest})
    rows = dict(PRINTED)
    for run, v, d in zip(runs, validate, runner, strict=True):
        rows[run] = (0.62, d, v, round(0.62 + d + v + REST_MS[run % 3], 2))
    return dict(sorted(rows.items()))


def write_seed_log(path: Path) -> None:
    lines = [
        f"run={run:2d}  prepare_ctx={p:.2f}  runner_run={d:.2f}   validate={v:.2f}  total={t:.2f}"
        for run, (p, d, v, t) in seed_rows().items()
    ]
    path.write_text("".join(f"[c_api_timing] {line}\n" for line in lines))


def livemon(*arguments: str, state: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "livemon", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env={"XDG_STATE_HOME": str(state), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def seed_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("seed1")
    write_seed_log(folder / "timing.log")
    livemon("import", "--log", str(folder / "timing.log"), "-o", str(folder / "session"), state=folder)
    report: dict[str, Any] = json.loads(livemon("report", str(folder / "session"), "--json", state=folder))
    return report


def test_the_generated_log_is_the_published_one() -> None:
    rows = seed_rows()
    validate = [r[2] for r in rows.values()]
    runner = [r[1] for r in rows.values()]
    assert (len(rows), round(sum(validate), 1), min(validate), max(validate)) == (48, 2426.8, 14.49, 90.62)
    assert (round(sum(runner), 1), min(runner), max(runner)) == (1274.5, 17.89, 64.30)
    assert all(r[3] >= sum(r[:3]) for r in rows.values())


def test_the_period_and_every_finalize_row_is_reported_as_the_log_has_it(seed_report: dict[str, Any]) -> None:
    assert seed_report["steps"]["period"] == 3
    rows = [s for s in seed_report["stages"] if s["stage"] == "validate"]
    assert sum(s["n"] for s in rows) == 48
    assert sum(s["total_ms"] for s in rows) == pytest.approx(2426.8, abs=0.01)
    assert min(s["min_ms"] for s in rows) == 14.49
    assert max(s["max_ms"] for s in rows) == 90.62
    assert all(s["role"] == "finalize" for s in rows)
    by_class = {i: [r[2] for run, r in seed_rows().items() if run % 3 == i] for i in range(3)}
    for s in rows:
        values = by_class[int(s["class"].split("/")[0])]
        assert s["n"] == len(values)
        assert s["mean_ms"] == pytest.approx(statistics.mean(values), abs=1e-6)


def test_all_three_kernels_break_the_budget_each_with_its_own_ratio(seed_report: dict[str, Any]) -> None:
    found = {f["class"]: f for f in seed_report["findings"] if f["kind"] == "oversized_finalize"}
    assert sorted(found) == ["0/3", "1/3", "2/3"]
    rows = seed_rows()
    for key, finding in found.items():
        i = int(key[0])
        mine = [r for run, r in rows.items() if run % 3 == i and run != 0]
        validate, device = (statistics.median(r[k] for r in mine) for k in (2, 1))
        assert finding["stage"] == "validate"
        assert finding["device_stage"] == "runner_run"
        assert finding["budget_ms"] == 5.0
        assert finding["p50_ms"] == pytest.approx(validate, rel=0.02)
        assert finding["ratio_to_device"] == pytest.approx(validate / device, rel=0.05)
        assert 0 < finding["share_of_total"] < 1
    assert found["1/3"]["ratio_to_device"] < 1 < found["0/3"]["ratio_to_device"] < found["2/3"]["ratio_to_device"]
    assert sum(f["saving_ms_per_step"] for f in found.values()) == pytest.approx(150, abs=6)


def test_what_the_stages_do_not_account_for_is_a_stage_and_run_0_counts_in_totals_only(
    seed_report: dict[str, Any],
) -> None:
    rows = seed_rows()
    unaccounted = [s for s in seed_report["stages"] if s["stage"] == "unaccounted"]
    assert sum(s["n"] for s in unaccounted) == 48
    expected = sum(r[3] - sum(r[:3]) for r in rows.values())
    assert sum(s["total_ms"] for s in unaccounted) == pytest.approx(expected, abs=0.05)
    cold = max(s["max_ms"] for s in unaccounted)
    assert cold == pytest.approx(492.60 - 64.30 - 76.21 - 0.83, abs=0.01)
    finding = next(f for f in seed_report["findings"] if f["class"] == "0/3")
    assert finding["p50_ms"] < 56


def counters(path: Path, log: Path | None) -> list[tuple[float, float]]:
    """A counter file with two episodes and optionally a log of the forwards; returns the episodes in s."""
    episodes = [(12.0, 15.0), (24.0, 28.0)]
    t0, tick = 1_016_279_700_000_000_000, 0.1
    names = ("ane-dispatch", "client-short", "callback")
    total = {n: {"P": [0.0, 0.0, 0.0], "E": [0.0, 0.0, 0.0]} for n in names}
    lines, log_lines = [], []
    for k in range(400):
        t = k * tick
        slow = any(a <= t < b for a, b in episodes)
        wobble = 1 + 0.02 * math.sin(k * 1.7)
        for name in names:
            share = (0.95 + 0.04 * math.sin(k)) if slow else 0.0
            cpu_ns = 10 * (1.8e6 if slow else 0.31e6) * wobble
            for level, part, rate, ipc in (("P", 1 - share, 4.0, 3.3), ("E", share, 1.4, 1.7)):
                ns = cpu_ns * part
                row = total[name][level]
                row[0] += ns * rate * ipc
                row[1] += ns * rate
                row[2] += ns
        threads = [
            {"tid": 7000 + n, "name": name, **{lv: [int(x) for x in total[name][lv]] for lv in ("P", "E")}}
            for n, name in enumerate(names)
        ]
        lines.append(json.dumps({"t_ns": t0 + round((t + tick) * 1e9), "threads": threads}))
        for j in range(10):
            end = t0 + round((t + (j + 0.9) * tick / 10) * 1e9)
            host = 5.8 if slow else 1.0
            jitter = 1 + 0.05 * math.sin(k * 10 + j)
            parts = {
                "prepare": 0.12 * host * jitter,
                "features": 0.165 * host * jitter,
                "native": 9.4,
                "post": 0.01 * host * jitter,
            }
            log_lines.append(
                f"[mono_ns={end}] [req_timing] id={k * 10 + j}  "
                + "  ".join(f"{n}={v:.3f}ms" for n, v in parts.items())
                + f"  total={sum(parts.values()):.3f}ms"
            )
    path.write_text("\n".join(lines) + "\n")
    if log is not None:
        log.write_text("\n".join(log_lines) + "\n")
    return [(t0 / 1e9 + a, t0 / 1e9 + b) for a, b in episodes]


@pytest.mark.parametrize("with_log", [False, True])
def test_every_episode_of_the_second_seed_is_found_and_placement_applies_with_its_figures(
    tmp_path: Path, with_log: bool
) -> None:
    log = tmp_path / "requests.log" if with_log else None
    episodes = counters(tmp_path / "threads.jsonl", log)
    sources = ["--threads", str(tmp_path / "threads.jsonl"), *(["--log", str(log)] if log else [])]
    livemon("import", *sources, "-o", str(tmp_path / "session"), state=tmp_path)
    report = json.loads(livemon("report", str(tmp_path / "session"), "--json", "--clock", "monotonic", state=tmp_path))
    found = [f for f in report["findings"] if f["kind"] == "host_slow_transient"]
    assert len(found) == len(episodes)
    for finding, (start, end) in zip(found, episodes, strict=True):
        assert finding["start"] == pytest.approx(start, abs=0.4)
        assert finding["end"] == pytest.approx(end, abs=0.4)
        assert finding["detected_at"] <= start + 0.6
        assert finding["primary_cause"] == "placement"
        placement = next(c for c in finding["causes"] if c["cause"] == "placement")
        assert placement["verdict"] == "applies"
        assert placement["during"] == pytest.approx(0.95, abs=0.06)
        assert placement["reference"] == pytest.approx(0.0, abs=0.02)
        assert {c["verdict"] for c in finding["causes"]} <= {"applies", "ruled_out", "unknown"}
    text = livemon("report", str(tmp_path / "session"), state=tmp_path)
    assert "placement" in text
