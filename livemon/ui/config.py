"""The config file: read with line-numbered errors, written from the screens."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from livemon.model.errors import UsageError
from livemon.ui.actions import ACTIONS, BY_ID, clashes
from livemon.ui.settings import ABOUT, CHOICES, KEPT, Settings

_NUMBERS = {"fps": (0.5, 20.0), "window_s": (5.0, 30 * 86400.0)}


def config_path(settings: Settings | None = None) -> Path:
    """Where the settings are kept."""
    if settings is not None and settings.config_path is not None:
        return settings.config_path
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "livemon" / "config.toml"


def load_settings(path: Path | None = None) -> Settings:
    """Settings from the config file; the defaults if there is none.

    Raises:
        UsageError: the file can't be read or says something wrong; the message names the line.
    """
    path = path or config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return replace(Settings(), config_path=path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the config file {path} can't be read: {reason}") from error
    return replace(parse_settings(text, str(path)), config_path=path)


def parse_settings(text: str, name: str = "config.toml") -> Settings:
    """Settings from the text of a config file.

    Raises:
        UsageError: with the line of the mistake.
    """
    import tomllib  # most people have no such file, and the first paint waits for this

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(error))
        line = int(found[1]) if found and found[1] else max(text.count("\n"), 1)
        reason = str(error)[: found.start()].strip() if found else str(error)
        raise UsageError(f"{name}, line {line}: {reason}") from error

    def wrong(table: str, key: str | None, reason: str) -> UsageError:
        return UsageError(f"{name}, line {line_of(text, table, key)}: {reason}")

    for table, content in tables.items():
        if table not in ("ui", "keys") or not isinstance(content, dict):
            raise wrong(table, None, f"no table [{table}]: there are [ui] and [keys]")
    values: dict[str, Any] = {}
    for key, value in tables.get("ui", {}).items():
        problem = check_value(key, value)
        if problem:
            raise wrong("ui", key, problem)
        values[key] = tuple(value) if isinstance(value, list) else float(value) if key in _NUMBERS else value
    keys: dict[str, tuple[str, ...]] = {}
    for action, value in tables.get("keys", {}).items():
        if action not in BY_ID:
            raise wrong("keys", action, f"no action {action!r}: there are {', '.join(a.id for a in ACTIONS)}")
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(key, str) and key for key in listed):
            raise wrong("keys", action, f'{action} needs a key or a list of keys, such as ["x", "ctrl+x"]')
        keys[action] = tuple(listed)
        for clash in clashes(keys):
            raise wrong("keys", action, clash)
    return replace(Settings(), **values, keys=tuple(keys.items()))


def check_value(key: str, value: object) -> str:
    """What is wrong with a value of ``[ui]``; empty if nothing."""
    if key not in KEPT:
        return f"no setting {key!r}: there are {', '.join(KEPT)}"
    if key == "hidden_columns":
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return "" if is_list else 'hidden_columns needs a list of names, such as ["ipc", "wait_percent"]'
    if key in _NUMBERS:
        low, high = _NUMBERS[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            return f"{key} needs a number from {low:g} to {high:g}, not {value!r}"
        return ""
    choices = CHOICES[key]
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        return f"{key} needs one of {', '.join(_toml(choice) for choice in choices)}, not {value!r}"
    return ""


def line_of(text: str, table: str, key: str | None) -> int:
    """The 1-based line of a key of a table (of the table's own line without a key); 1 if it can't be found."""
    current = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        heading = re.match(r"\[+\s*([^\]]+?)\s*\]", line)
        if heading:
            current = heading[1]
            if key is None and current == table:
                return number
            continue
        name = line.split("=", 1)[0].strip().strip("\"'")
        if (key is not None and current == table and name == key) or (key is None and not current and name == table):
            return number
        if key is not None and not current and name == f"{table}.{key}":
            return number
    return 1


def dump_settings(settings: Settings) -> str:
    """The text of a config file that gives these settings."""
    lines = ["# livemon's screens; written from the settings screen (key W), yours to edit.", "", "[ui]"]
    lines += [f"{key} = {_toml(getattr(settings, key))}  # {ABOUT[key]}" for key in KEPT]
    lines += ["", "[keys]"]
    changed = dict(settings.keys)
    for action in ACTIONS:
        mark = "" if action.id in changed else "# "
        lines.append(f"{mark}{action.id} = {_toml(changed.get(action.id, action.keys))}  # {action.text}")
    return "\n".join(lines) + "\n"


def save_settings(settings: Settings) -> Path:
    """Write the config file, whole or not at all.

    Raises:
        UsageError: it can't be written.
    """
    path = config_path(settings)
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(dump_settings(settings), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"the config file {path} can't be written: {error.strerror}") from error
    return path


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
    return f"{value:g}" if isinstance(value, float) else str(value)
