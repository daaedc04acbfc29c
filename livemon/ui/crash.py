"""What a person gets when the screens fail: one line and the name of a file with the details."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
import traceback
from pathlib import Path

from livemon import __version__
from livemon.model.clock import Clock, SystemClock
from livemon.model.errors import EXIT_TARGET, LivemonError
from livemon.ui.settings import Settings


class ScreenError(LivemonError):
    """The screens failed; the recording did not (exit 3: it could not be observed, and the call was right)."""

    exit_code = EXIT_TARGET


def state_dir(settings: Settings) -> Path:
    """Where crash files and copies go; made if it is missing, else the temporary directory."""
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = settings.state_dir or base / "livemon"
    with contextlib.suppress(OSError):
        path.mkdir(parents=True, exist_ok=True)
        return path
    return Path(tempfile.gettempdir())


def crashed(error: BaseException, settings: Settings, clock: Clock | None = None) -> ScreenError:
    """Write the details into a crash file and make the error that is shown."""
    stamp_s = (clock or SystemClock()).wall_ns() // 1_000_000_000
    path = state_dir(settings) / f"crash-{stamp_s}-{os.getpid()}.txt"
    details = "".join(traceback.format_exception(error))
    text = f"livemon {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{details}"
    where = f"details are in {path}"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        where = f"no crash file could be written ({problem.strerror})"
    first_line = str(error).split("\n", 1)[0]
    what = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return ScreenError(f"the screens failed ({what}); the recording is not affected", where)
