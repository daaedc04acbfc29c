"""When a recorder does what: everything lies on one grid, so that one wake-up does all that is due.

A wake-up is dear: by then other programs have had the CPU's caches, and what runs first runs slowly.
"""

from __future__ import annotations

from livemon.collect.pacer import Pacer

LOGS_NS = 100_000_000
"""Time between two looks at the logs when nobody looks at a screen."""
WATCHED_LOGS_NS = 50_000_000
"""The same while lines are shown as they come."""
SECOND_NS = 1_000_000_000
MARKS_NS = SECOND_NS
"""Time between two looks for marks of other processes; they carry their own time."""
WATCHED_MARKS_NS = 300_000_000
SLACK_NS = 20_000_000
"""What is due so soon is done in this wake-up."""


class Agenda:
    """The schedules of one recording.

    Args:
        interval_ns: Time between thread ticks; that between two looks at the logs is fitted to it.
        start_ns: When everything is due first; the first tick, which was read before, one interval later.
        is_watched: Somebody looks at a screen.
    """

    def __init__(self, interval_ns: int, start_ns: int, *, is_watched: bool = False) -> None:
        self._logs_ns = WATCHED_LOGS_NS if is_watched else LOGS_NS
        self.ticks = Pacer(interval_ns, start_ns + interval_ns)
        self.logs = Pacer(fitted_ns(interval_ns, self._logs_ns), start_ns)
        self.marks = Pacer(WATCHED_MARKS_NS if is_watched else MARKS_NS, start_ns)
        self.seconds = Pacer(SECOND_NS, start_ns)

    def take(self, pacer: Pacer, now_ns: int) -> bool:
        """Whether something is due now or so soon that it belongs to this wake-up; then it is taken as done."""
        if now_ns + SLACK_NS < pacer.due_ns:
            return False
        pacer.take(now_ns)
        return True

    def due_ns(self, *, has_ticks: bool, has_logs: bool) -> int:
        """When something is due that is worth waking up for; the rest goes along with it."""
        ticks = self.ticks
        due_ns = ticks.due_ns if has_ticks else self.seconds.due_ns
        if ticks.interval_ns > SECOND_NS and self.seconds.due_ns < due_ns:
            due_ns = self.seconds.due_ns
        if has_logs and self.logs.due_ns < due_ns:
            due_ns = self.logs.due_ns
        return due_ns

    def change_interval(self, interval_ns: int, now_ns: int) -> None:
        """Go on with another interval between ticks from now."""
        self.ticks.change_interval(interval_ns, now_ns)
        logs_ns = fitted_ns(interval_ns, self._logs_ns)
        self.logs.change_interval(logs_ns, now_ns)


def fitted_ns(interval_ns: int, wanted_ns: int) -> int:
    """The time next to the wanted one that shares its wake-ups with the ticks: a multiple or a part of theirs.

    >>> fitted_ns(100_000_000, 50_000_000), fitted_ns(30_000_000, 50_000_000), fitted_ns(250_000_000, 100_000_000)
    (50000000, 60000000, 83333333)
    """
    if interval_ns >= wanted_ns:
        return interval_ns // -(-interval_ns // wanted_ns)
    return interval_ns * round(wanted_ns / interval_ns)
