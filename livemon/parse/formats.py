"""The formats livemon knows, as a table: one row each, interpreted by ``presets``.

A row reads a line when all its ``hints`` are in it and its pattern is found. Named groups:
``<stage>__<unit>`` a duration, ``stage`` the name of the row's one duration (group ``value__<unit>``),
``unit`` the id, ``label``, ``pid``, ``tid``, ``start_ns``; ``cells`` is a stretch of text in which
``cell`` is searched again and again (its groups: ``name``, ``value`` and, unless ``cell_unit`` gives
it, ``u``). ``gives`` other than ``record`` means that such lines are known and are no samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from livemon.parse.units import GO, NUMBER, UNIT


@dataclass(frozen=True, slots=True)
class Format:
    """One row."""

    name: str
    what: str
    example: str
    hints: tuple[str, ...] = ()
    pattern: str = ""
    cell: str = ""
    cell_unit: str = ""
    gives: Literal["record", "summary", "progress"] = "record"
    is_automatic: bool = True
    """Recognised without ``--format``."""
    stamps_start: bool = False
    """The line's stamp is the start of the unit, not its end."""
    decimal_comma: bool = False


FORMATS: Final[tuple[Format, ...]] = ()
BUILT_IN: Final = ("strace", "json", "otlp", "keyvalue", "labels", "pattern")
FORMAT_NAMES: Final = frozenset(f.name for f in FORMATS) | set(BUILT_IN)
_ = (GO, NUMBER, UNIT)
