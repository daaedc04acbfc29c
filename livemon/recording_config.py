"""What a recorder is told to do: one JSON object on its standard input."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from livemon.collect.log_request import LogRequest
from livemon.model.errors import UsageError
from livemon.parse.options import ParseOptions

DEFAULT_INTERVAL_NS = 100_000_000
DEFAULT_MAX_BYTES = 512 << 20
DEFAULT_MAX_CPU_PERCENT = 5.0


@dataclass(frozen=True, slots=True)
class RecordingConfig:
    """Everything a recorder needs to know."""

    session_path: str
    origin: Literal["live", "demo"] = "live"
    pids: tuple[int, ...] = ()
    child_pid: int | None = None
    """The process that the caller started and will tell the exit status of."""
    child_name: str = ""
    follow_names: tuple[str, ...] = ()
    """Processes that match one of these are taken in whenever they appear (a restarted server)."""
    logs: tuple[LogRequest, ...] = ()
    """Descriptors in them are inherited."""
    metrics_urls: tuple[str, ...] = ()
    parse: ParseOptions = field(default_factory=ParseOptions)
    mark_patterns: tuple[str, ...] = ()
    """Lines that match become marks."""
    interval_ns: int = DEFAULT_INTERVAL_NS
    counters: bool = True
    max_cpu_percent: float = DEFAULT_MAX_CPU_PERCENT
    max_bytes: int = DEFAULT_MAX_BYTES
    is_durable: bool = False
    """Each tick is synced to the disk, not each second."""
    has_screen: bool = False
    """Somebody looks at a screen: logs are read between ticks too, so that lines are shown as they come."""
    duration_s: float | None = None
    criteria_toml: str = ""
    criteria_sha256: str = ""
    keep: bool = False
    """Go on when the caller goes away; else its end ends the recording."""
    discard: bool = False
    """The session is temporary: remove it when the caller went away without doing so."""

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def config_from_json(text: str) -> RecordingConfig:
    """The config that ``to_json`` wrote.

    Raises:
        UsageError: it is not one.
    """
    try:
        values: dict[str, Any] = json.loads(text)
        parse = {key: _frozen(value) for key, value in values.pop("parse", {}).items()}
        logs = tuple(LogRequest(**log) for log in values.pop("logs", ()))
        plain = {key: _frozen(value) for key, value in values.items()}
        return RecordingConfig(parse=ParseOptions(**parse), logs=logs, **plain)
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"the recorder can't read its config: {error}") from error


def _frozen(value: object) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
