"""A real pseudo-terminal with a real terminal emulator (pyte) at its other end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pyte

from tests.on_terminal import start_on

ROOT = Path(__file__).parents[2]
_PRIVATE = re.compile(rb"\x1b\[[<>=][0-9;]*[a-z]|\x1b\[\?[0-9;]*\$p|\x1b\]52;[^\x07]*\x07")
_BEGUN = re.compile(rb"\x1b(\[[<>=?0-9;]*\$?|\][^\x07]*)?\Z")
"""A sequence whose rest comes with the next read."""


class Terminal:
    """Runs a command on a pty of a size and keeps what its screen shows."""

    def __init__(
        self,
        width: int = 100,
        height: int = 30,
        *,
        argv: list[str] | None = None,
        env: dict[str, str] | None = None,
        is_controlling: bool = True,
    ) -> None:
        self.screen = pyte.Screen(width, height)
        self.stream = pyte.ByteStream(self.screen)
        self.output = bytearray()
        self._begun = b""
        self.status: int | None = None
        settings = {
            key: value
            for key, value in os.environ.items()
            if key
            not in ("NO_COLOR", "COLORTERM", "COLUMNS", "LINES", "LC_ALL", "LC_CTYPE", "COLORFGBG", "TEXTUAL_DRIVER")
        }
        settings |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC"}
        settings["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        settings |= env or {}
        argv = argv or [sys.executable, "-m", "tests.ui.run_scripted"]
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.mode_before = termios.tcgetattr(slave)
        self._process = start_on(slave, argv, env=settings, cwd=ROOT, is_controlling=is_controlling)
        self.pid = self._process.pid
        self.fd = master
        self.slave = slave

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self.hang_up()

    def hang_up(self) -> None:
        """Close both ends here."""
        for fd in (self.fd, self.slave):
            if fd >= 0:
                os.close(fd)
        self.fd = self.slave = -1

    def read(self, seconds: float = 0.05) -> int:
        """Take in output for up to some time; returns how many bytes came."""
        end = time.monotonic() + seconds
        count = 0
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                break
            count += len(data)
            self.output += data
            data = self._begun + data
            begun = _BEGUN.search(data)
            whole = len(data) if begun is None else begun.start()
            self._begun = data[whole:]
            self.stream.feed(_PRIVATE.sub(b"", data[:whole]))
        return count

    def until(self, condition: Callable[[], object], seconds: float = 90.0) -> None:
        """Read until something holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("it never came true; the screen:\n" + self.text())
            if self.fd >= 0:
                self.read(0.02)
            else:
                time.sleep(0.02)
            self._reap()

    def wait_for(self, words: str) -> None:
        self.until(lambda: words in self.text())

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(height, width)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def _reap(self) -> None:
        self.status = self._process.poll()

    def ended(self, seconds: float = 90.0) -> int:
        """Wait for its end and take in the rest of its output; the exit code."""
        self.until(lambda: self.status is not None, seconds)
        self.read(0.2)
        assert self.status is not None
        return self.status

    def mode(self) -> list[object]:
        """The line discipline as it is now."""
        return termios.tcgetattr(self.slave)

    def modes_left_on(self) -> list[int]:
        """Private modes that were switched on and never off again."""
        state: dict[int, bool] = {}
        for numbers, what in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", bytes(self.output)):
            for number in numbers.split(b";"):
                state[int(number)] = what == b"h"
        # 7 (line wrap) and 25 (cursor) are on in a terminal at rest.
        return [number for number, is_on in state.items() if is_on != (number in (7, 25))]
