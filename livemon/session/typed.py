"""JSON values onto the fields of a dataclass: each is what its annotation says, or refused by name."""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

LIMIT = 1 << 63
"""Whole numbers have 64 bits, as the columns of a session do."""

_Read = Callable[[Any], Any]


def whole(value: object) -> int:
    """A whole number that a column can hold.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not -LIMIT <= value < LIMIT:
        raise ValueError(f"{value!r:.60} is not a whole number")
    return value


def build(kind: type, value: object) -> Any:
    """An instance of a dataclass from a JSON object; keys it does not know are passed over.

    Raises:
        ValueError: A field is missing without a default, or is not what it is declared to be.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.60} is not an object")
    known = {}
    for name, read, is_needed in _readers(kind):
        if name not in value:
            if is_needed:
                raise ValueError(f"no {name!r}")
            continue
        try:
            known[name] = read(value[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return kind(**known)


@cache
def _readers(kind: type) -> tuple[tuple[str, _Read, bool], ...]:
    """Name, reader and whether it must be there, of each field."""
    hints = get_type_hints(kind)
    return tuple(
        (f.name, _reader(hints[f.name]), f.default is MISSING and f.default_factory is MISSING) for f in fields(kind)
    )


def _reader(hint: Any) -> _Read:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return lambda value: _one_of(value, arguments)
    if origin in (Union, types.UnionType):
        (inner,) = (_reader(argument) for argument in arguments if argument is not type(None))
        return lambda value: None if value is None else inner(value)
    if origin is tuple and arguments[-1] is Ellipsis:
        entry = _reader(arguments[0])
        return lambda value: tuple([entry(one) for one in _list(value)])
    if origin is tuple:
        return _pair_reader(tuple(_reader(argument) for argument in arguments))
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda value: build(hint, value)
    return _PLAIN[hint]


def _pair_reader(readers: tuple[_Read, ...]) -> _Read:
    def read(value: object) -> tuple[Any, ...]:
        entries = _list(value)
        if len(entries) != len(readers):
            raise ValueError(f"{value!r:.60} has not {len(readers)} parts")
        return tuple([one(entry) for one, entry in zip(readers, entries, strict=True)])

    return read


def _list(value: object) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r:.60} is not a list")
    return value


def _one_of(value: object, allowed: tuple[object, ...]) -> object:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{value!r:.60} is none of {', '.join(map(str, allowed))}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is not text")
    # Half a surrogate pair can be written in JSON but not in UTF-8.
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.60} is neither true nor false")
    return value


def _finite(value: object) -> float:
    if not isinstance(value, bool) and isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise ValueError(f"{value!r:.60} is not a finite number")


_PLAIN: dict[Any, _Read] = {int: whole, str: _text, bool: _truth, float: _finite}
