"""Starting the command that is to be watched, with its output in a file that is followed.

The command writes to a terminal of its own, so that it flushes each line as it would on a screen;
a tiny process copies that into the file. It does nothing else and ends with the command, so neither
a viewer nor a recorder that dies takes the command with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

from livemon.model.errors import UsageError

_COPY_BYTES = 64 << 10
_PR_SET_PDEATHSIG = 1
OUTPUT_BYTES = 64 << 20
"""The output file is renamed to ``NAME.1`` at this size and begun anew, so it never fills the disk."""
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that are passed on to the command."""


class Child:
    """The command while it runs; its parent is this process.

    Args:
        command: Program and arguments.
        output: The file that gets its standard output and error; made anew.
        dies_with_parent: Have the kernel end it when this process ends, however it ends (Linux).
        reads_stdin: It gets this process's standard input; else it finds nothing to read.

    Raises:
        UsageError: there is no such program, or it can't be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        dies_with_parent: bool = False,
        reads_stdin: bool = False,
    ) -> None:
        self.command = tuple(command)
        file = _open_output(output)
        ours, theirs = pty.openpty()
        _make_plain(theirs)
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=None if reads_stdin else subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
                preexec_fn=_death_signal(os.getpid()) if dies_with_parent else None,
            )
        except OSError as error:
            for fd in (ours, theirs, file):
                os.close(fd)
            output.unlink(missing_ok=True)
            raise _not_started(self.command[0], error) from error
        _start_copier(ours, file, output)
        for fd in (ours, theirs, file):
            os.close(fd)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait(self) -> int:
        """Wait for its end; returns the exit status, -N for signal N."""
        return self._process.wait()

    def poll(self) -> int | None:
        """Its exit status, ``None`` while it runs."""
        return self._process.poll()

    def send_signal(self, number: int) -> None:
        """Pass a signal on to it and what it started; nothing happens when it has ended."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def stop(self, patience_s: float = 5.0) -> int:
        """End it: SIGTERM, and SIGKILL to what is left of its group when it does not heed that."""
        self.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.send_signal(signal.SIGKILL)
            status = self._process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return status


def shell_status(status: int) -> int:
    """An exit status as shells have it: 128 + N for signal N."""
    return 128 - status if status < 0 else status


def _death_signal(parent_pid: int) -> Callable[[], None]:
    def ask_for_it() -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent_pid:  # it died in between
            os._exit(1)

    return ask_for_it


def _make_plain(fd: int) -> None:
    """Have the terminal hand bytes through as they are: no CR before LF, no echo; wide enough never to wrap."""
    attributes = termios.tcgetattr(fd)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
    with contextlib.suppress(OSError, AttributeError):
        termios.tcsetwinsize(fd, (50, 1000))


def _not_started(program: str, error: OSError) -> UsageError:
    if error.errno == errno.ENOENT:
        return UsageError(f"there is no program {program!r}", "check the spelling, or give its path")
    if error.errno in (errno.EACCES, errno.EPERM):
        return UsageError(f"{program!r} may not be executed", "is it a program? try: chmod +x")
    return UsageError(f"{program!r} can't be started: {error.strerror}")


def _open_output(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _start_copier(source: int, target: int, path: Path) -> None:
    """Copy from one descriptor to the other in a process of its own until the source ends.

    It is forked twice, so that nobody has to wait for it, and leaves the terminal's session, so
    that no key of the person's reaches it. It keeps nothing else of this process open: a pipe whose
    other end waits for this process to die must not be held by it.
    """
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        low, high = sorted((source, target))
        os.closerange(3, low)
        os.closerange(low + 1, high)
        os.closerange(high + 1, 1 << 20)
        _copy(source, target, path)
    finally:
        os._exit(0)


def _copy(source: int, target: int, path: Path) -> None:
    size = 0
    while True:
        try:
            data = os.read(source, _COPY_BYTES)
        except OSError:
            return  # EIO: the last writer closed the terminal
        if not data:
            return
        size += len(data)
        try:
            if not os.fstat(target).st_nlink:
                # Nobody can read it any more, and a daemon may write for ever: it is only kept from waiting.
                os.ftruncate(target, 0)
                continue
            while data:
                data = data[os.write(target, data) :]
            if size >= OUTPUT_BYTES:
                # Like logrotate: the follower reads the old one to its end, then the new one.
                path.rename(f"{path}.1")
                os.close(target)
                target, size = _open_output(path), 0
        except OSError:
            continue  # a full disk: the command must not wait for it
