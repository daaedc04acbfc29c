"""Size caps: the oldest minutes of a session go first, kept stretches stay, old sessions are pruned."""

import os
from pathlib import Path

import pytest

from livemon.model.clock import ManualClock
from livemon.model.errors import SessionError
from livemon.model.samples import ClockAnchor, LogCount, LogStream, Lost, ThreadInfo, ThreadTick, TimingRecord
from livemon.session.reader import SessionReader
from livemon.session.store import list_sessions, new_session_path, prune, remove_session, resolve_session, state_dir
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, START_NS, TICK_NS, flat, recording, thread_values, write

SECOND = 1_000_000_000
CAP = 180_000
TICKS = 3000


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of five minutes that had to stay small; a stretch of it is kept."""
    path = tmp_path_factory.mktemp("capped") / "s"
    writer = SessionWriter(path, FACTS, max_bytes=CAP, clock=ManualClock())
    for number, batch in enumerate(recording(TICKS)):
        writer.append(batch)
        if number == 900:
            reader = SessionReader(path)
            reader.keep([(START_NS + 80 * SECOND, START_NS + 85 * SECOND, "T1")])
            reader.close()
        if number % 10 == 9:
            while writer.maintain():
                pass
    writer.close()
    return path


def test_a_session_stays_near_its_cap(capped: Path) -> None:
    assert capped.stat().st_size < 1.5 * CAP
    reader = SessionReader(capped)
    samples = reader.read_new()
    assert reader.damage == ()
    assert len(samples) < len(flat(recording(TICKS)))
    reader.close()


def test_the_oldest_minutes_go_first_and_the_loss_says_from_when_to_when(capped: Path) -> None:
    reader = SessionReader(capped)
    samples = reader.read_new()
    losses = [s for s in samples if isinstance(s, Lost)]
    assert losses
    assert all(loss.source == "session" and "size cap" in loss.reason for loss in losses)
    ticks = [s for s in samples if isinstance(s, ThreadTick)]
    for loss in losses:
        assert loss.start_ns is not None
        assert loss.end_ns is not None
        assert not [t for t in ticks if loss.start_ns < t.arrival_ns < loss.end_ns]
    assert losses[0].start_ns == START_NS
    assert ticks[-1].arrival_ns == START_NS + TICKS * TICK_NS
    written = [s for s in flat(recording(TICKS)) if isinstance(s, TimingRecord | ThreadTick)]
    kept = [s for s in samples if isinstance(s, TimingRecord | ThreadTick)]
    rest = iter(written)
    assert all(any(sample == other for other in rest) for sample in kept)
    reader.close()


def test_what_is_to_be_kept_stays_at_full_detail_with_half_a_minute_around_it(capped: Path) -> None:
    reader = SessionReader(capped)
    start_ns, end_ns = START_NS + 50 * SECOND, START_NS + 115 * SECOND
    written = [s for s in flat(recording(TICKS)) if start_ns <= s.arrival_ns <= end_ns]
    assert [s for s in reader.read_new() if start_ns <= s.arrival_ns <= end_ns and not isinstance(s, Lost)] == written
    ranged = reader.read_range(start_ns + SECOND, end_ns)
    tick = next(s for s in ranged if isinstance(s, ThreadTick))
    state = thread_values(flat(recording(TICKS)), start_ns + SECOND)
    assert dict(zip(tick.index, tick.cpu_ns, strict=True)) == {index: row[0] for index, row in state.items()}
    reader.close()


def test_rare_samples_and_line_counts_outlive_their_minutes(capped: Path) -> None:
    reader = SessionReader(capped)
    samples = reader.read_new()
    for kind, count in ((ThreadInfo, 6), (LogStream, 1), (ClockAnchor, 1)):
        assert len([s for s in samples if isinstance(s, kind)]) == count
    lines = sum(s.lines for s in samples if isinstance(s, LogCount))
    assert lines == 20 * TICKS // 10
    reader.close()


def test_a_follower_in_the_middle_of_what_is_dropped_goes_on_after_it(tmp_path: Path) -> None:
    appends = recording(900)
    writer = SessionWriter(tmp_path / "s", FACTS, max_bytes=60_000, clock=ManualClock())
    reader = SessionReader(tmp_path / "s")
    got = []
    for number, batch in enumerate(appends):
        writer.append(batch)
        if number == 130:
            got += reader.read_new()
        if number % 10 == 9:
            while writer.maintain():
                pass
    got += reader.read_new()
    written = flat(appends)
    fresh = [s for s in got if not isinstance(s, Lost | LogCount)]
    rest = iter(written)
    assert all(any(sample == other for other in rest) for sample in fresh)
    assert got[-1] == written[-1]
    assert any(isinstance(s, Lost) for s in got)
    reader.close()
    writer.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "livemon").mkdir()
    return tmp_path / "livemon"


def make(folder: Path, name: str, age: int) -> Path:
    path = folder / f"{name}.livemon"
    write(path, recording(5)).close()
    os.utime(path, (10**9 - age, 10**9 - age))
    return path


def test_pruning_keeps_the_newest_by_number_and_by_size(folder: Path) -> None:
    paths = [make(folder, f"s{age}", age) for age in range(5)]
    size = paths[0].stat().st_size
    done = prune(max_sessions=4)
    assert done.removed == ("s4",)
    done = prune(max_bytes=2 * size + size // 2)
    assert set(done.removed) == {"s2", "s3"}
    assert done.kept == 2
    assert [entry.name for entry in list_sessions()] == ["s0", "s1"]


def test_pruning_never_takes_a_session_that_is_being_recorded(folder: Path) -> None:
    writer = write(folder / "live.livemon", recording(5))
    os.utime(folder / "live.livemon", (5, 5))
    make(folder, "closed", 1)
    assert prune(max_sessions=0).removed == ("closed",)
    with pytest.raises(SessionError, match="is being recorded"):
        remove_session(folder / "live.livemon")
    entry = list_sessions()[0]
    assert entry.state == f"recording (pid {os.getpid()})"
    assert entry.targets == "serve (4711)"
    writer.close()


def test_pruning_takes_what_killed_recorders_left(folder: Path) -> None:
    make(folder, "killed", 1)
    for name in ("killed.livemon-reserve", "gone.livemon-wal", "gone.livemon-lock"):
        (folder / name).touch()
    prune()
    assert [path.name for path in folder.iterdir()] == ["killed.livemon"]


def test_a_session_is_meant_by_path_name_beginning_or_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = make(folder, "2026-01-02_a", 9), make(folder, "2026-01-02_b", 1)
    assert resolve_session("last") == newer
    assert resolve_session("2026-01-02_a") == older
    assert resolve_session("2026-01-02_b.livemon") == newer
    assert resolve_session(str(older)) == older
    monkeypatch.chdir(folder)
    assert resolve_session("2026-01-02_a.livemon").resolve() == older
    with pytest.raises(SessionError, match="could be any of 2"):
        resolve_session("2026")
    with pytest.raises(SessionError, match="no session nothing"):
        resolve_session("nothing")


def test_a_relative_state_home_is_ignored_as_the_specification_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative/path")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert state_dir() == Path("/home/somebody/.local/state/livemon")


def test_a_new_session_is_named_after_time_and_target_and_never_overwrites(folder: Path) -> None:
    first = new_session_path("serve --model x/y", clock=ManualClock())
    assert first.parent == folder
    assert first.name.endswith("_serve-model-x-y.livemon")
    first.touch()
    assert new_session_path("serve --model x/y", clock=ManualClock()).name.endswith("-2.livemon")


def test_a_folder_without_sessions_has_no_last_one(folder: Path) -> None:
    with pytest.raises(SessionError, match="no session in"):
        resolve_session("last")
    assert list_sessions() == []
