"""``livemon doctor``: the table, the JSON object, the errors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from livemon.cli import main
from livemon.commands.doctor import table
from livemon.model.facts import Capability
from tests.collect import fake_machine as machines


def test_the_table_fits_and_keeps_remedies_whole() -> None:
    capabilities = [
        Capability(
            "hardware counters P", False, "a reason that is " + "long " * 30, "sudo sysctl kernel.x=1 " + "y" * 90
        ),
        Capability("last CPU", True, "stat"),
    ]
    lines = table(capabilities, 80)
    assert all(len(line) <= 80 for line in lines if ">" not in line)
    assert "> sudo sysctl kernel.x=1 " + "y" * 90 in "\n".join(lines)
    assert lines[0].startswith("no    hardware counters P")
    assert lines[-1].startswith("1 available, 1 not")


def test_json_on_a_hybrid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = machines.intel_hybrid(tmp_path)
    machine.process(7, "serve")
    machine.write("proc/7/cmdline", "serve\0--token\0abc\0")
    assert main(["doctor", "--json", "--pid", "7", "--root", machine.root]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["schema"] == 1
    assert result["target"] == {"pid": 7, "name": "serve", "command": "serve --token ***"}
    assert result["topology"]["classes"] == {"P": list(range(8)), "E": list(range(8, 16))}
    assert all(entry["reason"] for entry in result["capabilities"])


def test_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--pid", str(os.getpid())]) == 0
    assert "thread CPU time" in capsys.readouterr().out


def test_a_process_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--pid", str(2**22 + 1)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no process" in captured.err
