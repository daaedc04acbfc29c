"""Stamps of every kind, and what fills in for what they lack."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.parse.timestamps import Calendar, Stamp, find, read

REFERENCE_NS = int(datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()) * 10**9


def calendar() -> Calendar:
    return Calendar(UTC, REFERENCE_NS)


def unix(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1e6) * 1000


@pytest.mark.parametrize(
    ("line", "iso"),
    [
        ("2024-05-02T12:17:25.250Z x", "2024-05-02T12:17:25.25+00:00"),
        ("ts=2024-04-22T17:18:03.213+0800 x", "2024-04-22T17:18:03.213+08:00"),
        ("[2018-03-09T11:14:05.002-0100][12.277s] GC", "2018-03-09T11:14:05.002-01:00"),
        ("2021-10-08 20:03:15,649 INFO", "2021-10-08T20:03:15.649+00:00"),
        ("[GIN] 2026/01/20 - 23:15:37 | 200 |", "2026-01-20T23:15:37+00:00"),
        ('1.2.3.4 - - [18/Mar/2023:15:00:00 +0200] "GET', "2023-03-18T15:00:00+02:00"),
        ("px [25/Feb/2019:16:19:48.143] fe", "2019-02-25T16:19:48.143+00:00"),
        ("[05/10/2021-12:24:30] [I] x", "2021-05-10T12:24:30+00:00"),
        ("17/06/09 20:10:45 INFO", "2017-06-09T20:10:45+00:00"),
        ("{38 vars} [Sun Mar 13 22:49:12 2016] POST", "2016-03-13T22:49:12+00:00"),
        ("Mar  9 10:00:01 host1 serve: x", "2026-03-09T10:00:01+00:00"),
        ("Dec 30 10:00:01 host1 serve: x", "2025-12-30T10:00:01+00:00"),
        ("févr. 20 23:15:37 host1 x", "2026-02-20T23:15:37+00:00"),
        ("INFO 02-19 10:13:31 [core.py:1] x", "2026-02-19T10:13:31+00:00"),
        ("E0217 15:04:22.619632 1952 x.cc:253] y", "2026-02-17T15:04:22.619632+00:00"),
        ("[10:29:31.5] done", "2026-03-10T10:29:31.5+00:00"),
        ("29 Feb is no stamp, 2024-02-29 23:59:59.5 is", "2024-02-29T23:59:59.5+00:00"),
    ],
)
def test_a_stamp_in_wall_time(line: str, iso: str) -> None:
    stamp = find(line, calendar())
    assert stamp is not None
    assert (stamp.t_ns, stamp.clock) == (unix(iso), "unix")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("16.44.049.637 I slot", 1004.049637),
        ("[42027] 1.37.495.398 I x", 97.495398),
        ("[226.506s][info] GC(1)", 226.506),
        ("[5129:0x37c4790]     3107 ms: Mark-sweep", 3.107),
        ("4227.515: Total time", 4227.515),
        ("gc 10 @77.279s 0%: 1+2+3 ms clock", 77.279),
    ],
)
def test_an_uptime_is_on_no_known_clock(line: str, seconds: float) -> None:
    stamp = find(line, calendar())
    assert stamp is not None
    assert (stamp.t_ns, stamp.clock) == (round(seconds * 1e9), None)


def test_the_monotonic_prefix_wins_over_everything() -> None:
    stamp = find("2024-01-01T00:00:00Z [mono_ns=86702071725377][T0x7f][TIMING] f: x", calendar())
    assert stamp is not None
    assert (stamp.t_ns, stamp.clock) == (86702071725377, "monotonic")


@pytest.mark.parametrize(
    ("line", "iso"),
    [
        ("2025-12-31T18:22:06+01:00 stdout 2025-12-31T17:22:04.951Z x", "2025-12-31T17:22:04.951+00:00"),
        ("2025-04-01T08:18:30.307Z [GIN] 2025/04/01 - 08:18:31 | x", "2025-04-01T08:18:30.307+00:00"),
        ("Feb 25 16:19:49 h x: 2019-02-25 16:19:48.143 y", "2019-02-25T16:19:48.143+00:00"),
    ],
)
def test_of_several_the_most_complete_and_among_equals_the_innermost(line: str, iso: str) -> None:
    stamp = find(line, calendar())
    assert stamp is not None
    assert stamp.t_ns == unix(iso)


@pytest.mark.parametrize(
    "line",
    [
        "127.0.0.1:40052",
        "00:11:22:33:44:55 link up",
        "2024-13-45T12:00:00Z",
        "ratio 10:20",
        "v1.2.3",
        "31/Foo/2023:15:00:00",
        "",
    ],
)
def test_what_is_no_stamp(line: str) -> None:
    assert find(line, calendar()) is None


def test_without_a_reference_a_stamp_without_year_stays_unknown() -> None:
    assert find("Mar  9 10:00:01 host1 x", Calendar(UTC)) is None


def test_the_zone_of_stamps_without_one_can_be_said() -> None:
    stamp = find("2024-07-01 12:00:00 x", Calendar(ZoneInfo("Europe/Berlin")))
    assert stamp is not None
    assert stamp.t_ns == unix("2024-07-01T12:00:00+02:00")


@pytest.mark.parametrize(
    ("value", "t_ns"),
    [
        (1745532517537, 1745532517537 * 10**6),
        ("1534860261221373", 1534860261221373000),
        (1716723830.5, 1716723830500000000),
        ("1544712660000000000", 1544712660000000000),
        (12, None),
        (True, None),
        (None, None),
        ("soon", None),
    ],
)
def test_epochs_by_their_size(value: object, t_ns: int | None) -> None:
    stamp = read(value, calendar())
    assert (stamp and stamp.t_ns) == t_ns


@given(st.text(alphabet="0123456789:-/.T ,[]ZJanFebsm+@gc()", max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    stamp = find(text, calendar())
    assert stamp is None or isinstance(stamp.t_ns, int)


def test_stamps_of_one_second_are_told_apart_by_what_is_around_them() -> None:
    calendar = Calendar(UTC)
    first = find("2024-05-02T12:17:25.5Z x", calendar)
    assert first is not None
    assert find("2024-05-02T12:17:25.75Z x", calendar) == Stamp(first.t_ns + 250_000_000, "unix", first.rank)
    assert find("2024-05-02T12:17:25Z5 x", calendar) != find("2024-05-02T12:17:25Z x", calendar)
    assert find("12024-05-02T12:17:25Z x", calendar) != find("2024-05-02T12:17:25Z x", calendar)
    assert find("a 2024-05-02T12:17:25Z x", calendar) == find("2024-05-02T12:17:25Z x", calendar)
