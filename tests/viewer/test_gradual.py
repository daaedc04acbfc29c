"""A recording that is shown while it is judged: figures at once, judgements only where it has been judged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from livemon.gradual import SETTLED_NS, GradualView
from livemon.model.clock import ManualClock
from livemon.model.samples import Note, TargetEvent
from livemon.model.snapshot import Judges
from livemon.viewer import SessionView
from livemon.watch_screens import BLAS_THREADS
from tests.engine.kernels import SECOND
from tests.viewer.sessions import START_NS, decode_session, write_session
from tests.viewer.test_viewer import shown

MINUTE = 60 * SECOND


class HurriedClock(ManualClock):
    """Every look at it takes a second: each step of the judging is as short as can be."""

    def monotonic_ns(self) -> int:
        self.advance_ns(SECOND)
        return super().monotonic_ns()


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livemon.gradual.STEP_SAMPLES", 100)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    write_session(folder / "decode.livemon", decode_session(600, log=folder / "serve.log"))
    return folder / "decode.livemon"


@pytest.fixture
def view(session: Path) -> Iterator[GradualView]:
    view = GradualView(session, clock=HurriedClock())
    assert view.judging is not None
    yield view
    view.close()


@pytest.fixture
def whole(session: Path) -> Iterator[SessionView]:
    view = SessionView(session)
    yield view
    view.close()


def judge_to(view: GradualView, share: float) -> None:
    while view.judging is not None and view.judging < share:
        view.poll()


def judge_all(view: GradualView) -> None:
    while view.judging is not None:
        view.poll()


def test_the_first_frame_has_the_figures_but_no_judgement(view: GradualView, whole: SessionView) -> None:
    frame, later = view.snapshot(None, MINUTE // 2, 60), whole.snapshot(None, MINUTE // 2, 60)
    assert isinstance(view, Judges)
    assert frame.verdict.level == "unknown"
    assert frame.verdict.text.startswith("judging the recording: ")
    assert {row.state for row in frame.stages} == {"unjudged"}
    assert frame.timeline.judged_ns is not None
    assert frame.timeline.judged_ns < frame.at_ns
    assert later.timeline.judged_ns is None
    assert (frame.start_ns, frame.end_ns, frame.at_ns) == (later.start_ns, later.end_ns, later.end_ns)
    for a, b in zip(frame.stages, later.stages, strict=True):
        assert (a.class_key, a.stage, a.n, a.p50_ms, a.p99_ms, a.last_ms) == (
            b.class_key, b.stage, b.n, b.p50_ms, b.p99_ms, b.last_ms,
        )  # fmt: skip
        assert a.series == b.series
    for x, y in zip(frame.threads, later.threads, strict=True):
        assert (x.name, x.cpu_percent, x.ipc, x.core_class) == (y.name, y.cpu_percent, y.ipc, y.core_class)
        assert x.lane == y.lane
    assert frame.status.units_per_s == later.status.units_per_s
    assert frame.status.targets == later.status.targets
    assert not frame.status.is_counted
    assert later.status.is_counted


def test_nothing_beyond_the_judging_is_claimed(view: GradualView, whole: SessionView) -> None:
    frame = view.snapshot(None, 10 * SECOND, 60)
    assert set(frame.timeline.host_slow_share.high) == {None}
    judge_to(view, 0.5)
    start, end = view.bounds_ns()
    judged = start + (view.judging or 0) * (end - start)
    frame = view.snapshot(None, end - start, 60)
    assert frame.verdict.level == "unknown"
    assert "judging the recording: 5" in frame.verdict.text
    assert 0 < len(frame.findings) <= len(whole.all_findings())
    assert all(finding.detected_ns <= judged for finding in frame.findings)
    assert all(finding.detected_ns <= judged for finding in view.all_findings())
    share = frame.timeline.host_slow_share
    for k, value in enumerate(share.high):
        begin = (share.first_bucket + k) * share.bucket_ns
        assert value is None or begin <= judged
    assert any(value is not None for value in share.high)


def test_a_judged_moment_is_shown_as_it_will_stay(view: GradualView, whole: SessionView) -> None:
    judge_to(view, 0.8)
    start, end = view.bounds_ns()
    for at in (START_NS + 9 * SECOND, START_NS + 30 * SECOND):
        assert at <= start + (view.judging or 0) * (end - start) - SETTLED_NS
        frame, later = view.snapshot(at, 20 * SECOND, 40), whole.snapshot(at, 20 * SECOND, 40)
        assert frame.timeline.judged_ns == pytest.approx(start + (view.judging or 0) * (end - start))
        frame = replace(frame, timeline=replace(frame.timeline, judged_ns=None))
        assert shown(frame)[1:] == shown(later)[1:]
        assert frame.status == later.status
        assert frame.verdict.level == later.verdict.level
        assert frame.verdict.text.startswith("judging the recording: 8")
        assert frame.verdict.text.endswith(" % · " + later.verdict.text)


def test_once_judged_frames_and_findings_are_those_of_a_whole_pass(view: GradualView, whole: SessionView) -> None:
    for share in (0.1, 0.4, 0.7, 0.9):
        judge_to(view, share)
        for at in (None, START_NS + 2 * SECOND, START_NS + 50 * SECOND):
            view.snapshot(at, MINUTE, 60)
    revision = view.revision()
    judge_all(view)
    assert view.revision() > revision
    assert view.all_findings() == whole.all_findings()
    assert view.bounds_ns() == whole.bounds_ns()
    assert view.moments_ns() == whole.moments_ns()
    for at in (None, *(START_NS + k * 7 * SECOND for k in range(12))):
        a, b = view.snapshot(at, MINUTE, 60), whole.snapshot(at, MINUTE, 60)
        assert shown(a) == shown(b)
        assert a.status == b.status
    assert view.poll() is False


def test_seeking_while_it_is_judged_shows_every_moment(view: GradualView, whole: SessionView) -> None:
    for k in (90, 3, 60, 30, 61):
        at = START_NS + k * SECOND
        frame, later = view.snapshot(at, 20 * SECOND, 40), whole.snapshot(at, 20 * SECOND, 40)
        assert frame.at_ns == at
        assert [row.n for row in frame.stages] == [row.n for row in later.stages]
        assert [t.cpu_percent for t in frame.threads] == [t.cpu_percent for t in later.threads]


def test_details_and_lines_come_while_it_is_judged(view: GradualView, whole: SessionView) -> None:
    at = START_NS + 70 * SECOND
    assert view.log_lines(at, 5, 5) == whole.log_lines(at, 5, 5)
    assert view.log_lines(view.bounds_ns()[1], 5, 5) == whole.log_lines(whole.bounds_ns()[1], 5, 5)
    a, b = (
        view.stage_detail("1/3", "validate", at, 20 * SECOND, 30),
        whole.stage_detail("1/3", "validate", at, 20 * SECOND, 30),
    )
    assert a is not None
    assert b is not None
    assert (a.n, a.counts, a.p50) == (b.n, b.counts, b.p50)
    c, d = view.thread_detail(1, at, 20 * SECOND, 30), whole.thread_detail(1, at, 20 * SECOND, 30)
    assert c is not None
    assert d is not None
    assert (c.per_class, c.facts, c.ipc) == (d.per_class, d.facts, d.ipc)


def test_what_happened_before_the_window_is_known(tmp_path: Path) -> None:
    appends = decode_session(600)
    then = appends[50][-1].arrival_ns
    appends[50] += [
        TargetEvent(then, 100, "serve", "exited", 3),
        Note(then, "warning", "the disk is full", "free some"),
    ]
    write_session(tmp_path / "s.livemon", appends)
    view = GradualView(tmp_path / "s.livemon", clock=HurriedClock())
    assert view.judging is not None
    status = view.snapshot(None, 10 * SECOND, 40).status
    assert status.targets[0].state.startswith("exited with 3 at ")
    assert status.notes == ("the disk is full: free some",)
    view.close()


def test_a_short_session_shows_its_figures_first_and_is_judged_with_the_next_frame(
    session: Path, whole: SessionView
) -> None:
    view = GradualView(session, clock=ManualClock())
    assert view.judging == 0.0
    first, judged = view.snapshot(None, MINUTE, 60), whole.snapshot(None, MINUTE, 60)
    assert first.verdict.text.startswith("judging the recording: 0 %")
    assert [(row.stage, row.p50_ms, row.n) for row in first.stages] == [
        (row.stage, row.p50_ms, row.n) for row in judged.stages
    ]
    assert {row.state for row in first.stages} <= {"unjudged", "silent"}
    assert view.poll()
    assert view.judging is None
    assert shown(view.snapshot(None, MINUTE, 60)) == shown(whole.snapshot(None, MINUTE, 60))
    view.close()


def test_a_running_recording_goes_on_while_its_past_is_judged(tmp_path: Path) -> None:
    appends = decode_session(400)
    path = tmp_path / "live.livemon"
    writer = write_session(path, appends[:300], close=False)
    view = GradualView(path, clock=HurriedClock())
    assert view.is_live
    assert view.judging is not None
    assert view.snapshot(None, MINUTE, 60).status.is_recording
    end = view.bounds_ns()[1]
    for batch in appends[300:400]:
        writer.append(batch)
    writer.flush()
    assert view.poll()
    assert view.judging is not None
    frame = view.snapshot(None, MINUTE, 60)
    assert frame.end_ns == frame.at_ns == appends[399][-1].arrival_ns > end
    assert frame.verdict.level == "unknown"
    judge_all(view)
    for batch in appends[400:]:
        writer.append(batch)
    writer.flush()
    assert view.poll()
    writer.close()
    for _ in range(20):
        view.poll()
    assert not view.is_live
    after = SessionView(path)
    for at in (None, START_NS + 7 * SECOND, START_NS + 40 * SECOND):
        assert shown(view.snapshot(at, MINUTE, 60)) == shown(after.snapshot(at, MINUTE, 60))
    view.close()
    after.close()


def test_a_mark_can_be_put_while_it_is_judged(tmp_path: Path) -> None:
    write_session(tmp_path / "s.livemon", decode_session(600))
    view = GradualView(tmp_path / "s.livemon", clock=HurriedClock())
    early, late = START_NS + 6 * SECOND, START_NS + 80 * SECOND
    judge_to(view, 0.5)
    view.add_mark("early", early)
    view.add_mark("late", late)
    assert {(early, "mark: early"), (late, "mark: late")} <= set(view.moments_ns())
    assert [m.text for m in view.snapshot(early + SECOND, 4 * SECOND, 40).timeline.marks] == ["early"]
    assert [m.text for m in view.snapshot(late + SECOND, 4 * SECOND, 40).timeline.marks] == ["late"]
    judge_all(view)
    assert {(early, "mark: early"), (late, "mark: late")} <= set(view.moments_ns())
    view.close()


def test_the_first_figures_wait_for_no_detector(session: Path) -> None:
    code = f"""
import sys
from livemon.gradual import GradualView
view = GradualView({str(session)!r})
frame = view.snapshot(None, {MINUTE}, 60)
assert frame.stages and view.all_findings() == ()
print(*sorted(name for name in sys.modules if name.startswith("livemon.engine.detectors")))
view.poll()
print("livemon.engine.detectors.host_slow" in sys.modules)
view.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "True"]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir() or os.cpu_count() == 1, reason="no second thread to be seen")
@pytest.mark.parametrize(("told", "left"), [({}, "None 1"), ({BLAS_THREADS: "1"}, "1 1")])
def test_opening_starts_no_thread_of_numpys_and_leaves_the_environment(
    session: Path, told: dict[str, str], left: str
) -> None:
    code = f"""
import os
from livemon.watch_screens import _open
_open({str(session)!r}, None).close()
print(os.environ.get({BLAS_THREADS!r}), len(os.listdir("/proc/self/task")))
"""
    environ = {key: value for key, value in os.environ.items() if key != BLAS_THREADS} | told
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == left


def test_an_empty_session_has_nothing_to_judge(tmp_path: Path) -> None:
    write_session(tmp_path / "s.livemon", [])
    view = GradualView(tmp_path / "s.livemon", clock=HurriedClock())
    assert view.judging is None
    assert view.snapshot(None, MINUTE, 60).verdict.level == "unknown"
    view.close()
