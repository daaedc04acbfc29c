"""Crashes and damage: never a wrong value, at most the damaged part lost, and it is said."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from livemon.model.errors import SessionError
from livemon.model.samples import Sample, ThreadTick
from livemon.session.reader import SessionReader
from tests.session.scripted import FACTS, ROOT, flat, recording, write


def is_subsequence(found: Sequence[Sample], written: Sequence[Sample]) -> bool:
    rest = iter(written)
    return all(any(sample == other for other in rest) for sample in found)


def read(path: Path) -> tuple[list[Sample], tuple[str, ...]]:
    reader = SessionReader(path)
    try:
        return reader.read_new(), reader.damage
    finally:
        reader.close()


def opened(path: Path) -> SessionReader | str:
    """A reader, or why there is none."""
    try:
        return SessionReader(path)
    except SessionError as error:
        return str(error)


def killed(folder: Path, appends: list[list[Sample]], *, is_durable: bool = False) -> Path:
    """A session as SIGKILL leaves it: its files copied while the recorder is in the middle of it.

    A durable one has each append in the log, and nothing beside it.
    """
    folder.mkdir()
    writer = write(folder / "live", appends, is_durable=is_durable)
    for suffix in ("", "-wal", "-recent"):
        if (folder / f"live{suffix}").exists():
            shutil.copyfile(folder / f"live{suffix}", folder / f"s{suffix}")
    writer.close()
    return folder / "s"


@pytest.fixture(scope="module")
def appends() -> list[list[Sample]]:
    return recording(330)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, appends: list[list[Sample]]) -> Path:
    path = tmp_path_factory.mktemp("closed") / "s"
    write(path, appends).close()
    return path


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory, appends: list[list[Sample]]) -> Path:
    return killed(tmp_path_factory.mktemp("torn") / "x", appends)


def copy(session: Path, folder: Path) -> Path:
    for suffix in ("", "-wal", "-recent"):
        source = session.with_name(session.name + suffix)
        if source.exists():
            shutil.copyfile(source, folder / f"s{suffix}")
    (folder / "s-shm").unlink(missing_ok=True)
    return folder / "s"


def test_a_killed_recorder_leaves_everything_it_wrote_and_the_reader_says_so(
    torn: Path, appends: list[list[Sample]], tmp_path: Path
) -> None:
    found, damage = read(copy(torn, tmp_path))
    assert found == flat(appends)
    assert len(damage) == 1
    assert damage[0].startswith("not closed cleanly (recorder pid ")
    assert "last good sample " in damage[0]
    assert "ignored" not in damage[0]


def test_a_log_cut_at_any_byte_loses_only_whole_appends_at_the_end(tmp_path: Path) -> None:
    # Short enough for a log that has not begun anew from its start: its end is the end of the recording.
    appends = recording(90)
    torn = killed(tmp_path / "x", appends, is_durable=True)
    written = flat(appends)
    log = torn.with_name("s-wal").read_bytes()
    rng = random.Random(3)
    frame = 4096 + 24
    tail = range(len(log) - 2 * frame, len(log))
    cuts = sorted({*rng.sample(tail, 15), len(log) - 1, len(log) - frame, len(log) - frame + 1, 0, 1, 31, 32, 33})
    lengths = []
    for cut in cuts:
        path = copy(torn, tmp_path)
        (tmp_path / "s-wal").write_bytes(log[:cut])
        found, damage = read(path)
        assert found == written[: len(found)]
        lengths.append(len(found))
        is_whole = cut < 32 or (cut - 32) % frame == 0
        assert any("not closed cleanly" in message for message in damage)
        if not is_whole:
            assert any("bytes ignored" in message for message in damage), cut
    assert lengths == sorted(lengths)
    # The last append is at most a few frames long: a cut into the last two frames loses no more than it.
    by_cut = dict(zip(cuts, lengths, strict=True))
    assert by_cut[len(log) - 1] >= len(written) - len(appends[-1]) - len(appends[-2])


def test_a_short_log_cut_at_every_byte_of_its_last_kilobyte_loses_at_most_its_last_append(tmp_path: Path) -> None:
    appends = recording(3)
    torn = killed(tmp_path / "x", appends, is_durable=True)
    path = copy(torn, tmp_path)
    log = tmp_path / "s-wal"
    size, frame = log.stat().st_size, 4096 + 24
    whole, without_last = flat(appends), flat(appends[:-1])
    # And the head of the last frame.
    for cut in (*range(size - 1, size - 1024, -1), *range(size - frame + 100, size - frame - 1, -1)):
        os.truncate(log, cut)
        found, damage = read(path)
        # The last append's row stands in an earlier frame already where its last frame is not the leaf.
        assert found in (without_last, whole), cut
        assert len(damage) <= 2
        ignored = (cut - 32) % frame
        words = f"{ignored} bytes ignored" if ignored else "not closed cleanly"
        assert any("not closed cleanly" in text and words in text for text in damage), cut


def test_a_database_cut_at_any_byte_gives_a_subset_and_says_so(
    closed: Path, appends: list[list[Sample]], tmp_path: Path
) -> None:
    written = flat(appends)
    data = closed.read_bytes()
    rng = random.Random(5)
    for cut in {*rng.sample(range(1, len(data)), 40), *range(len(data) - 20, len(data))}:
        path = tmp_path / "s"
        path.write_bytes(data[:cut])
        reader = opened(path)
        if isinstance(reader, str):
            # Only a file cut before its first row holds nothing at all.
            assert cut < 100_000, reader
            continue
        found, damage = reader.read_new(), reader.damage
        reader.close()
        assert is_subsequence(found, written)
        assert found == written or damage, cut


@pytest.mark.parametrize("state", ["closed", "torn"])
def test_one_damaged_byte_never_gives_a_wrong_value_and_loses_little(
    state: str, request: pytest.FixtureRequest, appends: list[list[Sample]], tmp_path: Path
) -> None:
    session: Path = request.getfixturevalue(state)
    written = flat(appends)
    rng = random.Random(7)
    files = [session, session.with_name("s-wal"), session.with_name("s-recent")][: 1 if state == "closed" else 3]
    lost_most = 0
    for number in range(60):
        path = copy(session, tmp_path)
        target = files[number % len(files)]
        data = bytearray(target.read_bytes())
        # The first page holds the header and the schema: a third of the trials go there.
        at = rng.randrange(100 if number % 6 == 0 else 4096 if number % 3 == 0 else len(data))
        data[at] ^= 1 << rng.randrange(8)
        (tmp_path / target.name).write_bytes(data)
        reader = opened(path)
        if isinstance(reader, str):
            # A damaged format number looks like a newer format.
            assert "format" in reader, (at, reader)
            assert at in range(60, 64), at
            continue
        found = reader.read_new()
        assert reader.facts in (FACTS, type(FACTS)())
        assert is_subsequence(found, written), at
        if len(found) < len(written):
            assert reader.damage, at
            lost_most = max(lost_most, len(written) - len(found))
        ranged = reader.read_range(written[len(written) // 2].arrival_ns, written[-1].arrival_ns)
        assert is_subsequence([s for s in ranged if not _is_state(s)], written), at
        reader.close()
    per_append = len(written) / len(appends)
    assert lost_most <= 152 * per_append, "more than one packed block was lost"


def _is_state(sample: Sample) -> bool:
    """Made by the range read, not recorded."""
    return isinstance(sample, ThreadTick) and sample.is_keyframe


def test_a_damaged_block_is_named_with_its_times(closed: Path, appends: list[list[Sample]], tmp_path: Path) -> None:
    path = copy(closed, tmp_path)
    db = sqlite3.connect(path)
    blob = db.execute("SELECT data FROM block WHERE id > 1 ORDER BY id LIMIT 1").fetchone()[0]
    db.close()
    data = bytearray(path.read_bytes())
    at = data.index(blob[1000:1100])
    data[at : at + 3] = b"\xff\xff\xff"
    path.write_bytes(data)
    found, damage = read(path)
    assert len(found) < len(flat(appends))
    assert any("between" in message and ":" in message for message in damage), damage


RECORDER = """
import sys
from pathlib import Path
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, recording
writer = SessionWriter(Path(sys.argv[1]), FACTS)
for number, batch in enumerate(recording(2000)):
    writer.append(batch)
    print(number, flush=True)
    if number % 10 == 9:
        writer.maintain()
"""


@pytest.mark.parametrize("after", [3, 40, 175, 333])
def test_sigkill_at_any_moment_loses_no_append_that_was_made(tmp_path: Path, after: int) -> None:
    rng = random.Random(after)
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER, str(tmp_path / "s")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stdout is not None
        for _ in range(after):
            recorder.stdout.readline()
        time.sleep(rng.random() * 0.01)
        recorder.send_signal(signal.SIGKILL)
        done = after + len(recorder.stdout.readlines())
    found, damage = read(tmp_path / "s")
    written = flat(recording(2000))
    assert found == written[: len(found)]
    assert len(found) >= len(flat(recording(2000)[:done]))
    assert "not closed cleanly" in damage[0]


def test_readers_beside_a_recorder_at_full_speed_see_every_sample_once_in_order(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER + "writer.close()", str(tmp_path / "s")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.readline()
        readers = [SessionReader(tmp_path / "s") for _ in range(2)]
        got: list[list[Sample]] = [[], []]
        lines = iter(recorder.stdout)
        for number, _ in enumerate(lines):
            for at, every in enumerate((1, 41)):
                if number % every == 0:
                    got[at] += readers[at].read_new()
    assert recorder.returncode == 0
    written = flat(recording(2000))
    for reader, samples in zip(readers, got, strict=True):
        samples += reader.read_new()
        assert samples == written
        assert reader.damage == ()
        reader.close()
