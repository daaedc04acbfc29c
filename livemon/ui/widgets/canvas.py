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
from livemon.ui.render.line import Row, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.color import ColorSystem
    from rich.console import Console, ConsoleOptions
    from rich.style import Style

JOIN_BYTES = 4
"""Unchanged text between two changes in one style that is as cheap to write again as to jump over."""


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
        self._strips: list[Strip] = []
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
        is_whole = shape != self._shape
        wanted = filled(rows, height)
        before = self._rows
        pieces: list[tuple[int, int, list[Segment]]] = []
        strips = [] if is_whole else self._strips
        for y, row in enumerate(wanted):
            if is_whole:
                strips.append(self._strip(row, cells))
            elif row is not before[y] and row != before[y]:
                strip = self._strip(row, cells)
                pieces.extend((y, x, segments) for x, segments in differences(strips[y], strip))
                strips[y] = strip
        self._rows, self._strips, self._shape = wanted, strips, shape
        if is_whole:
            self.painted_cells += cells * height
            self.refresh()
        elif pieces:
            self._paint(pieces)

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

    def _strip(self, row: Row, cells: int) -> Strip:
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
        return Strip(segments, cells)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips inside ``crop`` as they are; blank where nothing was shown yet."""
        if self._shape != (self.size.width, self.size.height) and self.compose_rows is not None:
            # The first paint of a size already shows everything, instead of a blank screen and then everything.
            self._shape = (self.size.width, self.size.height)
            self._rows = filled(self.compose_rows(*self._shape), self.size.height)
            self._strips = [self._strip(row, self.size.width) for row in self._rows]
        blank = self._looks.get("")
        strips = self._strips[crop.y : crop.bottom]
        if crop.x or crop.width != self._shape[0]:
            strips = [strip.crop_extend(crop.x, crop.right, blank) for strip in strips]
        return strips + [Strip.blank(crop.width, blank)] * (crop.height - len(strips))


def filled(rows: Sequence[Row], height: int) -> list[Row]:
    """Exactly ``height`` rows: cut, or with blank ones below."""
    return [*rows[:height], *([((), "")] * (height - len(rows)))]


def differences(old: Strip, new: Strip) -> list[tuple[int, list[Segment]]]:
    """The stretches of ``new`` that differ from ``old``: (first cell, segments)."""
    was, now = _cells(old), _cells(new)
    if was is None or now is None or len(was[0]) != len(now[0]):
        return [(0, list(new))]
    text, styles = now
    changed = [
        x
        for x, (letter, other, style, other_style) in enumerate(zip(text, was[0], styles, was[1], strict=True))
        if letter != other or (style is not other_style and style != other_style)
    ]
    out: list[tuple[int, list[Segment]]] = []
    first = end = -1
    for x in changed:
        if first >= 0 and (x == end or _is_joined(now, end, x)) and styles[x] == styles[first]:
            end = x + 1
            continue
        if first >= 0:
            out.append((first, [Segment(text[first:end], styles[first])]))
        first, end = x, x + 1
    if first >= 0:
        out.append((first, [Segment(text[first:end], styles[first])]))
    return out


_Cells = tuple[str, "list[Style | None]"]
"""Text and style of each cell."""


def _is_joined(cells: _Cells, end: int, x: int) -> bool:
    """Whether it is cheaper to write the cells between two changes again than to jump over them."""
    text, styles = cells
    if x - end > JOIN_BYTES or len(text[end:x].encode()) > JOIN_BYTES:
        return False
    return all(style is styles[x] for style in styles[end:x])


def _cells(strip: Strip) -> _Cells | None:
    """The cells of a row; ``None`` when a character is not one cell wide."""
    styles: list[Style | None] = []
    texts: list[str] = []
    for text, style, _ in strip:
        texts.append(text)
        styles += [style] * len(text)
    return ("".join(texts), styles) if len(styles) == strip.cell_length else None
