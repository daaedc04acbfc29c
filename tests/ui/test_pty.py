"""On a real terminal: what a headless pilot can't show."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.terminal_pty import ROOT, Terminal

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")


def assert_restored(terminal: Terminal) -> None:
    """Cursor shown, main screen, no mouse reports, line discipline as before."""
    assert terminal.modes_left_on() == []
    assert terminal.mode() == terminal.mode_before
    assert b"\x1b[<u" in terminal.output


def test_start_keys_and_quit_leave_the_terminal_as_it_was() -> None:
    with Terminal() as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.type("?")
        terminal.wait_for("this help")
        terminal.type("\x1b")
        # A key that comes with the escape would make another key of the two.
        terminal.until(lambda: "this help" not in terminal.text() and "THREADS 10" in terminal.text())
        terminal.type("0")
        terminal.wait_for("PAUSED behind by")
        terminal.type("q")
        assert terminal.ended() == 0
        assert_restored(terminal)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_signals_end_it_with_the_terminal_restored(number: int, code: int) -> None:
    with Terminal(env={"SCRIPTED_LIVE": "1"}) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.signal(number)
        assert terminal.ended() == code
        assert_restored(terminal)


def test_a_crash_is_one_line_and_a_file(tmp_path: Path) -> None:
    now = tmp_path / "now"
    with Terminal(width=200, env={"SCRIPTED_CRASH": str(now), "XDG_STATE_HOME": str(tmp_path)}) as terminal:
        terminal.wait_for("dispatch#4720")
        now.touch()
        assert terminal.ended() == 3
        assert_restored(terminal)
        shown = terminal.text()
        assert "the screens failed (RuntimeError: scripted failure); the recording is not affected" in shown
        assert "Traceback" not in shown
        [path] = (tmp_path / "livemon").glob("crash-*.txt")
        assert "scripted failure" in path.read_text()


@pytest.mark.parametrize("is_controlling", [True, False])
def test_a_terminal_that_goes_away_ends_it(is_controlling: bool) -> None:
    """With SIGHUP, and without it where the terminal is not the controlling one."""
    with Terminal(env={"SCRIPTED_LIVE": "1"}, is_controlling=is_controlling) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.hang_up()
        terminal.until(lambda: terminal.status is not None)


def test_a_resize_storm_ends_in_a_right_screen() -> None:
    """200 size changes in a second, 200x60 to 20x5 to 1x1, in a real terminal."""
    with Terminal(env={"SCRIPTED_LIVE": "1"}) as terminal:
        terminal.wait_for("dispatch#4720")
        sizes = ((200, 60), (20, 5), (1, 1), (80, 24))
        for n in range(200):
            terminal.resize(*sizes[n % 4])
            terminal.read(0.005)
        terminal.resize(120, 40)
        terminal.until(lambda: "dispatch#4720" in terminal.text() and "THREADS 10" in terminal.text())
        terminal.type("?")
        terminal.wait_for("this help")
        terminal.type("\x1b")
        terminal.until(lambda: "this help" not in terminal.text() and "THREADS 10" in terminal.text())
        terminal.until(lambda: terminal.text().startswith(" WARNING  finalize too long"))
        terminal.until(lambda: "? help" in terminal.text().split("\n")[39])
        assert len(terminal.text().split("\n")) == 40
        terminal.type("q")
        assert terminal.ended() == 0


INTERRUPTED = """
import fcntl, struct, sys, termios
from livemon.ui import terminal
plain = terminal.terminal_size
def interrupted():
    size = plain()
    if size == (90, 30):
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return size
terminal.terminal_size = interrupted
from tests.ui.run_scripted import main
sys.exit(main())
"""


def test_a_size_that_changes_while_the_one_before_is_taken_counts() -> None:
    with Terminal(argv=[sys.executable, "-c", INTERRUPTED]) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.resize(90, 30)
        terminal.screen.resize(40, 120)
        terminal.until(lambda: "? help" in terminal.text().split("\n")[39])
        terminal.type("q")
        assert terminal.ended() == 0


def test_a_told_size_gives_way_to_the_terminals_own() -> None:
    """COLUMNS and LINES from elsewhere (``docker exec -e COLUMNS``): no endless layout, keys are answered."""
    with Terminal(env={"SCRIPTED_LIVE": "1", "COLUMNS": "5", "LINES": "3"}) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.resize(120, 40)
        terminal.wait_for("dispatch#4720")
        terminal.type("q")
        assert terminal.ended() == 0


def test_stop_and_go_on() -> None:
    """Ctrl-Z gives the terminal back, fg takes it again."""
    with Terminal(env={"SCRIPTED_LIVE": "1"}) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.type("\x1a")
        terminal.until(lambda: Path(f"/proc/{terminal.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")
        terminal.read(0.1)
        assert terminal.modes_left_on() == []
        terminal.screen.reset()
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("dispatch#4720")
        terminal.type("q")
        assert terminal.ended() == 0
        assert_restored(terminal)


def colours(output: bytes) -> set[bytes]:
    """Colour parameters that were sent."""
    found: set[bytes] = set()
    for codes in re.findall(rb"\x1b\[([0-9;]*)m", output):
        found |= {
            code for code in codes.split(b";") if code in (b"38", b"48") or re.fullmatch(rb"(3|4|9|10)[0-7]", code)
        }
    return found


def test_no_color_sends_no_colour_and_still_tells_the_states() -> None:
    with Terminal(env={"NO_COLOR": "1"}) as terminal:
        for word in ("dispatch#4720", "CRITICAL", "OVER", "SLOW", "!dispatch"):
            terminal.wait_for(word)
        terminal.until(lambda: any(cell.reverse for cell in terminal.screen.buffer[0].values()))
        assert colours(bytes(terminal.output)) == set()


@pytest.mark.parametrize(
    "env",
    [{"SCRIPTED_ASCII": "1"}, {"TERM": "linux"}, {"LANG": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}],
)
def test_ascii_where_it_is_asked_for_or_all_there_is(env: dict[str, str]) -> None:
    with Terminal(env=env) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.type("w")
        terminal.wait_for("c_api_timing")
        assert terminal.output.isascii()


@pytest.mark.parametrize("term", ["linux", "screen", "tmux-256color", "vt100"])
def test_terminals_by_name(term: str) -> None:
    with Terminal(env={"TERM": term}) as terminal:
        terminal.wait_for("dispatch#4720")
        if term != "tmux-256color":
            assert not colours(bytes(terminal.output)) & {b"38", b"48"}
        terminal.type("q")
        assert terminal.ended() == 0


def test_a_dumb_terminal_is_refused_in_words() -> None:
    with Terminal(env={"TERM": "dumb"}) as terminal:
        assert terminal.ended() == 2
        assert "TERM=dumb" in terminal.text()
        assert "--headless" in terminal.text()
        assert b"\x1b[?1049h" not in terminal.output


def test_no_terminal_is_refused_in_words() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.ui.run_scripted"],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "livemon: there is no terminal to draw on; use --headless (for a recording: livemon report SESSION)\n"
    )
    assert done.stdout == ""


def test_keys_come_from_the_terminal_when_stdin_is_a_pipe() -> None:
    shell = f"echo data | {sys.executable} -m tests.ui.run_scripted 2>/dev/null"
    with Terminal(argv=["/bin/sh", "-c", shell]) as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.type("?")
        terminal.wait_for("this help")
        terminal.type("q")
        assert terminal.ended() == 0


def test_opening_shows_progress_and_q_cancels_it() -> None:
    with Terminal(env={"SCRIPTED_OPEN": "300"}) as terminal:
        terminal.wait_for("reading the session")
        terminal.type("q")
        assert terminal.ended() == 0
        assert_restored(terminal)


def test_a_quiet_screen_writes_nothing() -> None:
    with Terminal() as terminal:
        terminal.wait_for("dispatch#4720")
        terminal.until(lambda: terminal.read(1.0) == 0)
