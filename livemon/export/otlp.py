"""``--otlp URL``: pushes metrics to an OpenTelemetry collector as OTLP/HTTP JSON, without a dependency.

Frames wait in a bounded queue, newest kept; a thread sends one each interval. A collector that is
down or busy (429, 502, 503, 504) is asked again with growing pauses, as long as it says or up to a
minute; any other refusal drops the frame. What was dropped is counted and told, never hidden.
Headers come from ``OTEL_EXPORTER_OTLP_HEADERS`` (``name=value,name=value``).
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from livemon.export.metrics import Labels, MetricFamily, snapshot_families
from livemon.model.errors import UsageError
from livemon.model.snapshot import Snapshot

HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
QUEUE_FRAMES = 64
RETRYABLE = frozenset((429, 502, 503, 504))
LONGEST_PAUSE_S = 60.0
_CUMULATIVE = 2


def metrics_url(url: str) -> str:
    """The address to post to: ``/v1/metrics`` is added to a base address.

    Raises:
        UsageError: not a web address.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable, parts = False, urllib.parse.urlsplit("")
    if not is_usable or any(c.isspace() for c in url):
        raise UsageError("--otlp needs a web address", "such as http://127.0.0.1:4318")
    path = parts.path.rstrip("/")
    return urllib.parse.urlunsplit(parts._replace(path=path if path.endswith("/v1/metrics") else f"{path}/v1/metrics"))


def read_headers(text: str) -> dict[str, str]:
    """Headers in the form of the OpenTelemetry environment variable; values are percent-decoded."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return {
        name.strip(): urllib.parse.unquote(value.strip()) for name, equals, value in pairs if equals and name.strip()
    }


def otlp_request(
    families: Iterable[MetricFamily], *, start_unix_ns: int, unix_ns: int, attributes: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """The body of one export request.

    Args:
        families: What to tell.
        start_unix_ns: Since when counters count.
        unix_ns: The time of the figures.
        attributes: Of the resource (``service.name``, ``host.name``, …).
    """
    metrics = []
    for family in families:
        if family.kind == "info":
            continue
        points = [
            {
                "attributes": _attributes(labels),
                "timeUnixNano": str(unix_ns),
                **({"startTimeUnixNano": str(start_unix_ns)} if family.kind == "counter" else {}),
                "asDouble": value,
            }
            for labels, value in family.samples
        ]
        data: dict[str, Any] = {"dataPoints": points}
        if family.kind == "counter":
            data |= {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
        kind = "sum" if family.kind == "counter" else "gauge"
        unit = {"seconds": "s", "bytes": "By", "ratio": "1"}.get(family.unit, "1")
        metrics.append({"name": family.name, "description": family.help, "unit": unit, kind: data})
    scope = {"scope": {"name": "livemon"}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(tuple(attributes))}, "scopeMetrics": [scope]}]}


def _attributes(labels: Labels) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in labels]


class OtlpPusher:
    """Pushes what is published, from a thread of its own; ``publish`` never waits.

    Args:
        url: Base address of the collector, or its ``/v1/metrics``.
        attributes: Of the resource.
        interval_s: Seconds between pushes.
        timeout_s: Seconds a push may take.
        first_pause_s: Pause after the first failure; doubles with each further one.

    Raises:
        UsageError: not a web address.
    """

    def __init__(
        self,
        url: str,
        *,
        attributes: Sequence[tuple[str, str]] = (("service.name", "livemon"),),
        interval_s: float = 5.0,
        timeout_s: float = 5.0,
        first_pause_s: float = 1.0,
    ) -> None:
        self._url = metrics_url(url)
        self._headers = {"Content-Type": "application/json", "User-Agent": "livemon"}
        self._headers |= read_headers(os.environ.get(HEADERS_VARIABLE, ""))
        self._attributes = tuple(attributes)
        self._interval_s, self._timeout_s = interval_s, timeout_s
        self._first_pause_s = self._pause_s = first_pause_s
        self._frames: deque[tuple[int, tuple[MetricFamily, ...]]] = deque()
        self._start_unix_ns: int | None = None
        self._changed = threading.Condition()
        self._is_closing = False
        self._opener = urllib.request.build_opener(_NoRedirect)
        self.pushed = 0
        """Frames the collector has taken."""
        self.dropped = 0
        """Frames lost: refused, or pushed out of the full queue."""
        self.trouble = ""
        """Why the newest push failed; empty when it did not."""
        self._thread = threading.Thread(target=self._run, name="livemon-otlp", daemon=True)
        self._thread.start()

    def publish(self, snapshot: Snapshot) -> None:
        """Queue a frame; the oldest one goes when the queue is full. One without wall time can't be told."""
        unix_ns = snapshot.wall_ns
        if unix_ns is None:
            self.trouble = "nothing ties the session to wall time"
            return
        families = snapshot_families(snapshot)
        with self._changed:
            if self._start_unix_ns is None:
                self._start_unix_ns = unix_ns - (snapshot.at_ns - snapshot.start_ns)
            self._frames.append((unix_ns, families))
            if len(self._frames) > QUEUE_FRAMES:
                self._frames.popleft()
                self.dropped += 1
            self._changed.notify()

    def close(self, timeout_s: float = 3.0) -> None:
        """Push the newest frame once more if it waits, then stop; what is left counts as dropped."""
        with self._changed:
            self._is_closing = True
            while len(self._frames) > 1:
                self._frames.popleft()
                self.dropped += 1
            self._changed.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._frames) or self._is_closing)
                if not self._frames:
                    return
                unix_ns, families = self._frames[0]
            wait_s = self._push(unix_ns, families)
            with self._changed:
                if wait_s is None:
                    if self._frames and self._frames[0][0] == unix_ns:
                        self._frames.popleft()
                    wait_s = self._interval_s
                elif self._is_closing:
                    self.dropped += len(self._frames)
                    self._frames.clear()
                if not self._is_closing:
                    self._changed.wait_for(lambda: self._is_closing, wait_s)

    def _push(self, unix_ns: int, families: tuple[MetricFamily, ...]) -> float | None:
        """Send a frame; returns seconds to wait before sending it again, ``None`` when it is done with."""
        start_unix_ns = self._start_unix_ns if self._start_unix_ns is not None else unix_ns
        body = otlp_request(families, start_unix_ns=start_unix_ns, unix_ns=unix_ns, attributes=self._attributes)
        data = json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(self._url, data, self._headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                response.read(65536)
        except urllib.error.HTTPError as error:
            retry_after = error.headers.get("Retry-After", "")
            error.close()
            self.trouble = f"the collector answered {error.code}"
            if error.code not in RETRYABLE:
                with self._changed:
                    self.dropped += 1
                return None
            return self._next_pause(float(retry_after) if retry_after.isdecimal() else 0.0)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            self.trouble = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
            return self._next_pause(0.0)
        self.trouble = ""
        self._pause_s = self._first_pause_s
        self.pushed += 1
        return None

    def _next_pause(self, at_least_s: float) -> float:
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, LONGEST_PAUSE_S)
        return min(max(pause_s, at_least_s), LONGEST_PAUSE_S)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are answers, not followed: they would carry the headers to another place."""

    def redirect_request(self, *args: object) -> None:
        return None
