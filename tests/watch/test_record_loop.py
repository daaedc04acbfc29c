"""The recorder in this process: what it tells of a session that can't be written, and of processes that come and go."""

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from livemon.collect.log_request import LogRequest
from livemon.collect.pressure import PressureSampler
from livemon.model.clock import ManualClock, SystemClock
from livemon.model.samples import Note, Sample, SelfSample, ThreadTick, TimingRecord
from livemon.record_logs import LogReader
from livemon.record_loop import Recorder
from livemon.recording_config import DEFAULT_MAX_CPU_PERCENT, RecordingConfig
from livemon.session.writer import SessionWriter
from tests.watch.processes import of_type, samples_of, wait_for

FORKS = """
import os, sys, time
print(os.getpid(), flush=True); sys.stdin.readline()
pid = os.fork()
if pid == 0:
    time.sleep(300)
print(pid, flush=True); sys.stdin.readline()
os.kill(pid, 9); os.waitpid(pid, 0); print("gone", flush=True); sys.stdin.readline()
"""


@pytest.fixture
def target() -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def ask(process: "subprocess.Popen[str]") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_page_faults_of_forked_processes_count_while_they_live(
    tmp_path: Path, target: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []
    for name in ("add_process", "remove_process"):
        method = getattr(PressureSampler, name)

        def tell(self: PressureSampler, pid: int, name: str = name, method: object = method) -> None:
            seen.append((name, pid))
            method(self, pid)  # type: ignore[operator]

        monkeypatch.setattr(PressureSampler, name, tell)
    recorder = Recorder(RecordingConfig(str(tmp_path / "s"), pids=(target.pid,), counters=False), clock=SystemClock())
    child = int(ask(target))
    wait_for(lambda: recorder.step() or ("add_process", child) in seen)
    ask(target)
    wait_for(lambda: recorder.step() or ("remove_process", child) in seen)
    recorder.close("test")


def test_a_session_that_can_no_longer_be_written_is_told_with_what_was_lost(
    tmp_path: Path, target: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(RecordingConfig(str(tmp_path / "s"), pids=(target.pid,), counters=False), clock=SystemClock())
    recorder.step()
    assert (recorder.trouble, recorder.loss) == ("", "")

    def refuse(self: SessionWriter, *_: object) -> bool:
        self.problem = "disk I/O error"
        return False

    monkeypatch.setattr(SessionWriter, "_insert", refuse)
    wait_for(lambda: recorder.step() or recorder.trouble == "disk I/O error")
    recorder.close("test")
    assert recorder.loss.startswith("disk I/O error: ")
    assert recorder.loss.endswith(" samples are not in it")
    assert of_type(samples_of(tmp_path / "s"), ThreadTick), "what was recorded before stays readable"


def test_a_recorder_over_its_budget_says_so_reads_less_and_recovers(
    tmp_path: Path, target: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    used_ns = 0
    monkeypatch.setattr("livemon.record_loop.time.process_time_ns", lambda: used_ns)
    clock = ManualClock()
    recorder = Recorder(RecordingConfig(str(tmp_path / "s"), pids=(target.pid,), counters=False), clock=clock)

    def run(seconds: int, percent: float) -> None:
        nonlocal used_ns
        for _ in range(10 * seconds):
            clock.sleep(0.1)
            used_ns += round(percent * 1_000_000)
            recorder.step()

    run(15, 0.5)
    run(7, 8.0)
    run(60, 0.5)
    recorder.close("test")
    samples = samples_of(tmp_path / "s")
    told = [note for note in of_type(samples, Note) if "CPU budget" in note.text or "of a core" in note.text]
    assert [note.severity for note in told] == ["warning", "info"]
    assert "reading every 200 ms instead of every 100 ms" in told[0].text
    assert told[0].remedy == "--max-cpu PERCENT allows more"
    intervals = [own.interval_ns // 1_000_000 for own in of_type(samples, SelfSample)]
    assert [a for a, b in itertools.pairwise([*intervals, 0]) if a != b] == [100, 200, 100]
    assert [bool(own.degraded) for own in of_type(samples, SelfSample)] == [ms == 200 for ms in intervals]
    ticks = [tick.arrival_ns for tick in of_type(samples, ThreadTick)]
    gaps = [round((b - a) / 1e8) for a, b in itertools.pairwise(ticks[1:-1])]
    assert [a for a, b in itertools.pairwise([*gaps, 0]) if a != b] == [1, 2, 1]


def test_lines_written_after_the_start_are_read_and_those_before_are_not(tmp_path: Path) -> None:
    log = tmp_path / "log"
    line = "[c_api_timing] run={}  prepare_ctx=0.5  runner_run=19.0  total=21.0\n"
    log.write_text(line.format(1))
    recorder = Recorder(RecordingConfig(str(tmp_path / "s"), logs=(LogRequest(str(log)),)), clock=SystemClock())
    with log.open("a") as file:
        file.write(line.format(2))
    wait_for(lambda: recorder.step() or of_type(samples_of(tmp_path / "s"), TimingRecord))
    recorder.close("test")
    assert [record.unit for record in of_type(samples_of(tmp_path / "s"), TimingRecord)] == ["2"]


def test_the_budget_is_five_percent_of_a_core() -> None:
    assert RecordingConfig("s").max_cpu_percent == DEFAULT_MAX_CPU_PERCENT == 5.0


def test_what_reading_logs_costs_is_never_blamed_on_sampling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of the first of many lines: bursts between quiet looks would make livemon sample less."""
    log = tmp_path / "serve.log"
    log.touch()
    config = RecordingConfig(str(tmp_path / "s"), logs=(LogRequest(str(log), from_start=True),))
    recorder = Recorder(config, clock=SystemClock())
    burst = "".join(f"[c_api_timing] run={n} prepare=0.5ms total=30.3ms\n" for n in range(5000))
    spent = 0
    poll = LogReader.poll

    def counted(reader: LogReader) -> list[Sample]:
        nonlocal spent
        before_ns = time.thread_time_ns()
        samples = poll(reader)
        spent += time.thread_time_ns() - before_ns if samples else 0
        return samples

    monkeypatch.setattr(LogReader, "poll", counted)
    recorder.step()
    log.write_text(burst)
    wait_for(lambda: recorder.step() or spent)
    assert recorder._logs_cpu_ns >= spent > 0
    recorder.close("test")
