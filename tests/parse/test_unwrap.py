"""What others wrap lines in comes off, and its time and pid are kept."""

import json

import pytest

from livemon.parse.options import ParseOptions
from livemon.parse.stream import TimingStream
from tests.parse.reading_lines import one, read

ROW = "[c_api_timing] run= 7  prepare_ctx=0.55  total=47.31"
READ = {"prepare_ctx": 0.55, "total": 47.31}


@pytest.mark.parametrize(
    ("line", "pid", "has_time"),
    [
        ("\ufeff" + ROW, None, False),
        ("\0\0\0\0" + ROW, None, False),
        ("\x1b[2K\x1b[31m\x1b[1m" + ROW + "\x1b[0m", None, False),
        ("> " + ROW, None, False),
        ("web-1  | " + ROW, None, False),
        ("web-1  | 2024-04-25T05:32:35.584725130Z " + ROW, None, True),
        ("(EngineCore_DP0 pid=2010410) " + ROW, 2010410, False),
        ("(ServeReplica:app pid=77, ip=10.0.0.3) " + ROW, 77, False),
        ("5691:(IntegratedWorker pid=1502285) " + ROW, 1502285, False),
        ("May 18 10:00:01 host1 serve[4242]: " + ROW, 4242, True),
        ("<13>May 18 10:00:01 host1 serve: " + ROW, None, True),
        ("2018-06-19T23:19:15.204766+00:00 host1 serve[7]: " + ROW, 7, True),
        ("2025-12-31T17:37:40.493+01:00 stdout F " + ROW, None, True),
        (json.dumps({"log": ROW + "\n", "stream": "stderr", "time": "2021-08-24T09:52:13.207Z"}), None, True),
        (json.dumps({"__REALTIME_TIMESTAMP": "1534860261221373", "_PID": "184", "MESSAGE": ROW}), 184, True),
        (json.dumps({"__REALTIME_TIMESTAMP": "1534860261221373", "MESSAGE": list(ROW.encode())}), None, True),
        ("2025-12-31T17:37:40.493+01:00 stdout F (Actor pid=9) \x1b[32m" + ROW, 9, True),
    ],
)
def test_a_wrapped_row_reads_as_the_row(line: str, pid: int | None, has_time: bool) -> None:
    record = one(line)
    assert (dict(record.stages), record.unit, record.pid) == (READ, "7", pid)
    assert (record.t_ns is not None, record.clock) == (has_time, "unix" if has_time else None)


def test_invalid_utf8_around_a_row() -> None:
    records, stats = read(b"\xff\xfe\xed\xb9\xa4 x " + ROW.encode() + b" \xff\n")
    assert [dict(r.stages) for r in records] == [READ]
    assert stats.malformed == 0


def test_container_parts_are_joined_before_reading() -> None:
    first = "2025-12-31T17:37:40.493035218+01:00 stderr P "
    last = "2025-12-31T17:37:40.493035218+01:00 stderr F "
    records, stats = read(f"{first}{ROW[:40]}\n{first}{ROW[40:45]}\n{last}{ROW[45:]}\n")
    assert [(dict(r.stages), r.line) for r in records] == [(READ, 3)]
    assert (stats.lines, stats.malformed, stats.ignored) == (3, 0, 0)


def test_docker_parts_are_joined() -> None:
    parts = [ROW[:33], ROW[33:] + "\n"]
    lines = "".join(json.dumps({"log": p, "stream": "stdout", "time": "2021-08-24T09:52:13.2Z"}) + "\n" for p in parts)
    records, _ = read(lines)
    assert [dict(r.stages) for r in records] == [READ]


def test_a_part_that_is_never_finished_is_counted() -> None:
    part = f"2025-12-31T17:37:40.493035218+01:00 stderr P {ROW[:40]}\n"
    records, stats = read(part)
    assert (records, stats.unterminated) == ([], 1)
    records, stats = read(part + ROW + "\n")
    assert ([dict(r.stages) for r in records], stats.malformed) == ([READ], 1)


def test_the_pager_cuts_json() -> None:
    records, stats = read('Dec 03 14:58:42 h ollama[20]: {"timestamp":17015,"level":"INFO","statu>\n')
    assert (records, stats.malformed) == ([], 1)


def test_no_wrapper_is_taken_for_one() -> None:
    stream = TimingStream(ParseOptions())
    assert stream.feed(b'{"log":"x","MESSAGE":"y"}\n{"log": 5, "stream": "stdout"}\n| a | b |\n') == []


def test_parts_are_joined_within_one_stream_of_a_container() -> None:
    at = "2025-12-31T17:37:40.5Z"
    log = f"{at} stderr P took=1\n{at} stdout F took=7ms\n{at} stderr P 2.\n{at} stderr F 5ms\n"
    records, stats = read(log)
    assert [dict(r.stages) for r in records] == [{"took": 7.0}, {"took": 12.5}]
    assert stats.malformed == stats.unterminated == 0


def test_parts_that_another_line_cuts_off_are_counted() -> None:
    at = "2025-12-31T17:37:40.5Z"
    records, stats = read(f"{at} stderr P took=1\n{at} stdout P a=\ntook=7ms\n{at} stderr F 5ms\n")
    assert [dict(r.stages) for r in records] == [{"took": 7.0}]
    assert stats.malformed == 2
