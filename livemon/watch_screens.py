"""Opening the screens on a session: settings from the config file and the command line, the loader, the list."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from livemon.screen_options import screen_settings

if TYPE_CHECKING:
    from livemon.model.criteria import Criteria
    from livemon.model.snapshot import SessionEntry, ViewSource
    from livemon.ui.settings import Progress, Settings
    from livemon.watch_options import WatchOptions

BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def show(
    session_path: str,
    options: WatchOptions | argparse.Namespace,
    *,
    title: str,
    speed: float | None = None,
    criteria_toml: str = "",
) -> int:
    """Show a session until the person leaves; returns the exit code."""
    from livemon.ui.app import run_app
    from livemon.ui.config import load_settings

    criteria = None
    if criteria_toml:
        from livemon.model.criteria import load_criteria

        criteria = load_criteria(criteria_toml)
    given = screen_settings(options)

    def open_view(where: str, progress: Progress) -> ViewSource:
        return _open(where, criteria)

    settings: Settings = replace(
        load_settings(), **given, title=title, speed=speed, sessions=_sessions, open_session=open_view
    )
    return run_app(lambda progress: open_view(session_path, progress), settings)


def _open(path: str, criteria: Criteria | None) -> ViewSource:
    with _one_blas_thread():
        from livemon.gradual import GradualView

    return GradualView(path, criteria)


@contextlib.contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Numpy's OpenBLAS starts a thread for each core when it is loaded, as costly as all of numpy; no view uses one.

    The environment is as before afterwards: a command that is watched does not inherit this.
    """
    if BLAS_THREADS in os.environ:
        yield
        return
    os.environ[BLAS_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[BLAS_THREADS]


def _sessions() -> Sequence[SessionEntry]:
    from livemon.session.store import list_sessions

    return list_sessions()
