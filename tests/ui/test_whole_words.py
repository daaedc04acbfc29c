"""Lists cut their lines at the width; the selected one is said whole below."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from livemon.model.snapshot import SessionEntry
from livemon.ui.actions import BY_ID
from livemon.ui.settings import Settings
from tests.ui.driving import SIZES, name, opened, press, text

LONG = "a-very-long-name-of-a-process-that-serves-several-models-at-once (4711)"


def sessions() -> Sequence[SessionEntry]:
    return [SessionEntry("/tmp/x/a.livemon", "a", None, 8.0, 100, "recorder pid 77 gone", LONG, None)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("keys", "screen", "words"),
    [
        ((":", "f", "o", "l", "l"), "palette", f"follow (f): {BY_ID['follow'].text}"),
        ((",",), "settings", "(auto, dark, light, high-contrast, ansi, mono)"),
        ((",", "end"), "settings", f"mouse: {BY_ID['mouse'].text}"),
        (("c", "down", "down", "down", "down", "down"), "columns", "the bar is full at the budget, then the factor"),
        (("o",), "sessions", f"a: recorder pid 77 gone; targets: {LONG}; /tmp/x/a.livemon"),
    ],
)
async def test_the_selected_line_is_said_whole(
    keys: tuple[str, ...], screen: str, words: str, size: tuple[int, int]
) -> None:
    async with opened(size=size, settings=Settings(theme="dark", sessions=sessions)) as (app, pilot):
        await press(app, pilot, *keys)
        assert name(app) == screen
        assert words in " ".join(text(app).split())


async def test_without_room_there_is_no_footer() -> None:
    async with opened(size=(80, 12), settings=Settings(theme="dark")) as (app, pilot):
        await press(app, pilot, "c")
        assert "───" not in text(app)
