"""Metrics text: what is a duration, what is not, and what happened between two scrapes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, Summary, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from livemon.parse.metric_deltas import MetricDeltas
from livemon.parse.openmetrics import distributions, read_exposition


def scrape(count: int, total: float, name: str = "request_seconds", labels: str = "", kind: str = "histogram") -> str:
    inside = f"{{{labels}}}" if labels else ""
    return f"# TYPE {name} {kind}\n{name}_count{inside} {count}\n{name}_sum{inside} {total}\n"


def stages(*texts: str) -> list[dict[str, float]]:
    deltas = MetricDeltas()
    reading = [deltas.update(text) for text in texts][-1]
    return [dict(interval.stages) for interval in reading.intervals]


@pytest.mark.parametrize("generate", [generate_latest, generate_openmetrics])
def test_what_the_client_library_writes_is_read(generate: object) -> None:
    registry = CollectorRegistry()
    latency = Histogram("e2e_request_latency_seconds", "h", ["model_name"], registry=registry, buckets=(0.1, 1, 10))
    queue = Summary("queue_milliseconds", "s", registry=registry)
    Counter("requests", "c", registry=registry).inc()
    deltas = MetricDeltas()
    assert deltas.update(generate(registry).decode()).intervals == ()  # type: ignore[operator]
    for value in (0.2, 0.4, 5.0):
        latency.labels('odd "name"\n\\').observe(value)
    queue.observe(12.0)
    reading = deltas.update(generate(registry).decode())  # type: ignore[operator]
    assert reading.malformed == 0
    assert reading.durations == 2
    by_stage = {interval.stages[0][0]: interval for interval in reading.intervals}
    interval = by_stage["e2e_request_latency"]
    assert interval.stages[0][1] == pytest.approx(5600 / 3)
    assert interval.label == 'odd "name"\n\\'
    fields = dict(interval.fields)
    assert fields["n"] == "3"
    assert (fields["e2e_request_latency.p50_above_ms"], fields["e2e_request_latency.p50_at_most_ms"]) == ("100", "1000")
    assert (fields["e2e_request_latency.p99_above_ms"], fields["e2e_request_latency.p99_at_most_ms"]) == (
        "1000",
        "10000",
    )
    assert by_stage["queue"].stages == (("queue", 12.0),)


@pytest.mark.parametrize(
    ("name", "stage", "ms"),
    [
        ("a_seconds", "a", 2000.0),
        ("ns:a_b_milliseconds", "a_b", 2.0),
        ("a_ms", "a", 2.0),
        ("a_microseconds", "a", 0.002),
        ("a_us", "a", 0.002),
        ("a_nanoseconds", "a", 0.000002),
    ],
)
def test_units_come_from_the_name(name: str, stage: str, ms: float) -> None:
    assert stages(scrape(1, 1, name), scrape(2, 3, name)) == [{stage: pytest.approx(ms)}]


@pytest.mark.parametrize(
    "name", ["request_prompt_tokens", "batch_size", "a_bytes", "a_s", "go_gc_duration_seconds", "seconds", "latency"]
)
def test_what_does_not_say_that_it_is_a_duration_is_none(name: str) -> None:
    assert stages(scrape(1, 1, name), scrape(2, 3, name)) == []


def test_a_declared_or_given_unit_counts() -> None:
    texts = [f"# UNIT latency seconds\n{scrape(n, t, 'latency')}" for n, t in ((1, 1), (2, 3))]
    assert stages(*texts) == [{"latency": 2000.0}]
    deltas = MetricDeltas({"latency": "us"})
    deltas.update(scrape(1, 1, "latency"))
    assert deltas.update(scrape(2, 3, "latency")).intervals[0].stages == (("latency", 0.002),)


def test_gauges_and_counters_are_no_stages() -> None:
    text = "# TYPE up_seconds gauge\nup_seconds {}\n# TYPE x_seconds counter\nx_seconds_total {}\nx_seconds_sum 3\n"
    assert stages(text.format(1, 1), text.format(2, 2)) == []


def test_units_that_were_counted_together_are_one_interval() -> None:
    def text(n: int, other: int) -> str:
        return (
            scrape(n, n * 2.0, "e2e_seconds", 'model="a"')
            + scrape(n, n * 0.5, "queue_seconds", 'model="a"')
            + scrape(other, other * 0.1, "token_seconds", 'model="a"')
        )

    assert stages(text(10, 100), text(14, 160)) == [
        {"e2e": pytest.approx(2000), "queue": pytest.approx(500)},
        {"token": pytest.approx(100)},
    ]


def test_a_restart_counts_from_zero_and_is_told() -> None:
    deltas = MetricDeltas()
    deltas.update(scrape(100, 50))
    reading = deltas.update(scrape(4, 8))
    assert reading.intervals[0].stages == (("request", 2000.0),)
    assert "started again" in reading.notes[0]


def test_a_restart_that_overtook_the_old_count_shows_by_the_process_start() -> None:
    deltas = MetricDeltas()
    start = "process_start_time_seconds {}\n"
    deltas.update(start.format(1000) + scrape(4, 4))
    reading = deltas.update(start.format(2000) + scrape(10, 20))
    assert dict(reading.intervals[0].fields)["n"] == "10"
    deltas.update("request_seconds_created 5.0\n" + scrape(10, 20))
    reading = deltas.update("request_seconds_created 9.0\n" + scrape(11, 22))
    assert dict(reading.intervals[0].fields)["n"] == "11"


def test_a_series_that_is_new_began_in_the_interval_and_one_that_stands_gives_nothing() -> None:
    one, two = scrape(5, 5, labels='m="a"'), scrape(2, 1, labels='m="b"')
    assert stages(one, one + two) == [{"request": 500.0}]
    assert stages(one, one) == []


def test_a_series_that_was_away_for_a_scrape_goes_on_where_it_was() -> None:
    assert stages(scrape(10, 20.0), "other 1\n", scrape(12, 26.0)) == [{"request": 3000.0}]


def test_a_series_that_came_back_lower_started_again() -> None:
    deltas = MetricDeltas()
    for text in (scrape(10, 20.0), "other 1\n"):
        deltas.update(text)
    reading = deltas.update(scrape(1, 0.25))
    assert [interval.stages for interval in reading.intervals] == [(("request", 250.0),)]
    assert reading.notes == ("counters of the metrics endpoint started again (1 series)",)


def test_labels_make_the_class_but_for_those_that_say_where() -> None:
    labels = 'engine="0",instance="h:1",method="POST",model_name="llama"'
    deltas = MetricDeltas()
    deltas.update(scrape(1, 1, labels=labels))
    (interval,) = deltas.update(scrape(2, 3, labels=labels)).intervals
    assert interval.label == "POST/llama"
    assert ("instance", "h:1") in interval.fields


def test_triton_counters_are_paired_with_their_count() -> None:
    def text(n: int, us: int) -> str:
        pair = 'model="m",version="1"'
        return (
            f"# TYPE nv_inference_request_success counter\nnv_inference_request_success{{{pair}}} {n}\n"
            f"nv_inference_queue_duration_us{{{pair}}} {us}\n"
            f"nv_inference_compute_infer_duration_us{{{pair}}} {us * 3}\n"
        )

    assert stages(text(10, 1000), text(20, 51_000)) == [{"queue": pytest.approx(5), "compute_infer": pytest.approx(15)}]


def test_what_is_torn_or_absurd_is_counted_and_never_read() -> None:
    deltas = MetricDeltas()
    deltas.update(scrape(1, 1))
    reading = deltas.update(scrape(2, 1e9) + 'request_seconds_count{a="b 3\nrequest_seconds_sum nonsense\n}{\n')
    assert reading.intervals == ()
    assert reading.malformed == 4
    assert deltas.update(scrape(3, math.nan)).intervals == ()


def test_changed_buckets_give_no_bounds() -> None:
    deltas = MetricDeltas()
    deltas.update(scrape(1, 1) + 'request_seconds_bucket{le="1"} 1\nrequest_seconds_bucket{le="+Inf"} 1\n')
    reading = deltas.update(scrape(2, 3) + 'request_seconds_bucket{le="5"} 2\nrequest_seconds_bucket{le="+Inf"} 2\n')
    assert not [key for key, _ in reading.intervals[0].fields if "p50" in key]


def test_the_last_bucket_has_no_upper_bound() -> None:
    text = scrape(1, 1) + 'request_seconds_bucket{{le="1"}} {}\nrequest_seconds_bucket{{le="+Inf"}} {}\n'
    deltas = MetricDeltas()
    deltas.update(text.format(1, 1))
    more = text.replace("count 1", "count 3").replace("sum 1", "sum 21")
    fields = dict(deltas.update(more.format(1, 3)).intervals[0].fields)
    assert fields["request.p50_above_ms"] == "1000"
    assert "request.p50_at_most_ms" not in fields


def test_a_quoted_name_and_timestamps_and_exemplars_are_read() -> None:
    text = '{"my.request_seconds_count", a="b"} 3 1700000000\nx_seconds_count{le="1"} 2 # {trace="1"} 0.5 1.0\n'
    exposition = read_exposition(text)
    assert exposition.malformed == 0
    assert [(s.name, s.labels, s.value) for s in exposition.samples] == [
        ("my.request_seconds_count", (("a", "b"),), 3.0),
        ("x_seconds_count", (("le", "1"),), 2.0),
    ]


@given(st.text(alphabet='ab_{}",=\\ #\n1.eNaN+', max_size=300))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    deltas = MetricDeltas()
    for _ in range(2):
        reading = deltas.update(text)
        for interval in reading.intervals:
            assert all(math.isfinite(ms) and ms >= 0 for _, ms in interval.stages)


@given(st.lists(st.floats(0.0001, 50), min_size=1, max_size=30))
def test_readings_agree_with_the_client_librarys_own_parser(values: list[float]) -> None:
    registry = CollectorRegistry()
    histogram = Histogram("x_seconds", "h", ["a"], registry=registry)
    for value in values:
        histogram.labels("1").observe(value)
    text = generate_latest(registry).decode()
    ours = {(s.name, s.labels): s.value for s in read_exposition(text).samples}
    theirs = {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }
    assert ours == theirs
    (found,) = distributions(read_exposition(text))
    assert (found.count, found.total) == (len(values), pytest.approx(sum(values)))
