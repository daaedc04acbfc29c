"""The report's JSON keeps the contract."""

import json
from dataclasses import replace

import pytest

from livemon.export.report_json import report_json, reports_json
from tests.export.judgements import T0, WALL, S, empty, judgement, oversized, stage, transient

STAGE_KEYS = {
    "class", "stage", "role", "n", "total_ms", "mean_ms", "min_ms", "max_ms", "p50_ms", "p90_ms", "p99_ms", "share",
}  # fmt: skip
THREAD_KEYS = {
    "pid", "tid", "name", "cpu_ms", "efficiency_share", "ipc", "cycles_per_ns", "run_delay_ms", "migrations",
}  # fmt: skip
OVERSIZED_KEYS = {
    "kind", "severity", "class", "stage", "p50_ms", "budget_ms", "device_stage", "ratio_to_device", "share_of_total",
    "saving_ms_per_step", "start", "end", "ongoing", "detected_at",
}  # fmt: skip
TRANSIENT_KEYS = {
    "kind", "severity", "start", "end", "ongoing", "detected_at", "duration_s", "slowdown", "peak_p99_ms",
    "primary_cause", "causes",
}  # fmt: skip


def test_every_key_of_the_contract_is_there() -> None:
    report = report_json(judgement())
    assert report["schema"] == 1
    assert {"start", "duration_s", "host", "criteria_sha256", "targets", "gaps"} <= report["session"].keys()
    assert report["session"]["targets"][0].items() >= {"pid": 4711, "name": "serve"}.items()
    assert report["session"]["gaps"][0].keys() >= {"start", "end", "what"}
    assert all(row.keys() >= STAGE_KEYS for row in report["stages"])
    assert report["steps"] == {"period": 3, "n": 16, "mean_ms": 558.0}
    assert all(row.keys() >= THREAD_KEYS for row in report["threads"])
    assert report["threads"][0]["cycles_per_ns"] == {"P": 4.0, "E": 1.4}
    oversized_row, transient_row = report["findings"]
    assert oversized_row.keys() >= OVERSIZED_KEYS
    assert transient_row.keys() >= TRANSIENT_KEYS
    assert [c["verdict"] for c in transient_row["causes"]] == ["applies", "applies", "unknown", "ruled_out"]
    assert transient_row["causes"][0].keys() == {"cause", "verdict", "evidence", "during", "reference", "threads"}


@pytest.mark.parametrize(("clock", "origin_s"), [("wall", WALL / S), ("monotonic", T0 / S), ("relative", 0.0)])
def test_times_follow_the_chosen_clock(clock: str, origin_s: float) -> None:
    report = report_json(judgement(), clock)  # type: ignore[arg-type]
    assert report["session"]["start"] == origin_s
    assert report["session"]["duration_s"] == 20.0
    row = report["findings"][1]
    assert row["start"] == pytest.approx(origin_s + 8, abs=1e-6)
    assert row["detected_at"] == pytest.approx(origin_s + 8.12, abs=1e-6)
    assert row["duration_s"] == 3.0


def test_without_an_anchor_wall_times_are_the_session_clocks() -> None:
    report = report_json(judgement(anchors=()))
    assert report["session"]["start"] == T0 / S
    assert report["session"]["clock"] == "session"


def test_a_unix_session_needs_no_anchor() -> None:
    facts = replace(judgement().facts, clock="unix")
    report = report_json(judgement(anchors=(), facts=facts))
    assert (report["session"]["start"], report["session"]["clock"]) == (T0 / S, "unix")


def test_an_ongoing_finding_says_so_and_ends_with_the_session() -> None:
    row = report_json(judgement())["findings"][0]
    assert row["ongoing"] is True
    assert row["end"] == pytest.approx(WALL / S + 20)


def test_unknown_is_null_and_nothing_else_is() -> None:
    report = report_json(
        judgement(
            stages=(stage(None, "a", "host", share=None),),
            findings=(
                oversized(None, ratio=None, budget_ms=None, share_of_total=None, saving_ms_per_step=None),
                transient(slowdown=float("nan"), peak_p99_ms=None, primary_cause=None, causes=()),
            ),
        )
    )
    text = json.dumps(report, allow_nan=False)
    again = json.loads(text)
    assert again["stages"][0]["class"] is None
    assert again["stages"][0]["share"] is None
    first, second = again["findings"]
    assert (first["class"], first["budget_ms"], first["ratio_to_device"]) == (None, None, None)
    assert (second["slowdown"], second["peak_p99_ms"], second["primary_cause"]) == (None, None, None)
    assert again["threads"][1]["efficiency_share"] is None
    assert again["threads"][1]["cpu_ms"] == 0.0


def test_an_empty_session_is_a_whole_report() -> None:
    report = json.loads(json.dumps(report_json(empty()), allow_nan=False))
    assert report["session"]["start"] is None
    assert report["session"]["duration_s"] is None
    assert report["session"]["host"] is None
    assert report["stages"] == report["threads"] == report["findings"] == []


def test_facts_told_several_times_are_all_there() -> None:
    facts = replace(judgement().facts, environment=(("kernel", "6.18"), ("imported", "a.log"), ("imported", "b.log")))
    session = report_json(judgement(facts=facts))["session"]
    assert session["environment"] == {"kernel": "6.18", "imported": ["a.log", "b.log"]}


def test_several_sessions_are_a_list_and_one_is_the_plain_object() -> None:
    assert reports_json([judgement()]) == report_json(judgement())
    several = reports_json([judgement(), empty()])
    assert several["schema"] == 1
    assert [row["session"]["records"] for row in several["sessions"]] == [48, 0]
