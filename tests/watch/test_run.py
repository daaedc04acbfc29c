"""``livemon run`` on real commands: status, signals, output, what is left behind."""

import os
import signal
import sys
from pathlib import Path

import pytest

from livemon.model.samples import LogStream, TargetEvent, ThreadTick, TimingRecord
from tests.watch.processes import TARGET, children, is_running, livemon, of_type, run_livemon, samples_of, wait_for


def command(stop: Path, status: int) -> list[str]:
    return ["--", sys.executable, "-c", TARGET, str(stop), str(status)]


def test_it_exits_with_the_commands_status_and_records_all_of_it(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    stop = tmp_path / "stop"
    with livemon("run", "--headless", "--record", str(session), *command(stop, 3), state=tmp_path) as process:
        wait_for(lambda: len(of_type(samples_of(session), TimingRecord)) > 20)
        stop.touch()
        _, err = process.communicate(timeout=90)
    assert process.returncode == 3, err
    samples = samples_of(session)
    events = [e for e in of_type(samples, TargetEvent) if e.event == "exited"]
    assert [e.exit_status for e in events] == [3]
    assert of_type(samples, ThreadTick)
    units = [int(r.unit) for r in of_type(samples, TimingRecord)]
    assert units == list(range(len(units))), "every line once, in order"
    stream = of_type(samples, LogStream)[0]
    assert stream.kind == "child"
    assert Path(stream.path).read_text().count("\n") == len(units)


def test_a_command_that_dies_of_a_signal_gives_the_shells_status(tmp_path: Path) -> None:
    code, _, err = run_livemon(
        "run", "--headless", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)", state=tmp_path
    )
    assert code == 137, err


@pytest.mark.parametrize(
    ("code", "how"), [("raise SystemExit(5)", "exited with 5"), ("import os; os.kill(os.getpid(), 9)", "SIGKILL")]
)
def test_how_a_command_ended_is_said_also_when_it_printed_nothing(tmp_path: Path, code: str, how: str) -> None:
    _, _, err = run_livemon("run", "--headless", "--", sys.executable, "-c", code, state=tmp_path)
    (line,) = [line for line in err.splitlines() if "(pid " in line]
    assert how in line


def test_both_standard_output_and_error_are_read(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    script = "import sys; print('[a_timing] total=1.0'); print('[b_timing] total=2.0', file=sys.stderr)"
    run_livemon("run", "--headless", "--record", str(session), "--", sys.executable, "-c", script, state=tmp_path)
    assert {r.source for r in of_type(samples_of(session), TimingRecord)} == {"a_timing", "b_timing"}


def test_children_of_the_command_are_followed(tmp_path: Path) -> None:
    session, stop = tmp_path / "s.livemon", tmp_path / "stop"
    inner = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}, {str(stop)!r}])"
    started = ["--", sys.executable, "-c", script]
    with livemon("run", "--headless", "--record", str(session), *started, state=tmp_path) as process:
        wait_for(lambda: [e for e in of_type(samples_of(session), TargetEvent) if e.event == "forked"])
        stop.touch()
        assert process.wait(90) == 0


def test_signals_go_on_to_the_command(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    script = ["--", "sh", "-c", "sleep 60"]
    with livemon("run", "--headless", "--record", str(session), *script, state=tmp_path) as process:
        wait_for(lambda: of_type(samples_of(session), ThreadTick))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=90)
    assert process.returncode == 143, err


def test_the_duration_ends_the_command_and_is_no_failure(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    with livemon(
        "run",
        "--headless",
        "--duration",
        "2",
        "--record",
        str(session),
        *("--", "sh", "-c", "echo '[a_timing] total=1.0'; exec sleep 300"),
        state=tmp_path,
    ) as process:
        _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert of_type(samples_of(session), TimingRecord)


def test_no_such_command_is_one_clear_line(tmp_path: Path) -> None:
    code, out, err = run_livemon("run", "--headless", "--", "no-such-program-anywhere", state=tmp_path)
    assert (code, out) == (2, "")
    assert "there is no program 'no-such-program-anywhere'" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.glob("livemon/*"))


def test_the_command_outlives_a_killed_viewer(tmp_path: Path) -> None:
    """Neither livemon nor its recorder may take the command with them."""
    session = tmp_path / "s.livemon"
    stop = tmp_path / "stop"
    with livemon("run", "--headless", "--record", str(session), *command(stop, 0), state=tmp_path) as process:
        wait_for(lambda: len(of_type(samples_of(session), TimingRecord)) > 5)
        target = next(e.pid for e in of_type(samples_of(session), TargetEvent) if e.event == "found")
        recorder = next(pid for pid in children(process.pid) if pid != target)
        process.kill()
        process.wait()
        seen = len(of_type(samples_of(session), TimingRecord))
        wait_for(lambda: len(of_type(samples_of(session), TimingRecord)) > seen + 5)
        output = Path(f"{session}-out")
        size = output.stat().st_size
        wait_for(lambda: output.stat().st_size > size + 500)
        assert is_running(target)
        assert is_running(recorder)
        stop.touch()
        wait_for(lambda: not is_running(target))
        wait_for(lambda: not is_running(recorder))


def test_a_killed_recorder_is_told_and_the_command_goes_on(tmp_path: Path) -> None:
    session = tmp_path / "s.livemon"
    stop = tmp_path / "stop"
    with livemon("run", "--headless", "--record", str(session), *command(stop, 0), state=tmp_path) as process:
        wait_for(lambda: len(of_type(samples_of(session), TimingRecord)) > 5)
        target = next(e.pid for e in of_type(samples_of(session), TargetEvent) if e.event == "found")
        recorder = next(pid for pid in children(process.pid) if pid != target)
        os.kill(recorder, signal.SIGKILL)
        wait_for(lambda: not is_running(recorder))
        assert is_running(target)
        stop.touch()
        _, err = process.communicate(timeout=90)
    assert process.returncode == 0
    assert "recorder" in err
    assert "Traceback" not in err
