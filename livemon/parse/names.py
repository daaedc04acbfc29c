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


class _Shape:
    """Names that are equal but for their variable parts."""

    def __init__(self) -> None:
        self.names = 0
        self._first: list[str] = []
        self._varies: list[bool] = []

    def add(self, parts: list[str]) -> None:
        """See one more name."""
        if not self.names:
            self._first = parts
            self._varies = [False] * len(parts)
        self.names += 1
        self._varies = [v or p != f for v, p, f in zip(self._varies, parts, self._first, strict=True)]

    def grouped(self, name: str) -> str:
        """The name with ``#`` for the parts that were seen to vary (``/v1/#``, not ``/v#/#``)."""
        varies = iter(self._varies)
        return _VARIABLE.sub(lambda match: "#" if next(varies) else match[0], name)


class NameGroups:
    """Maps each name to the one it is recorded under."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._distinct: set[str] = set()
        self._shapes: dict[str, _Shape] = {}
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
        parts = _VARIABLE.findall(short)
        kept = self._shaped(short, parts) if parts else short
        if kept not in self._distinct:
            if len(self._distinct) >= CAP:
                kept = OTHER
            else:
                self._distinct.add(kept)
        if len(self._known) < _REMEMBERED:
            self._known[name] = kept
        return kept

    def _shaped(self, name: str, parts: list[str]) -> str:
        key = _VARIABLE.sub("#", name)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _REMEMBERED:
                return key
            shape = self._shapes[key] = _Shape()
        if shape.names >= PER_SHAPE:
            return shape.grouped(name)
        shape.add(parts)
        return name
