"""Children are found whatever way they are looked for: by listing every process, or by asking for the new numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from livemon.collect import process_tree
from livemon.collect.process_tree import ProcessTree
from tests.collect.fake_machine import FakeMachine, stat_line


class Numbers:
    """A ``/proc`` whose kernel gives numbers, and how often it was listed."""

    def __init__(self, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.machine = machine
        self.listings = 0
        monkeypatch.setattr(process_tree, "_are_own_numbers", lambda proc: True)
        listed = process_tree.list_numbers

        def count(folder: str) -> list[int]:
            self.listings += 1
            return listed(folder)

        monkeypatch.setattr(process_tree, "list_numbers", count)
        self.tree = ProcessTree(machine.root)
        self.give(100)

    def give(self, last: int) -> int | None:
        self.machine.write("proc/loadavg", f"0.00 0.00 0.00 1/9 {last:6d}\n")
        return self.tree.count_created()


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Numbers:
    numbers = Numbers(FakeMachine(tmp_path), monkeypatch)
    for pid in (7, 8):
        numbers.machine.process(pid)
    assert numbers.tree.find_children({7}) == []
    assert numbers.listings == 1
    return numbers


def test_few_new_numbers_are_asked_for_one_by_one(numbers: Numbers) -> None:
    numbers.machine.process(103, ppid=7)
    numbers.machine.process(104, ppid=103)
    numbers.machine.process(105, ppid=8)
    assert numbers.give(106) == 6
    assert numbers.tree.find_children({7}) == [103, 104]
    assert numbers.listings == 1


def test_a_thread_is_no_process(numbers: Numbers) -> None:
    """Its number can be read like a process's, and its parent is that of its process."""
    numbers.machine.process(101, ppid=7)
    numbers.machine.write("proc/102/stat", stat_line(102, ppid=7))
    numbers.machine.write("proc/102/status", "Name:\tx\nTgid:\t101\n")
    numbers.give(102)
    assert numbers.tree.find_children({7}) == [101]
    assert numbers.listings == 1


@pytest.mark.parametrize("others", [0, 50])
def test_a_process_that_was_just_being_made_is_found_at_the_next_look(numbers: Numbers, others: int) -> None:
    numbers.give(101 + others)
    assert numbers.tree.find_children({7}) == []
    assert numbers.tree.is_anything_coming
    numbers.machine.process(101 + others, ppid=7)
    numbers.give(101 + others)
    assert numbers.tree.find_children({7}) == [101 + others]
    assert not numbers.tree.is_anything_coming


def test_many_new_numbers_and_numbers_that_began_anew_take_a_listing(numbers: Numbers) -> None:
    numbers.machine.process(9000, ppid=7)
    numbers.give(9000)
    assert numbers.tree.find_children({7}) == [9000]
    numbers.machine.process(50, ppid=7)
    assert numbers.give(60) is None
    assert numbers.tree.find_children({7}) == [50]
    assert numbers.listings == 3


def test_everything_is_listed_now_and_then_and_when_there_are_other_parents(numbers: Numbers) -> None:
    numbers.machine.process(2000, ppid=8)  # with a number that was not given in order
    numbers.tree.forget()
    numbers.give(101)
    assert numbers.tree.find_children({7, 8}) == [2000]
    numbers.machine.process(3000, ppid=8)
    found: list[int] = []
    for last in range(102, 102 + 2 * process_tree._ASKED_MOST):
        numbers.give(last)
        found += numbers.tree.find_children({7, 8})
    assert found == [3000]
    assert numbers.listings <= 4


def test_real_children_are_found_by_their_numbers() -> None:
    tree = ProcessTree("/")
    if not tree._are_own_numbers:
        pytest.skip("no /proc of our own numbers")
    tree.count_created()
    tree.find_children({os.getpid()})
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found: list[int] = []
        while child.pid not in found:  # the first look may meet a number that nothing is behind yet
            tree.count_created()
            found += tree.find_children({os.getpid()})
        assert child.stdin is not None
        child.stdin.close()
