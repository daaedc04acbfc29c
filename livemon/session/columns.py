"""Columns to bytes and back: integers, texts and decimals, without numpy (the recorder must stay small).

An integer column is written in the narrowest signed width that holds it, its bytes transposed into
planes (all low bytes, then all second bytes, …): the high planes are nearly constant, which is what
the compressor needs. A column of equal values is one value. Decimals are kept as scaled integers
when that gives back exactly the same floats, else as IEEE doubles: what is read is always what was
written.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub
from typing import Any

_EMPTY, _SAME, _JSON = 0, 1, 2
_CODES = {"b": 3, "h": 4, "i": 5, "q": 6}
_TYPES = {code: letter for letter, code in _CODES.items()}
_SEPARATOR = "\x1f"
_JOINED, _TEXT_JSON, _TEXT_SAME = 0, 1, 2
_SCALES = (1, 100, 1000, 1_000_000)
_DOUBLES = len(_SCALES)
_PROBE = 8
"""Values of a long column that rule out most scales."""
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_IS_BIG_ENDIAN = sys.byteorder == "big"


class ColumnError(ValueError):
    """The bytes are not what this version writes."""


class Cursor:
    """A place in the bytes of a block."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        """The next byte."""
        at = self.at
        self.at = at + 1
        if at >= len(self.data):
            raise ColumnError("block ends early")
        return self.data[at]

    def varint(self) -> int:
        """The next unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        start = self.at
        self.at = start + count
        if self.at > len(self.data):
            raise ColumnError("block ends early")
        return self.data[start : self.at]


def put_varint(out: bytearray, value: int) -> None:
    """Append an unsigned LEB128 number."""
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def put_bytes(out: bytearray, data: bytes) -> None:
    """Append bytes with their length."""
    put_varint(out, len(data))
    out += data


def get_bytes(cursor: Cursor) -> bytes:
    """Read what ``put_bytes`` wrote."""
    return cursor.take(cursor.varint())


def put_json(out: bytearray, value: object) -> None:
    """Append a JSON value; every ``str`` comes back as it was, lone surrogates of odd file names too."""
    put_bytes(out, _to_json(value).encode("utf-8", "surrogatepass"))


def get_json(cursor: Cursor) -> Any:
    """Read what ``put_json`` wrote."""
    return json.loads(get_bytes(cursor).decode("utf-8", "surrogatepass"))


def put_ints(out: bytearray, values: Sequence[int]) -> None:
    """Append a column of integers."""
    if not values:
        out.append(_EMPTY)
        return
    low, high = min(values), max(values)
    count = len(values)
    if low == high:
        number = low << 1 if low >= 0 else (~low << 1) | 1
        if count < 0x80 and number < 0x80:
            out += bytes((_SAME, count, number))
            return
        out.append(_SAME)
        put_varint(out, count)
        put_varint(out, number)
        return
    if low >= -0x80 and high < 0x80:
        letter = "b"
    elif low >= -0x8000 and high < 0x8000:
        letter = "h"
    elif low >= -(1 << 31) and high < 1 << 31:
        letter = "i"
    elif low >= -(1 << 63) and high < 1 << 63:
        letter = "q"
    else:
        out.append(_JSON)
        put_json(out, list(values))
        return
    narrow = array(letter, values)
    if _IS_BIG_ENDIAN:
        narrow.byteswap()
    raw = narrow.tobytes()
    width = narrow.itemsize
    out.append(_CODES[letter])
    put_varint(out, count)
    if width == 1:
        out += raw
        return
    for plane in range(width):
        out += raw[plane::width]


def get_ints(cursor: Cursor) -> Sequence[int]:
    """Read a column of integers, as an array of its own width (a list beyond 64 bits)."""
    code = cursor.byte()
    if code == _EMPTY:
        return array("q")
    if code == _SAME:
        count, value = cursor.varint(), cursor.varint()
        number = ~(value >> 1) if value & 1 else value >> 1
        return array("q", (number,)) * count if -(1 << 63) <= number < 1 << 63 else [number] * count
    if code == _JSON:
        listed: list[int] = get_json(cursor)
        return listed
    letter = _TYPES.get(code)
    if letter is None:
        raise ColumnError(f"unknown integer column {code}")
    count = cursor.varint()
    narrow = array(letter)
    width = narrow.itemsize
    raw = bytearray(count * width)
    for plane in range(width):
        raw[plane::width] = cursor.take(count)
    narrow.frombytes(raw)
    if _IS_BIG_ENDIAN:
        narrow.byteswap()
    return narrow


def put_steps(out: bytearray, values: Sequence[int]) -> None:
    """Append a column whose neighbours are close (times, offsets, line numbers): first value, then steps."""
    put_ints(out, values[:1])
    put_ints(out, list(map(sub, values[1:], values)) if len(values) > 1 else ())


def get_steps(cursor: Cursor) -> list[int]:
    """Read what ``put_steps`` wrote."""
    first = get_ints(cursor)
    steps = get_ints(cursor)
    return list(accumulate(steps, initial=first[0])) if first else []


def put_texts(out: bytearray, values: Sequence[str]) -> None:
    """Append a column of texts."""
    put_varint(out, len(values))
    if not values:
        return
    first = values[0]
    if len(values) > 1 and values.count(first) == len(values):
        out.append(_TEXT_SAME)
        put_json(out, first)
        return
    joined = _SEPARATOR.join(values)
    if joined.count(_SEPARATOR) == len(values) - 1:
        out.append(_JOINED)
        put_bytes(out, joined.encode("utf-8", "surrogatepass"))
        return
    out.append(_TEXT_JSON)
    put_json(out, list(values))


def get_texts(cursor: Cursor) -> list[str]:
    """Read a column of texts."""
    count = cursor.varint()
    if not count:
        return []
    mode = cursor.byte()
    if mode == _JOINED:
        return get_bytes(cursor).decode("utf-8", "surrogatepass").split(_SEPARATOR)
    if mode == _TEXT_SAME:
        return [get_json(cursor)] * count
    if mode == _TEXT_JSON:
        texts: list[str] = get_json(cursor)
        return texts
    raise ColumnError(f"unknown text column {mode}")


def put_floats(out: bytearray, values: Sequence[float]) -> None:
    """Append a column of floats, as scaled integers where that is exact."""
    first = values[0] if values else 0.0
    is_long = len(values) > _PROBE
    for code, scale in enumerate(_SCALES):
        try:
            if round(first * scale) / scale != first:
                continue
            if is_long and any(round(value * scale) / scale != value for value in values[:_PROBE]):
                continue
            scaled = [round(value * scale) for value in values]
        except (OverflowError, ValueError):
            break
        if [number / scale for number in scaled] == values and (not scaled or max(scaled) < 1 << 53):
            out.append(code)
            put_ints(out, scaled)
            return
    doubles = array("d", values)
    if _IS_BIG_ENDIAN:
        doubles.byteswap()
    raw = doubles.tobytes()
    out.append(_DOUBLES)
    put_varint(out, len(values))
    for plane in range(8):
        out += raw[plane::8]


def get_floats(cursor: Cursor) -> list[float]:
    """Read a column of floats."""
    code = cursor.byte()
    if code < _DOUBLES:
        scale = _SCALES[code]
        return [number / scale for number in get_ints(cursor)]
    if code != _DOUBLES:
        raise ColumnError(f"unknown float column {code}")
    count = cursor.varint()
    raw = bytearray(count * 8)
    for plane in range(8):
        raw[plane::8] = cursor.take(count)
    doubles = array("d")
    doubles.frombytes(raw)
    if _IS_BIG_ENDIAN:
        doubles.byteswap()
    return doubles.tolist()
