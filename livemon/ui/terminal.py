"""The terminal: can we draw on it, with what signs and colours; a driver that never trusts redirections."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from livemon.model.errors import UsageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import FrameType

    from textual.driver import Driver

RESET = (
    "".join(f"\x1b[?{mode}l" for mode in (2026, 1000, 1002, 1003, 1006, 1015, 2004, 1004))
    + "\x1b[<u\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"
)
"""Takes back every mode that the screens switch on."""
NO_SCREENS = "use --headless (for a recording: livemon report SESSION)"
"""What works without a terminal."""


def check_terminal(environ: Mapping[str, str]) -> None:
    """Make sure that there is a terminal; keys and drawing then use it even if stdin or stderr are redirected.

    Raises:
        UsageError: there is none, or one that can't be drawn on.
    """
    if environ.get("TEXTUAL_DRIVER"):
        return
    if environ.get("TERM", "") in ("dumb", "unknown"):
        raise UsageError(
            f"the terminal can't draw screens (TERM={environ['TERM']})",
            f"{NO_SCREENS}, or set TERM to what it really is",
        )
    if os.isatty(0) and os.isatty(2):
        return
    try:
        tty = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        raise UsageError("there is no terminal to draw on", NO_SCREENS) from None
    # Keys are read from descriptor 0 and screens written to sys.__stderr__: the terminal takes their places.
    if not os.isatty(0):
        os.dup2(tty, 0)
    if not os.isatty(2):
        sys.__stderr__ = os.fdopen(tty, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]
    if sys.__stdin__ is None or sys.__stdin__.closed:
        sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)  # type: ignore[misc]


def terminal_size() -> tuple[int, int] | None:
    """Columns and lines of the terminal that is drawn on; ``None`` when it has no size."""
    for stream in (sys.__stderr__, sys.__stdin__, sys.__stdout__):
        if stream is None:
            continue
        with contextlib.suppress(OSError, ValueError):
            columns, lines = os.get_terminal_size(stream.fileno())
            if columns > 0 and lines > 0:
                return columns, lines
    return None


def forget_told_size(environ: MutableMapping[str, str]) -> None:
    """Drop COLUMNS and LINES where the terminal itself has a size: two sizes that differ are laid out for ever."""
    if terminal_size() is not None:
        for name in ("COLUMNS", "LINES"):
            environ.pop(name, None)


def wants_ascii(environ: Mapping[str, str]) -> bool:
    """Whether only ASCII can be relied on: the Linux console, or a locale that says so."""
    if environ.get("TERM") == "linux":
        return True
    language = environ.get("LC_ALL") or ""
    if not language:
        kind = environ.get("LC_CTYPE", "")
        # Python itself sets LC_CTYPE to C.UTF-8 when LANG names no locale it has: LANG then tells more.
        is_coerced = kind in ("C.UTF-8", "C.utf8", "UTF-8") and bool(environ.get("LANG"))
        language = environ.get("LANG", "") if is_coerced or not kind else kind
    if not language:
        return False
    return "utf" not in language.lower()


def theme_for(environ: Mapping[str, str], color_system: str | None) -> str:
    """The theme for ``auto``: NO_COLOR is monochrome, 16 colours are the terminal's own, else dark or light."""
    if environ.get("NO_COLOR") or color_system is None:
        return "mono"
    if color_system == "standard":
        return "ansi"
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"


def driver_class(environ: Mapping[str, str]) -> type[Driver] | None:
    """The driver for this platform; ``None`` leaves the choice to Textual (browser, Windows)."""
    if environ.get("TEXTUAL_DRIVER") or sys.platform == "win32":
        return None
    import asyncio

    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """Takes the size from the terminal itself, whatever stdout or COLUMNS say."""

        def _get_terminal_size(self) -> tuple[int, int]:
            return terminal_size() or super()._get_terminal_size()

        def start_application_mode(self) -> None:
            """Start; sizes are taken one after another.

            A signal handler can be interrupted by the next one: the older of two sizes would be told last, and stay.
            """
            super().start_application_mode()  # type: ignore[no-untyped-call]
            loop = asyncio.get_running_loop()
            take = signal.getsignal(signal.SIGWINCH)
            if not callable(take):
                return

            def resized(number: int, _frame: FrameType | None) -> None:
                loop.call_soon_threadsafe(take, number, None)

            signal.signal(signal.SIGWINCH, resized)

        def write(self, data: str) -> None:
            """Write; after the terminal is gone there is nothing to write to."""
            if self._writer_thread is not None and self._writer_thread.is_alive():
                super().write(data)

        def set_mouse(self, is_on: bool) -> None:
            """Switch mouse reports on or off while running."""
            self._mouse = True
            if is_on:
                self._enable_mouse_support()
            else:
                self._disable_mouse_support()
            self._mouse = is_on

    return TerminalDriver


def call_when_gone(loop: AbstractEventLoop, gone: Callable[[], None]) -> None:
    """Call ``gone`` once the terminal is hung up.

    A terminal that is not the controlling one sends no SIGHUP: reading it then gives nothing, at once and for ever.
    Where the kernel can't be asked for this alone (no epoll), nothing is watched.
    """
    try:
        from select import epoll

        watch = epoll()
        watch.register(0, 0)  # no events: a hang-up is told without being asked for
    except (ImportError, OSError):
        return

    def ready() -> None:
        loop.remove_reader(watch.fileno())
        watch.close()
        gone()

    loop.add_reader(watch.fileno(), ready)


def restore(settings: Any) -> None:
    """Bring the terminal back, whatever happened: modes off, cursor shown, line discipline as before."""
    with contextlib.suppress(OSError, ValueError):
        stream = sys.__stderr__
        if stream is not None and stream.isatty():
            stream.write(RESET)
            stream.flush()
    if settings is not None and sys.platform != "win32":
        import termios

        with contextlib.suppress(OSError, ValueError, termios.error):
            termios.tcsetattr(0, termios.TCSANOW, settings)


def saved_mode() -> Any:
    """The line discipline now, for ``restore``; ``None`` where there is none."""
    if sys.platform == "win32":
        return None
    import termios

    try:
        return termios.tcgetattr(0)
    except (OSError, ValueError, termios.error):
        return None
