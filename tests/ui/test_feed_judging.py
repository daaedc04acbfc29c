"""The feed with a source that judges a recording bit by bit."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from livemon.model.snapshot import Snapshot
from livemon.ui.feed import Feed, Wish
from livemon.ui.view import View
from tests.ui.scripted import ScriptedSource


class Judging(ScriptedSource):
    """A finished session that needs so many polls to be judged."""

    def __init__(self, steps: int) -> None:
        super().__init__(is_live=False)
        self.steps = steps
        self.done = 0
        self.polls = 0
        self.switch_s = 0.0
        self.may_go_on = threading.Event()

    @property
    def judging(self) -> float | None:
        return self.done / self.steps if self.done < self.steps else None

    def poll(self) -> bool:
        self.polls += 1
        self.switch_s = sys.getswitchinterval()
        if self.done == 1 and not self.may_go_on.is_set():
            return False
        self.done += 1
        return True


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def frames(feed: Feed, taken: list[Snapshot]) -> int:
    frame = feed.take_frame()
    if frame is not None:
        taken.append(frame.snapshot)
    return len(taken)


def feed_of(source: Judging) -> Feed:
    failures: list[BaseException] = []
    feed = Feed(source, lambda: None, failures.append, fps=4)
    feed.start()
    return feed


def test_nothing_is_judged_before_the_first_frame_is_asked_for_and_taken() -> None:
    source = Judging(5)
    feed = feed_of(source)
    time.sleep(0.1)
    assert source.polls == 0
    feed.want(Wish(View(), 40, None, 1))
    until(lambda: feed._frame is not None)
    time.sleep(0.1)
    assert source.polls == 0
    taken: list[Snapshot] = []
    frames(feed, taken)
    until(lambda: source.done == 1)
    feed.stop()


def test_a_view_that_stands_still_is_redrawn_until_all_is_judged_and_then_left_alone() -> None:
    source = Judging(6)
    source.may_go_on.set()
    usual = sys.getswitchinterval()
    feed = feed_of(source)
    taken: list[Snapshot] = []
    feed.want(Wish(View(at_ns=source.bounds_ns()[0] + 20_000_000_000), 40, None, 1))
    until(lambda: frames(feed, taken) >= 1 and source.judging is None)
    until(lambda: frames(feed, taken) >= 1 + source.steps)
    polls = source.polls
    assert polls == source.steps
    assert source.switch_s < usual
    time.sleep(0.2)
    assert source.polls == polls
    until(lambda: sys.getswitchinterval() == usual)
    feed.stop()


def test_a_wish_and_leaving_do_not_wait_for_the_judging() -> None:
    source = Judging(1_000_000)
    feed = feed_of(source)
    taken: list[Snapshot] = []
    start = source.bounds_ns()[0]
    for token in range(1, 5):
        feed.want(Wish(View(at_ns=start + token * 1_000_000_000), 40, None, token))
        until(lambda token=token: frames(feed, taken) > 0 and taken[-1].at_ns == start + token * 1_000_000_000)
        assert source.judging is not None
    feed.stop()
    until(lambda: source.is_closed)
    assert source.judging is not None
