"""Loss of power: what was synced is there, what was not may be anything, and nothing wrong is ever read."""

import queue
import random
import shutil
from pathlib import Path

import pytest

from livemon.session import recorder_state
from livemon.session.reader import SessionReader
from livemon.session.recent import recent_path
from livemon.session.syncing import Syncer
from livemon.session.writer import SessionWriter
from tests.session.scripted import FACTS, flat, recording
from tests.session.test_damage import is_subsequence, read

SECTOR = 512


def after_power_loss(synced: bytes, written: bytes, rng: random.Random) -> bytes:
    """A log of which only ``synced`` is sure to be on the disk: of later writes some sectors are, in any order."""
    length = rng.randrange(len(synced), max(len(written), len(synced)) + 1)
    image = bytearray(synced + bytes(length - len(synced)))
    kept = rng.choice([0.0, 0.5, 0.9])
    for at in range(0, min(length, len(written)), SECTOR):
        if rng.random() < kept:
            image[at : at + SECTOR] = written[at : at + SECTOR][: length - at]
    return bytes(image)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_synced_before_a_power_loss_is_read_and_nothing_wrong_after_it(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    live, lost = tmp_path / "live", tmp_path / "lost"
    appends = recording(200, seed=seed)
    writer = SessionWriter(live, FACTS)
    # Its thread would sync at times of its own: here the test does, as if a second had passed.
    assert writer._syncer is not None
    writer._syncer.stop()
    synced, sure = b"", 0
    log = live.with_name("live-wal")
    for number, batch in enumerate(appends, 1):
        writer.append(batch)
        if number % 10 == 0:
            writer.maintain()
            writer.flush()
            synced, sure = log.read_bytes(), number
        elif number % 10 in (3, 9) and sure:
            shutil.copyfile(live, lost)  # SQLite itself syncs what a checkpoint writes there
            lost.with_name("lost-shm").unlink(missing_ok=True)
            lost.with_name("lost-wal").write_bytes(after_power_loss(synced, log.read_bytes(), rng))
            # What stands beside the database is never synced: any of it may be there.
            newest = recent_path(live).read_bytes()
            recent_path(lost).write_bytes(after_power_loss(b"", newest, rng))
            found, damage = read(lost)
            assert is_subsequence(found, flat(appends[:number]))
            assert found[: len(flat(appends[:sure]))] == flat(appends[:sure])
            assert damage[0].startswith("not closed cleanly") or any("not closed cleanly" in text for text in damage)
    writer.close()


def test_a_durable_session_is_on_the_disk_after_each_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = tmp_path / "live"
    log = live.with_name("live-wal")
    synced = queue.SimpleQueue[int]()
    sync = Syncer.sync

    def watched(syncer: Syncer) -> None:
        written = log.stat().st_size
        sync(syncer)
        synced.put(written)

    monkeypatch.setattr(Syncer, "sync", watched)
    writer = SessionWriter(live, FACTS, is_durable=True)
    for batch in recording(5):
        writer.append(batch)
        written = log.stat().st_size
        while synced.get(timeout=60) < written:
            pass
    writer.close()


def test_a_session_of_an_earlier_boot_says_that_a_second_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SessionWriter(tmp_path / "live", FACTS)
    for batch in recording(20):
        writer.append(batch)
    for suffix in ("", "-wal", "-recent"):
        shutil.copyfile(tmp_path / f"live{suffix}", tmp_path / f"s{suffix}")
    writer.close()
    for boot, says_so in ((recorder_state.boot_id(), False), ("another", True), ("", False)):
        monkeypatch.setattr(recorder_state, "boot_id", lambda boot=boot: boot)
        reader = SessionReader(tmp_path / "s")
        assert ("up to a second after that is missing" in reader.damage[0]) == says_so
        reader.close()
