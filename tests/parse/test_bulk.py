"""The fast way gives exactly what the long way gives."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.parse.jsontext import json_lines, record_line
from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from livemon.parse.record import ParsedRecord
from livemon.parse.stream import TimingStream
from livemon.parse.template import Batch, Template
from tests.parse.reading_lines import DEFAULT

number = st.sampled_from(
    [
        "0.00",
        "5.25",
        "12.5",
        "107.31",
        "1048.25",
        ".5",
        "5.",
        "007.5",
        "99999999.5",
        "86400000.0",
        "nan",
        "1.2.3",
        "",
        "-",
        "1e3",
        "3",
    ]
)
ordinary = st.floats(0, 5000).map(lambda v: f"{v:.2f}")
plain = st.builds(
    lambda run, a, b, c: f"[c_api_timing] run={run:2d}  prepare_ctx={a}  runner_run={b}   validate={c}  total=47.31",
    st.integers(0, 2000), ordinary, ordinary, ordinary | number,
)  # fmt: skip
prefixed = st.builds(
    lambda t, thread, run, kernel, a, b: (
        f"[mono_ns={t}][T0x{thread:x}][TIMING] serve: [req_timing dev=0] id={run} kernel={kernel} len=128  prepare={a}ms  total={b}ms"
    ),
    st.integers(10**14, 10**16) | st.integers(0, 10**10),
    st.sampled_from([0x7F21, 0x16E0, 0x16E1, 0xABC]),
    st.integers(0, 99),
    st.sampled_from(["decode", "lm_head", "rms2", "b52efb6d"]),
    ordinary, ordinary | number,
)  # fmt: skip
other = st.sampled_from(
    ["no timing here", "took=5ms", "[c_api_timing]", "[other_timing] x=3.5 y=4", "", "[c_api_ti5ming] run=1 total=1.5", "\r", "a\rb",
     "2025-12-31T17:37:40.493035218+01:00 stderr P [c_api_timing] run=1 tot", "[c_api_timing] run=3 pid=77 total=1.5",
     "[c_api_timing] run=1 seq=2 total=1.5us"]
)  # fmt: skip
logs = st.lists(
    st.lists(plain, min_size=1, max_size=12)
    | st.lists(prefixed, min_size=1, max_size=12)
    | st.lists(other, max_size=2),
    max_size=12,
)


def flat(items: list[Batch | ParsedRecord]) -> list[ParsedRecord]:
    records = [r for item in items for r in (item.records() if isinstance(item, Batch) else [item])]
    return sorted(records, key=lambda r: (r.line, r.offset))


@settings(max_examples=300, deadline=None)
@given(logs, st.integers(1, 4000))
def test_bulk_equals_line_by_line(groups: list[list[str]], size: int) -> None:
    data = "".join(line + "\n" for group in groups for line in group).encode()
    reader = LineReader(DEFAULT)
    expected = reader.feed(data) + reader.finish()
    stream = TimingStream(DEFAULT)
    records: list[ParsedRecord] = []
    text = b""
    for at in range(0, len(data), size):
        items = stream.feed_columns(data[at : at + size])
        records += flat(items)
        text += json_lines(items)
    rest = stream.finish()
    text += json_lines([*rest])
    assert records + rest == expected
    assert stream.stats == reader.stats
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines == [json.loads(record_line(r)) for r in expected]


def test_the_fast_way_is_taken() -> None:
    """Uniform lines come as batches, also of several shapes at once; if not, the speed is gone."""
    rows = "".join(
        f"[c_api_timing] run={n}  prepare_ctx=0.{n % 90 + 10}  total=4{n % 9}.31\n" for n in range(1000, 3000)
    )
    stream = TimingStream(DEFAULT)
    items = stream.feed_columns(rows[: len(rows) // 2].encode()) + stream.feed_columns(rows[len(rows) // 2 :].encode())
    assert sum(len(item) for item in items if isinstance(item, Batch)) >= 1990
    mixed = "".join(
        f"[mono_ns={10**15 + n}][T0x7f21][TIMING] f: [{'ab'[n % 2]}_timing] run={n}  x=0.25  y=4.5ms\n"
        for n in range(1000, 3000)
    )
    stream = TimingStream(DEFAULT)
    items = stream.feed_columns(mixed.encode())
    assert sum(len(item) for item in items if isinstance(item, Batch)) >= 1990


def test_batches_have_columns_with_units_named() -> None:
    rows = "".join(
        f"[mono_ns={10**15 + n}][T0x1][TIMING] f: [x_timing] run={n}  a=0.25  b=4.5\n" for n in range(100, 200)
    )
    stream = TimingStream(DEFAULT)
    batch = max((i for i in stream.feed_columns(rows.encode()) if isinstance(i, Batch)), key=len)
    assert batch.template.stage_names == ["a", "b"]
    assert batch.values(1) == [4.5] * len(batch)
    assert batch.t_ns() == [10**15 + int(r.unit or "") for r in batch.records()]


def test_what_can_hide_between_numbers_does_not() -> None:
    rows = [f"[c_api_timing] run={n}  a=0.25  total=4.5" for n in range(100, 160)]
    for broken in (
        "[c_api_ti5ming] run=  a=0.25  total=4.5",
        "[c_api_timing] run=7  a2=.25  total=4.5",
        "[c_api_timing] run=7  a=0.25  total=4.5 9",
    ):
        data = "\n".join([*rows, broken, *rows]).encode() + b"\n"
        reader, stream = LineReader(DEFAULT), TimingStream(DEFAULT)
        stream.feed("\n".join(rows).encode() + b"\n")
        reader.feed("\n".join(rows).encode() + b"\n")
        assert flat(stream.feed_columns(data)) == reader.feed(data)


def test_user_patterns_go_before_the_fast_way() -> None:
    rows = "".join(f"[c_api_timing] run={n}  total=4.5\n" for n in range(1000, 1200))
    options = ParseOptions(patterns=(r"total=(?P<mine__s>[\d.]+)",))
    assert {name for r in TimingStream(options).feed(rows.encode()) for name, _ in r.stages} == {"mine"}


def test_a_template_refuses_what_is_not_plain() -> None:
    reader = LineReader(DEFAULT)
    for line in (
        b"[c_api_timing] run=1 total=1.5us",
        b"[c_api_timing] run=1 a=1 a=2",
        b"x [c_api_timing] run=1 total=1.5",
    ):
        (record,) = reader.feed(line + b"\n")
        assert Template.of(line, record) is None
