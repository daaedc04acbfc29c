"""The session behind the screens: live, finished, at any moment."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from livemon.model.clock import ManualClock
from livemon.model.errors import SessionError
from livemon.model.findings import OversizedFinalize
from livemon.model.samples import Lost, Mark, Note, SelfSample, TargetEvent, TimingRecord
from livemon.model.snapshot import HasRevision, Snapshot, ViewSource
from livemon.session.store import describe_session
from livemon.viewer import SessionView
from tests.engine.kernels import SECOND
from tests.viewer.sessions import START_NS, decode_session, write_session

MINUTE = 60 * SECOND


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    write_session(folder / "decode.livemon", decode_session(log=folder / "serve.log"))
    return folder / "decode.livemon"


@pytest.fixture
def view(session: Path) -> Iterator[SessionView]:
    view = SessionView(session)
    yield view
    view.close()


def test_it_is_what_the_screens_expect(view: SessionView) -> None:
    source: ViewSource = view
    assert isinstance(source, HasRevision)
    assert not source.is_live
    assert source.poll() is False
    start, end = source.bounds_ns()
    assert start == START_NS
    assert end > start + 30 * SECOND


def test_a_frame_has_the_stages_of_every_class_with_their_figures(view: SessionView) -> None:
    frame = view.snapshot(None, MINUTE, 60)
    rows = {(r.class_key, r.stage): r for r in frame.stages}
    assert frame.period == 3
    assert {key[0] for key in rows} == {"0/3", "1/3", "2/3"}
    rms = rows["2/3", "validate"]
    assert rms.role == "finalize"
    assert rms.state == "over"
    assert rms.budget_ms == 5.0
    assert 82 <= (rms.p50_ms or 0) <= 91
    assert 82 <= (rms.last_ms or 0) <= 91
    assert rms.share == pytest.approx(0.74, abs=0.1)
    assert rows["2/3", "runner_run"].state == "ok"
    assert rows["2/3", "unaccounted"].n == rms.n
    assert rows["2/3", "total"].share == pytest.approx(1.0)
    assert len(rms.series.high) == 60
    known = [v for v in rms.series.high if v is not None]
    assert all(82 <= v <= 91 for v in known)


def test_a_frame_has_the_threads_with_placement_and_current_figures(view: SessionView) -> None:
    frame = view.snapshot(None, MINUTE, 60)
    busy, moved, idle, _ = frame.threads
    assert (busy.name, busy.role, busy.process, busy.is_alive) == ("worker-0", "worker", "serve", True)
    assert busy.cpu_percent.value == pytest.approx(20, rel=0.01)
    assert busy.ipc.value == pytest.approx(3.0, rel=0.01)
    assert busy.cycles_per_ns.value == pytest.approx(4.0, rel=0.01)
    assert busy.efficiency_share.value == 0
    assert busy.wait_percent.value == 0
    assert moved.core_class == "E"
    assert moved.efficiency_share.value == pytest.approx(1.0)
    assert moved.lane.is_exact
    lane = [c for c in moved.lane.classes if c is not None]
    assert lane[0] == "P"
    assert lane[-1] == "E"
    assert lane == sorted(lane, reverse=True)
    assert idle.cpu_percent.value == 0
    assert {c for c in idle.lane.classes if c is not None} == {""}
    assert idle.ipc.value is None
    assert idle.ipc.reason


def test_cpu_per_unit_is_the_threads_cpu_over_the_units(view: SessionView) -> None:
    frame = view.snapshot(None, 5 * SECOND, 50)
    units = frame.status.units_per_s
    assert units is not None
    assert frame.threads[0].cpu_ms_per_unit.value == pytest.approx(200 / units, rel=0.1)


def test_what_was_not_observed_is_a_gap_and_never_zero(view: SessionView) -> None:
    frame = view.snapshot(START_NS + 10 * SECOND, MINUTE, 60)
    series = frame.threads[0].series
    assert series.high[:49] == (None,) * 49
    assert all(v == pytest.approx(20, rel=0.01) for v in series.high[-10:])
    assert frame.stages[0].series.high[:49] == (None,) * 49


def test_the_grid_is_fixed_to_the_session_clock(view: SessionView) -> None:
    one = view.snapshot(START_NS + 20 * SECOND, MINUTE, 60).threads[0].series
    two = view.snapshot(START_NS + 22 * SECOND, MINUTE, 60).threads[0].series
    assert one.bucket_ns == two.bucket_ns == SECOND
    assert two.first_bucket == one.first_bucket + 2
    assert two.high[:-3] == one.high[2:-1]


def test_findings_are_those_known_at_the_moment(view: SessionView) -> None:
    everything = view.all_findings()
    assert len(everything) == 3
    before = min(f.detected_ns for f in everything) - 1
    assert view.snapshot(before, MINUTE, 60).findings == ()
    first = view.snapshot(before + 1, MINUTE, 60).findings
    assert [f.id for f in first] == ["F1"]
    assert isinstance(first[0], OversizedFinalize)
    assert first[0].units < 10
    later = view.snapshot(None, MINUTE, 60).findings
    assert later == everything
    assert view.snapshot(before + 1, MINUTE, 60).findings == first


def test_the_verdict_says_in_words_what_costs_most(view: SessionView) -> None:
    verdict = view.snapshot(None, MINUTE, 60).verdict
    assert verdict.level == "critical"
    assert verdict.text.startswith("OVERSIZED FINALIZE: validate · worst class run 3 of 3: 8")
    assert "removing it saves 15" in verdict.text
    early = view.snapshot(START_NS + SECOND, MINUTE, 60).verdict
    assert early.level == "warming"


def test_the_status_is_that_of_the_moment(view: SessionView) -> None:
    early = view.snapshot(START_NS + 5 * SECOND, MINUTE, 60).status
    late = view.snapshot(None, MINUTE, 60).status
    assert early.ticks < late.ticks
    assert early.records < late.records == 200
    assert early.malformed == 0
    assert late.malformed == 1
    assert late.log_lag_ms == 3
    assert late.self_cpu_percent == pytest.approx(1.0)
    assert late.recorder_state == "replay"
    assert not late.is_recording
    assert late.targets[0].state == "running"


def test_zooming_out_keeps_the_peaks(view: SessionView) -> None:
    start, end = view.bounds_ns()
    fine = view.snapshot(None, end - start, 400)
    coarse = view.snapshot(None, end - start, 20)
    for a, b in zip(fine.stages, coarse.stages, strict=True):
        start_ns = b.series.first_bucket * b.series.bucket_ns
        shown_in_both = a.series.high[max(start_ns // a.series.bucket_ns + 1 - a.series.first_bucket, 0) :]
        peak = max(v for v in shown_in_both if v is not None)
        assert max(v for v in b.series.high if v is not None) >= peak


def test_a_stage_has_a_distribution_with_quantile_bands(view: SessionView) -> None:
    detail = view.stage_detail("1/3", "validate", None, MINUTE, 30)
    assert detail is not None
    assert sum(detail.counts) == detail.n
    assert len(detail.edges_ms) == len(detail.counts) + 1
    assert detail.edges_ms[0] <= 14.6
    assert detail.edges_ms[-1] >= 19.8
    for low, high in zip(detail.p50.high, detail.p99.high, strict=True):
        assert (low is None) == (high is None)
        assert low is None or high is None or low <= high
    assert detail.saving_ms_per_step == pytest.approx(detail.mean_ms)
    assert view.stage_detail("1/3", "no such", None, MINUTE, 30) is None
    assert view.stage_detail("9/9", "validate", None, MINUTE, 30) is None


def test_a_thread_has_its_series_and_facts(view: SessionView) -> None:
    detail = view.thread_detail(1, None, MINUTE, 30)
    assert detail is not None
    assert detail.row.name == "worker-1"
    ((name, share, ipc, rate), *_) = [entry for entry in detail.per_class if entry[0] == "E"]
    assert (name, share.value) == ("E", pytest.approx(1.0))
    assert ipc.value == pytest.approx(3.0, rel=0.01)
    assert rate.value == pytest.approx(4.0, rel=0.01)
    assert dict(detail.facts)["pid / tid"] == "100 / 1001"
    assert any(v is not None for v in detail.cpu_ms_per_unit.high)
    assert view.thread_detail(77, None, MINUTE, 30) is None


def test_log_lines_come_with_their_text_and_what_was_read(view: SessionView) -> None:
    lines = view.log_lines(START_NS + 12 * SECOND, 5, 5)
    timed = [line for line in lines if line.t_ns is not None]
    assert len(timed) == 10
    assert [line.t_ns for line in timed] == sorted(line.t_ns or 0 for line in timed)
    assert all(line.is_text and f"run={line.unit} " in line.text for line in timed)
    assert all(line.class_key == f"{int(line.unit or 0) % 3}/3" for line in timed)
    assert [line.line for line in lines] == list(range(lines[0].line, lines[0].line + len(lines)))
    wide = view.log_lines(START_NS + 12 * SECOND, 15, 15)
    assert any(line.text == "INFO chatter" and line.t_ns is None for line in wide)


def test_a_log_that_is_gone_or_changed_is_said_so(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    write_session(tmp_path / "s.livemon", decode_session(60, log=log))
    view = SessionView(tmp_path / "s.livemon")
    at = START_NS + 5 * SECOND
    log.write_bytes(log.read_bytes().replace(b"[c_api_timing]", b"[c_api_timinX]"))
    assert {line.is_text for line in view.log_lines(at, 3, 3)} == {True}, "the values still stand where they stood"
    log.write_bytes(b"x" * 20_000)
    (line, *_) = view.log_lines(at, 3, 3)
    assert (line.is_text, line.text) == (False, "the file has changed since it was read")
    assert line.stages
    log.write_bytes(b"short")
    assert "shorter" in view.log_lines(at, 3, 3)[0].text
    log.unlink()
    assert view.log_lines(at, 3, 3)[0].text == "the file is gone"
    view.close()


def test_live_following_gives_the_frames_of_the_recording(tmp_path: Path) -> None:
    appends = decode_session(120)
    path = tmp_path / "live.livemon"
    writer = write_session(path, appends[:20], close=False)
    live = SessionView(path)
    assert live.is_live
    revision = live.revision()
    for k in range(20, len(appends), 13):
        for batch in appends[k : k + 13]:
            writer.append(batch)
        writer.flush()
        assert live.poll() is True
        assert live.snapshot(None, MINUTE, 60).status.is_recording
    assert live.poll() is False
    assert live.revision() > revision
    writer.close()
    for _ in range(20):
        live.poll()
    assert not live.is_live
    after = SessionView(path)
    for at in (None, START_NS + 7 * SECOND, START_NS + 11 * SECOND):
        assert shown(live.snapshot(at, MINUTE, 60)) == shown(after.snapshot(at, MINUTE, 60))
    live.close()
    after.close()


def test_a_recorder_that_hangs_is_told_of_while_it_does(tmp_path: Path) -> None:
    appends = decode_session(40)
    path = tmp_path / "live.livemon"
    writer = write_session(path, appends[:20], close=False)
    clock = ManualClock()
    live = SessionView(path, clock=clock)
    said = []
    for _ in range(10):
        clock.advance_ns(500 * 10**6)
        said.append((live.poll(), live.snapshot(None, MINUTE, 60).status.recorder_state))
    assert said[:5] == [(False, "recording")] * 5
    assert said[5] == (True, f"no news for 3 s: is recorder pid {os.getpid()} stopped?")
    assert [news for news, _ in said[5:]] == [True, False, True, False, True], "told anew each second"
    assert said[-1][1].startswith("no news for 5 s")
    assert live.snapshot(None, MINUTE, 60).status.trouble == "silent"
    assert live.snapshot(None, MINUTE, 60).status.is_recording
    for batch in appends[20:]:
        writer.append(batch)
    writer.flush()
    assert live.poll()
    assert live.snapshot(None, MINUTE, 60).status.recorder_state == "recording"
    writer.close()
    live.close()


def shown(frame: Snapshot) -> tuple[object, ...]:
    return frame.verdict, frame.stages, frame.threads, frame.findings, frame.timeline, frame.period


def test_seeking_back_and_forth_gives_the_same_frames(view: SessionView) -> None:
    moments = [START_NS + k * 3 * SECOND for k in range(12)]
    first = [shown(view.snapshot(at, MINUTE, 60)) for at in moments]
    again = [shown(view.snapshot(at, MINUTE, 60)) for at in reversed(moments)]
    assert first == again[::-1]


def test_a_window_that_memory_has_dropped_is_read_back(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SessionView(session)
    monkeypatch.setattr("livemon.engine.rolling.thread_rings.BYTES", (4000,) * 5)
    forgetful = SessionView(session)
    at = START_NS + 15 * SECOND
    a, b = (v.snapshot(at, 10 * SECOND, 50).threads for v in (whole, forgetful))
    for x, y in zip(a, b, strict=True):
        assert x.lane == y.lane
        assert [v and round(v, 3) for v in x.series.high] == [v and round(v, 3) for v in y.series.high]
        assert x.cpu_percent.value == pytest.approx(y.cpu_percent.value)
    whole.close()
    forgetful.close()


def test_moments_are_findings_and_marks_and_a_mark_can_be_put_into_a_finished_session(tmp_path: Path) -> None:
    appends = decode_session(60)
    appends[30].append(Mark(appends[30][-1].arrival_ns, START_NS + 2 * SECOND, "warm"))
    write_session(tmp_path / "s.livemon", appends)
    view = SessionView(tmp_path / "s.livemon")
    texts = [text for _, text in view.moments_ns()]
    assert "mark: warm" in texts
    words = "F1 oversized validate of run 2 of 3, shown "
    [moment] = [moment for moment in view.moments_ns() if moment[1].startswith(words)]
    assert moment[1].endswith(" s after its start")
    # There the screen tells of it; a moment before it did not.
    assert "F1" in {finding.id for finding in view.snapshot(moment[0], MINUTE, 60).findings}
    assert "F1" not in {finding.id for finding in view.snapshot(moment[0] - 1, MINUTE, 60).findings}
    at = START_NS + 6 * SECOND
    view.add_mark("look here", at)
    assert (at, "mark: look here") in view.moments_ns()
    assert [m.text for m in view.snapshot(at + SECOND, 4 * SECOND, 40).timeline.marks] == ["look here"]
    with pytest.raises(SessionError):
        view.add_mark("   ")
    view.close()


def test_what_was_lost_and_what_happened_is_known_from_then_on(tmp_path: Path) -> None:
    appends = decode_session(60)
    then = appends[40][-1].arrival_ns
    appends[40] += [
        Lost(then, "log:serve.log", 7, "lines", "rotated", then - SECOND, then),
        TargetEvent(then, 100, "serve", "exited", 3),
        Note(then, "warning", "the disk is full", "free some"),
    ]
    write_session(tmp_path / "s.livemon", appends)
    view = SessionView(tmp_path / "s.livemon")
    before, after = view.snapshot(then - 1, MINUTE, 60), view.snapshot(then, MINUTE, 60)
    assert before.status.lost == 0
    assert before.status.lost_reasons == before.status.notes == before.timeline.gaps == ()
    assert before.status.targets[0].state == "running"
    assert after.status.lost == 1
    assert after.status.lost_reasons == ("log:serve.log: 7 lines (rotated)",)
    assert after.status.notes == ("the disk is full: free some",)
    assert after.status.targets[0].state.startswith("exited with 3 at ")
    assert after.timeline.gaps[0].what == "log"
    view.close()


def test_opening_tells_how_far_it_is_and_can_be_given_up(session: Path) -> None:
    told: list[float | None] = []
    SessionView(session, progress=lambda done, _: told.append(done)).close()
    assert told[-1] == 1.0
    assert told == sorted(told, key=lambda v: v or 0)

    class GivenUpError(Exception):
        pass

    def give_up(done: float | None, text: str) -> None:
        raise GivenUpError

    with pytest.raises(GivenUpError):
        SessionView(session, progress=give_up)


def test_a_damaged_session_is_shown_and_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "s.livemon"
    write_session(path, decode_session(200))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE block SET data = zeroblob(length(data)) WHERE id = (SELECT max(id) FROM block)")
    view = SessionView(path)
    frame = view.snapshot(None, MINUTE, 60)
    assert frame.status.notes
    assert frame.stages
    view.close()


def test_the_size_on_the_screen_is_that_of_the_list_of_sessions(tmp_path: Path) -> None:
    """A session of 197 kB was shown as one of 1.3 MB: what its recorder had in use at its end."""
    path = tmp_path / "s.livemon"
    write_session(
        path, [*decode_session(20), [SelfSample(START_NS + 30 * SECOND, 0, 0, 0, 0, 100_000_000, 77_000_000)]]
    )
    path.with_name("s.livemon-out").write_bytes(b"x" * 5000)
    path.with_name("s.livemon-reserve").write_bytes(b"x" * 9000)
    view = SessionView(path)
    shown = view.snapshot(None, MINUTE, 60).status.session_bytes
    assert shown == path.stat().st_size + 5000 == describe_session(path).size_bytes
    view.close()


def test_an_empty_session_has_a_frame(tmp_path: Path) -> None:
    write_session(tmp_path / "s.livemon", [])
    view = SessionView(tmp_path / "s.livemon")
    frame = view.snapshot(None, MINUTE, 60)
    assert frame.verdict.level == "unknown"
    assert frame.stages == frame.threads == frame.findings == ()
    assert view.log_lines(0, 5, 5) == ()
    assert view.moments_ns() == ()
    view.close()


def test_threads_alone_are_shown_without_a_verdict(tmp_path: Path) -> None:
    appends = [[s for s in batch if not isinstance(s, TimingRecord)] for batch in decode_session(40)]
    write_session(tmp_path / "s.livemon", [batch for batch in appends if batch])
    view = SessionView(tmp_path / "s.livemon")
    frame = view.snapshot(None, MINUTE, 60)
    assert frame.verdict.level == "unknown"
    assert frame.stages == ()
    assert frame.threads[0].cpu_percent.value == pytest.approx(20, rel=0.01)
    assert frame.threads[0].cpu_ms_per_unit.value is None
    view.close()


def test_no_session_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SessionError):
        SessionView(tmp_path / "none.livemon")


def test_no_number_in_a_frame_is_nan(view: SessionView) -> None:
    for at in (None, START_NS, START_NS + 3 * SECOND):
        frame = view.snapshot(at, 7 * SECOND, 33)
        for row in frame.stages:
            assert not any(np.isnan(v) for v in (*row.series.low, *row.series.high) if v is not None)
        for thread in frame.threads:
            assert not any(np.isnan(v) for v in (*thread.series.low, *thread.series.high) if v is not None)
            assert not any(np.isnan(v) for v in thread.lane.shares if v is not None)
