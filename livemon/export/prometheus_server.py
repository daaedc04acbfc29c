"""``--prometheus HOST:PORT``: serves the newest frame's metrics; loopback unless told otherwise."""

from __future__ import annotations

import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from livemon.export.metrics import snapshot_families
from livemon.export.openmetrics import OPENMETRICS_TYPE, PROMETHEUS_TYPE, render_openmetrics
from livemon.model.errors import UsageError
from livemon.model.snapshot import Snapshot

MAX_CONNECTIONS = 16
_TIMEOUT_S = 5.0


def parse_address(text: str) -> tuple[str, int]:
    """``HOST:PORT``, ``[::1]:PORT``, ``:PORT`` or ``PORT``; without a host it is 127.0.0.1.

    Raises:
        UsageError: it is none of these.
    """
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else ""
    if not port.isdecimal() or not 0 <= int(port) <= 65535 or (":" in host and "[" not in text):
        raise UsageError(f"--prometheus {text}: not HOST:PORT", "such as 127.0.0.1:9464")
    return host or "127.0.0.1", int(port)


class PrometheusServer:
    """Serves ``/metrics``; ``publish`` swaps in a new frame, so neither waits for the other.

    Args:
        address: ``HOST:PORT``.
        version: livemon's, for ``livemon_build_info``.
        host: Name of the machine, likewise.

    Raises:
        UsageError: the address is wrong or in use.
    """

    def __init__(self, address: str, *, version: str = "", host: str = "") -> None:
        name, port = parse_address(address)
        try:
            family = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0][0]
            self._server = _server_class(family)((name, port), _Handler)
        except OSError as error:
            raise UsageError(f"--prometheus {address}: {error.strerror or error}", "choose another port") from error
        self._server.facts = {"version": version, "host": host}
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, name="livemon-prometheus", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it can be scraped."""
        host, port = self._server.server_address[:2]
        shown = host.decode() if isinstance(host, bytes) else host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/metrics"

    def publish(self, snapshot: Snapshot) -> None:
        """The frame that the next scrapes are told."""
        self._server.snapshot = snapshot

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    snapshot: Snapshot | None = None

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.facts: dict[str, str] = {}
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # HTTPServer asks the DNS for the host's name here, which can take seconds; it is not needed.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: object, client_address: object) -> None:
        """Turn connections away beyond the cap: scrapes are few, and threads must stay bounded."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)  # type: ignore[arg-type]
            return
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A scraper that hangs up is no error of ours."""


class _ServerV6(_Server):
    address_family = socket.AF_INET6


def _server_class(family: int) -> type[_Server]:
    return _ServerV6 if family == socket.AF_INET6 else _Server


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _TIMEOUT_S

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        if path not in ("/metrics", "/"):
            self._send(404, b"metrics are at /metrics\n", "text/plain; charset=utf-8", with_body)
            return
        is_openmetrics = "application/openmetrics-text" in (self.headers.get("Accept") or "")
        snapshot = self.server.snapshot
        families = () if snapshot is None else snapshot_families(snapshot, **self.server.facts)
        body = render_openmetrics(families, is_openmetrics=is_openmetrics).encode()
        self._send(200, body, OPENMETRICS_TYPE if is_openmetrics else PROMETHEUS_TYPE, with_body)

    def _send(self, status: int, body: bytes, content_type: str, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def version_string(self) -> str:
        return "livemon"

    def log_message(self, *args: object) -> None:
        """Scrapes are not worth a line."""
