"""Session-clock nanoseconds as the seconds and the text that the reader asked for."""

from __future__ import annotations

import datetime
from typing import Literal

from livemon.model.clock import WallMapping
from livemon.model.findings import Finding
from livemon.model.judgement import Judgement

ClockName = Literal["wall", "monotonic", "relative"]
CLOCKS: tuple[ClockName, ...] = ("wall", "monotonic", "relative")


class SessionTimes:
    """Times of one session on a chosen clock.

    ``wall`` is unix time where the session is anchored to it, else the session's own clock;
    ``monotonic`` is always the session's own clock; ``relative`` counts from the first sample.
    """

    def __init__(self, judgement: Judgement, clock: ClockName = "wall") -> None:
        self._mapping = WallMapping(judgement.anchors)
        self._is_unix = judgement.facts.clock == "unix"
        self._start_ns = (judgement.start_ns or 0) if judgement.whole_ns is None else judgement.whole_ns[0]
        self.asked: ClockName = clock
        self.is_wall = clock == "wall" and (self._is_unix or self._mapping.is_known)
        """Whether the times are unix times."""

    @property
    def name(self) -> str:
        """The clock in force: ``unix``, ``session`` or ``relative``."""
        if self.asked == "relative":
            return "relative"
        return "unix" if self.is_wall else "session"

    def seconds(self, t_ns: int | None) -> float | None:
        """Seconds on the chosen clock; ``None`` stays ``None``."""
        return None if t_ns is None else self._chosen_ns(t_ns) / 1e9

    def relative_s(self, t_ns: int) -> float:
        """Seconds since the first sample."""
        return (t_ns - self._start_ns) / 1e9

    def text(self, t_ns: int | None) -> str:
        """A moment for a person: UTC time of day and the offset, or seconds on the session's clock."""
        if t_ns is None:
            return "–"
        if self.asked == "relative":
            return f"{self.relative_s(t_ns):+.3f} s"
        if not self.is_wall:
            return f"{t_ns / 1e9:.3f} s"
        return f"{utc(self._chosen_ns(t_ns)):%H:%M:%S.%f}"[:-3] + "Z"

    def date_text(self, t_ns: int | None) -> str:
        """Like ``text``, with the date where it is known."""
        if t_ns is None or not self.is_wall:
            return self.text(t_ns)
        return f"{utc(self._chosen_ns(t_ns)):%Y-%m-%d} {self.text(t_ns)}"

    @property
    def explanation(self) -> str:
        """What the times are, in one line."""
        if self.asked == "relative":
            return "Times are seconds since the first sample."
        if self.is_wall:
            return "Times are UTC."
        return "Times are seconds on the session's own clock" + (
            "; nothing in it ties it to the time of day." if self.asked == "wall" else "."
        )

    def _chosen_ns(self, t_ns: int) -> int:
        if self.asked == "relative":
            return t_ns - self._start_ns
        if self.is_wall and not self._is_unix:
            return self._mapping.wall_ns(t_ns) or 0
        return t_ns


def told_end_ns(finding: Finding, judgement: Judgement) -> int | None:
    """Where a finding ends, session ns; one that is not over ends with the session, whatever stretch is told of."""
    if finding.end_ns is not None:
        return finding.end_ns
    return judgement.end_ns if judgement.whole_ns is None else judgement.whole_ns[1]


def utc(unix_ns: int) -> datetime.datetime:
    """Unix ns as a UTC date and time, to the microsecond; clamped to what a date can hold."""
    highest_s = 253_402_300_799
    seconds = max(-62_135_596_800, min(unix_ns / 1e9, highest_s))
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
