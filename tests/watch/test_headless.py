"""The line at the end of a watch without screens."""

import io
from pathlib import Path

import pytest

from livemon.headless import Headless
from livemon.model.samples import LogCount, Sample, TimingRecord
from livemon.parse.options import ParseOptions
from livemon.session.writer import SessionWriter
from livemon.watch_options import WatchOptions
from tests.session.scripted import FACTS, flat, recording


@pytest.mark.parametrize(("counted", "lines"), [(True, "400 lines read"), (False, "40 lines read")])
def test_more_records_than_lines_are_never_told(tmp_path: Path, counted: bool, lines: str) -> None:
    """Where the disk was full, records may be there without the count of their lines."""
    session = tmp_path / "s"
    writer = SessionWriter(session, FACTS)
    samples: list[Sample] = [s for s in flat(recording(20)) if not isinstance(s, LogCount)]
    assert sum(isinstance(sample, TimingRecord) for sample in samples) == 40
    writer.append(samples)
    if counted:
        writer.append([LogCount(samples[-1].arrival_ns, 0, 400, 40, 0)])
    writer.close()
    messages = io.StringIO()
    Headless(str(session), WatchOptions(ParseOptions()), out=io.StringIO(), messages=messages).follow(lambda: True)
    assert f"{lines}, 40 timing records" in messages.getvalue()
