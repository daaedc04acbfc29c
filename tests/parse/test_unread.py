"""What looks like timing and is not taken is told, field by field, with what would read it; the rest is not."""

import re
import shlex

import pytest

from livemon.parse.explain import Explainer
from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from tests.parse.mixed_lines import MIXED
from tests.parse.reading_lines import stages


def explained(line: str) -> list[str]:
    """The lines of an explanation that tell of fields."""
    options = ParseOptions(zone="UTC")
    explainer = Explainer(options)
    LineReader(options, explainer=explainer).feed(line.encode() + b"\n")
    return [said.strip() for said in explainer.take() if "not read: " in said or "no class: " in said]


@pytest.mark.parametrize(
    ("line", "field", "reason", "remedy"),
    [
        ('{"latency":12.3}', "latency=12.3", "no unit", "--unit latency=ms"),
        ('{"prefill":{"value":12.3,"unit":"ms"}}', "prefill.value=12.3", "no unit", "--unit prefill.value=ms"),
        ('{"took_ms":1,"timeout_ms":30}', "timeout_ms=30", "a plan, a limit", "--unit timeout_ms=ms"),
        ('{"ms":12.3,"op":"prefill"}', "ms=12.3", "a unit without a name", "--unit ms=ms"),
        ('{"took_ms":1,"stages":[{"name":"a","ms":5}]}', "stages[0].ms=5", "inside an array", "jq"),
        ('{"took_ms":1,"msg":"done in 5 ms"}', "msg: 'in 5 ms'", "the text is not searched", ""),
        ('{"msg":"latency: 5"}', "latency=5", "no unit", "--unit latency=ms"),
        ("decode=45ms total=60", "total=60", "no unit", "--unit total=ms"),
        ("decode=45ms latency: 5", "latency=5", "no unit", "--pattern"),
        ("decode=45ms timeout=30s", "timeout 30s", "a plan, a limit", "--unit timeout=s"),
        ("decode=45ms avg: 3 ms", "avg 3 ms", "over several units", ""),
        ("decode=45ms 3 ms/token", "3 ms", "a rate", ""),
        ("decode=45ms request finished in 60 ms", "60 ms", "only prose names it", "--labels"),
        ('decode=45ms msg="prefill: 9 ms"', "prefill 9 ms", "", "--pattern"),
        ("prefill: 12.3 ms", "prefill 12.3 ms", "only prose names it", "--labels"),
        ("decode=45ms 1.5 ms", "1.5 ms", "no name stands clearly", ""),
        ("track=3ms decode=45ms", "track 3ms", "a length", "--unit track=ms"),
    ],
)
def test_a_field_that_was_not_taken_is_told_with_its_reason(line: str, field: str, reason: str, remedy: str) -> None:
    said = explained(line)
    assert [s for s in said if s.startswith(f"not read: {field}: ") and reason in s and remedy in s], said


@pytest.mark.parametrize("line", ['{"latency":12.3,"prefill":{"ms":9}}', "decode=45ms total=60", "a=1ms queue: 5 x"])
def test_the_option_that_is_named_reads_the_field(line: str) -> None:
    for said in explained(line):
        option, value = shlex.split(said[said.index("--") :].partition(" (or")[0].partition(" reads")[0])
        if option == "--unit":
            name, _, unit = value.partition("=")
            options = ParseOptions(units=((name, unit),), zone="UTC")
        else:
            options = ParseOptions(patterns=(value,), zone="UTC")
        number = re.search(r"=([\d.]+)", said)
        assert number is not None
        assert float(number[1]) in stages(line, options).values()


@pytest.mark.parametrize(
    "line",
    [
        "2026-12-01 02:00:00,123 INFO step=12 prefill: 12.3ms decode=45ms total 60 ms",
        "[c_api_timing] run= 7  prepare_ctx=0.55  total=47.31",
        "INFO 12-01 10:03:14 [loggers.py:87] worker 7 of 12 is ready at port 8080",
        '{"time":1745532517537,"pid":17,"ts":1745532517.5,"status":200,"took_ms":3}',
        '{"timings_ms":{"prefill":12.3},"stats":{"elapsed":{"secs":0,"nanos":137622,"human":"0.000138s"}}}',
        "[STRACE] v=1 pid=42 tid=42 inv=3 hid=9c depth=1 name=chip.run ts=5000 dur=7000",
    ],
)
def test_what_was_taken_and_what_is_no_timing_is_not_told(line: str) -> None:
    assert explained(line) == []


def test_nothing_with_a_unit_vanishes_from_a_mixed_line() -> None:
    """Each number with a unit is a stage, or is told."""
    for line, expected in MIXED:
        measures = re.findall(r"(?<![\d.:\[])\d+(?:\.\d+)? ?(?:ms|us|s)\b(?!\])", line)
        told = sum(said.startswith("not read: ") for said in explained(line))
        if "ETA" not in line and "1990s" not in line:
            assert len(expected) + told >= len(measures), (line, explained(line))


def test_a_field_that_may_name_the_class_is_told_where_there_is_none() -> None:
    assert explained('{"kind":"C","took_ms":3}') == [
        'no class: kind=C is kept as a field; criteria with classes.keys = ["kind"] tell units apart by it'
    ]
    assert explained('{"kind":"C","op":"x","took_ms":3}') == []
