"""What is written to the terminal for a change, and that a terminal then shows what was meant."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

from livemon.ui.palettes import PALETTES, Styles
from livemon.ui.render.glyphs import BLOCK
from livemon.ui.render.line import Row
from livemon.ui.widgets.canvas import Canvas, Changes, codes_of, switch
from livemon.ui.widgets.cells import CellTable, differences

LOOKS = Styles(PALETTES["dark"])
CONSOLE = Console(color_system="truecolor", force_terminal=True, width=40)
SPANS = st.lists(
    st.tuples(
        st.text("abc \u2588\u2581", min_size=1, max_size=9),
        st.sampled_from(["text", "warn", "crit", "spark", "v-ok", "field"]),
    ),
    min_size=1,
    max_size=6,
)


TABLE = CellTable()


def strip(spans: list[tuple[str, str]], cells: int = 40) -> Strip:
    made = Strip([Segment(text, LOOKS.get(name)) for text, name in spans])
    return made.crop_extend(0, cells, LOOKS.get(""))


def changes(old: Strip, new: Strip) -> list[tuple[int, list[Segment]]]:
    was, now = TABLE.cells(list(old)), TABLE.cells(list(new))
    assert was is not None
    assert now is not None
    return differences(was, now)


def shown(screen: pyte.Screen) -> list[tuple[str, str, str, bool]]:
    cells = [screen.buffer[0][x] for x in range(40)]
    return [(cell.data, cell.fg, cell.bg, cell.bold) for cell in cells]


@given(SPANS, SPANS)
def test_writing_only_the_differences_gives_the_same_screen(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    old, new = strip(before), strip(after)
    step = pyte.Screen(40, 1)
    stream = pyte.Stream(step)
    stream.feed(Changes([(0, 0, list(old))]).render_segments(CONSOLE))
    stream.feed(Changes([(0, x, segments) for x, segments in changes(old, new)]).render_segments(CONSOLE))
    whole = pyte.Screen(40, 1)
    pyte.Stream(whole).feed(Changes([(0, 0, list(new))]).render_segments(CONSOLE))
    assert shown(step) == shown(whole)


ROWS = st.lists(SPANS, min_size=3, max_size=3)


@given(ROWS, ROWS)
def test_rows_are_written_style_by_style_and_end_the_same(
    before: list[list[tuple[str, str]]], after: list[list[tuple[str, str]]]
) -> None:
    old, new = [strip(spans) for spans in before], [strip(spans) for spans in after]
    step, whole = pyte.Screen(40, 3), pyte.Screen(40, 3)
    stream = pyte.Stream(step)
    stream.feed(Changes([(y, 0, list(row)) for y, row in enumerate(old)]).render_segments(CONSOLE))
    changed = [(y, x, s) for y in range(3) for x, s in changes(old[y], new[y])]
    output = Changes(changed).render_segments(CONSOLE)
    stream.feed(output)
    pyte.Stream(whole).feed(Changes([(y, 0, list(row)) for y, row in enumerate(new)]).render_segments(CONSOLE))
    assert step.display == whole.display
    assert all(step.buffer[y][x] == whole.buffer[y][x] for y in range(3) for x in range(40))
    styles = {codes_of(s.style, ColorSystem.TRUECOLOR) for _, _, segments in changed for s in segments}
    assert len(re.findall(r"\x1b\[[0-9;]*m", output)) <= len(styles) + 1


def test_equal_rows_write_nothing_and_one_letter_writes_one() -> None:
    old = strip([("CPU 12 %", "text")])
    assert changes(old, strip([("CPU 12 %", "text")])) == []
    assert [(x, [s.text for s in segments]) for x, segments in changes(old, strip([("CPU 13 %", "text")]))] == [
        (5, ["3"])
    ]


@given(st.lists(st.tuples(st.text("ab\u2588\u65e5e\u0301", min_size=1, max_size=9), st.sampled_from(["text", "warn"]))))
def test_a_row_has_the_cells_that_are_written(line: list[tuple[str, str]]) -> None:
    """Where every letter takes one cell; else the row is written whole."""
    canvas = Canvas(LOOKS, BLOCK)
    row: Row = (tuple(line), "")
    cells, segments = canvas._cells_of(row, 20), canvas._segments(row, 20)
    if cells is None:
        assert any(letter in "\u65e5\u0301" for text, _ in line for letter in text)
    else:
        assert cells == TABLE.cells(segments)
        assert len(cells) == 20


LETTERS = st.text("ab\u2588\u65e5", min_size=1, max_size=6)


STYLES = st.sampled_from(["text", "warn"])


@given(st.lists(st.tuples(LETTERS, LETTERS, STYLES, STYLES), min_size=1, max_size=5))
def test_rows_of_the_same_spans_change_by_span_to_what_is_wanted(spans: list[tuple[str, str, str, str]]) -> None:
    # A letter of the second text in place of each of the first; where the two are equal the span stays, where the
    # styles differ two spans stand in place of it.
    old: Row = (tuple((was, name) for was, _, name, _ in spans), "")
    made: list[tuple[str, str]] = []
    for was, now, name, other in spans:
        text = (now * len(was))[: len(was)]
        made += [(text, name)] if name == other else [(text[:1], name), (text[1:], other)]
    new: Row = (tuple(span for span in made if span[0]), "")
    canvas = Canvas(LOOKS, BLOCK)
    canvas._shape = (60, 1)
    pieces = canvas._changed_spans(old, new, 0)
    if pieces is None:
        assert any("\u65e5" in text for text, _ in (*old[0], *new[0]))
        return
    step, whole = pyte.Screen(60, 1), pyte.Screen(60, 1)
    stream = pyte.Stream(step)
    stream.feed(Changes([(0, 0, canvas._segments(old, 60))]).render_segments(CONSOLE))
    stream.feed(Changes(pieces).render_segments(CONSOLE))
    pyte.Stream(whole).feed(Changes([(0, 0, canvas._segments(new, 60))]).render_segments(CONSOLE))
    assert all(step.buffer[0][x] == whole.buffer[0][x] for x in range(60))


def test_rows_with_wide_letters_have_no_cells() -> None:
    assert TABLE.cells([Segment("\u65e5\u672c x")]) is None
    assert TABLE.cells([Segment("e\u0301")]) is None


def test_a_style_forgets_its_letters_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livemon.ui.widgets.cells.MOST_LETTERS", 3)
    table = CellTable()
    row = table.cells([Segment("abcdabcd")])
    assert "".join(letter for letter, _ in row or ()) == "abcdabcd"
    assert len(table.letters(None)) <= 3


def test_a_switch_says_only_what_differs() -> None:
    def codes(name: str) -> tuple[tuple[str, ...], str, str]:
        return codes_of(LOOKS.get(name), ColorSystem.TRUECOLOR)

    assert switch(codes("text"), codes("spark")) == "\x1b[38;2;127;178;229m"
    assert switch(codes("text"), codes("bold")) == "\x1b[1m"
    assert switch(codes("bold"), codes("text")) == "\x1b[22m"
    assert switch(codes("text"), ((), "", "")) == "\x1b[0m"
    assert codes_of(LOOKS.get("warn"), None) == ((), "", "")
