"""The newest second of a recording: appends that are not in the database yet, in ``SESSION-recent``.

Between ticks the caches go to others, so what a tick runs through is what it costs: a row of SQLite takes
five times as long as one ``write``. An append of nothing but thread ticks and timing records is therefore
written here first, as it is, and once a second they go into the database together; then the file is
written again from its beginning. Its records stand on their own:

    magic, length of the rest, CRC-32 of what follows it, the session (``created_wall_ns``), number of the
    append, first and last arrival, samples, length of the text; the text; the columns of the ticks

all numbers little-endian. The text is a JSON list with one list a sample: all fields of a timing record;
of a tick arrival, lateness, whether it is a keyframe, number of entries, and a list of (core class, has
enabled_ns, has running_ns). The columns are signed 64-bit numbers as they were read, in order. A record
counts if its checksum is right and it is of this session; behind the newest one there are older ones,
which are in the database. Readers look here first and into the database afterwards, so that what moves
in between is not missed.
"""

from __future__ import annotations

import contextlib
import io
import json
import json.encoder
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from livemon.model.samples import ClassColumns, Sample, Samples, ThreadTick, TimingRecord
from livemon.session.columns import ColumnError
from livemon.session.format import NO_STATE, RECENT, Block, make_block

SUFFIX = "-recent"
_MAGIC = b"\xa9LVr"
_HEAD = struct.Struct("<4sII")
"""Magic, length of what follows, its CRC-32."""
_BODY = struct.Struct("<qQqqII")
_NUMBER = struct.Struct("<QqqI")
_NUMBER_AT = _HEAD.size + 8
_LONGEST = 64 << 20
_SHORTEN_FROM = 1 << 20
_IS_BIG_ENDIAN = sys.byteorder == "big"
_ITEM_BYTES = 8

_timing_fields = attrgetter(*TimingRecord.__slots__)
_stage_at = TimingRecord.__slots__.index("stages")
_fields_at = TimingRecord.__slots__.index("fields")


def _text_encoder() -> Callable[[object], str]:
    """JSON of plain values; where there is CPython's own encoder it is made once, not for each text."""
    plain = json.JSONEncoder(check_circular=False, separators=(",", ":"))
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    text = json.encoder.encode_basestring_ascii
    try:
        parts = make(None, plain.default, text, None, ":", ",", False, False, True)
        "".join(parts([0], 0))
    except TypeError:
        return plain.encode
    return lambda value: "".join(parts(value, 0))


_to_json = _text_encoder()


def recent_path(path: Path) -> Path:
    """Where the newest appends of a session are."""
    return path.with_name(path.name + SUFFIX)


def dump_record(session: int, number: int, samples: Samples) -> bytes | None:
    """The record of an append; ``None`` if it is one for the database: other samples, or odd ones."""
    rows: list[tuple[Any, ...]] = []
    columns: list[Any] = []
    expected = 0
    start_ns = end_ns = samples[0].arrival_ns
    for sample in samples:
        kind = type(sample)
        at_ns = sample.arrival_ns
        if at_ns < start_ns:
            start_ns = at_ns
        elif at_ns > end_ns:
            end_ns = at_ns
        if kind is TimingRecord:
            rows.append(_timing_fields(sample))
            continue
        if kind is not ThreadTick:
            return None
        tick: Any = sample
        count = len(tick.index)
        mine = [tick.index, tick.cpu_ns, tick.run_delay_ns, tick.slices, tick.last_cpu]
        classes = _take_classes(tick, mine) if tick.classes else ()
        for column in mine:
            if len(column) != count:
                return None
        rows.append((at_ns, tick.late_ns, tick.is_keyframe, count, classes))
        columns += mine
        expected += count * len(mine)
    try:
        text = _to_json(rows).encode("ascii")
        packed = b"".join(map(_swapped, columns) if _IS_BIG_ENDIAN else columns)
        head = _BODY.pack(session, number, start_ns, end_ns, len(rows), len(text))
    except (TypeError, ValueError, struct.error):
        return None
    if len(packed) != expected * _ITEM_BYTES:
        return None
    body = b"".join((head, text, packed))
    return _HEAD.pack(_MAGIC, len(body), zlib.crc32(body)) + body


def _take_classes(tick: ThreadTick, columns: list[Any]) -> list[tuple[str, bool, bool]]:
    """Add the columns of a tick's core classes; which ones there are."""
    shapes = []
    for one in tick.classes:
        columns += (one.cpu_ns, one.cycles, one.instructions)
        if one.enabled_ns is not None:
            columns.append(one.enabled_ns)
        if one.running_ns is not None:
            columns.append(one.running_ns)
        shapes.append((one.core_class, one.enabled_ns is not None, one.running_ns is not None))
    return shapes


def _swapped(column: array[int]) -> array[int]:
    other = array("q", column)
    other.byteswap()
    return other


def load_samples(block: Block) -> list[Sample]:
    """The samples of an append that was read from here.

    Raises:
        ColumnError: The bytes are not a record of this version.
    """
    try:
        text_end = _BODY.size + _BODY.unpack_from(block.data)[5]
        rows = json.loads(block.data[_BODY.size : text_end])
        values = array("q", block.data[text_end:])
        if _IS_BIG_ENDIAN:
            values.byteswap()
        samples: list[Sample] = []
        at = 0
        for row in rows:
            if len(row) == 5:
                tick, at = _load_tick(row, values, at)
                samples.append(tick)
            else:
                row[_stage_at] = tuple([(name, float(value)) for name, value in row[_stage_at]])
                row[_fields_at] = tuple([(key, value) for key, value in row[_fields_at]])
                samples.append(TimingRecord(*row))
    except (struct.error, ValueError, TypeError, IndexError) as error:
        raise ColumnError(str(error)) from error
    return samples


def _load_tick(row: list[Any], values: array[int], at: int) -> tuple[ThreadTick, int]:
    """The tick of a row, and where the next one's columns begin."""
    arrival_ns, late_ns, is_keyframe, count, shapes = row

    def cut() -> array[int]:
        nonlocal at
        at += count
        return values[at - count : at]

    index, cpu_ns, run_delay_ns, slices, last_cpu = [cut() for _ in range(5)]
    classes = []
    for name, has_enabled, has_running in shapes:
        class_ns, cycles, instructions = [cut() for _ in range(3)]
        enabled, running = cut() if has_enabled else None, cut() if has_running else None
        classes.append(ClassColumns(name, class_ns, cycles, instructions, enabled, running))
    if at > len(values):
        raise ValueError("fewer columns than listed")
    tick = ThreadTick(arrival_ns, index, cpu_ns, run_delay_ns, slices, last_cpu, tuple(classes), is_keyframe, late_ns)
    return tick, at


class RecentFile:
    """The file as its recorder writes it.

    Args:
        path: The session.
        session: Its ``created_wall_ns``.

    Raises:
        OSError: The file can't be made.
    """

    def __init__(self, path: Path, session: int) -> None:
        self._path = recent_path(path)
        self._session = session
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self.size_bytes = 0
        """Bytes of the records since the file was begun anew."""
        self._is_closed = False

    def put(self, number: int, samples: Samples) -> bool:
        """Write an append; false if it is one for the database, or there is no room for it here."""
        record = dump_record(self._session, number, samples)
        if record is None:
            return False
        at = self.size_bytes
        try:
            if os.pwrite(self._fd, record, at) != len(record):
                return False  # what is there of it has a wrong checksum, and is written over
        except OSError:
            return False
        self.size_bytes = at + len(record)
        return True

    def begin_anew(self) -> None:
        """All of it is in the database."""
        if self.size_bytes > _SHORTEN_FROM:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
        self.size_bytes = 0

    def close(self, *, is_needed: bool) -> None:
        """Let go of the file, and remove it unless something is only there; safe to repeat."""
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(OSError):
            there, here = self._path.stat(), os.fstat(self._fd)
            # A session that was removed meanwhile may have a successor by its name.
            if not is_needed and (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                self._path.unlink()
        os.close(self._fd)


class RecentReader:
    """The file as readers see it, beside its recorder or after it.

    Args:
        path: The session, or a copy of it.
        session: Its ``created_wall_ns``; ``None`` if the session does not tell (damaged): any will do.
    """

    def __init__(self, path: Path, session: int | None) -> None:
        self._path = recent_path(path)
        self._session = session
        self._file: io.FileIO | None = None
        self._read()

    def after(self, seen: int) -> list[Block]:
        """The appends after ``seen`` that stand here, in order."""
        found = {block.id: block for block in _records(self._read(), seen, self._session)}
        return [found[number] for number in sorted(found)]

    def torn_bytes(self) -> int:
        """Bytes of a record that was being written when the recorder ended; 0 if all are whole."""
        data = self._read()
        newest = max((block.id for block in self.after(0)), default=0)
        at = data.find(_MAGIC)
        while at >= 0:
            if at + _NUMBER_AT + 8 <= len(data):
                length, crc = _HEAD.unpack_from(data, at)[1:]
                body = data[at + _HEAD.size : at + _HEAD.size + length]
                (number,) = struct.unpack_from("<Q", data, at + _NUMBER_AT)
                if number > newest and zlib.crc32(body) != crc:
                    return _HEAD.size + len(body)
            at = data.find(_MAGIC, at + 1)
        return 0

    def _read(self) -> bytes:
        """All that is in the file; it stays open, so that a session that is removed can be followed on."""
        try:
            if self._file is None:
                self._file = io.FileIO(self._path)
            fd = self._file.fileno()
            return os.pread(fd, os.fstat(fd).st_size, 0)
        except OSError:
            return b""

    def close(self) -> None:
        """Let go of the file; safe to repeat."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _records(data: bytes, seen: int, session: int | None) -> Iterator[Block]:
    """Every sound record of an append after ``seen``, wherever it stands."""
    at = 0
    while 0 <= at <= len(data) - _HEAD.size - _BODY.size:
        magic, length, crc = _HEAD.unpack_from(data, at)
        start = at + _HEAD.size
        end = start + length
        if magic == _MAGIC and _BODY.size <= length <= _LONGEST and end <= len(data):
            owner, number, start_ns, end_ns, samples, text_size = _BODY.unpack_from(data, start)
            is_new = number > seen
            if not is_new and data.startswith(_MAGIC, end):
                at = end
                continue
            body = data[start:end] if is_new else b""
            if is_new and zlib.crc32(body) == crc and session in (None, owner) and _BODY.size + text_size <= length:
                yield make_block(number, number, start_ns, end_ns, samples, RECENT, NO_STATE, body)
                at = end
                continue
        at = data.find(_MAGIC, at + 1)
