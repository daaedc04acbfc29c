"""Pictures of the screens, compared as SVG with ``tests/ui/goldens``.

A changed picture is looked at before it is taken: run with ``UPDATE_GOLDENS=1`` and open the file.
They belong to one version of Textual; with another they are skipped, and never written.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import textual

from livemon.ui.settings import Settings
from tests.ui.driving import opened, press
from tests.ui.scripted import ScriptedSource

TEXTUAL = "8.2.8"
GOLDENS = Path(__file__).parent / "goldens"

PICTURES: dict[str, tuple[tuple[int, int], Settings, dict[str, object], tuple[str, ...]]] = {
    "overview_80": ((80, 24), Settings(theme="dark"), {}, ()),
    "overview_120": ((120, 40), Settings(theme="dark"), {}, ()),
    "overview_200": ((200, 50), Settings(theme="dark"), {"threads": 40}, ()),
    "overview_light": ((120, 40), Settings(theme="light"), {}, ()),
    "overview_contrast": ((100, 30), Settings(theme="high-contrast"), {}, ()),
    "overview_ansi": ((100, 30), Settings(theme="ansi"), {}, ()),
    "overview_mono_ascii": ((100, 30), Settings(theme="mono", ascii=True), {}, ()),
    "overview_braille_past": ((120, 40), Settings(theme="dark", spark="braille"), {}, ("b", *"+90", "enter")),
    "overview_no_counters": ((120, 40), Settings(theme="dark"), {"counters": False, "end_s": 130.0}, ()),
    "overview_grouped": ((120, 40), Settings(theme="dark", group="role"), {"threads": 40}, ()),
    "overview_tiny": ((20, 5), Settings(theme="dark"), {}, ()),
    "finding_transient": ((120, 60), Settings(theme="dark"), {}, ("enter",)),
    "finding_finalize": ((80, 24), Settings(theme="dark"), {}, ("j", "j", "enter")),
    "stage": ((120, 40), Settings(theme="dark"), {}, ("/", *"stage:validate", "enter", "tab", "j", "enter")),
    "thread": ((120, 50), Settings(theme="dark"), {}, ("shift+tab", "enter")),
    "log": ((120, 30), Settings(theme="dark"), {}, ("b", *"+95", "enter", "w", "/", *"validate", "enter")),
    "doctor": ((100, 24), Settings(theme="dark"), {"counters": False}, ("d",)),
    "help": ((100, 60), Settings(theme="dark"), {}, ("?",)),
    "settings": (
        (100, 30),
        Settings(theme="dark", config_path=Path("/home/me/.config/livemon/config.toml")),
        {},
        (",", "j", "j"),
    ),
}


@pytest.mark.parametrize("name", PICTURES)
async def test_picture(name: str) -> None:
    if textual.__version__ != TEXTUAL:
        pytest.skip(f"pictures belong to Textual {TEXTUAL}, this is {textual.__version__}")
    size, settings, options, keys = PICTURES[name]
    async with opened(ScriptedSource(**options), size=size, settings=settings) as (app, pilot):  # type: ignore[arg-type]
        await press(app, pilot, *keys)
        drawn = re.sub(r"terminal-\d+-", "terminal-", app.export_screenshot(title=""))
    path = GOLDENS / f"{name}.svg"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(drawn)
    known = path.read_text() if path.exists() else ""
    if drawn != known:
        (GOLDENS / f"{name}.new.svg").write_text(drawn)
    assert drawn == known, f"differs: see {name}.new.svg beside it"


def test_no_picture_is_left_over() -> None:
    assert {path.stem for path in GOLDENS.glob("*.svg") if not path.name.endswith(".new.svg")} == set(PICTURES)
