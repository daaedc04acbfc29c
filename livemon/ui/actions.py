"""Every key in one table: help, palette, key hints and the config file are made from it."""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """Something a key does."""

    id: str
    keys: tuple[str, ...]
    """A character, or a name such as ``space``, ``enter``, ``shift+left``, ``ctrl+p``."""
    text: str
    group: str
    hint: str = ""
    """Word for the hint line at the bottom; empty keeps it out."""
    screens: tuple[str, ...] = ()
    """Screens it works on; empty means all."""


_OVERVIEW = ("overview",)
ACTIONS: tuple[Action, ...] = (
    Action("help", ("?", "f1"), "this help", "Everywhere", "help"),
    Action("quit", ("q", "ctrl+c", "f10"), "quit; recording goes on only if a recorder of its own does it", "Everywhere", "quit"),
    Action("back", ("escape", "backspace"), "back to the screen before; drops a filter", "Everywhere"),
    Action("palette", (":", "ctrl+p"), "every command by name; also takes a time to jump to", "Everywhere"),
    Action("explain", ("i",), "explain the selected row, stage or thread: each figure, its quality, why it is unknown", "Everywhere", "why –?"),
    Action("suspend", ("ctrl+z",), "put livemon into the background; fg brings it back", "Everywhere"),
    Action("redraw", ("ctrl+l",), "draw the screen again", "Everywhere"),
    Action("pause", ("space",), "pause / follow the newest; in a replay: play / pause. Recording goes on", "Time", "pause"),
    Action("follow", ("f",), "follow the newest moment again", "Time"),
    Action("tick_back", ("left", "h"), "time cursor one tick back", "Time", "time"),
    Action("tick_on", ("right", "l"), "time cursor one tick on", "Time"),
    Action("second_back", ("shift+left", "H"), "time cursor one second back", "Time"),
    Action("second_on", ("shift+right", "L"), "time cursor one second on", "Time"),
    Action("minute_back", ("ctrl+left", "ctrl+h"), "time cursor one minute back", "Time"),
    Action("minute_on", ("ctrl+right",), "time cursor one minute on", "Time"),
    Action("session_start", ("ctrl+home", "0"), "to the session's first moment", "Time"),
    Action("session_end", ("ctrl+end", "$"), "to the session's newest moment", "Time"),
    Action("jump", ("b",), "jump to a time: 12:04:31, +90 (s from the start), -30s, T2, start, end", "Time"),
    Action("next_episode", ("e",), "next finding (where the screen first tells of it) or mark", "Time", "episodes"),
    Action("previous_episode", ("E",), "previous finding or mark", "Time"),
    Action("next_mark", ("M",), "next mark (after the last: the first)", "Time"),
    Action("zoom_in", ("+",), "narrower window, down to 5 s", "Time", "zoom"),
    Action("zoom_out", ("-",), "wider window, up to the whole session", "Time"),
    Action("zoom_reset", ("=",), "window of 60 s", "Time"),
    Action("slower", ("<",), "replay at half the speed, down to 0.1×", "Time"),
    Action("faster", (">",), "replay at twice the speed, up to 100×", "Time"),
    Action("mark", ("m",), "put a mark with a text at the shown moment into the session", "Time", "mark"),
    Action("down", ("down", "j"), "row down", "Rows"),
    Action("up", ("up", "k"), "row up", "Rows"),
    Action("page_down", ("pagedown", "ctrl+d"), "page down", "Rows"),
    Action("page_up", ("pageup", "ctrl+u"), "page up", "Rows"),
    Action("first", ("home",), "first row", "Rows"),
    Action("last", ("end", "G"), "last row", "Rows"),
    Action("next_panel", ("tab",), "next panel", "Rows", "panel"),
    Action("previous_panel", ("shift+tab",), "previous panel", "Rows"),
    Action("open", ("enter",), "open the selected row: finding, stage, thread, line, session", "Rows", "open"),
    Action("filter", ("/", "f4"), "filter rows: class:E cpu>50 stage:validate -name:gc a|b, or plain text", "Rows", "filter"),
    Action("next_match", ("n",), "next match of the last filter; in a log without one: line with timing", "Rows", "", ("overview", "log")),
    Action("previous_match", ("N",), "previous match; in a log without a filter: line with timing", "Rows", "", ("overview", "log")),
    Action("pan_right", ("]",), "long lines: further to the right", "Rows", "sideways", ("log",)),
    Action("pan_left", ("[",), "long lines: back to the left", "Rows", "", ("log",)),
    Action("sort", ("s", "f6"), "sort threads by the next column", "Rows", "sort", _OVERVIEW),
    Action("sort_reverse", ("S",), "reverse the order of threads and groups", "Rows", "", _OVERVIEW),
    Action("group", ("g",), "group threads: none, process, name, role", "Rows", "group", _OVERVIEW),
    Action("columns", ("c",), "choose columns", "Rows", "", _OVERVIEW),
    Action("scale", ("x",), "scale of the stage sparklines: against usual, log ms, linear ms", "Rows", "", _OVERVIEW),
    Action("all_findings", ("a",), "all findings of the session / those known at the shown moment", "Rows", "", _OVERVIEW),
    Action("log", ("w",), "the log at the shown moment (or of the shown finding)", "Screens", "log"),
    Action("sessions", ("o",), "list of recordings", "Screens"),
    Action("doctor", ("d",), "what can be observed here and what can't", "Screens"),
    Action("settings", (",",), "settings and keys", "Screens"),
    Action("copy", ("y",), "copy as Markdown: to the clipboard (OSC 52) and a file", "Screens", "", ("finding",)),
    Action("next_finding", ("n",), "next finding", "Screens", "", ("finding",)),
    Action("previous_finding", ("N",), "previous finding", "Screens", "", ("finding",)),
    Action("save", ("W",), "write settings and keys to the config file", "Screens", "", ("settings",)),
    Action("theme", ("t",), "next theme", "Screens"),
    Action("mouse", ("ctrl+o",), "mouse on / off (off: the terminal selects text)", "Screens"),
)  # fmt: skip

PAIRS = {
    "next_episode": ("previous_episode", "next_episode"),
    "tick_back": ("tick_back", "tick_on"),
    "zoom_in": ("zoom_in", "zoom_out"),
    "pan_right": ("pan_left", "pan_right"),
}
"""Actions whose hint names two keys: from the newest moment there are only episodes to go back to."""

BY_ID = {action.id: action for action in ACTIONS}

_NAMES = {"left": "←", "right": "→", "up": "↑", "down": "↓", "escape": "esc", "pagedown": "pgdn", "pageup": "pgup"}


def key_word(key: str, *, is_ascii: bool = False) -> str:
    """A key as it is written for people."""
    head, plus, last = key.rpartition("+") if len(key) > 1 else ("", "", key)
    shown = last if is_ascii else _NAMES.get(last, last)
    return f"{head}{plus}{shown}"


class Keymap:
    """Keys to actions, by screen; made of the table and the config's changes."""

    def __init__(self, changes: Mapping[str, Iterable[str]] | None = None) -> None:
        self._keys: dict[str, tuple[str, ...]] = {action.id: action.keys for action in ACTIONS}
        for action_id, keys in (changes or {}).items():
            self._keys[action_id] = tuple(keys)
        self._actions: dict[tuple[str, str], str] = {}
        for action in ACTIONS:
            for key in self._keys[action.id]:
                for screen in action.screens or ("",):
                    self._actions[screen, key] = action.id

    def action(self, screen: str, *names: str) -> str | None:
        """The action of a key (by any of its names) on a screen."""
        for name in names:
            found = self._actions.get((screen, name)) or self._actions.get(("", name))
            if found is not None:
                return found
        return None

    def keys(self, action_id: str) -> tuple[str, ...]:
        """The keys of an action."""
        return self._keys[action_id]

    def pair(self, action_id: str, *, is_ascii: bool = False) -> str:
        """The first key of an action and of the one that undoes it, where there is such."""
        keys = [self.first(each, is_ascii=is_ascii) for each in PAIRS.get(action_id, (action_id,))]
        return "/".join(key for key in keys if key)

    def first(self, action_id: str, *, is_ascii: bool = False) -> str:
        """The first key of an action, as it is written for people; empty if it has none."""
        keys = self._keys[action_id]
        return key_word(keys[0], is_ascii=is_ascii) if keys else ""


def clashes(changes: Mapping[str, Iterable[str]]) -> list[str]:
    """Keys that would do two things on one screen, in words."""
    seen: dict[tuple[str, str], str] = {}
    out = []
    for action in ACTIONS:
        for key in changes.get(action.id, action.keys):
            for screen in action.screens or ("",):
                other = seen.get((screen, key))
                if other is not None and (other in changes or action.id in changes):
                    out.append(f"{key!r} is both {other} and {action.id}")
                seen[screen, key] = action.id
    return out
