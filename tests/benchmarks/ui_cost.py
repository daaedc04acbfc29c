"""What the screens cost on a real pseudo-terminal: CPU, bytes, key to paint, start to first paint.

    python tests/benchmarks/ui_cost.py [--seconds 6]

The session is scripted (``tests/ui/scripted.py``) and makes its synthetic frames in the feed's thread, at a
cost that a real session does not have; so the UI thread and the writer thread are what is reported, and the
feed's thread beside them. CPU is from /proc/PID/task/*/schedstat, as % of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
BYTECODE = str(Path(tempfile.gettempdir()) / "livemon-benchmark-bytecode")
MINIMAL = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("hello world")
Minimal().run()
"""


class Run:
    """A command on a pty; output is read and counted, never drawn."""

    def __init__(self, argv: list[str], width: int, height: int, *, folder: Path = ROOT, **env: str) -> None:
        self.start = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            os.chdir(folder)
            dropped = ("NO_COLOR", "COLUMNS", "LINES", "PYTHONDONTWRITEBYTECODE")
            settings = {k: v for k, v in os.environ.items() if k not in dropped}
            # As installed: a checkout that is compiled at each start takes a fifth longer to its first paint.
            settings["PYTHONPYCACHEPREFIX"] = BYTECODE
            settings |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
            settings["PYTHONPATH"] = str(folder)
            os.execve(argv[0], argv, settings | env)

    def read(self, seconds: float, words: bytes = b"") -> bytes:
        """Output of some time, or until ``words`` are in it."""
        end = time.perf_counter() + seconds
        out = b""
        while (left := end - time.perf_counter()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                try:
                    out += os.read(self.fd, 1 << 16)
                except OSError:
                    break
                if words and words in out:
                    break
        return out

    def threads(self) -> dict[str, float]:
        """CPU seconds so far: main, feed, other."""
        found = {"main": 0.0, "feed": 0.0, "other": 0.0}
        task = Path(f"/proc/{self.pid}/task")
        ids = sorted(int(entry.name) for entry in task.iterdir())
        for number in ids:
            cpu = int((task / str(number) / "schedstat").read_text().split()[0]) / 1e9
            # Threads start in this order: main, writer, input, feed.
            kind = "main" if number == self.pid else "feed" if number == ids[-1] else "other"
            found[kind] += cpu
        return found

    def memory_mb(self) -> float:
        """Resident set in MB."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def scripted(width: int, height: int, **env: str) -> Run:
    return Run([sys.executable, "-m", "tests.ui.run_scripted"], width, height, **env)


def steady(label: str, width: int, height: int, seconds: float, keys: bytes = b"", **env: str) -> None:
    """CPU and bytes while nothing is pressed."""
    run = scripted(width, height, **env)
    run.read(20, b"dispatch")
    run.read(1.5)
    if keys:
        os.write(run.fd, keys)
        run.read(1.0)
    before = run.threads()
    start = time.perf_counter()
    count = len(run.read(seconds))
    took = time.perf_counter() - start
    after = run.threads()
    share = {kind: (after[kind] - before[kind]) / took * 100 for kind in after}
    ours = share["main"] + share["other"]
    cpu = f"{ours:5.1f} % UI   {share['feed']:5.1f} % script"
    print(f"{label:<44} {cpu}   {count / took:7.0f} B/s   {run.memory_mb():4.0f} MB")
    run.close()


def key_to_paint(width: int, height: int, presses: int = 120) -> None:
    """From writing a key to the first byte of what it changed."""
    run = scripted(width, height, SCRIPTED_THREADS="40")
    run.read(20, b"dispatch")
    run.read(1.0)
    for name, keys in (("row", b"jk"), ("time", b"hl")):
        times = []
        for n in range(presses):
            while select.select([run.fd], [], [], 0.03)[0]:
                os.read(run.fd, 1 << 16)
            start = time.perf_counter()
            os.write(run.fd, keys[n % 2 : n % 2 + 1])
            if select.select([run.fd], [], [], 2)[0]:
                times.append((time.perf_counter() - start) * 1000)
        times.sort()
        p95 = times[int(len(times) * 0.95)]
        print(f"key to paint, {name:<30} P50 {statistics.median(times):5.1f} ms   P95 {p95:5.1f} ms   n {len(times)}")
    run.close()


def first_paint(rounds: int = 5) -> None:
    """Start of the process to the first words on the screen, beside a minimal Textual app, in turns."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(MINIMAL)
        script.flush()
        times: dict[str, list[float]] = {"minimal Textual app": [], "first paint": [], "first frame of a session": []}
        for _ in range(rounds):
            for name in times:
                if name == "first frame of a session":
                    run, words = scripted(120, 40), b"dispatch"
                elif name == "first paint":
                    run, words = scripted(120, 40, SCRIPTED_OPEN="9"), b" livemon"
                else:
                    run, words = Run([sys.executable, script.name], 120, 40), b"hello world"
                run.read(20, words)
                times[name].append(time.perf_counter() - run.start)
                run.close()
    minimal = min(times["minimal Textual app"])
    for name, values in times.items():
        seconds = f"least {min(values):.3f} s   median {statistics.median(values):.3f} s"
        print(f"{name:<44} {seconds}   {min(values) / minimal:.2f}x")


def command_paint(rounds: int = 7) -> None:
    """The real commands beside the minimal app, in pairs at 200x50: the median of the ratios is told."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "minimal.py"
        script.write_text(MINIMAL)
        session = Path(folder) / "small.livemon"
        demo = [sys.executable, "-m", "livemon", "demo", "--headless", "--duration", "8", "--record", str(session)]
        subprocess.run(demo, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        figures = {"replay": b"dispatch", "watch": b"CPU %", "demo": b"dispatch"}
        options = {
            "replay": [str(session)],
            "watch": ["--pid", str(os.getpid()), "--no-record"],
            "demo": ["--no-record"],
        }
        ratios: dict[str, list[tuple[float, ...]]] = {name: [] for name in figures}
        for number in range(rounds + 1):
            minimal = painted([sys.executable, str(script)], (b"hello world",))[0]
            for name, words in figures.items():
                argv = [sys.executable, "-m", "livemon", name, *options[name]]
                took = painted(argv, (b"waiting for the first", words))
                # The first round compiles what was not compiled yet.
                ratios[name] += [tuple(seconds / minimal for seconds in took)] if number else []
    for name, values in ratios.items():
        first, full = (statistics.median(column) for column in zip(*values, strict=True))
        print(f"{'livemon ' + name:<44} first paint {first:.2f}x   figures {full:.2f}x a minimal Textual app, median")


def painted(argv: list[str], words: Sequence[bytes]) -> tuple[float, ...]:
    """Seconds until each of some words is written, in this order."""
    run = Run(argv, 200, 50)
    took = []
    for wanted in words:
        run.read(20, wanted)
        took.append(time.perf_counter() - run.start)
    os.kill(run.pid, signal.SIGTERM)
    run.read(5)
    with contextlib.suppress(ProcessLookupError):
        run.close()
    return tuple(took)


def process_seconds(pid: int) -> float:
    """CPU seconds of all threads of a process so far."""
    task = Path(f"/proc/{pid}/task")
    return sum(int((entry / "schedstat").read_text().split()[0]) for entry in task.iterdir()) / 1e9


def beside_others(seconds: float) -> None:
    """A live session of the demo at 200x50, beside htop and btop in the same seconds: whole processes, and bytes.

    All of them redraw as they do by default (livemon 4 times a second, htop each 1.5 s, btop each 2 s).
    """
    argvs = {"livemon demo": [sys.executable, "-m", "livemon", "demo", "--no-record"]}
    argvs |= {name: [path] for name in ("htop", "btop") if (path := shutil.which(name))}
    runs = {name: Run(argv, 200, 50) for name, argv in argvs.items()}
    runs["paused"] = Run(argvs["livemon demo"], 200, 50)
    drain(runs, 12.0)
    os.write(runs["paused"].fd, b" ")
    drain(runs, 2.0)
    before = {name: process_seconds(run.pid) for name, run in runs.items()}
    start = time.perf_counter()
    count = drain(runs, seconds)
    took = time.perf_counter() - start
    used = {name: (process_seconds(run.pid) - before[name]) / took * 100 for name, run in runs.items()}
    least = used["livemon demo"]
    for name, run in runs.items():
        ratio = f"{used[name] / least:5.2f} of livemon's"
        cpu = f"{used[name]:5.1f} % whole process"
        print(f"{name + ', 200x50':<44} {cpu}   {ratio}   {count[name] / took:7.0f} B/s   {run.memory_mb():4.0f} MB")
    for name, run in runs.items():
        if name in ("livemon demo", "paused"):
            os.write(run.fd, b"q")  # it ends its demo and its recorder
            run.read(5.0)
        with contextlib.suppress(ProcessLookupError):
            run.close()


def drain(runs: dict[str, Run], seconds: float) -> dict[str, int]:
    """Read the output of several; returns the bytes of each."""
    by_fd = {run.fd: name for name, run in runs.items()}
    count = dict.fromkeys(runs, 0)
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        for fd in select.select(list(by_fd), [], [], left)[0]:
            count[by_fd[fd]] += len(os.read(fd, 1 << 16))
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0)
    seconds = parser.parse_args().seconds
    live = {"SCRIPTED_LIVE": "1"}
    steady("40 threads + 12 stages, 200x50, 4 redraws/s", 200, 50, seconds, SCRIPTED_THREADS="40", **live)
    steady("2,000 threads, 200x50, 4 redraws/s", 200, 50, seconds, SCRIPTED_THREADS="2000", **live)
    steady("40 threads, 200x50, paused", 200, 50, seconds, b" ", SCRIPTED_THREADS="40", **live)
    steady("40 threads, 200x50, finished session", 200, 50, seconds, SCRIPTED_THREADS="40")
    steady("10 threads, 80x24, 2 redraws/s", 80, 24, seconds, SCRIPTED_FPS="2", **live)
    steady("in an episode, 80x24, 2 redraws/s", 80, 24, seconds, SCRIPTED_FPS="2", SCRIPTED_END="168", **live)
    beside_others(2 * seconds)
    key_to_paint(200, 50)
    first_paint()
    command_paint()


if __name__ == "__main__":
    main()
