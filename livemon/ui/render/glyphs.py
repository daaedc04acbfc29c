"""The signs that are drawn with: one set for Unicode terminals, one in pure ASCII."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Every non-letter sign of the screens; all are one cell wide."""

    blocks: str
    """Levels 0..n of a sparkline cell, lowest first; level 0 still shows (a zero is not a gap)."""
    is_braille: bool
    gap: str
    bar_full: str
    bar_half: str
    bar_empty: str
    more: str
    missing: str
    times: str
    rule: str
    idle: str
    cursor: str
    mark: str
    episode: str
    play: str
    pause: str
    record: str
    up: str
    down: str
    arrow: str
    collapsed: str
    expanded: str
    dot: str
    about: str
    stale: str
    to: str

    def ascii_only(self, text: str) -> str:
        """Prose with signs of ours replaced, when this set is ASCII."""
        if not self.is_ascii or text.isascii():
            return text
        for sign, plain in _PROSE:
            text = text.replace(sign, plain)
        return text.encode("ascii", "replace").decode("ascii")

    @property
    def is_ascii(self) -> bool:
        """Whether this set is pure ASCII."""
        return self.more == "~"

    def cells_in_ascii(self, text: str) -> str:
        """Any text in ASCII with the same number of cells: the last look before it goes to the terminal."""
        if text.isascii():
            return text
        return "".join(c if c.isascii() else _CELLS.get(c, "?" * cell_len(c)) for c in text)


_PROSE = (
    ("×", "x"), ("–", "-"), ("—", "-"), ("·", "|"), ("…", "~"), ("µ", "u"), ("≤", "<="), ("≥", ">="), ("→", "->"),
    ("←", "<-"), ("↑", "^"), ("↓", "v"), ("±", "+-"), ("÷", "/"), ("“", '"'), ("”", '"'), ("’", "'"), ("−", "-"),
    ("Σ", "sum "), ("Δ", "d "),
)  # fmt: skip

_CELLS = {sign: plain for sign, plain in _PROSE if len(plain) == 1} | {
    "→": ">", "←": "<", "≤": "<", "≥": ">", "±": "~", "Σ": "S", "Δ": "d", "─": "-", "▸": ">", "▲": "^", "▼": "v",
    "▌": "|", "┄": ":", "█": "#", "░": ".", "▀": "^", "‖": "=", "●": "*", "▶": ">", "°": "o",
}  # fmt: skip

BLOCK = Glyphs(
    blocks="▁▂▃▄▅▆▇█",
    is_braille=False,
    gap="┄",
    bar_full="█",
    bar_half="▌",
    bar_empty="░",
    more="…",
    missing="–",
    times="×",
    rule="─",
    idle="·",
    cursor="▌",
    mark="▼",
    episode="▀",
    play="▶",
    pause="‖",
    record="●",
    up="▲",
    down="▼",
    arrow="▸",
    collapsed="▸",
    expanded="▾",
    dot="·",
    about="~",
    stale="'",
    to="→",
)

BRAILLE = Glyphs(
    **{name: getattr(BLOCK, name) for name in Glyphs.__dataclass_fields__ if name not in ("is_braille",)},
    is_braille=True,
)

ASCII = Glyphs(
    blocks="_.-=+*#@",
    is_braille=False,
    gap=":",
    bar_full="#",
    bar_half="=",
    bar_empty=".",
    more="~",
    missing="-",
    times="x",
    rule="-",
    idle=".",
    cursor="|",
    mark="v",
    episode="^",
    play=">",
    pause="=",
    record="*",
    up="^",
    down="v",
    arrow=">",
    collapsed="+",
    expanded="-",
    dot="|",
    about="~",
    stale="'",
    to="->",
)
