"""What is wrong with a session file, said in words with times."""

from __future__ import annotations

import time
from collections.abc import Callable

from livemon.model.clock import WallMapping


def clock_text(t_ns: int, wall: WallMapping, start_ns: int | None) -> str:
    """A moment for people: local time of day where the session knows it, else seconds since its start."""
    wall_ns = wall.wall_ns(t_ns)
    if wall_ns is not None:
        return time.strftime("%H:%M:%S", time.localtime(wall_ns / 1e9))
    return f"{(t_ns - (start_ns or 0)) / 1e9:.1f} s"


class DamageLog:
    """Collects messages, each once; moments are put into words by ``when``."""

    def __init__(self, when: Callable[[int], str]) -> None:
        self._when = when
        self._messages: dict[object, str] = {}

    def add(self, key: object, message: str) -> None:
        """Take a message unless one with the same key is there."""
        self._messages.setdefault(key, message)

    def hole(self, first_id: int, last_id: int, after_ns: int | None, before_ns: int | None) -> None:
        """Rows are missing between two moments (``None``: from the beginning, or to the end)."""
        count = last_id - first_id + 1
        span = (
            "at the beginning"
            if after_ns is None
            else f"after {self._when(after_ns)}"
            if before_ns is None
            else f"between {self._when(after_ns)} and {self._when(before_ns)}"
        )
        self.add(("hole", first_id), f"{count} append{'s' * (count > 1)} {span} can't be read: left out")

    def unreadable(self, first_id: int, size: int, after_ns: int | None) -> None:
        """A block is what was written, but this version can't take it apart."""
        where = "at the beginning" if after_ns is None else f"after {self._when(after_ns)}"
        self.add(("unreadable", first_id), f"a block {where} can't be read: {size} bytes ignored")

    def messages(self) -> tuple[str, ...]:
        """All of them, in order of discovery."""
        return tuple(self._messages.values())
