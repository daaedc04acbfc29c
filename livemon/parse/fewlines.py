"""Reading a few lines at a time: a line of a known shape takes one match, every other line the long way.

A log that is followed gives a line or two a look, read by a program that was asleep: there, each
function that need not run counts. What may be read so, and what each number means, is what ``template``
says of the shape; the pattern made of it is stricter still, so the outcome is that of the long way.
"""

from __future__ import annotations

import re
from typing import Final

from livemon.parse.bulk import Shapes
from livemon.parse.linewise import LineReader
from livemon.parse.record import ParsedRecord
from livemon.parse.template import DIGITS, Template

_PATTERNS: Final = {
    "t": rb"([1-9]\d{9,15})",
    "unit": rb"(\d{1,40})",
    "field": rb"(\d{1,40})",
}
_STAGE: Final = rb"((?:0|[1-9]\d{0,6})%b)"
"""Below the ceiling whatever the digits; numbers written otherwise go the long way."""
_FRACTION: Final = rb"\.\d{1,40}"
_new_tuple: Final = tuple.__new__
_NUMBER = re.compile(rb"\d+")


class _Plan:
    """How to read a line of one shape.

    Args:
        template: What the shape's numbers mean.
    """

    def __init__(self, template: Template) -> None:
        pattern = [re.escape(template.constants[0])]
        groups: dict[int, int] = {}
        for at, column in enumerate(template.columns):
            token = template.tokens[at]
            if column.role == "same":
                pattern.append(re.escape(token))
            elif column.role == "free":
                pattern.append(_NUMBER.sub(rb"\\d{1,40}", re.escape(token)))
            else:
                groups[at] = len(groups)
                is_stage = column.role == "stage"
                pattern.append(_STAGE % (_FRACTION if b"." in token else b"") if is_stage else _PATTERNS[column.role])
            pattern.append(re.escape(template.constants[at + 1]))
        self.match = re.compile(b"".join(pattern)).match
        """For a line with its newline."""
        first = template.record
        self.source = first.source
        self._clock = first.clock
        self._label = first.label
        self._unit = first.unit
        self._t_group = None if template.t_column is None else groups[template.t_column]
        self._unit_group = None if template.unit_column is None else groups[template.unit_column]
        self._stages = [(name, groups[i]) for name, i in zip(template.stage_names, template.stage_columns, strict=True)]
        self._fields = [(key, value, None if i is None else groups[i]) for key, value, i in template.fields]

    def record(self, values: tuple[bytes, ...], line: int, offset: int, length: int) -> ParsedRecord:
        """The record of a line that matched."""
        t, unit = self._t_group, self._unit_group
        stages = [(name, float(values[i])) for name, i in self._stages]
        fields = [(k, v if i is None else values[i].decode()) for k, v, i in self._fields] if self._fields else ()
        parts = (
            line,
            offset,
            length,
            None if t is None else int(values[t]),
            self._clock,
            self.source,
            self._unit if unit is None else values[unit].decode(),
            self._label,
            None,
            None,
            tuple(stages),
            tuple(fields),
            None,
        )
        return _new_tuple(ParsedRecord, parts)  # what its own constructor does, without a call in between


class FewLines:
    """Reads a stream's bytes when they come in small pieces.

    Args:
        stream: Takes what is not of a known shape, and all counts.
        shapes: The shapes that the stream's lines had so far.
    """

    def __init__(self, stream: LineReader, shapes: Shapes) -> None:
        self._stream = stream
        self._shapes = shapes
        self._plans: dict[bytes, _Plan] = {}
        self._newest: _Plan | None = None
        self._may_begin = stream.can_tag_in_bulk

    def feed(self, data: bytes) -> list[ParsedRecord]:
        """Take the next bytes; records of the lines they terminate."""
        stream = self._stream
        place = stream.place_at_line_start() if self._may_begin else None
        if place is None or b"\r" in data:
            return stream.feed(data)
        records: list[ParsedRecord] = []
        plan = self._newest
        line, offset = place
        told_line, told = line, 0
        at, end = 0, len(data)
        while at < end:
            match = None if plan is None else plan.match(data, at)
            if match is not None and plan is not None:
                line += 1
                after = match.end()
                records.append(plan.record(match.groups(), line, offset + at, after - at))
                at = after
                continue
            if at > told and plan is not None:
                stream.account(line - told_line, at - told, plan.source)
                told_line, told = line, at
            after = data.find(b"\n", at) + 1
            if not after:
                break
            plan = self._read_other(data[at:after], records)
            at = told = after
            if stream.place_at_line_start() is None:
                break
            line = told_line = stream.line
        if at > told and plan is not None:
            stream.account(line - told_line, at - told, plan.source)
        self._newest = plan
        if at < end:
            records += stream.feed(data[at:])
        return records

    def _read_other(self, text: bytes, records: list[ParsedRecord]) -> _Plan | None:
        """Read a line, given with its newline, that is not like the one before; the plan for those like it."""
        stream = self._stream
        shape = text[:-1].translate(None, DIGITS)
        plan = self._plans.get(shape)
        match = None if plan is None else plan.match(text)
        if plan is not None and match is not None:
            records.append(plan.record(match.groups(), stream.line + 1, stream.offset, len(text)))
            stream.account(1, len(text), plan.source)
            return plan
        malformed = stream.stats.malformed
        found = stream.read_line(text[:-1])
        records += found
        if plan is None and stream.stats.malformed == malformed:
            template = self._shapes.known.get(shape) or self._shapes.learn(text[:-1], shape, found)
            if template is not None:
                plan = self._plans[shape] = _Plan(template)
        return plan
