"""Keeping the number of stage names (and labels) bounded, visibly.

Names that differ only in a variable part (a number, a hash, an id) are kept apart for the first few
and then read as one with ``#`` in its place (``layer #``, ``/api/blobs/sha256:#``). Above the cap
every new name is ``other``. Both are counted.
"""

from __future__ import annotations

import re
from typing import Final

CAP: Final = 256
"""Distinct names before new ones become ``other``."""
PER_SHAPE: Final = 8
"""Names of one shape that are kept apart before they are grouped."""
OTHER: Final = "other"
_LONGEST: Final = 200
_REMEMBERED: Final = 4096
_VARIABLE = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\b(?=[a-zA-Z]*\d)[0-9a-fA-F]{7,}\b|\d+")


class NameGroups:
    """Maps each name to the one it is recorded under."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._distinct: set[str] = set()
        self._shapes: dict[str, int] = {}
        self.grouped = 0
        """Times a name was replaced."""

    def get(self, name: str) -> str:
        """The name to record ``name`` under."""
        known = self._known.get(name)
        if known is None:
            known = self._place(name)
        if known is not name and known != name:
            self.grouped += 1
        return known

    def is_settled(self, name: str) -> bool:
        """Whether the name is known to stand for itself."""
        return self._known.get(name) == name

    def _place(self, name: str) -> str:
        short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
        shape = _VARIABLE.sub("#", short)
        kept = short
        if shape != short:
            seen = self._shapes.get(shape, 0)
            if seen >= PER_SHAPE:
                kept = shape
            elif len(self._shapes) < _REMEMBERED:
                self._shapes[shape] = seen + 1
        if kept not in self._distinct:
            if len(self._distinct) >= CAP:
                kept = OTHER
            else:
                self._distinct.add(kept)
        if len(self._known) < _REMEMBERED:
            self._known[name] = kept
        return kept
