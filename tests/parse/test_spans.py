"""[STRACE] spans: whole, merged, torn, of another clock or version."""

import pytest

from livemon.parse.options import ParseOptions
from livemon.parse.stream import TimingStream
from tests.parse.reading_lines import one, read

SPAN = (
    "[STRACE] v=1 pid=52 tid=53 inv=18446744073709551615 hid=9c1d depth=1 name=chip.run.validate ts=2000000 dur=5250000"
)


def test_a_span_has_exact_start_and_duration_on_its_thread() -> None:
    record = one("[mono_ns=9000000][T0x1][TIMING] emit: " + SPAN + " ntensor=4")
    assert dict(record.stages) == {"chip.run.validate": 5.25}
    assert (record.t_ns, record.start_ns, record.clock) == (2000000, 2000000, "monotonic")
    assert (record.unit, record.label, record.pid, record.tid) == ("52/18446744073709551615", "9c1d", 52, 53)
    assert record.fields == (("hid", "9c1d"), ("depth", "1"), ("ntensor", "4"))


def test_a_device_span_has_a_duration_only() -> None:
    line = SPAN + " clk=dev"
    assert (one(line).t_ns, one(line).start_ns) == (None, None)
    prefixed = one("[mono_ns=9000000][T0x1][TIMING] emit: " + line)
    assert (prefixed.t_ns, prefixed.start_ns) == (9000000, None)


def test_names_and_attributes_are_decoded() -> None:
    record = one(SPAN.replace("chip.run.validate", "host.odd%20name") + " why=a%5Bb%5D")
    assert dict(record.stages) == {"host.odd name": 5.25}
    assert ("why", "a[b]") in record.fields


def test_two_writers_on_one_line() -> None:
    second = SPAN.replace("pid=52", "pid=60").replace("dur=5250000", "dur=1000")
    records, stats = read(f"[mono_ns=1][T0x1] e: {SPAN} rank=0[mono_ns=2][T0x2] e: {second} rank=1\n")
    assert [(r.pid, r.stages[0][1]) for r in records] == [(52, 5.25), (60, 0.001)]
    assert stats.malformed == 0


def test_a_record_inside_another_is_read_once_with_its_own_duration() -> None:
    head, tail = SPAN[: SPAN.index(" ts=")], SPAN[SPAN.index("ts=") :]
    inner = SPAN.replace("pid=52", "pid=60").replace("dur=5250000", "dur=777")
    records, stats = read(f"{head} {inner} rank=1{tail} rank=0\n")
    assert [(r.pid, r.stages[0][1]) for r in records] == [(60, 0.000777)]
    assert stats.malformed == 1


@pytest.mark.parametrize(
    "cut",
    [" dur=5250000", " ts=2000000 dur=5250000", "5250000", " depth=1 name=chip.run.validate ts=2000000 dur=5250000"],
)
def test_a_torn_record_is_counted_and_not_read(cut: str) -> None:
    records, stats = read(SPAN.removesuffix(cut) + "\n")
    assert (records, stats.malformed) == ([], 1)


def test_an_unknown_version_and_an_absurd_duration_are_counted() -> None:
    for line in (SPAN.replace("v=1", "v=2"), SPAN + "0" * 12):
        records, stats = read(line + "\n")
        assert (records, stats.malformed) == ([], 1)


def test_attributes_in_another_order_still_make_a_record() -> None:
    assert dict(one("[STRACE] pid=5 tid=5 v=1 name=a.b inv=0 hid=0 depth=0 dur=3000 ts=7").stages) == {"a.b": 0.003}
    assert one("[STRACE] pid=5 tid=5 v=1 name=a.b inv=0 hid=0 depth=0 dur=3000 ts=7").label is None


def test_anchors_tie_the_clocks() -> None:
    stream = TimingStream(ParseOptions())
    stream.feed(
        b"[CLOCK_ANCHOR] v=1 pid=42 mono_ns=1000 wall_ns=1760000000000000000\n[CLOCK_ANCHOR] mono_ns=5 wall_ns=6\n"
    )
    assert stream.take_anchors() == [(42, 1000, 1760000000000000000), (None, 5, 6)]
    assert stream.take_anchors() == []
    assert stream.stats.records == 0


def test_prose_that_names_the_marker_is_no_torn_record() -> None:
    records, stats = read("[mono_ns=1][T0x1][INFO] f: [STRACE] markers are enabled\n")
    assert (records, stats.malformed) == ([], 0)
