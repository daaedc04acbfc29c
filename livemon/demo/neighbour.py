"""The demo's trouble: host threads squeezed onto one CPU beside a busy neighbour, for a few seconds.

Nothing is simulated: the neighbour is a process of its own whose threads hash without pause, the
host threads are confined to the same CPU with ``sched_setaffinity``, and so they wait in its run
queue. Where the system has no affinity (macOS) the neighbour takes every CPU instead.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path

from livemon.demo.osthread import allowed_cpus, confine, name_this_thread, thread_name, threads_of
from livemon.demo.work import CpuWork

HOGS = 6
"""Threads of the neighbour on the squeezed CPU."""
FIRST_S = 10.0
EVERY_S = 15.0
LENGTHS_S = (2.0, 3.0, 1.2, 4.0)
"""Episode lengths, in turn."""
SPARED = frozenset({"scenario", "gpu-worker", "watchdog"})
"""Threads that are not squeezed: the device's completion is not host work."""


def run_neighbour(commands_fd: int) -> None:
    """Serve ``SECONDS CPU`` lines from ``commands_fd`` until it is closed: burn that CPU for so long."""
    work = CpuWork()
    with os.fdopen(commands_fd) as commands:
        for line in commands:
            seconds, cpu = line.split()
            deadline = time.monotonic() + float(seconds)
            count = HOGS
            if int(cpu) >= 0:
                confine((0,), (int(cpu),))
            else:
                count = HOGS * (os.cpu_count() or 1)
            hogs = [threading.Thread(target=_burn_until, args=(work, deadline), daemon=True) for _ in range(count)]
            for hog in hogs:
                hog.start()
            for hog in hogs:
                hog.join()
    os._exit(0)


def _burn_until(work: CpuWork, deadline: float) -> None:
    name_this_thread("compactor")
    while time.monotonic() < deadline:
        work.burn(10.0)


class Episodes:
    """Starts an episode every so often, in a thread of its own.

    Args:
        neighbour: The neighbour process; commands go to its standard input.
        host_pids: Processes whose threads are squeezed.
        truth: Where each episode is written as one JSON line (times on ``CLOCK_MONOTONIC``), for tests;
            the log never says.
        first_s: Seconds until the first episode.
    """

    def __init__(
        self,
        neighbour: subprocess.Popen[bytes],
        host_pids: tuple[int, ...],
        truth: Path | None,
        *,
        first_s: float = FIRST_S,
    ) -> None:
        self._first_s = first_s
        self._neighbour = neighbour
        self._host_pids = host_pids
        self._truth = truth

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="scenario", daemon=True).start()

    def _run(self) -> None:
        name_this_thread("scenario")
        due = time.monotonic() + self._first_s
        number = 0
        while True:
            time.sleep(max(due - time.monotonic(), 0.0))
            if not self._squeeze(LENGTHS_S[number % len(LENGTHS_S)]):
                return
            number += 1
            due += EVERY_S

    def _squeeze(self, seconds: float) -> bool:
        """One episode; false when the neighbour is gone."""
        cpus = allowed_cpus()
        cpu = cpus[-1] if cpus else -1
        start_ns = time.monotonic_ns()
        commands = self._neighbour.stdin
        try:
            if commands is None:
                return False
            commands.write(f"{seconds} {cpu}\n".encode())
            commands.flush()
        except OSError:
            return False
        squeezed = self._host_threads() if cpus else ()
        confine(squeezed, (cpu,))
        try:
            time.sleep(seconds)
        finally:
            confine(squeezed, cpus)
        if self._truth is not None:
            episode = {"start_ns": start_ns, "end_ns": time.monotonic_ns(), "cpu": cpu}
            with self._truth.open("a") as file:
                file.write(json.dumps(episode) + "\n")
        return True

    def _host_threads(self) -> tuple[int, ...]:
        return tuple(tid for pid in self._host_pids for tid in threads_of(pid) if thread_name(pid, tid) not in SPARED)
