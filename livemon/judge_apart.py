"""A second process for a long session: it judges one half of it while this one judges the other.

The half is everything but the host detector: classes, oversized finalize, totals. Each process reads the
session for itself, and the halves put together are what one process would find, to the byte. It is run as
``python -m livemon.judge_apart``: path and criteria come in by stdin, the half goes out by stdout.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from livemon.judge_stretch import Stretch
from livemon.model.judgement import Judgement
from livemon.session.reader import SessionReader

LEAST_BYTES = 4 << 20
"""Size of a session from which a second process is worth its start (0.3 s)."""


def is_worth_it(reader: SessionReader) -> bool:
    """Whether the session is long, stays as it is while two read it, and there is a CPU to spare."""
    state = reader.recorder
    is_over = state.closed_reason is not None or state.is_alive is False
    return is_over and reader.size_bytes >= LEAST_BYTES and cpus() >= 2


def cpus() -> int:
    """CPUs that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class SecondProcess:
    """Judges a session's other half; ended with the ``with`` block, whatever happens in it.

    Args:
        path: The session.
        criteria_toml: Text of the criteria.
        stretch: Of which to tell; ``None``: of all of it.
    """

    def __init__(self, path: Path, criteria_toml: str, stretch: Stretch | None = None) -> None:
        root = str(Path(__file__).parent.parent)
        search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._order = pickle.dumps((str(path), criteria_toml, stretch))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "livemon.judge_apart"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": search},
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(self._order)
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it could not start: ``result`` says so

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def result(self) -> Judgement | None:
        """Its half, when it is done; ``None`` if it failed: then all is to be judged here."""
        assert self._process.stdout is not None
        data = self._process.stdout.read()
        if self._process.wait() != 0:
            return None
        half = pickle.loads(data)
        return half if isinstance(half, Judgement) else None


def main() -> None:
    """Read the order, judge, write the half."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    from livemon.judge import judge_reader

    path, criteria_toml, stretch = pickle.loads(sys.stdin.buffer.read())
    reader = SessionReader(path)
    half = judge_reader(reader, criteria_toml, stretch=stretch, kinds=("oversized_finalize",))
    reader.close()
    sys.stdout.buffer.write(pickle.dumps(half, pickle.HIGHEST_PROTOCOL))


if __name__ == "__main__":
    main()
