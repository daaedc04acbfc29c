"""Anchors, stepped clocks and suspended machines."""

import pytest

from livemon.model.clock import WallMapping
from livemon.model.samples import ClockAnchor, Lost, Note
from livemon.record_clock import ClockWatch
from tests.watch.processes import of_type

SECOND = 1_000_000_000


class SteppedClock:
    def __init__(self) -> None:
        self.mono_ns = 10 * SECOND
        self.offset_ns = 1_700_000_000 * SECOND

    def monotonic_ns(self) -> int:
        return self.mono_ns

    def wall_ns(self) -> int:
        return self.mono_ns + self.offset_ns

    def sleep(self, seconds: float) -> None:
        self.mono_ns += round(seconds * SECOND)


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Time the machine was suspended so far, to be set by the test."""
    time_ns = [0]
    monkeypatch.setattr("livemon.record_clock._asleep_ns", lambda: time_ns[0])
    return time_ns


def test_anchors_come_now_and_then(asleep: list[int]) -> None:
    clock, wall = SteppedClock(), WallMapping()
    watch = ClockWatch(clock, wall)
    anchors = []
    for _ in range(12):
        anchors += of_type(watch.look(), ClockAnchor)
        clock.sleep(1.0)
    assert [anchor.mono_ns // SECOND for anchor in anchors] == [10, 15, 20]
    assert wall.wall_ns(clock.mono_ns) == clock.wall_ns()


@pytest.mark.parametrize("step_s", [-3600, -2, 3, 3600])
def test_a_stepped_wall_clock_is_told_and_moves_only_what_comes_after(asleep: list[int], step_s: int) -> None:
    clock, wall = SteppedClock(), WallMapping()
    watch = ClockWatch(clock, wall)
    watch.look()
    before = wall.wall_ns(clock.mono_ns)
    then_ns = clock.mono_ns
    clock.sleep(1.0)
    clock.offset_ns += step_s * SECOND
    samples = watch.look()
    assert len(of_type(samples, ClockAnchor)) == 1
    assert f"stepped by {step_s:+.1f} s" in of_type(samples, Note)[0].text
    assert wall.wall_ns(then_ns) == before
    assert wall.wall_ns(clock.mono_ns) == clock.wall_ns()


def test_slewing_is_not_told(asleep: list[int]) -> None:
    clock = SteppedClock()
    watch = ClockWatch(clock, WallMapping())
    watch.look()
    for _ in range(3):
        clock.sleep(1.0)
        clock.offset_ns += 500_000
        assert watch.look() == []


def test_a_suspended_machine_is_a_gap_and_no_step(asleep: list[int]) -> None:
    clock = SteppedClock()
    watch = ClockWatch(clock, WallMapping())
    watch.look()
    clock.sleep(1.0)
    clock.offset_ns += 12 * SECOND  # the steady clock stands still meanwhile
    asleep[0] += 12 * SECOND
    samples = watch.look()
    lost = of_type(samples, Lost)
    assert [(entry.source, entry.unit) for entry in lost] == [("session", "gaps")]
    assert [note.text for note in of_type(samples, Note)] == ["the machine was suspended for 12.0 s"]
    assert of_type(samples, ClockAnchor)
