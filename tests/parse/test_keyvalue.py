"""key=value text without a tag: only what has a unit."""

import pytest

from livemon.parse.options import ParseOptions
from tests.parse.reading_lines import one, read, stages


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Thread 3: orch_start=86702071725377 orch_cost=39.180us", {"orch_cost": 0.03918}),
        ("Thread 0: summary: total_time=23.5us, loops=743, tasks=181", {"total_time": 0.0235}),
        ('validation="5.5ms" queue="161.25s"', {"validation": 5.5, "queue": 161250.0}),
        ("busy=45 µs idle=7usec wait=12.5μs tokens=1024 pid=4242", {"busy": 0.045, "idle": 0.007, "wait": 0.0125}),
        ("took=1m40s queue_us=410 netMillis=3", {"took": 100000.0, "queue": 0.41, "net": 3.0}),
        ("x=1ms,y=2.5ms,z=3", {"x": 1.0, "y": 2.5}),
        ("dur=1,048.5ms", {"dur": 1048.5}),
        ("vm: close time.busy=32.5µs time.idle=280ms", {"time.busy": 0.0325, "time.idle": 280.0}),
        ("GC(4) User=0.25s Sys=0.00s", {"User": 250.0, "Sys": 0.0}),
        (
            "write=4.5 s, sync=0.25 s, total=5 s; files=3, longest=0.1 s, average=0.1 s",
            {"write": 4500.0, "sync": 250.0, "total": 5000.0},
        ),
        ("end_to_end_ms=12.5 time_ms=3", {"end_to_end": 12.5, "time": 3.0}),
    ],
)
def test_the_unit_stands_in_the_value_or_in_the_key(line: str, expected: dict[str, float]) -> None:
    assert stages(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "prompt_tps=2902.2 memory=3.28 status=200",
        "SamplesPerSec=7.45 tokens_per_s=12.5 rate=5/s",
        "timeout=30s retry-timeout=500ms interval=5s eta=3m expected-duration=100ms target_duration_s=5 max_age=62s",
        "start_ns=86702069100000 end_ns=86702069100010 mono_ns=5 wall_ns=456 ts_ms=1716723830000 startTimeMillis=5",
        "speed=5ms/token cost=3 ms/T gap=4s/it",
        "n=48  total=2426.8ms  avg=50.56ms  min=14.49ms  max=90.62ms",
        "loops over 1m3.4s: avg=73ms longest=540ms",
        "download eta=5s 44%|###  | 4/9 [00:01<00:02, 1.5s/it, st=3ms]",
        'msg="took=5ms inside a message"',
        "traceID=1234567890123456d",
        "pid=1 " * 4000,
        "sched_cost=... elapsed=-",
        "duration=4.41074371338e-05",
    ],
)
def test_what_is_no_measured_duration(line: str) -> None:
    records, stats = read(line + "\n")
    assert (records, stats.malformed) == ([], 0)


@pytest.mark.parametrize("value", ["-5m", "-3.5ms", "nanms", "1.2.3ms", "1527920904849521ms", "1e400s"])
def test_a_wrong_duration_is_counted(value: str) -> None:
    records, stats = read(f"level=info duration={value} queue=3ms\n")
    assert [dict(r.stages) for r in records] == [{"queue": 3.0}]
    assert stats.malformed == 1


def test_ids_labels_and_fields() -> None:
    record = one('ts=2024-05-02T12:17:25Z requestId=abc/7 route=/v1 status=200 took="3.5ms" pid=77')
    assert (record.unit, record.label, record.pid, record.source) == ("abc/7", "/v1", 77, "keyvalue")
    assert ("status", "200") in record.fields


def test_a_setting_of_a_query_is_no_stage_and_no_id() -> None:
    line = "query_type=filter range_type=range length=15m0s start_delta=1h0m1.2s step=7s duration=58.5ms"
    assert stages(line) == {"duration": 58.5}
    assert one(line).unit is None


def test_a_declared_unit_is_for_its_name_only() -> None:
    options = ParseOptions(units=(("duration", "s"), ("Total cost", "us")))
    assert stages("status=200 duration=0.25", options) == {"duration": 250.0}
    assert stages("Total cost: 2500", options) == {"Total cost": 2.5}
    assert stages("{'duration': 0.5, 'epoch': 3.0}", options) == {"duration": 500.0}
    assert stages("status=200 duration=-", options) == {}


def test_the_decimal_comma_can_be_declared() -> None:
    line = "[c_api_timing] run=3  a=0,25  total=12,5"
    assert read(line + "\n")[1].malformed == 2
    assert stages(line, ParseOptions(decimal_comma=True)) == {"a": 0.25, "total": 12.5}


def test_bare_units_of_a_program_that_is_known() -> None:
    line = "method=GET path=/x format=json controller=Jobs action=show status=200 duration=58.25 view=40.5 db=0.00"
    assert stages(line) == {"duration": 58.25, "view": 40.5, "db": 0.0}


def test_a_count_per_second_is_no_duration() -> None:
    assert stages("decode_s=1.5 tok_s=31.5 requests_s=4 MB_s=12 poll_time=20us") == {
        "decode": 1500.0,
        "poll_time": 0.02,
    }
