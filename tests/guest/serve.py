"""A serving process for the guest: units of known work on a big CPU, for a while slower on a LITTLE one.

The guest's CPUs are all equally fast, so that a unit on the LITTLE CPU waits (WFI) between its instructions:
cycles go on, instructions do not. Prints a timing line a unit; ``serve.py QUICK SLOW QUICK FILE`` are numbers of
units, and the file in which livemon's ticks come: the emulator runs one CPU at a time, so that livemon's own start
would slow the first units, which is an episode too, but another one.
"""

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from exact_work import Spinner

PR_SET_NAME = 15
BIG, LITTLE = 0, 3
INSTRUCTIONS = 10_000_000
"""20 ms of guest time at full speed; a wait after each 500,000 of them adds up to 4 ms."""


def wait_until_recorded(path: Path) -> None:
    """Return once livemon has started and its ticks are being written."""
    while not (path.exists() and path.stat().st_size):
        time.sleep(0.05)


def serve(before: int, during: int, after: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"host-prepare", 0, 0, 0)
    spinner = Spinner()
    tid = threading.get_native_id()
    for run in range(before + during + after):
        is_slow = before <= run < before + during
        if run in (0, before, before + during):
            os.sched_setaffinity(tid, {LITTLE if is_slow else BIG})
        start = time.monotonic()
        spinner.spin(INSTRUCTIONS, wait_every=500_000 if is_slow else 0)
        prepared = time.monotonic()
        time.sleep(0.02)  # the device
        done = time.monotonic()
        times = f"prepare={(prepared - start) * 1e3:.2f}ms runner_run={(done - prepared) * 1e3:.2f}ms"
        print(f"[c_api_timing] run={run} {times} total={(done - start) * 1e3:.2f}ms", flush=True)


if __name__ == "__main__":
    wait_until_recorded(Path(sys.argv[4]))
    worker = threading.Thread(target=serve, args=[int(n) for n in sys.argv[1:4]], name="host-prepare")
    worker.start()
    worker.join()
