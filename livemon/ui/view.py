"""Where the view stands in time: following, paused or playing; pure, with time as an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace

SPANS_S: tuple[float, ...] = (5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600)
SPEEDS: tuple[float, ...] = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class View:
    """What is asked for: a moment, a window, how it moves."""

    at_ns: int | None = None
    """``None`` follows the newest moment."""
    span_s: float | None = 60.0
    """Width of the charts; ``None`` is the whole session."""
    speed: float | None = None
    """Playing at this speed; ``None`` stands still (or follows)."""

    @property
    def is_following(self) -> bool:
        """Whether the view is at the newest moment and stays there."""
        return self.at_ns is None

    def span_ns(self, bounds: tuple[int, int]) -> int:
        """Width of the charts in ns for a session with these bounds."""
        if self.span_s is None:
            return max(bounds[1] - bounds[0], 1_000_000_000)
        return round(self.span_s * 1e9)


def moved(view: View, delta_ns: int, bounds: tuple[int, int], shown_ns: int) -> View:
    """The cursor moved; it stops at the session's ends. A moved cursor stands still."""
    at = shown_ns if view.at_ns is None else view.at_ns
    return at_moment(view, at + delta_ns, bounds)


def at_moment(view: View, t_ns: int, bounds: tuple[int, int]) -> View:
    """The cursor at a moment inside the session."""
    return replace(view, at_ns=min(max(t_ns, bounds[0]), bounds[1]), speed=None)


def toggled(view: View, bounds: tuple[int, int], shown_ns: int, *, is_live: bool) -> View:
    """Space: a live view pauses or follows, a finished session plays or pauses."""
    if view.speed is not None:
        return replace(view, at_ns=shown_ns, speed=None)
    if is_live:
        return replace(view, at_ns=shown_ns if view.at_ns is None else None)
    if view.at_ns is None or view.at_ns >= bounds[1]:
        return replace(view, at_ns=bounds[0], speed=1.0)
    return replace(view, speed=1.0)


def with_speed(view: View, step: int, bounds: tuple[int, int], shown_ns: int) -> View:
    """Replay faster (``step`` 1) or slower (-1); starts playing from the cursor if it stands."""
    if view.speed is None:
        start = shown_ns if view.at_ns is None else view.at_ns
        if start >= bounds[1] and step > 0:
            return view
        return replace(view, at_ns=start, speed=1.0 if step > 0 else 0.5)
    nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - (view.speed or 1.0)))
    return replace(view, speed=SPEEDS[min(max(nearest + step, 0), len(SPEEDS) - 1)])


def advanced(view: View, elapsed_ns: int, bounds: tuple[int, int], *, is_live: bool) -> View:
    """A playing view after some time; at the end a live one follows and a finished one stops."""
    if view.speed is None or view.at_ns is None:
        return view
    at = view.at_ns + round(elapsed_ns * view.speed)
    if at >= bounds[1]:
        return replace(view, at_ns=None if is_live else bounds[1], speed=None)
    return replace(view, at_ns=at)


def zoomed(view: View, step: int, bounds: tuple[int, int]) -> View:
    """A wider (``step`` 1) or narrower (-1) window: 5 s to the whole session; 0 is 60 s."""
    if step == 0:
        return replace(view, span_s=60.0)
    whole_s = (bounds[1] - bounds[0]) / 1e9
    choices: list[float | None] = [span for span in SPANS_S if span == SPANS_S[0] or span < whole_s]
    choices.append(None)
    now = float("inf") if view.span_s is None else view.span_s
    if step > 0:
        return replace(view, span_s=next((c for c in choices if c is not None and c > now), None))
    narrower = [c for c in choices if c is not None and c < now]
    return replace(view, span_s=narrower[-1] if narrower else SPANS_S[0])


def parse_moment(
    text: str, *, bounds: tuple[int, int], shown_ns: int, wall_ns: int | None, moments: tuple[tuple[int, str], ...]
) -> int | str:
    """The moment a person typed, on the session clock, or what is wrong with it.

    Args:
        text: ``12:04:31``, ``12:04``, ``+90`` (s from the start), ``-30s`` (back from the cursor), ``start``,
            ``end``, or the id of a finding or text of a mark.
        bounds: First and newest moment.
        shown_ns: The cursor.
        wall_ns: Wall time at the cursor, if known.
        moments: Findings and marks with their texts.
    """
    word = text.strip()
    if word in ("start", "end"):
        return bounds[0] if word == "start" else bounds[1]
    for t_ns, name in moments:
        if word and (name.lower() == word.lower() or name.lower().split(" ", 1)[0] == word.lower()):
            return t_ns
    number = word[:-1] if word.endswith("s") else word
    if word[:1] in "+-" and _is_number(number[1:]):
        seconds = float(number[1:])
        t_ns = bounds[0] + round(seconds * 1e9) if word[0] == "+" else shown_ns - round(seconds * 1e9)
    elif ":" in word:
        if wall_ns is None:
            return "this session has no wall-clock time: give +SECONDS from its start"
        found = _clock_time(word, shown_ns, wall_ns, bounds)
        if found is None:
            return f"can't read {word!r} as a time: 12:04:31, +90, -30s, T2, start, end"
        t_ns = found
    else:
        return f"can't read {word!r} as a time: 12:04:31, +90, -30s, T2, start, end"
    if not bounds[0] <= t_ns <= bounds[1]:
        side = "before the session's start" if t_ns < bounds[0] else "after the session's end"
        return f"{word} is {side}"
    return t_ns


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _clock_time(word: str, shown_ns: int, wall_ns: int, bounds: tuple[int, int]) -> int | None:
    from datetime import datetime, timedelta

    parts = word.split(":")
    if len(parts) not in (2, 3) or not all(_is_number(part) for part in parts):
        return None
    hours, minutes = int(float(parts[0])), int(float(parts[1]))
    seconds = float(parts[2]) if len(parts) == 3 else 0.0
    if hours > 23 or minutes > 59 or seconds >= 60:
        return None
    shown = datetime.fromtimestamp(wall_ns // 1_000_000_000)
    base = shown.replace(hour=hours, minute=minutes, second=0, microsecond=0)
    candidates = []
    for days in (0, -1, 1):
        moment = base + timedelta(days=days)
        delta_ns = round((moment.timestamp() + seconds) * 1e9) - wall_ns
        candidates.append(shown_ns + delta_ns)
    inside = [t for t in candidates if bounds[0] <= t <= bounds[1]]
    return inside[0] if inside else candidates[0]
