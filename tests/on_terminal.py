"""Starting a program on a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SHELL = 'tty=$1; shift; exec "$@" 1<>"$tty" 2>&1'
SHELL_WITH_STDIN = 'tty=$1; shift; exec "$@" <>"$tty" 1>&0 2>&1'


def start_on(
    terminal: int,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: int | None = None,
    is_controlling: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with a terminal's descriptor for its three streams.

    Nothing of this process runs in the child: it may have threads, and a copy of their locks would stay locked.
    A shell opens the terminal in its stead; the leader of a session gets it as its controlling one by that.
    """
    if is_controlling:
        shell = SHELL_WITH_STDIN if stdin is None else SHELL
        argv = ["sh", "-c", shell, "sh", os.ttyname(terminal), *argv]
        return subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, start_new_session=True)
    return subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    )
