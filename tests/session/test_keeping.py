"""What was found stays at full detail: the findings of a live session reach its recorder."""

import os
import sqlite3
from pathlib import Path

from livemon.keeping import keep_episodes
from livemon.model.findings import FindingChange, OversizedFinalize
from livemon.session.reader import SessionReader
from tests.session.scripted import START_NS, recording, write


def finding(end_ns: int | None) -> OversizedFinalize:
    return OversizedFinalize(
        id="F1",
        severity="warning",
        class_key=None,
        stage="validate",
        p50_ms=9.0,
        budget_ms=5.0,
        device_stage=None,
        device_p50_ms=None,
        ratio_to_device=None,
        share_of_total=None,
        share_denominator="",
        saving_ms_per_step=None,
        saving_to_budget_ms_per_step=None,
        units=5,
        start_ns=START_NS + 5,
        end_ns=end_ns,
        detected_ns=START_NS + 9,
    )


def test_findings_that_begin_and_end_are_kept_once_each(tmp_path: Path) -> None:
    writer = write(tmp_path / "s", recording(5))
    reader = SessionReader(tmp_path / "s")
    changes = [
        FindingChange(START_NS + 9, "raised", finding(None)),
        FindingChange(START_NS + 10, "updated", finding(None)),
        FindingChange(START_NS + 11, "ended", finding(START_NS + 10)),
    ]
    keep_episodes(reader, changes)
    keep_episodes(reader, changes)
    db = sqlite3.connect(tmp_path / "s")
    rows = db.execute("SELECT start_ns, end_ns, reason FROM keep ORDER BY id").fetchall()
    db.close()
    assert rows == [(START_NS + 5, START_NS + 9, "F1"), (START_NS + 5, START_NS + 10, "F1")]
    reader.close()
    writer.close()


def test_a_session_that_cant_be_written_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "s", recording(5)).close()
    reader = SessionReader(tmp_path / "s")
    os.unlink(tmp_path / "s")
    keep_episodes(reader, [FindingChange(START_NS + 9, "raised", finding(None))])
    assert not (tmp_path / "s").exists()
    reader.close()
