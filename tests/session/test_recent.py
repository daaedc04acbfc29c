"""The newest second beside the database: nothing of it is lost, read twice, out of order or wrong, whatever ends it."""

import contextlib
import errno
import json
import json.encoder
import os
import random
import shutil
import sqlite3
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.model.clock import ManualClock
from livemon.model.samples import Mark, Note, Sample, SelfSample, ThreadTick
from livemon.session import recent
from livemon.session.format import CLOSED_FORMAT, FORMAT, STATE_EVERY_NS, Block
from livemon.session.reader import SessionReader
from livemon.session.recent import RecentFile, RecentReader, dump_record, load_samples, recent_path
from livemon.session.store import prune, remove_session, size_of
from livemon.session.writer import SessionWriter
from tests.session.samples_strategy import rare, thread_ticks, timings
from tests.session.scripted import FACTS, START_NS, TICK_NS, flat, recording, write
from tests.session.test_damage import copy, is_subsequence, killed, read

FILES = ("", "-wal", "-recent")


def user_version(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    finally:
        db.close()


def rows(path: Path) -> list[tuple[int, int]]:
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT id, last_id FROM block WHERE id > 0 ORDER BY id").fetchall()
    finally:
        db.close()


def after(path: Path, session: int, seen: int) -> list[Block]:
    """The appends after ``seen`` that a reader finds beside the database."""
    with contextlib.closing(RecentReader(path, session)) as reader:
        return reader.after(seen)


@given(st.lists(timings | thread_ticks(), min_size=1, max_size=8), st.integers(1, 2**40))
def test_an_append_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, samples: list, number: int) -> None:
    record = dump_record(7, number, samples)
    assert record is not None
    folder = tmp_path_factory.mktemp("recent")
    recent_path(folder / "s").write_bytes(record)
    (block,) = after(folder / "s", 7, number - 1)
    assert load_samples(block) == samples
    assert (block.id, block.last_id, block.samples) == (number, number, len(samples))
    arrivals = [sample.arrival_ns for sample in samples]
    assert (block.start_ns, block.end_ns) == (min(arrivals), max(arrivals))
    assert after(folder / "s", 7, number) == []
    assert after(folder / "s", 8, 0) == []
    shutil.rmtree(folder)


@given(st.lists(timings | thread_ticks(), max_size=3), rare)
def test_an_append_with_anything_else_is_for_the_database(samples: list[Sample], other: Sample) -> None:
    assert dump_record(7, 1, [*samples, other]) is None


def test_a_tick_whose_columns_do_not_fit_is_left_to_the_database_to_refuse(tmp_path: Path) -> None:
    one, two = array("q", [1]), array("q", [1, 2])
    writer = write(tmp_path / "s", recording(3))
    odd = ThreadTick(START_NS + 10**9, one, two, one, one, one)
    assert dump_record(7, 1, [odd]) is None
    with pytest.raises(ValueError, match="has 2 values of 1 threads"):
        writer.append([odd])
    writer.append(recording(4)[3])
    writer.close()
    assert read(tmp_path / "s") == (flat(recording(4)), ())


def test_appends_of_a_second_become_one_row_and_other_samples_end_the_second(tmp_path: Path) -> None:
    appends = recording(35)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    for batch in appends:
        writer.append(batch)
    # The machine is sampled with every tenth append.
    assert rows(tmp_path / "s") == [(1, 1), (2, 11), (12, 21), (22, 31)]
    at_ns = START_NS + 36 * TICK_NS
    writer.append([Mark(at_ns, at_ns, "now", "key")])
    assert rows(tmp_path / "s")[-1] == (32, 36)
    for number in range(12):
        column = array("q", [number])
        writer.append([ThreadTick(at_ns + number * TICK_NS, array("q", [0]), column, column, column, column)])
    assert rows(tmp_path / "s")[-1] == (37, 47)
    writer.close()


def test_a_session_is_of_the_newer_format_only_while_something_lies_beside_it(tmp_path: Path) -> None:
    writer = write(tmp_path / "s", recording(5))
    assert user_version(tmp_path / "s") == FORMAT
    assert recent_path(tmp_path / "s").exists()
    writer.close()
    assert user_version(tmp_path / "s") == CLOSED_FORMAT
    assert os.listdir(tmp_path) == ["s"]
    durable = write(tmp_path / "d", recording(5), is_durable=True)
    assert user_version(tmp_path / "d") == CLOSED_FORMAT
    assert not recent_path(tmp_path / "d").exists()
    assert rows(tmp_path / "d") == [(n, n) for n in range(1, 6)]
    durable.close()


def test_a_killed_session_cut_at_every_byte_of_its_newest_appends_loses_whole_ones_at_the_end(tmp_path: Path) -> None:
    appends = recording(14)
    torn = killed(tmp_path / "x", appends)
    path = copy(torn, tmp_path)
    beside = recent_path(path)
    data = beside.read_bytes()
    reader = RecentReader(path, None)
    newest = reader.after(11)  # older ones may stand behind them
    reader.close()
    assert [block.id for block in newest] == [12, 13, 14]
    ends: list[int] = []
    for block in newest:
        ends.append((ends[-1] if ends else 0) + len(block.data) + recent._HEAD.size)
    lengths = set()
    for cut in range(ends[-1], -1, -1):
        beside.write_bytes(data[:cut])
        found, damage = read(path)
        whole = 11 + sum(end <= cut for end in ends)
        assert found == flat(appends[:whole]), cut
        lengths.add(whole)
        torn_bytes = cut - max([0, *(end for end in ends if end <= cut)])
        assert len(damage) == 1
        assert "not closed cleanly" in damage[0]
        if torn_bytes >= recent._NUMBER_AT + 8:
            assert f", {torn_bytes} bytes ignored" in damage[0], cut
    assert lengths == {11, 12, 13, 14}


def test_damage_among_the_newest_appends_never_gives_a_wrong_value_and_is_told(tmp_path: Path) -> None:
    appends = recording(19)
    torn = killed(tmp_path / "x", appends)
    rng = random.Random(1)
    written = flat(appends)
    for _ in range(150):
        path = copy(torn, tmp_path)
        beside = recent_path(path)
        data = bytearray(beside.read_bytes())
        at = rng.randrange(len(data))
        data[at] ^= 1 << rng.randrange(8)
        beside.write_bytes(data)
        found, damage = read(path)
        assert is_subsequence(found, written), at
        assert len(written) - len(found) <= max(map(len, appends[11:])), at
        assert found == written or "not closed cleanly" in damage[0]
        if found != written and found[-1] == written[-1]:
            assert len(damage) == 2, at


def test_newest_appends_of_another_session_are_not_taken_for_this_ones(tmp_path: Path) -> None:
    writer = write(tmp_path / "s", recording(17), is_durable=True)
    recent_path(tmp_path / "s").write_bytes(b"".join(dump_record(5, n, recording(25)[n]) or b"" for n in range(18, 25)))
    assert read(tmp_path / "s")[0] == flat(recording(17))
    writer.close()
    other = SessionWriter(tmp_path / "t", FACTS, clock=ManualClock())
    recent_path(tmp_path / "t").write_bytes(recent_path(tmp_path / "s").read_bytes())
    assert read(tmp_path / "t") == ([], ())
    other.close()


def test_a_recorder_killed_between_the_row_and_the_new_beginning_leaves_nothing_twice(tmp_path: Path) -> None:
    appends = recording(40)
    writer = SessionWriter(tmp_path / "live", FACTS, clock=ManualClock())
    for number, batch in enumerate(appends[:31]):
        if number == 30:
            before = recent_path(tmp_path / "live").read_bytes()
        writer.append(batch)
    for suffix in ("", "-wal"):
        shutil.copyfile(tmp_path / f"live{suffix}", tmp_path / f"s{suffix}")
    recent_path(tmp_path / "s").write_bytes(before)
    writer.close()
    found, damage = read(tmp_path / "s")
    assert found == flat(appends[:31])
    assert len(damage) == 1


@pytest.mark.parametrize("fault", ["full", "short"])
def test_without_room_beside_the_database_appends_go_into_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    appends = recording(60)
    pwrite = os.pwrite

    def failing(fd: int, data: bytes, at: int) -> int:
        if fault == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(fd, data[: len(data) // 2], at)

    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    reader = SessionReader(tmp_path / "s")
    got = []
    for number, batch in enumerate(appends):
        with monkeypatch.context() as patched:
            if 15 <= number < 35:
                patched.setattr(recent.os, "pwrite", failing)
            writer.append(batch)
        assert writer.problem is None
        got += reader.read_new()
        assert got == flat(appends[: number + 1])
    assert reader.damage == ()
    assert (12, 16) in rows(tmp_path / "s")
    assert (20, 20) in rows(tmp_path / "s")
    reader.close()
    writer.close()
    assert read(tmp_path / "s") == (flat(appends), ())


def test_followers_at_any_pace_see_every_sample_once_while_rows_are_made_and_merged(tmp_path: Path) -> None:
    rng = random.Random(4)
    appends = recording(500)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    readers = [SessionReader(tmp_path / "s") for _ in range(4)]
    got: list[list[Sample]] = [[] for _ in readers]
    for number, batch in enumerate(appends):
        if rng.random() < 0.05:
            writer.flush()
        writer.append(batch)
        if number % 10 == 9:
            writer.maintain()
        for at, reader in enumerate(readers):
            if rng.random() < 0.5 ** (2 * at):
                got[at] += reader.read_new(rng.choice([None, None, 3]))
    for at, reader in enumerate(readers):
        got[at] += reader.read_new()
        assert got[at] == flat(appends)
        assert reader.damage == ()
        assert reader.bounds_ns == (START_NS, START_NS + 500 * TICK_NS)
        reader.close()
    writer.close()


def test_threads_values_go_on_right_after_rows_that_were_seen_before_they_were_rows(tmp_path: Path) -> None:
    """A row without a full state is decoded from the row before it, not from what was read meanwhile."""
    count = 3 * STATE_EVERY_NS // TICK_NS
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    reader = SessionReader(tmp_path / "s")
    for batch in recording(count):
        writer.append(batch)
        assert reader.read_new() == batch
    reader.close()
    writer.close()


def test_a_mark_on_a_killed_session_goes_behind_its_newest_appends(tmp_path: Path) -> None:
    appends = recording(17)
    path = copy(killed(tmp_path / "x", appends), tmp_path)
    reader = SessionReader(path)
    reader.add_mark("what was that", START_NS + 7)
    mark = Mark(START_NS + 17 * TICK_NS, START_NS + 7, "what was that", "command")
    assert reader.read_new() == [*flat(appends), mark]
    reader.add_mark("and that", START_NS + 8)
    assert [s.text for s in reader.read_new() if isinstance(s, Mark)] == ["and that"]
    assert len(reader.damage) == 1
    reader.close()
    again, damage = read(path)
    assert again[:-1] == [*flat(appends), mark]
    assert len(damage) == 1


def test_a_disk_that_stays_full_leaves_the_newest_appends_beside_the_closed_session(tmp_path: Path) -> None:
    appends = recording(25)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    for batch in appends:
        writer.append(batch)
    insert = writer._insert

    def full(*_: object) -> bool:
        writer.problem = "database or disk is full"
        return False

    writer._insert = full  # type: ignore[method-assign]
    writer.append([SelfSample(START_NS + 26 * TICK_NS, 1, 2, 3, 4, 5, 6)])
    assert writer.problem is not None
    writer.close("stopped")
    assert insert is not full
    assert recent_path(tmp_path / "s").exists()
    assert user_version(tmp_path / "s") == FORMAT
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == flat(appends)
    assert reader.recorder.closed_reason == "stopped"
    assert reader.damage == ()
    reader.close()


def test_a_full_disk_in_the_middle_of_a_second_loses_nothing_and_keeps_the_order(tmp_path: Path) -> None:
    clock = ManualClock()
    appends = recording(80)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=clock)
    reader = SessionReader(tmp_path / "s")
    insert, got = writer._insert, []

    def full(*_: object) -> bool:
        writer.problem = "attempt to write a readonly database"
        return False

    for number, batch in enumerate(appends):
        writer._insert = full if 35 <= number < 58 else insert  # type: ignore[method-assign,assignment]
        writer.append(batch)
        clock.advance_ns(TICK_NS)
        got += reader.read_new()
    writer.close()
    got += reader.read_new()
    assert [s for s in got if not isinstance(s, Note)] == flat(appends)
    assert reader.damage == ()
    reader.close()
    assert read(tmp_path / "s")[0] == got


def test_a_removed_or_pruned_session_takes_its_newest_appends_along(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    for name in ("a", "b"):
        appends = recording(17)
        source = killed(tmp_path / name, appends)
        folder.mkdir(exist_ok=True)
        for suffix in FILES:
            shutil.copyfile(f"{source}{suffix}", folder / f"{name}.livemon{suffix}")
    assert size_of(folder / "a.livemon") == sum((folder / f"a.livemon{suffix}").stat().st_size for suffix in FILES)
    remove_session(folder / "a.livemon")
    (folder / "b.livemon").unlink()
    prune(folder)
    assert os.listdir(folder) == []


def test_a_successor_by_the_same_name_keeps_its_newest_appends(tmp_path: Path) -> None:
    first = RecentFile(tmp_path / "s", 7)
    recent_path(tmp_path / "s").unlink()
    second = RecentFile(tmp_path / "s", 8)
    assert second.put(1, recording(2)[1])
    first.close(is_needed=False)
    assert len(after(tmp_path / "s", 8, 0)) == 1
    second.close(is_needed=False)
    assert os.listdir(tmp_path) == []


def test_a_long_second_does_not_leave_a_long_file(tmp_path: Path) -> None:
    file = RecentFile(tmp_path / "s", 7)
    (tick,) = [s for s in recording(1, threads=4000)[0] if isinstance(s, ThreadTick)]
    for number in range(1, 12):
        assert file.put(number, [tick])
    assert file.size_bytes > recent._SHORTEN_FROM
    file.begin_anew()
    assert recent_path(tmp_path / "s").stat().st_size == 0
    assert file.put(12, [tick])
    assert [block.id for block in after(tmp_path / "s", 7, 0)] == [12]
    file.close(is_needed=False)
    file.close(is_needed=False)
    assert os.listdir(tmp_path) == []


def open_files(path: Path) -> list[str]:
    """Descriptors of this process on the newest appends of a session."""
    names = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            continue  # the one that listed the folder
    return [name for name in names if name.startswith(str(recent_path(path)))]


def test_a_reader_keeps_no_file_open_after_its_end(tmp_path: Path) -> None:
    source = killed(tmp_path / "s", recording(17))
    reader = SessionReader(source)
    assert len(open_files(source)) == 1
    reader.close()
    assert open_files(source) == []


def test_the_text_is_the_same_without_the_encoder_of_cpython(monkeypatch: pytest.MonkeyPatch) -> None:
    value = [('a\u20ac\udc80"', 1.5, -(2**63), None, True, [("x", 0.1), ["y"]]), (1, 2, False, 3, ())]
    quick = recent._text_encoder()(value)
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    plain = recent._text_encoder()
    assert isinstance(getattr(plain, "__self__", None), json.JSONEncoder)
    assert plain(value) == quick
