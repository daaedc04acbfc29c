"""Copies of the rare samples as plain tables: for people with ``sqlite3`` and for range reads."""

from __future__ import annotations

from typing import Any

from livemon.model.samples import ClockAnchor, LogStream, Lost, Mark, Note, TargetEvent, ThreadInfo
from livemon.session.batch import KINDS, Batch, Row
from livemon.session.format import text_crc

Copy = tuple[str, list[Row]]
"""An INSERT statement and its rows."""

TABLES: dict[int, tuple[str, int]] = {
    KINDS.index(kind): (table, len(kind.__slots__))
    for kind, table in (
        (ThreadInfo, "thread"),
        (LogStream, "stream"),
        (Mark, "mark"),
        (Note, "note"),
        (TargetEvent, "event"),
        (Lost, "lost"),
        (ClockAnchor, "anchor"),
    )
}
"""Kind -> its table and number of fields; columns are the fields in order."""

_STATEMENTS = {
    kind: f"INSERT INTO {table} VALUES ({','.join('?' * (fields + 1))})" for kind, (table, fields) in TABLES.items()
}


def copies(batch: Batch) -> list[Copy]:
    """What a batch adds to the plain tables."""
    found = []
    for kind, rows in batch.rows.items():
        statement = _STATEMENTS.get(kind)
        if statement is not None:
            found.append((statement, [(*map(_storable, row), text_crc(*row)) for row in rows]))
    return found


def _storable(value: int | str | bool | None) -> int | str | bool | None:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return str(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return value


def sound_rows(rows: list[tuple[Any, ...]]) -> list[Row]:
    """The fields of the rows whose checksum is right."""
    return [tuple(row) for *row, crc in rows if text_crc(*row) == crc]
