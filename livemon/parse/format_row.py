"""The type of one row in the table of formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

N: Final = r"-?[\d.]+(?:[eE][+-]?\d+)?"
"""A number in a row's pattern: loose, so that a damaged one is counted instead of missed."""
GO: Final = r"[+-]?[\d.]+[a-zµμ][\w.µμ]*"
"""A duration that carries its unit, loose likewise."""


@dataclass(frozen=True, slots=True)
class Format:
    """One row; ``formats`` says what the groups of the patterns mean."""

    name: str
    what: str
    example: str
    hints: tuple[str, ...]
    """Literal texts that a line must have; cheap, so that the pattern is tried on few lines."""
    pattern: str
    cell: str = ""
    cell_unit: str = ""
    gives: Literal["record", "summary", "progress"] = "record"
    is_automatic: bool = True
    """Recognised without ``--format``; else positions alone carry the meaning and the user must say so."""
    decimal_comma: bool = False
    is_start_stamped: bool = False
    """The line's stamp is the start of the unit; elsewhere it is the end."""
