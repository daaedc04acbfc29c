"""A real terminal for the tests: livemon on a pty of its own, drawn by pyte."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte

from tests.on_terminal import start_on
from tests.watch.processes import LIVEMON


class Terminal:
    """A process on a terminal."""

    def __init__(self, process: "subprocess.Popen[bytes]", fd: int, columns: int, lines: int) -> None:
        self._process = process
        self.pid = process.pid
        self.fd = fd
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def read(self, timeout_s: float) -> bool:
        """Draw what comes; false when nothing does or the other side is gone."""
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    def wait_for(self, text: str, timeout_s: float = 90.0) -> None:
        deadline = time.monotonic() + timeout_s
        while text not in self.text:
            assert time.monotonic() < deadline, f"no {text!r} on the screen:\n{self.text}"
            self.read(0.1)

    def press(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def wait(self, timeout_s: float = 90.0) -> int:
        """Exit status, as shells have it."""
        deadline = time.monotonic() + timeout_s
        while True:
            status = self._process.poll()
            if status is not None:
                while self.read(0.2):
                    pass
                return status
            assert time.monotonic() < deadline, f"it did not end:\n{self.text}"
            self.read(0.05)


@contextmanager
def terminal(
    *arguments: str, state: Path, columns: int = 100, lines: int = 30, stdin: int | None = None
) -> Iterator[Terminal]:
    """livemon as the foreground process of a new terminal; killed at the end if it still runs."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state), "TERM": "xterm-256color"}
    command = [*LIVEMON, *arguments]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = start_on(theirs, command, env=environment, stdin=stdin)
    screen = Terminal(process, ours, columns, lines)
    try:
        yield screen
    finally:
        os.close(ours)
        os.close(theirs)
        process.kill()
        process.wait()
