"""A one-line editor for filters, marks, times and commands; pure state, drawn by the screens."""

from __future__ import annotations

from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Span, clean, width


class LineEdit:
    """Text with a caret."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._caret = len(text)

    def insert(self, text: str) -> None:
        """Put text in at the caret (a key, or a paste: control characters are dropped)."""
        text = "".join(letter for letter in clean(text) if letter != "·") if not text.isprintable() else text
        self.text = self.text[: self._caret] + text + self.text[self._caret :]
        self._caret += len(text)

    def key(self, key: str, character: str | None) -> bool:
        """Take a key; false if it is not one for editing."""
        match key:
            case "left":
                self._caret = max(self._caret - 1, 0)
            case "right":
                self._caret = min(self._caret + 1, len(self.text))
            case "home" | "ctrl+a":
                self._caret = 0
            case "end" | "ctrl+e":
                self._caret = len(self.text)
            case "backspace" | "ctrl+h":
                if self._caret:
                    self.text = self.text[: self._caret - 1] + self.text[self._caret :]
                    self._caret -= 1
            case "delete":
                self.text = self.text[: self._caret] + self.text[self._caret + 1 :]
            case "ctrl+u":
                self.text, self._caret = self.text[self._caret :], 0
            case "ctrl+k":
                self.text = self.text[: self._caret]
            case "ctrl+w":
                kept = self.text[: self._caret].rstrip()
                kept = kept[: kept.rfind(" ") + 1]
                self.text, self._caret = kept + self.text[self._caret :], len(kept)
            case _:
                if character is None or not character.isprintable():
                    return False
                self.insert(character)
        return True

    def line(self, label: str, cells: int, glyphs: Glyphs, *, error: str = "") -> Line:
        """The editor as one line: label, text with its caret, then what is wrong with it."""
        before, under, after = (
            self.text[: self._caret],
            self.text[self._caret : self._caret + 1],
            self.text[self._caret + 1 :],
        )
        room = max(cells - width(label) - 2, 4)
        while width(before) > room - 1:
            before = before[1:]
        spans: list[Span] = [(f"{label} ", "key"), (before, "text"), (under or " ", "caret"), (after, "text")]
        if error:
            spans += [("  ", "text"), (glyphs.ascii_only(error), "crit")]
        return tuple(spans)
