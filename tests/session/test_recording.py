"""Writing and reading a session: order, live following, ranges, locks, and how it ends."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from livemon.model.clock import ManualClock
from livemon.model.errors import SessionError
from livemon.model.samples import LogStream, Mark, ThreadInfo, ThreadTick
from livemon.session.format import APPENDED, PACKED
from livemon.session.reader import SessionReader
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, ROOT, START_NS, TICK_NS, flat, recording, thread_values, write


def levels(path: Path) -> list[int]:
    db = sqlite3.connect(path)
    try:
        return [row[0] for row in db.execute("SELECT level FROM block WHERE id > 0 ORDER BY id")]
    finally:
        db.close()


def test_a_session_read_again_is_the_session_written(tmp_path: Path) -> None:
    appends = recording(300)
    write(tmp_path / "s", appends).close()
    reader = SessionReader(tmp_path / "s")
    assert reader.facts == FACTS
    assert reader.read_new() == flat(appends)
    assert reader.read_new() == []
    assert reader.damage == ()
    assert reader.recorder.closed_reason == "closed"
    assert reader.bounds_ns == (START_NS, START_NS + 300 * TICK_NS)
    reader.close()


def test_following_a_recorder_gives_every_sample_once_while_rows_are_merged(tmp_path: Path) -> None:
    appends = recording(400)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    readers = [SessionReader(tmp_path / "s") for _ in range(3)]
    got = [[] for _ in readers]  # type: ignore[var-annotated]
    for number, batch in enumerate(appends):
        writer.append(batch)
        if number % 10 == 9:
            writer.maintain()
        for every, reader, samples in zip((1, 37, 150), readers, got, strict=True):
            if number % every == 0:
                samples += reader.read_new()
    for reader, samples in zip(readers, got, strict=True):
        samples += reader.read_new()
        assert samples == flat(appends)
        assert reader.damage == ()
        assert reader.recorder.is_alive
        reader.close()
    writer.close()
    assert set(levels(tmp_path / "s")) == {PACKED}


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_a_limit_cuts_anywhere_and_loses_nothing(tmp_path: Path, limit: int) -> None:
    appends = recording(60)
    write(tmp_path / "s", appends).close()
    reader = SessionReader(tmp_path / "s")
    got = []
    while samples := reader.read_new(limit):
        assert len(samples) <= limit
        got += samples
    assert got == flat(appends)
    reader.rewind()
    assert reader.read_new() == flat(appends)
    reader.close()


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize(("first", "last"), [(0, 5), (49, 51), (130, 180), (255, 299), (299, 299)])
def test_a_range_begins_with_every_threads_state_and_holds_what_arrived(
    tmp_path: Path, first: int, last: int, is_closed: bool
) -> None:
    appends = recording(300)
    writer = write(tmp_path / "s", appends)
    if is_closed:
        writer.close()
    start_ns, end_ns = START_NS + first * TICK_NS, START_NS + last * TICK_NS
    reader = SessionReader(tmp_path / "s")
    found = reader.read_range(start_ns, end_ns)
    expected = [s for s in flat(appends) if start_ns <= s.arrival_ns <= end_ns]
    state = thread_values(flat(appends), start_ns)
    if state:
        preamble = found[: len(found) - len(expected)]
        *infos, tick = preamble
        assert isinstance(tick, ThreadTick)
        assert tick.is_keyframe
        assert tick.arrival_ns < start_ns
        columns = (tick.cpu_ns, tick.run_delay_ns, tick.slices, tick.last_cpu)
        assert {i: tuple(c[at] for c in columns) for at, i in enumerate(tick.index)} == state
        assert isinstance(infos[0], LogStream)
        assert [info.index for info in infos[1:] if isinstance(info, ThreadInfo)] == list(range(6))
    assert found[len(found) - len(expected) :] == expected
    reader.close()
    writer.close()


def test_what_is_not_merged_in_time_at_the_end_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livemon.session.writer._CLOSING_NS", -1)
    appends = recording(300)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    for batch in appends:
        writer.append(batch)
    writer.maintain()
    writer.close("SIGTERM")
    left = levels(tmp_path / "s")
    assert set(left) == {APPENDED}
    # A row holds the appends of about a second, not each alone.
    assert len(appends) / 11 <= len(left) <= len(appends) / 5
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == flat(appends)
    assert (reader.damage, reader.recorder.closed_reason) == ((), "SIGTERM")
    reader.close()


def test_an_empty_range_and_a_range_outside_hold_nothing(tmp_path: Path) -> None:
    write(tmp_path / "s", recording(20)).close()
    reader = SessionReader(tmp_path / "s")
    assert reader.read_range(START_NS - 100, START_NS - 50) == []
    later = reader.read_range(START_NS + 10**12, START_NS + 2 * 10**12)
    assert [s for s in later if s.arrival_ns >= START_NS + 10**12] == []
    reader.close()


def test_a_second_recorder_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    code = (
        "import sys; from livemon.session.writer import SessionWriter; from livemon.model.facts import SessionFacts\n"
        "w = SessionWriter(sys.argv[1], SessionFacts()); print('ready', flush=True); sys.stdin.read(); w.close()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "s")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(SessionError, match=rf"recorded by recorder pid {other.pid}"):
            SessionWriter(tmp_path / "s", FACTS)
        reader = SessionReader(tmp_path / "s")
        assert reader.recorder.pid == other.pid
        assert reader.recorder.is_alive
        other.kill()
        other.wait()
        assert reader.recorder.is_alive is False
        reader.close()
    with pytest.raises(SessionError, match="already exists"):
        SessionWriter(tmp_path / "s", FACTS)


def test_a_clean_close_leaves_one_file_that_opens_where_nothing_can_be_written(tmp_path: Path) -> None:
    appends = recording(30)
    write(tmp_path / "s", appends).close("SIGTERM")
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]
    db = sqlite3.connect(f"file:{tmp_path / 's'}?mode=ro&immutable=1", uri=True)
    assert db.execute("PRAGMA journal_mode").fetchone()[0] in ("delete", "off")
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    db.close()
    assert SessionReader(tmp_path / "s").recorder.closed_reason == "SIGTERM"


def test_a_viewer_that_stays_does_not_keep_the_recorder_from_closing(tmp_path: Path) -> None:
    appends = recording(30)
    writer = write(tmp_path / "s", appends)
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == flat(appends)
    writer.close()
    assert reader.recorder.closed_reason == "closed"
    assert reader.read_new() == []
    reader.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s"]
    again = SessionReader(tmp_path / "s")
    assert again.read_new() == flat(appends)
    assert again.damage == ()


def test_marks_reach_the_recorder_and_from_there_the_recording(tmp_path: Path) -> None:
    appends = recording(10)
    writer = write(tmp_path / "s", appends)
    reader = SessionReader(tmp_path / "s")
    reader.add_mark("deploy\n\x1b[31m", START_NS + 5, "key")
    marks = writer.take_marks()
    assert [(m.t_ns, m.text, m.origin) for m in marks] == [(START_NS + 5, "deploy [31m", "key")]
    assert writer.take_marks() == []
    writer.append(marks)
    assert reader.read_new()[-1] == marks[0]
    reader.close()
    writer.close()


def test_a_mark_on_an_ended_session_is_appended(tmp_path: Path) -> None:
    appends = recording(10)
    write(tmp_path / "s", appends).close()
    reader = SessionReader(tmp_path / "s")
    reader.add_mark("what was that", START_NS + 7)
    end_ns = START_NS + 10 * TICK_NS
    assert reader.read_new() == [*flat(appends), Mark(end_ns, START_NS + 7, "what was that", "command")]
    assert reader.damage == ()
    reader.close()


def test_a_newer_format_is_refused_with_the_version_that_reads_it(tmp_path: Path) -> None:
    write(tmp_path / "s", recording(3)).close()
    db = sqlite3.connect(tmp_path / "s")
    db.execute("PRAGMA user_version=3")
    db.execute("UPDATE meta SET value = '0.9.0' WHERE key = 'livemon_version'")
    db.commit()
    db.close()
    with pytest.raises(SessionError, match=r"format 3.*reads up to 2.*livemon 0\.9\.0 or newer"):
        SessionReader(tmp_path / "s")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "there is no session"), (b"", "is empty"), (b"run= 0 validate=3ms\n" * 50, "not a livemon session")],
)
def test_what_is_no_session_is_said_to_be_none(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "s").write_bytes(content)
    with pytest.raises(SessionError, match=message):
        SessionReader(tmp_path / "s")
    with pytest.raises(SessionError, match="is a folder"):
        SessionReader(tmp_path)


def test_another_programs_database_is_no_session(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "s")
    db.execute("CREATE TABLE x (y)")
    db.commit()
    db.close()
    with pytest.raises(SessionError, match="not a livemon session"):
        SessionReader(tmp_path / "s")


def test_rare_samples_are_plain_tables_for_sqlite3(tmp_path: Path) -> None:
    write(tmp_path / "s", recording(10)).close()
    db = sqlite3.connect(tmp_path / "s")
    assert db.execute("SELECT name FROM thread WHERE tid = 4803").fetchone() == ("worker-3",)
    assert db.execute("SELECT path FROM stream").fetchone() == ("/var/log/serve.log",)
    db.close()


def test_a_recorder_that_has_no_spare_time_merges_rows_all_the_same(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    appends = recording(1200, threads=2, records=1)
    for batch in appends:
        writer.append(batch)
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == flat(appends)
    reader.close()
    assert levels(tmp_path / "s").count(PACKED) >= 7
    writer.close()


def test_the_recorder_needs_no_numpy(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.session.scripted import *\n"
        "w = write(Path(sys.argv[1]), recording(200)); w.maintain(); w.close(); assert 'numpy' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_lock_file_tells_people_who_records(tmp_path: Path) -> None:
    writer = write(tmp_path / "s", recording(1))
    assert (tmp_path / "s-lock").read_text().strip() == str(os.getpid())
    writer.close()
