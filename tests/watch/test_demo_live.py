"""The demo watched live, end to end: both stories are found from its log and its threads alone."""

import json
import signal
from pathlib import Path
from typing import Any

from livemon.model.clock import SystemClock
from livemon.model.samples import TargetEvent
from tests.watch.processes import is_running, livemon, of_type, run_livemon, samples_of, wait_for


def test_both_stories_are_found_and_reported(tmp_path: Path) -> None:
    session, truth = tmp_path / "s.livemon", tmp_path / "truth"
    arguments = ["demo", "--headless", "--json", "--truth", str(truth), "--first", "5", "--record", str(session)]
    found: list[dict[str, Any]] = []
    wall_ns = SystemClock().wall_ns() - SystemClock().monotonic_ns()

    def transient() -> dict[str, Any] | None:
        """One that lies where an episode was; a busy machine may have others of its own."""
        truths = [json.loads(line) for line in truth.read_text().splitlines()] if truth.exists() else []
        for finding in found:
            if finding["kind"] == "host_slow_transient" and finding["event"] == "ended" and finding["slowdown"] > 1.8:
                start_ns, end_ns = (finding[key] * 1e9 - wall_ns for key in ("start", "end"))
                for t in truths:
                    if (
                        start_ns < t["end_ns"]
                        and end_ns > t["start_ns"]
                        and end_ns - start_ns < 3 * (t["end_ns"] - t["start_ns"])
                    ):
                        return finding
        return None

    with livemon(*arguments, state=tmp_path) as monitor:
        assert monitor.stdout is not None
        while transient() is None or not any(f["kind"] == "oversized_finalize" for f in found):
            line = monitor.stdout.readline()
            assert line, "it ended before it had found both"
            found.append(json.loads(line))
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(90) == 130
    oversized = {f["class"]: f for f in found if f["kind"] == "oversized_finalize" and f["event"] == "raised"}
    assert oversized
    assert all(f["stage"] == "validate" and f["p50_ms"] > 5 for f in oversized.values())
    slow = transient()
    assert slow is not None
    assert slow["detected_at"] >= slow["start"]
    pids = [event.pid for event in of_type(samples_of(session), TargetEvent)]
    wait_for(lambda: not any(is_running(pid) for pid in pids))
    code, out, err = run_livemon("report", str(session), "--json", state=tmp_path)
    assert code == 0, err
    kinds = {f["kind"] for f in json.loads(out)["findings"]}
    assert kinds == {"oversized_finalize", "host_slow_transient"}
