"""Sets of logs: globs that gain files, pipes, rotated copies under a glob."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from livemon.collect.log_request import LogRequest
from livemon.collect.logs import LogSet, StreamOpened
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
    assert reader.logs.has_anything_to_come
    os.close(write)
    reader.look()
    assert reader.ended == [0]
    assert not reader.logs.has_anything_to_come


def test_a_pipe_is_waited_for_only_while_much_comes() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    tail = PipeTail(read, "pipe")
    os.write(write, b"a line now and then\n")
    tail.poll(0, 1 << 20)
    assert tail.waitable_fd is None
    os.write(write, b"x" * (32 << 10))
    with contextlib.suppress(BlockingIOError):
        os.write(write, b"x" * (512 << 10))
    tail.poll(0, 4 << 20)
    assert tail.waitable_fd == read
    os.close(write)
    tail.finish()


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


def test_a_pipe_is_emptied_whatever_the_limit_and_nothing_is_lost() -> None:
    read, write = os.pipe()
    tail = PipeTail(read, "pipe")
    lines = [b"line %06d\n" % n for n in range(200_000)]
    texts = flood(tail, write, lines, max_bytes=20_000)
    assert b"".join(texts) == b"".join(lines)


def test_what_waits_is_bounded_and_what_is_left_out_is_counted() -> None:
    read, write = os.pipe()
    tail = PipeTail(read, "pipe", queue_bytes=300_000)
    lines = [b"line %06d\n" % n for n in range(200_000)]
    texts = flood(tail, write, lines, max_bytes=5_000)
    given = [line for line in b"".join(texts).split(b"\n") if len(line) == 11]
    assert given[-1] == b"line 199999"
    assert len(given) + sum(SKIPPED) == len(lines)
    assert sum(SKIPPED) > 0


SKIPPED: list[int] = []


def flood(tail: PipeTail, write: int, lines: list[bytes], max_bytes: int) -> list[bytes]:
    """Write as fast as the pipe takes it; the text that the tail gives, with line ends where lines were left out."""
    os.set_blocking(write, False)
    SKIPPED.clear()
    texts: list[bytes] = []
    sent = 0
    is_ended = False
    while not is_ended:
        try:
            while sent < len(lines):
                os.write(write, lines[sent])
                sent += 1
            os.close(write)
            sent += 1
        except OSError:
            pass
        for event in tail.poll(0, max_bytes):
            if isinstance(event, Chunk):
                texts.append(event.data)
            elif isinstance(event, Skipped):
                SKIPPED.append(event.lines or 0)
                texts.append(b"\n")
            else:
                is_ended = isinstance(event, Ended)
    assert not tail.is_open
    return texts
