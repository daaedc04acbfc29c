"""What the screens can be told on the command line; light, because the first paint of a replay waits for it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from livemon.watch_options import WatchOptions

THEMES = ("auto", "dark", "light", "high-contrast", "ansi", "mono")


def add_screen_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the screens alone."""
    group = parser.add_argument_group("screens")
    group.add_argument("--fps", type=_fps, metavar="N", help="redraws a second, at most (default: 4)")
    group.add_argument("--ascii", action="store_true", help="draw with ASCII signs only")
    group.add_argument("--theme", choices=THEMES, help="colours (default: auto)")
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    group.add_argument(
        "--web", nargs="?", const="localhost:8000", metavar="HOST:PORT", help="serve the screens to a browser"
    )


def read_criteria(path: Path | None) -> tuple[str, str]:
    """A criteria file as text and the sha256 that is recorded; two empty strings without one.

    Raises:
        UsageError: it can't be read or is not valid.
    """
    if path is None:
        return "", ""
    from livemon.judge import load_criteria_text
    from livemon.model.criteria import criteria_sha256

    text = load_criteria_text(path)
    return text, criteria_sha256(text)


def screen_settings(options: WatchOptions | argparse.Namespace) -> dict[str, Any]:
    """The settings that were given on the command line; the config file fills in the rest."""
    given: dict[str, Any] = {}
    if options.fps is not None:
        given["fps"] = options.fps
    if options.ascii:
        given["ascii"] = True
    if options.theme is not None:
        given["theme"] = options.theme
    mouse = not options.no_mouse if isinstance(options, argparse.Namespace) else options.mouse
    if not mouse:
        given["mouse"] = False
    return given


def _fps(text: str) -> float:
    return number_between(text, 0.5, 20, "redraws a second")


def number_between(text: str, least: float, most: float, unit: str) -> float:
    """A number in a closed range, for argparse."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text} is not between {least:g} and {most:g} {unit}")
    return value
