"""Output files appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from livemon.model.errors import UsageError

_DATABASE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-recent", "-journal", "-lock", "-reserve", "-out", "-out.1")
"""What may lie beside a session and is part of it."""


@contextmanager
def whole_file(path: str) -> Iterator[Path]:
    """A temporary path beside ``path`` that replaces it when the block ends well, and is removed when not.

    A device or pipe is written to directly: nothing may take its place. A link stays one. ``-`` is
    standard output.

    Raises:
        UsageError: ``path`` is a folder, its folder is missing, or writing failed (full disk, no permission).
    """
    given = _place(path)
    check_output(path)
    try:
        if given.exists() and not given.is_file():
            yield given
            return
        goal = given.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(goal)
        finally:
            temporary.unlink(missing_ok=True)
    except BrokenPipeError:
        raise  # whoever read the pipe has had enough
    except OSError as error:
        raise UsageError(f"could not write {path}: {error.strerror or error}; nothing was left behind") from error


def write_text(path: str, text: str) -> None:
    """Write a text file whole (UTF-8)."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_output(path: str) -> None:
    """Fail before any work is done where ``path`` can't become a file.

    Raises:
        UsageError: with what is in the way.
    """
    goal = _place(path)
    if goal.is_dir():
        raise UsageError(f"{path} is a folder", f"give a file in it, such as {goal / 'livemon.out'}")
    if not goal.parent.is_dir():
        raise UsageError(f"there is no folder {goal.parent} to write {goal.name} into", "create it first")
    if _is_database(goal):
        raise UsageError(f"{path} is a session or another database", "choose another output")
    for suffix in _BESIDE:
        whole = goal.with_name(goal.name.removesuffix(suffix)) if goal.name != suffix else goal
        if whole != goal and _is_database(whole):
            raise UsageError(f"{path} is a part of the session {whole}", "choose another output")


def check_unused(paths: Iterable[Path]) -> None:
    """Fail where a file that somebody made would be replaced; devices and pipes are no such files.

    Raises:
        UsageError: with the first of them.
    """
    for path in paths:
        if path.is_file():
            raise UsageError(f"{path} exists", "choose another output, or --force to replace it")


def _is_database(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except OSError:
        return False  # not to be read, but maybe to be written


def _place(path: str) -> Path:
    return Path("/dev/stdout" if path == "-" else path)
