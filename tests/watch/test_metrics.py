"""Metrics in and out of a live watch: ``--metrics`` as a source, ``--prometheus`` as a sink."""

import re
import signal
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Histogram, start_http_server

from livemon.model.samples import LogStream, TimingRecord
from tests.watch.processes import TARGET, livemon, of_type, samples_of, wait_for


@pytest.fixture
def endpoint() -> Iterator[tuple[str, Histogram]]:
    registry = CollectorRegistry()
    histogram = Histogram("request_latency_seconds", "Latency.", registry=registry)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics", histogram
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_is_a_source(tmp_path: Path, endpoint: tuple[str, Histogram]) -> None:
    url, histogram = endpoint
    session = tmp_path / "s.livemon"
    with livemon("watch", "--headless", "--metrics", url, "--record", str(session), state=tmp_path) as monitor:

        def has_records() -> list[TimingRecord]:
            histogram.observe(0.25)
            return of_type(samples_of(session), TimingRecord)

        record = wait_for(has_records)[0]
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(90) == 130
    assert record.source == "metrics"
    assert any(value == pytest.approx(250, rel=0.01) for _, value in record.stages)
    assert [stream.kind for stream in of_type(samples_of(session), LogStream)] == ["metrics"]


def test_a_family_whose_name_has_no_unit_is_read_with_the_one_that_is_given(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    histogram = Histogram("decode_step", "Decode steps, in ms.", registry=registry)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    session = tmp_path / "s.livemon"
    url = f"http://127.0.0.1:{server.server_port}/metrics"
    chosen = ["--metrics", url, "--unit", "decode_step=ms", "--record", str(session)]
    with livemon("watch", "--headless", *chosen, state=tmp_path) as monitor:

        def has_records() -> list[TimingRecord]:
            histogram.observe(12.5)
            return of_type(samples_of(session), TimingRecord)

        record = wait_for(has_records)[0]
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(30) == 130
    server.shutdown()
    server.server_close()
    thread.join()
    assert [name for name, _ in record.stages] == ["decode_step"]
    assert record.stages[0][1] == pytest.approx(12.5)


def test_what_is_seen_can_be_scraped(tmp_path: Path) -> None:
    command = ["--", sys.executable, "-c", TARGET, str(tmp_path / "stop"), "0"]
    with livemon(
        "run", "--headless", "--no-record", "--prometheus", "127.0.0.1:0", *command, state=tmp_path
    ) as monitor:  # fmt: skip
        assert monitor.stderr is not None
        found = re.search(r"http://\S+", monitor.stderr.readline())
        assert found

        def stages() -> str:
            with urllib.request.urlopen(found[0], timeout=10) as response:
                text = response.read().decode()
            return text if 'stage="validate"' in text else ""

        text = wait_for(stages)
        assert re.search(r'livemon_stage_p50_seconds\{[^}]*stage="runner_run"[^}]*\} 0\.019\n', text)
        (tmp_path / "stop").touch()
        assert monitor.wait(90) == 0
