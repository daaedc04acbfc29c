"""The live screens on a real terminal: keys, pipes, leaving, dying."""

import os
import signal
import sys
from pathlib import Path

import pytest

from livemon.model.samples import Note, TargetEvent, ThreadTick, TimingRecord
from tests.watch.processes import TARGET, children, is_running, of_type, samples_of, wait_for
from tests.watch.terminal import terminal

LINE = b"[c_api_timing] run= %d  prepare_ctx=0.50  runner_run=19.00  validate=1.00  total=21.00\n"


def test_a_pipe_on_standard_input_leaves_the_keys_to_the_terminal(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    read, write = os.pipe()
    with terminal("watch", "-", "--record", str(session), state=tmp_path, stdin=read) as screen:
        os.close(read)
        screen.wait_for("LIVE")
        os.write(write, b"".join(LINE % n for n in range(20)))
        screen.wait_for("validate")
        screen.press(b"q")
        assert screen.wait() == 0
    os.close(write)
    assert len(of_type(samples_of(session), TimingRecord)) == 20


def test_leaving_the_screens_of_run_leaves_the_command_running(tmp_path: Path) -> None:
    stop, session = tmp_path / "stop", tmp_path / "s.livemon"
    command = ["--", sys.executable, "-c", TARGET, str(stop), "5"]
    with terminal("run", "--record", str(session), *command, state=tmp_path) as screen:
        screen.wait_for("validate")
        screen.press(b"q")
        screen.wait_for("goes on and is recorded")
        before = len(of_type(samples_of(session), TimingRecord))
        wait_for(lambda: len(of_type(samples_of(session), TimingRecord)) > before)
        stop.touch()
        assert screen.wait() == 5
    ends = [e.exit_status for e in of_type(samples_of(session), TargetEvent) if e.event == "exited"]
    assert ends == [5]


def test_a_command_that_ends_is_a_state_on_the_screen(tmp_path: Path) -> None:
    stop, session = tmp_path / "stop", tmp_path / "s.livemon"
    command = ["--", sys.executable, "-c", TARGET, str(stop), "3"]
    with terminal("run", "--record", str(session), *command, state=tmp_path) as screen:
        screen.wait_for("validate")
        stop.touch()
        screen.wait_for("exited with 3")
        screen.press(b"q")
        assert screen.wait() == 3


def test_a_tiny_terminal_is_told_and_left_with_q(tmp_path: Path) -> None:
    with terminal("demo", "--no-record", state=tmp_path, columns=20, lines=5) as screen:
        screen.wait_for("small")
        screen.press(b"q")
        assert screen.wait() == 0
    assert not list(tmp_path.rglob("*.livemon"))


@pytest.mark.parametrize("options", [(), ("--keep",)])
def test_a_killed_viewer_does_not_end_the_recording(tmp_path: Path, options: tuple[str, ...]) -> None:
    session = tmp_path / "s.livemon"
    with terminal("watch", *options, "--pid", str(os.getpid()), "--record", str(session), state=tmp_path) as screen:
        screen.wait_for("LIVE")
        recorder = children(screen.pid)[0]
        os.kill(screen.pid, signal.SIGKILL)
        wait_for(lambda: not is_running(screen.pid))
        before = len(of_type(samples_of(session), ThreadTick))
        wait_for(lambda: len(of_type(samples_of(session), ThreadTick)) > before + 2)
        os.kill(recorder, signal.SIGTERM)
        wait_for(lambda: not is_running(recorder))
    vanished = [note.text for note in of_type(samples_of(session), Note) if "the viewer vanished at" in note.text]
    assert len(vanished) == (0 if options else 1)


def test_hanging_up_ends_it_and_the_demo(tmp_path: Path) -> None:
    with terminal("demo", state=tmp_path) as screen:
        screen.wait_for("LIVE")
        family = children(screen.pid)
        family += [grandchild for child in family for grandchild in children(child)]
        assert len(family) >= 4
        os.kill(screen.pid, signal.SIGHUP)
        assert screen.wait() == 128 + signal.SIGHUP
        wait_for(lambda: not any(is_running(pid) for pid in family))
        assert b"\x1b[?1049l" in screen.raw, "the terminal is restored"
