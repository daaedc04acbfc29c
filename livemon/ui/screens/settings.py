"""Settings and keys: changed here at once, written to the config file with one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual import events

from livemon.model.errors import LivemonError
from livemon.ui.actions import ACTIONS, clashes, key_word
from livemon.ui.config import config_path, save_settings
from livemon.ui.render.glyphs import ASCII
from livemon.ui.render.line import Row, fit
from livemon.ui.screens.page import PageScreen
from livemon.ui.settings import ABOUT, CHOICES, KEPT


class SettingsScreen(PageScreen):
    """Enter or → takes the next value, ← the one before; on a key, enter waits for the new one."""

    screen_name: ClassVar[str] = "settings"

    def __init__(self) -> None:
        super().__init__()
        self._waits_for: str | None = None
        self._names = [name for name in KEPT if name in CHOICES]

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return ("open", "save", "back", "columns", "help", "quit")

    def heading(self) -> tuple[str, str]:
        """The page's title."""
        return "SETTINGS", f"enter or arrows change, W writes {config_path(self.app.settings)}"

    def lines(self, cells: int) -> list[Row]:
        """Settings, then keys."""
        glyphs = self.glyphs
        rows: list[Row] = []
        for name in self._names:
            shown = _word(getattr(self.app.settings, name))
            rows.append(
                (
                    (
                        (f"  {fit(name, 22)}", "name"),
                        (fit(shown, 18), "bold"),
                        (glyphs.ascii_only(ABOUT[name]), "muted"),
                    ),
                    "",
                )
            )
        rows.append(
            (((" KEYS", "bold"), ("  enter, then the new key; it replaces the others of the action", "muted")), "head")
        )
        changed = dict(self.app.settings.keys)
        for action in ACTIONS:
            keys = "  ".join(key_word(key, is_ascii=glyphs is ASCII) for key in self.app.keymap.keys(action.id))
            if action.id == self._waits_for:
                keys = "press the new key"
            style = "bold" if action.id in changed else "key"
            rows.append(
                (
                    (
                        (f"  {fit(action.id, 22)}", "name"),
                        (fit(keys, 18), style),
                        (glyphs.ascii_only(action.text), "muted"),
                    ),
                    "",
                )
            )
        return rows

    def selectable(self) -> list[int]:
        """Every setting and action."""
        count = len(self._names)
        return [*range(count), *range(count + 1, count + 1 + len(ACTIONS))]

    def about(self, position: int) -> str:
        """What the setting or action is, and the choices there are."""
        if position < len(self._names):
            name = self._names[position]
            return f"{name}: {ABOUT[name]} ({', '.join(map(_word, CHOICES[name]))})"
        action = ACTIONS[position - len(self._names)]
        return f"{action.id}: {action.text}"

    def on_key(self, event: events.Key) -> None:
        """While a new key is awaited, it is taken instead of being done."""
        if self._waits_for is None:
            super().on_key(event)
            return
        event.stop()
        event.prevent_default()
        action_id, self._waits_for = self._waits_for, None
        if event.key != "escape":
            printable = (
                event.character
                if event.character and event.character.isprintable() and event.character != " "
                else None
            )
            self._rebind(action_id, printable or event.key)
        self.draw()

    def _rebind(self, action_id: str, key: str) -> None:
        keys = {**dict(self.app.settings.keys), action_id: (key,)}
        problems = clashes(keys)
        if problems:
            self.app.say(problems[0], "bar-warn")
            return
        self.app.apply_settings(replace(self.app.settings, keys=tuple(keys.items())))

    def _change(self, step: int) -> None:
        index = self.panel.index
        if index >= len(self._names):
            if step > 0:
                self._waits_for = ACTIONS[index - len(self._names)].id
            return
        name = self._names[index]
        choices = CHOICES[name]
        value = getattr(self.app.settings, name)
        place = choices.index(value) if value in choices else -1
        changed: dict[str, Any] = {name: choices[(place + step) % len(choices)]}
        if name == "mouse":
            self.app.act_mouse()
            return
        self.app.apply_settings(replace(self.app.settings, **changed))

    def act_open(self) -> None:
        """The next value; on a key: wait for the new one."""
        self._change(1)

    def act_pause(self) -> None:
        """Space takes the next value too."""
        self._change(1)

    def act_tick_on(self) -> None:
        """The next value."""
        self._change(1)

    def act_tick_back(self) -> None:
        """The value before."""
        self._change(-1)

    def act_save(self) -> None:
        """Write the config file."""
        try:
            path = save_settings(self.app.settings)
        except LivemonError as error:
            self.app.say(str(error), "bar-warn")
        else:
            self.app.say(f"written to {path}")


def _word(value: object) -> str:
    """A setting's value for people."""
    return {True: "on", False: "off"}.get(value, "") if isinstance(value, bool) else f"{value}"
