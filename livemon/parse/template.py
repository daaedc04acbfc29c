"""Reading many lines of one shape at once: the same constants around numbers that differ.

A shape is a line without its digits. The first line of a shape is read the long way; if it is a plain
tagged line, what that reading said of each number (id, time, duration, field, decoration) becomes a
template, which has to give exactly that reading back before it is used. From then on whole blocks
are split into columns of numbers with a handful of C-level passes: translate, split, join, compare.
The block is rebuilt from constants and columns and must equal the input byte for byte, so nothing
can hide between the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Final, NamedTuple

from livemon.parse import units
from livemon.parse.keys import ID_KEYS
from livemon.parse.record import ParsedRecord

DIGITS: Final = b"0123456789"
_NUMBERS_ONLY: Final = bytes(c if c in b"0123456789." else 32 for c in range(256))
_SAFE_INTEGER_DIGITS: Final = 7
"""A number of ms with so many digits before the dot is below the ceiling."""
_ZEROS: Final = bytes(48 if c in b"0123456789" else c for c in range(256))
_LONG: Final = b"0" * (_SAFE_INTEGER_DIGITS + 1)
_FIRST_TWO: Final = itemgetter(slice(0, 2))
_ZERO: Final = 48
_DOT: Final = 46
_TOKEN = re.compile(rb"[0-9.]+")
_LINE = re.compile(
    rb"(?:\[mono_ns=(?P<t>\d{10,16})\](?:\[[\w.:]{1,40}\]){0,4} ?(?:[A-Za-z_][\w.]{0,80}: )?)?"
    rb"\[(?P<tag>[A-Za-z]\w{0,60}_timing)(?P<inside>(?: [A-Za-z_]\w{0,40}=[\w.+\-]{1,60}){0,6})\]"
    rb"(?P<pairs>(?: +[A-Za-z_][\w.\-]{0,80}= {0,8}[\w.+\-/]{1,120})+) *"
)
_PAIR = re.compile(rb"([A-Za-z_][\w.\-]{0,80})= {0,8}([\w.+\-/]{1,120})")
_MS = re.compile(rb"(\d+(?:\.\d+)?)(?:ms)?")
_MAX_EXACT_NS: Final = b"9007199254740991"
"""Largest integer a double holds exactly: below it a decimal text of seconds is the quotient itself."""


class Column(NamedTuple):
    """One number of the shape."""

    role: str
    """``t``, ``unit``, ``stage``, ``field`` (its value is this number alone), ``same`` (part of a text), ``free``."""
    name: str
    """Stage or field name."""


class Lines:
    """The lines of a block and where they are in the stream; positions are worked out when asked for.

    Args:
        block: Whole lines with their newlines.
        line: Physical lines before the block.
        offset: Byte offset of the block.
    """

    def __init__(self, block: bytes, line: int, offset: int) -> None:
        self._block = block
        self._texts: list[bytes] | None = None
        self.line = line
        self._offset = offset
        self._ends: list[int] = []

    @property
    def texts(self) -> list[bytes]:
        """The lines without their newlines."""
        if self._texts is None:
            self._texts = self._block.split(b"\n")
            self._texts.pop()
        return self._texts

    def offset_of(self, index: int) -> int:
        """Byte offset of a line; of the end of the block for the index after the last."""
        if index == len(self.texts):
            return self._offset + len(self._block)
        if not self._ends:
            self._ends = list(accumulate(map(len, self.texts), initial=self._offset))
        return self._ends[index] + index

    def place_of(self, index: int) -> tuple[int, int]:
        """(offset, length) of a line, terminator included."""
        return self.offset_of(index), len(self.texts[index]) + 1


@dataclass(slots=True)
class Batch:
    """Records of one shape as columns of text; they are what the long way would give."""

    template: Template
    lines: Sequence[int]
    """Numbers of the physical lines."""
    columns: list[list[bytes]]
    """Texts of the shape's numbers; one list for each of ``template.columns``."""
    source: Lines | None = None
    """The block the lines are of."""
    members: Sequence[int] = ()
    """Indexes of the lines in it."""

    def __len__(self) -> int:
        return len(self.lines)

    def values(self, stage: int) -> list[float]:
        """Durations of the ``stage``-th stage, in ms."""
        return [float(text) for text in self.columns[self.template.stage_columns[stage]]]

    def t_ns(self) -> list[int] | None:
        """Monotonic time of each record; ``None`` if the lines carry none."""
        at = self.template.t_column
        return None if at is None else [int(text) for text in self.columns[at]]

    def positions(self) -> list[tuple[int, int]]:
        """(offset, length) of each physical line in the stream."""
        assert self.source is not None
        return [self.source.place_of(i) for i in self.members]

    def records(self) -> list[ParsedRecord]:
        """The records as objects, in the order of the lines."""
        places = self.positions()
        template = self.template
        first = template.record
        stamps = self.t_ns()
        unit_at = template.unit_column
        stages = [self.values(i) for i in range(len(template.stage_columns))]
        out = []
        for n, line in enumerate(self.lines):
            out.append(
                ParsedRecord(
                    line,
                    *places[n],
                    None if stamps is None else stamps[n],
                    first.clock,
                    first.source,
                    first.unit if unit_at is None else self.columns[unit_at][n].decode(),
                    first.label,
                    first.pid,
                    first.tid,
                    tuple([(name, column[n]) for name, column in zip(template.stage_names, stages, strict=True)]),
                    tuple([(k, v if i is None else self.columns[i][n].decode()) for k, v, i in template.fields]),
                    None,
                )
            )
        return out


class Template:
    """What each number of a shape means.

    Args:
        line: A line of the shape, without terminator.
        record: What the long way read in it.

    Raises:
        ValueError: the line is not plain enough.
    """

    def __init__(self, line: bytes, record: ParsedRecord) -> None:
        match = _LINE.fullmatch(line)
        if match is None or record.start_ns is not None or record.pid is not None or record.tid is not None:
            raise ValueError("not a plain tagged line")
        if (record.clock == "monotonic") != (match["t"] is not None) or (record.t_ns is None) != (match["t"] is None):
            raise ValueError("its time is not where it should be")
        self.record = record
        spans = [m.span() for m in _TOKEN.finditer(line)]
        self.tokens = [line[a:b] for a, b in spans]
        self.constants = self._constants(line, spans)
        self.shape = line.translate(None, DIGITS)
        roles = [Column("free", "")] * len(spans)
        place = {span: n for n, span in enumerate(spans)}
        tag_start = match.start("tag")
        for n, (a, _) in enumerate(spans):
            if a >= tag_start:
                roles[n] = Column("same", "")
        if match["t"] is not None:
            roles[place[match.span("t")]] = Column("t", "")
        stages = dict(record.stages)
        for group in ("inside", "pairs"):
            for pair in _PAIR.finditer(line, match.start(group), match.end(group)):
                self._take_pair(pair, stages if group == "pairs" else {}, place, roles)
        self.columns = roles
        self._decoration = [n for n, c in enumerate(roles) if c.role in ("same", "free")]
        self._merged = self._merge()
        self.t_column = next((n for n, c in enumerate(roles) if c.role == "t"), None)
        self.unit_column = next((n for n, c in enumerate(roles) if c.role == "unit"), None)
        self.stage_names = [name for name, _ in record.stages]
        by_name = {c.name: n for n, c in enumerate(roles) if c.role == "stage"}
        if len(by_name) != len(self.stage_names) or set(by_name) != set(self.stage_names):
            raise ValueError("not every stage is a plain number")
        self.stage_columns = [by_name[name] for name in self.stage_names]
        by_field = {c.name: n for n, c in enumerate(roles) if c.role == "field"}
        self.fields = [(key, value, by_field.get(key)) for key, value in record.fields]
        if len(dict(record.fields)) != len(record.fields):
            raise ValueError("a field twice")
        batch = self.read(line + b"\n", record.line)
        if batch is None:
            raise ValueError("the template does not read its own line")
        batch.source, batch.members = Lines(line + b"\n", record.line - 1, record.offset), range(1)
        if batch.records() != [record]:
            raise ValueError("the template reads its own line differently")

    @classmethod
    def of(cls, line: bytes, record: ParsedRecord) -> Template | None:
        """The template of a line; ``None`` if it is not plain enough for one."""
        try:
            return cls(line, record)
        except ValueError:
            return None

    def _merge(self) -> tuple[list[bytes], Sequence[int]]:
        """Constants with the numbers that are mere decoration put into them, and the columns that are left."""
        constants = [self.constants[0]]
        varying = []
        for n, what in enumerate(self.columns):
            if what.role in ("same", "free"):
                constants[-1] += self.tokens[n] + self.constants[n + 1]
            else:
                varying.append(n)
                constants.append(self.constants[n + 1])
        return constants, varying

    def _constants(self, line: bytes, spans: list[tuple[int, int]]) -> list[bytes]:
        constants = []
        at = 0
        for a, b in spans:
            constants.append(line[at:a])
            at = b
        constants.append(line[at:] + b"\n")
        return constants

    def _take_pair(
        self, pair: re.Match[bytes], stages: dict[str, float], place: dict[tuple[int, int], int], roles: list[Column]
    ) -> None:
        key = pair[1].decode()
        if key in stages:
            number = _MS.fullmatch(pair[2])
            if number is None or float(number[1]) != stages[key]:
                raise ValueError("a duration in another unit")
            start = pair.start(2)
            roles[place[start, start + len(number[1])]] = Column("stage", key)
        elif pair.span(2) in place:
            at = place[pair.span(2)]
            if key.lower() in ID_KEYS and pair[2].isdigit():
                # The first of the id keys is the unit's id; the long way drops the others.
                is_unit = self.record.unit == pair[2].decode()
                if is_unit and any(c.role == "unit" for c in roles):
                    raise ValueError("two ids that can't be told apart")
                roles[at] = Column("unit" if is_unit else "free", key)
            elif pair[2].isdigit() and (key, pair[2].decode()) in self.record.fields:
                roles[at] = Column("field", key)

    def read(self, block: bytes, lines: list[int] | int) -> Batch | None:
        """The block's records, if every line of it is of this shape.

        Args:
            block: Whole lines with their newlines.
            lines: Their numbers, if the caller grouped them by their shape; or the number of the first
                of lines that follow each other and may be anything.
        """
        width = len(self.columns)
        tokens = block.translate(_NUMBERS_ONLY).split()
        n, rest = divmod(len(tokens), width)
        if rest or not n or (not isinstance(lines, int) and n != len(lines)):
            return None
        columns = [tokens[i::width] for i in range(width)]
        if self._rebuilt(columns, n) != block:
            return None
        numbers: Sequence[int]
        if isinstance(lines, int):
            if block.translate(None, DIGITS) != (self.shape + b"\n") * n:
                return None
            numbers = range(lines, lines + n)
        else:
            numbers = lines
        # A stamp has many digits; without one a look at the whole block tells that no duration has.
        are_short = self.t_column is None and _LONG not in block.translate(_ZEROS)
        for i, what in enumerate(self.columns):
            if not self._is_valid(i, what, columns[i], are_short):
                return None
        return Batch(self, numbers, columns)

    def _rebuilt(self, columns: list[list[bytes]], n: int) -> bytes:
        """The text that constants and columns make; numbers that never vary count as constants."""
        constants: list[bytes] = self.constants
        varying: Sequence[int] = range(len(columns))
        if self._decoration and all(columns[i].count(self.tokens[i]) == n for i in self._decoration):
            constants, varying = self._merged
        step = 2 * len(varying) + 1
        parts: list[bytes] = [b""] * (step * n)
        for i, constant in enumerate(constants):
            parts[2 * i :: step] = [constant] * n
        for i, at in enumerate(varying):
            parts[2 * i + 1 :: step] = columns[at]
        return b"".join(parts)

    def _is_valid(self, index: int, what: Column, column: list[bytes], are_short: bool) -> bool:
        """Whether a column holds what the long way would read as it read its first value."""
        role = what.role
        first = self.tokens[index]
        if role == "stage":
            has_dot = b"." in first
            if has_dot and b". " in b" ".join(column) + b" ":
                return False  # a number that ends with its dot
            return _are_durations(column, has_dot=has_dot, are_short=are_short)
        if role == "same":
            return column.count(first) == len(column)
        if role == "t":
            longest = max(map(len, column))
            if longest != min(map(len, column)) or not 10 <= longest <= 16 or min(column)[0] == _ZERO:
                return False
            return longest < 16 or max(column) <= _MAX_EXACT_NS
        return role == "free" or max(map(len, column)) <= 40


def _are_durations(column: list[bytes], *, has_dot: bool, are_short: bool) -> bool:
    """Whether all are numbers below the ceiling, without a leading dot or zeros: what JSON allows, too."""
    # With a dot, a digit follows it: nine characters are at most seven digits before it.
    is_long = not are_short and max(map(len, column)) > _SAFE_INTEGER_DIGITS + 2 * has_dot
    if is_long and not all(float(t) <= units.CEILING_MS for t in column):
        return False
    least = min(column)[0]
    if least != _ZERO:
        return least != _DOT
    heads = set(map(_FIRST_TWO, column))
    return all(head[0] != _ZERO or head in (b"0", b"0.") for head in heads)
