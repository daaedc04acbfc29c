"""The recorder: a process of its own that reads the target and writes the session, and nothing else.

``python -P -m livemon.record`` takes a ``RecordingConfig`` as one line of JSON on standard input,
prints one line of JSON when the session is open (or why not), and then records until the target has
ended, the duration is over, or it gets SIGTERM (as a caller that leaves in order sends it), SIGINT or
SIGHUP. When standard input closes because the caller vanished, a temporary session and the demo end;
any other goes on, for ``UNWATCHED_S`` at most (without limit if it was told to keep on).
SIGUSR1 makes a mark. Further lines on standard
input tell it what only the caller knows, such as the exit status of a command that it started.

It imports neither Textual nor numpy, never waits for a viewer, and is woken by time, not by events
of the target: each tick is a fixed amount of work.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from livemon.collect.punctuality import ask_for_short_slices
from livemon.model.clock import Clock, SystemClock
from livemon.model.errors import LivemonError, UsageError
from livemon.record_loop import Recorder
from livemon.recording_config import RecordingConfig, config_from_json

_LONGEST_CONFIG = 4 << 20
_PR_SET_NAME = 15
UNWATCHED_S = 600
"""So long recording goes on after its viewer vanished, if nothing else ends it."""
_GC_THRESHOLDS = 10_000, 20, 20
"""Nothing here makes cycles but rare errors; a collection goes through cold memory."""


class Control:
    """The caller's side of the pipe: further lines, and whether the caller is still there.

    Args:
        fd: Where lines come from; ``None`` when nobody will send any.
    """

    def __init__(self, fd: int | None) -> None:
        self.fd = fd
        self.is_closed = False
        """The caller closed the pipe or went away."""
        self._rest = b""

    def read_line(self) -> str:
        """The first line, waiting for it."""
        assert self.fd is not None
        while b"\n" not in self._rest and len(self._rest) < _LONGEST_CONFIG:
            data = os.read(self.fd, 65536)
            if not data:
                break
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def take(self) -> list[dict[str, Any]]:
        """Messages that came; call when ``fd`` is readable."""
        if self.fd is None:
            return []
        data = os.read(self.fd, 65536)
        if not data:
            self.fd = None
            self.is_closed = True
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        messages = []
        for line in lines:
            with contextlib.suppress(ValueError):
                messages.append(json.loads(line))
        return messages


class Signals:
    """Signals as flags, with a descriptor that wakes the loop."""

    def __init__(self) -> None:
        self.stop: int | None = None
        self.marks = 0
        self.fd, wake = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGUSR1, self._mark)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.stop = number

    def _mark(self, _number: int, _frame: FrameType | None) -> None:
        self.marks += 1

    def drain(self) -> None:
        """Empty the wake-up pipe."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.fd, 4096)


def main(argv: list[str] | None = None) -> int:
    """Run a recorder; the config comes from a file named on the command line, else from standard input."""
    arguments = sys.argv[1:] if argv is None else argv
    name_process("livemon-record")
    ask_for_short_slices()
    try:
        control, config = _read_config(arguments)
        # From here on there is a session to close: a signal must not end the recorder any more.
        signals = Signals()
        recorder = Recorder(config, clock=SystemClock())
    except LivemonError as error:
        message, hint = error.args[0], error.hint
        _answer({"error": message, "hint": hint, "exit_code": error.exit_code})
        return error.exit_code
    _answer({"session": config.session_path, "pid": os.getpid()})
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    run(recorder, control, signals, config, SystemClock())
    if recorder.loss:
        _answer({"ending": f"not all could be recorded ({recorder.loss})", "lost_end": bool(recorder.trouble)})
    if recorder.rescue is not None:
        _answer({"ending": recorder.rescue.text, "session": str(recorder.rescue.path or "")})
    if config.discard and control.is_closed:
        shutil.rmtree(Path(config.session_path).parent, ignore_errors=True)
    return 0


def name_process(name: str) -> None:
    """Have process lists show this name (15 bytes at most on Linux); a no-op elsewhere."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def run(recorder: Recorder, control: Control, signals: Signals, config: RecordingConfig, clock: Clock) -> None:
    """Record until there is a reason to stop, then close the session cleanly."""
    poller = select.poll()
    poller.register(signals.fd, select.POLLIN)
    if control.fd is not None:
        poller.register(control.fd, select.POLLIN | select.POLLHUP)
    watched: tuple[int, ...] = ()
    trouble = ""
    unwatched_ns: int | None = None
    now_ns = clock.monotonic_ns
    end_ns = None if config.duration_s is None else clock.monotonic_ns() + round(config.duration_s * 1e9)
    reason = ""
    try:
        while not reason:
            # What is seldom so is asked for by its flag: after each wait, calls are dear (see ``Recorder.step``).
            recorder.step()
            if recorder.trouble != trouble:
                trouble = recorder.trouble
                # A session that can't be written can't tell the viewers either.
                _answer({"trouble": trouble})
            if recorder.waitable_fds != watched:
                wanted = recorder.waitable_fds
                _watch_pipes(poller, set(watched), set(wanted))
                watched = wanted
            left_ns = recorder.due_ns - now_ns()
            for fd, _ in poller.poll(left_ns / 1e6 if left_ns > 0 else 0):
                if fd == signals.fd:
                    signals.drain()
                elif fd == control.fd:
                    recorder.take_messages(control.take())
                    if control.is_closed:
                        poller.unregister(fd)
                        unwatched_ns = _unwatched_until(recorder, config, clock)
            while signals.marks:
                signals.marks -= 1
                recorder.mark("SIGUSR1", "signal")
            if recorder.end_reason or signals.stop is not None or end_ns is not None or unwatched_ns is not None:
                reason = _reason_to_stop(recorder, unwatched_ns, signals, end_ns, clock)
    finally:
        recorder.close(reason or "failed")


def _reason_to_stop(
    recorder: Recorder,
    unwatched_ns: int | None,
    signals: Signals,
    end_ns: int | None,
    clock: Clock,
) -> str:
    if signals.stop is not None:
        return f"stopped by {signal.Signals(signals.stop).name}"
    if end_ns is not None and clock.monotonic_ns() >= end_ns:
        return "the duration is over"
    if unwatched_ns is not None and clock.monotonic_ns() >= unwatched_ns:
        return "the viewer vanished"
    return recorder.end_reason


def _unwatched_until(recorder: Recorder, config: RecordingConfig, clock: Clock) -> int | None:
    """The caller has gone without ending the recorder: until when to go on; ``None``: without limit."""
    if config.keep:
        return None
    now_ns = clock.monotonic_ns()
    if config.discard or config.origin == "demo":
        return now_ns
    at = time.strftime("%H:%M:%S", time.localtime(clock.wall_ns() / 1e9))
    recorder.note(f"the viewer vanished at {at}; recording goes on, for {UNWATCHED_S // 60} minutes at most")
    return now_ns + UNWATCHED_S * 1_000_000_000


def _watch_pipes(poller: select.poll, watched: set[int], wanted: set[int]) -> None:
    """Have the poller wait for the pipes that can be waited for."""
    for fd in wanted - watched:
        poller.register(fd, select.POLLIN | select.POLLHUP)
    for fd in watched - wanted:
        poller.unregister(fd)


def _read_config(arguments: list[str]) -> tuple[Control, RecordingConfig]:
    if arguments:
        try:
            text = Path(arguments[0]).read_text()
        except OSError as error:
            raise UsageError(f"{arguments[0]} can't be read: {error.strerror}") from error
        return Control(None), config_from_json(text)
    control = Control(0)
    return control, config_from_json(control.read_line())


def _answer(values: dict[str, Any]) -> None:
    """Tell the caller; it may be gone by now, or not listening."""
    os.set_blocking(1, False)
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(values).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
