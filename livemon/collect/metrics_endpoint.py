"""Polls Prometheus/OpenMetrics endpoints as timing sources; a slow one delays nothing but itself.

Each endpoint has a thread that fetches once an interval; the recorder takes what has come. A scrape
that fails is counted, and told as a gap when the endpoint answers again (or at the end): counters go
on while nobody looks, so the first interval after a gap covers it. Secrets (user info and query
values of the URL, the header from the environment) go to the endpoint alone, never into a session.
"""

from __future__ import annotations

import base64
import http.client
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Mapping, Sequence
from typing import IO, Any

from livemon.model.clock import Clock, SystemClock
from livemon.model.errors import UsageError
from livemon.model.samples import LogCount, LogStream, Lost, Note, Sample, TimingRecord
from livemon.parse.metric_deltas import MetricDeltas, ScrapeReading

HEADER_VARIABLE = "LIVEMON_METRICS_HEADER"
"""Environment variable with one header for all endpoints, such as ``Authorization: Bearer …``."""
MEANS = "are means over scrape intervals: percentiles are those of the means, single units are not seen"
FIRST_STREAM = 1_000_000
"""Indexes of metrics streams, above those of logs."""
MAX_BYTES = 32 << 20
_ACCEPT = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.9,*/*;q=0.1"
"""The plain form first: client libraries rewrite names (``vllm:…``) for OpenMetrics."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are not followed: they would carry the header to another place."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        raise ScrapeError(f"redirects to {shown_url(newurl)}; give that address")


class ScrapeError(Exception):
    """A scrape that gave nothing, with the reason."""


def shown_url(url: str) -> str:
    """The URL without what may be secret: user info goes, query values become ``…``."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(f"{pair.partition('=')[0]}=…" for pair in parts.query.split("&")) if parts.query else ""
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, query, ""))


def _checked(url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        if is_usable and not any(c.isspace() for c in url):
            return parts
        shown = shown_url(url)
    except ValueError:
        shown = "URL"
    raise UsageError(f"--metrics {shown}: not a web address", "give one such as http://127.0.0.1:8000/metrics")


def read_header(text: str) -> tuple[str, str]:
    """``NAME: VALUE`` as a pair.

    Raises:
        UsageError: it is not one.
    """
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not value.strip() or "\n" in text or "\r" in text:
        raise UsageError(f"{HEADER_VARIABLE} must be 'NAME: VALUE', such as 'Authorization: Bearer …'")
    return name.strip(), value.strip()


class MetricsEndpoint:
    """Fetches one endpoint and reads it against the scrape before.

    Args:
        url: ``http://`` or ``https://``; user info becomes a Basic authorization header.
        headers: Further request headers.
        units: Family name -> unit, for families whose name does not say it.
        timeout_s: For a whole scrape, in seconds.
        clock: For the scrape's deadline.

    Raises:
        UsageError: not such a URL.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        timeout_s: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        parts = _checked(url)
        host = parts.netloc.rpartition("@")[2]
        self._target = urllib.parse.urlunsplit((parts.scheme, host, parts.path or "/metrics", parts.query, ""))
        self.shown = shown_url(self._target)
        self._headers = {"Accept": _ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "livemon", **(headers or {})}
        if parts.username is not None:
            user = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._deltas = MetricDeltas(units)
        # A target on this machine or network is asked directly, whatever proxy the environment names.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)

    def scrape(self) -> ScrapeReading:
        """Fetch and read once.

        Raises:
            ScrapeError: no answer, an error status, too much, or not text.
        """
        return self._deltas.update(self._fetch())

    def _fetch(self) -> str:
        deadline_ns = self._clock.monotonic_ns() + int(self._timeout_s * 1e9)
        request = urllib.request.Request(self._target, headers=self._headers)
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return self._read(response, deadline_ns)
        except urllib.error.HTTPError as error:
            hint = f" (set {HEADER_VARIABLE})" if error.code in (401, 403) else ""
            error.close()
            raise ScrapeError(f"answered {error.code}{hint}") from error
        except urllib.error.URLError as error:
            reason = error.reason
            if isinstance(reason, TimeoutError):
                raise ScrapeError(f"no answer within {self._timeout_s:g} s") from error
            raise ScrapeError(getattr(reason, "strerror", None) or str(reason)) from error
        except TimeoutError as error:
            raise ScrapeError(f"no answer within {self._timeout_s:g} s") from error
        except (OSError, http.client.HTTPException, zlib.error) as error:
            raise ScrapeError(str(error) or type(error).__name__) from error

    def _read(self, response: Any, deadline_ns: int) -> str:
        unzip = zlib.decompressobj(31) if response.headers.get("Content-Encoding") == "gzip" else None
        parts: list[bytes] = []
        size = 0
        while True:
            chunk = response.read1(65536)
            if not chunk:
                break
            part = unzip.decompress(chunk, MAX_BYTES) if unzip else chunk
            parts.append(part)
            size += len(part)
            if size >= MAX_BYTES:
                raise ScrapeError(f"more than {MAX_BYTES >> 20} MB")
            if self._clock.monotonic_ns() > deadline_ns:
                raise ScrapeError(f"no whole answer within {self._timeout_s:g} s")
        text = b"".join(parts)
        if b"\0" in text[:4096]:
            raise ScrapeError("the answer is not text (asked for Prometheus or OpenMetrics text)")
        return text.decode("utf-8", "replace")


class _Follower:
    """One endpoint with its thread; samples are handed over through a list under a lock."""

    def __init__(self, endpoint: MetricsEndpoint, stream: int, interval_s: float, clock: Clock) -> None:
        self._endpoint = endpoint
        self._stream = stream
        self._interval_s = interval_s
        self._clock = clock
        self._lock = threading.Lock()
        self._ready: list[tuple[int, ScrapeReading | ScrapeError]] = []
        self._stop = threading.Event()
        self._is_told = False
        self._has_warned = False
        self._failed_from_ns: int | None = None
        self._failures = 0
        self._reason = ""
        self._last_ns: int | None = None
        self._thread = threading.Thread(target=self._run, name="livemon-metrics", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            started_ns = self._clock.monotonic_ns()
            result: ScrapeReading | ScrapeError
            try:
                result = self._endpoint.scrape()
            except ScrapeError as error:
                result = error
            with self._lock:
                self._ready.append((self._clock.monotonic_ns(), result))
                del self._ready[:-64]
            spent_s = (self._clock.monotonic_ns() - started_ns) / 1e9
            self._stop.wait(max(self._interval_s - spent_s, 0.05))

    def take(self, now_ns: int) -> list[Sample]:
        """What has come since the last call, as samples that arrive at ``now_ns``."""
        with self._lock:
            ready, self._ready = self._ready, []
        out: list[Sample] = []
        if not self._is_told:
            self._is_told = True
            out.append(LogStream(now_ns, self._stream, self._endpoint.shown, "metrics", "metrics"))
            out.append(Note(now_ns, "warning", f"durations from {self._endpoint.shown} {MEANS}"))
        for t_ns, result in ready:
            if isinstance(result, ScrapeError):
                out += self._miss(t_ns, now_ns, str(result))
            else:
                out += self._tell_gap(t_ns, now_ns)
                out += self._samples(t_ns, now_ns, result)
        return out

    def _miss(self, t_ns: int, now_ns: int, reason: str) -> list[Sample]:
        self._failures += 1
        self._reason = reason
        if self._failed_from_ns is not None:
            return []
        self._failed_from_ns = self._last_ns if self._last_ns is not None else t_ns
        return [Note(now_ns, "warning", f"metrics endpoint {self._endpoint.shown}: {reason}; livemon keeps asking")]

    def _tell_gap(self, t_ns: int, now_ns: int) -> list[Sample]:
        if self._failed_from_ns is None:
            return []
        start_ns, failures = self._failed_from_ns, self._failures
        self._failed_from_ns, self._failures = None, 0
        source = f"log:{self._endpoint.shown}"
        return [Lost(now_ns, source, failures, "scrapes", self._reason, start_ns, t_ns)]

    def _samples(self, t_ns: int, now_ns: int, reading: ScrapeReading) -> list[Sample]:
        out: list[Sample] = [Note(now_ns, "warning", note) for note in reading.notes]
        if not reading.durations and not self._has_warned:
            self._has_warned = True
            text = f"{self._endpoint.shown}: {reading.lines} lines, none is a histogram or summary of a duration"
            hint = "names such as …_seconds or …_ms tell durations; --unit NAME=s says it of one whose name does not"
            out.append(Note(now_ns, "warning", text, hint))
        if reading.left_out:
            out.append(Lost(now_ns, f"log:{self._endpoint.shown}", reading.left_out, "series", "too many series"))
        interval = () if self._last_ns is None else (("interval_s", f"{(t_ns - self._last_ns) / 1e9:.3f}"),)
        self._last_ns = t_ns
        out += [
            TimingRecord(
                now_ns, t_ns, "arrival", "metrics", None, found.label, found.stages,
                fields=(*found.fields, *interval), stream=self._stream,
            )
            for found in reading.intervals
        ]  # fmt: skip
        counts = (reading.lines, len(reading.intervals), reading.malformed)
        out.append(LogCount(now_ns, self._stream, *counts))
        return out

    def close(self, now_ns: int) -> list[Sample]:
        """Stop asking; returns what is left to tell."""
        self._stop.set()
        out = self.take(now_ns)
        return out + self._tell_gap(now_ns, now_ns)


class MetricsEndpoints:
    """All endpoints of a recording.

    Args:
        urls: Where to ask.
        interval_s: Seconds between scrapes of one endpoint.
        timeout_s: Seconds a scrape may take.
        units: Family name -> unit, for families whose name does not say it.
        clock: Where times come from.

    Raises:
        UsageError: a URL or the header in the environment is not one.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        interval_s: float = 1.0,
        timeout_s: float = 5.0,
        units: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        header = os.environ.get(HEADER_VARIABLE)
        headers = dict([read_header(header)]) if header else {}
        endpoints = [
            MetricsEndpoint(url, headers=headers, units=units, timeout_s=timeout_s, clock=clock) for url in urls
        ]
        self._clock = clock
        self._followers = [
            _Follower(endpoint, FIRST_STREAM + number, interval_s, clock) for number, endpoint in enumerate(endpoints)
        ]

    def poll(self, now_ns: int) -> list[Sample]:
        """What has come since the last call; never waits for an endpoint."""
        return [sample for follower in self._followers for sample in follower.take(now_ns)]

    def close(self) -> list[Sample]:
        """Stop asking; returns what is left to tell (a gap that was still open)."""
        now_ns = self._clock.monotonic_ns()
        return [sample for follower in self._followers for sample in follower.close(now_ns)]
