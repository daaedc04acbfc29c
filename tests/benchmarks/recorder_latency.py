"""How long a line takes from its writing to the session and to the screen; what the recorder costs meanwhile.

Runs livemon on a log that grows and prints percentiles. Not a test: figures depend on the machine.

    python tests/benchmarks/recorder_latency.py [LINES]
"""

import fcntl
import os
import pty
import random
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte

from livemon.model.samples import SelfSample, TimingRecord
from livemon.session.reader import SessionReader

LIVEMON = [sys.executable, "-P", "-m", "livemon"]


def percentiles(values: list[float]) -> str:
    ordered = sorted(values)
    picked = [ordered[min(int(len(ordered) * q), len(ordered) - 1)] * 1e3 for q in (0.5, 0.9, 0.95, 0.99)]
    return "  ".join(f"P{name} {value:6.1f} ms" for name, value in zip((50, 90, 95, 99), picked, strict=True))


def start(log: Path, session: Path, *options: str, **pipes: object) -> "subprocess.Popen[bytes]":
    command = [*LIVEMON, "watch", "--log", str(log), "--pid", str(os.getpid()), "--record", str(session), *options]
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload, no-any-return]


def line(number: int) -> bytes:
    return b"[c_api_timing] run= %d  prepare_ctx=0.5  runner_run=19.0  validate=1.0  total=21.0\n" % number


def to_session(folder: Path, lines: int) -> None:
    """Writing to being readable in the session file."""
    log, session = folder / "a.log", folder / "a.livemon"
    log.touch()
    process = start(log, session, "--headless", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not session.exists() or not session.stat().st_size:
            time.sleep(0.05)
        time.sleep(1.0)
        reader = SessionReader(session)
        written: dict[str, float] = {}
        took: list[float] = []
        selfs: list[SelfSample] = []
        with log.open("ab", buffering=0) as file:
            for number in range(lines):
                file.write(line(number))
                written[str(number)] = time.monotonic()
                deadline = time.monotonic() + 0.05 + random.random() * 0.1
                while time.monotonic() < deadline:
                    for sample in reader.read_new():
                        if isinstance(sample, TimingRecord) and sample.unit in written:
                            took.append(time.monotonic() - written.pop(sample.unit))
                        elif isinstance(sample, SelfSample):
                            selfs.append(sample)
                    time.sleep(0.001)
        print(f"line written -> in the session   {percentiles(took)}   ({len(took)} of {lines} lines)")
        spent = (selfs[-1].cpu_ns - selfs[0].cpu_ns) / (selfs[-1].arrival_ns - selfs[0].arrival_ns)
        print(f"recorder meanwhile               {spent * 100:.2f} % of a core, {selfs[-1].late_ticks} late ticks")
        reader.close()
    finally:
        process.terminate()
        process.wait()


def to_screen(folder: Path, lines: int) -> None:
    """Writing to being drawn on the log screen of the terminal interface."""
    log, session = folder / "b.log", folder / "b.livemon"
    log.touch()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = start(log, session, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True)
    os.close(theirs)
    screen = pyte.Screen(120, 40)
    stream = pyte.ByteStream(screen)

    def shows(text: str, timeout_s: float) -> bool:
        """Draw what comes until the text is on the screen."""
        deadline = time.monotonic() + timeout_s
        while not any(text in row for row in screen.display):
            left = deadline - time.monotonic()
            if left <= 0 or process.poll() is not None:
                return False
            if select.select([ours], [], [], left)[0]:
                stream.feed(os.read(ours, 65536))
        return True

    try:
        with log.open("ab", buffering=0) as file:
            assert shows("LIVE", 20), "\n".join(screen.display)
            file.write(line(99_999))
            os.write(ours, b"w")
            assert shows("99999", 10), "\n".join(screen.display)
            shows("never", 0.5)
            took: list[float] = []
            for number in range(lines):
                unit = 100_000 + number
                file.write(line(unit))
                written = time.monotonic()
                if shows(str(unit), 2.0):
                    took.append(time.monotonic() - written)
                shows("never", 0.2 + random.random() * 0.4)
        print(f"line written -> on the screen    {percentiles(took)}   ({len(took)} of {lines} lines)")
    finally:
        process.terminate()
        process.wait()
        os.close(ours)


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as name:
        to_session(Path(name), lines)
        to_screen(Path(name), lines)


if __name__ == "__main__":
    main()
