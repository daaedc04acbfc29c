"""Lines of a stream: terminators, chunks, caps, counts, reset."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.parse.lines import LINE_CAP
from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from livemon.parse.stream import TimingStream
from tests.parse.reading_lines import DEFAULT, LABELS, read

ROW = "[c_api_timing] run= 7  prepare_ctx=0.55  total=47.31"
READ = (("prepare_ctx", 0.55), ("total", 47.31))
PIECES = [
    ROW + "\n",
    ROW + "\r\n",
    "\r 44%|##  | 4/9 [00:00<00:00, 9.9it/s]\r" + ROW + "\n",
    ROW + ROW.replace("run= 7", "run=8") + "\n",
    "[c_api_timing] run=45  prepare_ctx=nan  total=12.5\n",
    "\n",
    "  \t \r\n",
    "\r",
    "no timing at all\n",
    "2025-12-31T17:37:40.493035218+01:00 stderr P [c_api_timing] run=1  total=3\n",
    "2025-12-31T17:37:40.493035218+01:00 stderr F 3.25\n",
    json.dumps({"log": ROW + "\n", "stream": "stderr", "time": "2021-08-24T09:52:13.207Z"}) + "\n",
    "level=info took=1m2.5s queue=45 µs\n",
    '{"a_ms":7}{"b_ms":9}\n',
    "[STRACE] v=1 pid=5 tid=6 inv=7 hid=ab depth=0 name=chip.run ts=100 dur=2000\n",
    "[mono_ns=5][T0x1][TIMING] f: [STRACE] v=1 pid=5 tid=6 inv=7 hid=ab depth=0 name=chip",
    "Compiled graph in 12 ms\n",
    "\ufeff\x1b[31mx\x1b[0m\n",
    "[CLOCK_ANCHOR] v=1 pid=4 mono_ns=10 wall_ns=20\n",
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=30).map(lambda b: b.decode("latin-1")), max_size=12),
    st.lists(st.integers(1, 60), min_size=1, max_size=40),
)
def test_any_cut_gives_the_same(pieces: list[str], cuts: list[int]) -> None:
    data = "".join(pieces).encode()
    whole = TimingStream(LABELS)
    expected = whole.feed(data) + whole.finish()
    cut = TimingStream(LABELS)
    records = []
    at = 0
    for n in range(len(data)):
        size = cuts[n % len(cuts)]
        records += cut.feed(data[at : at + size])
        at += size
        if at >= len(data):
            break
    records += cut.finish()
    assert records == expected
    assert cut.stats == whole.stats
    assert cut.take_anchors() == whole.take_anchors()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=30), st.integers(1, 400))
def test_positions_point_at_the_line(pieces: list[str], size: int) -> None:
    data = "".join(pieces).encode()
    stream = TimingStream(DEFAULT)
    records = [r for at in range(0, len(data), size) for r in stream.feed(data[at : at + size])] + stream.finish()
    for record in records:
        piece = data[record.offset : record.offset + record.length]
        assert piece.endswith((b"\n", b"\r"))
        assert data[: record.offset].count(b"\n") + 1 == record.line
        assert record.source.encode() in piece or record.source in ("keyvalue", "json", "strace", "c_api_timing")


def test_an_unterminated_line_is_held_back_and_counted() -> None:
    torn = ROW[:-2]
    records, stats = read(f"{ROW}\n{torn}")
    assert [r.stages for r in records] == [READ]
    assert (stats.lines, stats.unterminated) == (1, 1)
    records, stats = read(f"{ROW}\n{ROW}", ParseOptions(accept_unterminated=True))
    assert [r.stages for r in records] == [READ, READ]
    assert (stats.lines, stats.unterminated) == (2, 0)


def test_the_held_back_part_is_read_when_it_is_terminated() -> None:
    stream = TimingStream(DEFAULT)
    assert stream.feed(ROW[:-3].encode()) == []
    assert [r.stages for r in stream.feed(ROW[-3:].encode() + b"\n")] == [READ]


def test_a_progress_bar_does_not_hide_the_row_behind_it() -> None:
    records, stats = read(f"\r 44%|# | 4/9 [00:01<00:02, 1.5s/it]\r{ROW}\n")
    assert [(r.stages, r.line) for r in records] == [(READ, 1)]
    assert (stats.lines, stats.ignored) == (1, 0)


def test_what_is_not_read_is_counted() -> None:
    _, stats = read(f"a\n\n{ROW}\n[c_api_timing] run=1 total=nan\nb\n")
    assert (stats.lines, stats.records, stats.ignored, stats.malformed) == (5, 1, 3, 1)
    assert stats.formats == {"c_api_timing": 1}


def test_a_long_line_is_capped_and_counted_and_its_head_is_read() -> None:
    stream = TimingStream(DEFAULT)
    line = ROW.encode() + b" pad=" + b"x" * (5 * LINE_CAP) + b" late=9"
    records = []
    for at in range(0, len(line), 65536):
        records += stream.feed(line[at : at + 65536])
    records += stream.feed(b"\n" + ROW.encode() + b"\n")
    assert [r.stages for r in records] == [READ, READ]
    assert records[0].length == len(line) + 1
    assert (stream.stats.truncated, stream.stats.lines) == (1, 2)


def test_a_number_is_not_read_from_a_cut_line() -> None:
    line = "[c_api_timing] run=1 a=1.5 " + "x" * (LINE_CAP - 30) + " total=123456.5"
    records, stats = read(line + "\n")
    assert [r.stages for r in records] == [(("a", 1.5),)]
    assert stats.truncated == 1


def test_after_a_rotation_lines_restart_and_the_torn_rest_is_counted() -> None:
    stream = TimingStream(DEFAULT)
    stream.feed(f"{ROW}\n{ROW[:20]}".encode())
    stream.reset()
    records = stream.feed(f"{ROW}\n".encode())
    assert [(r.line, r.offset) for r in records] == [(1, 0)]
    assert stream.stats.unterminated == 1


def test_a_stream_can_start_in_the_middle_of_a_log() -> None:
    stream = TimingStream(DEFAULT, offset=1000, line=40)
    (record,) = stream.feed(f"{ROW}\n".encode())
    assert (record.line, record.offset, record.length) == (41, 1000, len(ROW) + 1)


def test_the_tail_of_what_was_not_read_is_kept_short() -> None:
    stream = TimingStream(DEFAULT)
    for n in range(1000):
        stream.feed(f"no timing {n} {'x' * 5000}\n".encode())
    assert "no timing 999" in stream.tail_text
    assert len(stream.tail_text) < 2000


def test_many_routes_do_not_make_many_stages() -> None:
    line = '[GIN] 2026/01/20 - 23:21:17 | 200 | 16.5ms | 127.0.0.1 | GET "/api/blobs/{}"\n'
    records, stats = read("".join(line.format(f"{n:032x}") for n in range(1, 500)))
    names = {name for r in records for name, _ in r.stages}
    assert len(names) < 20
    assert "/api/blobs/#" in names
    assert len(records) == 499
    assert stats.grouped > 400


def test_a_line_reader_reads_what_the_stream_reads() -> None:
    data = "".join(PIECES * 20).encode()
    reader, stream = LineReader(DEFAULT), TimingStream(DEFAULT)
    assert reader.feed(data) + reader.finish() == stream.feed(data) + stream.finish()
    assert reader.stats == stream.stats
