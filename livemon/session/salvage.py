"""Reads the rows of ``block`` straight out of a damaged file, page by page, without SQLite.

SQLite gives up a whole file for one bad byte in its header, and everything behind a bad page of the
tree. Every row carries a checksum over all of its columns, so rows can be taken from wherever they
stand, also from pages that nothing points to any more: what the checksum confirms was recorded. Of
rows that overlap, the one merged last counts.

Page and record layout: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect
from collections.abc import Callable, Iterator
from pathlib import Path

from livemon.session.format import Block

_WAL_HEADER, _FRAME_HEADER = 32, 24
_LEAF = 0x0D
_COLUMNS = 9
_DEFAULT_PAGE = 4096
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
Pages = Callable[[int], bytes]


def salvage(path: Path) -> list[Block]:
    """Every intact row of ``block`` that the file or its log holds, in order, without overlaps."""
    try:
        wal = path.with_name(path.name + "-wal")
        log = wal.read_bytes() if wal.exists() else b""
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _salvage(data, log)
    except (OSError, ValueError):  # ValueError: an empty file can't be mapped
        return []


def _salvage(data: mmap.mmap, log: bytes) -> list[Block]:
    size = _page_size(data)
    found: dict[tuple[int, int], Block] = {}

    def take(number: int, page: bytes, pages: Pages) -> None:
        for block in _rows(page, pages, size, 100 if number == 1 else 0):
            known = found.get((block.id, block.last_id))
            if known is None or known.level < block.level:
                found[block.id, block.last_id] = block

    def in_file(number: int) -> bytes:
        return data[(number - 1) * size : number * size]

    for number in range(1, len(data) // size + 1):
        take(number, in_file(number), in_file)
    for newer, written in _commits(log, size):

        def pages(number: int, newer: dict[int, bytes] = newer) -> bytes:
            return newer.get(number) or in_file(number)

        for number, page in written:
            take(number, page, pages)
    return _without_overlaps(list(found.values()))


def _page_size(data: mmap.mmap) -> int:
    size = int.from_bytes(data[16:18], "big")
    return size if size >= 512 and not size & (size - 1) else _DEFAULT_PAGE


def _commits(log: bytes, size: int) -> Iterator[tuple[dict[int, bytes], list[tuple[int, bytes]]]]:
    """Each commit in the log: the newest content of each page after it, and the pages that it wrote.

    Every version of a page counts: a later one may be torn, and then the rows stand in the one before. The
    log is written again from its beginning once it has been copied into the database; frames of the round
    before stand behind those of the present one and are told apart by their salt.
    """
    newer: dict[int, bytes] = {}
    written: list[tuple[int, bytes]] = []
    salt = b""
    at = _WAL_HEADER
    while at + _FRAME_HEADER + size <= len(log):
        number = int.from_bytes(log[at : at + 4], "big")
        if 0 < number < 1 << 24:
            if log[at + 8 : at + 16] != salt:
                if written:
                    yield newer, written
                newer, written, salt = {}, [], log[at + 8 : at + 16]
            newer[number] = log[at + _FRAME_HEADER : at + _FRAME_HEADER + size]
            written.append((number, newer[number]))
            if log[at + 4 : at + 8] != b"\0\0\0\0":
                yield newer, written
                written = []
        at += _FRAME_HEADER + size
    if written:
        yield newer, written


def _rows(page: bytes, pages: Pages, size: int, start: int) -> Iterator[Block]:
    """The block rows whose cells stand on a page."""
    if len(page) < size or page[start] != _LEAF:
        return
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    for number in range(min(count, size // 4)):
        pointer = start + 8 + 2 * number
        at = int.from_bytes(page[pointer : pointer + 2], "big")
        try:
            block = _block_of(page, at, pages, size)
        except (IndexError, struct.error, ValueError):
            continue
        if block is not None and block.is_intact():
            yield block


def _block_of(page: bytes, at: int, pages: Pages, size: int) -> Block | None:
    length, at = _varint(page, at)
    rowid, at = _varint(page, at)
    if length > 1 << 28:
        return None
    payload = _payload(page, at, length, pages, size)
    head, cursor = _varint(payload, 0)
    types = []
    while cursor < head:
        kind, cursor = _varint(payload, cursor)
        types.append(kind)
    if len(types) != _COLUMNS or types[0] != 0 or types[-1] < 12 or types[-1] % 2:
        return None
    values = []
    for kind in types[1:-1]:
        if kind in (8, 9):
            values.append(kind - 8)
            continue
        width = _INTEGER_BYTES.get(kind, 0)
        if not width:
            return None
        values.append(int.from_bytes(payload[cursor : cursor + width], "big", signed=True))
        cursor += width
    last_id, start_ns, end_ns, samples, level, has_state, crc = values
    data = payload[cursor : cursor + (types[-1] - 12) // 2]
    return Block(rowid, last_id, start_ns, end_ns, samples, level, has_state, crc, data)


def _payload(page: bytes, at: int, length: int, pages: Pages, size: int) -> bytes:
    """A cell's payload, with what overflowed into other pages."""
    most = size - 35
    least = (size - 12) * 32 // 255 - 23
    local = length
    if length > most:
        local = least + (length - least) % (size - 4)
        if local > most:
            local = least
    payload = page[at : at + local]
    if local == length:
        return payload
    parts, missing = [payload], length - local
    following = int.from_bytes(page[at + local : at + local + 4], "big")
    while missing > 0 and following:
        overflow = pages(following)
        if len(overflow) < size:
            break
        parts.append(overflow[4 : 4 + missing])
        missing -= size - 4
        following = int.from_bytes(overflow[:4], "big")
    return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for number in range(9):
        byte = data[at + number]
        if number == 8:
            return _signed(value << 8 | byte), at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return _signed(value), at + number + 1
    raise ValueError("unreachable")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _without_overlaps(blocks: list[Block]) -> list[Block]:
    """In order of ids; where a merged block covers a row, the merged one counts."""
    ids: list[int] = []
    kept: list[Block] = []
    for block in sorted(blocks, key=lambda b: (-b.level, b.id - b.last_id, b.id)):
        at = bisect(ids, block.id)
        if (at and kept[at - 1].last_id >= block.id) or (at < len(ids) and ids[at] <= block.last_id):
            continue
        ids.insert(at, block.id)
        kept.insert(at, block)
    return kept


def log_tail(path: Path) -> int:
    """Bytes at the end of the log that hold no whole transaction: torn by a crash; 0 if none are."""
    try:
        log = path.with_name(path.name + "-wal").read_bytes()
    except OSError:
        return 0
    if len(log) < _WAL_HEADER:
        return len(log)
    magic, _, size = struct.unpack(">III", log[:12])
    salt = log[16:24]
    order = ">" if magic & 1 else "<"
    state = _checksum(log[:24], (0, 0), order)
    if size < 512 or struct.pack(">II", *state) != log[24:32]:
        return len(log)
    at = good = _WAL_HEADER
    while at + _FRAME_HEADER <= len(log) and log[at + 8 : at + 16] == salt:
        frame = log[at : at + _FRAME_HEADER + size]
        state = _checksum(frame[:8] + frame[_FRAME_HEADER:], state, order) if len(frame) % 8 == 0 else (0, 0)
        if len(frame) < _FRAME_HEADER + size or struct.pack(">II", *state) != frame[16:24]:
            return len(log) - good
        at += len(frame)
        if frame[4:8] != b"\0\0\0\0":
            good = at
    # Frames of an older round of the log follow: they are not torn, just used up. A cut inside the
    # header of a frame is torn too.
    return at - good if at + _FRAME_HEADER <= len(log) else len(log) - good


def _checksum(data: bytes, state: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = state
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
