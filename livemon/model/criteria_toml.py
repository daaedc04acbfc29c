"""Criteria as TOML: reading with line-numbered errors, writing out with comments, overriding one key.

Everything is derived from the dataclass fields of ``livemon.model.criteria``: a section is a
dataclass, a key is a field, its metadata has unit, meaning and range.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import math
import re
import tomllib
import types
import typing
from typing import Any

from livemon.model.criteria import Criteria
from livemon.model.errors import UsageError

_HEADER = re.compile(r"^\s*\[\s*([A-Za-z0-9_.\-\s\"']+?)\s*\]\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"^\s*([A-Za-z0-9_.\-\"']+)\s*=")
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")


class _Lines:
    """Where each key stands in the text, for messages."""

    def __init__(self, text: str) -> None:
        self._where: dict[str, int] = {}
        section = ""
        for number, line in enumerate(text.splitlines(), 1):
            if header := _HEADER.match(line):
                section = re.sub(r"[\s\"']", "", header[1])
                self._where.setdefault(section, number)
            elif assignment := _ASSIGNMENT.match(line):
                name = re.sub(r"[\"']", "", assignment[1])
                path = f"{section}.{name}" if section else name
                while path not in self._where:
                    self._where[path] = number
                    path = path.rpartition(".")[0]
                    if not path:
                        break

    def of(self, path: str) -> int | None:
        """Line of a key, else of the table it stands in."""
        while path:
            if path in self._where:
                return self._where[path]
            path = path.rpartition(".")[0]
        return None


def _error(name: str, line: int | None, message: str) -> UsageError:
    return UsageError(f"{name}:{line}: {message}" if line is not None else f"{name}: {message}")


def _is_section(default: object) -> bool:
    return dataclasses.is_dataclass(default)


def _hints(cls: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _wanted(hint: Any, unit: str) -> str:
    """What a key takes, in words."""
    if typing.get_origin(hint) is tuple:
        arguments = typing.get_args(hint)
        return "a list of strings" if arguments[0] is str else f"a list of {len(arguments)} whole numbers"
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if options == (str,):
        return "a string"
    number = "a whole number" if int in options and float not in options else "a number"
    return f"{number}{f' ({unit})' if unit else ''}{', or false' if len(options) > 1 else ''}"


def _number(value: Any, is_whole: bool) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if is_whole:
        return value if isinstance(value, int) else None
    return float(value)


def _value(hint: Any, value: Any) -> tuple[bool, Any]:
    """Whether a TOML value fits a field's type, and the field's value."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if not isinstance(value, list):
            return False, None
        if options[0] is str:
            return all(isinstance(item, str) and item for item in value), tuple(value)
        numbers = [_number(item, is_whole=True) for item in value]
        return len(value) == len(options) and None not in numbers, tuple(numbers)
    kinds = options if isinstance(hint, types.UnionType) else (hint,)
    if value is False and types.NoneType in kinds:
        return True, False if bool in kinds else None
    if str in kinds:
        return isinstance(value, str), value
    number = _number(value, is_whole=float not in kinds)
    return number is not None, number


def _range_problem(numbers: tuple[Any, ...], low: float | None, high: float | None) -> str:
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if low is not None and number < low:
            return f"must be at least {low:g}"
        if high is not None and number > high:
            return f"must be at most {high:g}"
    return ""


def _read_section(cls: type[Any], table: dict[str, Any], path: str, name: str, lines: _Lines) -> Any:
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = _hints(cls)
    values: dict[str, Any] = {}
    for key, value in table.items():
        here = f"{path}.{key}" if path else key
        line = lines.of(here)
        if key not in fields:
            close = difflib.get_close_matches(key, fields, 1)
            hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(fields)}"
            raise _error(name, line, f"unknown key {here}; {hint}")
        if _is_section_type(hints[key]):
            if not isinstance(value, dict):
                raise _error(name, line, f"{here} is a table: write [{here}]")
            values[key] = _read_section(hints[key], value, here, name, lines)
            continue
        metadata = fields[key].metadata
        fits, taken = _value(hints[key], value)
        if not fits:
            shown = "true" if value is True else "false" if value is False else repr(value)
            raise _error(name, line, f"{here} must be {_wanted(hints[key], metadata['unit'])}, not {shown}")
        problem = _range_problem(taken if isinstance(taken, tuple) else (taken,), metadata["low"], metadata["high"])
        if problem:
            raise _error(name, line, f"{here} {problem}, not {value!r}")
        values[key] = taken
    return cls(**values)


def _is_section_type(hint: Any) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _check(criteria: Criteria, name: str, lines: _Lines) -> Criteria:
    """What one key alone can't tell."""
    over, runs = criteria.finalize.open_of
    if over > runs:
        raise _error(name, lines.of("finalize.open_of"), f"finalize.open_of: {over} of the last {runs} can't be")
    seen: dict[str, str] = {}
    for field in dataclasses.fields(criteria.roles):
        for stage in getattr(criteria.roles, field.name):
            if seen.setdefault(stage, field.name) != field.name:
                message = f"stage {stage!r} is both {seen[stage]} and {field.name}"
                raise _error(name, lines.of(f"roles.{field.name}"), message)
    return criteria


def read(text: str, *, name: str = "criteria") -> Criteria:
    """Read criteria; see ``livemon.model.criteria.load_criteria``."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = _AT_LINE.search(message)
        line = int(at[1]) if at and at[1] else len(text.splitlines()) if at else None
        raise _error(name, line, f"not TOML: {_AT_LINE.sub('', message)}") from None
    lines = _Lines(text)
    criteria: Criteria = _read_section(Criteria, table, "", name, lines)
    return _check(criteria, name, lines)


def _toml(value: Any) -> str:
    if value is None or value is False:
        return "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)


def _sections(value: Any, path: str) -> list[str]:
    """The blocks of one section and those inside it."""
    lines = [f"[{path}]".ljust(48) + f"# {(type(value).__doc__ or '').splitlines()[0]}"]
    nested: list[str] = []
    hints = _hints(type(value))
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if _is_section(item):
            nested += _sections(item, f"{path}.{field.name}")
            continue
        unit = field.metadata["unit"]
        comment = f"# {f'[{unit}] ' if unit else ''}{field.metadata['text']}"
        # A key for which leaving it out differs from false is shown commented out.
        left_out = item is None and bool in typing.get_args(hints[field.name])
        assignment = f"# {field.name} =" if left_out else f"{field.name} = {_toml(item)}"
        lines.append(assignment.ljust(48) + comment)
    return ["\n".join(lines), *nested]


def write(criteria: Criteria | None = None) -> str:
    """The whole file as TOML, each key with unit and meaning; reading it back gives equal criteria."""
    criteria = criteria or Criteria()
    head = "# Criteria of livemon: every threshold with its unit. What is left out keeps its default.\n"
    blocks = [
        block
        for field in dataclasses.fields(criteria)
        for block in _sections(getattr(criteria, field.name), field.name)
    ]
    return head + "\n" + "\n\n".join(blocks) + "\n"


def sha256(text: str) -> str:
    """Sha256 of a criteria file's text; empty text stands for the defaults as ``write`` gives them."""
    return hashlib.sha256((text or write()).encode()).hexdigest()


def override(criteria: Criteria, key: str, value: str) -> Criteria:
    """The criteria with one key (``finalize.budget_ms``) set to a value in TOML's own spelling.

    Raises:
        UsageError: unknown key, or a value that does not fit.
    """
    parts = key.split(".")
    text = f"{key} = {value}"
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        table = tomllib.loads(f"{key} = {_toml(value)}") if re.fullmatch(r"[\w.\-]+", key) else {}
    if not table:
        raise UsageError(f"{key!r} is not a criteria key", "'livemon criteria' prints them all")
    given = _read_section(Criteria, table, "", "criteria", _Lines(""))
    return _check(_merged(criteria, given, parts), "criteria", _Lines(""))


def _merged(base: Any, given: Any, parts: list[str]) -> Any:
    head, *rest = parts
    value = getattr(given, head)
    return dataclasses.replace(base, **{head: _merged(getattr(base, head), value, rest) if rest else value})
