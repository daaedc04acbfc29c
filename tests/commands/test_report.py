"""``livemon report`` on real session files, through the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from livemon.cli import main
from tests.commands.sessions import write_session, write_session_without_timing
from tests.export.judgements import T0, WALL, S


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("report") / "a.livemon")


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["report", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_json_has_what_the_records_say(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = report(capsys, session, "--json")
    value = json.loads(out)
    assert (code, err) == (0, "")
    assert value["schema"] == 1
    assert value["steps"]["period"] == 3
    validate = [row for row in value["stages"] if row["stage"] == "validate"]
    assert sum(row["n"] for row in validate) == 48
    assert {row["role"] for row in validate} == {"finalize"}
    assert {f["kind"] for f in value["findings"]} >= {"oversized_finalize"}
    assert value["session"]["start"] == WALL / S
    assert value["session"]["marks"][0]["text"] == "hetero on"
    short = next(row for row in value["threads"] if row["name"] == "client-short")
    assert short["cycles_per_ns"] == {"P": pytest.approx(4.0), "E": pytest.approx(1.4)}


@pytest.mark.parametrize(("clock", "start"), [("monotonic", T0 / S), ("relative", 0.0), ("wall", WALL / S)])
def test_clocks(session: Path, capsys: pytest.CaptureFixture[str], clock: str, start: float) -> None:
    _, out, _ = report(capsys, session, "--json", "--clock", clock)
    assert json.loads(out)["session"]["start"] == start


def test_text_is_plain_when_piped_and_as_wide_as_columns(
    session: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = report(capsys, session)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[2].split()[0] in ("CRITICAL", "WARNING")


def test_markdown(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = report(capsys, session, "--markdown")
    assert out.startswith("# livemon report: a.livemon")
    assert "| stage | role |" in out


def test_html_is_one_file_without_network(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = report(capsys, session, session, "--html", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert (code, out) == (0, "")
    assert err == f"livemon report: wrote {tmp_path / 'r.html'}\n"
    assert text.count("<svg") == 2 * 4
    assert not re.findall(r"(?:src|href)\s*=|url\((?!#)|@import|<script", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert 'class="episode"' in text or 'class="budget"' in text


def test_several_sessions(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = report(capsys, session, session, "--json")
    assert len(json.loads(out)["sessions"]) == 2
    _, out, _ = report(capsys, session, session)
    assert out.startswith("livemon report: 2 sessions")


def test_fail_on_gives_exit_1_and_names_the_findings(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = report(capsys, session, "--json", "--fail-on", "oversized_finalize")
    assert code == 1
    assert "--fail-on is met by" in err
    criteria = session.parent / "none.toml"
    criteria.write_text("[finalize]\nbudget_ms = false\ndevice_ratio = false\n")
    code, out, _ = report(capsys, session, "--json", "--fail-on", "oversized_finalize", "--criteria", criteria)
    assert code == 0
    assert not [f for f in json.loads(out)["findings"] if f["kind"] == "oversized_finalize"]


def test_a_sweep_shows_what_depends_on_the_threshold(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = report(capsys, session, "--sweep", "finalize.budget_ms=5,40,false", "--json")
    value = json.loads(out)
    assert code == 0
    assert value["key"] == "finalize.budget_ms"
    counts = [len([f for f in row["findings"] if f["kind"] == "oversized_finalize"]) for row in value["values"]]
    assert counts == [3, 2, 2]
    assert len({row["criteria_sha256"] for row in value["values"]}) == 3
    _, out, _ = report(capsys, session, "--sweep", "finalize.budget_ms=5,40")
    assert "2 found at every value" in out.replace("3 found", "2 found")
    assert re.search(r"oversized finalize validate of 2/3 +5\n", out)


def test_nothing_read_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_session_without_timing(tmp_path / "e.livemon")
    code, out, err = report(capsys, path, "--json")
    assert code == 0
    assert json.loads(out)["stages"] == []
    assert "read 1,204 lines, no timing found: try `livemon parse --explain FILE`" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/nowhere/x.livemon"], "/nowhere/x.livemon"),
        (["{session}", "--criteria", "/nowhere.toml"], "/nowhere.toml"),
        (["{session}", "--criteria", "{bad}"], "bad.toml:2: unknown key"),
        (["{session}", "--fail-on", "slow"], "no finding of kind 'slow'"),
        (["{session}", "--html", "/"], "is a folder"),
        (["{session}", "--html", "/nowhere/a.html"], "there is no folder /nowhere"),
        (["{session}", "--sweep", "finalize.budget_ms"], "not KEY=a,b,c"),
        (["{session}", "--sweep", "finalize.nonsense=1,2"], "nonsense"),
        (["{session}", "--sweep", "finalize.budget_ms=-1,2"], "budget_ms"),
        (["{session}", "{session}", "--sweep", "finalize.budget_ms=1"], "takes one session"),
        (["{bad}"], "bad.toml"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(
    session: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    bad = session.parent / "bad.toml"
    bad.write_text("[finalize]\nbudget_mss = 5\n")
    code, out, err = report(capsys, *(a.format(session=session, bad=bad) for a in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_terminal_that_is_not_utf_8_gets_question_marks(session: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "livemon", "report", str(session)],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin", "HOME": str(session.parent)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"livemon report: a.livemon" in done.stdout
    assert done.stdout.isascii()
