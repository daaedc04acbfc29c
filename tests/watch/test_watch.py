"""``livemon watch`` on real processes and logs: what ends it, what it says, what is in the session."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from livemon.cli import main
from livemon.model.samples import (
    LogCount,
    LogStream,
    Lost,
    Mark,
    Note,
    SelfSample,
    TargetEvent,
    ThreadTick,
    TimingRecord,
)
from livemon.session.reader import SessionReader
from tests.watch.processes import TARGET, children, is_running, livemon, of_type, run_livemon, samples_of, wait_for

LINE = "[c_api_timing] run= {}  prepare_ctx=0.50  runner_run=19.00  validate=1.00  total=21.00\n"


@contextmanager
def target(log: Path, stop: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", TARGET, str(stop), "0"], stdout=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def records(session: Path) -> list[str]:
    return [record.unit for record in of_type(samples_of(session), TimingRecord)]


def test_a_target_that_is_killed_is_told_and_the_recording_closed(tmp_path: Path) -> None:
    log, session = tmp_path / "log", tmp_path / "s.livemon"
    with (
        target(log, tmp_path / "never") as process,
        livemon(
            "watch",
            "--headless",
            "--pid",
            str(process.pid),
            "--log",
            str(log),
            "--record",
            str(session),
            state=tmp_path,
        ) as monitor,
    ):
        wait_for(lambda: len(records(session)) > 5)
        process.kill()
        process.wait()
        _, err = monitor.communicate(timeout=90)
    assert monitor.returncode == 3
    assert f"(pid {process.pid})" in err
    samples = samples_of(session)
    assert [e.event for e in of_type(samples, TargetEvent) if e.pid == process.pid][-1] in ("exited", "vanished")
    reader = SessionReader(session)
    assert reader.recorder.closed_reason == "the target has ended"
    reader.close()


def test_a_rotated_log_is_followed_without_loss(tmp_path: Path) -> None:
    log, session = tmp_path / "log", tmp_path / "s.livemon"
    log.touch()
    with livemon("watch", "--headless", "--log", str(log), "--record", str(session), state=tmp_path) as monitor:
        wait_for(lambda: of_type(samples_of(session), SelfSample))
        for part in range(4):
            with log.open("a") as file:
                file.write("".join(LINE.format(n) for n in range(part * 10, part * 10 + 10)))
            log.rename(tmp_path / f"log.{part}")
            log.touch()
            # A file that came and went between two looks at the path can't be known of.
            wait_for(lambda: len(of_type(samples_of(session), LogStream)) == part + 2)  # noqa: B023
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(90) == 130
    assert records(session) == [str(n) for n in range(40)]
    counts = of_type(samples_of(session), LogCount)
    assert sum(c.records for c in counts) == 40
    assert not of_type(samples_of(session), Lost)


def test_standard_input_is_read_to_its_end(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    text = "".join(LINE.format(n) for n in range(5000))
    with livemon(
        "watch", "--headless", "-", "--record", str(session), state=tmp_path, stdin=subprocess.PIPE
    ) as monitor:
        _, err = monitor.communicate(text, timeout=60)
    assert monitor.returncode == 0, err
    assert records(session) == [str(n) for n in range(5000)]
    assert "5,000 timing records" in err


def test_process_substitution_is_read(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    read, write = os.pipe()
    os.write(write, LINE.format(7).encode())
    os.close(write)
    code, _, err = run_livemon(
        "watch", "--headless", "--log", f"/dev/fd/{read}", "--record", str(session), state=tmp_path, pass_fds=(read,)
    )
    os.close(read)
    assert code == 0, err
    assert records(session) == ["7"]


def test_a_mark_by_signal_pattern_and_second_process(tmp_path: Path) -> None:
    log, session = tmp_path / "log", tmp_path / "s.livemon"
    log.touch()
    with livemon(
        "watch",
        "--headless",
        "--log",
        str(log),
        "--mark-pattern",
        "mode=.*hetero",
        "--record",
        str(session),
        state=tmp_path,
    ) as monitor:
        wait_for(lambda: of_type(samples_of(session), SelfSample))
        os.kill(children(monitor.pid)[0], signal.SIGUSR1)
        with log.open("a") as file:
            file.write("mode=gpu\nmode=gpu+")
            file.flush()
            file.write("hetero now\n")
        reader = SessionReader(session)
        reader.add_mark("from outside", 1, "command")
        reader.close()
        wait_for(lambda: len(of_type(samples_of(session), Mark)) == 3)
        monitor.terminate()
        assert monitor.wait(90) == 143
    marks = {mark.origin: mark.text for mark in of_type(samples_of(session), Mark)}
    assert marks == {"signal": "SIGUSR1", "log": "mode=gpu+hetero now", "command": "from outside"}


def test_closed_standard_output_ends_it_quietly(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    script = TARGET.replace("validate=1.00  total=21.00", "validate=90.00  total=110.00")
    with livemon(
        "run", "--headless", "--duration", "20", "--record", str(session), "--", sys.executable, "-c", script,
        str(tmp_path / "stop"), "0", state=tmp_path,
    ) as monitor:  # fmt: skip
        assert monitor.stdout is not None
        monitor.stdout.close()
        monitor.stdout = None
        wait_for(lambda: len(records(session)) > 30)
        (tmp_path / "stop").touch()
        _, err = monitor.communicate(timeout=90)
    assert "Traceback" not in err


def test_no_record_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = ["--", sys.executable, "-c", "print('[a_timing] total=1.0')"]
    code, _, err = run_livemon("run", "--headless", "--no-record", *command, state=tmp_path / "state")
    assert code == 0, err
    assert "1 timing records" in err
    assert not list(tmp_path.rglob("*.livemon"))
    assert not list(tmp_path.glob("livemon-*"))


def test_a_recorder_outlives_a_viewer_that_vanishes_and_says_so(tmp_path: Path) -> None:
    log, session = tmp_path / "log", tmp_path / "s.livemon"
    log.touch()
    arguments = ("--log", str(log), "--pid", str(os.getpid()), "--record", str(session))
    with livemon("watch", "--headless", *arguments, state=tmp_path) as monitor:
        wait_for(lambda: of_type(samples_of(session), ThreadTick))
        recorder = children(monitor.pid)[0]
        monitor.kill()
        monitor.wait()
        try:
            wait_for(lambda: any("the viewer vanished at" in n.text for n in of_type(samples_of(session), Note)))
            with log.open("a") as file:
                file.write(LINE.format(1))
            wait_for(lambda: records(session) == ["1"])
        finally:
            os.kill(recorder, signal.SIGTERM)
        wait_for(lambda: not is_running(recorder))


def test_a_temporary_recording_ends_with_a_viewer_that_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    arguments = ("--pid", str(os.getpid()), "--no-record")
    with livemon("watch", "--headless", *arguments, state=tmp_path / "state") as monitor:
        session = wait_for(lambda: next(iter(tmp_path.rglob("*.livemon")), None))
        wait_for(lambda: of_type(samples_of(session), ThreadTick))
        recorder = children(monitor.pid)[0]
        monitor.kill()
        wait_for(lambda: not is_running(recorder))
    assert not session.exists()


def test_kept_recorder_outlives_its_viewer_and_ends_on_sigterm_within_a_second(tmp_path: Path) -> None:
    log, session = tmp_path / "log", tmp_path / "s.livemon"
    log.touch()
    with livemon(
        "watch",
        "--headless",
        "--keep",
        "--log",
        str(log),
        "--pid",
        str(os.getpid()),
        "--record",
        str(session),
        state=tmp_path,
    ) as monitor:
        wait_for(lambda: of_type(samples_of(session), ThreadTick))
        recorder = children(monitor.pid)[0]
        monitor.kill()
        monitor.wait()
        with log.open("a") as file:
            file.write(LINE.format(1))
        wait_for(lambda: records(session) == ["1"])
        os.kill(recorder, signal.SIGTERM)
        wait_for(lambda: not is_running(recorder))
    reader = SessionReader(session)
    assert reader.recorder.closed_reason == "stopped by SIGTERM"
    reader.close()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--pid", "999999999"], 3, "there is no process 999999999"),
        (["--name", "no-such-process-anywhere"], 3, "no process matches"),
        (["--name", "("], 2, "no valid expression"),
        (["--log", "/no-such-folder/x.log"], 2, "there is no folder /no-such-folder"),
        (["--log", "/tmp"], 2, "is a folder"),
        ([], 2, "nothing to watch"),
        (["--pid", "1", "--interval", "0"], 2, "not between"),
        (["--pid", "1", "--mark-pattern", "("], 2, "no valid expression"),
        (["--pid", "1", "--pattern", "("], 2, "pattern"),
        (["--pid", "1", "--no-record", "--keep"], 2, "--keep needs a recording"),
        (["--pid", "1", "--criteria", "/no-such-file.toml"], 2, "criteria"),
        (["--pid", "1", "--record", "/proc/x/s.livemon"], 2, "can't be made"),
        (["--pid", "1", "--prometheus", "nowhere"], 2, "not HOST:PORT"),
    ],
)  # fmt: skip
def test_mistakes_are_one_clear_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    try:
        status = main(["watch", "--headless", *arguments])
    except SystemExit as leaving:
        status = leaving.code  # type: ignore[assignment]
    out, err = capfd.readouterr()
    assert (status, out) == (code, ""), err
    assert message in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.rglob("*.livemon"))


def test_without_a_terminal_it_says_headless(tmp_path: Path) -> None:
    status, out, err = run_livemon("watch", "--pid", str(os.getpid()), state=tmp_path, start_new_session=True)
    assert (status, out) == (2, "")
    assert "--headless" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no timing found"),
        (b"[a_timing] total=1.0", "the last line has no end and was not read; --accept-unterminated reads it"),
        (b"hello\n" * 1204, "read 1,204 lines, no timing found; try: livemon parse --explain"),
        (bytes(range(256)) * 100, "looks binary"),
    ],
)
def test_a_log_that_gives_nothing_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    status, _, err = run_livemon(
        "watch", "--headless", "--from-start", "--duration", "0.5", "--log", str(log), state=tmp_path
    )
    assert status == 3
    assert message in err


def test_a_log_that_never_came_is_said(tmp_path: Path) -> None:
    status, _, err = run_livemon(
        "watch", "--headless", "--duration", "0.5", "--log", str(tmp_path / "x"), state=tmp_path
    )
    assert status == 3
    assert "was never there" in err
    assert not list(tmp_path.glob("livemon/*.livemon*"))  # nothing was observed: nothing is kept


def test_a_pattern_that_never_matched_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("hello\n")
    patterns = ["--log", str(tmp_path / "*.txt"), "--log", str(tmp_path / "*.log")]
    status, _, err = run_livemon("watch", "--headless", "--duration", "0.5", *patterns, state=tmp_path)
    assert status == 3
    assert f"{tmp_path}/*.txt never matched a file" in err
    assert f"{tmp_path}/*.log never" not in err


def test_a_flood_is_skipped_in_counted_lines_and_ticks_go_on(tmp_path: Path) -> None:
    """Far more than can be read: nothing is lost in silence."""
    log, session = tmp_path / "log", tmp_path / "s.livemon"
    log.touch()
    with livemon(
        "watch", "--headless", "--log", str(log), "--pid", str(os.getpid()), "--record", str(session), state=tmp_path
    ) as monitor:
        wait_for(lambda: of_type(samples_of(session), ThreadTick))
        block = "".join(LINE.format(n) for n in range(100_000)).encode()
        with log.open("ab") as file:
            file.write(block + block)
        wait_for(lambda: of_type(samples_of(session), Lost))
        before = len(of_type(samples_of(session), ThreadTick))
        wait_for(lambda: len(of_type(samples_of(session), ThreadTick)) > before + 3)
        monitor.send_signal(signal.SIGINT)
        monitor.wait(90)
    samples = samples_of(session)
    lost = sum(s.count for s in of_type(samples, Lost) if s.unit == "lines")
    assert lost + len(of_type(samples, TimingRecord)) == 200_000
    assert not [n for n in of_type(samples, Note) if n.severity == "error"]


def test_a_restarted_process_is_taken_in_only_when_asked(tmp_path: Path) -> None:
    session, log = tmp_path / "s.livemon", tmp_path / "log"
    name = f"restarted-{os.getpid()}"
    with livemon(
        "watch", "--headless", "--name", name, "--follow-name", "--record", str(session), state=tmp_path
    ) as monitor:  # fmt: skip
        wait_for(lambda: of_type(samples_of(session), SelfSample))
        pids = []
        for _ in range(2):
            with target(log, tmp_path / name) as process:
                pids.append(process.pid)
                wait_for(lambda: pids[-1] in [e.pid for e in of_type(samples_of(session), TargetEvent)])
        monitor.send_signal(signal.SIGINT)
        monitor.wait(90)
    found = [e.pid for e in of_type(samples_of(session), TargetEvent) if e.event == "found"]
    assert found == pids
