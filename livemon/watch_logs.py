"""The logs that a person names, as what the recorder is to follow; mistakes are told before anything is started."""

from __future__ import annotations

import os
from pathlib import Path

from livemon.collect.log_request import LogRequest, is_glob
from livemon.model.errors import UsageError


def requests_for(paths: list[str], *, reads_stdin: bool, from_start: bool) -> tuple[LogRequest, ...]:
    """What to follow, from paths, globs and ``-``.

    Raises:
        UsageError: a path can't be a log, or standard input is a terminal.
    """
    requests = [_request(path, from_start) for path in paths]
    if reads_stdin:
        if os.isatty(0):
            raise UsageError("standard input is a terminal", "pipe the log into livemon: serve 2>&1 | livemon watch -")
        requests.append(LogRequest("standard input", fd=os.dup(0)))
    return tuple(requests)


def _request(path: str, from_start: bool) -> LogRequest:
    where = Path(path)
    if where.is_dir():
        raise UsageError(f"{path} is a folder", f"name the log in it, or all of them: --log '{path.rstrip('/')}/*.log'")
    if path.startswith(("/dev/fd/", "/proc/self/fd/")):
        try:
            return LogRequest(path, fd=os.open(path, os.O_RDONLY))
        except OSError as error:
            raise UsageError(f"{path} can't be read: {error.strerror}") from error
    if where.exists() and not os.access(path, os.R_OK):
        raise UsageError(f"{path} may not be read", "run livemon as a user that may, or: chmod a+r the log")
    if not is_glob(path) and not where.exists() and not where.parent.is_dir():
        raise UsageError(f"there is no folder {where.parent}", f"check the path of the log {where.name}")
    return LogRequest(str(where.absolute()), from_start=from_start)
