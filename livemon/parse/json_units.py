"""Programs whose JSON or ``key=value`` lines have bare durations: how to know them, and the unit they mean.

The same key means different things (``duration`` is ms in Envoy, s in Caddy, ns in Traefik), so a row
needs keys that only this program writes.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class BareUnits:
    """One program."""

    name: str
    markers: tuple[str, ...]
    """Top-level keys that must all be there."""
    units: tuple[tuple[str, str], ...]
    """(key, unit) of its bare numbers."""
    where: tuple[str, str] | None = None
    """A key, and what its text starts with."""


JSON_UNITS: Final[tuple[BareUnits, ...]] = (
    BareUnits(
        "traefik",
        ("DownstreamStatus", "Duration"),
        (("Duration", "ns"), ("OriginDuration", "ns"), ("Overhead", "ns")),
    ),
    BareUnits("caddy", ("request", "logger", "duration"), (("duration", "s"),), ("logger", "http.log.access")),
    BareUnits(
        "envoy",
        ("response_flags", "duration", "upstream_host"),
        (("duration", "ms"), ("x-envoy-upstream-service-time", "ms"), ("upstream_service_time", "ms")),
    ),
    BareUnits("pino-http", ("responseTime", "pid", "hostname"), (("responseTime", "ms"),)),
    BareUnits("etcd", ("caller", "took"), (("took", "s"),), ("caller", "etcdserver/")),
    BareUnits("chrome trace", ("ph", "dur", "ts", "name"), (("dur", "us"),), ("ph", "X")),
)
LOGFMT_UNITS: Final[tuple[BareUnits, ...]] = (
    BareUnits("lograge", ("controller", "action", "duration"), (("duration", "ms"), ("view", "ms"), ("db", "ms"))),
)


def _is_from(row: BareUnits, keys: Container[str]) -> bool:
    return all(marker in keys for marker in row.markers)


def units_of_object(value: dict[str, Any]) -> dict[str, str]:
    """Units of the bare numbers of a JSON object, if its program is known."""
    for row in JSON_UNITS:
        if row.markers[0] in value and _is_from(row, value):
            if row.where is None:
                return dict(row.units)
            text = value.get(row.where[0])
            if isinstance(text, str) and text.startswith(row.where[1]):
                return dict(row.units)
    return {}


def units_of_pairs(keys: Container[str]) -> dict[str, str]:
    """Units of the bare numbers of a ``key=value`` line, if its program is known."""
    for row in LOGFMT_UNITS:
        if _is_from(row, keys):
            return dict(row.units)
    return {}
