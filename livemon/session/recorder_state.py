"""Who records a session and whether they still do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from livemon.session.locking import is_locked, lock_path


@dataclass(frozen=True, slots=True)
class RecorderState:
    """The recorder of a session as its file and the machine tell."""

    pid: int | None
    """``None`` if the file does not say (damaged)."""
    host: str
    is_alive: bool | None
    """``None`` if it can't be told from here (another host)."""
    started_wall_ns: int | None
    closed_wall_ns: int | None
    closed_reason: str | None
    """``None``: not closed, or not cleanly."""
    last_block: int | None
    """The last append of a session that was closed."""
    is_of_earlier_boot: bool = False
    """It ran on this machine before the machine was started anew."""


def host_name() -> str:
    """This machine's name."""
    return os.uname().nodename


def boot_id() -> str:
    """This boot of this machine; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; ``None`` if that can't be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def read_recorder_state(db: sqlite3.Connection | None, path: Path) -> RecorderState:
    """What the session says of its recorder, and whether that process lives."""
    row = None
    if db is not None:
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            row = db.execute(
                "SELECT pid, start_ticks, host, boot, started_wall_ns, closed_wall_ns, closed_reason, last_block"
                " FROM recorder ORDER BY rowid DESC LIMIT 1"
            ).fetchone()
    if row is None or not _is_sound(row):
        return RecorderState(None, "", is_locked(path), None, None, None, None)
    pid, started, host, boot, started_wall_ns, closed_wall_ns, closed_reason, last_block = row
    is_alive: bool | None = False
    if closed_reason is None:
        is_alive = _is_recording(path, pid, started, host, boot)
    is_earlier = bool(boot) and host == host_name() and boot_id() not in ("", boot)
    return RecorderState(pid, host, is_alive, started_wall_ns, closed_wall_ns, closed_reason, last_block, is_earlier)


def _is_sound(row: tuple[object, ...]) -> bool:
    """Whether the fields have the types that were written (a damaged row may have others)."""
    pid, started, host, boot, begun, closed, reason, last = row
    whole = (pid, begun, *(value for value in (started, closed, last) if value is not None))
    return all(isinstance(value, int) for value in whole) and all(
        isinstance(value, str) for value in (host, boot, reason if reason is not None else "")
    )


def _is_recording(path: Path, pid: int, started: int | None, host: str, boot: str) -> bool | None:
    """Whether the recorder lives: by its lock, else (a file system without locks) by its process."""
    if not lock_path(path).exists():
        return False
    locked = is_locked(path)
    if locked:
        return True
    if host != host_name():
        return None  # locks of another machine may not be seen here
    if locked is False:
        return False
    if boot and boot != boot_id():
        return False
    now = start_ticks(pid)
    return now is not None and now == started
