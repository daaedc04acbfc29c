"""The one widget: rows of styled text that repaints only the cells that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual._compositor import CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from livemon.ui.palettes import Styles
from livemon.ui.render.glyphs import Glyphs
from livemon.ui.render.line import Line, Row, Span, width
from livemon.ui.widgets.cells import NO_CELL, Cell, CellTable, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.color import ColorSystem
    from rich.console import Console, ConsoleOptions
    from rich.style import Style


class Changes(CompositorUpdate):
    """Changed stretches of rows as terminal output: (y, x, segments), ordered by style."""

    def __init__(self, pieces: Sequence[tuple[int, int, list[Segment]]]) -> None:
        self._pieces = pieces

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """The segments, for consoles that are not the terminal."""
        for _, _, segments in self._pieces:
            yield from segments

    def render_segments(self, console: Console) -> str:
        """The output, style by style: a place costs half of a change of colours, so each style is switched to once."""
        system = console._color_system
        runs: dict[Codes, list[tuple[int, int, str, int]]] = {}
        for y, x, segments in self._pieces:
            for text, style, _ in segments:
                runs.setdefault(codes_of(style, system), []).append((y, x, text, x + width(text)))
                x += width(text)
        out: list[str] = []
        current: Codes = ((), "", "")
        at = (-1, 0)
        for wanted in sorted(runs):
            if wanted != current:
                out.append(switch(current, wanted))
                current = wanted
            for y, x, text, end in runs[wanted]:
                # A step to the right is shorter than a place, but not from the last column, where terminals differ.
                if at[0] != y or x < at[1]:
                    out.append(f"\x1b[{y + 1};{x + 1}H")
                elif x > at[1]:
                    out.append(f"\x1b[{x - at[1]}C")
                out.append(text)
                at = (y, end)
        if current != ((), "", ""):
            out.append("\x1b[0m")
        return "".join(out)


Codes = tuple[tuple[str, ...], str, str]
"""SGR parameters of a style: attributes, foreground, background; empty where it sets none."""


@lru_cache(maxsize=1024)
def codes_of(style: Style | None, system: ColorSystem | None) -> Codes:
    """The parameters of a style in a colour system; ``None`` for the system is a terminal without any styles."""
    if style is None or system is None:
        return (), "", ""
    attributes = Strip.render_ansi(style.without_color, system)
    colours = [
        "" if colour is None else ";".join(colour.downgrade(system).get_ansi_codes(foreground=is_text))
        for colour, is_text in ((style.color, True), (style.bgcolor, False))
    ]
    return tuple(code for code in attributes.split(";") if code), colours[0], colours[1]


_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "7": "27"}
"""What ends an attribute without ending the others (bold and dim end together)."""


@lru_cache(maxsize=4096)
def switch(before: Codes, after: Codes) -> str:
    """The shortest sequence from one style to the next: only what differs, a reset where a colour goes."""
    gone = [code for code in before[0] if code not in after[0]]
    is_reset = any(old and not new for old, new in zip(before[1:], after[1:], strict=True))
    if is_reset or any(code not in _OFF for code in gone) or {"1", "2"} <= {*before[0], *after[0]}:
        parts = ["0", *after[0], *(code for code in after[1:] if code)]
    else:
        parts = [_OFF[code] for code in gone]
        parts += [code for code in after[0] if code not in before[0]]
        parts += [new for old, new in zip(before[1:], after[1:], strict=True) if new and new != old]
    return f"\x1b[{';'.join(parts)}m"


class Canvas(Widget):
    """Fills its screen with the rows it is given."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"
    can_focus = False

    def __init__(self, styles: Styles, glyphs: Glyphs) -> None:
        super().__init__()
        self._looks = styles
        self._glyphs = glyphs
        self._rows: list[Row] = []
        self._cells: list[list[Cell] | None] = []
        """Cells of each row; ``None`` where they are not known: that row is written whole when it changes."""
        self._table = CellTable()
        self._shape = (0, 0)
        self.compose_rows: Callable[[int, int], list[Row]] | None = None
        """Makes the rows of a size, when it is painted before ``show`` was called for that size."""
        self.painted_cells = 0
        """Cells written since the start; tests hold the screens to it."""

    def show(self, rows: Sequence[Row]) -> None:
        """Draw these rows from the top; only what differs from what is shown is painted."""
        shape = (self.size.width, self.size.height)
        cells, height = shape
        if cells <= 0 or height <= 0:
            return
        wanted = filled(rows, height)
        if shape != self._shape:
            self._keep(wanted, shape)
            self.painted_cells += cells * height
            self.refresh()
            return
        pieces: list[tuple[int, int, list[Segment]]] = []
        for y, (row, before) in enumerate(zip(wanted, self._rows, strict=True)):
            if row is before or row == before:
                continue
            if (found := self._changed_spans(before, row, y)) is not None:
                pieces += found
                self._cells[y] = None
                continue
            now, was = self._cells_of(row, cells), self._cells[y]
            if was is None:
                was = self._cells_of(before, cells)
            if now is None or was is None:
                pieces.append((y, 0, self._segments(row, cells)))
            else:
                pieces += [(y, x, segments) for x, segments in differences(was, now)]
            self._cells[y] = now
        self._rows = wanted
        if pieces:
            self._paint(pieces)

    def _keep(self, rows: list[Row], shape: tuple[int, int]) -> None:
        self._rows, self._shape = rows, shape
        self._cells = [None] * len(rows)

    def repaint(self, styles: Styles | None = None, glyphs: Glyphs | None = None) -> None:
        """Make everything anew (another theme or other signs, a screen that something else wrote on)."""
        self._looks = styles or self._looks
        self._glyphs = glyphs or self._glyphs
        self._shape = (0, 0)
        self.show(self._rows)

    def forget(self) -> None:
        """Something else is on the terminal now: the next drawing is a whole one."""
        self._shape = (0, 0)

    def _paint(self, pieces: list[tuple[int, int, list[Segment]]]) -> None:
        self.painted_cells += sum(sum(width(s.text) for s in segments) for _, _, segments in pieces)
        app = self.app
        if app.is_headless or self.screen is not app.screen:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in sorted({y for y, _, _ in pieces})))
        else:
            app._display(self.screen, Changes(pieces))

    def _changed_spans(self, before: Row, row: Row, y: int) -> list[tuple[int, int, list[Segment]]] | None:
        """The changes, span by span where these keep their places; ``None``: the whole row has to be compared."""
        if before[1] != row[1] or self._glyphs.is_ascii:
            return None
        old, new = before[0], row[0]
        same = min(len(old), len(new))
        first = next((k for k in range(same) if not _is_in_place(old[k], new[k])), same)
        last = next((k for k in range(same - first) if not _is_in_place(old[-1 - k], new[-1 - k])), same - first)
        pairs: list[tuple[Line, Line]] = [((was,), (now,)) for was, now in zip(old[:first], new[:first], strict=True)]
        pairs.append((old[first : len(old) - last], new[first : len(new) - last]))
        pairs += [((was,), (now,)) for was, now in zip(old[len(old) - last :], new[len(new) - last :], strict=True)]
        pieces: list[tuple[int, int, list[Segment]]] = []
        x = 0
        for was, now in pairs:
            if was == now:
                x += sum([width(text) for text, _ in now])
                continue
            gone, wanted = self._letters_of(was, row[1]), self._letters_of(now, row[1])
            if len(gone) != len(wanted) or NO_CELL in gone or NO_CELL in wanted:
                return None
            pieces += [(y, x + at, segments) for at, segments in differences(gone, wanted)]
            x += len(wanted)
        return pieces if x <= self._shape[0] else None

    def _letters_of(self, spans: Line, base: str) -> list[Cell]:
        out: list[Cell] = []
        for text, name in spans:
            out += map(self._table.letters(self._looks.get(name, base)).__getitem__, text)
        return out

    def _cells_of(self, row: Row, cells: int) -> list[Cell] | None:
        """The cells of a row, as ``_segments`` would write them; ``None`` when a letter is not one cell wide."""
        line, base = row
        get, letters = self._looks.get, self._table.letters
        out: list[Cell] = []
        for raw, name in line:
            text = self._glyphs.cells_in_ascii(raw) if self._glyphs.is_ascii else raw
            if len(out) + len(text) > cells:
                if width(text) <= cells - len(out):
                    return None
                break
            out += map(letters(get(name, base)).__getitem__, text)
        if NO_CELL in out:
            return None
        if len(out) < cells:
            out += [letters(get("", base))[" "]] * (cells - len(out))
        return out

    def _segments(self, row: Row, cells: int) -> list[Segment]:
        line, base = row
        get = self._looks.get
        segments: list[Segment] = []
        left = cells
        glyphs = self._glyphs
        for raw, name in line:
            text = glyphs.cells_in_ascii(raw) if glyphs.is_ascii else raw
            have = width(text)
            if have > left:
                break
            segments.append(Segment(text, get(name, base)))
            left -= have
        if left > 0:
            segments.append(Segment(" " * left, get("", base)))
        return segments

    def strips(self) -> list[Strip]:
        """Everything that is shown, row by row."""
        cells = self._shape[0]
        return [Strip(self._segments(row, cells), cells) for row in self._rows] if cells else []

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips inside ``crop`` as they are; blank where nothing was shown yet."""
        shape = (self.size.width, self.size.height)
        if self._shape != shape and self.compose_rows is not None:
            # The first paint of a size already shows everything, instead of a blank screen and then everything.
            self._keep(filled(self.compose_rows(*shape), self.size.height), shape)
        blank = self._looks.get("")
        cells = self._shape[0]
        rows = self._rows[crop.y : crop.bottom] if cells else []
        strips = [Strip(self._segments(row, cells), cells) for row in rows]
        if crop.x or crop.width != cells:
            strips = [strip.crop_extend(crop.x, crop.right, blank) for strip in strips]
        return strips + [Strip.blank(crop.width, blank)] * (crop.height - len(strips))


def _is_in_place(was: Span, now: Span) -> bool:
    """Whether a span has the style and as many letters as before."""
    return was is now or (was[1] == now[1] and len(was[0]) == len(now[0]))


def filled(rows: Sequence[Row], height: int) -> list[Row]:
    """Exactly ``height`` rows: cut, or with blank ones below."""
    return [*rows[:height], *([((), "")] * (height - len(rows)))]
