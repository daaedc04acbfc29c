"""Filter language, view arithmetic, config file, editor, selection, thread order, themes: no app needed."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.model.errors import UsageError
from livemon.model.snapshot import Figure
from livemon.model.wording import run_words
from livemon.ui import palettes, terminal
from livemon.ui.actions import ACTIONS, Keymap, clashes, key_word
from livemon.ui.config import check_value, dump_settings, load_settings, parse_settings, save_settings
from livemon.ui.filtering import Filter, FilterError, parse_filter
from livemon.ui.lineedit import LineEdit
from livemon.ui.panel import Panel
from livemon.ui.render.glyphs import BLOCK
from livemon.ui.render.line import plain
from livemon.ui.render.overview import share_lines
from livemon.ui.render.scale import RELATIVE
from livemon.ui.render.stages import COLUMNS as STAGE_COLUMNS
from livemon.ui.render.stages import stage_line, stage_reasons
from livemon.ui.render.table import choose
from livemon.ui.render.threads import Group, columns, group_line, total_wait
from livemon.ui.screens.doctor import ranges
from livemon.ui.screens.palette import matches
from livemon.ui.settings import CHOICES, KEPT, Settings
from livemon.ui.threadlist import ThreadList, sort_key
from livemon.ui.view import View, advanced, at_moment, moved, parse_moment, toggled, with_speed, zoomed
from tests.ui.scripted import START_NS, S, ScriptedSource

FRAME = ScriptedSource(threads=12).snapshot(None, 60 * S, 40)
BOUNDS = (0, 100 * S)


# Filter.


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class:E", {"dispatch", "client-short", "worker-2"}),
        ("cpu>50", {"dispatch", "client-short", "gpu-worker"}),
        ("cpu>50 class:P", {"gpu-worker"}),
        ("name:client", {"client-short", "client-long"}),
        ("name=gc|io-loop", {"gc", "io-loop"}),
        ("gpu", {"gpu-worker"}),
        ("-name:worker|client cpu>=9", {"dispatch", "tokenizer", "detok"}),
        ("#4720", {"dispatch"}),
        ("tid:4727", {"gc"}),
        ("state:ended", {"detok"}),
        ("!class=E -worker -client -state:ended", {"tokenizer", "io-loop", "gc"}),
        ("wait>20", {"dispatch", "client-short"}),
        ("eff>90%", {"dispatch", "client-short"}),
        ("stage:validate wait>20", {"dispatch", "client-short"}),
    ],
)
def test_filters_on_threads(text: str, names: set[str]) -> None:
    wanted = parse_filter(text)
    assert {row.name for row in FRAME.threads[:10] if wanted.keeps_thread(row)} == names


def test_filters_on_stages_and_lines() -> None:
    rows = FRAME.stages
    assert {row.stage for row in rows if parse_filter("stage:validate").keeps_stage(row)} == {"validate"}
    assert {row.class_key for row in rows if parse_filter("label:lm stage:total").keeps_stage(row)} == {"lm_head"}
    assert len([row for row in rows if parse_filter("state:over median>50").keeps_stage(row)]) == 2
    assert len([row for row in rows if parse_filter("class:E cpu>50").keeps_stage(row)]) == len(rows)
    lines = ScriptedSource().log_lines(START_NS + 50 * S, 4, 4)
    assert all(line.stages for line in lines if parse_filter("stage:validate").keeps_line(line))
    assert [line.line for line in lines if parse_filter("line:500").keeps_line(line)] == [500]
    assert Filter().keeps_line(lines[0])


def test_unknown_figures_pass_no_comparison() -> None:
    row = ScriptedSource(counters=False).snapshot(None, 60 * S, 8).threads[0]
    assert not parse_filter("ipc<99").keeps_thread(row)
    assert not parse_filter("ipc>0").keeps_thread(row)


@pytest.mark.parametrize("text", ["speed>3", "cpu>", "cpu>fast", "name>x", "cpu:"])
def test_wrong_filters_say_why(text: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert len(str(caught.value)) > 10


@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_a_reason(text: str) -> None:
    try:
        wanted = parse_filter(text)
    except FilterError:
        return
    for row in FRAME.threads:
        wanted.keeps_thread(row)


# View.


def test_the_cursor_moves_stops_and_follows() -> None:
    view = View()
    assert moved(view, -S, BOUNDS, 100 * S).at_ns == 99 * S
    assert moved(view, 5 * S, BOUNDS, 100 * S).at_ns == 100 * S
    assert at_moment(view, -3, BOUNDS).at_ns == 0
    assert toggled(view, BOUNDS, 100 * S, is_live=True).at_ns == 100 * S
    assert toggled(View(at_ns=5), BOUNDS, 5, is_live=True).is_following
    assert toggled(View(), BOUNDS, 100 * S, is_live=False) == View(at_ns=0, speed=1.0)
    assert toggled(View(at_ns=5, speed=2.0), BOUNDS, 7, is_live=False) == View(at_ns=7)


def test_playing_advances_by_its_speed_and_ends() -> None:
    view = View(at_ns=0, speed=10.0)
    assert advanced(view, S, BOUNDS, is_live=False).at_ns == 10 * S
    assert advanced(view, 11 * S, BOUNDS, is_live=False) == View(at_ns=100 * S)
    assert advanced(view, 11 * S, BOUNDS, is_live=True).is_following
    assert with_speed(View(at_ns=0), 1, BOUNDS, 0).speed == 1.0
    assert with_speed(View(), 1, BOUNDS, 100 * S).speed is None
    speeds = View(at_ns=0, speed=1.0)
    for _ in range(12):
        speeds = with_speed(speeds, 1, BOUNDS, 0)
    assert speeds.speed == 100


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=30), st.integers(1, 10**6))
def test_zoom_stays_between_5_s_and_the_session(steps: list[int], seconds: int) -> None:
    bounds = (0, seconds * S)
    view = View()
    for step in steps:
        view = zoomed(view, step, bounds)
        assert view.span_s is None or view.span_s >= 5
        assert view.span_ns(bounds) >= 5 * S or view.span_s is None


WALL = 1_767_225_600 * S


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("+90", 90 * S),
        ("-30s", 20 * S),
        ("start", 0),
        ("end", 100 * S),
        ("00:00:10", 10 * S),
        ("00:01", 60 * S),
        ("t1", 7 * S),
    ],
)
def test_typed_moments(text: str, found: int) -> None:
    moments = ((7 * S, "T1 host-slow"),)
    assert parse_moment(text, bounds=BOUNDS, shown_ns=50 * S, wall_ns=WALL + 50 * S, moments=moments) == found


@pytest.mark.parametrize("text", ["", "x", "25:00", "+", "+500", "12:00:00", "-", "1:2:3:4", "1:x"])
def test_wrong_moments_say_why(text: str) -> None:
    assert isinstance(parse_moment(text, bounds=BOUNDS, shown_ns=50 * S, wall_ns=WALL, moments=()), str)


def test_a_time_over_midnight_is_found() -> None:
    bounds = (0, 7200 * S)
    wall = WALL + 3600 * S  # the cursor is at 01:00, the session began at 23:30 the day before
    assert parse_moment("23:45", bounds=bounds, shown_ns=5400 * S, wall_ns=wall, moments=()) == 900 * S
    assert "no wall-clock" in str(parse_moment("23:45", bounds=bounds, shown_ns=0, wall_ns=None, moments=()))


# Config.


def test_settings_survive_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config.toml"
    settings = Settings(
        theme="light",
        ascii=True,
        fps=2.0,
        hidden_columns=("ipc", "n"),
        keys=(("quit", ("Q", "ctrl+q")),),
        config_path=path,
    )
    assert save_settings(settings) == path
    assert load_settings(path) == settings
    assert load_settings(tmp_path / "none.toml") == replace(Settings(), config_path=tmp_path / "none.toml")


def test_the_written_file_shows_every_setting_and_key() -> None:
    written = dump_settings(Settings())
    assert set(tomllib.loads(written)["ui"]) == set(KEPT)
    assert all(f"# {action.id} = " in written for action in ACTIONS)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[ui]\ntheme = 'pink'", 2, "theme needs one of"),
        ("[ui]\nfps = 4\n\nspeed = 3", 4, "no setting 'speed'"),
        ("[ui]\nfps = 400", 2, "from 0.5 to 20"),
        ("[ui]\nascii = 1", 2, "ascii needs one of false, true"),
        ("# hello\n[uii]\n", 2, "no table [uii]"),
        ("[ui]\nfps = \n", 2, "Invalid value"),
        ("[keys]\nquit = 3", 2, "quit needs a key"),
        ("[keys]\nleave = 'x'", 2, "no action 'leave'"),
        ("[ui]\nfps = 4.0\n[keys]\n# a\nquit = '?'", 5, "'?' is both help and quit"),
        ("[ui]\nhidden_columns = 'ipc'", 2, "needs a list of names"),
        ("ui = 3", 1, "no table [ui]"),
    ],
)
def test_config_mistakes_name_their_line(text: str, line: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_settings(text, "c.toml")
    assert f"c.toml, line {line}: " in str(caught.value)
    assert words in str(caught.value)


def test_unreadable_config_is_said(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_settings(path)
    with pytest.raises(UsageError, match="can't be written"):
        save_settings(replace(Settings(), config_path=path / "sub" / "x"))


def test_every_offered_value_is_accepted() -> None:
    for key, values in CHOICES.items():
        assert [check_value(key, value) for value in values] == [""] * len(values)


def test_keys_in_words() -> None:
    assert key_word("shift+left") == "shift+←"
    assert key_word("shift+left", is_ascii=True) == "shift+left"
    assert key_word("+") == "+"
    assert Keymap({"quit": ()}).first("quit") == ""
    assert clashes({}) == []


# Editor, selection, layout, palette.


def test_the_line_editor() -> None:
    edit = LineEdit("ab cd")
    for key in ("left", "left", "backspace", "x", "home", "delete", "end", "y"):
        edit.key(key, key if len(key) == 1 else None)
    assert edit.text == "bxcdy"
    edit.key("ctrl+w", None)
    assert edit.text == ""
    edit.insert("a\tb\x1b[31mc")
    assert edit.text == "a    bc"
    assert not edit.key("f5", None)
    edit.key("ctrl+a", None)
    assert plain(edit.line("filter", 40, BLOCK, error="bad")) == "filter a    bc  bad"
    long = LineEdit("x" * 100)
    assert len(plain(long.line("f", 30, BLOCK))) <= 30


def test_the_selection_sticks_to_its_row() -> None:
    panel = Panel()
    panel.set(["b", "c"], 2)
    panel.set(["a", "b", "c", "d"], 2)
    assert panel.key == "b"
    panel.set(["c", "a", "b", "d"], 2)  # nobody chose it, and it is out of sight: the first is the most important
    assert (panel.key, panel.top) == ("c", 0)
    panel.choose("e")
    assert panel.key == "c"
    panel.set(["e", "a", "b", "c", "d"], 2)
    assert panel.key == "e"
    panel.set(["a", "b", "c", "d"], 2)
    panel.move(2)
    assert (panel.key, list(panel.visible())) == ("c", [1, 2])
    panel.set(["x", "c", "a"], 2)
    assert (panel.key, panel.index) == ("c", 1)
    panel.set(["x"], 2)
    assert panel.key == "x"
    panel.set([], 2)
    assert (panel.key, panel.index, list(panel.visible())) == (None, 0, [])
    panel.move(1)


@given(st.integers(0, 120), st.integers(0, 30), st.integers(0, 60), st.integers(0, 3000))
def test_panels_never_take_more_lines_than_there_are(lines: int, findings: int, stages: int, threads: int) -> None:
    layout = share_lines(lines, findings, stages, threads)
    titles = (layout.findings > 0) + (layout.threads > 0) + (layout.stages > 0)
    assert min(layout.timeline, layout.findings, layout.stages, layout.threads) >= 0
    assert layout.timeline + layout.findings + layout.stages + layout.threads + titles <= max(lines, 2)
    if lines >= 9 and stages and threads:
        assert layout.stages
        assert layout.threads


def test_a_position_in_a_cycle_is_said_in_words() -> None:
    """``1/3`` read as a fraction."""
    row = replace(FRAME.stages[0], class_key="2/3")
    for cells, word in ((120, "run 3 of 3"), (78, "run 3 of 3")):
        line = plain(stage_line(row, choose(STAGE_COLUMNS, cells), RELATIVE, "relative", BLOCK))
        assert line.startswith(f"{word} ")
    long = replace(row, class_key="11/24")
    assert plain(stage_line(long, choose(STAGE_COLUMNS, 78), RELATIVE, "relative", BLOCK)).startswith("12 of 24 ")
    assert (run_words("0/1"), run_words("a/b"), run_words(None)) == ("", "", "")
    why = next(why for name, _, why in stage_reasons(row) if name == "class")
    assert why == "run 3 of 3 in the cycle that the lines show; class:2/3 filters it, counted from 0"


def test_palette_matching_and_cpu_ranges() -> None:
    assert matches("gro th", "group threads: none") is not None
    assert matches("zzz", "group") is None
    assert (matches("mark", "mark put") or 0) < (matches("mark", "next mark") or 0)
    assert ranges([3, 0, 1, 2, 16, 9, 8]) == "0-3,8-9,16"


def test_threads_sort_by_figures_unknown_last_and_keep_their_places_while_following() -> None:
    rows = FRAME.threads
    order = ThreadList()
    first = order.ordered(rows, "cpu_percent", is_reversed=False, at_ns=0, involved=set())
    assert [row.name for row in first[:2]] == ["gpu-worker", "dispatch"]
    shuffled = tuple(reversed(rows))
    assert order.ordered(shuffled, "cpu_percent", is_reversed=False, at_ns=S, involved=set()) == first
    involved = order.ordered(rows, "cpu_percent", is_reversed=False, at_ns=S, involved={7})
    assert involved[0].name == "gc"
    back = order.ordered(rows, "cpu_percent", is_reversed=True, at_ns=S, involved=set())
    alive, ended = [row for row in first if row.is_alive], [row for row in first if not row.is_alive]
    assert ended
    assert first == alive + ended
    assert back == alive[::-1] + ended[::-1]
    assert sort_key(ScriptedSource(counters=False).snapshot(None, S, 4).threads[0], "ipc")[0] == 1


# Themes and terminals.


def test_every_style_of_every_theme_has_contrast() -> None:
    """At least 4.5 for each text colour on each background it can lie on."""
    low = []
    for palette in palettes.PALETTES.values():
        if palette.background is None:
            continue
        looks = palettes.Styles(palette)
        for name, base in product(palettes.STYLES, ("", "sel", "head", "bar")):
            style = looks.get(name, base)
            assert style.color is not None
            assert style.bgcolor is not None
            assert style.color.triplet is not None
            assert style.bgcolor.triplet is not None
            ratio = palettes.contrast(style.color.triplet.hex, style.bgcolor.triplet.hex)
            if ratio < 4.5:
                low.append((palette.name, name, base, round(ratio, 2)))
    assert low == []


def test_states_stay_apart_without_green_cones() -> None:
    """Fast and slow cores, ok and critical: still different to a deuteranope (and told by words anyway)."""

    def distance(first: str, second: str) -> float:
        a, b = (palettes.deuteranopia(c) for c in (first, second))
        return sum((int(a[i : i + 2], 16) - int(b[i : i + 2], 16)) ** 2 for i in (1, 3, 5)) ** 0.5

    for palette in palettes.PALETTES.values():
        if palette.background is not None:
            assert distance(palette.colours["class0"], palette.colours["class1"]) > 60, palette.name
            assert distance(palette.colours["ok"], palette.colours["crit"]) > 30, palette.name


def test_contrast_of_black_on_white() -> None:
    assert palettes.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palettes.contrast("#777777", "#777777") == 1


def test_mono_and_ansi_never_name_a_background() -> None:
    for name in ("mono", "ansi"):
        looks = palettes.Styles(palettes.PALETTES[name])
        for style, base in product(palettes.STYLES, ("", "sel", "head", "bar")):
            assert looks.get(style, base).bgcolor is None
            if name == "mono":
                assert looks.get(style, base).color is None


@pytest.mark.parametrize(
    ("environ", "system", "theme"),
    [({"NO_COLOR": "1"}, "truecolor", "mono"), ({}, "standard", "ansi"), ({}, None, "mono"), ({}, "256", "dark"),
     ({"COLORFGBG": "0;15"}, "truecolor", "light"), ({"COLORFGBG": "15;0"}, "truecolor", "dark")],
)  # fmt: skip
def test_the_theme_for_a_terminal(environ: dict[str, str], system: str | None, theme: str) -> None:
    assert terminal.theme_for(environ, system) == theme


@pytest.mark.parametrize(
    ("environ", "is_ascii"),
    [({}, False), ({"LANG": "C.UTF-8"}, False), ({"LANG": "C"}, True), ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
     ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True), ({"TERM": "linux", "LANG": "C.UTF-8"}, True),
     ({"LC_CTYPE": "C.UTF-8"}, False), ({"LANG": "en_US.utf8"}, False), ({"LANG": "de_DE.ISO-8859-1"}, True)],
)  # fmt: skip
def test_when_only_ascii_is_safe(environ: dict[str, str], is_ascii: bool) -> None:
    assert terminal.wants_ascii(environ) == is_ascii


def test_a_groups_wait_is_by_the_columns_formula_not_its_worst_members() -> None:
    """Three threads at 90, 2.7 and 2.8 % were shown as a group of 90 %."""
    [one, *_] = ScriptedSource().snapshot(None, 60 * 10**9, 10).threads
    figures = ((2.0, 18.0), (70.0, 1.94), (60.0, 1.73))  # CPU % and delay %: waits of 90, 2.7 and 2.8 %
    rows = [replace(one, cpu_percent=Figure(cpu), delay_percent=Figure(delay)) for cpu, delay in figures]
    assert total_wait(rows).value == pytest.approx(100 * 21.67 / (132 + 21.67))
    starved = replace(one, cpu_percent=Figure(0.0), delay_percent=Figure(95.0))
    assert total_wait([starved]).value == 100.0
    assert total_wait([replace(one, cpu_percent=Figure(0.0), delay_percent=Figure(0.0))]).value == 0.0
    unread = replace(one, delay_percent=Figure(None, "unknown", "not read"))
    assert total_wait([unread]).value is None
    assert total_wait([rows[0], unread]).quality == "estimated"
    group = Group("srv", tuple(rows), False)
    line = "".join(text for text, _ in group_line(group, choose(columns([group]), 120), ("P", "E"), BLOCK))
    assert " 14 " in line or " 14.1 " in line
