"""Durations that nobody measured: the message waits, the pair is a setting, the text is SQL, a URL, a comparison."""

import pytest

from livemon.parse import keys
from livemon.parse.context import GENERIC, WAITING_MARKS, is_waiting, own_text
from livemon.parse.explain import suggestions
from livemon.parse.options import ParseOptions
from tests.parse.reading_lines import DEFAULT, LABELS, read, stages

PLANNED = [
    'level=warn msg="retrying" err=EOF wait=750ms attempt=3',
    "level=warn msg=sleeping duration=12s",
    'level=debug msg="backing off" delay_ms=250',
    'time=2025-01-20T10:00:00Z level=DEBUG msg="runner idle, adding timer" path=/x duration=7m0s',
    "level=info msg=x in=5m0s next=3s every=10s delay=500ms range=1h throttle=2s",
    "level=info msg=x next_run_in=5m0s last_seen=12s idle_for=4s rotate_after=24h last_run=9m",
    "level=info msg=x lease=15s session_lifetime=1h remaining=2m10s jitter=200ms resync=10h0m0s cool_down=5m",
    "level=info msg=x debounce=300ms linger_ms=5 quantum=10ms desired_latency=50ms goal=5ms default_wait=3s ago=5m",
    "level=info msg=x cutoff=5s horizon=1h stale_after=3s wakeup_in=3s up_time=3h epoch_length=384s length=3s",
    "level=info msg=x offset=12.5s position=30s drift=12ms clock_skew=3ms",
    "level=info msg=x audio_duration=30.5s video_length=12s clip=3s",
    "Namespace(model='x', warmup_s=3, duration_s=60)",
    "starting with ServerConfig(host='0', poll_ms=10, pool=PoolOptions(wait_ms=5), x_ms=1)",
    "args: duration=60s rate=100",
    "Settings: batch_delay_ms=5 max_wait_ms=20",
    "LOG:  statement: UPDATE jobs SET took_ms = 5, wait_ms=7 WHERE id = 3",
    "running SELECT id FROM t WHERE took_ms=5",
    "fetching http://h/api?latency=15ms&took_ms=3",
    "GET /x?elapsed_ms=5&took=3ms HTTP/1.1",
    '{"level":"warn","msg":"Retrying","wait":"5s","attempt":2}',
    '{"level":"info","message":"sleeping","duration_ms":250}',
    '{"level":"info","msg":"x","next_run_in":"5m0s","idle_for":"3s","lease":"15s","audio_duration_s":30}',
]


@pytest.mark.parametrize("line", PLANNED)
def test_a_plan_or_a_setting_is_no_sample(line: str) -> None:
    for options in (DEFAULT, LABELS):
        records, stats = read(f"{line}\n" * 3, options)
        assert ([dict(r.stages) for r in records], stats.malformed) == ([], 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('level=info msg="request done" duration=12s', {"duration": 12000.0}),
        ('level=info msg="retrying" took=12ms wait=5s', {"took": 12.0}),
        ('level=info msg="finished waiting for lock" wait=5ms', {"wait": 5.0}),
        ("level=info msg=x next_token_ms=5 audio_encode_ms=3 scheduling_delay=2ms wait=1ms", None),
        ("done ServerConfig(poll_ms=10) took_ms=12", {"took": 12.0}),
        ("done (poll_ms=10, x_us=5)", {"poll": 10.0, "x": 0.005}),
        ('q="UPDATE t SET wait_ms=1 WHERE a" took_ms=3', {"took": 3.0}),
        ("finished_in=5ms time_in_us=3 done_in=1s", {"finished_in": 5.0, "time_in": 0.003, "done_in": 1000.0}),
        ("loaded config in=cache took_ms=3", {"took": 3.0}),
        ('{"msg":"retrying","took":"5ms","duration":"3s"}', {"took": 5.0}),
        ('{"msg":"done","duration":"3s"}', {"duration": 3000.0}),
    ],
)
def test_what_was_measured_beside_it_is_read(line: str, expected: dict[str, float] | None) -> None:
    wanted = expected or {"next_token": 5.0, "audio_encode": 3.0, "scheduling_delay": 2.0, "wait": 1.0}
    records, _ = read(f"{line}\n" * 3)
    assert [dict(r.stages) for r in records] == [wanted] * 3


def test_a_tag_and_a_declared_unit_say_that_it_is_a_duration() -> None:
    assert stages("[my_timing] run=1 delay=1.5 sleep=2 lease=0.5 audio=3") == {
        "delay": 1.5, "sleep": 2.0, "lease": 0.5, "audio": 3.0,
    }  # fmt: skip
    assert stages("[my_timing] run=1 delay=1.5ms timeout=5") == {"delay": 1.5}
    delay = ParseOptions(units=(("delay", "ms"), ("timeout", "s")), zone="UTC")
    assert stages("level=info delay=5 timeout=2", delay) == {"delay": 5.0, "timeout": 2000.0}
    assert stages('{"delay":5,"x":{"timeout":2}}', delay) == {"delay": 5.0, "x.timeout": 2000.0}


@pytest.mark.parametrize(
    "line",
    [
        "Shutting down in 10 seconds",
        "beat: Starting... Waking up in 5.00 seconds.",
        "[gc][12345] overhead, collecting in the last [1s]",
        "1:M 01 Jan 2024 10:00:00.000 * 7 changes in 300 seconds. Saving...",
        "12345 requests in 30.00s, 17.76GB read",
        "Tomcat started on port(s): 8080 (http)",
        "(autoscaler +1m12s) Adding 1 node(s) of type worker.",
        "app:server listening +12ms",
        "read 4321 bytes, 24 reads >= 0.5 sec.",
        "--timeout=5s --duration=10s",
        "  --wait duration   how long to wait (default 30s)",
        "default: 5s",
        "Session lifetime: 30s",
        "Audio duration: 30.5s",
        "Configured latency: 5 ms",
        "id: 5s",
        "LOG:  statement: SELECT a FROM t WHERE b AND took: 3 ms",
        "wait for the handshake (defaults to 60s).",
        "transcripts of short (less than 60 seconds) audio",
        "not obtained (usually within 30 seconds)",
        "reduce the timeout (from 5s)",
        "use 60s here (instead of 250ms)",
        "the precision, which is 0.01 secs here",
        "styles last seen in the 1990s",
        "- avg. handshake time: 5.5 ms",
        "environment: 40 s --> 20 s",
        "buffered: 3 s of audio",
        "Aggregate logs in 30s intervals.",
        "You should be redirected in 3 seconds.",
        "GET /x?elapsed_ms=5&took=3ms HTTP/1.1",
        "took=5ms-ish",
        "key==5ms",
        "V\ufffdM\ufffd=6s",
    ],
)
def test_prose_that_names_no_measurement(line: str) -> None:
    assert stages(line, LABELS) == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1:M 01 Jan 2024 10:00:00.000 * DB loaded from disk: 0.25 seconds", {"DB loaded from disk": 250.0}),
        ('INFO:  127.0.0.1:40052 - "POST /v1/x HTTP/1.1" 200 OK - 12.5ms', {"POST /v1/x": 12.5}),
        ("Benchmark time(s): 3", {"Benchmark time": 3000.0}),
        ("Loading done in 3.5s", {"Loading": 3500.0}),
        (
            "INFO w.py:27] Time spent loading weights for Org/Model2-5B: 12.5 seconds",
            {"Time spent loading weights": 12500.0},
        ),
        ("Processed 12 items in 3.5s", {"Processed": 3500.0}),
    ],
)
def test_prose_beside_it_that_does(line: str, expected: dict[str, float]) -> None:
    assert stages(line, LABELS) == expected


def test_a_json_array_is_no_record_and_its_elements_on_lines_of_their_own_are() -> None:
    assert stages('[{"took_ms":7}]') == {}
    assert stages('[ {"took_ms":7},') == {}
    assert stages('{"took_ms":7},') == {"took": 7.0}
    assert stages('[INFO] {"took_ms":7}') == {"took": 7.0}
    assert stages('{"textPayload":"took=7ms"}') == {"took": 7.0}


def test_a_suggestion_is_one_that_would_read_the_line() -> None:
    assert suggestions('[{"took_ms":7}]') == ["jq -c '.[]' LOG | livemon parse -, which gives each element a line"]
    line = "level=info msg=sleeping duration=12s"
    assert any("--labels" in hint for hint in suggestions(line))
    assert not any("--labels" in hint for hint in suggestions(line, is_known=True))


def test_every_message_that_waits_has_a_mark_that_the_fast_way_looks_for() -> None:
    for message in (
        "Retrying", "reconnecting", "Sleeping", "backing off", "waiting for x", "adding timer", "setting a timer",
        "throttling", "rate limit", "rate limited", "pausing", "delaying", "scheduled next", "rescheduling for",
        "will retry", "will reconnect", "will restart", "will wait", "will try", "will sleep",
    ):  # fmt: skip
        assert is_waiting(message)
        assert any(mark in message for mark in WAITING_MARKS), message
    assert not is_waiting("retry succeeded")
    assert not is_waiting("finished waiting for x")


def test_own_text_is_the_same_object_where_nothing_is_quoted() -> None:
    for text in ("took=3ms (x)", "a=1", "select from x=3", "Config (x=1ms)"):
        assert own_text(text) is text
    assert all(keys.is_timing(name) for name in GENERIC if name not in ("interval", "period"))
