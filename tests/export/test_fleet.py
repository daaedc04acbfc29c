"""Ranking hosts from a Prometheus server over real HTTP."""

import json
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from livemon.export.fleet import QUERIES, PrometheusApi, fleet_blocks, fleet_json, rank_hosts
from livemon.export.text import cells, render_text
from livemon.model.errors import TargetError, UsageError

ANSWERS: dict[str, dict[str, str]] = {
    "up": {"a": "1", "b": "1", "c": "1"},
    "seen": {"a": "1", "b": "1", "c": "1", "gone": "1"},
    "critical": {"a": "0", "b": "1", "c": "0"},
    "transients": {"a": "0", "b": "0", "c": "2"},
    "oversized": {"a": "0", "b": "1", "c": "0"},
    "slowdown": {"c": "5.8", "a": "NaN"},
    "host_slow": {"a": "0.01", "gone": "1"},
    "recent": {"a": "1.02", "c": "7"},
    "worst_p99_s": {"a": "0.0171"},
    "lost": {},
}


def vector(values: dict[str, str], label: str = "instance") -> bytes:
    result = [{"metric": {label: host}, "value": [1748345000.1, value]} for host, value in values.items()]
    result.append({"metric": {}, "value": [1748345000.1, "3"]})
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def canned(promql: str) -> bytes:
    expected = {q.replace("HOST", "instance").replace("WINDOW", "15m"): name for name, q in QUERIES.items()}
    return vector(ANSWERS[expected[promql]])


@contextmanager
def prometheus(answer: Callable[[str], bytes], status: int = 200) -> Iterator[tuple[str, list[dict[str, str]]]]:
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append({k.lower(): v for k, v in self.headers.items()} | {"path": self.path})
            body = answer(form["query"][0])
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_hosts_are_ranked_worst_first_and_silent_ones_last() -> None:
    with prometheus(canned) as (url, asked):
        rows = rank_hosts(PrometheusApi(url + "/"))
    assert [(row.host, row.state) for row in rows] == [
        ("b", "CRITICAL"),
        ("c", "warning"),
        ("a", "ok"),
        ("gone", "silent"),
    ]
    assert rows[2].slowdown is None
    assert len(asked) == len(QUERIES)
    assert {request["path"] for request in asked} == {"/api/v1/query"}
    hosts = json.loads(json.dumps(fleet_json(rows), allow_nan=False))["hosts"]
    assert hosts[1]["slowdown"] == 5.8
    assert hosts[2]["worst_p99_ms"] == pytest.approx(17.1)
    assert hosts[3]["critical"] is None


def test_the_table_fits_and_is_cut_at_the_top() -> None:
    with prometheus(canned) as (url, _):
        rows = rank_hosts(PrometheusApi(url))
    text = render_text(fleet_blocks(rows, "15m", 2))
    assert "CRITICAL  2 of 4 hosts with ongoing findings; 1 silent." in text
    assert "2 more hosts rank below these." in text
    assert max(cells(line) for line in text.splitlines()) <= 80


def test_no_hosts_says_how_to_get_some() -> None:
    with prometheus(lambda _: vector({})) as (url, _):
        text = render_text(fleet_blocks(rank_hosts(PrometheusApi(url)), "15m", 30))
    assert "CAN'T TELL  No livemon told this server anything in the last 15m." in text


def test_user_info_and_headers_go_along() -> None:
    with prometheus(canned) as (url, asked):
        PrometheusApi(url.replace("//", "//u:p@"), headers=(("X-Scope", "t"),)).query(
            QUERIES["up"].replace("HOST", "instance"), "instance"
        )
    assert asked[0]["authorization"] == "Basic dTpw"
    assert asked[0]["x-scope"] == "t"


def test_refusals_and_strangers_are_one_line_each() -> None:
    refusal = json.dumps({"status": "error", "error": "parse error: x"}).encode()
    with prometheus(lambda _: refusal, 400) as (url, _), pytest.raises(UsageError, match=r"\(400\): parse error: x"):
        rank_hosts(PrometheusApi(url))
    for body in (b"<html>", b"[]", b'{"data": {"result": [{"metric": {"instance": "a"}, "value": []}]}}'):
        with (
            prometheus(lambda _, body=body: body) as (url, _),  # type: ignore[misc]
            pytest.raises(TargetError, match="not a Prometheus server's; check"),
        ):
            rank_hosts(PrometheusApi(url))
    with pytest.raises(TargetError, match="no answer from the Prometheus server: Connection refused"):
        rank_hosts(PrometheusApi("http://127.0.0.1:1"))
    for url in ("", "prom:9090", "ftp://x", "http://"):
        with pytest.raises(UsageError, match="--prometheus-url needs a web address"):
            PrometheusApi(url)
