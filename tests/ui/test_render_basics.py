"""Numbers, text, scales, sparklines, lanes, tables: exact strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.model.snapshot import Figure, Lane, Series, Verdict
from livemon.ui.render.chart import bands, bars, histogram
from livemon.ui.render.glyphs import ASCII, BLOCK, BRAILLE
from livemon.ui.render.lane import class_letters, lane
from livemon.ui.render.line import clean, fit, fit_line, line_width, plain, width, wrap
from livemon.ui.render.numbers import (
    Stamps,
    duration,
    figure,
    milliseconds,
    milliseconds_words,
    percent,
    ratio,
    significant,
    size,
)
from livemon.ui.render.scale import PERCENT, RELATIVE, Scale, nice_linear, nice_log
from livemon.ui.render.spark import bar, end_cell, points, slices, spark
from livemon.ui.render.summary import verdict_line
from livemon.ui.render.table import Column, choose, column_at, header


def series(*values: float | None, first: int = 0) -> Series:
    return Series(first, 1_000_000_000, values, values)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0.00"), (0.58, "0.58"), (0.9949, "0.99"), (9.996, "10.0"), (19.72, "19.7"), (99.95, "100"),
     (150.38, "150"), (9999.4, "9999"), (12_040, "12.04s"), (360_000_000, "100h"), (float("nan"), "–")],
)  # fmt: skip
def test_milliseconds(value: float | None, shown: str) -> None:
    assert milliseconds(value) == shown
    assert len(shown) <= 6


def test_units_are_said_once() -> None:
    assert milliseconds_words(64.4) == "64.4 ms"
    assert milliseconds_words(14_470) == "14 s"
    assert milliseconds_words(None) == "–"


@pytest.mark.parametrize(("value", "shown"), [(0.34, "0.3"), (9.97, "10"), (97.4, "97"), (1495, "1495"), (None, "–")])
def test_percent_has_room_for_more_than_100(value: float | None, shown: str) -> None:
    assert percent(value) == shown


def test_figures_carry_their_quality() -> None:
    assert figure(Figure(1.234), "ratio", BLOCK) == "1.23"
    assert figure(Figure(1.4, "scaled", "62 %"), "ratio", BLOCK) == "~1.40"
    assert figure(Figure(1.4, "stale", "3 s old"), "ratio", BLOCK) == "1.40'"
    assert figure(Figure(None, "unknown", "no PMU"), "ratio", BLOCK) == "–"
    assert figure(Figure(None, "unknown", "no PMU"), "ratio", ASCII) == "-"
    assert figure(Figure(31.0), "percent", BLOCK) == "31"


def test_other_numbers() -> None:
    assert [significant(v) for v in (0.001, 1.26, 12.34, 123.4)] == ["0.00", "1.26", "12.3", "123"]
    assert [ratio(v, BLOCK) for v in (1.26, 18.4, None)] == ["1.26×", "18×", "–"]
    assert [size(v) for v in (0, 812, 3_240_000, 99_950_000, 5e12)] == ["0 B", "812 B", "3.2 MB", "100 MB", "5.0 TB"]
    assert [duration(v) for v in (0.84, 42.4, 59.6, 245, 3723, -3)] == [
        "0.8 s",
        "42 s",
        "1:00",
        "4:05",
        "1:02:03",
        "-3.0 s",
    ]


def test_moments_are_wall_time_or_from_the_start() -> None:
    wall = Stamps(0, 1_000_000_000, 1_767_225_601_500_000_000)
    assert wall.time(1_000_000_000) == "00:00:01"
    assert wall.time(1_250_000_000, places=3) == "00:00:01.750"
    assert Stamps(5_000_000_000, 0, None).time(6_500_000_000) == "+1.5s"


def test_text_from_outside_is_made_safe() -> None:
    assert clean("plain") == "plain"
    assert clean("\x1b[31mred\x1b[0m\tx") == "red    x"
    assert clean("\x1b]0;title\x07name") == "name"
    assert clean("a\nb\x00c\u202ed") == "a·b·c·d"


@given(st.text(max_size=40), st.integers(0, 30), st.sampled_from("<>^"))
def test_fit_is_exactly_as_wide_as_asked(text: str, cells: int, align: str) -> None:
    assert width(fit(clean(text), cells, align)) == cells


@given(
    st.lists(st.tuples(st.text(max_size=12).map(clean), st.sampled_from(["text", "warn"])), max_size=6),
    st.integers(1, 30),
)
def test_fit_line_is_exactly_as_wide_as_asked(spans: list[tuple[str, str]], cells: int) -> None:
    assert line_width(fit_line(spans, cells)) == cells


@given(st.text(max_size=60).map(clean), st.integers(2, 20))
def test_wrap_keeps_every_word_and_the_width(text: str, cells: int) -> None:
    parts = wrap(text, cells)
    assert all(width(part) <= cells for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_fit_line_cuts_with_a_sign() -> None:
    assert plain(fit_line((("abc", "text"), ("defgh", "warn")), 6)) == "abcde…"[:5] + "…"
    assert plain(fit_line((("abc", "text"),), 5)) == "abc  "
    assert plain(fit_line((("abc", "text"), ("d", "warn")), 3)) == "ab…"


def test_a_sparkline_shows_zero_low_high_peak_and_gap_apart() -> None:
    scale = Scale("linear", 0, 8, "")
    spans = spark(series(0, 1, 4, 8, 99, None, 2), 7, scale, BLOCK)
    assert plain(spans) == "▁▂▅██┄▃"
    assert ("█", "peak") in spans
    assert plain(spark(series(0, 1, 4, 8, 99, None, 2), 7, scale, ASCII)) == "_.+##:-".replace("##", "@@")
    assert plain(spark(series(None, None, 8), 3, scale, BLOCK)) == "  █"
    assert plain(spark(series(), 3, scale, BLOCK)) == "   "
    assert spark(series(1), 0, scale, BLOCK) == []


def test_equal_values_draw_flat_and_a_small_change_does_not_fill_the_scale() -> None:
    """0.310 against 0.311 is not a six-fold transient."""
    assert plain(spark(series(0.310, 0.311, 0.310), 3, RELATIVE, BLOCK, divide_by=0.31)) == "▂▂▂"
    assert plain(spark(series(0.31, 0.31 * 1.26, 1.8), 3, RELATIVE, BLOCK, divide_by=0.31)) == "▂▃█"


def test_braille_has_two_values_a_cell() -> None:
    assert plain(spark(series(0, 99, None, 99, None, None), 3, PERCENT, BRAILLE)) == "⣸⢸┄"


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1000)), min_size=1, max_size=80),
    st.integers(1, 60),
    st.integers(0, 10_000),
)
def test_no_peak_is_lost_and_none_invented_when_buckets_merge(
    values: list[float | None], cells: int, first: int
) -> None:
    found = points(series(*values, first=first), cells)
    assert len(found) == cells
    shown = [point[1] for point in found if point is not None]
    assert all(value in values for value in shown)
    if cells <= len(values):
        assert max(shown, default=-1) == max((v for v in values if v is not None), default=-1)
    assert found[-1] is not None or values[-1] is None


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 5000), st.integers(1, 9))
def test_a_scrolling_chart_moves_without_changing_its_shape(have: int, cells: int, first: int, step: int) -> None:
    """A column shows the same buckets however far the chart has scrolled (but for its two ends)."""

    def columns(start: int) -> dict[int, object]:
        values = tuple(float(start + k) for k in range(have))
        shown = points(Series(start, 1, values, values), cells)
        end = end_cell(start, have, cells)
        return dict(list(zip(range(end - cells, end), shown, strict=True))[1:-1])

    before, after = columns(first), columns(first + step)
    common = before.keys() & after.keys()
    assert {cell: before[cell] for cell in common if before[cell]} == {
        cell: after[cell] for cell in common if before[cell]
    }


def test_bars() -> None:
    assert bar(0.5, 8, BLOCK) == "████░░░░"
    assert bar(0.45, 10, BLOCK) == "████▌░░░░░"
    assert bar(3.2, 4, BLOCK) == "████"
    assert bar(None, 3, BLOCK) == "   "


def test_scales_say_what_they_are() -> None:
    assert PERCENT.label == "0–100 %"
    assert RELATIVE.label == "0.75–3× log"
    assert nice_linear(84.2, "ms").high == 100
    assert nice_linear(1.3, "ms").high == 1.5
    assert nice_linear(0, "ms").high == 1
    assert nice_log(0.58, 150, "ms").label == "1–200 ms log"
    assert nice_log(8, 60, "ms").label == "5–100 ms log"
    assert nice_log(1, 1, "ms").label == "0.1–1 ms log"


def test_3_and_20_ms_are_told_apart_on_any_logarithmic_scale() -> None:
    for low in (0.001, 0.1, 1.0, 3.0):
        for high in (20.0, 60.0, 150.0):
            scale = nice_log(low, high, "ms")
            assert scale.high >= high
            assert scale.level(20.0, 8) >= scale.level(3.0, 8) + 2


def test_lane_letters_are_unique_for_any_classes() -> None:
    assert class_letters(("P", "E")) == {"unknown": "?", "P": "P", "E": "E"}
    assert class_letters(("P", "LP-E", "E"))["LP-E"] == "L"
    letters = class_letters(("cap512", "cap1024", "cap768"))
    assert len({letters[name] for name in ("cap512", "cap1024", "cap768")}) == 3


def test_a_lane_tells_alone_mixed_idle_and_not_observed() -> None:
    band = Lane(0, 1, ("P", "P", "E", "", None, "E"), (1.0, 0.6, 0.9, None, None, None), True)
    assert plain(lane(band, 6, ("P", "E"), BLOCK)) == "PpE· E"
    assert plain(lane(band, 3, ("P", "E"), BLOCK)) == "PEE"
    assert plain(lane(band, 12, ("P", "E"), BLOCK)) == "PPppEE··  EE"
    assert plain(lane(Lane(0, 1, (), (), True), 4, ("P",), BLOCK)) == "    "


COLUMNS = (
    Column("a", "a", 4, "<"),
    Column("b", "bbb", 3, priority=2),
    Column("c", "c", 5, priority=1, stretch=1, most=9),
)


@given(st.integers(1, 40))
def test_columns_fill_the_width_or_leave_it(cells: int) -> None:
    widths = choose(COLUMNS, cells)
    used = sum(size for _, size in widths) + len(widths) - 1
    assert used <= cells or cells < 4
    assert widths[0][0].key == "a"


def test_columns_go_by_priority_and_header_marks_the_sorted_one() -> None:
    assert [column.key for column, _ in choose(COLUMNS, 20)] == ["a", "b", "c"]
    assert [column.key for column, _ in choose(COLUMNS, 12)] == ["a", "c"]
    assert [column.key for column, _ in choose(COLUMNS, 20, ("b", "a"))] == ["a", "c"]
    widths = choose(COLUMNS, 20)
    assert plain(header(widths, {}, BLOCK, sorted_by="b")) == "a    bb▼         c"
    assert [column_at(widths, x) for x in (0, 4, 5, 8, 9)] == ["a", None, "b", None, "c"]


def test_charts_of_several_rows() -> None:
    scale = Scale("linear", 0, 4, "ms")
    assert [plain(line) for line in bars(series(0, 2, 4), 12, 2, scale, BLOCK)] == [
        " 4.00 ms   ▁█"[:9] + " ▁█",
        "    0.00 ▁██",
    ]
    shown = [plain(line)[9:] for line in bands(series(1, 1), series(2, None), series(3.9, 1), 11, 4, scale, BLOCK)]
    assert shown == ["^ ", "9 "[:1] + " ", "55"[:1] + "5", "  "]


def test_histogram_merges_bins_and_skips_empty_ends() -> None:
    lines = histogram((1, 2, 4, 8, 16), (0, 4, 2, 0), 40, 10, BLOCK)
    assert [plain(line).split() for line in lines] == [
        ["2.00–4.00", "ms", "█" * 14, "4"],
        ["4.00–8.00", "ms", "█" * 7, "2"],
    ]
    assert len(histogram((1, 2, 4, 8, 16), (1, 4, 2, 1), 40, 2, BLOCK)) == 2
    assert histogram((1, 2), (0,), 40, 2, BLOCK) == []


def test_ascii_is_ascii_and_as_wide() -> None:
    for text in ("1.26× · ≤ 5 µs → E …", "日本", "é–▲█┄"):
        assert ASCII.cells_in_ascii(text).isascii()
        assert width(ASCII.cells_in_ascii(text)) == width(text)
    assert ASCII.ascii_only("1.26× → E") == "1.26x -> E"
    assert BLOCK.ascii_only("1.26×") == "1.26×"


@pytest.mark.parametrize(
    ("level", "said", "shown"),
    [
        ("warming", "warming up: 3 of 40 units · 9 units/s", " WARMING UP  3 of 40 units · 9 units/s"),
        ("ok", "ok · 50 units/s", " OK  50 units/s"),
        ("critical", "HOST-SLOW for 2.4 s", " CRITICAL  HOST-SLOW for 2.4 s"),
    ],
)
def test_the_verdict_does_not_say_its_level_twice(level: str, said: str, shown: str) -> None:
    line = verdict_line(Verdict(level, said), 80, BLOCK)  # type: ignore[arg-type]
    assert "".join(part for part, _ in line).rstrip() == shown


@given(
    st.lists(st.tuples(st.sampled_from(["P", "E", "", None]), st.floats(0.4, 1.0)), min_size=1, max_size=40),
    st.integers(0, 500),
    st.integers(1, 60),
)
def test_a_lane_cell_shows_the_class_with_most_time_in_its_buckets(
    buckets: list[tuple[str | None, float]], first: int, cells: int
) -> None:
    """As told by adding up each cell's buckets one by one."""
    names = tuple(name for name, _ in buckets)
    shares = tuple(share if name else None for name, share in buckets)
    wanted = ""
    for part in slices(first % len(buckets), len(buckets), cells):
        known = [(name, share) for name, share in zip(names[part], shares[part], strict=True) if name is not None]
        sums = {name: sum(s or 0.0 for n, s in known if n == name) for name, _ in known if name}
        if not sums:
            wanted += BLOCK.idle if known else " "
            continue
        most = max(sums, key=sums.__getitem__)
        busy = sum(1 for name, _ in known if name)
        wanted += most if sums[most] / busy >= 0.75 else most.lower()
    assert plain(lane(Lane(first, 1, names, shares, is_exact=True), cells, ("P", "E"), BLOCK)) == wanted


@given(st.lists(st.floats(0.0, 10.0) | st.none(), min_size=1, max_size=40), st.integers(0, 500), st.integers(1, 60))
def test_a_sparkline_cell_shows_the_maximum_of_its_buckets(values: list[float | None], first: int, cells: int) -> None:
    shown = plain(spark(series(*values, first=first), cells, Scale("linear", 0.0, 8.0, "ms"), BLOCK))
    wanted = ""
    for point in points(series(*values, first=first), cells):
        gap = BLOCK.gap if wanted.strip() else " "
        wanted += gap if point is None else BLOCK.blocks[Scale("linear", 0.0, 8.0, "ms").level(point[1], 8)]
    assert shown == wanted
