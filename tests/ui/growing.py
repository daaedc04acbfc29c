"""A scripted session that grows in real time."""

from __future__ import annotations

import os
import time

from tests.ui.scripted import ScriptedSource


class Growing(ScriptedSource):
    """Its end moves with the clock, in steps of a tick."""

    def __init__(self, **options: object) -> None:
        super().__init__(is_live=True, **options)  # type: ignore[arg-type]
        self._t0 = time.monotonic()
        self._end0 = float(os.environ.get("SCRIPTED_END", "120"))
        self._crash = os.environ.get("SCRIPTED_CRASH", "")

    def poll(self) -> bool:
        elapsed = time.monotonic() - self._t0
        if self._crash and os.path.exists(self._crash):
            raise RuntimeError("scripted failure")
        self.end_s = self._end0 + round(elapsed, 1)
        return super().poll()
