"""Metrics of a frame: strict OpenMetrics, seconds, bounded labels, nothing invented."""

import itertools
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from livemon.export.metrics import (
    FAMILIES,
    MAX_STAGES,
    MAX_THREAD_ROLES,
    MetricFamily,
    judgement_families,
    snapshot_families,
)
from livemon.export.openmetrics import render_openmetrics
from livemon.export.otlp import HEADERS_VARIABLE, QUEUE_FRAMES, OtlpPusher, metrics_url, read_headers
from livemon.export.prometheus_server import PrometheusServer, parse_address
from livemon.model.errors import UsageError
from tests.export.judgements import empty, judgement
from tests.export.snapshots import snapshot, stage_row, thread_row


def values(families: tuple[MetricFamily, ...]) -> dict[tuple[str, ...], float]:
    return {(f.name, *(v for _, v in labels)): value for f in families for labels, value in f.samples}


def test_figures_are_in_seconds_and_unknown_ones_are_left_out() -> None:
    found = values(snapshot_families(snapshot()))
    assert found["livemon_stage_p50_seconds", "1/3", "validate", "finalize"] == pytest.approx(0.0906)
    assert found["livemon_stage_budget_seconds", "1/3", "validate", "finalize"] == 0.005
    odd = ("", 'pre"pare\n\\', "finalize")
    assert ("livemon_stage_p50_seconds", *odd) in found
    assert ("livemon_stage_p99_seconds", *odd) not in found
    assert found["livemon_log_lag_seconds",] == 0.0125
    assert found["livemon_host_slow_ratio",] == 0.5
    assert found["livemon_lines",] == 1204


def test_threads_are_told_by_role_and_weighted_by_use() -> None:
    found = values(snapshot_families(snapshot()))
    assert found["livemon_threads", "serve", "worker"] == 2
    assert found["livemon_thread_cpu_ratio", "serve", "worker"] == 2.0
    assert found["livemon_thread_wait_ratio", "serve", "worker"] == pytest.approx(0.1)
    assert ("livemon_thread_cpu_ratio", "serve", "idle") not in found
    assert not [key for key in found if "4712" in key]


def test_ongoing_findings_are_active_and_all_are_counted() -> None:
    found = values(snapshot_families(snapshot()))
    assert found["livemon_finding_active", "host_slow_transient", "warning", "", "", "placement"] == 1
    assert found["livemon_finding_active", "oversized_finalize", "critical", "1/3", "validate", ""] == 1
    assert found["livemon_findings", "host_slow_transient", "warning"] == 1
    assert found["livemon_finding_slowdown_ratio",] == 5.8
    quiet = values(snapshot_families(snapshot(findings=())))
    assert quiet["livemon_finding_active", "host_slow_transient", "", "", "", ""] == 0


def test_labels_are_bounded_and_what_is_left_out_is_told() -> None:
    rows = tuple(stage_row(f"c{i}") for i in range(MAX_STAGES + 7))
    threads = tuple(thread_row("x" * (i + 1), float(i)) for i in range(MAX_THREAD_ROLES + 3))
    families = snapshot_families(snapshot(stages=rows, threads=threads))
    found = values(families)
    assert found["livemon_series_left_out",] == 10
    assert max(len(f.samples) for f in families) <= MAX_STAGES
    assert found["livemon_threads", "(other)", "(other)"] == 3


@pytest.mark.parametrize(
    "families", [snapshot_families(snapshot()), judgement_families(judgement()), judgement_families(empty()), ()]
)
def test_strict_parsers_read_it(families: tuple[MetricFamily, ...]) -> None:
    text = render_openmetrics(families)
    parsed = list(parse_openmetrics(text))
    assert [f.name for f in parsed] == [f.name for f in families]
    assert sum(len(f.samples) for f in parsed) == sum(len(f.samples) for f in families)
    old = list(parse_prometheus(render_openmetrics(families, is_openmetrics=False)))
    assert {s.name: s.value for f in old for s in f.samples} == {s.name: s.value for f in parsed for s in f.samples}


def test_names_keep_the_conventions() -> None:
    for name, (kind, unit, text) in FAMILIES.items():
        assert name.startswith("livemon_")
        assert not name.endswith(("_total", "_ms", "_percent", "_info"))
        assert not unit or name.endswith(f"_{unit}")
        assert text.endswith(".")
        assert kind in ("gauge", "counter", "info")


def test_the_help_of_a_session_speaks_of_the_session_that_of_a_scrape_of_the_window() -> None:
    live, whole = (render_openmetrics(f) for f in (snapshot_families(snapshot()), judgement_families(judgement())))
    assert "# HELP livemon_stage_p50_seconds Median duration of a stage in the newest window." in live
    assert "# HELP livemon_stage_p50_seconds Median duration of a stage over the whole session." in whole
    assert not [line for line in whole.splitlines() if line.startswith("# HELP") and "newest" in line]


def get(url: str, **headers: str) -> tuple[str, str]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=90) as response:
        return response.headers["Content-Type"], response.read().decode()


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    one = PrometheusServer("127.0.0.1:0", version="1", host="box")
    yield one
    one.close()


def test_a_scraper_gets_the_newest_frame_in_the_form_it_asks_for(server: PrometheusServer) -> None:
    assert get(server.url)[1] == ""
    server.publish(snapshot())
    kind, text = get(server.url, Accept="application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")
    assert 'livemon_build_info{version="1",host="box"} 1' in text
    kind, text = get(server.url)
    assert kind.startswith("text/plain; version=0.0.4")
    assert "livemon_findings_total{" in text
    server.publish(snapshot(findings=()))
    assert 'kind="host_slow_transient",severity="",class="",stage="",cause=""} 0' in get(server.url)[1]
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        get(server.url.replace("/metrics", "/etc/passwd"))
    caught.value.close()


def test_clients_that_hold_the_line_do_not_stop_scrapes(server: PrometheusServer) -> None:
    server.publish(snapshot())
    host, port = server.url.removeprefix("http://").removesuffix("/metrics").split(":")
    holders = [socket.create_connection((host, int(port))) for _ in range(5)]
    assert "livemon_lines_total 1204" in get(server.url)[1]
    for holder in holders:
        holder.close()


def test_an_address_in_use_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="in use; choose another port"):
            PrometheusServer(f"127.0.0.1:{taken.getsockname()[1]}")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        ("[::1]:9", ("::1", 9)),
        ("box.lan:80", ("box.lan", 80)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "x", "host:", "host:x", "1:2:3", "host:70000", "host:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"not HOST:PORT; such as"):
        PrometheusServer(text)


class Collector:
    """A real OTLP/HTTP endpoint whose answers are scripted."""

    def __init__(self, *statuses: int) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], int]] = []
        self._statuses = itertools.chain(statuses, itertools.repeat(200))

    @contextmanager
    def serving(self) -> Iterator[str]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = next(collector._statuses)
                collector.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, status))
                if status == 200:
                    collector.bodies.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "2")
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def wait_until(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not is_done():
        assert time.monotonic() < end, "did not happen within 90 s"
        time.sleep(0.01)


def test_a_collector_gets_frames_as_otlp_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADERS_VARIABLE, "authorization=Bearer%20abc, x-scope = 1")
    collector = Collector()
    with collector.serving() as url:
        pusher = OtlpPusher(url, attributes=(("service.name", "livemon"), ("host.name", "box")), interval_s=0.01)
        pusher.publish(snapshot())
        wait_until(lambda: pusher.pushed == 1)
        pusher.close()
    path, headers, _ = collector.requests[0]
    assert path == "/v1/metrics"
    assert (headers["authorization"], headers["x-scope"]) == ("Bearer abc", "1")
    assert headers["content-type"] == "application/json"
    (resource,) = collector.bodies[0]["resourceMetrics"]
    assert {"key": "host.name", "value": {"stringValue": "box"}} in resource["resource"]["attributes"]
    metrics = {m["name"]: m for m in resource["scopeMetrics"][0]["metrics"]}
    p50 = metrics["livemon_stage_p50_seconds"]
    assert p50["unit"] == "s"
    assert p50["gauge"]["dataPoints"][0]["asDouble"] == pytest.approx(0.0906)
    assert p50["gauge"]["dataPoints"][0]["timeUnixNano"] == str(snapshot().wall_ns)
    lines = metrics["livemon_lines"]["sum"]
    assert (lines["isMonotonic"], lines["aggregationTemporality"]) == (True, 2)
    assert int(lines["dataPoints"][0]["startTimeUnixNano"]) == (snapshot().wall_ns or 0) - 20_000_000_000


def test_a_busy_collector_is_asked_again_and_a_refusal_is_dropped() -> None:
    collector = Collector(503, 429, 200, 400)
    with collector.serving() as url:
        pusher = OtlpPusher(url, interval_s=0.01, first_pause_s=0.01)
        pusher.publish(snapshot())
        wait_until(lambda: pusher.pushed == 1)
        assert (pusher.dropped, pusher.trouble) == (0, "")
        pusher.publish(snapshot())
        wait_until(lambda: pusher.dropped == 1)
        assert pusher.trouble == "the collector answered 400"
        pusher.publish(snapshot())
        wait_until(lambda: pusher.pushed == 2)
        pusher.close()
    assert [status for _, _, status in collector.requests] == [503, 429, 200, 400, 200]


def test_a_collector_that_is_down_costs_no_time_and_no_memory() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        pusher = OtlpPusher(f"http://127.0.0.1:{unused.getsockname()[1]}", first_pause_s=300)
        for _ in range(QUEUE_FRAMES + 10):
            pusher.publish(snapshot())
        wait_until(lambda: "refused" in pusher.trouble)
        pusher.close(timeout_s=90)
    assert pusher.dropped == QUEUE_FRAMES + 10
    assert not pusher._thread.is_alive()


def test_a_frame_without_wall_time_is_not_told() -> None:
    pusher = OtlpPusher("http://127.0.0.1:1")
    pusher.publish(snapshot(wall_ns=None))
    assert pusher.trouble == "nothing ties the session to wall time"
    pusher.close()


def test_addresses_and_headers_of_otlp() -> None:
    assert metrics_url("http://c:4318") == metrics_url("http://c:4318/") == "http://c:4318/v1/metrics"
    assert metrics_url("https://c/x/v1/metrics") == "https://c/x/v1/metrics"
    assert read_headers("a=1,b=x%3Dy,,bad") == {"a": "1", "b": "x=y"}
    for url in ("", "c:4318", "grpc://c", "http://", "http://[", "http://a b"):
        with pytest.raises(UsageError, match="needs a web address"):
            metrics_url(url)
