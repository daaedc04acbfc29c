"""Whatever happens to the disk: the recorder goes on, says what it lost, and nothing wrong is ever read."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from livemon.model.clock import ManualClock
from livemon.model.errors import SessionError
from livemon.model.samples import Lost, Note, Sample
from livemon.session import filesystem
from livemon.session.reader import SessionReader
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, ROOT, START_NS, TICK_NS, flat, recording, write
from tests.session.test_damage import is_subsequence

SECOND = 1_000_000_000


def own(samples: list[Sample]) -> list[Sample]:
    """Without what the writer itself has to say."""
    return [s for s in samples if not isinstance(s, Lost | Note)]


class Faulty:
    """A connection whose writes fail while ``error`` is set."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.error: str | None = None

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        if self.error is not None and not statement.startswith(("SELECT", "PRAGMA", "ROLLBACK")):
            raise sqlite3.OperationalError(self.error)
        return self._db.execute(statement, *values)

    def __getattr__(self, name: str) -> object:
        return getattr(self._db, name)


def faulty(path: Path, clock: ManualClock) -> tuple[SessionWriter, Faulty]:
    writer = SessionWriter(path, FACTS, clock=clock)
    db = Faulty(writer._db)
    writer._db = db  # type: ignore[assignment]
    return writer, db


def test_a_failure_that_passes_loses_nothing_and_is_told(tmp_path: Path) -> None:
    clock = ManualClock()
    writer, db = faulty(tmp_path / "s", clock)
    appends = recording(100)
    for number, batch in enumerate(appends):
        db.error = "attempt to write a readonly database" if 40 <= number < 70 else None
        writer.append(batch)
        assert (writer.problem is not None) == (40 <= number < 70) or number in range(70, 80)
        clock.advance_ns(TICK_NS)
    assert writer.problem is None
    writer.close()
    reader = SessionReader(tmp_path / "s")
    samples = reader.read_new()
    assert own(samples) == flat(appends)
    notes = [s for s in samples if isinstance(s, Note)]
    assert len(notes) == 1
    assert notes[0].severity == "error"
    assert "readonly database" in notes[0].text
    assert "could not record for 3" in notes[0].text
    assert reader.damage == ()
    reader.close()


def test_a_failure_that_lasts_loses_the_oldest_and_says_how_many_from_when_to_when(tmp_path: Path) -> None:
    clock = ManualClock()
    writer, db = faulty(tmp_path / "s", clock)
    appends = recording(900)
    for number, batch in enumerate(appends):
        db.error = "disk I/O error" if 100 <= number < 850 else None
        writer.append(batch)
        clock.advance_ns(TICK_NS)
    writer.close()
    reader = SessionReader(tmp_path / "s")
    samples = reader.read_new()
    assert is_subsequence(own(samples), flat(appends))
    (lost,) = [s for s in samples if isinstance(s, Lost)]
    assert lost.count == writer.lost_samples == len(flat(appends)) - len(own(samples))
    assert lost.start_ns == appends[100][0].arrival_ns
    assert lost.unit == "samples"
    assert "disk I/O error" in lost.reason
    assert samples[-1] == appends[-1][-1]
    reader.close()


def test_memory_stays_bounded_while_nothing_can_be_written(tmp_path: Path) -> None:
    clock = ManualClock()
    writer, db = faulty(tmp_path / "s", clock)
    db.error = "disk I/O error"
    for batch in recording(3000, threads=2, records=1):
        writer.append(batch)
        clock.advance_ns(TICK_NS)
    assert len(writer._queue) <= 600
    writer.close()


def test_another_writer_for_a_moment_costs_a_tick_no_note_and_no_sample(tmp_path: Path) -> None:
    appends = recording(30)
    writer = SessionWriter(tmp_path / "s", FACTS, clock=ManualClock())
    other = sqlite3.connect(tmp_path / "s", isolation_level=None)
    for number, batch in enumerate(appends):
        if number == 10:
            other.execute("BEGIN IMMEDIATE")
        if number == 13:
            other.execute("ROLLBACK")
        writer.append(batch)
    other.close()
    writer.close()
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == flat(appends)
    reader.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "livemon-test", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"can't mount a tmpfs here: {done.stderr.decode().strip()}; see the quota test for the same path")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_full_disk_recording_goes_on_in_the_room_it_has(small_disk: Path) -> None:
    clock = ManualClock()
    writer = SessionWriter(small_disk / "s", FACTS, clock=clock)
    reader = SessionReader(small_disk / "s")
    appends = recording(1500, threads=40, records=12)
    newest_seen = 0
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        for number, batch in enumerate(appends):
            writer.append(batch)
            clock.advance_ns(TICK_NS)
            if number == 600:
                # Somebody else takes all that is left.
                try:
                    while True:
                        filler.write(bytes(4096))
                except OSError:
                    pass
            if number % 10 == 9:
                writer.maintain()
            if number % 100 == 99 and (seen := reader.read_new()):
                newest_seen = seen[-1].arrival_ns
    assert newest_seen >= START_NS + 1400 * TICK_NS, "the view stood still"
    writer.close()
    samples = reader.read_new()
    reader.close()
    reader = SessionReader(small_disk / "s")
    samples = reader.read_new()
    assert reader.damage == ()
    assert is_subsequence([s for s in own(samples) if type(s).__name__ != "LogCount"], flat(appends))
    assert own(samples)[-1] == appends[-1][-1]
    told = [s.text for s in samples if isinstance(s, Note)]
    assert any("database or disk is full" in text for text in told), told
    # How much had to go depends on how often the log could be copied meanwhile: whatever is missing is told.
    is_whole = own(samples) == flat(appends)
    assert is_whole or any(s.source == "session" for s in samples if isinstance(s, Lost))
    reader.close()


def test_on_a_disk_that_stays_full_the_session_says_what_is_missing_up_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=500k", "livemon-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("can't mount a tmpfs here")
    try:
        clock = ManualClock()
        writer = SessionWriter(folder / "s", FACTS, clock=clock)
        appends = recording(300, threads=4, records=2)
        with (folder / "filler").open("wb", buffering=0) as filler:
            for number, batch in enumerate(appends):
                writer.append(batch)
                clock.advance_ns(TICK_NS)
                while number >= 20:
                    try:
                        filler.write(bytes(4096))
                    except OSError:
                        break
        writer.close()
        assert "full" in (writer.problem or "")
        reader = SessionReader(folder / "s")
        lost = [s for s in reader.read_new() if isinstance(s, Lost)]
        assert reader.recorder.closed_reason == "closed"
        assert {"threads", "log"} <= {s.source for s in lost}
        assert sum(s.count for s in lost) == writer.lost_samples
        assert all(s.start_ns is not None and s.end_ns == appends[-1][-1].arrival_ns for s in lost)
        assert not (folder / "s-reserve").exists()
        reader.close()
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


QUOTA = """
import resource, sys
from pathlib import Path
from livemon.model.clock import ManualClock
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, TICK_NS, recording
clock = ManualClock()
writer = SessionWriter(Path(sys.argv[1]), FACTS, clock=clock)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
troubled = 0
for number, batch in enumerate(recording(1500, threads=40, records=12)):
    writer.append(batch)
    troubled += writer.problem is not None
    clock.advance_ns(TICK_NS)
    if number % 10 == 9:
        writer.maintain()
print("troubled", troubled)
writer.close()
"""


def test_a_quota_on_file_size_never_ends_the_recorder_and_the_session_stays_sound(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUOTA, str(tmp_path / "s")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("troubled ")
    assert done.stdout != "troubled 0\n"
    reader = SessionReader(tmp_path / "s")
    samples = reader.read_new()
    assert samples
    assert is_subsequence(
        [s for s in own(samples) if type(s).__name__ != "LogCount"], flat(recording(1500, threads=40, records=12))
    )
    reader.close()


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_removed_folder_does_not_stop_the_view_and_the_session_is_kept_elsewhere(tmp_path: Path, how: str) -> None:
    folder, safe = tmp_path / "gone", tmp_path / "state" / "livemon"
    writer = SessionWriter(folder / "s", FACTS, clock=ManualClock(), rescue_folder=safe)
    reader = SessionReader(folder / "s")
    appends = recording(60)
    for batch in appends[:20]:
        writer.append(batch)
    shutil.rmtree(folder)
    if how == "replaced":
        folder.mkdir()
        (folder / "s").write_text("something else")
    writer.maintain()
    for batch in appends[20:]:
        writer.append(batch)
    samples = reader.read_new()
    assert own(samples) == flat(appends)
    (note,) = [s for s in samples if isinstance(s, Note)]
    assert "was removed or replaced: the view goes on" in note.text
    assert f"is kept in {safe} when it ends" in note.text
    writer.close()
    reader.close()
    assert writer.rescue is not None
    assert writer.rescue.path == safe / "s-rescued.livemon"
    assert f"it is kept as {writer.rescue.path}" in writer.rescue.text
    again = SessionReader(writer.rescue.path)
    assert again.read_new() == samples
    assert again.damage == ()
    assert again.recorder.closed_reason == "closed"
    again.close()
    assert os.listdir(safe) == ["s-rescued.livemon"]
    assert not folder.exists() or (folder / "s").read_text() == "something else"


def test_a_removed_session_that_cant_be_kept_says_so_and_one_that_need_not_be_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for safe, words in ((tmp_path / "file" / "below", "could not be kept as"), (None, "")):
        writer = SessionWriter(tmp_path / "gone" / "s", FACTS, clock=ManualClock(), rescue_folder=safe)
        writer.append(recording(1)[0])
        shutil.rmtree(tmp_path / "gone")
        writer.close()
        assert words in (writer.rescue.text if writer.rescue else "")
        assert writer.rescue is None or writer.rescue.path is None
        assert bool(words) == (writer.rescue is not None)


def test_a_folder_that_cant_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SessionError, match=r"can't write .*; choose another place"):
        SessionWriter(tmp_path / "file" / "s", FACTS)


def test_an_unclean_session_on_a_read_only_disk_is_read_whole(small_disk: Path, tmp_path: Path) -> None:
    appends = recording(130)
    writer = write(tmp_path / "live", appends)
    for suffix in ("", "-wal", "-recent"):
        shutil.copyfile(tmp_path / f"live{suffix}", small_disk / f"s{suffix}")
    writer.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    reader = SessionReader(small_disk / "s")
    assert reader.read_new() == flat(appends)
    assert "not closed cleanly" in reader.damage[0]
    with pytest.raises(SessionError, match="can't write"):
        reader.add_mark("x", START_NS)
    reader.close()
    assert sorted(os.listdir(small_disk)) == ["s", "s-recent", "s-wal"]


def test_a_network_file_system_gets_no_log_and_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livemon.session.creating.filesystem_of", lambda _: "nfs4")
    appends = recording(30)
    writer = write(tmp_path / "s", appends)
    assert not (tmp_path / "s-wal").exists()
    reader = SessionReader(tmp_path / "s")
    note, *samples = reader.read_new()
    assert isinstance(note, Note)
    assert "network file system (nfs4)" in note.text
    assert samples == flat(appends)
    reader.close()
    writer.close()


def test_the_file_system_of_a_path_is_that_of_its_innermost_mount(tmp_path: Path) -> None:
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(
        "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n"
        f"30 22 0:40 / {tmp_path} rw,relatime shared:5 - nfs4 server:/x rw\n"
        "31 22 0:41 / /tmp/with\\040space rw - xfs /dev/sdb rw\n"
        "garbage\n"
    )
    assert filesystem.filesystem_of(tmp_path / "a" / "b", mountinfo) == "nfs4"
    assert filesystem.filesystem_of(Path("/usr"), mountinfo) == "ext4"
    assert filesystem.filesystem_of(Path("/tmp/with space/x"), mountinfo) == "xfs"
    assert filesystem.filesystem_of(tmp_path, tmp_path / "nothing") is None


def test_after_ten_seconds_of_standing_still_the_state_is_written_anew(tmp_path: Path) -> None:
    appends = recording(40)
    shifted = [[s for s in batch if s.arrival_ns <= START_NS + 20 * TICK_NS] for batch in appends]
    late = recording(200)[140:160]
    sequence = [batch for batch in shifted if batch] + late
    write(tmp_path / "s", sequence).close()
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == flat(sequence)
    reader.close()


def test_closing_twice_and_appending_nothing_are_harmless(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s", FACTS)
    writer.append([])
    writer.flush()
    writer.close()
    writer.close()
    reader = SessionReader(tmp_path / "s")
    assert reader.read_new() == []
    assert reader.bounds_ns is None
    assert reader.damage == ()
    reader.close()
