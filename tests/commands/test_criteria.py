"""``livemon criteria``: prints, writes, checks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from livemon.cli import main
from livemon.model.criteria import Criteria, load_criteria


def test_it_prints_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["criteria"]) == 0
    out, err = capsys.readouterr()
    assert load_criteria(out) == Criteria()
    assert err == ""


def test_it_writes_a_file_that_checks_and_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "criteria.toml"
    assert main(["criteria", "--init", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["criteria", "--check", str(path)]) == 0
    assert hashlib.sha256(path.read_bytes()).hexdigest() in capsys.readouterr().out
    path.write_text("kept")
    assert main(["criteria", "--init", str(path)]) == 2
    assert path.read_text() == "kept"
    assert "exists" in capsys.readouterr().err


def test_mistakes_are_one_line_with_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[finalize]\r\nbudget_ms = 'x'\r\n")
    assert main(["criteria", "--check", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"{path}:2:" in err
    assert err.count("\n") == 1
    path.write_bytes(b"\xff\xfe")
    assert main(["criteria", "--check", str(path)]) == 2
    assert "UTF-8" in capsys.readouterr().err
    for missing in (tmp_path / "none.toml", tmp_path):
        assert main(["criteria", "--check", str(missing)]) == 2
        assert str(missing) in capsys.readouterr().err
    assert main(["criteria", "--init", str(tmp_path / "no" / "where.toml")]) == 2
    assert "can't write" in capsys.readouterr().err
