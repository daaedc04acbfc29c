"""The whole recorder under strace: on the target there are only reads, and writes go into the session alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from livemon.collect.log_request import LogRequest
from livemon.model.samples import MachineSample, ThreadTick, TimingRecord
from livemon.recording_config import RecordingConfig
from tests.watch.processes import TARGET, of_type, samples_of

TOUCHING = {
    "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "pidfd_getfd", "ptrace",
    "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "prlimit64",
    "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "setpriority", "ioprio_set",
    "move_pages", "migrate_pages",
}  # fmt: skip
"""Calls that do something to another process, or to its threads."""
OPENING = re.compile(r'^(?:open|openat|creat)\((?:[^,"]*, )?"((?:[^"\\]|\\.)*)", ([A-Z_|0-9]+)')


def calls_of(trace: Path) -> list[str]:
    """The calls that were made, without the process numbers before and the unfinished ones' second halves."""
    lines = [line.partition(" ")[2].strip() for line in trace.read_text().splitlines()]
    return [line for line in lines if re.match(r"\w+\(", line)]


def test_the_recorder_only_reads_from_the_target(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    log = tmp_path / "serve.log"
    with log.open("w") as out:
        target = subprocess.Popen([sys.executable, "-c", TARGET, str(tmp_path / "stop"), "0"], stdout=out)
    try:
        config = RecordingConfig(str(folder / "s"), pids=(target.pid,), logs=(LogRequest(str(log)),), duration_s=3.0)
        (tmp_path / "config.json").write_text(config.to_json())
        recorder = [sys.executable, "-P", "-m", "livemon.record", str(tmp_path / "config.json")]
        command = ["strace", "-f", "-q", "-o", str(tmp_path / "trace"), *recorder]
        try:
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        except FileNotFoundError:
            pytest.skip("no strace here")
        if "ptrace" in done.stderr or "PTRACE" in done.stderr:
            pytest.skip(f"strace does not work here: {done.stderr[:200]}")
        assert done.returncode == 0, done.stderr
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()
    samples = samples_of(folder / "s")
    assert of_type(samples, ThreadTick)
    assert of_type(samples, MachineSample)
    assert of_type(samples, TimingRecord)
    calls = calls_of(tmp_path / "trace")
    names = {call.partition("(")[0] for call in calls}
    assert {"openat", "pread64"} <= names
    touching = [call for call in calls if call.partition("(")[0] in TOUCHING]
    assert [call for call in touching if not re.match(r"\w+\(0,", call)] == []  # 0 is the recorder itself
    opened = [found.groups() for call in calls if (found := OPENING.match(call))]
    written = {path for path, flags in opened if re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", flags)}
    assert written
    assert [path for path in written if not path.startswith((str(folder), "/dev/"))] == []
