"""A session judged by two processes: the same judgement, whatever becomes of the second one."""

import subprocess
from pathlib import Path

import pytest

from livemon import judge as judging
from livemon import judge_apart
from livemon.judge import judge
from livemon.judge_stretch import Stretch
from livemon.model.criteria import load_criteria
from livemon.model.criteria_toml import override, write
from livemon.session.writer import SessionWriter
from tests.commands.sessions import write_session
from tests.export.judgements import FACTS, T0, S
from tests.export.streams import threads

PART = (T0 + 5 * S, T0 + 12 * S)
LATER = (T0 + 10_000 * S, T0 + 10_001 * S)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "s", n=400)


@pytest.fixture
def by_two(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every session is long enough now; the processes that were started."""
    started: list[subprocess.Popen[bytes]] = []

    class Watched(judge_apart.SecondProcess):
        def __init__(self, path: Path, criteria_toml: str, stretch: Stretch | None = None) -> None:
            super().__init__(path, criteria_toml, stretch)
            started.append(self._process)

    monkeypatch.setattr(judge_apart, "LEAST_BYTES", 0)
    monkeypatch.setattr(judge_apart, "cpus", lambda: 2)
    monkeypatch.setattr(judging, "SecondProcess", Watched)
    return started


def test_two_processes_find_what_one_finds(
    session: Path, by_two: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write(override(load_criteria(""), "finalize.budget_ms", 3.0))
    found = [judge(session), judge(session, other), judge(session, stretch=PART), judge(session, stretch=LATER)]
    assert [process.returncode for process in by_two] == [0, 0, 0, 0]
    monkeypatch.setattr(judge_apart, "LEAST_BYTES", 1 << 40)
    one = [judge(session), judge(session, other), judge(session, stretch=PART), judge(session, stretch=LATER)]
    assert one == found
    assert len(by_two) == 4
    assert 0 < found[2].records < found[0].records
    assert found[3].records == 0
    assert found[0].findings
    assert found[0] != found[1]


def test_a_second_process_that_fails_costs_time_only(
    session: Path, by_two: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = judge(session)
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert judge(session) == expected
    assert [process.returncode for process in by_two] == [0, 1]


def test_an_interrupt_leaves_no_process_behind(session: Path, by_two: list[subprocess.Popen[bytes]]) -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(session, progress=interrupt)
    assert by_two[0].returncode is not None


def test_a_session_that_may_still_grow_is_judged_by_one(tmp_path: Path, by_two: list[subprocess.Popen[bytes]]) -> None:
    writer = SessionWriter(tmp_path / "live", FACTS)
    writer.append(list(threads()))
    writer.flush()
    assert judge(tmp_path / "live").threads
    assert not by_two
    writer.close()
    assert judge(tmp_path / "live").threads
    assert len(by_two) == 1
