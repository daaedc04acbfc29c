"""Starting, telling and stopping the recorder process from the side of the viewer."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from livemon.model.errors import EXIT_TARGET, SessionError, TargetError, UsageError
from livemon.recording_config import RecordingConfig

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0


class RecorderProcess:
    """The recorder as a child process, in a session of its own: no key and no hang-up reaches it.

    It is started at once and told what to record with ``configure``, so that it is ready when the
    target starts.
    """

    def __init__(self, *, inherit: Sequence[int] = ()) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the recorder
        root = str(Path(__file__).parent.parent)
        search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "livemon.record"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=tuple(inherit),
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": search},
        )
        self.session_path = ""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it still records."""
        return self._process.poll() is None

    def configure(self, config: RecordingConfig) -> None:
        """Tell it what to record and wait until the session is open.

        Raises:
            LivemonError: it could not start recording, with its own words.
        """
        self._send(config.to_json())
        answer = self._answer()
        if "session" in answer:
            self.session_path = answer["session"]
            return
        self._process.wait()
        kind = {EXIT_TARGET: TargetError}.get(answer.get("exit_code", 0), UsageError)
        raise kind(answer["error"], answer.get("hint", ""))

    def tell(self, message: dict[str, Any]) -> None:
        """Send it a message; one that has ended does not need it any more."""
        self._send(json.dumps(message))

    def stop(self) -> None:
        """Have it close the session and end."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
        self.wait(STOP_TIMEOUT_S)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; false if it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
            return True
        return False

    def abandon(self) -> None:
        """Give up on a recorder that was never told what to record."""
        self._process.kill()
        self._process.wait()

    def release(self) -> None:
        """Let it live on by itself (``--keep``)."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        # Not waited for on purpose: it is to outlive this process.
        self._process.returncode = self._process.returncode if self._process.returncode is not None else 0

    def failure(self) -> str:
        """How it ended other than in order, in words; empty if it did not."""
        status = self._process.poll()
        if not status:
            return ""
        how = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
        words = self.last_words()
        return f"{how} ({words})" if words else how

    def last_words(self) -> str:
        """The last line it wrote on standard error; empty if it wrote none."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _send(self, text: str) -> None:
        pipe = self._process.stdin
        if pipe is not None and not pipe.closed:
            with contextlib.suppress(BrokenPipeError):
                pipe.write(text.encode() + b"\n")
                pipe.flush()

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
            words = self.last_words()
            raise SessionError(f"the recorder failed to start: {words or 'it gave no reason'}") from None
        return answer
