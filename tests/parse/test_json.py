"""JSON lines: units by the same rule, nothing twice, damage counted."""

import pytest

from livemon.parse.options import ParseOptions
from tests.parse.reading_lines import one, read, stages


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"msg":"done","took":"3.25s","expected-duration":"100ms"}', {"took": 3250.0}),
        ('{"t":{"$date":"2026-03-10T20:58:09.525+00:00"},"attr":{"durationMillis":120}}', {"attr.duration": 120.0}),
        ('{"props":{"ElapsedMilliseconds":"1635.5"},"message":"finished in 1635.5ms"}', {"props.Elapsed": 1635.5}),
        ('{"a_ms":7}{"b_ms":9}', None),
        ('prefix 12 {"queue_us": 250}', {"queue": 0.25}),
        ('{"headers":{"x_ms":5},"wait_ms":1.5}', {"wait": 1.5}),
        ('{"ph":"X","name":"k","pid":1,"tid":2,"ts":10,"dur":1500}', {"dur": 1.5}),
        ('{"logger":"http.log.access.log0","request":{},"duration":0.25}', {"duration": 250.0}),
    ],
)
def test_durations_in_objects(line: str, expected: dict[str, float] | None) -> None:
    records, stats = read(line + "\n")
    if expected is None:
        assert [dict(r.stages) for r in records] == [{"a": 7.0}, {"b": 9.0}]
    else:
        assert [dict(r.stages) for r in records] == [expected]
    assert stats.malformed == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"level":30,"time":1745532517537,"pid":17,"msg":"received"}',
        '{"ts":1716723830.5,"status":200,"size":446,"sent-request-id":11249020940439591963,"retry-timeout":"500ms"}',
        '{"duration":20950259,"status":200}',
        "[1, 2, 3]",
        "{'python': 'dict', 'x_ms': 3}",
        'WARN {"level": null}',
        '{"queue_ms":null,"wait_ms":-1,"note":"-"}',
        "{}",
    ],
)
def test_objects_without_durations(line: str) -> None:
    records, stats = read(line + "\n")
    assert (records, stats.malformed) == ([], 0)


@pytest.mark.parametrize(
    ("line", "malformed", "expected"),
    [
        ('{"took":"0.1015', 1, []),
        ('{"took_ms":0.1015', 1, []),
        ('{"a_ms":true,"b_ms":[1],"c_ms":{},"d_ms":"x","e_ms":4}', 4, [{"e": 4.0}]),
        ('{"a_ms":NaN,"b_ms":1e999,"c_ms":-3.5,"d_ms":4}', 3, [{"d": 4.0}]),
        ('{"a_ms":99999999999999999999999999999999}', 1, []),
    ],
)
def test_damage_and_nonsense_are_counted(line: str, malformed: int, expected: list[dict[str, float]]) -> None:
    records, stats = read(line + "\n")
    assert [dict(r.stages) for r in records] == expected
    assert stats.malformed == malformed


def test_facts_of_an_object() -> None:
    record = one('{"time":"2024-04-16T15:03:32Z","x-request-id":"a9","route":"/m","pid":9,"took":"1ms"}')
    assert (record.unit, record.label, record.pid, record.clock) == ("a9", "/m", 9, "unix")
    assert record.t_ns == 1713279812 * 10**9


def test_a_declared_name_matches_the_path_or_its_end() -> None:
    line = '{"res":{"responseTime":333,"status":200}}'
    for name in ("responseTime", "res.responseTime"):
        assert stages(line, ParseOptions(units=((name, "ms"),))) == {"res.responseTime": 333.0}


def test_the_message_is_read_when_the_object_gives_nothing() -> None:
    assert stages('{"level":"info","msg":"[c_api_timing] run= 3  total=12.5"}') == {"total": 12.5}
    assert stages('{"level":"info","msg":"x took=5ms"}') == {"took": 5.0}


def test_otlp_spans() -> None:
    span = '{"traceId":"5b8e","spanId":"ee","name":"decode","startTimeUnixNano":"1750000000000000000","endTimeUnixNano":"1750000000012500000"}'
    for line in (span, f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}'):
        record = one(line)
        assert dict(record.stages) == {"decode": 12.5}
        assert (record.source, record.unit, record.start_ns) == ("otlp", "5b8e", 1750000000000000000)
    assert read(span.replace('"1750000000012500000"', '"17"') + "\n")[1].malformed == 1


def test_deep_nesting_is_survived() -> None:
    line = '{"a":' * 20_000 + "1" + "}" * 20_000
    records, _ = read(line + "\n")
    assert records == []


def test_figures_over_several_units_are_no_samples() -> None:
    assert stages('{"avg_ms": 3, "p99_ms": 9}') == {}
    assert stages('{"max_ms": 3}') == {}
    assert stages('{"max_ms": 3, "decode_ms": 2}') == {"decode": 2.0}


def test_the_time_of_an_object_may_be_in_an_object() -> None:
    line = '{"t": {"$date": "2026-03-10T20:58:09.5Z"}, "attr": {"durationMillis": 120}}'
    assert one(line).t_ns == 1_773_176_289_500_000_000


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"prefill":{"ms":12.3},"decode":{"ms":45}}', {"prefill": 12.3, "decode": 45.0}),
        ('{"kind":"C","stages":{"prefill":{"us":12300},"tokens":17}}', {"stages.prefill": 12.3}),
        ('{"timings_ms":{"prefill":12.3,"decode":45,"tokens":17,"step":3}}', {"timings.prefill": 12.3, "timings.decode": 45.0}),
        ('{"ms":{"prefill":12.3}}', {"prefill": 12.3}),
        ('{"latency_us":{"stages":{"load":500}}}', {"latency.stages.load": 0.5}),
        ('{"stats":{"elapsed":{"secs":1,"nanos":500000,"human":"1s"},"searches":1}}', {"stats.elapsed": 1000.5}),
        ('{"total":{"ms":12.5,"us":12500}}', {"total": 12.5}),
        ('{"prefill":{"time_ms":12.3},"total":{"value_ms":60}}', {"prefill.time": 12.3, "total.value": 60.0}),
    ],
)  # fmt: skip
def test_a_unit_in_the_path_is_explicit(line: str, expected: dict[str, float]) -> None:
    assert stages(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        '{"users":{"us":12,"de":3}}',
        '{"requests":{"us":12}}',
        '{"backoff":{"secs":5,"nanos":0},"timeout":{"ms":30}}',
        '{"start_time":{"seconds":1700000000,"nanos":5}}',
        '{"retry_config":{"delay":{"ms":5},"pauses_ms":{"first":3}}}',
        '{"timeouts_ms":{"connect":300},"timeout_ms":{"connect":300}}',
        '{"total":{"seconds":1,"milliseconds":500}}',
        '{"prefill":{"s":"text","ms":-1}}',
        '{"latency":12.3,"prefill":{"value":12.3,"unit":"ms"}}',
        '{"latency_ms":{"avg":5,"p99":9,"count":3}}',
    ],
)
def test_what_a_path_does_not_make_a_measured_duration(line: str) -> None:
    records, stats = read(line + "\n")
    assert ([dict(r.stages) for r in records], stats.malformed) == ([], 0)


def test_a_declared_unit_goes_before_the_one_in_the_path() -> None:
    assert stages('{"x":{"ms":5}}', ParseOptions(units=(("x.ms", "us"),))) == {"x.ms": 0.005}
    assert stages('{"x_ms":{"a":5}}', ParseOptions(units=(("x_ms.a", "us"),))) == {"x_ms.a": 0.005}
    assert read('{"x":{"ms":-3}}\n')[1].malformed == 1
