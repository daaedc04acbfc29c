"""Following a log through everything that happens to logs."""

import os
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from livemon.collect.tail import Chunk, Ended, Restarted, Skipped, Tail, TailEvent, Trouble

SECOND = 1_000_000_000


class Follower:
    """A tail with what it gave out, and a clock that moves a second a look."""

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self.now_ns = 0
        self.events: list[TailEvent] = []
        self.text: dict[int, bytes] = defaultdict(bytes)
        self.next_offset: dict[int, int] = {}

    def look(self, max_bytes: int = 1 << 20) -> list[TailEvent]:
        self.now_ns += SECOND
        events = self.tail.poll(self.now_ns, max_bytes)
        self.events += events
        for event in events:
            if isinstance(event, Chunk):
                expected = self.next_offset.get(event.generation, event.offset)
                assert event.offset == expected, "a gap that nobody told of"
                self.next_offset[event.generation] = event.offset + len(event.data)
                self.text[event.generation] += event.data
            elif isinstance(event, Skipped):
                self.next_offset[event.generation] = event.resume_offset
                self.text[event.generation] += b"<cut>\n"
        return events

    def lines(self) -> list[bytes]:
        """Whole lines, by generation."""
        return [line for text in self.text.values() for line in text.split(b"\n")[:-1]]

    def has(self, kind: type) -> bool:
        return any(isinstance(event, kind) for event in self.events)

    def settle(self) -> None:
        while any(isinstance(event, Chunk | Restarted) for event in self.look()):
            pass


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def following(path: Path, **options: object) -> Follower:
    follower = Follower(Tail(str(path), **options))  # type: ignore[arg-type]
    follower.settle()
    return follower


def test_it_begins_at_the_end_and_gives_what_is_appended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "old\n")
    follower = following(log)
    append(log, "a\n")
    follower.settle()
    append(log, "b\n")
    follower.settle()
    assert follower.lines() == [b"a", b"b"]


def test_a_line_that_was_half_written_at_the_start_is_read_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "old\nrun= 1 tot")
    follower = following(log)
    append(log, "al=5\n")
    follower.settle()
    assert follower.lines() == [b"run= 1 total=5"]


def test_from_start_reads_all_within_the_limit_of_a_look(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(10_000)))
    follower = Follower(Tail(str(log), from_start=True, max_backlog_bytes=1000))
    given = sum(len(e.data) for e in follower.look(max_bytes=500) if isinstance(e, Chunk))
    assert 0 < given <= 500
    follower.settle()
    assert len(follower.lines()) == 10_000
    assert not follower.has(Skipped)


def test_a_log_that_comes_late_is_waited_for_and_read_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    follower = following(log)
    follower.look()
    assert [e.text for e in follower.events if isinstance(e, Trouble)] == [f"{log} does not exist yet: waiting for it"]
    append(log, "a\n")
    follower.settle()
    assert follower.lines() == [b"a"]
    assert any(isinstance(e, Trouble) and e.is_over for e in follower.events)


def test_rename_and_create_loses_nothing_of_either_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "0\n")
    follower = following(log)
    append(log, "a\n")
    log.rename(tmp_path / "log.1")
    append(log, "c\n")
    follower.look()
    append(tmp_path / "log.1", "b\n")  # the writer had not switched yet
    follower.settle()
    assert sorted(follower.lines()) == [b"a", b"b", b"c"]
    assert not any(e.may_have_lost for e in follower.events if isinstance(e, Restarted))


def test_an_old_file_ends_when_it_was_still_for_long(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "0\n")
    follower = following(log, linger_ns=3 * SECOND)
    log.rename(tmp_path / "log.1")
    append(log, "c\n")
    for _ in range(8):
        follower.look()
    assert [e.generation for e in follower.events if isinstance(e, Ended)] == [0]
    assert len(follower.tail.identities) == 1


def test_delete_and_recreate(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "0\n")
    follower = following(log)
    append(log, "a\n")
    log.unlink()
    append(log, "b\n")
    follower.settle()
    assert follower.lines() == [b"a", b"b"]


def test_copytruncate_is_said_to_be_lossy(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "0\n1\n")
    follower = following(log)
    os.truncate(log, 0)
    append(log, "a\n")
    follower.settle()
    assert follower.lines() == [b"a"]
    assert [e.may_have_lost for e in follower.events if isinstance(e, Restarted)] == [True]


def test_truncation_to_a_larger_size_is_seen_by_the_content(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "first run\n")
    follower = following(log, from_start=True)
    log.write_text("second run, which is longer\nand more\n")
    follower.settle()
    assert follower.text == {0: b"first run\n", 1: b"second run, which is longer\nand more\n"}


def test_truncation_to_the_same_size_is_seen_by_the_content(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "first run\n")
    follower = following(log, from_start=True)
    log.write_text("other run\n")
    os.utime(log, ns=(1, 1))
    follower.settle()
    assert follower.text[1] == b"other run\n"


def test_same_beginning_but_other_content_before_the_position_is_seen(tmp_path: Path) -> None:
    """Servers print the same banner at each start."""
    banner = "".join(f"loading layer {n}\n" for n in range(100))
    log = tmp_path / "log"
    append(log, banner + "run= 0 total=1\n")
    follower = following(log, from_start=True)
    log.write_text(banner + "run= 0 total=2\nrun= 1 total=3\n")
    follower.settle()
    assert follower.text[1].endswith(b"run= 0 total=2\nrun= 1 total=3\n")


def test_a_file_that_is_cut_back_is_not_read_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "a\nb\nc\n")
    follower = following(log, from_start=True)
    os.truncate(log, 4)
    follower.settle()
    append(log, "d\n")
    follower.settle()
    assert follower.lines() == [b"a", b"b", b"c", b"d"]


def test_a_copy_put_in_its_place_is_not_read_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "a\nb\n")
    follower = following(log, from_start=True)
    (tmp_path / "new").write_text("a\nb\nc\n")
    (tmp_path / "new").rename(log)
    follower.settle()
    assert follower.lines() == [b"a", b"b", b"c"]


def test_a_hole_left_by_a_writer_without_append_is_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb", buffering=0) as writer:
        writer.write(b"x" * 10_000_000 + b"\n")
        follower = following(log)
        os.truncate(log, 0)
        writer.write(b"a\n")
        follower.settle()
    given = b"".join(follower.text.values())
    assert given.lstrip(b"\0") == b"a\n"
    assert len(given) < 100_000


def test_far_behind_it_goes_on_near_the_end_and_counts_what_it_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "0\n")
    follower = following(log, max_backlog_bytes=10_000)
    log.write_bytes(b"0\n" + b"".join(b"line %05d\n" % n for n in range(100_000)))
    follower.look(max_bytes=5000)
    follower.settle()
    skipped = [e for e in follower.events if isinstance(e, Skipped)]
    whole = [line for line in follower.lines() if len(line) == 10]
    assert skipped
    # A skip cuts the line that reading had got into; its beginning was given out.
    assert len(whole) + sum(e.lines or 0 for e in skipped) == 100_000
    assert follower.lines()[-1] == b"line 99999"


def test_what_is_unread_at_the_end_is_said(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "a\n" * 1000)
    follower = Follower(Tail(str(log), from_start=True))
    follower.look(max_bytes=500)
    assert [e.count_bytes for e in follower.tail.finish() if isinstance(e, Skipped)] == [1500]


def test_a_directory_in_its_place_is_told_once(tmp_path: Path) -> None:
    log = tmp_path / "dir"
    log.mkdir()
    follower = following(log)
    troubles = [e.text for e in follower.events if isinstance(e, Trouble)]
    assert len(troubles) == 1
    assert str(log) in troubles[0]


class Rotation(RuleBasedStateMachine):
    """Any order of writing, rotating and looking: nothing twice, nothing lost in silence."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="livemon-tail-"))
        self.log = self.directory / "log"
        self.number = 0
        self.moment = 0
        self.is_partly_read = False
        self.must_tell = False
        self.renames = 0
        self.unread: set[bytes] = set()
        self.may_miss: set[bytes] = set()
        self.written: set[bytes] = set()
        self.renamed: Path | None = None
        self.follower = Follower(Tail(str(self.log), from_start=True, linger_ns=10**12))

    def line(self) -> bytes:
        self.number += 1
        line = b"line %d %s" % (self.number, b"x" * (self.number * 37 % 90))
        self.written.add(line)
        self.unread.add(line)
        return line

    @rule(count=st.integers(1, 5))
    def write(self, count: int) -> None:
        with self.log.open("ab") as file:
            file.write(b"".join(self.line() + b"\n" for _ in range(count)))

    @precondition(lambda self: self.renamed is not None and self.renamed.exists())
    @rule()
    def write_to_the_renamed_file(self) -> None:
        assert self.renamed is not None
        with self.renamed.open("ab") as file:
            file.write(self.line() + b"\n")

    @precondition(lambda self: self.log.exists())
    @rule()
    def rename(self) -> None:
        # A file that was never looked at before it is renamed again can't be known of.
        self.look()
        self.renames += 1
        self.renamed = self.directory / f"log.{self.renames}"
        self.log.rename(self.renamed)
        self.is_partly_read = False

    @precondition(lambda self: self.log.exists())
    @rule()
    def delete(self) -> None:
        self.look()
        self.log.unlink()
        self.is_partly_read = False

    @precondition(lambda self: self.log.exists())
    @rule(count=st.integers(0, 12))
    def truncate_and_write(self, count: int) -> None:
        # What was written to a file before the first look at it leaves no trace.
        self.must_tell |= bool(self.unread) and self.is_partly_read
        self.may_miss |= self.unread
        self.unread.clear()
        self.is_partly_read = False
        os.truncate(self.log, 0)
        if count:
            self.write(count)
        # The same size again within a tick of the kernel's clock would leave no trace.
        self.moment += 1
        os.utime(self.log, ns=(self.moment, self.moment))

    @rule(max_bytes=st.sampled_from([10, 100, 1 << 20]))
    def glance(self, max_bytes: int) -> None:
        self.follower.look(max_bytes)

    @rule()
    def look(self) -> None:
        self.follower.settle()
        self.unread -= set(self.follower.lines())
        self.is_partly_read = self.log.exists() and self.log.stat().st_size > 0

    @invariant()
    def nothing_comes_twice(self) -> None:
        lines = self.follower.lines()
        assert len(lines) == len(set(lines))
        assert set(lines) <= self.written

    def teardown(self) -> None:
        try:
            self.judge()
        finally:
            shutil.rmtree(self.directory)

    def judge(self) -> None:
        self.look()
        missed = self.written - set(self.follower.lines())
        assert missed <= self.may_miss
        if missed and self.must_tell:
            assert any(e.may_have_lost for e in self.follower.events if isinstance(e, Restarted))
        for event in self.follower.tail.finish():
            assert isinstance(event, Ended), "all was read"


TestRotation = Rotation.TestCase
TestRotation.settings = settings(max_examples=120, stateful_step_count=25, deadline=None)
