"""Records and batches as the JSON lines of ``livemon parse``; a batch is joined from columns, not formatted."""

from __future__ import annotations

from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from livemon.parse.record import ParsedRecord
from livemon.parse.template import Batch

_SHORT: Final = [b"%d" % n for n in range(1000)]
_PADDED: Final = [b"%03d" % n for n in range(1000)]


def _text(value: str | None) -> str:
    return "null" if value is None else quoted(value)


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def record_line(record: ParsedRecord) -> str:
    """One record as a line of JSON."""
    t = "null" if record.t_ns is None else repr(record.t_ns / 1e9)
    stages = ", ".join([f"{quoted(name)}: {value!r}" for name, value in record.stages])
    return (
        f'{{"line": {record.line}, "t": {t}, "clock": {_text(record.clock)}, "source": {quoted(record.source)},'
        f' "unit": {_text(record.unit)}, "class": {_text(record.label)}, "pid": {_number(record.pid)},'
        f' "tid": {_number(record.tid)}, "stages_ms": {{{stages}}}}}\n'
    )


def json_lines(items: list[Batch | ParsedRecord]) -> bytes:
    """What a bulk reader gave for a block as lines of JSON, in the order of the log's lines."""
    last = 0
    for item in items:
        lines: Sequence[int] = item.lines if isinstance(item, Batch) else (item.line,)
        if lines[0] < last:
            return _interleaved(items)
        last = lines[-1]
    return b"".join([batch_lines(i) if isinstance(i, Batch) else record_line(i).encode() for i in items])


def _interleaved(items: list[Batch | ParsedRecord]) -> bytes:
    """Items whose lines stand between each other's."""
    first = min(item.lines[0] if isinstance(item, Batch) else item.line for item in items)
    last = max(item.lines[-1] if isinstance(item, Batch) else item.line for item in items)
    slots: list[bytes] = [b""] * (last - first + 1)
    for item in items:
        if isinstance(item, Batch):
            for line, text in zip(item.lines, batch_lines(item)[:-1].split(b"\n"), strict=True):
                slots[line - first] = text
        else:
            slot = item.line - first
            text = record_line(item).encode()[:-1]
            slots[slot] = slots[slot] + b"\n" + text if slots[slot] else text
    return b"\n".join(filter(None, slots)) + b"\n"


def batch_lines(batch: Batch) -> bytes:
    """A batch as lines of JSON; the same values as its records give."""
    template = batch.template
    first = template.record
    n = len(batch)
    pieces: list[list[bytes]] = []

    def constant(text: str) -> None:
        pieces.append([text.encode()] * n)

    constant('{"line": ')
    pieces.extend(_line_numbers(batch.lines))
    if template.t_column is None:
        constant(', "t": null')
    else:
        stamps = batch.columns[template.t_column]
        constant(', "t": ')
        pieces.append([text[:-9] for text in stamps])
        constant(".")
        pieces.append([text[-9:] for text in stamps])
    constant(f', "clock": {_text(first.clock)}, "source": {quoted(first.source)}, "unit": ')
    if template.unit_column is None:
        constant(_text(first.unit))
    else:
        constant('"')
        pieces.append(batch.columns[template.unit_column])
        constant('"')
    head = f', "class": {_text(first.label)}, "pid": null, "tid": null, "stages_ms": {{'
    for name, at in zip(template.stage_names, template.stage_columns, strict=True):
        constant(f"{head}{quoted(name)}: ")
        pieces.append(batch.columns[at])
        head = ", " if b"." in template.tokens[at] else ".0, "
    constant(head.removesuffix(", ") + "}}\n")
    width = len(pieces)
    parts: list[bytes] = [b""] * (width * n)
    for i, column in enumerate(pieces):
        parts[i::width] = column
    return b"".join(parts)


def _line_numbers(lines: Sequence[int]) -> list[list[bytes]]:
    """Line numbers as text, in one column or (thousands, rest) in two."""
    if not isinstance(lines, range):
        return [[b"%d" % line for line in lines]]
    heads: list[bytes] = []
    tails: list[bytes] = []
    at = lines.start
    while at < lines.stop:
        thousands, rest = divmod(at, 1000)
        count = min(1000 - rest, lines.stop - at)
        heads.extend([b"%d" % thousands if thousands else b""] * count)
        tails.extend((_PADDED if thousands else _SHORT)[rest : rest + count])
        at += count
    return [heads, tails]
