"""Themes: what each style name of ``ui/render`` looks like, as colours and attributes."""

# ruff: noqa: E501 - tables read best with a line for each row

from __future__ import annotations

from dataclasses import dataclass, field

from rich.color import Color
from rich.style import Style


@dataclass(frozen=True, slots=True)
class Palette:
    """One theme. Colours are ``#rrggbb`` or ANSI names; ``None`` is the terminal's own."""

    name: str
    background: str | None
    foreground: str | None
    selected: str | None
    """Background of the selected row."""
    head: str | None
    """Background of panel titles."""
    bar: str | None
    """Background of the status bar."""
    colours: dict[str, str] = field(default_factory=dict)
    """Role (``ok``, ``warn``, ``crit``, ``muted``, ``accent``, ``class0`` …) to colour."""
    is_mono: bool = False


STYLES: dict[str, tuple[str, str]] = {
    "": ("", ""), "text": ("", ""), "bold": ("", "bold"), "name": ("", "bold"), "label": ("accent", ""),
    "muted": ("muted", ""), "header": ("muted", "underline"), "title": ("accent", "bold"), "key": ("accent", "bold"),
    "ok": ("ok", ""), "warn": ("warn", "bold"), "crit": ("crit", "bold"), "spark": ("spark", ""),
    "peak": ("crit", "bold"), "slow": ("warn", ""), "gap": ("muted", ""), "mark": ("mark", "bold"), "rail": ("muted", ""),
    "window": ("accent", ""), "cursor": ("accent", "reverse"), "class0": ("class0", ""), "class1": ("class1", "bold"),
    "class2": ("class2", ""), "role-device": ("class0", ""), "role-finalize": ("class2", ""), "role-host": ("", ""),
    "role-wait": ("muted", ""), "role-total": ("", "bold"), "role-unaccounted": ("muted", "italic"), "role-cpu": ("", ""),
    "v-ok": ("ok", "reverse bold"), "v-warming": ("accent", "reverse bold"), "v-warning": ("warn", "reverse bold"),
    "v-critical": ("crit", "reverse bold"), "v-unknown": ("muted", "reverse bold"), "live": ("ok", "reverse bold"),
    "paused": ("warn", "reverse bold"), "play": ("accent", "reverse bold"), "bar": ("", ""),
    "bar-warn": ("warn", "bold"), "field": ("accent", "underline"), "match": ("warn", "reverse"),
    "p50": ("ok", ""), "p90": ("warn", ""), "p99": ("crit", ""), "input": ("", "underline"), "caret": ("", "reverse"),
}  # fmt: skip
"""Style name -> (colour role, attributes). A state is always told by a word or sign as well."""

DARK = Palette(
    "dark", "#101418", "#d8dee6", "#26323f", "#1b232c", "#1b232c",
    {"muted": "#95a2b2", "accent": "#6cb6ff", "ok": "#57c98a", "warn": "#f0b43c", "crit": "#ff7b72", "spark": "#7fb2e5",
     "mark": "#d2a8ff", "class0": "#58b2ff", "class1": "#ffa657", "class2": "#c8a6f5"},
)  # fmt: skip
LIGHT = Palette(
    "light", "#ffffff", "#1c2128", "#dbe7f5", "#eef1f5", "#eef1f5",
    {"muted": "#535c68", "accent": "#0757b5", "ok": "#0f6331", "warn": "#7d4e00", "crit": "#b0131f", "spark": "#235a97",
     "mark": "#6f3cc2", "class0": "#0757b5", "class1": "#964000", "class2": "#6a3fb0"},
)  # fmt: skip
HIGH_CONTRAST = Palette(
    "high-contrast", "#000000", "#ffffff", "#003a75", "#000000", "#262626",
    {"muted": "#cfcfcf", "accent": "#80d4ff", "ok": "#5dff9b", "warn": "#ffd75f", "crit": "#ff9a94", "spark": "#bfe3ff",
     "mark": "#f0b8ff", "class0": "#7fd0ff", "class1": "#ffc680", "class2": "#e3c4ff"},
)  # fmt: skip
ANSI = Palette(
    "ansi", None, None, None, None, None,
    {"accent": "cyan", "ok": "green", "warn": "yellow", "crit": "red", "spark": "cyan",
     "mark": "magenta", "class0": "cyan", "class1": "yellow", "class2": "magenta"},
)  # fmt: skip
MONO = Palette("mono", None, None, None, None, None, {}, is_mono=True)

PALETTES: dict[str, Palette] = {p.name: p for p in (DARK, LIGHT, HIGH_CONTRAST, ANSI, MONO)}
THEMES: tuple[str, ...] = ("dark", "light", "high-contrast", "ansi", "mono")


class Styles:
    """Looks (style, base) names up as rich styles for one palette, each made once."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self._made: dict[tuple[str, str], Style] = {}

    def get(self, name: str, base: str = "") -> Style:
        """The rich style of a style name on a base (``""``, ``sel``, ``head``, ``bar``)."""
        made = self._made.get((name, base))
        if made is None:
            made = self._made[name, base] = self._make(name, base)
        return made

    def _make(self, name: str, base: str) -> Style:
        palette = self.palette
        role, attributes = STYLES[name]
        wanted = set(attributes.split())
        background = {"sel": palette.selected, "head": palette.head, "bar": palette.bar}.get(base) or palette.background
        foreground = palette.colours.get(role, palette.foreground)
        if palette.background is None:
            # The terminal's own colours: rows stand out by attributes alone.
            if base == "sel":
                wanted ^= {"reverse"}
            elif base in ("head", "bar"):
                wanted |= {"bold"} if base == "head" else {"reverse"}
                if base == "bar" and "reverse" in attributes.split():
                    wanted -= {"reverse"}
            if palette.is_mono and role == "warn":
                wanted |= {"bold"}
            if palette.is_mono and role == "crit":
                wanted |= {"bold", "underline"}
        if "reverse" in wanted and palette.background is not None:
            wanted -= {"reverse"}
            foreground, background = palette.background, foreground
        return Style(
            color=None if foreground is None else Color.parse(foreground),
            bgcolor=None if background is None else Color.parse(background),
            **dict.fromkeys(wanted, True),  # type: ignore[arg-type]
        )


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two ``#rrggbb`` colours by the WCAG formula, 1..21."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, 0..1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def deuteranopia(colour: str) -> str:
    """The colour as a person without green cones sees it (Viénot 1999, on linear light)."""
    linear = []
    for i in (1, 3, 5):
        c = int(colour[i : i + 2], 16) / 255
        linear.append(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
    red, green, blue = linear
    mixed = (0.29275 * red + 0.70725 * green, 0.29275 * red + 0.70725 * green, -0.02234 * red + 0.02234 * green + blue)
    out = []
    for value in mixed:
        c = min(max(value, 0.0), 1.0)
        out.append(round(255 * (12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055)))
    return "#" + "".join(f"{c:02x}" for c in out)
