"""How often a live session is asked for news, by a clock that the test moves."""

from __future__ import annotations

import pytest

from livemon.model.clock import ManualClock
from livemon.ui.feed import PAUSED_S, POLL_S, Feed, Wish
from livemon.ui.view import View
from tests.ui.scripted import ScriptedSource

FOLLOWING = Wish(View(), 40, None, 1)
S = 1_000_000_000


class Paced(ScriptedSource):
    """Has news at each poll; counts polls and frames."""

    def __init__(self) -> None:
        super().__init__(is_live=True)
        self.polls = 0

    def poll(self) -> bool:
        self.polls += 1
        return True

    def revision(self) -> int:
        return 0


def paced(fps: float, units_per_s: float) -> tuple[Feed, Paced, ManualClock]:
    source, clock = Paced(), ManualClock()
    feed = Feed(source, lambda: None, lambda error: None, fps=fps, clock=clock)
    feed._wish = FOLLOWING
    feed._done_token = FOLLOWING.token
    feed._units_per_s = units_per_s
    return feed, source, clock


def run(feed: Feed, source: Paced, clock: ManualClock, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rounds of the feed's thread for some time of the clock; returns the frames made."""
    units_per_s = feed._units_per_s
    frames = 0
    monkeypatch.setattr(feed._lock, "wait", lambda timeout=None: clock.advance_ns(max(round((timeout or 0) * S), 0)))
    end = clock.monotonic_ns() + round(seconds * S)
    while clock.monotonic_ns() < end:
        feed._round(source)
        frames += feed.take_frame() is not None
        feed._units_per_s = units_per_s
        clock.advance_ns(S // 1000)
    return frames


@pytest.mark.parametrize("fps", [2.0, 4.0, 10.0])
def test_a_steady_stream_is_polled_for_each_frame_and_every_frame_comes(
    fps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, source, clock = paced(fps, units_per_s=100.0)
    frames = run(feed, source, clock, 10.0, monkeypatch)
    assert frames == pytest.approx(10 * fps, rel=0.05)
    assert source.polls <= 1.05 * max(10 * fps, 40)


def test_a_line_by_itself_is_looked_for_more_often_than_frames_come(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, source, clock = paced(2.0, units_per_s=1.0)
    frames = run(feed, source, clock, 10.0, monkeypatch)
    assert source.polls == pytest.approx(10 / POLL_S, rel=0.05)
    assert frames == pytest.approx(20, rel=0.15)


def test_a_view_that_stands_still_is_polled_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, source, clock = paced(4.0, units_per_s=100.0)
    feed._wish = Wish(View(at_ns=5 * S), 40, None, 1)
    assert run(feed, source, clock, 10.0, monkeypatch) == 0
    assert source.polls == pytest.approx(10 / PAUSED_S, rel=0.15)


def test_a_poll_without_news_is_repeated_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, source, clock = paced(4.0, units_per_s=100.0)
    monkeypatch.setattr(source, "poll", lambda: setattr(source, "polls", source.polls + 1))
    assert run(feed, source, clock, 10.0, monkeypatch) == 0
    assert source.polls == pytest.approx(10 / POLL_S, rel=0.1)
