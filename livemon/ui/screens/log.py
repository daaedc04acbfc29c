"""The log at the shown moment: raw lines with what was read from them; jumps both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from livemon.model.snapshot import LogLine, Snapshot, ViewSource
from livemon.ui.render.line import Row, clean, wrap
from livemon.ui.render.log import log_line
from livemon.ui.render.numbers import Stamps, milliseconds_words
from livemon.ui.screens.filtered import FilteredScreen
from livemon.ui.screens.page import PageScreen
from livemon.ui.view import View

AROUND, AROUND_FILTERED = 300, 3000
"""Lines read before and after the moment."""


class LogScreen(FilteredScreen, PageScreen):
    """Moving in time moves the lines; enter on a line moves the time to it."""

    screen_name: ClassVar[str] = "log"

    def __init__(self) -> None:
        super().__init__()
        self._at_ns: int | None = None
        self._lines: tuple[LogLine, ...] = ()
        self._first_column = 0
        """Letters of each line that are out of sight on the left."""

    def extra(self, source: ViewSource, view: View, snapshot: Snapshot) -> tuple[int, tuple[LogLine, ...]]:
        """The moment and the lines around it."""
        around = AROUND_FILTERED if self.sought.terms else AROUND
        return snapshot.at_ns, source.log_lines(snapshot.at_ns, around, around)

    def hints(self) -> Sequence[str]:
        """The hint line."""
        return (
            "help", "back", "quit", "open", "filter", "pan_right", "next_match", "tick_back", "next_episode", "jump",
            "pause",
        )  # fmt: skip

    def heading(self) -> tuple[str, str]:
        """What is listed."""
        known = self.app.extra
        count = len(known[1]) if isinstance(known, tuple) and len(known) == 2 and isinstance(known[1], tuple) else 0
        detail = f"{len(self._lines)} of {count} lines around the shown moment"
        if self._first_column:
            detail += f", from column {self._first_column + 1}"
        return "LOG", detail + (f"  filter: {self.filter.text}" if self.filter.terms else "")

    def lines(self, cells: int) -> list[Row]:
        """Lines that pass the filter."""
        snapshot = self.app.snapshot
        known = self.app.extra
        if snapshot is None or not isinstance(known, tuple) or len(known) != 2 or not isinstance(known[1], tuple):
            self._lines = ()
            return [((), ""), ((("  reading", "muted"),), "")]
        at_ns, found = known
        self._lines = tuple(line for line in found if self.filter.keeps_line(line))
        stamps = Stamps(snapshot.start_ns, snapshot.at_ns, snapshot.wall_ns)
        if not self._lines:
            why = "no line around this moment passes the filter" if found else "no log line around this moment"
            return [((), ""), (((f"  {why}", "muted"),), "")]
        cursor = max(
            (n for n, line in enumerate(self._lines) if line.t_ns is not None and line.t_ns <= at_ns), default=0
        )
        if at_ns != self._at_ns:
            self._at_ns = at_ns
            self.panel.choose(self._key(self._lines[cursor]))
        needles = tuple(
            v for term in self.sought.terms if not term.is_not and term.field in ("", "text") for v in term.values
        )
        return [
            (
                log_line(
                    line,
                    stamps,
                    self.glyphs,
                    is_cursor=number == cursor,
                    needles=needles,
                    first_column=self._first_column,
                ),
                "",
            )
            for number, line in enumerate(self._lines)
        ]

    def selectable(self) -> Sequence[int]:
        """Every line."""
        return range(len(self._lines))

    def footer_lines(self, lines: int) -> int:
        """Room for the whole selected line, where there is any."""
        return 4 if lines >= 16 else 0

    def footer(self, cells: int) -> list[Row]:
        """The whole selected line, wrapped; then what was read from it."""
        if not self._lines:
            return []
        line = self._lines[self.panel.index]
        glyphs = self.glyphs
        values = "  ".join(f"{name} {milliseconds_words(ms)}" for name, ms in line.stages)
        unit = f"unit {line.unit}  " if line.unit else ""
        label = f"class {line.class_key}  " if line.class_key else ""
        read = f"{label}{unit}{values}" if line.stages else "no timing was read from this line"
        parts = wrap(glyphs.ascii_only(clean(line.text)), cells - 2)[:2]
        rows: list[Row] = [(((glyphs.rule * cells, "rail"),), "")]
        rows += [(((f" {part}", "text"),), "") for part in parts]
        rows += [((), "")] * (2 - len(parts))
        return [*rows, (((f" {glyphs.ascii_only(clean(read))}", "label"),), "")]

    def keys(self) -> list[object]:
        """Stream and line number."""
        return [self._key(line) for line in self._lines]

    @staticmethod
    def _key(line: LogLine) -> object:
        return (line.stream, line.line, line.t_ns)

    def _scroll(self, delta: int) -> None:
        before = self.panel.index
        super()._scroll(delta)
        # At the edge of what was read, the moment moves there and the next lines are read.
        if self._lines and before + delta not in range(len(self._lines)):
            t_ns = self._lines[self.panel.index].t_ns
            if t_ns is not None and t_ns != self.app.shown_ns:
                self.app.go_to(t_ns)

    def act_pan_right(self) -> None:
        """Half a screen further along long lines, as far as any of them goes."""
        longest = max((len(clean(line.text)) for line in self._lines), default=0)
        column = self._first_column + max(self.app.size.width // 2, 1)
        if column >= longest:
            self.app.say("no line that was read is longer")
        else:
            self._first_column = column

    def act_pan_left(self) -> None:
        """Half a screen back."""
        self._first_column = max(self._first_column - max(self.app.size.width // 2, 1), 0)

    def act_open(self) -> None:
        """The time cursor to the selected line."""
        if not self._lines:
            return
        line = self._lines[self.panel.index]
        if line.t_ns is None:
            self.app.say("this line has no time")
        else:
            self.app.go_to(line.t_ns)
            values = ", ".join(f"{name} {ms:.2f} ms" for name, ms in line.stages)
            self.app.say(f"at line {line.line}: {values or 'no timing on it'}; esc shows the screens at that moment")

    def step_to_match(self, step: int) -> None:
        """The next line that the last filter matches; without one, the next line with timing."""
        is_sought = bool(self.sought.terms)
        place = self.panel.index + step
        while 0 <= place < len(self._lines):
            line = self._lines[place]
            if self.sought.keeps_line(line) if is_sought else line.stages:
                self.panel.select(place)
                return
            place += step
        what = f"that matches {self.sought.text}" if is_sought else "with timing"
        self.app.say(f"no further line {what} was read: move in time to read more")

    def filter_accepted(self) -> None:
        """More lines are read around the moment for a filter than without one."""
        self.app.ask_for_frame()

    def act_back(self) -> None:
        """Drop the filter, else back."""
        if not self.drop_filter():
            super().act_back()
