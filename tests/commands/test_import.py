"""``livemon import``: clocks, arrivals, counters, bad files; through the command line."""

import json
import os
import re
from pathlib import Path

import pytest

from livemon.cli import main
from livemon.model.facts import SessionFacts
from livemon.model.samples import (
    UNKNOWN,
    ClockAnchor,
    LogCount,
    LogStream,
    Lost,
    Mark,
    Sample,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)
from livemon.session.reader import SessionReader
from livemon.session.writer import SessionWriter

MONO = 5_000_000_000_000
WALL = 1_760_000_000_000_000_000


def line(t_ns: int, run: int, validate: float = 3.25) -> str:
    stages = f"runner_run=20.00ms  validate={validate}ms  total=30.00ms"
    return f"[mono_ns={t_ns}][T0x7f21][TIMING] x: [c_api_timing] run={run}  {stages}\n"


def read(path: Path) -> tuple[SessionFacts, list[Sample]]:
    reader = SessionReader(path)
    try:
        assert reader.damage == ()
        assert reader.recorder.closed_reason == "imported"
        return reader.facts, reader.read_new()
    finally:
        reader.close()


def imported(tmp_path: Path, *arguments: str) -> tuple[SessionFacts, list[Sample]]:
    assert main(["import", *arguments, "-o", str(tmp_path / "out")]) == 0
    return read(tmp_path / "out")


def records(samples: list[Sample]) -> list[TimingRecord]:
    return [s for s in samples if isinstance(s, TimingRecord)]


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["import", *arguments, "-o", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (message,) = captured.err.splitlines()
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("out*"))
    return message


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_text("".join(line(MONO + n * 10**8, n) for n in range(5)))
    return path


def test_a_log_with_monotonic_stamps_arrives_at_its_own_times(tmp_path: Path, log: Path) -> None:
    facts, samples = imported(tmp_path, "--log", str(log))
    assert facts.clock == "monotonic"
    assert facts.origin == "import"
    found = records(samples)
    assert [(r.arrival_ns, r.t_ns, r.time_from) for r in found] == [
        (MONO + n * 10**8, MONO + n * 10**8, "line") for n in range(5)
    ]
    assert [r.unit for r in found] == ["0", "1", "2", "3", "4"]
    assert [r.line for r in found] == [1, 2, 3, 4, 5]
    assert found[2].stages == (("runner_run", 20.0), ("validate", 3.25), ("total", 30.0))
    text = log.read_bytes()
    assert all(text[r.offset : r.offset + r.length].decode() == line(r.t_ns, int(r.unit or 0)) for r in found)
    assert isinstance(samples[0], LogStream)
    assert samples[0].path == str(log)
    assert sum(s.lines for s in samples if isinstance(s, LogCount)) == 5


def test_with_arrivals_records_come_in_order_of_arrival(tmp_path: Path, log: Path) -> None:
    arrivals = [MONO + 10**9 + n for n in (10, 20, 15, 40, 50)]
    (tmp_path / "arrivals").write_text("".join(f"{a}\n" for a in arrivals))
    _, samples = imported(tmp_path, "--log", str(log), "--arrivals", str(tmp_path / "arrivals"))
    found = records(samples)
    assert [r.arrival_ns for r in found] == sorted(arrivals)
    assert [r.unit for r in found] == ["0", "2", "1", "3", "4"]
    assert found[1].t_ns == MONO + 2 * 10**8
    assert [s.arrival_ns for s in samples] == sorted(s.arrival_ns for s in samples)


@pytest.mark.parametrize(
    ("count", "message"), [(4, "has 4 arrivals, but .*log has more"), (6, "has 6 arrivals, .* 5 lines")]
)
def test_arrivals_must_be_one_a_line(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str], count: int, message: str
) -> None:
    (tmp_path / "arrivals").write_text("".join(f"{MONO + n}\n" for n in range(count)))
    said = refused(tmp_path, capsys, "--log", str(log), "--arrivals", str(tmp_path / "arrivals"))
    assert re.search(message, said)


def test_a_malformed_arrival_is_named_by_its_line(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "arrivals").write_text(f"{MONO}\n1.5e9\n")
    said = refused(tmp_path, capsys, "--log", str(log), "--arrivals", str(tmp_path / "arrivals"))
    assert "arrivals, line 2: '1.5e9' is not a time in whole ns" in said


def test_unix_stamps_make_unix_time_the_session_clock(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "2025-10-09T08:53:20.250Z [c_api_timing] run=1 validate=2.5ms total=5ms\n"
        "2025-10-09T08:53:21.250Z [c_api_timing] run=2 validate=2.5ms total=5ms\n"
    )
    facts, samples = imported(tmp_path, "--log", str(tmp_path / "log"))
    assert facts.clock == "unix"
    assert [r.t_ns for r in records(samples)] == [WALL + 250_000_000, WALL + 1_250_000_000]
    (anchor,) = [s for s in samples if isinstance(s, ClockAnchor)]
    assert anchor.mono_ns == anchor.wall_ns


def test_an_anchor_line_ties_the_logs_clock_to_wall_time(tmp_path: Path, log: Path) -> None:
    log.write_text(f"[CLOCK_ANCHOR] v=1 pid=42 mono_ns={MONO} wall_ns={WALL}\n" + log.read_text())
    _, samples = imported(tmp_path, "--log", str(log))
    (anchor,) = [s for s in samples if isinstance(s, ClockAnchor)]
    assert (anchor.mono_ns, anchor.wall_ns) == (MONO, WALL)
    reader = SessionReader(tmp_path / "out")
    assert reader.anchors() == [(MONO, WALL)]
    reader.close()


def test_a_log_without_stamps_is_laid_end_to_end_and_says_that_times_are_estimates(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "[c_api_timing] run= 0  runner_run=20.00  validate=3.25  total=30.00\n"
        "[c_api_timing] run= 1  runner_run=20.00  validate=5.00\n"
    )
    facts, samples = imported(tmp_path, "--log", str(tmp_path / "log"))
    assert facts.clock == "order"
    assert [(r.t_ns, r.time_from) for r in records(samples)] == [(30_000_000, "order"), (55_000_000, "order")]


def test_lines_out_of_order_are_put_in_order_and_two_logs_are_merged(tmp_path: Path) -> None:
    order = [0, 3, 1, 2, 4]
    (tmp_path / "a").write_text("".join(line(MONO + n * 10**8, n) for n in order))
    (tmp_path / "b").write_text("".join(line(MONO + n * 10**8 + 5, n) for n in range(5)))
    _, samples = imported(tmp_path, "--log", str(tmp_path / "a"), "--log", str(tmp_path / "b"))
    found = records(samples)
    assert [r.stream for r in found] == [0, 1] * 5
    assert [r.arrival_ns for r in found] == sorted(r.arrival_ns for r in found)
    assert all(r.arrival_ns == r.t_ns for r in found)


def test_a_line_that_is_very_late_arrives_at_its_own_time(tmp_path: Path) -> None:
    times = [MONO, MONO + 10**10, MONO + 2 * 10**10, MONO + 10**9]
    (tmp_path / "log").write_text("".join(line(t, n) for n, t in enumerate(times)))
    _, samples = imported(tmp_path, "--log", str(tmp_path / "log"))
    found = records(samples)
    assert [r.unit for r in found] == ["0", "3", "1", "2"]
    assert all(r.arrival_ns == r.t_ns for r in found)


def test_a_torn_last_line_is_counted_not_read_unless_asked(tmp_path: Path, log: Path) -> None:
    log.write_text(log.read_text() + line(MONO + 10**9, 5).rstrip("\n"))
    _, samples = imported(tmp_path, "--log", str(log))
    assert len(records(samples)) == 5
    (lost,) = [s for s in samples if isinstance(s, Lost)]
    assert (lost.source, lost.count, lost.unit) == ("log", 1, "lines")
    _, samples = imported(tmp_path, "--log", str(log), "--accept-unterminated", "--force")
    assert len(records(samples)) == 6


def test_marks_come_from_the_log_at_the_time_of_their_line(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        line(MONO, 0) + f"[mono_ns={MONO + 7}] phase: decode starts\n" + line(MONO + 10**8, 1) + "phase: ends\n"
    )
    _, samples = imported(tmp_path, "--log", str(tmp_path / "log"), "--mark-pattern", "^.*phase")
    marks = [s for s in samples if isinstance(s, Mark)]
    assert [(m.t_ns, m.origin) for m in marks] == [(MONO + 7, "log"), (MONO + 10**8, "log")]
    assert marks[1].text == "phase: ends"


TICK = {"t_ns": MONO + 5 * 10**7, "threads": [{"tid": 7, "name": "client", "P": [100, 50, 30], "E": [10, None, 4]}]}


def test_counters_become_threads_and_ticks_between_the_records(tmp_path: Path, log: Path) -> None:
    second = {
        "t_ns": MONO + 15 * 10**7,
        "threads": [
            {"tid": 7, "name": "client", "P": [90, 40, 29], "E": None},
            {"tid": 8, "pid": 3, "name": "native", "cpu_ns": 5, "run_delay_ns": 6, "last_cpu": 2, "switches": 9},
        ],
    }
    (tmp_path / "t").write_text(json.dumps(TICK) + "\n\n" + json.dumps(second) + "\n")
    facts, samples = imported(tmp_path, "--log", str(log), "--threads", str(tmp_path / "t"))
    assert facts.topology.classes == ("P", "E")
    assert facts.topology.efficiency_classes == ("E",)
    infos = [s for s in samples if isinstance(s, ThreadInfo)]
    assert [(i.index, i.pid, i.tid, i.name) for i in infos] == [(0, UNKNOWN, 7, "client"), (1, 3, 8, "native")]
    one, two = [s for s in samples if isinstance(s, ThreadTick)]
    assert list(one.cpu_ns) == [34]
    assert [list(c.cycles) for c in one.classes] == [[50], [UNKNOWN]]
    assert list(two.cpu_ns) == [UNKNOWN, 5]
    assert list(two.run_delay_ns) == [UNKNOWN, 6]
    assert list(two.slices) == [UNKNOWN, 9]
    assert list(two.last_cpu) == [UNKNOWN, 2]
    assert [list(c.instructions) for c in two.classes] == [[90, UNKNOWN], [UNKNOWN, UNKNOWN]]
    at = samples.index(one)
    assert isinstance(samples[at - 2], TimingRecord)
    assert [s.arrival_ns for s in samples] == sorted(s.arrival_ns for s in samples)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(TICK) + "\n{oops\n", "line 2: not a thread tick"),
        ('{"threads": []}\n', "line 1: not a thread tick (no 't_ns')"),
        ('{"t_ns": "x", "threads": []}\n', "t_ns is 'x', not a whole number"),
        ('{"t_ns": 1, "threads": [{"name": "x"}]}\n', "tick 1: no 'tid'"),
        ('{"t_ns": 1, "threads": [{"tid": 1, "P": [1.5, 1, 1]}]}\n', "tick 1: P is 1.5, not a whole number"),
        ('{"t_ns": 1, "threads": [{"tid": 1, "P": [1, 1, 99999999999999999999]}]}\n', "not a whole number"),
        ("[]\n", "line 1: not a thread tick"),
        ('"text"\n', "line 1: not a thread tick (not an object)"),
        ("[" * 100_000 + "\n", "line 1: not a thread tick"),
        ('{"t_ns": 1, "threads": null}\n', "threads is not a list of objects"),
        ('{"t_ns": 1, "threads": [5]}\n', "threads is not a list of objects"),
        ('{"t_ns": 9223372036854775807, "threads": []}\n', "t_ns is 9223372036854775807, not a whole number"),
        (
            '{"t_ns": 0, "threads": []}\n{"t_ns": -5, "threads": []}\n',
            "line 2: not a thread tick (t_ns is -5, before 0)",
        ),
        ('{"t_ns": 1, "threads": [{"tid": 1, "P": 5}]}\n', "tick 1: P is 5, not [instructions, cycles, cpu_ns]"),
        ('{"t_ns": 1, "threads": [{"tid": 1, "P": [1, 2]}]}\n', "tick 1: P is [1, 2], not [instructions"),
        ('{"t_ns": 1, "threads": [{"tid": 7}, {"tid": 7}]}\n', "tick 1: thread 7 is in it twice"),
    ],
)
def test_a_malformed_thread_file_is_named_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "t").write_text(text)
    assert message in refused(tmp_path, capsys, "--threads", str(tmp_path / "t"))


def test_counts_below_zero_are_not_measured(tmp_path: Path) -> None:
    ticks = [{"t_ns": t, "threads": [{"tid": 1, "P": [5, -1, -7], "last_cpu": -3}]} for t in (0, 1)]
    (tmp_path / "t").write_text("".join(json.dumps(tick) + "\n" for tick in ticks))
    _, samples = imported(tmp_path, "--threads", str(tmp_path / "t"))
    tick = [s for s in samples if isinstance(s, ThreadTick)][-1]
    assert (list(tick.cpu_ns), list(tick.last_cpu)) == ([UNKNOWN], [UNKNOWN])
    assert list(tick.classes[0].cycles) == [UNKNOWN]
    assert list(tick.classes[0].instructions) == [5]


@pytest.mark.parametrize(
    "time", ["9223372036854775807", "99999999999999999999", "-99999999999999999999", "-1", "1_0", ""]
)
def test_an_arrival_that_no_clock_shows_is_refused(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str], time: str
) -> None:
    (tmp_path / "arrivals").write_text(f"1\n2\n{time}\n4\n5\n")
    message = refused(tmp_path, capsys, "--log", str(log), "--arrivals", str(tmp_path / "arrivals"))
    assert "line 3" in message


def test_stamps_without_a_year_are_of_the_time_before_the_file_was_written(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("Jan  2 03:04:05 host serve[7]: [c_api_timing] run=1  runner_run=20.00ms  total=30.00ms\n")
    written_s = WALL // 10**9
    os.utime(log, (written_s, written_s))
    facts, samples = imported(tmp_path, "--log", str(log))
    (record,) = records(samples)
    assert facts.clock == "unix"
    assert record.time_from == "line"
    assert 0 <= WALL - record.t_ns < 366 * 86_400 * 10**9


def test_what_can_be_read_only_once_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "read only once" in refused(tmp_path, capsys, "--log", str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to import"),
        (["--log", "{tmp}"], "is a folder"),
        (["--log", "{tmp}/noise"], "binary file"),
        (["--log", "{tmp}/missing"], "can't read"),
        (["--threads", "{tmp}/missing"], "can't read"),
        (["--jsonl", "{tmp}/missing"], "can't read"),
        (["--log", "{tmp}/log", "--jsonl", "{tmp}/log"], "can't be joined"),
        (["--log", "{tmp}/log", "--arrivals", "a", "--arrivals", "b"], "2 --arrivals for 1 --log"),
        (["--log", "{tmp}/log", "--mark-pattern", "("], "--mark-pattern"),
        (["--log", "{tmp}/log", "--criteria", "{tmp}/missing"], "can't read"),
        (["--jsonl", "{tmp}/log"], "line 1"),
        (["--perf-stat", "{tmp}/log"], "is no time"),
        (["--perf-script", "{tmp}/log"], "no event"),
    ],
)
def test_mistakes_are_one_clear_line(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 8)
    assert message in refused(tmp_path, capsys, *(a.format(tmp=tmp_path) for a in arguments))


def test_an_existing_session_is_replaced_only_by_force(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, "--log", str(log))
    before = (tmp_path / "out").read_bytes()
    assert main(["import", "--log", str(log), "-o", str(tmp_path / "out")]) == 2
    assert "already exists; give --force" in capsys.readouterr().err
    assert (tmp_path / "out").read_bytes() == before
    assert main(["import", "--log", str(log), "-o", str(tmp_path / "out"), "--force"]) == 0


def test_force_replaces_sessions_only(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = log.read_bytes()
    assert main(["import", "--log", str(log), "-o", str(log), "--force"]) == 2
    assert "is no session; --force replaces sessions only" in capsys.readouterr().err
    assert log.read_bytes() == before


def test_force_leaves_a_running_recording_alone_and_clears_what_a_crash_left(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = tmp_path / "out"
    writer = SessionWriter(goal, SessionFacts())
    writer.append([Mark(1, 1, "precious")])
    assert main(["import", "--log", str(log), "-o", str(goal), "--force"]) == 2
    assert "is being recorded; stop its recorder first" in capsys.readouterr().err
    left = [(tmp_path / f"out{suffix}", (tmp_path / f"out{suffix}").read_bytes()) for suffix in ("", "-wal")]
    writer.close()
    for path, data in left:
        path.write_bytes(data)
    assert main(["import", "--log", str(log), "-o", str(goal), "--force"]) == 0
    _, samples = read(goal)
    assert len(records(samples)) == 5
    assert not [s for s in samples if isinstance(s, Mark)]


@pytest.mark.parametrize("value", ["nan", "inf", "1e300", "x"])
def test_a_perf_start_that_is_no_time_is_refused(log: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["import", "--perf-stat", str(log), "--perf-start", value, "-o", "x"])
    assert left.value.code == 2
    assert "--perf-start" in capsys.readouterr().err


def test_a_log_without_timing_says_what_was_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("starting up\nlistening on port 80\n")
    assert main(["import", "--log", str(tmp_path / "log"), "-o", str(tmp_path / "out")]) == 0
    (said, _) = capsys.readouterr().err.splitlines()
    assert "read 2 lines, no timing found" in said
    assert "listening on port 80" in said
    assert f"livemon parse --explain {tmp_path / 'log'}" in said


def test_an_export_comes_back_as_the_same_session(tmp_path: Path, log: Path) -> None:
    (tmp_path / "t").write_text(json.dumps(TICK) + "\n")
    facts, samples = imported(tmp_path, "--log", str(log), "--threads", str(tmp_path / "t"))
    assert main(["export", str(tmp_path / "out"), "--to", "jsonl", "-o", str(tmp_path / "lines")]) == 0
    assert main(["import", "--jsonl", str(tmp_path / "lines"), "-o", str(tmp_path / "again")]) == 0
    assert read(tmp_path / "again") == (facts, samples)
    # The export's thread lines are thread counters like any others.
    assert main(["import", "--threads", str(tmp_path / "lines"), "-o", str(tmp_path / "threads")]) == 0
    _, only = read(tmp_path / "threads")
    (tick,) = [s for s in only if isinstance(s, ThreadTick)]
    assert tick == next(s for s in samples if isinstance(s, ThreadTick))


PERF_STAT = """\
# started on Thu Oct  9 10:53:20 2025

     0.200243136,py 3-20239,4.16,msec,task-clock,4158762,100.00,0.021,CPUs utilized
     0.200243136,serve-20197,3.92,msec,task-clock,3918358,100.00,0.020,CPUs utilized
     0.200243136,py 3-20239,22,,context-switches,4158762,100.00,5.290,K/sec
     0.200243136,serve-20197,1000,,cpu_core/cycles/,3918358,100.00,,
     0.200243136,serve-20197,<not counted>,,cpu_atom/cycles/,0,0.00,,
     0.200243136,serve-20197,<not supported>,,cpu_core/instructions/,0,100.00,,
     0.200243136,serve-20197,77,,page-faults,0,100.00,,
     0.400661301,py 3-20239,4.41,msec,task-clock,4413552,100.00,0.022,CPUs utilized
     0.400661301,serve-20197,500,,cpu_core/cycles/,3918358,100.00,,
     0.400661301,serve-20197,70,,cpu_atom/cycles/,3918358,100.00,,
"""


def test_perf_stat_intervals_add_up_by_thread_and_class(tmp_path: Path) -> None:
    (tmp_path / "perf").write_text(PERF_STAT)
    facts, samples = imported(tmp_path, "--perf-stat", str(tmp_path / "perf"))
    assert facts.clock == "monotonic"
    infos = [s for s in samples if isinstance(s, ThreadInfo)]
    assert [(i.tid, i.name) for i in infos] == [(20239, "py 3"), (20197, "serve")]
    one, two = [s for s in samples if isinstance(s, ThreadTick)]
    assert (one.arrival_ns, two.arrival_ns) == (200_243_136, 400_661_301)
    assert list(one.cpu_ns) == [4_158_762, 3_918_358]
    assert list(two.cpu_ns) == [8_572_314, 3_918_358]
    assert list(one.slices) == [22, UNKNOWN]
    by_class = {c.core_class: c for c in two.classes}
    assert list(by_class["P"].cycles) == [UNKNOWN, 1500]
    assert list(by_class["E"].cycles) == [UNKNOWN, 70]
    assert list(by_class["P"].instructions) == [UNKNOWN, UNKNOWN]


def test_perf_stat_beside_a_log_needs_its_start(tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "perf").write_text(PERF_STAT)
    both = ["--log", str(log), "--perf-stat", str(tmp_path / "perf")]
    assert "give --perf-start" in refused(tmp_path, capsys, *both)
    _, samples = imported(tmp_path, *both, "--perf-start", "5000")
    assert next(s for s in samples if isinstance(s, ThreadTick)).arrival_ns == MONO + 200_243_136


PERF_SCRIPT = """\
           serve 42/43 [002]  100.000000:  10000000 cpu-clock:  ffff820 x+0x1 ([kernel])
           serve 42/43 [003]  100.010000:  10000000 cpu-clock:
                   7f28d95cca35 update_one_slot+0x115 (/usr/lib/libpython3.11.so)
           a b c   7 [000]  100.020000: sched:sched_stat_runtime: comm=a b c pid=7 runtime=1136586 [ns] vruntime=5
           swapper 0 [001]  100.030000: sched:sched_switch: prev_comm=x/1 prev_pid=0 p=R ==> next_comm=gpu q next_pid=9
           gpu q   9 [001]  100.150000: sched:sched_switch: gpu q:9 [120] S ==> swapper/1:0 [120]
           serve 42/43 [002]  100.160000:  3 page-faults:
"""


def test_perf_script_events_add_up_to_cpu_time(tmp_path: Path) -> None:
    (tmp_path / "perf").write_text(PERF_SCRIPT)
    _, samples = imported(tmp_path, "--perf-script", str(tmp_path / "perf"))
    infos = {i.index: i.name for i in samples if isinstance(i, ThreadInfo)}
    last = [s for s in samples if isinstance(s, ThreadTick)][-1]
    spent = {infos[index]: cpu_ns for index, cpu_ns in zip(last.index, last.cpu_ns, strict=True)}
    assert spent == {"serve": 20_000_000, "a b c": 1_136_586, "gpu q": 120_000_000}
    assert {infos[i]: cpu for i, cpu in zip(last.index, last.last_cpu, strict=True)} == {
        "serve": 3,
        "a b c": 0,
        "gpu q": 1,
    }
