"""Small pieces of a log give what reading line by line gives, and known lines take the short way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from livemon.parse.record import ParsedRecord
from livemon.parse.stream import TimingStream
from tests.parse.reading_lines import DEFAULT
from tests.parse.test_bulk import logs


@settings(max_examples=120, deadline=None)
@given(logs, st.lists(st.integers(1, 400), min_size=1, max_size=8))
def test_small_pieces_equal_line_by_line(groups: list[list[str]], sizes: list[int]) -> None:
    data = "".join(line + "\n" for group in groups for line in group).encode()
    reader = LineReader(DEFAULT)
    expected = reader.feed(data) + reader.finish()
    stream = TimingStream(DEFAULT)
    records: list[ParsedRecord] = []
    at = piece = 0
    while at < len(data):
        size = sizes[piece % len(sizes)]
        records += stream.feed(data[at : at + size])
        at, piece = at + size, piece + 1
    assert records + stream.finish() == expected
    assert stream.stats == reader.stats


@settings(max_examples=80, deadline=None)
@given(logs)
def test_whole_lines_equal_line_by_line(groups: list[list[str]]) -> None:
    lines = [f"{line}\n".encode() for group in groups for line in group]
    reader, stream = LineReader(DEFAULT), TimingStream(DEFAULT)
    for line in lines:
        assert stream.feed(line) == reader.feed(line)
    assert stream.stats == reader.stats


def test_a_line_that_only_looks_like_the_ones_before() -> None:
    """Numbers that are no duration, names that only share their shape, and what follows them."""
    usual = b"[c_api_timing] run=7  layer3=0.25  total=4.5\n"
    for odd in (
        b"[c_api_timing] run=7  layer3=0.25  total=99999999999.5\n",
        b"[c_api_timing] run=7  layer3=.25  total=4.5\n",
        b"[c_api_timing] run=7  layer3=00.25  total=4.5\n",
        b"[c_api_timing] run=7  layer4=0.25  total=4.5\n",
        b"[c_api_timing] run=  layer3=0.25  total=4.5\n",
        b"[c_api_timing] run=7  layer3=0.25  total=4.5 \n",
        b"[c_api_timing] run=7  layer3=0.25  total=4.5",
        b"\xff[c_api_timing] run=7  layer3=0.25  total=4.5\n",
        b"[c_api_timing] run=7.5  layer3=0.25  total=4.5\n",
    ):
        reader, stream = LineReader(DEFAULT), TimingStream(DEFAULT)
        for piece in (usual, usual, odd, usual, odd + usual, usual + odd):
            assert stream.feed(piece) == reader.feed(piece)
        assert stream.finish() == reader.finish()
        assert stream.stats == reader.stats


def test_known_lines_never_reach_the_long_way(monkeypatch) -> None:
    """If they did, the outcome would be the same, only many times slower."""
    stream = TimingStream(DEFAULT)
    line = (
        "[mono_ns={}][T0x7f21][TIMING] serve: [req_timing dev=0] id={} kernel=decode len={}  prepare={}ms  total=9.25\n"
    )
    stream.feed(line.format(10**14, 1, 128, 0.5).encode())

    def refuse(*_: object) -> list[ParsedRecord]:
        raise AssertionError("the long way")

    monkeypatch.setattr(LineReader, "read_line", refuse)
    monkeypatch.setattr(LineReader, "feed", refuse)
    found = stream.feed(line.format(10**14 + 7, 22, 64, 1.75).encode() + line.format(10**14 + 8, 23, 65, 17.5).encode())
    assert [(r.line, r.unit, r.t_ns, r.stages, dict(r.fields)["len"]) for r in found] == [
        (2, "22", 10**14 + 7, (("prepare", 1.75), ("total", 9.25)), "64"),
        (3, "23", 10**14 + 8, (("prepare", 17.5), ("total", 9.25)), "65"),
    ]


def test_what_the_user_said_goes_first() -> None:
    options = ParseOptions(patterns=(r"total=(?P<mine__s>[\d.]+)",))
    stream = TimingStream(options)
    for n in range(3):
        (record,) = stream.feed(f"[c_api_timing] run={n}  total=4.5\n".encode())
        assert record.stages == (("mine", 4500.0),)
