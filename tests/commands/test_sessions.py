"""``livemon sessions`` and ``livemon mark`` through the command line."""

import json
import os
from pathlib import Path

import pytest

from livemon.cli import main
from livemon.model.samples import Mark
from livemon.session.reader import SessionReader
from tests.session.scripted import START_NS, TICK_NS, recording, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "livemon"


def make(folder: Path, name: str, age: int = 0) -> Path:
    path = folder / f"{name}.livemon"
    write(path, recording(20)).close()
    os.utime(path, (10**9 - age, 10**9 - age))
    return path


def test_the_list_shows_what_there_is_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(folder, "older", 5)
    make(folder, "newer", 1)
    writer = write(folder / "live.livemon", recording(20))
    (folder / "broken.livemon").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    os.utime(folder / "broken.livemon", (5, 5))
    assert main(["sessions"]) == 0
    captured = capsys.readouterr()
    head, *rows = captured.out.splitlines()
    assert head.split() == ["NAME", "STARTED", "LENGTH", "SIZE", "STATE", "TARGETS"]
    assert [row.split()[0] for row in rows] == ["live", "newer", "older", "broken"]
    assert f"recording (pid {os.getpid()})" in rows[0]
    assert "closed" in rows[1]
    assert "serve (4711)" in rows[1]
    assert "2.0 s" in rows[1]
    assert "damaged" in rows[3]
    assert "4 sessions" in captured.err
    writer.close()


def test_the_list_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(folder, "one")
    assert main(["sessions", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["schema"] == 1
    assert value["folder"] == str(folder)
    (entry,) = value["sessions"]
    assert entry["name"] == "one"
    assert entry["path"] == str(path)
    assert entry["size_bytes"] == value["total_bytes"] == path.stat().st_size
    assert entry["state"] == "closed"
    assert entry["duration_s"] == 2.0


def test_no_sessions_is_said_on_stderr_and_is_empty_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no sessions in" in captured.err
    assert main(["sessions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"] == []


def test_removing_and_pruning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [make(folder, f"s{age}", age) for age in range(4)]
    assert main(["sessions", "rm", "s1", str(paths[2])]) == 0
    assert sorted(path.stem for path in folder.iterdir()) == ["s0", "s3"]
    capsys.readouterr()
    assert main(["sessions", "prune", "--max-sessions", "1", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["removed"] == ["s3"]
    assert value["kept"] == 1
    assert main(["sessions", "prune", "--max-mb", "0"]) == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rm"], "'sessions rm' needs a session; 'livemon sessions' lists them"),
        (["rm", "nothing"], "there is no session nothing"),
        (["list", "x"], "'sessions list' takes no session"),
        (["prune", "--max-sessions", "-1"], "not negative"),
    ],
)
def test_mistakes_are_one_clear_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["sessions", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert message in line


def test_what_is_no_session_is_not_removed(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "serve.log"
    log.write_text("precious\n")
    assert main(["sessions", "rm", str(log)]) == 2
    assert "is no session" in capsys.readouterr().err
    assert log.read_text() == "precious\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["sessions", "prune", "--max-mb", "nan"],
        ["sessions", "prune", "--max-mb", "inf"],
        ["sessions", "prune", "--max-mb", "-1"],
        ["replay", "x", "--speed", "nan"],
        ["fleet", "--prometheus-url", "http://127.0.0.1:9", "--timeout", "inf"],
        ["watch", "--log", "x", "--duration", "nan"],
    ],
    ids=" ".join,
)
def test_a_number_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "is not between" in captured.err
    assert len(captured.err.splitlines()) == 1


def test_removing_takes_nothing_when_one_name_is_wrong(folder: Path) -> None:
    make(folder, "one")
    assert main(["sessions", "rm", "one", "nothing"]) == 2
    assert (folder / "one.livemon").exists()


def test_a_mark_on_a_running_recorder_is_taken_up(folder: Path) -> None:
    writer = write(folder / "live.livemon", recording(20))
    assert main(["mark", "last", "deploy", "v2", "--ago", "3"]) == 0
    (mark,) = writer.take_marks()
    assert (mark.text, mark.origin) == ("deploy v2", "command")
    writer.close()


def test_a_mark_on_an_ended_session_counts_from_its_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(folder, "one")
    assert main(["mark", "one", "here it was", "--ago", "0.5"]) == 0
    assert "the mark is 0.5 s before its end" in capsys.readouterr().err
    assert main(["mark", "one", "and here"]) == 0
    assert "the mark is at its end" in capsys.readouterr().err
    reader = SessionReader(folder / "one.livemon")
    end_ns = START_NS + 20 * TICK_NS
    assert reader.read_new()[-2:] == [
        Mark(end_ns, end_ns - 500_000_000, "here it was", "command"),
        Mark(end_ns, end_ns, "and here", "command"),
    ]
    reader.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "x"], "there is no session nothing"),
        (["one", " \n "], "a mark needs a text"),
        (["one", "x", "--ago", "-1"], "not negative"),
        (["one", "x", "--ago", "nan"], "not negative"),
        (["one", "x", "--ago", "60"], "--ago 60 lies before the session's first sample, 2.0 s back"),
    ],
)
def test_marks_that_cant_be_made(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    make(folder, "one")
    assert main(["mark", *arguments]) == 2
    assert message in capsys.readouterr().err
