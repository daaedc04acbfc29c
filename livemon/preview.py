"""A window of a recording that is not judged yet, read straight from the file: figures, never findings."""

from __future__ import annotations

from collections.abc import Sequence

from livemon.engine.rolling.thread_rings import SECOND
from livemon.engine.rolling.view import RollingView
from livemon.model.criteria import Criteria
from livemon.model.samples import Sample
from livemon.session.reader import SessionReader

MOST_NS = 60 * SECOND
"""The longest window that is read; a longer view shows its newest part."""
_LEAD_NS = 34 * SECOND
"""At least so much before a moment: rates are over half a minute."""
_MARGIN_NS = 2 * SECOND
_AHEAD_NS = 4 * SECOND
"""Read beyond the moment: small steps in time need no further read."""


class Preview:
    """A rolling view of one window.

    Args:
        reader: The session.
        criteria: Roles, class keys, budgets.
        events: The session's rare samples, by arrival: what happened before the window is known from them.
        bounds_ns: First and newest moment of the session.
        at_ns: The moment that is looked at.
        span_ns: The window before it.
    """

    def __init__(
        self,
        reader: SessionReader,
        criteria: Criteria,
        events: Sequence[Sample],
        bounds_ns: tuple[int, int],
        at_ns: int,
        span_ns: int,
    ) -> None:
        self._start_ns = _start(at_ns, span_ns)
        self._end_ns = at_ns + _AHEAD_NS
        self._is_at_end = self._end_ns > bounds_ns[1]
        self._session_end_ns = bounds_ns[1]
        view = RollingView(criteria, reader.facts)
        view.update([event for event in events if event.arrival_ns < self._start_ns])
        view.update(reader.read_range(self._start_ns, min(self._end_ns, bounds_ns[1])))
        view.finish()
        view.log.start_ns = bounds_ns[0]
        self.view = view

    def covers(self, at_ns: int, span_ns: int, end_ns: int) -> bool:
        """Whether a window can be drawn from it, now that the session has grown to ``end_ns``."""
        is_current = not self._is_at_end or end_ns <= self._session_end_ns
        return is_current and self._start_ns <= _start(at_ns, span_ns) + _MARGIN_NS and at_ns <= self._end_ns


def _start(at_ns: int, span_ns: int) -> int:
    return at_ns - max(min(span_ns, MOST_NS), _LEAD_NS) - 2 * _MARGIN_NS
