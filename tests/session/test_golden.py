"""Sessions of every format that was ever released are read for ever, to the same samples."""

import shutil
from pathlib import Path

import pytest

from livemon.model.samples import ThreadTick
from livemon.session.format import CLOSED_FORMAT, FORMAT
from livemon.session.jsonl import read_line
from livemon.session.reader import SessionReader
from livemon.session.recent import recent_path
from tests.session.scripted import FACTS

FOLDER = Path(__file__).parent / "golden"


def test_the_present_format_has_its_golden_sessions() -> None:
    assert (FOLDER / f"format{CLOSED_FORMAT}-closed.livemon").exists()
    assert recent_path(FOLDER / f"format{FORMAT}-killed.livemon").exists()


@pytest.mark.parametrize("golden", sorted(FOLDER.glob("*.livemon")), ids=lambda path: path.stem)
def test_a_golden_session_gives_the_samples_it_always_gave(golden: Path, tmp_path: Path) -> None:
    shutil.copyfile(golden, tmp_path / "s")
    if recent_path(golden).exists():
        shutil.copyfile(recent_path(golden), recent_path(tmp_path / "s"))
    reader = SessionReader(tmp_path / "s")
    assert reader.facts == FACTS
    samples = reader.read_new()
    text = (FOLDER / f"format{CLOSED_FORMAT}.jsonl").read_text()  # the same recording in each of them
    assert samples == [read_line(line) for line in text.splitlines()]
    is_killed = golden.stem.endswith("killed")
    assert len(reader.damage) == int(is_killed)
    assert all("not closed cleanly" in message for message in reader.damage)
    middle = samples[len(samples) // 2].arrival_ns
    ranged = reader.read_range(middle, samples[-1].arrival_ns)
    assert next(s for s in ranged if isinstance(s, ThreadTick)).is_keyframe
    assert ranged[-1] == samples[-1]
    reader.close()
