"""User patterns, and options that can't work."""

import argparse

import pytest

from livemon.model.errors import UsageError
from livemon.parse.options import ParseOptions, add_parse_arguments, options_from
from tests.parse.reading_lines import one, read, stages


def options(*argv: str) -> ParseOptions:
    parser = argparse.ArgumentParser()
    add_parse_arguments(parser)
    return options_from(parser.parse_args(argv))


def test_the_unit_stands_in_the_name_of_the_group() -> None:
    o = options("--pattern", r"in (?P<T__us>\d+) micros (?P<id>\w+) (?P<size>\d+) at (?P<ts>\S+)", "--zone", "UTC")
    record = one("done in 68 micros ab12 99 at 2024-01-01T00:00:01Z", o)
    assert (dict(record.stages), record.unit, record.source) == ({"T": 0.068}, "ab12", "pattern")
    assert record.fields == (("size", "99"),)
    assert record.t_ns == 1704067201 * 10**9


def test_a_stage_group_names_a_plain_duration_and_prefixes_another() -> None:
    assert stages(
        "Test #2: quantize ... 30.5 sec", options("--pattern", r": (?P<stage>\S+) .* (?P<elapsed__s>[\d.]+) sec")
    ) == {"quantize": 30500.0}
    assert stages("Mark-sweep MB, 5.5 ms", options("--pattern", r"(?P<stage>[\w-]+) MB, (?P<pause__ms>[\d.]+)")) == {
        "Mark-sweep.pause": 5.5
    }


def test_a_group_that_did_not_match_or_says_absent_is_no_stage() -> None:
    o = options("--pattern", r"^(?P<a__ms>-?\d+)/(?:-|(?P<b__ms>\d+))/(?P<c__s>\S+)")
    assert stages("-1/-/0.5", o) == {"c": 500.0}
    records, stats = read("-7/3/nan\n", o)
    assert ([dict(r.stages) for r in records], stats.malformed) == ([{"b": 3.0}], 2)


def test_patterns_are_tried_in_order_and_before_all_else() -> None:
    o = options("--pattern", r"zzz (?P<x__ms>\d+)", "--pattern", r"took=(?P<y__s>\d+)")
    assert stages("took=5ms", o) == {"y": 5000.0}
    assert stages("other=5ms", o) == {"other": 5.0}


def test_compound_values_minutes_and_declared_groups() -> None:
    assert stages("x 1m2s", options("--pattern", r"x (?P<a__go>\S+)")) == {"a": 62000.0}
    assert stages("x 2 m", options("--pattern", r"x (?P<a__m>\d+) m")) == {"a": 120000.0}
    assert stages("x 2", options("--pattern", r"x (?P<a>\d+)", "--unit", "a=s")) == {"a": 2000.0}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--pattern", "(?P<a__ms>["), "no valid expression"),
        (("--pattern", r"(?P<a__parsec>\d+)"), "unit"),
        (("--pattern", r"\d+"), "<stage>__<unit>"),
        (("--pattern", r"(?P<a>\d+)"), "<stage>__<unit>"),
        (("--unit", "a"), "NAME=UNIT"),
        (("--unit", "a=parsec"), "NAME=UNIT"),
        (("--unit", "=ms"), "NAME=UNIT"),
        (("--format", "nosuch"), "--list-formats"),
        (("--zone", "Mars/Olympus"), "zone"),
    ],
)
def test_what_can_not_work_is_refused_with_what_would(argv: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        options(*argv)


def test_any_timing_tag_is_a_format() -> None:
    o = options("--format", "c_api_timing")
    assert stages("[c_api_timing] run=1 total=2.5", o) == {"total": 2.5}
    assert stages("took=5ms", o) == {}
