"""Numbers as text: fixed widths, units that fit, a sign for what is unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from livemon.ui.render.glyphs import Glyphs

if TYPE_CHECKING:
    from livemon.model.snapshot import Figure


def significant(value: float, digits: int = 3) -> str:
    """At least ``digits`` significant digits without an exponent: 0.58, 1.20, 19.7, 150."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    for places in range(digits - 1, 0, -1):
        if round(size, places) < 10 ** (digits - places):
            return f"{value:.{places}f}"
    return f"{value:.0f}"


def milliseconds(value: float | None, missing: str = "–") -> str:
    """A duration in ms in at most 6 cells; from 10,000 ms on in seconds or more, with its unit."""
    if value is None or not math.isfinite(value):
        return missing
    if value < 9999.5:
        return significant(value)
    seconds = value / 1000
    if seconds < 9999.5:
        return f"{seconds:.4g}s" if seconds < 100 else f"{seconds:.0f}s"
    return f"{seconds / 3600:.0f}h"


def milliseconds_words(value: float | None, missing: str = "–") -> str:
    """A duration given in ms with its unit, for sentences: 0.58 ms, 150 ms, 14.5 s."""
    if value is None or not math.isfinite(value):
        return missing
    return f"{significant(value)} ms" if value < 9999.5 else duration(value / 1000)


def percent(value: float | None, missing: str = "–") -> str:
    """A percentage without its sign: 0.3, 9.7, 97, 1495."""
    if value is None or not math.isfinite(value):
        return missing
    return f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"


def figure(value: Figure, form: str, glyphs: Glyphs) -> str:
    """A figure with its quality: ``~`` estimated or scaled, ``'`` stale, ``–`` unknown.

    Args:
        value: The figure.
        form: ``ms``, ``percent``, ``ratio`` (two places) or ``int``.
        glyphs: The signs to use.
    """
    if value.value is None or not math.isfinite(value.value):
        return glyphs.missing
    if form == "ms":
        text = milliseconds(value.value)
    elif form == "percent":
        text = percent(value.value)
    elif form == "int":
        text = f"{value.value:.0f}"
    else:
        text = significant(value.value)
    if value.quality in ("estimated", "scaled"):
        return glyphs.about + text
    return text + glyphs.stale if value.quality == "stale" else text


def ratio(value: float | None, glyphs: Glyphs) -> str:
    """A factor: 1.26×, 18×."""
    if value is None or not math.isfinite(value):
        return glyphs.missing
    return f"{value:.2f}{glyphs.times}" if value < 9.995 else f"{value:.0f}{glyphs.times}"


def size(count: float) -> str:
    """Bytes: 812 B, 3.2 MB (decimal)."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" or abs(count) >= 99.95 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """A span of time: 0.8 s, 42 s, 4:05, 1:02:03."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{second:02}" if hours else f"{minutes}:{second:02}"


@dataclass(frozen=True, slots=True)
class Stamps:
    """Writes moments: as wall-clock time where the session has it, else from the session's start."""

    start_ns: int
    at_ns: int
    wall_ns: int | None
    """Wall time at ``at_ns``."""

    def time(self, t_ns: int, *, places: int = 0) -> str:
        """``12:04:31`` or ``+12.3s``."""
        if self.wall_ns is None:
            return f"+{(t_ns - self.start_ns) / 1e9:.{max(places, 1)}f}s"
        wall_ns = self.wall_ns + (t_ns - self.at_ns)
        moment = datetime.fromtimestamp(wall_ns // 1_000_000_000)
        text = moment.strftime("%H:%M:%S")
        if places:
            text += f".{wall_ns % 1_000_000_000 // 10 ** (9 - places):0{places}}"
        return text
