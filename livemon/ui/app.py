"""The way in: ``run_app`` shows a session on the terminal."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from livemon.model.errors import EXIT_OK
from livemon.ui import terminal
from livemon.ui.settings import Loader, Settings

if TYPE_CHECKING:
    from livemon.model.snapshot import ViewSource


GC_THRESHOLDS = (10_000, 20, 50)
"""A frame of thousands of threads is thousands of values that are gone with the next one: a collector that comes
after each 700 of them finds nothing and takes a tenth of the time."""


def run_app(source: ViewSource | Loader, settings: Settings | None = None) -> int:
    """Show a session on the terminal until the person leaves.

    Args:
        source: A session, or what opens one while progress is shown (see ``settings.Loader``).
        settings: ``None`` reads the config file.

    Returns:
        The exit code: 0, or 128 + the signal that ended it.

    Raises:
        UsageError: there is no terminal, or the config file is wrong.
        LivemonError: the session could not be opened, or the screens failed (a crash file is named).
    """
    if settings is None:
        from livemon.ui.config import load_settings

        settings = load_settings()
    terminal.check_terminal(os.environ)
    terminal.forget_told_size(os.environ)
    from livemon.ui.navigation import LivemonApp

    gc.set_threshold(*GC_THRESHOLDS)
    mode = terminal.saved_mode()
    app = LivemonApp(source, settings)
    is_clean = False
    try:
        code = app.run(mouse=settings.mouse)
        is_clean = app.crash is None and app.stop_signal is None
    finally:
        app.feed.stop()
        if not is_clean:
            terminal.restore(mode)
    if app.crash is not None:
        from livemon.ui.crash import crashed

        raise crashed(app.crash, settings)
    if app.open_error is not None:
        raise app.open_error
    return EXIT_OK if code is None else code
