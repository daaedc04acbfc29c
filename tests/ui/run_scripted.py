"""Runs the screens over the scripted session on the real terminal; the pty tests start it.

Options by environment: SCRIPTED_THREADS, SCRIPTED_LIVE (a session growing in real time), SCRIPTED_CRASH
(a live session that fails once that file exists), SCRIPTED_FPS, SCRIPTED_ASCII, SCRIPTED_OPEN (seconds that opening
takes).
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from livemon.model.errors import LivemonError
from livemon.ui.app import run_app
from livemon.ui.settings import Progress, Settings

if TYPE_CHECKING:
    from livemon.model.snapshot import ViewSource
    from tests.ui.scripted import ScriptedSource


def main() -> int:
    threads = int(os.environ.get("SCRIPTED_THREADS", "10"))
    is_live = os.environ.get("SCRIPTED_LIVE") or os.environ.get("SCRIPTED_CRASH")
    opening_s = float(os.environ.get("SCRIPTED_OPEN", "0"))

    def make() -> ScriptedSource:
        # Imported here, as a real session is: the first paint must not wait for it.
        from tests.ui.growing import Growing
        from tests.ui.scripted import ScriptedSource

        return Growing(threads=threads) if is_live else ScriptedSource(threads=threads)

    def load(progress: Progress) -> ViewSource:
        steps = round(opening_s / 0.05)
        for step in range(steps):
            progress(step / steps, f"reading the session: {step} of {steps} MB")
            time.sleep(0.05)
        return make()

    settings = Settings(
        fps=float(os.environ.get("SCRIPTED_FPS", "4")),
        ascii=bool(os.environ.get("SCRIPTED_ASCII")),
        theme=os.environ.get("SCRIPTED_THEME", "auto"),  # type: ignore[arg-type]
    )
    try:
        return run_app(load if opening_s else make(), settings)
    except LivemonError as error:
        print(f"livemon: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
