"""What watching threads at 10 Hz costs: livemon beside a C loop, perf stat, top -H, htop and psutil.

    python tests/benchmarks/recorder_overhead.py [--threads 32 256 2000] [--seconds 5] [--spinners 2]

All of them watch the same program, whose threads run in 27 % of ticks, one after the other in one run;
CPU time is read from the kernel in ns. Figures are of one core; on a noisy machine the ratios count.
The recorder is measured as ``--headless`` runs it, and as it runs with a screen on it (logs are then read
twice a tick). Its ticks' lateness is printed beside it; with ``--spinners`` once more while that many busy
loops load the CPUs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from livemon.model.samples import Lost, ThreadTick
from livemon.session.reader import SessionReader

HERE = Path(__file__).parent
INTERVAL_MS = 100
SAMPLER = """
import sys, time
from livemon.collect.threads import SamplingOptions, open_sampler
sampler = open_sampler([int(sys.argv[1])], options=SamplingOptions(counters=False))
at = time.monotonic()
while True:
    sampler.sample(time.monotonic_ns())
    at += 0.1
    time.sleep(max(at - time.monotonic(), 0))
"""
PSUTIL = """
import sys, time, psutil
process = psutil.Process(int(sys.argv[1]))
at = time.monotonic()
while True:
    for thread in process.threads():
        if len(sys.argv) > 2:
            continue
        one = psutil.Process(thread.id)
        one.cpu_num(), one.num_ctx_switches()
    at += 0.1
    time.sleep(max(at - time.monotonic(), 0))
"""


def build(source: str, folder: Path) -> str:
    out = folder / source
    subprocess.run(["cc", "-O2", "-pthread", "-o", str(out), str(HERE / f"{source}.c")], check=True)
    return str(out)


@contextlib.contextmanager
def running(command: list[str], *, stdin: str | None = None, terminal: bool = False) -> Iterator[subprocess.Popen]:
    """A tool while it runs; htop only works on a terminal."""
    if terminal:
        pid, descriptor = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm-256color", LINES="50", COLUMNS="200")
            os.execvp(command[0], command)
        process = _Forked(pid, descriptor)
    else:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        )
        if stdin is not None:
            process.stdin.write(stdin)
            process.stdin.flush()
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


class _Forked:
    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid, self.descriptor = pid, descriptor
        os.set_blocking(descriptor, False)

    def drain(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(self.descriptor, 65536):
                pass

    def terminate(self) -> None:
        os.kill(self.pid, 9)

    def wait(self) -> None:
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)


def cpu_ns(pid: int) -> int:
    """CPU time of a process's threads, in ns."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text().split()[0])
    return total


def rss_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(process: object, seconds: float) -> tuple[float, float]:
    """Percent of a core over the time, after a second of settling in; and its memory in MB."""
    pause(process, 1.5)
    start, begun = cpu_ns(process.pid), time.monotonic()
    pause(process, seconds)
    used, elapsed = cpu_ns(process.pid) - start, time.monotonic() - begun
    return used / elapsed / 1e7, rss_mb(process.pid)


def pause(process: object, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)
        if isinstance(process, _Forked):
            process.drain()


def recorder(pid: int, folder: Path, log: Path, *, has_screen: bool = False) -> tuple[list[str], str]:
    """The whole recorder, tailing a log that grows beside it."""
    config = {
        "has_screen": has_screen,
        "session_path": str(folder / f"session-{time.monotonic_ns()}.livemon"),
        "pids": [pid],
        "logs": [{"path": str(log)}],
        "counters": False,
        "max_cpu_percent": 100.0,
    }
    return [sys.executable, "-P", "-m", "livemon.record"], json.dumps(config) + "\n"


@contextlib.contextmanager
def growing_log(path: Path) -> Iterator[None]:
    """A serving process's log: 20 timing lines a second."""
    code = (
        "import sys, time\nn = 0\nwith open(sys.argv[1], 'a', buffering=1) as f:\n"
        " while True:\n  n += 1\n"
        "  f.write(f'[c_api_timing] run={n} prepare=0.5ms runner_run=19.7ms validate=9.6ms total=30.3ms\\n')\n"
        "  time.sleep(0.05)\n"
    )
    path.touch()
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as writer:
        try:
            yield
        finally:
            writer.kill()


def tools(pid: int, folder: Path, loop: str) -> Iterator[tuple[str, Callable]]:
    yield "C loop", lambda: running([loop, str(pid), str(INTERVAL_MS)])
    yield "livemon, sampling", lambda: running([sys.executable, "-c", SAMPLER, str(pid)])
    for name, has_screen in (("livemon, whole recorder", False), ("livemon, with a screen", True)):
        command, config = recorder(pid, folder, folder / "serve.log", has_screen=has_screen)
        yield name, functools.partial(running, command, stdin=config)
    if shutil.which("perf"):
        events = "task-clock,context-switches,cpu-migrations"
        perf = ["perf", "stat", "-I", str(INTERVAL_MS), "--per-thread", "-e", events, "-p", str(pid), "-o", "/dev/null"]
        yield "perf stat --per-thread", lambda: running(perf)
    if shutil.which("top"):
        yield "top -H", lambda: running(["top", "-H", "-b", "-d", "0.1", "-p", str(pid)])
    if shutil.which("htop"):
        yield "htop", lambda: running(["htop", "-d", "1", "-p", str(pid)], terminal=True)
    yield "psutil, threads() alone", lambda: running([sys.executable, "-c", PSUTIL, str(pid), "alone"])
    yield "psutil, CPU and switches", lambda: running([sys.executable, "-c", PSUTIL, str(pid)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[32, 256, 2000])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", default="", help="tools whose name holds this, and the C loop")
    parser.add_argument("--spinners", type=int, default=0, help="busy loops beside a further run of the recorder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target, loop = build("watched_threads", folder), build("reading_loop", folder)
        for threads in options.threads:
            with subprocess.Popen([target, str(threads)], stdout=subprocess.PIPE, text=True) as process:
                try:
                    process.stdout.readline()
                    time.sleep(1.0)
                    print(
                        f"{threads} threads {'% of a core':>24} {'x C loop':>9} {'x recorder':>11} {'MB':>6}",
                        flush=True,
                    )
                    with growing_log(folder / "serve.log"):
                        report(list(tools(process.pid, folder, loop)), options)
                        print(f"  {lateness(folder)}", flush=True)
                        if options.spinners:
                            punctuality(process.pid, folder, options)
                finally:
                    process.kill()


def punctuality(pid: int, folder: Path, options: argparse.Namespace) -> None:
    """The recorder's ticks while busy loops load the CPUs."""
    spin = [sys.executable, "-c", "while True: pass"]
    command, config = recorder(pid, folder, folder / "serve.log")
    with contextlib.ExitStack() as stack:
        for _ in range(options.spinners):
            stack.enter_context(running(spin))
        with running(command, stdin=config) as process:
            percent, _ = measure(process, max(options.seconds, 20))
    print(f"  beside {options.spinners} busy loops: {percent:.2f} %, {lateness(folder)}", flush=True)


def lateness(folder: Path) -> str:
    """How late the ticks of the newest session came, and how many were missed."""
    newest = max(folder.glob("session-*.livemon"), key=lambda path: path.stat().st_mtime_ns)
    reader = SessionReader(newest)
    samples = reader.read_new()
    reader.close()
    late = sorted(sample.late_ns / 1e6 for sample in samples if isinstance(sample, ThreadTick))
    missed = sum(sample.count for sample in samples if isinstance(sample, Lost) and sample.unit == "ticks")
    p50, p99 = (late[min(int(len(late) * q), len(late) - 1)] for q in (0.5, 0.99))
    return f"{len(late)} ticks, late by P50 {p50:.1f} P99 {p99:.1f} max {late[-1]:.1f} ms, {missed} missed"


def report(watchers: list[tuple[str, Callable]], options: argparse.Namespace) -> None:
    base = own = None
    for name, start in watchers:
        if options.only not in name and name != "C loop":
            continue
        with start() as process:
            percent, memory_mb = measure(process, options.seconds)
        base = percent if name == "C loop" else base
        own = percent if "whole" in name else own
        beside = f"{percent / own:11.2f}" if own else " " * 11
        print(f"  {name:<26} {percent:10.2f} {percent / base:9.2f} {beside} {memory_mb:6.1f}", flush=True)


if __name__ == "__main__":
    main()
