"""Where sessions live, what there is, and which go when there are too many."""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from livemon.model.clock import Clock, SystemClock
from livemon.model.errors import SessionError
from livemon.session.locking import is_locked

if TYPE_CHECKING:
    from livemon.model.snapshot import SessionEntry

SUFFIX = ".livemon"
MAX_SESSIONS = 20
MAX_TOTAL_BYTES = 2 * 1024**3
_DATABASE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-recent", "-journal", "-lock", "-reserve", "-out", "-out.1")

_SCAFFOLD = ("-shm", "-lock", "-reserve")
"""Those of them that only a running recorder needs: they come and go with it and hold nothing of the recording."""


def state_dir() -> Path:
    """The folder of sessions: ``$XDG_STATE_HOME/livemon``, else ``~/.local/state/livemon``."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # The base directory specification: a path that is not absolute is to be ignored.
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    return folder / "livemon"


def new_session_path(name: str = "", *, folder: Path | None = None, clock: Clock | None = None) -> Path:
    """A path that does not exist yet, named after the time and what is watched."""
    folder = folder or state_dir()
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime((clock or SystemClock()).wall_ns() / 1e9))
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:40]
    stem = f"{stamp}_{slug}" if slug else stamp
    path = folder / f"{stem}{SUFFIX}"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}{SUFFIX}"
        number += 1
    return path


def _files(folder: Path) -> list[Path]:
    """Session files, newest first."""
    dated = []
    with contextlib.suppress(OSError):
        for path in folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):
                if path.is_file():
                    dated.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(dated, reverse=True)]


def resolve_session(text: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """The session that a person means: a path, a name in the folder of sessions, or ``last``.

    Raises:
        SessionError: There is none.
    """
    folder = folder or state_dir()
    path = Path(text).expanduser()
    if path.exists():
        return path
    name = os.fspath(text)
    files = _files(folder)
    if name == "last":
        if not files:
            raise SessionError(f"there is no session in {folder}", "record one with 'livemon watch' or 'livemon demo'")
        return files[0]
    if os.sep not in name:
        exact = folder / name
        for candidate in (exact, exact.with_name(name + SUFFIX)):
            if candidate.is_file():
                return candidate
        matching = [file for file in files if file.stem.startswith(name)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise SessionError(f"{name!r} could be any of {len(matching)} sessions", "see 'livemon sessions'")
    raise SessionError(f"there is no session {name}", "see 'livemon sessions'")


def size_of(path: Path) -> int:
    """Bytes on disk of a recording: the session, its journals and the command's kept output; the size told anywhere."""
    total = 0
    for suffix in ("", *(each for each in _BESIDE if each not in _SCAFFOLD)):
        with contextlib.suppress(OSError):
            total += path.with_name(path.name + suffix).stat().st_size
    return total


def describe_session(path: Path) -> SessionEntry:
    """One row of the list; a session that can't be read is described as such."""
    # Finding a session by name must stay light: the first paint of a replay waits for it.
    from livemon.model.snapshot import SessionEntry
    from livemon.session.source import BlockSource

    size = size_of(path)
    try:
        source = BlockSource(path)
    except SessionError as error:
        state = "newer format" if "format" in str(error) else "damaged"
        return SessionEntry(str(path), path.stem, None, 0.0, size, state, "", detail=(str(error),))
    try:
        recorder = source.recorder()
        bounds = source.bounds_ns()
        duration_s = (bounds[1] - bounds[0]) / 1e9 if bounds else 0.0
        targets = ", ".join(f"{t.name} ({t.pid})" for t in source.facts.targets)
        damage = source.damage.messages()
        if recorder.is_alive:
            state = f"recording (pid {recorder.pid})"
        elif recorder.closed_reason is not None:
            state = "closed"
        elif recorder.is_alive is None:
            state = f"recorded on {recorder.host}"
        elif any("damaged" in message for message in damage):
            state = "damaged"
        else:
            state = "not closed cleanly"
        return SessionEntry(
            str(path), path.stem, recorder.started_wall_ns, duration_s, size, state, targets, detail=damage
        )
    finally:
        source.close()


def list_sessions(folder: Path | None = None) -> list[SessionEntry]:
    """What there is, newest first."""
    return [describe_session(path) for path in _files(folder or state_dir())]


def is_session_file(path: Path) -> bool:
    """Whether it is a session, or was one before it was damaged: a file by a session's name, or a database."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_DATABASE))
    except OSError:
        return False
    return head == _DATABASE or path.suffix == SUFFIX or not head


def remove_session(path: Path) -> int:
    """Delete a session and what lies beside it; returns the bytes freed.

    Raises:
        SessionError: It is no session, is being recorded, or can't be deleted.
    """
    if not is_session_file(path):
        raise SessionError(f"{path} is no session: not removed")
    if is_locked(path):
        raise SessionError(f"{path} is being recorded", "stop its recorder first")
    size = size_of(path)
    try:
        path.unlink()
    except OSError as error:
        raise SessionError(f"can't remove {path}: {error.strerror}") from None
    for suffix in _BESIDE:
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()
    return size


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning did."""

    removed: tuple[str, ...]
    freed_bytes: int
    kept: int
    kept_bytes: int


def prune(
    folder: Path | None = None,
    *,
    max_sessions: int = MAX_SESSIONS,
    max_bytes: int = MAX_TOTAL_BYTES,
    spare: Path | None = None,
) -> Pruned:
    """Delete the oldest sessions beyond a number and a size; never one being recorded, nor ``spare``."""
    removed: list[str] = []
    freed = kept = kept_bytes = 0
    for path in _files(folder or state_dir()):
        size = size_of(path)
        is_spared = (spare is not None and path == spare) or is_locked(path)
        if is_spared or (kept < max_sessions and kept_bytes + size <= max_bytes):
            kept += 1
            kept_bytes += size
            continue
        with contextlib.suppress(SessionError):
            freed += remove_session(path)
            removed.append(path.stem)
    _remove_orphans(folder or state_dir())
    _remove_reserves(folder or state_dir())
    return Pruned(tuple(removed), freed, kept, kept_bytes)


def _remove_reserves(folder: Path) -> None:
    """Room that recorders which were killed had put by."""
    for path in folder.glob(f"*{SUFFIX}-reserve"):
        if not is_locked(path.with_name(path.name.removesuffix("-reserve"))):
            with contextlib.suppress(OSError):
                path.unlink()


def _remove_orphans(folder: Path) -> None:
    """Files beside sessions that are gone."""
    for suffix in _BESIDE:
        for path in folder.glob(f"*{SUFFIX}{suffix}"):
            session = path.with_name(path.name.removesuffix(suffix))
            if not session.exists() and not is_locked(session):
                with contextlib.suppress(OSError):
                    path.unlink()
