"""The demo serving process: real threads, whole lines, and no child left behind."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from livemon.demo.kernels import CYCLE, DECODE_LAYER, FINAL_RMS, LM_HEAD
from livemon.demo.work import CpuWork
from tests.watch.processes import children, is_running, wait_for

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
LINE = re.compile(r"\[(c_api_timing|req_timing)\] (?:run|id)= (\d+) [^\n]*total=[\d.]+")


@contextmanager
def demo(*arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-P", "-m", "livemon.demo", *arguments], stdout=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def thread_names(pid: int) -> set[str]:
    names = set()
    with suppress(OSError):  # one may end while they are read
        for path in Path(f"/proc/{pid}/task").iterdir():
            names.add((path / "comm").read_text().strip())
    return names


def test_it_ends_by_itself_and_prints_whole_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with demo("--duration", "0.2", log=log) as process:
        assert process.wait(90) == 0
    with demo(log=log) as process:
        wait_for(lambda: {"c_api_timing", "req_timing"} <= {found for found, _ in LINE.findall(log.read_text())})
        process.terminate()
        assert process.wait(90) == 0
    lines = log.read_text().splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    pairs = LINE.findall(log.read_text())
    for marker in ("c_api_timing", "req_timing"):
        seen = [int(number) for found, number in pairs if found == marker]
        assert seen
        assert seen == list(range(len(seen)))


@linux
def test_its_threads_are_named_in_the_kernel(tmp_path: Path) -> None:
    with demo(log=tmp_path / "log") as process:
        expected = {"dispatch", "tokenizer", "features", "gpu-worker", "client-short", "scenario"}
        wait_for(lambda: expected <= thread_names(process.pid))
        wait_for(lambda: {"decode", "neighbour"} <= {n for c in children(process.pid) for n in thread_names(c)})


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_its_children_end_with_it_however_it_ends(tmp_path: Path, number: int) -> None:
    with demo(log=tmp_path / "log") as process:
        parts = wait_for(lambda: found if len(found := children(process.pid)) == 2 else None)
        process.send_signal(number)
        process.wait(90)
        wait_for(lambda: not any(is_running(pid) for pid in parts))


@linux
def test_it_leaves_when_nobody_reads_its_output(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-P", "-m", "livemon.demo"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    try:
        wait_for(lambda: process.poll() is not None)
    finally:
        process.kill()
        process.wait()


@linux
def test_the_squeeze_confines_the_host_threads_and_lets_them_go_again(tmp_path: Path) -> None:
    """Run through the scenario's own thread, with a neighbour that does not burn."""
    from livemon.demo.neighbour import Episodes

    truth = tmp_path / "truth"
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    neighbour = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        allowed = os.sched_getaffinity(sleeper.pid)
        episodes = Episodes(neighbour, (sleeper.pid,), truth)
        seen = []

        def look(_seconds: float) -> None:
            seen.append(os.sched_getaffinity(sleeper.pid))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("livemon.demo.neighbour.time.sleep", look)
            assert episodes._squeeze(0.5)
        assert [len(cpus) for cpus in seen] == [1]
        assert os.sched_getaffinity(sleeper.pid) == allowed
        episode = json.loads(truth.read_text())
        assert episode["end_ns"] >= episode["start_ns"]
    finally:
        for process in (sleeper, neighbour):
            process.kill()
            process.wait()
        if neighbour.stdin:
            neighbour.stdin.close()


def test_kernels_have_the_published_figures() -> None:
    assert CYCLE == (LM_HEAD, DECODE_LAYER, FINAL_RMS)
    assert 14 <= DECODE_LAYER.validate_ms[0] < DECODE_LAYER.validate_ms[1] <= 20
    assert 82 <= FINAL_RMS.validate_ms[0] < FINAL_RMS.validate_ms[1] <= 91
    assert 48 <= LM_HEAD.validate_ms[0] < LM_HEAD.validate_ms[1] <= 56
    assert all(kernel.pooled_ms[1] < 5 for kernel in CYCLE)


def test_work_is_proportional(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    class Hash:
        @staticmethod
        def sha256(data: memoryview) -> None:
            hashed.append(len(data))

    work = CpuWork()
    monkeypatch.setattr("livemon.demo.work.hashlib", Hash)
    work.burn(1.0)
    one = sum(hashed)
    hashed.clear()
    work.burn(10.0)
    assert sum(hashed) == pytest.approx(10 * one, rel=0.01)
