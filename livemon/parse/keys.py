"""What a key says of its value: a duration, an id, a count, a clock, a setting, a statistic.

Tables first: these words are the reader's judgement, in one place.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ID_KEYS: Final = (
    "run", "step", "iter", "iteration", "task", "request_id", "requestid", "req_id", "reqid", "rid", "x_request_id",
    "x-request-id", "correlation_id", "traceid", "trace_id", "inv", "req", "request", "seq", "id",
)  # fmt: skip
"""Keys whose value is the id of the unit, the surest first."""

COUNTER_KEYS: Final = frozenset(("run", "step", "iter", "iteration", "task", "inv", "seq", "req", "request"))
"""Ids that are numbers: with another value (``step=7s``, ``request=/x``) the key means something else."""

RESTART_KEYS: Final = frozenset({"run", "task", "step", "iter", "iteration"})
"""A counter that comes a second time in one tagged line starts another record."""

LABEL_KEYS: Final = (
    "kernel", "kernel_name", "callable", "callable_name", "name", "op", "op_name", "route", "endpoint", "handler",
    "hid",
)  # fmt: skip
"""Keys whose value names the kernel, callable or route, the surest first."""

TIME_KEYS: Final = (
    "@timestamp",
    "timestamp",
    "ts",
    "time",
    "t",
    "start_time",
    "starttime",
    "asctime",
    "datetime",
    "date",
    "startutc",
)
"""Keys whose value is the line's own time."""

_SETTINGS: Final = _words(
    "timeout deadline window interval eta expected target limit budget threshold ttl expires expiry expiration "
    "retry backoff keepalive alive period grace age maxage until since uptime boot slo sla quota allowed estimated "
    "estimate planned tolerance cooldown lookback retention resolution refresh heartbeat frequency"
)
"""Words of keys whose duration was set, planned or predicted, not measured."""

_PLANS: Final = _words(
    "lease lifetime remaining jitter resync sleep sleeping cool debounce linger quantum timeslice desired goal default "
    "configured election ago cutoff horizon stale staleness"
)
"""The same, where no format says that the numbers of a line are durations: a stage may be called so."""

_PLANS_ALONE: Final = _words("in every next rate range throttle delay restart watchdog")
"""The same where they are the whole key: ``in=5m0s``, ``every=10s``, ``delay=500ms``."""

_PLAN_ENDS: Final = _words("after every for seen length")
"""The same as last words: ``rotate_after``, ``idle_for``, ``last_seen``."""

_DONE_IN: Final = _words("done time ran built spent took")
"""Words before ``in`` that say it is over, beside those that end with -ed; ``wakeup_in`` lies ahead."""

_NEXT: Final = _words("in run check attempt poll tick update sync try scrape start at")
"""What comes at that time: ``next_run_in``, ``next_check``; ``next_token`` is work."""

_PLACES: Final = _words("offset position skew drift seek")
"""Last words of keys whose value is a place on a time line or between two clocks."""

_MEDIA: Final = _words("audio video media clip track speech utterance song")
_LENGTHS: Final = _words("duration length len") | _MEDIA
"""The length of a recording (``audio_duration``) is no time that something took; ``audio_encode`` is."""

_CLOCKS: Final = _words(
    "start end begin mono monotonic t ts timestamp now at epoch clock wallclock date stamp datetime deadline"
)
"""Last words of keys whose value is a clock reading."""

_NOT_DURATIONS: Final = _words(
    "v pid tid ppid rank dev device devices port status code level line lineno seed len length n num run step "
    "iter iteration task tasks request requests req seq id epoch inv lane depth hid worker workers thread threads "
    "slot batch bs core cores cpuid version ver attempt attempts loops rows hits misses pages blocks heap mem "
    "memory rss used free fps qps rps throughput bandwidth speed loss lr acc accuracy norm scale temperature "
    "world layers layer heads hidden vocab steps runs calls nr node shard partition priority prio nice errno exit "
    "signal width height dim dims stream channel ntensor group generation reads writes ts timestamp time_ns start "
    "end begin mono now t user uid gid sport dport msgid count counts size bytes objects goroutines sweeps st ep "
    "gst"
)
"""Keys that make a bare number no duration, even where bare numbers are durations."""

_NOT_DURATION_ENDS: Final = _words(
    "id ids idx index count counts bytes size len length pid tid port tokens token tps rate qps rps fps ratio "
    "share percent pct kb mb gb kib mib gib code status number version ver offset addr hz mhz ghz freq util "
    "utilization usage seed slot rank cycles cycle instructions tasks loops rows requests entries usd"
)
"""Last words of such keys."""

STATISTICS: Final = _words(
    "avg average mean min minimum max maximum med median std stddev stdev dev var variance longest shortest slowest "
    "fastest sum percentile quantile"
)
"""Names of figures over several units: never a sample of one."""

_RATES: Final = _words(
    "tok toks tokens reqs requests it its samples bytes kb mb gb kib mib gib bits images imgs frames ops items rows "
    "records events msgs messages steps queries"
)
"""What a key counts when its ``_s`` means "per second": ``tok_s``, ``requests_s``."""

_PERCENTILE = re.compile(r"p\d{1,2}(?:[._]?\d+)?|\d{1,2}(?:\.\d+)?%|percentile.*")
_WORDS = re.compile(r"[A-Z]?[a-zµμ]+|[A-Z]+(?![a-z])|\d+")
UNIT_WORDS: Final[dict[str, str]] = {
    "ms": "ms", "msec": "ms", "msecs": "ms", "millis": "ms", "milliseconds": "ms", "millisecond": "ms",
    "us": "us", "usec": "us", "usecs": "us", "micros": "us", "microseconds": "us", "microsecond": "us",
    "µs": "us", "μs": "us",
    "ns": "ns", "nsec": "ns", "nanos": "ns", "nanoseconds": "ns", "nanosecond": "ns",
    "s": "s", "sec": "s", "secs": "s", "seconds": "s",
}  # fmt: skip
"""Units as keys have them, at their end or as the whole key."""
_SUFFIX = re.compile(
    r"(?:(?<=[a-z0-9])(?=[A-Z])|[_.\-])"
    r"((?:[Mm]illis(?:econds?)?|[Mm]icros(?:econds?)?|[Nn]anos(?:econds?)?|[Ss]econds?|[MmUuNn]secs?|[Ss]ecs?|ms|MS|Ms|us|µs|μs|ns|Ns|s))$"
)


@lru_cache(maxsize=4096)
def words(key: str) -> tuple[str, ...]:
    """The words of a key in lower case: ``retry-timeoutMs`` -> retry, timeout, ms."""
    return tuple(w.lower() for w in _WORDS.findall(key))


@lru_cache(maxsize=4096)
def unit_suffix(key: str) -> tuple[str, str] | None:
    """The key without its unit, and the unit: ``dur_ns`` -> (``dur``, ``ns``); ``None`` if it has none or is a rate."""
    match = _SUFFIX.search(key)
    if match is None:
        return None
    stem, unit = key[: match.start()], UNIT_WORDS.get(match[1].lower())
    if unit is None or not stem or "per" in words(stem) or stem.lower().endswith(("per", "/")):
        return None
    if unit == "s" and words(stem)[-1:] and words(stem)[-1] in _RATES:
        return None
    return stem, unit


@lru_cache(maxsize=4096)
def is_timing(key: str) -> bool:
    """Whether a number under this key can be a measured duration where the format says that numbers are durations."""
    parts = words(key)
    if not parts or not _SETTINGS.isdisjoint(parts):
        return False
    if tuple(parts[-2:]) == ("wall", "ns"):
        return False  # the wall clock in ns, as clock anchors print it
    last = _words_without_unit(key, parts)
    if last[-1] in _CLOCKS and "to" not in last:
        return False
    return not (
        last[-1] in {"time", "ns"}
        and len(last) > 1
        and last[-2] in {"start", "end", "begin", "event", "mono", "wall"}
        and last is not parts
    )


@lru_cache(maxsize=4096)
def is_measured(key: str) -> bool:
    """Whether a duration under this key was measured: no timeout, window, clock reading, length of a recording."""
    if not is_timing(key):
        return False
    parts = words(key)
    if not _PLANS.isdisjoint(parts):
        return False
    last = _words_without_unit(key, parts)
    end = last[-1]
    if end in _PLACES or end in _PLAN_ENDS:
        return False
    if len(last) == 1:
        return end not in _PLANS_ALONE and end not in _MEDIA
    if last[0] in ("next", "last") and end in _NEXT:
        return False
    if end == "in" and not last[-2].endswith("ed") and last[-2] not in _DONE_IN:
        return False
    if last[-2:] == ("up", "time"):
        return False
    return end not in _LENGTHS or _MEDIA.isdisjoint(last)


def _words_without_unit(key: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    stem = unit_suffix(key)
    return (words(stem[0]) if stem else parts) or parts


@lru_cache(maxsize=4096)
def may_be_bare(key: str) -> bool:
    """Whether a bare number under this key can be a duration where bare numbers are durations."""
    parts = words(key)
    return bool(parts) and key.lower() not in _NOT_DURATIONS and parts[-1] not in _NOT_DURATION_ENDS and is_timing(key)


@lru_cache(maxsize=4096)
def is_statistic(name: str) -> bool:
    """Whether the name is of a figure over several units (``avg``, ``p99``, ``Mean TTFT``)."""
    lowered = name.lower()
    return (
        not STATISTICS.isdisjoint(words(name))
        or any(_PERCENTILE.fullmatch(w) for w in lowered.split())
        or (_PERCENTILE.fullmatch(lowered) is not None)
    )
