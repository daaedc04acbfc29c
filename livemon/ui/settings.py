"""Settings of the screens: what a person may choose, and what the caller hands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from livemon.model.snapshot import SessionEntry, ViewSource

Progress = Callable[[float | None, str], None]
"""Told by long work: (fraction done 0..1 or ``None``, what it is doing). Raises ``Cancelled`` if the person gave up."""
Loader: TypeAlias = "Callable[[Progress], ViewSource]"
"""Opens a session off the UI loop, telling its progress."""


class Cancelled(Exception):  # noqa: N818 - it is not an error
    """The person cancelled the work; raised out of ``Progress``."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the screens can be told."""

    theme: Literal["auto", "dark", "light", "high-contrast", "ansi", "mono"] = "auto"
    ascii: bool = False
    spark: Literal["block", "braille"] = "block"
    fps: float = 4.0
    """Redraws a second at most, 0.5..20."""
    mouse: bool = True
    window_s: float = 60.0
    sort: str = "cpu_percent"
    group: Literal["none", "process", "name", "role"] = "none"
    stage_scale: Literal["relative", "log", "linear"] = "relative"
    hidden_columns: tuple[str, ...] = ()
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Changed keys: (action, its keys)."""

    title: str = ""
    """Shown on the loading screen; not kept in the config, like all below."""
    speed: float | None = None
    """Play a finished session from its start at this speed; ``None`` opens it at its end."""
    sessions: Callable[[], Sequence[SessionEntry]] | None = None
    """Entries of the sessions list."""
    open_session: Callable[[str, Progress], ViewSource] | None = None
    """Opens an entry of the sessions list."""
    config_path: Path | None = None
    """Where the settings are written; ``None`` is ``$XDG_CONFIG_HOME/livemon/config.toml``."""
    state_dir: Path | None = None
    """For crash files and copies; ``None`` is ``$XDG_STATE_HOME/livemon``."""


KEPT: tuple[str, ...] = (
    "theme", "ascii", "spark", "fps", "mouse", "window_s", "sort", "group", "stage_scale", "hidden_columns",
)  # fmt: skip
"""The settings of the config file's ``[ui]`` table."""

CHOICES: dict[str, tuple[object, ...]] = {
    "theme": ("auto", "dark", "light", "high-contrast", "ansi", "mono"),
    "ascii": (False, True),
    "spark": ("block", "braille"),
    "fps": (0.5, 1.0, 2.0, 4.0, 8.0),
    "mouse": (True, False),
    "window_s": (5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0),
    "sort": ("cpu_percent", "wait_percent", "cpu_ms_per_unit", "ipc", "cycles_per_ns", "efficiency_share",
             "migrations_per_s", "name", "process", "class"),
    "group": ("none", "process", "name", "role"),
    "stage_scale": ("relative", "log", "linear"),
}  # fmt: skip
"""What the settings screen offers."""

ABOUT: dict[str, str] = {
    "theme": "auto takes NO_COLOR and the terminal's colours into account",
    "ascii": "draw with ASCII signs only",
    "spark": "block has 8 levels, braille twice the time resolution and 4 levels",
    "fps": "redraws a second at most (slow ssh: 1 or 2)",
    "mouse": "click, wheel; off lets the terminal select text",
    "window_s": "window at the start, seconds",
    "sort": "thread order",
    "group": "thread groups",
    "stage_scale": "stage sparklines: against usual, log ms, linear ms",
    "hidden_columns": "columns that are not shown (key c)",
}
