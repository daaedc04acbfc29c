"""The tables of threads: the compiled reader and the one in Python read the same, whatever the files hold."""

from __future__ import annotations

import errno
import gc
import os
import random
import re
import subprocess
import sys
import threading
import time
import tracemalloc
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.collect.procfs_table import (
    READER_VARIABLE,
    CompiledTable,
    Thread,
    ThreadTable,
    open_table,
    reader_capability,
)
from livemon.collect.python_table import PythonTable, StatTable
from livemon.model.facts import Capability
from livemon.parse.procfs import parse_stat
from tests.collect.fake_machine import stat_line
from tests.collect.thread_readers import MODULE, compiled_reader

MOST = 10**18 - 1


def readings() -> Any:
    reader = compiled_reader()
    if isinstance(reader, str):
        pytest.skip(f"the compiled thread reader can't be built here: {reader}")
    return reader.Readings()


# -- the two readers side by side

numbers = st.one_of(st.integers(0, 3), st.sampled_from([MOST, MOST + 1, 2**63 - 1, 2**63, 2**64]), st.integers(0, MOST))
plain = st.tuples(numbers, numbers, numbers).map(lambda three: b"%d %d %d\n" % three)
NO_SCHEDSTATS = [
    *(b"", b"\n", b"1 2 3", b"1 2\n", b" 1 2 3\n", b"1 2 3 4\n", b"1\t2 3\n", b"-1 2 3\n", b"01 2 3\n", b"1 2 03\n"),
    *(b"1 2 3\n\0", b"+1 2 3\n", b"1_0 2 3\n", b"1 2 3\n4 5 6\n", b"1" * 200, b"1 2 3\n" + b" " * 200, b"1  3\n"),
    *(b"1 2 %d\n" % number for number in (MOST + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64)),
]
odd = st.one_of(
    st.sampled_from(NO_SCHEDSTATS),
    st.text("019 \n-)", max_size=12).map(str.encode),
    st.binary(max_size=90),
)
schedstats = st.one_of(plain, plain, plain, odd)
names = st.one_of(st.sampled_from([b"serve", b") S 1", b"a (b", b"", b"\xff\n"]), st.binary(max_size=15))
cpus = st.one_of(st.integers(0, 300), st.sampled_from([999_999_999, 1_000_000_000, 2**31, 2**32 + 1, 2**63]))
lines = st.builds(lambda name, cpu: stat_line(7, name, cpu=cpu), names, cpus)
stats = st.one_of(
    lines,
    lines,
    st.builds(lambda line, at: line[:at], lines, st.integers(0, 200)),
    st.builds(lambda line, at: line[at:], lines, st.integers(0, 200)),
    st.builds(lambda line, more: line[:-1] + more, lines, st.text("0 1)\n", max_size=12).map(str.encode)),
    st.sampled_from([b"", b"\n", b")\n", b") 1\n", stat_line(7, b"x" * 1000), stat_line(7, b"x") + b" " * 1100]),
    st.binary(max_size=60),
)
fields_after_cpu = st.one_of(st.just(13), st.just(13), st.integers(-1, 60))
steps = st.one_of(
    st.tuples(st.just("schedstat"), st.integers(0, 9), schedstats),
    st.tuples(st.just("schedstat"), st.integers(0, 9), schedstats),
    st.tuples(st.just("stat"), st.integers(0, 9), stats),
    st.tuples(st.just("add"), fields_after_cpu, st.booleans()),
    st.tuples(st.just("remove"), st.integers(0, 9), st.none()),
    st.tuples(st.just("close"), st.integers(0, 9), st.sampled_from(["schedstat_fd", "stat_fd"])),
    st.tuples(st.just("read"), st.none(), st.none()),
    st.tuples(st.just("read"), st.none(), st.none()),
)


class Twins:
    """A compiled table and one in Python over the same files, and what must be equal at any time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.tables: tuple[ThreadTable, ...] = CompiledTable(readings()), PythonTable()
        self.threads: list[tuple[Thread, ...]] = []
        self.opened: list[int] = []
        self.count = 0

    def add(self, fields: int, is_folder: bool) -> None:
        """A thread with files of its own; what is a folder can be opened, but not read."""
        number, self.count = self.count, self.count + 1
        twins = tuple(Thread(number, 7, 7, -1, 0) for _ in self.tables)
        for name, first in (("schedstat", b"1 2 3\n"), ("stat", stat_line(7))):
            path = Path(f"{self.folder}/{number}-{name}")
            if is_folder and name == "schedstat":
                path.mkdir()
            else:
                path.write_bytes(first)
            self.opened.append(os.open(path, os.O_RDONLY))
            for thread in twins:
                setattr(thread, f"{name}_fd", self.opened[-1])
        for table, thread in zip(self.tables, twins, strict=True):
            thread.fields_after_cpu = fields
            table.add(thread, parse_stat(stat_line(7)), (1, 2, 3))
        self.threads.append(twins)

    def write(self, name: str, which: int, text: bytes) -> None:
        if self.threads:
            number = self.threads[which % len(self.threads)][0].index
            path = Path(f"{self.folder}/{number}-{name}")
            if path.is_file():
                path.write_bytes(text)

    def remove(self, which: int) -> None:
        if self.threads:
            for table, thread in zip(self.tables, self.threads.pop(which % len(self.threads)), strict=True):
                table.remove(thread)
                assert thread.position == -1

    def break_off(self, which: int, name: str) -> None:
        """From here on a descriptor is another one, which can't be read."""
        if self.threads:
            descriptor = getattr(self.threads[which % len(self.threads)][0], name)
            pipe = os.pipe()
            os.dup2(pipe[0], descriptor)
            for end in pipe:
                os.close(end)

    def read(self) -> None:
        found = []
        for table in self.tables:
            changed, failed = table.read()
            found.append((changed, [(thread.index, error) for thread, error in failed]))
        assert found[0] == found[1]
        compiled, python = self.tables
        assert compiled.columns(found[0][0]) == python.columns(found[1][0])

    def compare(self) -> None:
        compiled, python = self.tables
        assert len(compiled) == len(python) == len(self.threads)
        assert compiled.columns(None) == python.columns(None)
        assert [column.typecode for column in compiled.columns(None)] == ["q"] * 5
        assert [thread.index for thread in compiled.ran] == [thread.index for thread in python.ran]
        for at, thread in enumerate(python.threads):
            assert thread.position == compiled.threads[at].position == at
            assert compiled.reading(at) == python.reading(at)
            assert compiled.last_cpu(at) == python.last_cpu(at)


@contextmanager
def twins_in_a_folder() -> Iterator[Twins]:
    with TemporaryDirectory() as folder:
        twins = Twins(folder)
        try:
            yield twins
        finally:
            for descriptor in twins.opened:
                os.close(descriptor)


@given(st.integers(1, 4), st.lists(steps, max_size=30))
def test_both_read_the_same_from_any_files(threads: int, moves: list[tuple[str, Any, Any]]) -> None:
    with twins_in_a_folder() as twins:
        for _ in range(threads):
            twins.add(13, is_folder=False)
        for what, which, value in [*moves, ("read", None, None)]:
            if what == "add":
                twins.add(which, is_folder=value)
            elif what == "remove":
                twins.remove(which)
            elif what == "close":
                twins.break_off(which, value)
            elif what == "read":
                twins.read()
            else:
                twins.write(what, which, value)
            twins.compare()


@given(stats, fields_after_cpu)
def test_both_find_the_same_last_cpu_in_any_text(text: bytes, fields: int) -> None:
    with twins_in_a_folder() as twins:
        twins.add(fields, is_folder=False)
        twins.write("stat", 0, text)
        twins.write("schedstat", 0, b"1 2 4\n")
        twins.read()
        twins.compare()


@pytest.mark.parametrize("text", NO_SCHEDSTATS)
def test_neither_takes_for_a_reading_what_is_none(text: bytes) -> None:
    with twins_in_a_folder() as twins:
        twins.add(13, is_folder=False)
        twins.write("schedstat", 0, text)
        for table in twins.tables:
            changed, failed = table.read()
            assert changed == []
            assert [error for _, error in failed] == [errno.EBADMSG]
            assert table.reading(0) == (1, 2, 3)


@pytest.mark.parametrize(("cpu", "known"), [(0, 0), (999_999_999, 999_999_999), (1_000_000_000, -1), (2**32 + 1, -1)])
def test_a_cpu_number_that_no_machine_has_is_unknown(cpu: int, known: int) -> None:
    with twins_in_a_folder() as twins:
        twins.add(13, is_folder=False)
        twins.write("schedstat", 0, b"1 2 4\n")
        twins.write("stat", 0, stat_line(7, cpu=cpu))
        twins.read()
        assert [table.last_cpu(0) for table in twins.tables] == [known, known]


@pytest.mark.parametrize("text", [b"2 2 3\n", b"1 3 3\n", b"1 2 4\n", b"0 2 3\n", b"%d %d %d\n" % (MOST, MOST, MOST)])
def test_any_number_that_moved_is_a_change(text: bytes) -> None:
    with twins_in_a_folder() as twins:
        twins.add(13, is_folder=False)
        twins.write("schedstat", 0, text)
        for table in twins.tables:
            assert table.read() == ([0], [])
            assert table.reading(0) == tuple(map(int, text.split()))
            assert table.read() == ([], [])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the live /proc")
def test_of_a_thread_that_ended_since_its_schedstat_was_read_the_last_cpu_stays() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    gone = os.open(f"/proc/{child.pid}/stat", os.O_RDONLY)
    child.communicate(b"\n")
    with pytest.raises(ProcessLookupError):
        os.pread(gone, 10, 0)
    with twins_in_a_folder() as twins:
        twins.add(13, is_folder=False)
        twins.write("schedstat", 0, b"1 2 4\n")
        os.dup2(gone, twins.threads[0][0].stat_fd)
        twins.read()
        twins.compare()
        assert twins.tables[0].last_cpu(0) == 0
        twins.break_off(0, "stat_fd")  # can't be read for another reason
        twins.write("schedstat", 0, b"1 2 5\n")
        twins.read()
        assert [table.last_cpu(0) for table in twins.tables] == [-1, -1]
    os.close(gone)


def test_what_changed_what_can_no_longer_be_read_and_where_it_ran() -> None:
    with twins_in_a_folder() as twins:
        for _ in range(4):
            twins.add(13, is_folder=False)
        twins.write("schedstat", 1, b"9 2 3\n")  # ran on without a switch: it can't have moved
        twins.write("stat", 1, stat_line(7, cpu=5))
        twins.write("schedstat", 2, b"10 11 12\n")
        twins.write("stat", 2, stat_line(7, ") S 1 2 3", cpu=6))
        twins.write("schedstat", 3, b"nonsense\n")
        for table in twins.tables:
            changed, failed = table.read()
            assert changed == [1, 2]
            assert [(thread.index, error) for thread, error in failed] == [(3, errno.EBADMSG)]
            assert table.columns(changed) == (
                array("q", [1, 2]),
                array("q", [9, 10]),
                array("q", [2, 11]),
                array("q", [3, 12]),
                array("q", [0, 6]),
            )
            assert table.reading(3) == (1, 2, 3)
            assert table.read()[0] == []


def test_both_count_the_links_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    folder = os.open(tmp_path, os.O_RDONLY)
    for table in CompiledTable(readings()), PythonTable():
        assert table.links(folder) == os.stat(tmp_path).st_nlink
    os.close(folder)
    for table in CompiledTable(readings()), PythonTable():
        with pytest.raises(OSError, match="descriptor"):
            table.links(folder)


# -- the compiled reader alone


def test_it_grows_to_a_hundred_thousand_threads_and_shrinks(tmp_path: Path) -> None:
    (tmp_path / "schedstat").write_bytes(b"5 6 7\n")
    (tmp_path / "stat").write_bytes(stat_line(7, cpu=3))
    kept, total = readings(), 100_000
    with (tmp_path / "schedstat").open() as schedstat, (tmp_path / "stat").open() as stat:
        for index in range(total):
            kept.add(7, schedstat.fileno(), stat.fileno(), 13, index, (0, 0, 0), 0)
        changed, failed = kept.read()
    assert changed == list(range(total))
    assert failed == []
    left, chance = list(range(total)), random.Random(1)
    while len(left) > 10:
        at = chance.randrange(len(left))
        left[at] = left[-1]
        left.pop()
        kept.remove(at)
    index, cpu_ns, _, _, last_cpu = (array("q", column) for column in kept.columns(None))
    assert index.tolist() == left
    assert cpu_ns.tolist() == [5] * 10
    assert last_cpu.tolist() == [3] * 10


def test_what_it_can_not_take_is_refused() -> None:
    kept = readings()
    kept.add(7, -1, -1, 13, 0, (0, 0, 0), 0)
    for wrong in (-1, 1, 2**31, sys.maxsize):
        for call in (kept.remove, kept.reading, kept.last_cpu):
            with pytest.raises(IndexError, match="no thread at position"):
                call(wrong)
        with pytest.raises(IndexError, match="no thread at position"):
            kept.columns([0, wrong])
        with pytest.raises(IndexError, match="no thread at position"):
            kept.look(wrong, 1)
    for positions in ((0,), range(1), 0):
        with pytest.raises(TypeError):
            kept.columns(positions)
    with pytest.raises(TypeError):
        kept.columns([0, "1"])
    for bad in (2**63, -(2**64)):
        with pytest.raises(OverflowError):
            kept.add(7, -1, -1, 13, 0, (bad, 0, 0), 0)
        with pytest.raises(OverflowError):
            kept.remove(bad)
    with pytest.raises(OverflowError):
        kept.add(7, -1, -1, 2**15, 0, (0, 0, 0), 0)
    assert len(kept) == 1
    assert kept.read() == ([], [(0, errno.EBADF)])
    assert kept.look(0, 5) == []
    kept.remove(0)
    assert kept.read() == ([], [])
    assert kept.look(0, 5) == []
    assert kept.columns(None) == (b"",) * 5


def test_nothing_moves_while_another_thread_reads(tmp_path: Path) -> None:
    (tmp_path / "schedstat").write_bytes(b"5 6 7\n")
    kept, stop, refused = readings(), threading.Event(), False
    with (tmp_path / "schedstat").open() as file:
        for index in range(1000):
            kept.add(7, file.fileno(), file.fileno(), 13, index, (5, 6, 7), 0)

        def read_on() -> None:
            while not stop.is_set():
                kept.read()

        reader, end = threading.Thread(target=read_on), time.monotonic() + 90
        reader.start()
        try:
            while not refused and time.monotonic() < end:
                try:
                    kept.remove(0)
                    kept.add(7, file.fileno(), file.fileno(), 13, 0, (5, 6, 7), 0)
                except RuntimeError as error:
                    refused = "another thread is reading" in str(error)
        finally:
            stop.set()
            reader.join()
    assert refused
    assert kept.read()[0] == []


def test_its_objects_go_when_nobody_needs_them(tmp_path: Path) -> None:
    """In bytes that the interpreter has handed out: what one round takes at least would show twentyfold."""
    path = tmp_path / "schedstat"
    path.write_bytes(b"5 6 7\n")

    def use() -> None:
        kept = readings()
        with path.open() as file:
            for index in range(300):
                descriptor = file.fileno() if index % 3 else -1
                kept.add(7, descriptor, descriptor, 13, index, (1_000_000 + index, 0, 0), 0)
            kept.read()
            kept.look(0, 300)
        kept.columns(None)
        kept.columns(list(range(300)))
        kept.reading(299)
        with pytest.raises(IndexError):
            kept.columns([*range(300), 300])
        kept.remove(5)

    tracemalloc.start()
    try:
        for _ in range(3):
            use()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(20):
            use()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the live /proc")
def test_it_looks_at_facts_from_anywhere_and_names_those_that_changed() -> None:
    kept = readings()
    with open("/proc/thread-self/stat") as stat:
        for index in range(5):
            kept.add(threading.get_native_id(), -1, stat.fileno(), 13, index, (0, 0, 0), 0)
        assert kept.look(3, 4) == [3, 4, 0, 1]
        assert kept.look(3, 4) == []
        assert kept.look(0, 100) == [2]
        assert kept.look(4, 100) == []


# -- which one is taken


def test_the_fastest_that_there_is_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    readings()  # skips where there is none
    monkeypatch.setitem(sys.modules, MODULE, compiled_reader())  # type: ignore[arg-type]
    assert type(open_table(has_schedstat=True, tick_ns=1)) is CompiledTable
    assert reader_capability(has_schedstat=True) == Capability("thread reader", True, "compiled")
    assert type(open_table(has_schedstat=False, tick_ns=1)) is StatTable
    assert "no schedstat" in reader_capability(has_schedstat=False).reason
    monkeypatch.setenv(READER_VARIABLE, "python")
    assert type(open_table(has_schedstat=True, tick_ns=1)) is PythonTable
    assert reader_capability(has_schedstat=True).remedy == f"unset {READER_VARIABLE}"


@pytest.mark.parametrize(
    ("module", "why", "remedy"),
    [
        (None, "no C compiler", "gcc"),
        (SimpleNamespace(), "does not load", "gcc"),
        (SimpleNamespace(INTERFACE=0, Readings=None), "another version", "pip install -e ."),
    ],
)
def test_without_the_compiled_one_it_is_said_what_that_costs_and_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, module: object, why: str, remedy: str
) -> None:
    monkeypatch.setitem(sys.modules, MODULE, module)  # type: ignore[arg-type]
    assert type(open_table(has_schedstat=True, tick_ns=1)) is PythonTable
    told = reader_capability(has_schedstat=True)
    assert told.available
    assert re.match(r"pure Python, 1\.\d× the CPU time", told.reason)
    assert why in told.reason
    assert remedy in told.remedy
