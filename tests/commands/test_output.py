"""Where results go: a full device, a closed stdout, a reader that leaves; one line each, the contract's codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.sessions import write_session

LINE = "[c_api_timing] run= 1  runner_run=19.00  validate=1.00  total=21.00\n"
COMMANDS = [
    ["parse", "{log}"],
    ["report", "{session}"],
    ["report", "{session}", "--json"],
    ["report", "{session}", "--markdown"],
    ["compare", "{session}", "{session}"],
    ["export", "{session}", "--to", "jsonl", "-o", "-"],
    ["criteria"],
    ["doctor"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("output")
    write_session(path / "session")
    (path / "log").write_text(LINE * 3000)
    return path


def run(folder: Path, command: list[str], redirection: str) -> "subprocess.CompletedProcess[str]":
    words = [word.format(log=folder / "log", session=folder / "session") for word in command]
    return subprocess.run(
        ["sh", "-c", f'"$0" -m livemon "$@" {redirection}', sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_device_is_one_line_and_exit_2(folder: Path, command: list[str]) -> None:
    done = run(folder, command, ">/dev/full")
    assert done.returncode == 2, done.stderr
    messages = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert len(messages) == 1
    assert messages[0].startswith(f"livemon {command[0]}: ")
    assert "No space left on device" in messages[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["--help"], ["--version"], ["report", "--help"]], ids=" ".join)
def test_help_for_a_full_device_is_exit_2(folder: Path, command: list[str]) -> None:
    done = run(folder, command, ">/dev/full")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_closed_stdout_is_no_traceback(folder: Path, command: list[str]) -> None:
    done = run(folder, command, ">&-")
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_that_leaves_is_no_error(folder: Path, command: list[str]) -> None:
    done = run(folder, command, "| head -c 1")
    assert len(done.stdout) == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_html_never_takes_the_place_of_a_session(folder: Path) -> None:
    before = (folder / "session").read_bytes()
    done = run(folder, ["report", "{session}", "--html", "{session}"], "")
    assert done.returncode == 2
    assert "is a session" in done.stderr
    assert (folder / "session").read_bytes() == before
