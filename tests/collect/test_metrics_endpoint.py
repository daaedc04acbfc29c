"""A real endpoint over HTTP: intervals, outages, restarts, slowness, authorization, secrets."""

import base64
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from wsgiref.simple_server import WSGIServer

import pytest
from prometheus_client import CollectorRegistry, Histogram, start_http_server

from livemon.collect.metrics_endpoint import (
    HEADER_VARIABLE,
    MEANS,
    MetricsEndpoint,
    MetricsEndpoints,
    ScrapeError,
    read_header,
    shown_url,
)
from livemon.model.clock import ManualClock
from livemon.model.errors import UsageError
from livemon.model.samples import LogCount, LogStream, Lost, Note, Sample, TimingRecord


@pytest.fixture
def port() -> Iterator[int]:
    """A port that nobody else is given, whether somebody listens on it or not."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


class Served:
    """A real prometheus_client endpoint with one histogram, ``observed`` before the first scrape."""

    def __init__(self, port: int = 0, observed: tuple[float, ...] = ()) -> None:
        self.registry = CollectorRegistry()
        self.latency = Histogram("request_latency_seconds", "h", ["model"], registry=self.registry)
        for seconds in observed:
            self.latency.labels("a").observe(seconds)
        server, self._thread = start_http_server(port, "127.0.0.1", self.registry)
        self.server: WSGIServer = server
        self.port = server.server_port
        self.url = f"http://127.0.0.1:{self.port}/metrics"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def served() -> Iterator[Served]:
    one = Served()
    yield one
    one.close()


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def http_server(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def wait_for(endpoints: MetricsEndpoints, is_done: Callable[[list[Sample]], bool]) -> list[Sample]:
    seen: list[Sample] = []
    end = time.monotonic() + 90
    while time.monotonic() < end:
        seen += endpoints.poll(time.monotonic_ns())
        if is_done(seen):
            return seen
        time.sleep(0.01)
    raise AssertionError(f"not seen in 90 s: {seen}")


def notes(samples: list[Sample]) -> list[str]:
    """What was told beside the standing remark on means."""
    return [s.text for s in samples if isinstance(s, Note) and not s.text.endswith(MEANS)]


def records(samples: list[Sample]) -> list[TimingRecord]:
    return [s for s in samples if isinstance(s, TimingRecord)]


def test_observations_become_records_of_the_interval(served: Served) -> None:
    served.latency.labels("llama").observe(1.0)
    endpoints = MetricsEndpoints([served.url], interval_s=0.05)
    try:
        seen = wait_for(endpoints, lambda s: any(isinstance(x, LogCount) for x in s))
        for value in (0.1, 0.3):
            served.latency.labels("llama").observe(value)
        seen += wait_for(endpoints, lambda s: sum(int(dict(r.fields)["n"]) for r in records(s)) >= 2)
    finally:
        endpoints.close()
    stream = seen[0]
    assert isinstance(stream, LogStream)
    assert any(isinstance(x, Note) and x.text.endswith(MEANS) for x in seen)
    assert (stream.kind, stream.path) == ("metrics", served.url)
    found = records(seen)
    assert {(r.source, r.label, r.stages[0][0], r.unit, r.time_from, r.stream) for r in found} == {
        ("metrics", "llama", "request_latency", None, "arrival", stream.index)
    }
    n = sum(int(dict(r.fields)["n"]) for r in found)
    total = sum(int(dict(r.fields)["n"]) * r.stages[0][1] for r in found)
    assert (n, total) == (2, pytest.approx(400))
    assert all(r.t_ns <= r.arrival_ns for r in found)
    assert all(float(dict(r.fields)["interval_s"]) > 0 for r in found)


def test_an_outage_is_a_gap_and_a_restart_is_told(port: int) -> None:
    first = Served(port, observed=(5, 5))
    endpoints = MetricsEndpoints([first.url], interval_s=0.03)
    try:
        seen = wait_for(endpoints, lambda s: any(isinstance(x, LogCount) for x in s))
        first.close()
        seen = wait_for(endpoints, lambda s: bool(notes(s)))
        assert "refused" in notes(seen)[0] or "reset" in notes(seen)[0]
        second = Served(port, observed=(0.25,))
        seen = wait_for(endpoints, lambda s: bool(records(s)))
        second.close()
    finally:
        left = endpoints.close()
    (lost,) = [x for x in seen if isinstance(x, Lost)]
    assert lost.source.startswith("log:http://127.0.0.1")
    assert (lost.unit, lost.count >= 1, lost.start_ns is not None and lost.end_ns is not None) == (
        "scrapes",
        True,
        True,
    )
    assert records(seen)[0].stages == (("request_latency", pytest.approx(250)),)
    assert len(notes(seen)) == 1
    assert "started again" in notes(seen)[0]
    assert all(isinstance(x, Lost | Note | LogCount | TimingRecord) for x in left)


def test_a_gap_that_is_open_at_the_end_is_told(port: int) -> None:
    endpoints = MetricsEndpoints([f"http://127.0.0.1:{port}"], interval_s=0.05)
    wait_for(endpoints, lambda s: bool(notes(s)))
    left = endpoints.close()
    assert [x.unit for x in left if isinstance(x, Lost)] == ["scrapes"]


class HurriedClock(ManualClock):
    """Every look at it takes ten seconds."""

    def monotonic_ns(self) -> int:
        self.advance_ns(10_000_000_000)
        return super().monotonic_ns()


def test_a_slow_endpoint_delays_no_one_and_is_named() -> None:
    """It answers only after the first look at it, and then without an end."""
    may_answer, release = threading.Event(), threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        may_answer.wait()
        handler.send_response(200)
        handler.end_headers()
        while not release.wait(0.02):
            try:
                handler.wfile.write(b"# drip\n")
                handler.wfile.flush()
            except OSError:
                return

    with http_server(drip) as url:
        endpoints = MetricsEndpoints([url], interval_s=0.05, timeout_s=60, clock=HurriedClock())
        assert not notes(endpoints.poll(1))
        may_answer.set()
        seen = wait_for(endpoints, lambda s: bool(notes(s)))
        endpoints.close()
        release.set()
    assert "no whole answer within 60 s" in notes(seen)[0]


def test_the_header_and_the_user_reach_the_endpoint_and_no_one_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.headers.get("Authorization"))
        send(handler, b"" if asked[-1] else b"no", 200 if asked[-1] else 401)

    with http_server(answer) as url:
        with pytest.raises(ScrapeError, match=rf"answered 401 \(set {HEADER_VARIABLE}\)"):
            MetricsEndpoint(url).scrape()
        MetricsEndpoint(url.replace("//", "//me:p%40ss@")).scrape()
        assert asked[-1] == "Basic " + base64.b64encode(b"me:p@ss").decode()
        monkeypatch.setenv(HEADER_VARIABLE, "Authorization: Bearer s3cret")
        endpoints = MetricsEndpoints([url.replace("//", "//me:pw@") + "?token=abc"], interval_s=0.05)
        seen = wait_for(endpoints, lambda s: any(isinstance(x, LogCount) for x in s))
        endpoints.close()
    assert not [word for word in ("s3cret", "pw", "abc", "me:") if word in repr(seen)]


def test_gzip_is_understood_and_redirects_are_not_followed() -> None:
    text = b"# TYPE a_seconds summary\na_seconds_count 1\na_seconds_sum 1\n"

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/elsewhere":
            send(handler, b"", 302, Location="http://other.example/metrics?key=secret")
        else:
            send(handler, gzip.compress(text), Content_Encoding="gzip")

    with http_server(answer) as url:
        assert MetricsEndpoint(url).scrape().durations == 1
        with pytest.raises(ScrapeError, match=r"redirects to http://other.example/metrics\?key=…; give that address"):
            MetricsEndpoint(url.replace("/metrics", "/elsewhere")).scrape()


def test_an_endpoint_without_durations_says_what_it_looked_for() -> None:
    with http_server(lambda handler: send(handler, b"# TYPE up gauge\nup 1\n")) as url:
        endpoints = MetricsEndpoints([url], interval_s=0.02)
        seen = wait_for(endpoints, lambda s: sum(isinstance(x, LogCount) for x in s) >= 3)
        endpoints.close()
    assert len(notes(seen)) == 1
    assert "none is a histogram or summary of a duration" in notes(seen)[0]
    assert "--unit NAME=s" in next(s.remedy for s in seen if isinstance(s, Note) and s.text == notes(seen)[0])


def test_binary_and_endless_answers_are_refused() -> None:
    with (
        http_server(lambda handler: send(handler, b"\x00\x01" * 100)) as url,
        pytest.raises(ScrapeError, match="not text"),
    ):
        MetricsEndpoint(url).scrape()


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000", "ftp://x/", "http://", "http://a b/", "file:///etc/passwd", "http://[", "http://x:99999/"],
)
def test_what_is_no_web_address_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(UsageError, match="not a web address; give one such as") as caught:
        MetricsEndpoints([url])
    assert "\n" not in str(caught.value)


def test_shown_urls_and_headers() -> None:
    assert shown_url("http://u:p@h:1/m?a=b&c=d") == "http://h:1/m?a=…&c=…"
    assert read_header("Authorization: Bearer a:b") == ("Authorization", "Bearer a:b")
    for text in ("nonsense", ": x", "A:", "A: b\r\nB: c"):
        with pytest.raises(UsageError, match="NAME: VALUE"):
            read_header(text)
