"""The text around timing records, read again from the log: what the recording does not keep.

A recording holds where each line stands, not its text. The file may have been rotated, truncated or
removed since; then the lines say so, and what was read from them is still shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from livemon.model.samples import LogStream, TimingRecord
from livemon.model.snapshot import LogLine

MAX_BYTES = 256 * 1024
"""Of a log's text that is read for one view."""
_MAX_LINE = 4096


def lines_of(
    stream: LogStream, records: Sequence[TimingRecord], classes: dict[tuple[int, int], str | None]
) -> list[LogLine]:
    """The physical lines from the first to the last of the records, with what was read from them.

    Args:
        stream: Where they come from.
        records: Records of that stream, in order of their place.
        classes: Class keys by (stream, offset).
    """
    by_offset: dict[int, list[TimingRecord]] = {}
    for record in records:
        by_offset.setdefault(record.offset, []).append(record)
    placed = sorted(offset for offset in by_offset if offset >= 0)
    if not placed:
        return [_without_text(record, stream, "the text was not kept (a pipe)", classes) for record in records]
    first, last = placed[0], by_offset[placed[-1]][-1]
    if last.offset + last.length - first > MAX_BYTES:
        first = next(
            offset for offset in placed if last.offset + last.length - offset <= MAX_BYTES or offset == placed[-1]
        )
    data, problem = _read(stream.path, first, last.offset + last.length)
    if problem:
        return [_without_text(record, stream, problem, classes) for record in records]
    found: list[LogLine] = []
    offset, number = first, by_offset[first][0].line
    for raw in data.splitlines(keepends=True):
        mine = by_offset.get(offset, [])
        text = raw[:_MAX_LINE].decode("utf-8", "replace").rstrip("\r\n")
        if mine and not _is_same(mine[0], text):
            return [_without_text(r, stream, "the file has changed since it was read", classes) for r in records]
        if mine:
            found += [_line(record, stream, text, classes, is_text=True) for record in mine]
            number = mine[-1].line
        else:
            found.append(LogLine(None, stream.path, number, text, True))
        offset += len(raw)
        number += 1
    return found


def _read(path: str, start: int, stop: int) -> tuple[bytes, str]:
    if not path:
        return b"", "the text was not kept (a pipe)"
    try:
        with Path(path).open("rb") as file:
            file.seek(0, 2)
            if file.tell() < stop:
                return b"", "the file is shorter than it was (rotated or truncated)"
            file.seek(start)
            return file.read(stop - start), ""
    except FileNotFoundError:
        return b"", "the file is gone"
    except OSError as error:
        return b"", f"the file can't be read: {error.strerror or error}"


def in_order(lines: list[LogLine], most: int) -> list[LogLine]:
    """Lines of several logs by time; lines without a time stay behind the one before them."""
    keyed: list[tuple[int, int, LogLine]] = []
    newest = 0
    for n, line in enumerate(lines):
        newest = line.t_ns if line.t_ns is not None else newest
        keyed.append((newest, n, line))
    keyed.sort(key=lambda entry: entry[:2])
    # Lines without timing between the records are context; the records asked for are all kept.
    limit = max(4 * most, 200)
    return [line for _, _, line in keyed][-limit:]


def _is_same(record: TimingRecord, text: str) -> bool:
    """Whether the text can be the line that the record was read from."""
    if record.unit and not any(part in text for part in (record.unit, record.unit.rpartition("/")[2])):
        return False
    return any(name.rpartition(".")[2].split("_")[0].lower() in text.lower() for name, _ in record.stages[:4])


def _line(
    record: TimingRecord, stream: LogStream, text: str, classes: dict[tuple[int, int], str | None], *, is_text: bool
) -> LogLine:
    key = classes.get((record.stream, record.offset), record.label)
    return LogLine(record.t_ns, stream.path, record.line, text, is_text, record.stages, record.unit, key)


def _without_text(
    record: TimingRecord, stream: LogStream, reason: str, classes: dict[tuple[int, int], str | None]
) -> LogLine:
    return _line(record, stream, reason, classes, is_text=False)
