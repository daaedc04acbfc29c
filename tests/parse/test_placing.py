"""Records on the session clock."""

import pytest

from livemon.model.clock import WallMapping
from livemon.parse.placing import place
from livemon.parse.record import ParsedRecord

WALL = WallMapping([(1_000_000_000, 1_760_000_000_000_000_000)])
ARRIVAL = 61_000_000_000


def record(t_ns: int | None, clock: str | None, start_ns: int | None = None) -> ParsedRecord:
    return ParsedRecord(3, 70, 40, t_ns, clock, "x", "1", None, 5, 6, (("a", 1.5),), (("k", "v"),), start_ns)


def placed(r: ParsedRecord, session_clock: str = "monotonic", wall: WallMapping = WALL):
    return place(r, arrival_ns=ARRIVAL, wall=wall, stream=2, session_clock=session_clock)


def test_the_lines_own_monotonic_time() -> None:
    out = placed(record(60_500_000_000, "monotonic", 60_400_000_000))
    assert (out.t_ns, out.start_ns, out.time_from, out.arrival_ns) == (60_500_000_000, 60_400_000_000, "line", ARRIVAL)
    assert (out.stream, out.offset, out.length, out.line, out.pid, out.tid) == (2, 70, 40, 3, 5, 6)
    assert (out.stages, out.fields, out.unit, out.source) == ((("a", 1.5),), (("k", "v"),), "1", "x")


def test_wall_time_on_a_monotonic_session() -> None:
    assert placed(record(1_760_000_059_000_000_000, "unix")).t_ns == 60_000_000_000


def test_monotonic_time_on_a_wall_clock_session() -> None:
    out = place(
        record(2_000_000_000, "monotonic"),
        arrival_ns=1_760_000_100_000_000_000,
        wall=WALL,
        stream=0,
        session_clock="unix",
    )
    assert (out.t_ns, out.time_from) == (1_760_000_001_000_000_000, "line")


@pytest.mark.parametrize(
    "r",
    [
        record(None, None),
        record(5, None),
        record(99_000_000_000, "monotonic"),
        record(1_770_000_000_000_000_000, "unix"),
        record(5, "unix"),
    ],
    ids=["no stamp", "an uptime", "from the future", "wall time from the future", "before the clock began"],
)
def test_else_the_arrival_and_it_says_so(r: ParsedRecord) -> None:
    out = placed(r)
    assert (out.t_ns, out.start_ns, out.time_from) == (ARRIVAL, None, "arrival")


def test_without_an_anchor_wall_time_says_nothing_on_a_monotonic_session() -> None:
    assert placed(record(1_760_000_059_000_000_000, "unix"), wall=WallMapping()).time_from == "arrival"


def test_a_session_in_order_of_lines() -> None:
    assert placed(record(5, "unix"), "order").time_from == "order"
