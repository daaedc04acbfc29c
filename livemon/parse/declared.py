"""Bare numbers whose unit the user declared by name, in text that is no ``key=value``: ``Total time cost: 58.8``."""

from __future__ import annotations

import re

from livemon.parse import units
from livemon.parse.keyvalue import id_in_text
from livemon.parse.reading import Draft, Reading


class DeclaredNames:
    """Finds ``NAME: number``, ``NAME = number`` and ``'NAME': number`` for the declared names.

    Args:
        declared: Name -> unit.
    """

    def __init__(self, declared: dict[str, str]) -> None:
        self._declared = declared
        self._patterns = [
            (
                name,
                unit,
                re.compile(
                    rf"(?<![\w.\-'\"])(['\"]?){re.escape(name)}\1[ \t]{{0,40}}[:=][ \t]{{0,40}}([^\s,;}}\])|]{{1,60}})"
                ),
            )
            for name, unit in declared.items()
        ]

    def read(self, text: str, reading: Reading) -> bool:
        """Read a line; false if none of the names is in it with a number."""
        draft = Draft("declared")
        found = False
        for name, unit, pattern in self._patterns:
            if name not in text:
                continue
            match = pattern.search(text)
            if match is None or units.is_absent(match[2]):
                continue
            token = match[2].strip("'\"")
            try:
                value = units.duration(token)
                draft.stages.append((name, units.milliseconds(token, unit) if value is None else value))
            except units.MalformedError as problem:
                reading.problems.append(f"{name}: {problem}")
            found = True
        if not found:
            return False
        reading.rule = "declared"
        if draft.stages:
            draft.unit = id_in_text(text)
            reading.drafts.append(draft)
        return True
