"""``--prometheus`` and ``--otlp``: a process of its own that follows the session and hands on what it shows.

``python -P -m livemon.watch_exports`` takes one line of JSON on standard input, answers with one line, and
ends when the recording has ended, on SIGTERM, or when standard input closes. A slow collector or
scraper can delay neither the recorder nor the screens.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Protocol

from livemon import __version__
from livemon.model.clock import Clock, SystemClock
from livemon.model.errors import LivemonError
from livemon.model.snapshot import Snapshot
from livemon.watch_processes import ToldProcess

EVERY_S = 1.0
SPAN_NS = 60_000_000_000
COLUMNS = 60


@dataclass(frozen=True, slots=True)
class ExportConfig:
    """What to hand on, and where."""

    session_path: str
    prometheus: str | None = None
    otlp: str | None = None
    keep: bool = False
    """Go on when the caller goes away."""


class Publisher(Protocol):
    """What takes frames."""

    def publish(self, snapshot: Snapshot) -> None:
        """Take a frame, without waiting for anybody."""
        ...

    def close(self) -> None:
        """Stop."""
        ...


class ExportProcess(ToldProcess):
    """The exporter, as its caller sees it."""

    def __init__(self, config: ExportConfig) -> None:
        super().__init__("livemon.watch_exports", "exporter")
        self.url = str(self.start(json.dumps(asdict(config))).get("prometheus", ""))


class _Stopped(Exception):  # noqa: N818 - not an error
    """SIGTERM came."""


def main() -> int:
    """Run an exporter."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _Stopped

    signal.signal(signal.SIGTERM, stop)
    with ExitStack() as stack, suppress(_Stopped):
        try:
            config = ExportConfig(**json.loads(sys.stdin.readline()))
            publishers = _publishers(config, stack)
        except LivemonError as error:
            _answer({"error": error.args[0], "hint": error.hint, "exit_code": error.exit_code})
            return error.exit_code
        follow(config, publishers, SystemClock())
    return 0


def _publishers(config: ExportConfig, stack: ExitStack) -> list[Publisher]:
    publishers: list[Publisher] = []
    answer: dict[str, object] = {}
    if config.prometheus is not None:
        from livemon.collect.environment import host_name
        from livemon.export.prometheus_server import PrometheusServer

        server = PrometheusServer(config.prometheus, version=__version__, host=host_name())
        answer["prometheus"] = server.url
        stack.callback(server.close)
        publishers.append(server)
    if config.otlp is not None:
        from livemon.export.otlp import OtlpPusher

        pusher = OtlpPusher(config.otlp)
        stack.callback(pusher.close)
        publishers.append(pusher)
    _answer(answer)
    return publishers


def follow(config: ExportConfig, publishers: list[Publisher], clock: Clock) -> None:
    """Publish a frame each second until the recording has ended or the caller is gone."""
    from livemon.viewer import SessionView

    view = SessionView(config.session_path)
    poller = select.poll()
    poller.register(0, select.POLLIN | select.POLLHUP)
    due_ns = clock.monotonic_ns()
    try:
        while True:
            view.poll()
            frame = view.snapshot(None, SPAN_NS, COLUMNS)
            for publisher in publishers:
                publisher.publish(frame)
            if not view.is_live:
                return
            due_ns += round(EVERY_S * 1e9)
            if poller.poll(max(due_ns - clock.monotonic_ns(), 0) / 1e6):
                if not config.keep:
                    return
                poller.unregister(0)
    finally:
        view.close()


def _answer(values: dict[str, object]) -> None:
    with suppress(OSError):
        os.write(1, json.dumps(values).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
