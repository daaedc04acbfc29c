"""Imported lines out of order, and stamps that the lines around them contradict."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon import importing_order
from livemon.importing import Imported, ImportRequest, import_files
from livemon.importing_order import Believed, in_order
from livemon.judge import judge
from livemon.model.errors import SessionError
from livemon.model.samples import LogCount, Note, Sample, ThreadTick, TimingRecord
from livemon.session.reader import SessionReader
from livemon.session.writer import SessionWriter

START_S = 1_748_345_000
LINES = 1200
STEP_S = 0.02


def record(t_ns: int, line: int, *, time_from: str = "line", ms: float = 8.0) -> TimingRecord:
    return TimingRecord(t_ns, t_ns, time_from, "json", None, "A", (("total", ms),), line=line)  # type: ignore[arg-type]


def places(samples: list[Sample]) -> tuple[list[float], int]:
    """Times in s after going through ``Believed``, and how many stamps were not believed."""
    believed = Believed(samples, "log")
    return [s.arrival_ns / 1e9 for s in believed if not isinstance(s, Note)], believed.contradicted


def at(*times_s: float, ms: float = 8.0) -> list[Sample]:
    return [record(round(t * 1e9), line, ms=ms) for line, t in enumerate(times_s, 1)]


def imported(tmp_path: Path, leap: Callable[[int], float]) -> tuple[Path, Imported]:
    """Lines 20 ms apart with a slow stretch from 10 to 13 s; ``leap`` moves the stamp of a line, in s."""
    log, session = tmp_path / "log", tmp_path / "s"
    with log.open("w") as file:
        for i in range(LINES):
            t_s = i * STEP_S
            prepare = 4.0 if 10 <= t_s < 13 else 1.0
            line = {"prepare_ms": prepare, "runner_run_ms": 5.0, "validate_ms": 10.0, "total_ms": 16.0 + prepare}
            file.write(json.dumps({"ts": round(START_S + t_s + leap(i), 3), **line}) + "\n")
    return session, import_files(ImportRequest(session, (log,)))


@pytest.mark.parametrize(
    "leaps",
    [
        {100: 40.0, 150: 40.0, 200: 40.0, 250: 40.0},
        {0: 40.0, 50: 40.0, 100: 40.0, 150: 40.0, 200: 40.0},
        {100: 3600.0},
        {100: -10.0},
        {100: -3600.0},
        {300: 40.0, 301: 41.0, 302: -50.0},
    ],
)
def test_lone_leaps_change_no_verdict_and_are_told(tmp_path: Path, leaps: dict[int, float]) -> None:
    (tmp_path / "clean").mkdir()
    clean, _ = imported(tmp_path / "clean", lambda _: 0.0)
    session, done = imported(tmp_path, lambda i: leaps.get(i, 0.0))
    (note,) = done.notes
    assert f"the time in {len(leaps)} line" in note
    expected, found = judge(clean), judge(session)
    assert len(expected.findings) >= 2
    assert [(f.kind, f.severity) for f in found.findings] == [(f.kind, f.severity) for f in expected.findings]
    for one, other in zip(found.findings, expected.findings, strict=True):
        assert one.start_ns == pytest.approx(other.start_ns, abs=1e8)
        assert one.end_ns == pytest.approx(other.end_ns, abs=1e8)
        assert one.detected_ns == pytest.approx(other.detected_ns, abs=1e8)
    reader = SessionReader(session)
    samples = reader.read_new()
    reader.close()
    assert [s.text for s in samples if isinstance(s, Note)] == [note]
    assert sum(isinstance(s, TimingRecord) and s.time_from == "arrival" for s in samples) == len(leaps)


def test_swapped_lines_arrive_at_their_own_time(tmp_path: Path) -> None:
    far = {200: 700, 700: 200}
    session, done = imported(tmp_path, lambda i: (far.get(i, i ^ 1) - i) * STEP_S)
    reader = SessionReader(session)
    records = [s for s in reader.read_new() if isinstance(s, TimingRecord)]
    reader.close()
    assert [r.arrival_ns for r in records] == sorted(r.arrival_ns for r in records)
    own = [r for r in records if r.time_from == "line"]
    assert all(r.arrival_ns == r.t_ns for r in own)
    assert len(own) >= LINES - 2  # those swapped over 10 s are contradicted on both sides
    assert len(done.notes) == 1


def test_silence_and_a_clock_that_is_set_are_believed() -> None:
    for times in (
        [0.0, 0.1, 40.0, 40.1, 40.2],
        [0.0, *(40 + i / 10 for i in range(20))],
        [0.0, 40.0, 80.0, 120.0],
        [*(100 + i / 10 for i in range(20)), *(60 + i / 10 for i in range(20))],
        [0.0, 0.1, 3600.0],
        [3 * i for i in range(30)],
    ):
        assert places(at(*times)) == (times, 0)


def test_two_writers_with_clocks_of_their_own_are_both_believed() -> None:
    times = [t for i in range(30) for t in (i / 10, 40 + i / 10)]
    assert places(at(*times)) == (times, 0)


def test_a_line_stamped_at_the_start_of_a_long_unit_is_believed() -> None:
    times = [*(100 + i / 10 for i in range(10)), 80.0, *(101 + i / 10 for i in range(10))]
    assert places(at(*times, ms=25_000.0)) == (times, 0)
    assert places(at(*times, ms=5.0))[1] == 1


def test_what_has_no_stamp_follows_the_line_before_it() -> None:
    ns = 10**9
    stamped = at(1.0, 1.1, 50.0, 1.2, 1.3, 1.4)
    unstamped = [record(50 * ns, 3, time_from="arrival"), LogCount(50 * ns, 0, 4, 4, 0)]
    samples = [*stamped[:3], *unstamped, *stamped[3:]]
    assert places(samples) == ([1.0, 1.1, 1.1, 1.1, 1.1, 1.2, 1.3, 1.4], 1)


def test_the_records_of_one_line_are_one_voice() -> None:
    samples = at(1.0, 1.1, 1.2)
    samples += [record(50 * 10**9, 4) for _ in range(30)]
    samples += [record(round(t * 1e9), 5 + n) for n, t in enumerate((1.3, 1.4, 1.5))]
    assert places(samples) == ([1.0, 1.1, 1.2, *[1.2] * 30, 1.3, 1.4, 1.5], 1)


@given(st.lists(st.integers(0, 10**12), max_size=60), st.integers(1, 10))
def test_any_times_come_out_in_order_and_none_is_lost(times: list[int], window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing_order, "REORDER_LINES", window)
        out = list(in_order([record(t, line) for line, t in enumerate(times)]))
    arrivals = [s.arrival_ns for s in out]
    assert arrivals == sorted(arrivals)
    assert sorted(s.t_ns for s in out if isinstance(s, TimingRecord)) == sorted(times)
    if window >= len(times):
        assert arrivals == sorted(times)


@given(st.lists(st.integers(0, 10**12), max_size=40))
def test_any_stamps_are_placed_within_those_of_the_log(times: list[int]) -> None:
    out = list(Believed([record(t, line) for line, t in enumerate(times)], "log"))
    assert len([s for s in out if isinstance(s, TimingRecord)]) == len(times)
    assert {s.arrival_ns for s in out} <= set(times)


def test_ticks_that_go_back_in_time_are_told_by_line(tmp_path: Path) -> None:
    times = (5, 9, 7, 8, 10)
    path = tmp_path / "threads"
    path.write_text("\n" + "".join(json.dumps({"t_ns": t, "threads": [{"tid": 1}]}) + "\n" for t in times))
    done = import_files(ImportRequest(tmp_path / "s", threads=(path,)))
    (note,) = done.notes
    assert "2 ticks go back in time, first in line 4" in note
    reader = SessionReader(tmp_path / "s")
    samples = reader.read_new()
    reader.close()
    assert [s.arrival_ns for s in samples if isinstance(s, ThreadTick)] == [5, 9, 9, 9, 10]
    assert [s.text for s in samples if isinstance(s, Note)] == [note]


@pytest.mark.parametrize("failing", ["append", "close"])
def test_what_can_not_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    whole = getattr(SessionWriter, failing)

    def fail(writer: SessionWriter, *arguments: object) -> None:
        whole(writer, *arguments)
        Path(f"{writer.path}-journal").touch()
        Path(f"{writer.path}-lock").touch()
        writer.problem = "database or disk is full"

    (tmp_path / "out").mkdir()
    (tmp_path / "log").write_text('{"ts": 1748345000.5, "total_ms": 9}\n')
    monkeypatch.setattr(SessionWriter, failing, fail)
    with pytest.raises(SessionError, match="disk is full"):
        import_files(ImportRequest(tmp_path / "out" / "s", (tmp_path / "log",)))
    assert not list((tmp_path / "out").iterdir())
