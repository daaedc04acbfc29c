"""Nothing of the developer's own terminal or config reaches these tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "NO_COLOR",
        "COLORTERM",
        "COLORFGBG",
        "TEXTUAL_THEME",
        "TEXTUAL_DRIVER",
        "LC_ALL",
        "LC_CTYPE",
        "COLUMNS",
        "LINES",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
