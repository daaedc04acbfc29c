"""JSON values onto dataclass fields: whatever stands there, it is what was declared or refused."""

import json

import pytest

from livemon.model.samples import TimingRecord
from livemon.session.jsonl import read_line

RECORD = {
    "kind": "TimingRecord",
    "arrival_ns": 5,
    "t_ns": 5,
    "time_from": "line",
    "source": "s",
    "unit": "1",
    "label": None,
    "stages": [["total", 1.5]],
}


def test_fields_are_what_they_are_declared_to_be() -> None:
    record = read_line(json.dumps(RECORD))
    assert isinstance(record, TimingRecord)
    assert record.stages == (("total", 1.5),)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("arrival_ns", None, "arrival_ns: None is not a whole number"),
        ("arrival_ns", 1 << 63, "arrival_ns: 9223372036854775808 is not a whole number"),
        ("arrival_ns", True, "arrival_ns: True is not a whole number"),
        ("t_ns", 1.5, "t_ns: 1.5 is not a whole number"),
        ("time_from", ["line"], "time_from"),
        ("time_from", "guess", "time_from: 'guess' is none of line, arrival, order"),
        ("unit", 7, "unit: 7 is not text"),
        ("stages", 5, "stages: 5 is not a list"),
        ("stages", [["total"]], "has not 2 parts"),
        ("stages", [["total", float("inf")]], "inf is not a finite number"),
        ("stages", [["total", float("nan")]], "nan is not a finite number"),
        ("stages", [["total", 10**400]], "is not a finite number"),
        ("stages", [["total", -1.0]], "less than no time"),
        ("tid", {}, "tid: {} is not a whole number"),
    ],
)
def test_what_is_not_is_refused_by_name(field: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match="TimingRecord") as caught:
        read_line(json.dumps({**RECORD, field: value}))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "facts",
    [
        {"criteria_toml": []},
        {"topology": {"classes": [1.5]}},
        {"topology": []},
        {"environment": [["a", 1]]},
        {"host": True},
        {"targets": [{"name": "x"}]},
        {"interval_ns": "1"},
    ],
)
def test_so_are_facts(facts: object) -> None:
    with pytest.raises(ValueError, match="facts have the wrong shape"):
        read_line(json.dumps({"kind": "SessionFacts", **facts}))  # type: ignore[dict-item]


def test_half_a_surrogate_pair_is_replaced() -> None:
    record = read_line(json.dumps({**RECORD, "source": "a\ud800"}))
    assert isinstance(record, TimingRecord)
    assert record.source == "a?"


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_line("[" * 100_000)
