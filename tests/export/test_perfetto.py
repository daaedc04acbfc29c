"""The trace is well-formed: a schema, never-negative times, slices that nest, everything named."""

import json
from dataclasses import replace
from typing import Any

import pytest

from livemon.export.perfetto import FINDINGS_PID, FIRST_SPAN_TID, UNITS_PID, write_trace
from livemon.model.samples import Lost, TimingRecord
from tests.export.judgements import T0, S, empty, judgement, transient
from tests.export.streams import classed, records

FIELDS: dict[str, dict[str, Any]] = {
    "X": {"name": str, "cat": str, "pid": int, "tid": int, "ts": float, "dur": float, "args": dict},
    "C": {"name": str, "pid": int, "tid": int, "ts": float, "args": dict},
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
    "i": {"name": str, "cat": str, "pid": int, "tid": int, "ts": float, "s": str},
}


def trace(judged: Any, samples: list[Any]) -> dict[str, Any]:
    parts: list[str] = []
    count = write_trace(judged, lambda: samples, parts.append)
    value: dict[str, Any] = json.loads("".join(parts))
    assert count == len(value["traceEvents"])
    check(value)
    return value


def check(value: dict[str, Any]) -> None:
    """The schema, and what the viewer needs beyond it."""
    assert value["displayTimeUnit"] == "ms"
    named: set[tuple[int, int]] = set()
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in value["traceEvents"]:
        fields = FIELDS[event["ph"]]
        assert event.keys() == fields.keys() | {"ph"}, event
        for key, kind in fields.items():
            assert isinstance(event[key], kind), (key, event)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
        track = (event["pid"], event["tid"])
        if event["ph"] == "M" and event["name"] == "thread_name":
            named.add(track)
        if event["ph"] == "X":
            assert track in named, event
            tracks.setdefault(track, []).append((event["ts"], event["ts"] + event["dur"]))
        if event["ph"] == "C":
            assert all(isinstance(v, float) for v in event["args"].values())
    for slices in tracks.values():
        stack: list[float] = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1] <= start + 1e-6:
                stack.pop()
            assert not stack or end <= stack[-1] + 2e-3, "slices of a track must nest"
            stack.append(end)


def slices(value: dict[str, Any], pid: int) -> list[dict[str, Any]]:
    return [e for e in value["traceEvents"] if e["ph"] == "X" and e["pid"] == pid]


def track_names(value: dict[str, Any]) -> dict[tuple[int, int], str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in value["traceEvents"] if e["name"] == "thread_name"}


def test_units_have_their_stages_inside_them() -> None:
    value = trace(judgement(), classed())
    units = [e for e in slices(value, UNITS_PID) if e["cat"] == "unit"]
    assert len(units) == 48
    first = units[0]
    stages = [e for e in slices(value, UNITS_PID) if e["cat"] != "unit" and e["args"]["unit"] == "0"]
    assert [s["name"] for s in stages] == ["prepare", "runner_run", "validate"]
    assert stages[0]["ts"] == first["ts"]
    assert first["dur"] == pytest.approx(first["args"]["stages_ms"]["total"] * 1000, abs=0.01)
    assert stages[2]["dur"] == pytest.approx(stages[2]["args"]["duration_ms"] * 1000, abs=0.01)
    assert {n for (pid, _), n in track_names(value).items() if pid == UNITS_PID} == {"0/3", "1/3", "2/3"}


def test_overlapping_units_get_lanes() -> None:
    close = [(r, k) for r, k in records(30, step_ns=S // 100)]
    value = trace(judgement(), close)
    names = {n for (pid, _), n in track_names(value).items() if pid == UNITS_PID}
    assert {"1/3", "1/3 (2)", "1/3 (3)"} <= names


def test_a_thread_shows_where_it_ran_and_an_episode_has_its_track() -> None:
    value = trace(judgement(), classed())
    moves = [e for e in slices(value, 4711) if e["tid"] == 4712]
    assert [e["name"] for e in moves] == ["P", "E", "P"]
    assert moves[1]["args"]["from"] == "counters"
    estimated = [e for e in slices(value, 4711) if e["tid"] == 4713]
    assert estimated[0]["args"]["from"].endswith("(estimate)")
    names = track_names(value)
    episode = next(e for e in slices(value, FINDINGS_PID) if e["name"].startswith("T1"))
    assert names[FINDINGS_PID, episode["tid"]] == "host slow transient"
    assert episode["args"]["causes"][0].startswith("placement: applies")
    assert any(e["name"] == "no threads" for e in slices(value, FINDINGS_PID))
    assert any(e["ph"] == "i" and e["name"] == "hetero on" for e in value["traceEvents"])
    ipc = [e["args"]["ipc"] for e in value["traceEvents"] if e["ph"] == "C" and "ipc" in e["args"]]
    assert min(ipc) == pytest.approx(1.7, abs=0.01)
    assert max(ipc) == pytest.approx(3.3, abs=0.01)


def test_a_gap_is_not_drawn_over() -> None:
    samples = classed()
    gap = Lost(T0 + 12 * S, "threads", 15, "ticks", "stopped", T0 + 12 * S, T0 + int(13.5 * S))
    at = next(i for i, (s, _) in enumerate(samples) if s.arrival_ns > T0 + 12 * S)
    value = trace(judgement(), [*samples[:at], (gap, None), *samples[at:]])
    origin_ns = int(value["otherData"]["origin_ns"])
    middle_us = (T0 + 12.7 * S - origin_ns) / 1000
    covering = [e for e in slices(value, 4711) if e["ts"] < middle_us < e["ts"] + e["dur"]]
    assert not covering


def test_time_starts_at_the_earliest_unit_and_is_never_negative() -> None:
    long_unit = TimingRecord(T0 + 1, T0, "line", "x", "0", None, (("total", 5000.0),))
    value = trace(judgement(), [(long_unit, "a"), *classed()])
    assert min(e["ts"] for e in value["traceEvents"] if "ts" in e) == 0
    assert int(value["otherData"]["origin_ns"]) == T0 - 5 * S
    assert max(e["ts"] for e in value["traceEvents"] if "ts" in e) < 30e6


def test_parts_longer_than_the_total_still_nest() -> None:
    odd = TimingRecord(
        T0 + 1, T0 + S, "line", "x", "0", None, (("prepare", 80.0), ("validate", 80.0), ("total", 100.0))
    )
    value = trace(judgement(), [(odd, "a")])
    unit = next(e for e in slices(value, UNITS_PID) if e["cat"] == "unit")
    assert unit["dur"] == pytest.approx(160_000)


def test_spans_with_a_thread_are_beside_it_where_they_happened() -> None:
    def span(name: str, start_ns: int, duration_ms: float) -> TimingRecord:
        return TimingRecord(
            T0 + 3 * S, T0 + 2 * S, "line", "STRACE", "7", None, ((name, duration_ms),), pid=4711, tid=4712,
            start_ns=start_ns,
        )  # fmt: skip

    spans = [(span("chip.run", T0 + S, 900.0), None), (span("chip.run.validate", T0 + S * 6 // 5, 100.0), None)]
    samples = sorted([*classed(), *spans], key=lambda pair: pair[0].arrival_ns)
    value = trace(judgement(), samples)
    found = [e for e in slices(value, 4711) if e["cat"] == "span"]
    assert {e["tid"] for e in found} == {FIRST_SPAN_TID}
    assert track_names(value)[4711, FIRST_SPAN_TID] == "client-short spans"
    assert found[1]["ts"] - found[0]["ts"] == pytest.approx(200_000)


def test_overlapping_findings_and_hostile_names() -> None:
    findings = (
        transient(),
        transient(id="T2", start_ns=T0 + 9 * S, end_ns=None),
        transient(id="T3", start_ns=T0 + 12 * S, end_ns=T0 + 13 * S),
    )
    hostile = replace(next(records(1))[0], label='"\n\x00', unit="\ud800")
    value = trace(judgement(findings=findings), [(hostile, '"\\\n')])
    names = [n for (pid, _), n in track_names(value).items() if pid == FINDINGS_PID]
    assert "host slow transient (2)" in names
    assert "host slow transient (3)" not in names


def test_an_empty_session_is_a_valid_trace() -> None:
    assert trace(empty(), [])["traceEvents"]
