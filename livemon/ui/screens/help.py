"""Help, made from the table of keys and the columns' own descriptions."""

from __future__ import annotations

from typing import ClassVar

from livemon.ui.actions import ACTIONS, key_word
from livemon.ui.render import stages, threads
from livemon.ui.render.glyphs import ASCII
from livemon.ui.render.line import Row, fit, wrap
from livemon.ui.screens.page import PageScreen

SIGNS = (
    ("OVER / SLOW", "a stage over its budget / slower than its healthy state"),
    ("P, E, …", "core classes; lower case: mixed; · idle; blank: not observed"),
    ("–", "not known: press i on the row for the reason and the remedy"),
    ("~ and '", "estimated or scaled from a part / stale"),
    ("! x @", "takes part in the shown episode / has ended / is livemon itself"),
    ("┄", "a gap: nothing was observed there; it is never drawn as zero"),
    ("▲ before an id", "the finding is ongoing"),
    ("host-slow 5.0×", "host stages take five times their usual; finalize 5.0×: five times the budget"),
    ("run 3 of 3", "the third kind of run in a cycle of three, found in the lines; filters and reports: class 2/3"),
    ("sparklines", "each cell shows its maximum; the scale is in the header and shared by all rows"),
)


START = (
    "Is it slow now? The first line. Since when? FINDINGS and the timeline. Where? Stages that say OVER or SLOW,"
    " threads with ! and their cores. Why, and what would it give? Enter on a finding (tab goes to another"
    " panel). Then move in time with the"
    " arrows."
)


class HelpScreen(PageScreen):
    """Keys of the screen it was opened on first."""

    screen_name: ClassVar[str] = "help"

    def __init__(self, of_screen: str) -> None:
        super().__init__()
        self._of_screen = of_screen

    def heading(self) -> tuple[str, str]:
        """The page's title."""
        return "HELP", "esc goes back; : finds a command by name"

    def lines(self, cells: int) -> list[Row]:
        """Keys by group, then signs, then columns."""
        glyphs = self.glyphs
        rows: list[Row] = []

        def text(label: str, value: str, *, size: int = 24) -> None:
            for number, part in enumerate(wrap(glyphs.ascii_only(value), max(cells - size - 3, 12))):
                name = glyphs.ascii_only(fit(label if number == 0 else "", size, more=glyphs.more))
                rows.append((((f" {name} ", "key"), (part, "text")), ""))

        rows += [(((f" {line}", "text"),), "") for line in wrap(START, cells - 2)]
        groups = list(dict.fromkeys(action.group for action in ACTIONS))
        for group in groups:
            rows.append(((((f" {group.upper()}"), "bold"),), "head"))
            for action in ACTIONS:
                is_here = not action.screens or self._of_screen in action.screens
                if action.group == group and is_here:
                    keys = "  ".join(key_word(key, is_ascii=glyphs is ASCII) for key in self.app.keymap.keys(action.id))
                    text(keys or "(no key)", action.text)
        rows.append((((" SIGNS", "bold"),), "head"))
        for sign, what in SIGNS:
            text(sign, what)
        for name, columns in (("STAGE COLUMNS", stages.COLUMNS), ("THREAD COLUMNS", threads.COLUMNS)):
            rows.append((((f" {name}", "bold"),), "head"))
            for column in columns:
                text(column.title or column.key, column.about)
        return rows

    def act_help(self) -> None:
        """The same key closes it."""
        self.act_back()
