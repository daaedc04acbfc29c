"""A real process that is stopped under load: told while it lasts, as what it is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from livemon.model.samples import TargetEvent, TimingRecord
from tests.watch.processes import TARGET, livemon, of_type, run_livemon, samples_of, wait_for

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def test_a_stopped_process_is_raised_while_it_is_stopped_and_ends_when_it_goes_on(tmp_path: Path) -> None:
    log, session, criteria, out = (tmp_path / name for name in ("log", "s.livemon", "c.toml", "out"))
    criteria.write_text("[host_slow]\ngap_s = 60.0\n")  # however slow this machine is, it is under load
    with log.open("w") as stdout:
        target = subprocess.Popen([sys.executable, "-c", TARGET, str(tmp_path / "end"), "0"], stdout=stdout)

    def told(event: str) -> list[dict[str, object]]:
        lines = [json.loads(line) for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in lines if line["event"] == event and line["kind"] == "host_slow_transient"]

    def served_s() -> float:
        records = of_type(samples_of(session), TimingRecord)
        return (records[-1].arrival_ns - records[0].arrival_ns) / 1e9 if records else 0.0

    arguments = ["watch", "--pid", str(target.pid), "--log", str(log), "--headless", "--json"]
    arguments += ["--record", str(session), "--criteria", str(criteria)]
    try:
        with out.open("w") as stdout, livemon(*arguments, state=tmp_path, stdout=stdout) as watch:
            wait_for(lambda: served_s() > 3)
            os.kill(target.pid, signal.SIGSTOP)
            (raised,) = wait_for(lambda: told("raised"))
            assert raised["ongoing"]
            assert raised["severity"] == "critical"
            os.kill(target.pid, signal.SIGCONT)
            (ended,) = wait_for(lambda: told("ended"))
            watch.send_signal(signal.SIGINT)
            watch.wait(timeout=90)
    finally:
        target.kill()
        target.wait()
    assert ended["primary_cause"] == "off_cpu"
    events = {e.event: e for e in of_type(samples_of(session), TargetEvent)}
    assert events["stopped"].detail == "stopped by a signal"
    status, text, _ = run_livemon("report", str(session), "--json", "--criteria", str(criteria), state=tmp_path)
    assert status == 0
    (found,) = [f for f in json.loads(text)["findings"] if f["kind"] == "host_slow_transient"]
    evidence = next(cause["evidence"] for cause in found["causes"] if cause["cause"] == "off_cpu")
    assert f"(pid {target.pid}) was stopped by a signal for" in evidence
    assert found["detected_at"] < found["end"]
