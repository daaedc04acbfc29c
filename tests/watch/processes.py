"""Real processes for the tests: a target, livemon itself, waiting for conditions."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from livemon.model.errors import SessionError
from livemon.model.samples import Sample
from livemon.session.reader import SessionReader

LIVEMON = [sys.executable, "-P", "-m", "livemon"]

TARGET = """
import os, signal, sys, threading, time
def work(name):
    while True:
        sum(range(2000)); time.sleep(0.005)
threading.Thread(target=work, args=("x",), daemon=True).start()
n = 0
start = time.monotonic()
while not os.path.exists(sys.argv[1]) and time.monotonic() - start < 300:
    print(f"[c_api_timing] run= {n}  prepare_ctx=0.50  runner_run=19.00  validate=1.00  total=21.00", flush=True)
    n += 1
    time.sleep(0.02)
sys.exit(int(sys.argv[2]))
"""
"""Prints a timing line every 20 ms until the file of its first argument exists, then exits with the second."""


def wait_for(condition: Callable[[], Any], timeout_s: float = 90.0) -> Any:
    """The condition's value as soon as it is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.01)
    return value


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def samples_of(path: Path | str) -> list[Sample]:
    """What is in a session so far; nothing while it is being made."""
    try:
        reader = SessionReader(path)
    except SessionError:
        return []
    try:
        return reader.read_new()
    finally:
        reader.close()


def of_type(samples: list[Sample], kind: type) -> list[Any]:
    return [sample for sample in samples if isinstance(sample, kind)]


@contextmanager
def livemon(*arguments: str, state: Path, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """livemon with its own state folder; killed at the end if it still runs."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    process = subprocess.Popen([*LIVEMON, *arguments], text=True, env=environment, **pipes)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def run_livemon(*arguments: str, state: Path, **options: Any) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    with livemon(*arguments, state=state, **options) as process:
        out, err = process.communicate(timeout=90)
        return process.returncode, out or "", err or ""
