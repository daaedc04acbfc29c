"""Driving the app in tests: open it over a scripted session, press keys, wait on conditions, read the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from livemon.ui.navigation import LivemonApp
from livemon.ui.screens.base import BaseScreen
from livemon.ui.settings import Settings
from tests.ui.scripted import ScriptedSource

SIZES = ((80, 24), (120, 40), (200, 50))


@asynccontextmanager
async def opened(
    source: ScriptedSource | None = None, *, size: tuple[int, int] = (120, 40), settings: Settings | None = None
) -> AsyncIterator[tuple[LivemonApp, Pilot[int]]]:
    app = LivemonApp(source or ScriptedSource(), settings or Settings(theme="dark"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.snapshot is not None)
        await pilot.pause()
        yield app, pilot
        app.feed.stop()


async def until(pilot: Pilot[int], condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something holds; fails when it never does."""
    for _ in range(round(seconds / 0.004)):
        if condition():
            return
        await asyncio.sleep(0.004)
    raise AssertionError("it never came true")


async def press(app: LivemonApp, pilot: Pilot[int], *keys: str) -> None:
    """Press keys (as the driver would post them) and wait until what they asked for is on the screen."""
    for key in keys:
        character = key if len(key) == 1 else {"space": " ", "tab": "\t", "enter": "\r"}.get(key)
        app.post_message(events.Key(_character_to_key(key) if len(key) == 1 else key, character))
        await settle(app, pilot)


async def settle(app: LivemonApp, pilot: Pilot[int]) -> None:
    """Wait until all messages are handled and the feed has served the newest wish and every job."""
    calm = 0
    for _ in range(30_000):
        feed = app.feed
        wish = feed._wish
        queues = [app._message_queue, *(screen._message_queue for screen in app.screen_stack)]
        is_calm = (
            (wish is None or feed._done_token >= wish.token)
            and not (feed._jobs or feed._outcomes or feed._frame)
            and all(queue.empty() for queue in queues)
            and not any(screen._callbacks or screen._next_callbacks for screen in app.screen_stack)
        )
        calm = calm + 1 if is_calm else 0
        if calm >= 3:
            return
        for _ in range(8):  # what a handler left to later turns of the loop
            await asyncio.sleep(0)
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to rest")


def text(app: LivemonApp) -> str:
    """What is on the screen, without trailing blanks."""
    screen = app.screen
    assert isinstance(screen, BaseScreen)
    return "\n".join(strip.text.rstrip() for strip in screen.canvas.strips())


def lines(app: LivemonApp) -> list[str]:
    return text(app).split("\n")


def name(app: LivemonApp) -> str:
    screen = app.screen
    assert isinstance(screen, BaseScreen)
    return screen.screen_name
