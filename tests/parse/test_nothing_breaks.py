"""Whatever the bytes: no exception, no number that is none, and time that grows with the input only."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.parse.options import ParseOptions
from livemon.parse.stream import TimingStream

EVERYTHING = ParseOptions(labels=True, units=(("*", "ms"), ("Total time", "s")), decimal_comma=True, zone="UTC")
fragments = st.sampled_from(
    [
        "[c_api_timing] ",
        "[STRACE] v=1 pid=1 ",
        "[CHIP_TIMING] ev=B ",
        "[mono_ns=",
        "run= 1 ",
        "total=",
        "=",
        ": ",
        " took ",
        " in ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        "\\",
        "'",
        ",",
        ";",
        "\t",
        "\n",
        "\r",
        "\x00",
        "\x1b[31m",
        '{"a_ms":',
        '{"log":"',
        '"stream":"stdout"',
        "MESSAGE",
        "nan",
        "inf",
        "-",
        "-1",
        "1e309",
        "0x",
        "1_0",
        "1.2.3",
        "9999999999999999999999",
        "12",
        "3.5",
        ",5",
        "ms",
        "µs",
        "s",
        "us",
        " ns",
        "1m",
        "2h",
        "3d",
        "2024-01-01T",
        "12:34:56",
        "Jan  1 ",
        "stdout P ",
        "stderr F ",
        "%",
        "/it",
        "ETA",
        "ts=",
        "dur=",
        "name=",
        "pid=",
        "é",
        "\ufeff",
        "\ud7ff",
        "  ",
        "haproxy ",
        "0/0/-1/5/+3 ",
        "GET / ",
        "[GIN] ",
        '"',
        " ",
        " ms / ",
        "time (ms) \\",
        "",
        "time = ",
        "[=====>..] - ",
        "GC(1) Pause Young 1M->1M ",
        "LOG:  duration: ",
        'msg="',
    ]
)
texts = st.lists(fragments | st.text(max_size=6), max_size=30).map("".join)


@settings(max_examples=400, deadline=None)
@given(texts, st.booleans())
def test_no_text_breaks_reading(text: str, everything: bool) -> None:
    stream = TimingStream(EVERYTHING if everything else ParseOptions(zone="UTC"))
    records = stream.feed(text.encode("utf-8", "surrogatepass") + b"\n") + stream.finish()
    for record in records:
        assert record.stages
        assert all(name and math.isfinite(value) and 0 <= value <= 86_400_000 for name, value in record.stages)
        assert len({name for name, _ in record.stages}) == len(record.stages)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_break_reading(data: bytes) -> None:
    stream = TimingStream(EVERYTHING)
    for record in stream.feed(data) + stream.finish():
        assert all(math.isfinite(value) and value >= 0 for _, value in record.stages)


HOSTILE = [
    "a", "1", "=", "a=", "a=1 ", "a=1ms ", "1ms ", "a1", "1a.", ".", "-", "x: 1 ms ", "(", "((", "[", "{\"", "{\"a\":", "\"", "\\\"", "a=\"", "'", "1:",
    "12:34:56 ", "[c_api_timing] ", "[STRACE] ", "[STRACE] v=1 ", "run=1", "1m", "1m ", "1.", "took ", "took 1", "[=", "%|", "|", "\x1b[", "\0", " ", "\t",
    "GET /x 200 ", "duration: ", "LOG:  duration: ", "[GIN] | ", "s] [", "time (ms) |", "GC(1) Pause A ", "secs] GC", "[GC ,1,", "pid=1) ", "(a pid=1) ",
    "1/a'\"=# ", "0x1f/2 ", "] GET /x => generated ", "Request finished HTTP/", " secs] [GC ,1,1 ", "read( = <1> ", "Iteration(1):iteration elapsed time",
    "a.b.c.", "µ", "in ", " - ", ", ", "a_ms=", "a_ms: ", "Trace[1]: ", "\" ", "] \"", "_timing", "--- ", "-0-0", "0/0/", "# Query_time: ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_input_only(unit: str) -> None:
    """Eight times the input takes about eight times the time; quadratic would be 64."""

    def seconds(size: int) -> float:
        line = (unit * (size // len(unit))).encode() + b" took 5 ms, x: 7 ms\n"
        best = math.inf
        for _ in range(2):
            stream = TimingStream(EVERYTHING)
            start = time.process_time()
            stream.feed(line)
            best = min(best, time.process_time() - start)
        return best

    small, large = seconds(8_000), seconds(64_000)
    assert large < max(30 * small, 0.25)
