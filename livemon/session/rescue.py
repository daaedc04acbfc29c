"""A session whose file is taken away under its recorder: it is told, and kept elsewhere at the end.

What is open stays whole for the recorder and for viewers; SQLite itself copies it, its log included.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from livemon.model.samples import Note
from livemon.session.store import SUFFIX


@dataclass(frozen=True, slots=True)
class Rescue:
    """What became of a session that was removed."""

    text: str
    path: Path | None = None
    """Where it is now; ``None``: nowhere."""


class Whereabouts:
    """Whether a session still is where it was made.

    Args:
        path: The file, which exists.
        folder: Where it is kept if it is removed; ``None``: it need not be.
    """

    def __init__(self, path: Path, folder: Path | None) -> None:
        self._path = path
        self._folder = folder
        self._inode = path.stat().st_ino
        self.is_removed = False
        """Somebody has removed or replaced it."""

    def look(self) -> Note | None:
        """Look for it; what is to be said when it is found to be gone."""
        if self.is_removed:
            return None
        try:
            self.is_removed = self._path.stat().st_ino != self._inode
        except OSError:
            self.is_removed = True
        if not self.is_removed:
            return None
        then = "ends with the recorder" if self._folder is None else f"is kept in {self._folder} when it ends"
        text = f"{self._path} was removed or replaced: the view goes on, and the recording {then}"
        return Note(0, "error", text, "stop and start again to record into a new file")

    def rescue(self, db: sqlite3.Connection) -> Rescue | None:
        """Keep a removed session; ``None`` if there was nothing to do.

        Args:
            db: The open connection of the recorder, with no transaction going on.
        """
        self.look()
        if not self.is_removed or self._folder is None:
            return None
        goal = self._free_name(self._folder)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            db.execute("VACUUM INTO ?", (os.fspath(goal),))
        except (OSError, sqlite3.Error) as error:
            with contextlib.suppress(OSError):
                goal.unlink()
            reason = error.strerror if isinstance(error, OSError) else error
            return Rescue(f"{self._path} was removed while it was recorded, and could not be kept as {goal}: {reason}")
        return Rescue(f"{self._path} was removed while it was recorded: it is kept as {goal}", goal)

    def _free_name(self, folder: Path) -> Path:
        number = 1
        while True:
            goal = folder / f"{self._path.stem}-rescued{f'-{number}' if number > 1 else ''}{SUFFIX}"
            if not goal.exists():
                return goal
            number += 1
