"""The processes that a watch starts beside the viewer: they are told what to do on standard input and answer once.

Each lives in a session of its own, so no key and no hang-up reaches it. When its standard input closes
because the viewer vanished an exporter ends by itself; a recorder goes on for a while (see ``record``).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from livemon.model.errors import EXIT_TARGET, SessionError, TargetError, UsageError
from livemon.recording_config import RecordingConfig

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0


class ToldProcess:
    """A Python module as a child process, started at once and told later what to do.

    Args:
        module: What to run.
        what: What to call it in messages.
        inherit: Descriptors that it reads from.
    """

    def __init__(self, module: str, what: str, *, inherit: Sequence[int] = ()) -> None:
        self._what = what
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        root = str(Path(__file__).parent.parent)
        search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=tuple(inherit),
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": search},
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def start(self, text: str, meanwhile: Callable[[], None] | None = None) -> dict[str, Any]:
        """Tell it what to do and wait for its answer.

        Args:
            text: What to do.
            meanwhile: Called once it is told, so that both processes work at the same time.

        Raises:
            LivemonError: it could not, with its own words.
        """
        self.send(text)
        if meanwhile is not None:
            meanwhile()
        answer = self._answer()
        if "error" not in answer:
            return answer
        self._process.wait()
        self.dispose()
        kind = {EXIT_TARGET: TargetError}.get(answer.get("exit_code", 0), UsageError)
        raise kind(answer["error"], answer.get("hint", ""))

    def send(self, text: str) -> None:
        """Send it a line; one that has ended does not need it any more."""
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            with contextlib.suppress(BrokenPipeError):
                pipe.write(text.encode() + b"\n")
                pipe.flush()

    def stop(self) -> None:
        """Have it end in order."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
        if self.wait(STOP_TIMEOUT_S):
            self._close_pipes()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; false if it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
            return True
        return False

    def abandon(self) -> None:
        """Give up on one that was never told what to do."""
        self._process.kill()
        self._process.wait()
        self.dispose()

    def dispose(self) -> None:
        """Close what was open to it; it has ended, or is to end because of that."""
        self._close_pipes()
        self._errors.close()

    def release(self) -> None:
        """Let it live on by itself (``--keep``)."""
        self._close_pipes()
        # Not waited for on purpose: it is to outlive this process.
        self._process.returncode = 0 if self._process.returncode is None else self._process.returncode

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def failure(self) -> str:
        """How it ended other than in order, in words; empty if it did not."""
        status = self._process.poll()
        if not status:
            return ""
        how = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
        words = self._last_words()
        return f"{how} ({words})" if words else how

    def _last_words(self) -> str:
        """The last line it wrote on standard error; empty if it wrote none."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        data = b""
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([fd], [], [], START_TIMEOUT_S)
            part = os.read(fd, 65536) if ready else b""
            if not part:
                break
            data += part
        try:
            answer: dict[str, Any] = json.loads(data)
        except ValueError:
            self._process.kill()
            self._process.wait()
            words = self._last_words()
            self.abandon()
            raise SessionError(f"the {self._what} failed to start: {words or 'it gave no reason'}") from None
        return answer


class RecorderProcess(ToldProcess):
    """The recorder; started before the target, so that it is ready when that starts."""

    def __init__(self, *, inherit: Sequence[int] = ()) -> None:
        super().__init__("livemon.record", "recorder", inherit=inherit)
        self.session_path = ""
        self.endings: list[str] = []
        """What is wrong with the session for good, once it has ended and ``troubles`` was asked."""
        self.has_lost_end = False
        """Nothing could be written up to the end; known then too."""

    def configure(self, config: RecordingConfig, meanwhile: Callable[[], None] | None = None) -> None:
        """Tell it what to record and wait until the session is open; see ``start`` for ``meanwhile``.

        Raises:
            LivemonError: it could not start recording, with its own words.
        """
        self.session_path = self.start(config.to_json(), meanwhile)["session"]

    def troubles(self) -> list[str]:
        """What the recorder said since the last call of a session that can't be written (``""``: it can again)."""
        pipe = self._process.stdout
        if pipe is None or pipe.closed:
            return []
        said = []
        while select.select([pipe.fileno()], [], [], 0)[0]:
            data = os.read(pipe.fileno(), 65536)
            if not data:
                break
            messages = [json.loads(line) for line in data.splitlines()]
            said += [message["trouble"] for message in messages if "trouble" in message]
            for message in messages:
                self.has_lost_end |= bool(message.get("lost_end"))
                self.endings += [message["ending"]] if "ending" in message else []
                self.session_path = message.get("session") or self.session_path
        return said

    def tell(self, message: dict[str, Any]) -> None:
        """Send it a message (see ``Recorder.take_messages``)."""
        self.send(json.dumps(message))
