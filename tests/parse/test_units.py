"""Durations are read whole or not at all."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.parse import units
from livemon.parse.units import MalformedError


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("5ms", 5.0),
        ("5.25 ms", 5.25),
        ("0s", 0.0),
        ("0.0619517s", 61.9517),
        ("3usec", 0.003),
        ("17µs", 0.017),
        ("17μs", 0.017),
        ("250000ns", 0.25),
        ("2 seconds", 2000.0),
        ("1.5secs", 1500.0),
        ("7msecs", 7.0),
        ("68micros", 0.068),
        ("12millis", 12.0),
        ("1m40s", 100_000.0),
        ("2h3m0.5s", 7_380_500.0),
        ("3m7.25s", 187_250.0),
        ("+1s20ms", 1020.0),
        ("5m", 300_000.0),
        ("1,234.5ms", 1234.5),
        ("1e3us", 1.0),
    ],
)
def test_a_duration_with_its_unit(text: str, ms: float) -> None:
    assert units.duration(text) == ms


@pytest.mark.parametrize("text", ["", "5", "ms", "24M", "0x30", "5.2 GB", "tok/s", "12 tokens", "5 ms/token", "abc"])
def test_no_duration_is_none(text: str) -> None:
    assert units.duration(text) is None


@pytest.mark.parametrize(
    "text",
    ["-5ms", "-1m", "nanms", "infs", "1.2.3ms", "1_0ms", "1e400s", "90000s", "25h", "12,5ms", "1,048ms", "400d 1h"],
)
def test_what_looks_like_one_and_is_wrong_is_malformed(text: str) -> None:
    with pytest.raises(MalformedError):
        units.duration(text)


@pytest.mark.parametrize(
    "text", ["nan", "-inf", "Infinity", "0x1f", "1_000", "1.2.3", "12parsec", "0,60", "-3", "1e999", "", "٣"]
)
def test_a_damaged_number_is_malformed(text: str) -> None:
    with pytest.raises(MalformedError):
        units.number(text)


@pytest.mark.parametrize(
    ("text", "value"), [(".5", 0.5), ("+3.5", 3.5), ("7.", 7.0), ("007.5", 7.5), ("4.4e-05", 4.4e-5)]
)
def test_legal_spellings_of_a_number(text: str, value: float) -> None:
    assert units.number(text) == value


def test_a_decimal_comma_counts_only_when_declared() -> None:
    assert units.number("17,83", decimal_comma=True) == 17.83
    assert units.duration("17,83 ms", decimal_comma=True) == 17.83


@given(st.text(max_size=40) | st.from_regex(r"[-+]?[\d.,_e]{1,12}\s?(ms|s|us|ns|h|m|d)?", fullmatch=True))
def test_nothing_but_finite_durations_below_a_day(text: str) -> None:
    """Whatever the text: a finite non-negative number up to a day, None, or MalformedError."""
    try:
        value = units.duration(text)
    except MalformedError:
        return
    assert value is None or (math.isfinite(value) and 0 <= value <= units.CEILING_MS)


@given(st.floats(0, 80_000, allow_nan=False))
def test_scaling_rounds_once(seconds: float) -> None:
    text = f"{seconds:.9f}"
    assert units.milliseconds(text, "s") == float(f"{text}e3")
    assert units.duration(f"{text}s") == float(f"{text}e3")
