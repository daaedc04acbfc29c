"""Interprets the table of ``formats``: one line of text against the rows."""

from __future__ import annotations

import re
from typing import Final

from livemon.parse import units
from livemon.parse.format_row import Format
from livemon.parse.formats import FORMATS
from livemon.parse.keyvalue import id_in_text
from livemon.parse.reading import Draft, Reading
from livemon.parse.timestamps import Stamp

_OWN: Final = frozenset(("stage", "unit", "label", "pid", "tid", "start_ns", "cells", "u"))


_RARE: Final = tuple((char, 1 << n) for n, char in enumerate("[(|<#%'{\t_LRCOTDG>="))
"""Characters that many rows need and many lines lack, each with its bit."""


LONGEST_ROW: Final = 4096
"""Characters of a line that the rows see: keeps the time of any pattern bounded."""


class Preset:
    """One row, compiled when it is first needed."""

    def __init__(self, row: Format) -> None:
        self.row = row
        self.hint = row.hints[0]
        self.is_open = "$" not in row.pattern
        """Whether a line may go on behind what is read."""
        self.needs = sum(bit for char, bit in _RARE if any(char in hint for hint in row.hints))
        self._pattern: re.Pattern[str] | None = None
        self._cell: re.Pattern[str] | None = None
        self._durations: list[tuple[str, str, str]] = []
        self._others: list[str] = []

    def _compile(self) -> re.Pattern[str]:
        pattern = re.compile(self.row.pattern)
        for group in pattern.groupindex:
            stage, separator, unit = group.rpartition("__")
            if separator:
                self._durations.append((group, stage, unit))
            elif group not in _OWN:
                self._others.append(group)
        self._cell = re.compile(self.row.cell) if self.row.cell else None
        self._pattern = pattern
        return pattern

    def read(self, text: str, reading: Reading) -> bool:
        """Read a line; false if it is not of this format."""
        for hint in self.row.hints:
            if hint not in text:
                return False
        match = (self._pattern or self._compile()).search(text)
        if match is None:
            return False
        row = self.row
        reading.rule = row.name
        if row.gives != "record":
            reading.remark = f"a {row.gives} line, not a sample of one unit"
            return True
        group = match.groupdict()
        draft = Draft(row.name, unit=group.get("unit"), label=group.get("label"), is_start_stamped=row.is_start_stamped)
        for name, stage, unit in self._durations:
            text_value = group[name]
            if text_value is None:
                continue
            wanted = group.get("stage") if stage == "value" else stage
            self._take(draft, reading, wanted or stage, text_value, group.get("u") if unit == "u" else unit)
        if self._cell is not None:
            self._read_cells(group.get("cells") or "", draft, reading)
        for key in ("pid", "tid"):
            number = group.get(key)
            if number:
                setattr(draft, key, int(number))
        draft.fields.extend((g, group[g]) for g in self._others if group[g] is not None)
        if group.get("start_ns"):
            draft.start_ns = int(group["start_ns"])
            draft.stamp = Stamp(draft.start_ns, "monotonic", 9)
        if draft.unit is None:
            draft.unit = id_in_text(text)
        if draft.stages:
            reading.drafts.append(draft)
        elif not reading.problems:
            reading.remark = "no value on this line"
        return True

    def _read_cells(self, text: str, draft: Draft, reading: Reading) -> None:
        assert self._cell is not None
        for match in self._cell.finditer(text):
            group = match.groupdict()
            name = group["name"].strip()
            if all(name != other for other, _ in draft.stages):
                self._take(draft, reading, name, group["value"], group.get("u") or self.row.cell_unit)

    def _take(self, draft: Draft, reading: Reading, stage: str, text: str, unit: str | None) -> None:
        if units.is_absent(text):
            return
        try:
            if unit == "go" or unit is None:
                value = units.duration(text)
                if value is None:
                    raise units.MalformedError(f"{text} is no duration")
            else:
                known = unit if unit in units.UNIT_MS else unit.lower()
                value = units.milliseconds(text, known, decimal_comma=self.row.decimal_comma)
        except units.MalformedError as problem:
            reading.problems.append(f"{stage}: {problem}")
            return
        draft.stages.append((stage, value))


PRESETS: Final = tuple(Preset(row) for row in FORMATS)


class PresetTable:
    """Rows in their order, asked by the rare characters that they need.

    A few looks at which of these characters a line has leave a handful of rows to ask.
    """

    def __init__(self, presets: tuple[Preset, ...]) -> None:
        self._presets = presets
        self._chosen: dict[int, tuple[tuple[str, Preset], ...]] = {}

    def read(self, text: str, reading: Reading) -> bool:
        """Read a line; false if it is of none of these formats."""
        if len(text) > LONGEST_ROW:
            # No format has such lines; where one is glued to a long text, its start may be read, not a cut end.
            text = text[:LONGEST_ROW]
            return any(p.is_open and p.hint in text and p.read(text, reading) for p in self._presets)
        mask = 0
        for char, bit in _RARE:
            if char in text:
                mask |= bit
        chosen = self._chosen.get(mask)
        if chosen is None:
            chosen = self._chosen[mask] = tuple((p.hint, p) for p in self._presets if not p.needs & ~mask)
        for hint, preset in chosen:  # noqa: SIM110 - this runs for every line; a generator doubles its cost
            if hint in text and preset.read(text, reading):
                return True
        return False


AUTOMATIC: Final = tuple(p for p in PRESETS if p.row.is_automatic)
BY_NAME: Final = {p.row.name: p for p in PRESETS}
