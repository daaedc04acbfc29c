"""Lines of plain pairs read by a plan of their keys give exactly what the long way gives."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.parse import json_plans, jsonlines, keyplans
from livemon.parse.keyplans import KeyPlans
from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from livemon.parse.stream import TimingStream
from livemon.parse.timestamps import Calendar
from tests.parse.reading_lines import DEFAULT

KEYS = [
    "ts", "time", "level", "msg", "path", "status", "duration", "took", "dur_ms", "wait_us", "queue", "request_id", "run",
    "id", "traceID", "pid", "tid", "kernel", "name", "route", "timeout", "timeout_ms", "tok_s", "p99", "avg_ms", "total",
    "dur", "dur_ns", "ElapsedMillis", "controller", "action", "phase", "start_ns", "ms", "s", "ns_x", "query_type", "step",
    "length", "iteration", "caller", "elapsed.total", "x-y",
]  # fmt: skip
VALUES = [
    "info", "200", "5ms", "3.25ms", "17µs", "1m40s", "-5ms", "nan", "infs", "-1", "-", "null", "1e3", "1e3ms", "007", "1,5ms",
    "1,048.5", "48.28.1ms", "99999999s", "0x30ms", "+5ms", ".5ms", "5.ms", "5.", "abc:", "12", "12.5", "a.go:12", "/api/v1",
    "(x)", "a=b", "'q'", "[1]", "{}", '{"a":1}', '""', '"5ms"', '"a b"', '"took 5 ms"', '"a=5ms b"', '"x\\"y"', '"it\'s"',
    '"GET /x (200)"', '"GC(7) step 12"', '"task 7 | x"', '"ETA: 5s"', '"3.5 it/s"', '"duration: 5ms"', '" 200 5ms"', '"abc{"',
    "2024-04-16T15:10:07.123456Z", "2024-04-16T15:10:07Z", "2024-02-30T15:10:07Z", "2024-04-16T25:10:07Z",
    "2024-04-16T15:10:07.1234567891Z", "2024-04-16T15:10:07.5+02:00", "2024-04-16T15:10:07,5Z", '"2024-04-16T15:10:08Z"',
    '"2024-04-16 15:10:07"', "1970-01-01T00:00:00Z", "15:10:07", "2024-04-16T15:10:07Zx", "1713280207", "x_timing", "[x_timing]",
    "\x1b[1m5ms", "5ms\x00", "\ufeff5ms", "5\u00a0ms", "٣ms", "٣", "", "ms", "n", "inf", "f00f-1d", "step", "traceID", "REPORT", "5msec", "7s", "12ns",
]  # fmt: skip
pair = st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES))
orders = st.lists(st.sampled_from(KEYS), min_size=1, max_size=7)


def compare(lines: list[str], options: ParseOptions = DEFAULT) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    slow, fast = LineReader(options), TimingStream(options)
    for reader in (slow, fast):
        reader.calendar.reference_ns = 1_790_000_000_000_000_000
    expected = slow.feed(data)
    assert fast.feed_columns(data) == expected
    assert fast.stats == slow.stats
    assert fast.tail_text == slow.tail_text


@settings(max_examples=400, deadline=None)
@given(st.data(), st.lists(orders, min_size=1, max_size=3), st.sampled_from([" ", " ", " ", "  ", " 7 ", ", "]))
def test_planned_equals_the_long_way(data: st.DataObject, shapes: list[list[str]], between: str) -> None:
    lines = []
    for keys in shapes:
        lines.append(" ".join(f"{key}=1" for key in keys))
        rows = data.draw(
            st.lists(st.lists(st.sampled_from(VALUES), min_size=len(keys), max_size=len(keys)), max_size=8)
        )
        lines += [between.join(f"{k}={v}" for k, v in zip(keys, row, strict=True)) for row in rows]
    compare(lines)


def test_each_key_with_each_value() -> None:
    for key in KEYS:
        compare([f"{key}=1 took=5ms z=x", *(f"{key}={value} took=5ms z=x" for value in VALUES)])
        compare([f"a=1 {key}=1", *(f"a={value} {key}=2.5" for value in VALUES)])


@pytest.mark.parametrize(
    "tail",
    [
        "at=2024-04-16T15:10:09.5Z",
        "at=15:10:09",
        'm="2024-04-16 15:10:09"',
        "c=a.go:12",
        'm="' + "x" * 300 + '" at=2024-04-16T15:10:09Z',
    ],
)
def test_the_stamp_that_wins_is_the_same(tail: str) -> None:
    compare([f"ts=2024-04-16T15:10:0{n}.{n}Z took={n}ms {tail}" for n in range(9)])
    compare([f"took={n}ms {tail} ts=2024-04-16T15:10:0{n}.{n}Z" for n in range(9)])


def test_container_parts_are_joined_between_planned_lines() -> None:
    part = "2025-12-31T17:37:40.493035218+01:00 stdout"
    plain = [f"took={n}ms a=1" for n in range(4)]
    compare([*plain, f"{part} P took=1ms a=", *plain, f"{part} F 7", *plain])


def test_ordinary_lines_take_the_plan() -> None:
    """If they do not, the speed is gone."""
    plans = KeyPlans(Calendar())
    line = 'ts=2024-04-16T15:10:07.5Z level=info msg="GET /x (200)" request_id=r{n} took={n}.5ms'
    assert plans.read(line.format(n=1).encode()) is None
    for n in range(2, 20):
        found = plans.read(line.format(n=n).encode())
        assert found is not None
        assert found.stages == [("took", n + 0.5)]
        assert found.unit == f"r{n}"


def test_marks_of_other_rules_are_looked_for_in_shapes() -> None:
    """What is left out of a line is left out of the marks, and something is left of each."""
    for mark in (*keyplans._MARKS, *keyplans._ID_MARKS):
        assert mark
        assert mark.translate(None, keyplans._VARYING) == mark


def test_timing_that_comes_late_is_read() -> None:
    lines = [f"level=info n={n} took=no" for n in range(100)] + [f"level=info n={n} took={n}ms" for n in range(100)]
    compare(lines + lines)


json_value = (
    st.sampled_from([value.strip('"') for value in VALUES])
    | st.sampled_from([None, True, False, [], [1], {}, {"took": "5ms"}, {"$date": "2024-04-16T15:10:07Z"}, "x" * 250])
    | st.sampled_from([0, 1, -1, -3, 2.5, 1e300, 10**30, float("nan"), float("inf"), 1713280207, 1713280207.5])
)
JSON_KEYS = [
    *KEYS, "@timestamp", "t", "startTimeUnixNano", "endTimeUnixNano", "ai.operation.id", "x.id", "a.ts", "ID", "Kernel", "ph",
    "responseTime", "hostname", "Duration", "DownstreamStatus", "logger", "request", "OriginDuration", "message",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(JSON_KEYS), json_value, max_size=7), max_size=8))
def test_planned_json_equals_the_long_way(objects: list[dict[str, object]]) -> None:
    data = "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in objects).encode()
    outcomes = []
    for plan_of in (jsonlines.plan_of, lambda _: None):
        with pytest.MonkeyPatch.context() as patch:
            json_plans._plans.clear()
            patch.setattr(jsonlines, "plan_of", plan_of)
            reader = LineReader(DEFAULT)
            outcomes.append((repr(reader.feed(data)), reader.stats, reader.tail_text))
    assert outcomes[0] == outcomes[1]


def test_what_is_remembered_is_bounded() -> None:
    reader = LineReader(DEFAULT)
    for n in range(300):
        reader.read_line(f"k{n}=1 took=5ms".encode())
        (record,) = reader.read_line(f"k{n}=2 took=6ms".encode())
        assert record.stages == (("took", 6.0),)
