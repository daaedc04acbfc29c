"""Processes by pid and name, command lines without secrets, facts of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.collect.environment import environment, redact_command
from livemon.collect.processes import describe, find_by_name
from livemon.model.errors import TargetError, UsageError
from tests.collect import fake_machine as machines


def test_describe() -> None:
    target = describe(os.getpid())
    assert target.pid == os.getpid()
    assert "pytest" in target.command or "python" in target.command


def test_describe_what_is_not_there() -> None:
    for pid in (0, -1, 1 << 31, 1 << 70):
        with pytest.raises(TargetError, match="no process"):
            describe(pid)
    with pytest.raises(TargetError, match="no process"):
        describe(2**22 + 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="thread ids are Linux's")
def test_a_thread_id_names_its_process() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with pytest.raises(TargetError, match=f"thread of process {os.getpid()}"):
            describe(thread.native_id or 0)
    finally:
        stop.set()
        thread.join()


def test_by_name_finds_by_command_line_and_never_livemon_itself() -> None:
    mark = f"livemon-test-{os.getpid()}"
    command = [sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()", mark]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = find_by_name(mark)
        assert [target.pid for target in found] == [child.pid]
    assert os.getpid() not in {target.pid for target in find_by_name("python")}
    assert find_by_name(mark) == []


def test_a_bad_expression_is_the_users_mistake() -> None:
    with pytest.raises(UsageError, match="no valid expression"):
        find_by_name("(")


def test_zombies_are_not_found(tmp_path: Path) -> None:
    machine = machines.plain_vm(tmp_path)
    machine.process(7, "serve")
    machine.process(8, "serve")
    machine.write("proc/8/stat", machines.stat_line(8, "serve", state="Z"))
    assert [target.pid for target in find_by_name("serve", machine.root)] == [7]


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["serve", "--token", "abc", "--port", "1"], "serve --token *** --port 1"),
        (["serve", "--api-key=abc"], "serve --api-key=***"),
        (["env", "DB_PASSWORD=x", "PORT=1"], "env DB_PASSWORD=*** PORT=1"),
        (["serve", "sk-abcdef"], "serve ***"),
        (["serve", "--url=https://u:pw@h/"], "serve --url=https://u:***@h/"),
        (["serve", "--tokenizer", "x"], "serve --tokenizer ***"),  # too much rather than too little
        (["serve", "--author", "me"], "serve --author me"),
        (["serve", "--password", "--verbose"], "serve --password --verbose"),
        (["a\x1b[2Jb", "c\nd"], "a [2Jb c d"),
        ([], ""),
    ],
)
def test_secrets_are_hidden(argv: list[str], shown: str) -> None:
    assert redact_command(argv) == shown


@given(st.lists(st.text(max_size=12), max_size=6))
def test_a_command_is_one_printable_line(argv: list[str]) -> None:
    assert redact_command(argv).isprintable()


def test_environment_has_what_is_there_only(tmp_path: Path) -> None:
    facts = dict(environment(machines.plain_vm(tmp_path).root))
    assert facts["hypervisor"] == "yes"
    assert facts["online_cpus"] == "0-3"
    assert "governor" not in facts
    assert all(facts.values())
    assert dict(environment())["system"].startswith(os.uname().sysname)


def test_in_a_container_the_way_out_is_said(tmp_path: Path) -> None:
    machine = machines.plain_vm(tmp_path)
    machine.write(".dockerenv", "")
    with pytest.raises(TargetError, match=r"no process 99.*--pid=host"):
        describe(99, machine.root)
    assert dict(environment(machine.root))["container"] == "yes"
