"""``python -m livemon.demo``: a serving process that misbehaves on purpose, to have something to watch.

It prints timing lines and nothing else. Its parts are processes of their own: this one serves the
short requests, ``kernels`` runs the decode loop, ``neighbour`` is the trouble. They end with this
one whatever happens to it: the kernel kills them (``PR_SET_PDEATHSIG``), and each leaves when the
pipe from here closes.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from livemon.demo import SCENARIOS
from livemon.demo.kernels import run_kernels
from livemon.demo.neighbour import FIRST_S, Episodes, run_neighbour
from livemon.demo.osthread import die_with, leave_when_closed, name_this_thread
from livemon.demo.requests import RequestStream
from livemon.demo.work import CpuWork


def main(argv: Sequence[str] | None = None) -> int:
    """Run the serving process, or one of its parts."""
    options = _parser().parse_args(argv)
    if options.parent is not None:
        die_with(options.parent)
    if options.part == "kernels":
        leave_when_closed(0)
        name_this_thread("decode")
        run_kernels(CpuWork(), is_oversized=options.scenario != "transient")
    elif options.part == "neighbour":
        name_this_thread("neighbour")
        run_neighbour(os.dup(0))
    else:
        _serve(options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m livemon.demo", description="A serving process to watch.")
    parser.add_argument("--scenario", choices=SCENARIOS, default="both", help="what goes wrong (default: both)")
    parser.add_argument("--duration", type=float, metavar="S", help="end after S seconds (default: never)")
    parser.add_argument("--truth", type=Path, metavar="FILE", help="write when each episode really was, for tests")
    parser.add_argument("--first", type=float, default=FIRST_S, help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=("serve", "kernels", "neighbour"), default="serve", help=argparse.SUPPRESS)
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    return parser


def _serve(options: argparse.Namespace) -> None:
    name_this_thread("serve")
    parts: list[subprocess.Popen[bytes]] = []

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        kernels = _start_part("kernels", options.scenario)
        parts.append(kernels)
        RequestStream(CpuWork()).start()
        if options.scenario != "finalize":
            neighbour = _start_part("neighbour", options.scenario)
            parts.append(neighbour)
            Episodes(neighbour, (os.getpid(),), options.truth, first_s=options.first).start()
        _wait(options.duration, kernels)
    finally:
        for part in parts:
            part.kill()


def _start_part(part: str, scenario: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "livemon.demo", "--part", part, "--scenario", scenario]
    root = str(Path(__file__).parent.parent.parent)
    search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [*command, "--parent", str(os.getpid())], stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": search}
    )


def _wait(duration_s: float | None, kernels: subprocess.Popen[bytes]) -> None:
    """Return when the time is up or the decode loop ended."""
    deadline = None if duration_s is None else time.monotonic() + duration_s
    while deadline is None or time.monotonic() < deadline:
        left = 1.0 if deadline is None else min(1.0, max(deadline - time.monotonic(), 0.0))
        try:
            kernels.wait(left)
        except subprocess.TimeoutExpired:
            continue
        return


if __name__ == "__main__":
    sys.exit(main())
