"""What opening a recording costs on a real pseudo-terminal: first frame, keys while it is judged, leaving, memory.

    python tests/benchmarks/opening_cost.py SESSION [--command attach] [--until-judged]

Beside it a minimal Textual app, in turns, as the measure of the machine at this moment.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import select
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.ui_cost import MINIMAL, Run


def open_session(command: str, session: str) -> Run:
    """``livemon replay SESSION`` on a pseudo-terminal."""
    return Run([sys.executable, "-m", "livemon", command, session], 140, 45)


def first_frames(command: str, session: str, rounds: int) -> None:
    """Process start to first words of a frame."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(MINIMAL)
        script.flush()
        times: dict[str, list[float]] = {"minimal Textual app": [], "first frame": []}
        for _ in range(rounds):
            for name, values in times.items():
                is_ours = name == "first frame"
                run = open_session(command, session) if is_ours else Run([sys.executable, script.name], 140, 45)
                # The table of stages is there with the first frame and not before.
                run.read(60, b"median" if is_ours else b"hello world")
                values.append(time.perf_counter() - run.start)
                run.close()
    base = statistics.median(times["minimal Textual app"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:<28} median {middle:.3f} s   {middle / base:.2f}x   +{middle - base:.3f} s")


def quiet(run: Run, seconds: float) -> None:
    """Read until nothing came for some time."""
    while select.select([run.fd], [], [], seconds)[0]:
        os.read(run.fd, 1 << 16)


def keys(command: str, session: str, presses: int) -> None:
    """Key to paint while the recording is judged, and how long leaving takes."""
    for name, sequence in (("row", b"jk"), ("time", b"hl"), ("page of time", b"HL")):
        run = open_session(command, session)
        run.read(60, b"median")
        run.read(0.5)
        times = []
        r = random.Random(1)
        for n in range(presses):
            run.read(r.uniform(0.05, 0.3))
            quiet(run, 0.02)
            start = time.perf_counter()
            os.write(run.fd, sequence[n % 2 : n % 2 + 1])
            if select.select([run.fd], [], [], 2)[0]:
                times.append((time.perf_counter() - start) * 1000)
        times.sort()
        p95 = times[int(len(times) * 0.95)]
        print(f"key to paint, {name:<14} P50 {statistics.median(times):5.1f} ms   P95 {p95:5.1f} ms   n {len(times)}")
        start = time.perf_counter()
        os.write(run.fd, b"q")
        with contextlib.suppress(OSError):
            while os.read(run.fd, 1 << 16):
                pass
        os.waitpid(run.pid, 0)
        print(f"  left in {time.perf_counter() - start:.2f} s")
        os.close(run.fd)


def until_judged(command: str, session: str) -> None:
    """From the start to the end of the judging; memory then."""
    run = open_session(command, session)
    last = time.perf_counter()
    os.set_blocking(run.fd, False)
    while time.perf_counter() - last < 3:
        if select.select([run.fd], [], [], 0.2)[0]:
            with contextlib.suppress(OSError):
                os.read(run.fd, 1 << 16)
            last = time.perf_counter()
    print(f"judged after {last - run.start:.1f} s   CPU {sum(run.threads().values()):.1f} s   {run.memory_mb():.0f} MB")
    os.kill(run.pid, signal.SIGKILL)
    os.waitpid(run.pid, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("session")
    parser.add_argument("--command", default="replay")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--presses", type=int, default=60)
    parser.add_argument("--until-judged", action="store_true")
    options = parser.parse_args()
    first_frames(options.command, options.session, options.rounds)
    if options.presses:
        keys(options.command, options.session, options.presses)
    if options.until_judged:
        until_judged(options.command, options.session)


if __name__ == "__main__":
    main()
