"""``livemon compare`` on real session files, through the command line."""

import json
from pathlib import Path

import pytest

from livemon.cli import main
from tests.commands.sessions import write_session, write_session_without_timing


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    write_session(folder / "before", n=60)
    write_session(folder / "fixed", n=60, scale=0.02, seed=2)
    write_session(folder / "named", n=60, labels=True)
    write_session_without_timing(folder / "empty")
    return folder


def compare(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["compare", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_fix_that_made_all_kernels_alike_is_proven(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = compare(capsys, folder / "before", folder / "fixed", "--json", "--fail-on", "any")
    value = json.loads(out)
    assert (code, err) == (0, "")
    validate = {row["class"]: row["median"] for row in value["stages"] if row["stage"] == "validate"}
    assert {row["outcome"] for row in validate.values()} == {"better"}
    assert set(validate) == {"0/3", "1/3", "2/3"}
    low, high = validate["1/3"]["ci95_ms"]
    assert low < -0.98 * 90.6 < high
    assert {f["change"] for f in value["findings"] if f["kind"] == "oversized_finalize"} == {"vanished"}


def test_the_other_way_round_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = compare(capsys, folder / "fixed", folder / "before", "--fail-on", "oversized_finalize")
    assert code == 1
    assert "--fail-on is met: oversized finalize, validate of" in err
    assert "appeared" in out


def test_the_same_session_has_not_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = compare(capsys, folder / "before", folder / "before", "--json", "--fail-on", "worse")
    assert code == 0
    assert {row["median"]["outcome"] for row in json.loads(out)["stages"]} <= {"same", "unknown"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["before", "named"], "no class in common"),
        (["before", "empty"], "holds no timing record"),
        (["before", "missing"], "missing"),
        (["before", "before", "--fail-on", "x"], "kinds are"),
        (["before", "before", "--criteria", "none.toml"], "none.toml"),
    ],
)
def test_what_can_not_be_compared_is_refused_with_the_reason(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = compare(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
