"""``livemon fleet``: ranks hosts by what their livemons told a Prometheus server.

One instant query a figure, through the server's HTTP API; nothing is stored here. Hosts are ranked by
critical findings, then by ongoing host-slow transients and how slow they are, then by other
findings, then by their share of host-slow units. A host whose livemon stopped telling is listed as
silent, last: unknown is not healthy.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from livemon.export.document import Block, Heading, Level, Paragraph, Table, Verdict, columns
from livemon.export.numbers import count, counted, ms, percent, ratio
from livemon.model.errors import TargetError, UsageError

SCHEMA = 1
MAX_BYTES = 64 << 20

QUERIES: dict[str, str] = {
    "up": "max by (HOST) (livemon_build_info)",
    "seen": "max by (HOST) (max_over_time(livemon_build_info[WINDOW]))",
    "critical": (
        'sum by (HOST) (livemon_finding_active{severity="critical"}) or sum by (HOST) (livemon_finding_active * 0)'
    ),
    "transients": 'sum by (HOST) (livemon_finding_active{kind="host_slow_transient"})',
    "oversized": 'sum by (HOST) (livemon_finding_active{kind="oversized_finalize"})',
    "slowdown": "max by (HOST) (livemon_finding_slowdown_ratio)",
    "host_slow": "max by (HOST) (max_over_time(livemon_host_slow_ratio[WINDOW]))",
    "recent": 'sum by (HOST) (increase(livemon_findings_total{kind="host_slow_transient"}[WINDOW]))',
    "worst_p99_s": "max by (HOST) (livemon_stage_p99_seconds)",
    "lost": "sum by (HOST) (increase(livemon_lost_total[WINDOW]))",
}
"""Figure -> PromQL; HOST is the label that names hosts, WINDOW the stretch of time looked back."""


@dataclass(frozen=True, slots=True)
class HostRow:
    """One host; ``None`` is not told."""

    host: str
    is_silent: bool
    critical: int | None
    transients: int | None
    oversized: int | None
    slowdown: float | None
    host_slow: float | None
    recent: float | None
    worst_p99_s: float | None
    lost: float | None

    @property
    def rank(self) -> tuple[float, ...]:
        """Smallest first: worst first, silent ones last."""
        return (
            float(self.is_silent),
            -(self.critical or 0),
            -(self.transients or 0),
            -(self.slowdown or 0.0),
            -(self.oversized or 0),
            -(self.host_slow or 0.0),
            -(self.recent or 0.0),
        )

    @property
    def state(self) -> str:
        """In a word."""
        if self.is_silent:
            return "silent"
        if self.critical:
            return "CRITICAL"
        return "warning" if self.transients or self.oversized else "ok"


class PrometheusApi:
    """A Prometheus server's query API.

    Args:
        url: Base address; user info becomes a Basic authorization header.
        headers: Further request headers.
        timeout_s: Seconds a query may take.

    Raises:
        UsageError: not a web address.
    """

    def __init__(self, url: str, *, headers: Sequence[tuple[str, str]] = (), timeout_s: float = 10.0) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_usable, parts = False, urllib.parse.urlsplit("")
        if not is_usable or any(c.isspace() for c in url):
            raise UsageError("--prometheus-url needs a web address", "such as http://prometheus.lan:9090")
        host = parts.netloc.rpartition("@")[2]
        self._base = urllib.parse.urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/json", "User-Agent": "livemon"}
        if parts.username is not None:
            user = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        self._headers |= dict(headers)
        self._timeout_s = timeout_s

    def query(self, promql: str, label: str) -> dict[str, float]:
        """Value by the label's value; samples without that label or that are not finite are left out.

        Raises:
            TargetError: the server can't be reached, or is none.
            UsageError: it refused the query.
        """
        data = urllib.parse.urlencode({"query": promql}).encode()
        request = urllib.request.Request(f"{self._base}/api/v1/query", data, self._headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as response:
                body = response.read(MAX_BYTES)
        except urllib.error.HTTPError as error:
            body = error.read(65536)
            error.close()
            raise UsageError(f"Prometheus refused the query ({error.code}): {_message(body)}") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            words = getattr(reason, "strerror", None) or str(reason)
            raise TargetError(f"no answer from the Prometheus server: {words}", "check --prometheus-url") from error
        return _vector(body, label)


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])[:200]
    except (ValueError, KeyError, TypeError):
        return " ".join(body[:200].decode("utf-8", "replace").split()) or "no reason given"


def _vector(body: bytes, label: str) -> dict[str, float]:
    try:
        answer = json.loads(body)
        result = answer["data"]["result"]
        found = {str(row["metric"][label]): float(row["value"][1]) for row in result if label in row["metric"]}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise TargetError("the answer is not a Prometheus server's", "check --prometheus-url") from error
    return {host: value for host, value in found.items() if math.isfinite(value)}


def rank_hosts(api: PrometheusApi, *, label: str = "instance", window: str = "15m") -> list[HostRow]:
    """All hosts that told anything in the window, worst first.

    Args:
        api: The server.
        label: The label that names hosts.
        window: How far to look back, in PromQL's spelling.
    """
    answers: dict[str, dict[str, float]] = {
        name: api.query(promql.replace("HOST", label).replace("WINDOW", window), label)
        for name, promql in QUERIES.items()
    }
    hosts = sorted(set(answers["up"]) | set(answers["seen"]))

    def whole(name: str, host: str) -> int | None:
        value = answers[name].get(host)
        return None if value is None else round(value)

    rows = [
        HostRow(
            host,
            host not in answers["up"],
            *(whole(name, host) for name in ("critical", "transients", "oversized")),
            *(answers[name].get(host) for name in ("slowdown", "host_slow", "recent", "worst_p99_s", "lost")),
        )
        for host in hosts
    ]
    return sorted(rows, key=lambda row: (row.rank, row.host))


def fleet_json(rows: Sequence[HostRow]) -> dict[str, Any]:
    """The ranking, schema 1."""
    return {
        "schema": SCHEMA,
        "hosts": [
            {
                "host": row.host,
                "state": row.state.lower(),
                "critical": row.critical,
                "host_slow_transients": row.transients,
                "oversized_finalize": row.oversized,
                "slowdown": row.slowdown,
                "host_slow_share": row.host_slow,
                "recent_transients": row.recent,
                "worst_p99_ms": None if row.worst_p99_s is None else row.worst_p99_s * 1000,
                "lost": row.lost,
            }
            for row in rows
        ],
    }


def fleet_blocks(rows: Sequence[HostRow], window: str, top: int) -> Iterator[Block]:
    """The ranking in words."""
    yield Heading("livemon fleet", 1)
    if not rows:
        yield Verdict("unknown", f"No livemon told this server anything in the last {window}.")
        yield Paragraph("Serve metrics with `livemon watch --prometheus HOST:PORT` and let the server scrape them.")
        return
    bad = [row for row in rows if row.state in ("CRITICAL", "warning")]
    silent = sum(row.is_silent for row in rows)
    level: Level = "critical" if any(r.state == "CRITICAL" for r in bad) else "warning" if bad else "ok"
    words = f"{len(bad)} of {counted(len(rows), 'host')} with ongoing findings"
    yield Verdict(level, words + (f"; {silent} silent" if silent else "") + ".")
    yield Table(
        columns(
            "<host",
            "<state",
            "slow now",
            "slowdown",
            "oversized",
            "host-slow",
            f"transients {window}?",
            "worst P99 ms??",
            "lost???",
        ),
        tuple(
            (
                row.host,
                row.state,
                count(row.transients),
                ratio(row.slowdown),
                count(row.oversized),
                percent(row.host_slow),
                "–" if row.recent is None else f"{row.recent:.0f}",
                ms(None if row.worst_p99_s is None else row.worst_p99_s * 1000),
                "–" if row.lost is None else f"{row.lost:,.0f}",
            )
            for row in rows[:top]
        ),
    )
    if len(rows) > top:
        yield Paragraph(f"{len(rows) - top:,} more hosts rank below these.")
