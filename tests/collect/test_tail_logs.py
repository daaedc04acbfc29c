"""Sets of logs: globs that gain files, pipes, rotated copies under a glob."""

import os
import shutil
from pathlib import Path

import pytest

from livemon.collect.logs import LogRequest, LogSet, StreamOpened
from livemon.collect.pipe import PipeTail
from livemon.collect.tail import Chunk, Ended, Skipped

SECOND = 1_000_000_000


class Reader:
    def __init__(self, *requests: LogRequest) -> None:
        self.logs = LogSet(requests)
        self.now_ns = 0
        self.streams: dict[int, str] = {}
        self.texts: dict[str, bytes] = {}
        self.ended: list[int] = []

    def look(self, times: int = 3) -> None:
        for _ in range(times):
            self.now_ns += 2 * SECOND
            for stream, event in self.logs.poll(self.now_ns, 1 << 20):
                if isinstance(event, StreamOpened):
                    self.streams[stream] = os.path.basename(event.label)
                elif isinstance(event, Chunk):
                    name = self.streams[stream]
                    self.texts[name] = self.texts.get(name, b"") + event.data
                elif isinstance(event, Ended):
                    self.ended.append(stream)


def test_a_glob_gains_files_and_reads_the_new_ones_whole(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("old\n")
    reader = Reader(LogRequest(str(tmp_path / "*.log")))
    reader.look()
    (tmp_path / "b.log").write_text("b\n")
    with (tmp_path / "a.log").open("a") as file:
        file.write("a\n")
    reader.look()
    assert reader.texts == {"a.log": b"a\n", "b.log": b"b\n"}


def test_a_glob_that_matches_nothing_yet_waits(tmp_path: Path) -> None:
    reader = Reader(LogRequest(str(tmp_path / "*.log")))
    reader.look()
    assert reader.logs.has_anything_to_come
    (tmp_path / "b.log").write_text("b\n")
    reader.look()
    assert reader.texts == {"b.log": b"b\n"}


@pytest.mark.parametrize("way", ["rename", "copytruncate"])
def test_a_rotated_file_that_the_glob_matches_is_not_read_twice(tmp_path: Path, way: str) -> None:
    log, old = tmp_path / "serve.log", tmp_path / "serve.log.1"
    log.write_text("1\n2\n")
    reader = Reader(LogRequest(str(tmp_path / "serve.log*"), from_start=True))
    reader.look()
    with log.open("a") as file:
        file.write("3\n")
    if way == "rename":
        log.rename(old)
        log.write_text("4\n")
    else:
        shutil.copy(log, old)
        os.truncate(log, 0)
        with log.open("a") as file:
            file.write("4\n")
    reader.look(times=60)
    assert sorted(b"".join(reader.texts.values()).split()) == [b"1", b"2", b"3", b"4"]


def test_standard_input_ends(tmp_path: Path) -> None:
    read, write = os.pipe()
    reader = Reader(LogRequest("standard input", fd=read))
    os.write(write, b"a\nb")
    reader.look()
    assert reader.texts == {"standard input": b"a\nb"}
    assert reader.logs.waitable_fds == (read,)
    os.close(write)
    reader.look()
    assert reader.ended == [0]
    assert not reader.logs.has_anything_to_come


def test_a_regular_file_as_standard_input_is_read_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a\n")
    reader = Reader(LogRequest("standard input", fd=os.open(tmp_path / "log", os.O_RDONLY)))
    reader.look()
    assert reader.texts == {"log": b"a\n"}


def test_a_fifo_serves_one_writer_after_another(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = Reader(LogRequest(str(fifo)))
    reader.look()
    for text in ("a\n", "b\n"):
        with fifo.open("w") as writer:
            writer.write(text)
            writer.flush()
            reader.look()
    assert reader.texts == {"fifo": b"a\nb\n"}
    assert reader.ended == []


def test_a_pipe_is_emptied_whatever_the_limit_and_the_lines_are_counted() -> None:
    read, write = os.pipe()
    tail = PipeTail(read, "pipe")
    os.set_blocking(write, False)
    sent = 0
    lines = [b"line %06d\n" % n for n in range(200_000)]
    skipped = given = 0
    cut = False
    while sent < len(lines):
        try:
            while sent < len(lines):
                os.write(write, lines[sent])
                sent += 1
        except BlockingIOError:
            pass
        for event in tail.poll(0, 20_000):
            if isinstance(event, Chunk):
                given += event.data.count(b"\n")
            elif isinstance(event, Skipped):
                skipped += event.lines or 0
                cut = True
    assert cut
    assert given + skipped == len(lines)
    os.close(write)
    assert [type(event) for event in tail.poll(0, 20_000)] == [Ended]
