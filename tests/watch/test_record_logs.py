"""From logs to samples: marks, counts, rotation, floods, what is said of a log that gives nothing."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from livemon.collect import tail
from livemon.collect.log_request import LogRequest
from livemon.model.clock import ManualClock, WallMapping
from livemon.model.errors import UsageError
from livemon.model.samples import LogCount, LogStream, Lost, Mark, Note, Sample, TimingRecord
from livemon.parse.options import ParseOptions
from livemon.record_logs import LogReader, looks_binary
from tests.watch.processes import of_type

LINE = "[c_api_timing] run= {}  prepare_ctx=0.50  runner_run=19.00  validate=1.00  total=21.00\n"


class Reading:
    """A reader on one log with a clock that moves a second a look."""

    def __init__(self, log: Path, *patterns: str) -> None:
        self.log = log
        self.clock = ManualClock()
        self.reader = LogReader([LogRequest(str(log))], ParseOptions(), patterns, self.clock, WallMapping())
        self.samples: list[Sample] = []
        self.look()

    def write(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(text)

    def look(self) -> None:
        while new := self.reader.poll():
            self.samples += new
        self.samples += self.reader.count()
        self.clock.advance_ns(1_000_000_000)

    def of(self, kind: type) -> list:  # type: ignore[type-arg]
        return of_type(self.samples, kind)


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    (tmp_path / "log").touch()
    return Reading(tmp_path / "log", "mode=.*hetero")


def test_records_have_their_place_and_arrival(reading: Reading) -> None:
    reading.write("noise\n" + LINE.format(7))
    reading.look()
    (record,) = reading.of(TimingRecord)
    assert (record.unit, record.offset, record.line, record.stream) == ("7", 6, 2, 0)
    assert record.time_from == "arrival"
    assert record.t_ns == record.arrival_ns == reading.clock.monotonic_ns() - 1_000_000_000
    (count,) = reading.of(LogCount)
    assert (count.lines, count.records, count.malformed) == (2, 1, 0)


def test_a_stamp_without_a_year_is_of_the_year_that_is_now(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    reading = Reading(tmp_path / "log")
    reading.reader._wall.add(reading.clock.monotonic_ns(), reading.clock.wall_ns())
    at = datetime.fromtimestamp(reading.clock.wall_ns() / 1e9).astimezone() - timedelta(seconds=3)
    reading.write(f"{at:%b %d %H:%M:%S} host serve[7]: " + LINE.format(7))
    reading.look()
    (record,) = reading.of(TimingRecord)
    assert record.time_from == "line"
    assert 1e9 <= record.arrival_ns - record.t_ns <= 5e9


def test_a_line_written_in_two_parts_is_one_record_and_one_mark(reading: Reading) -> None:
    text = "mode=gpu+hetero " + LINE.format(1)
    for cut in (5, 30):
        reading.write(text[:cut])
        reading.look()
        reading.write(text[cut:])
        reading.look()
    assert len(reading.of(TimingRecord)) == 2
    assert [mark.text.startswith("mode=gpu+hetero [c_api") for mark in reading.of(Mark)] == [True, True]


def test_a_rotation_announces_the_stream_anew_and_keeps_its_number(reading: Reading) -> None:
    reading.write(LINE.format(1))
    reading.log.rename(f"{reading.log}.1")
    reading.write(LINE.format(2))
    reading.look()
    reading.look()
    assert [(s.index, s.path) for s in reading.of(LogStream)] == [(0, str(reading.log))] * 2
    assert [(r.unit, r.offset, r.line) for r in reading.of(TimingRecord)] == [("1", 0, 1), ("2", 0, 1)]


def test_line_numbers_go_on_after_a_skip(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading.reader.logs._tails[0], "_max_backlog_bytes", 50_000)
    monkeypatch.setattr(tail, "READ_BYTES", 20_000)
    for part in range(2):
        reading.write("".join(LINE.format(n) for n in range(part * 10_000, part * 10_000 + 10_000)))
        reading.look()
    lost = reading.of(Lost)
    assert len(lost) == 2
    records = reading.of(TimingRecord)
    assert sum(entry.count for entry in lost) + len(records) == 20_000
    assert all(record.line == int(record.unit) + 1 for record in records)
    assert records[-1].line == 20_000


def test_many_lines_without_timing_are_told_once(reading: Reading) -> None:
    for _ in range(3):
        reading.write("nothing here\n" * 1204)
        reading.look()
    notes = [note for note in reading.of(Note) if note.severity == "warning"]
    assert [note.text for note in notes] == [f"{reading.log}: read 1,204 lines, no timing found"]
    assert notes[0].remedy == f"try: livemon parse --explain {reading.log}"


def test_a_log_that_stays_empty_is_told_once(reading: Reading) -> None:
    for _ in range(15):
        reading.look()
    assert [note.text for note in reading.of(Note)] == [f"{reading.log}: no whole line in the first 10 s"]


def test_an_unfinished_last_line_is_counted_at_the_end(reading: Reading) -> None:
    reading.write(LINE.format(1) + "[c_api_timing] run= 2  total=2")
    reading.look()
    end = reading.reader.finish()
    assert [(entry.count, entry.unit) for entry in of_type(end, Lost)] == [(1, "lines")]
    assert len(reading.of(TimingRecord)) + len(of_type(end, TimingRecord)) == 1


def test_a_bad_mark_pattern_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no valid expression"):
        Reading(tmp_path / "log", "(")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x7fELF" + bytes(100), True),
        (b"\x1f\x8b\x08" + b"x" * 100, True),
        (bytes(range(256)) * 10, True),
        (LINE.encode() * 10, False),
        ("µ-ops gemessen: größer\n".encode() * 50, False),
        ("Gr\xf6\xdfe gemessen\n".encode("latin-1") * 50, False),
        (b"\x1b[32mgreen\x1b[0m total=1ms\n" * 50, False),
        (b"", False),
    ],
)
def test_what_looks_binary(data: bytes, expected: bool) -> None:
    assert looks_binary(data) is expected
