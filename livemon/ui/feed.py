"""The one thread that talks to the session: polls it, makes frames, runs slow jobs; the newest wish wins.

The UI loop never calls a ``ViewSource``. It states what it wants to see; this thread makes a
``Frame`` of it, keeps only the newest one, and tells the UI that there is one. While the UI is busy
nothing queues up.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from livemon.model.clock import Clock, SystemClock
from livemon.model.errors import LivemonError
from livemon.ui.settings import Cancelled, Loader
from livemon.ui.view import View

if TYPE_CHECKING:
    from livemon.model.snapshot import Snapshot, ViewSource

POLL_S = 1 / 15
"""How often a live session is asked for news."""
BUSY_S = 0.02
"""How long the judging of a recording rests while a frame waits to be taken by the UI."""
YIELD_S = 0.001
"""How long it rests between two steps, so that other threads come in."""
SWITCH_S = 0.0005
"""How long the UI's thread may wait for this one meanwhile (the interpreter's usual is ten times that)."""
REST_S = 0.03
"""How long it rests after a key and after a wish: what they ask for has the machine to itself."""
STEADY_S = 1 / 4
"""The same in a stream of more lines than frames, where no line is seen by itself: when a frame is due, or after so
long: larger bites cost less."""
PAUSED_S = 1.0
"""How often it is asked for news while the view stands still: the judging takes larger bites, which cost less."""
PULSE_S = 0.9
"""How often a paused view is told how far behind it is."""

Extra: TypeAlias = "Callable[[ViewSource, View, Snapshot], object]"
"""What a screen needs beside the snapshot; called in this thread."""
Job: TypeAlias = "Callable[[ViewSource], object]"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the UI wants to see."""

    view: View
    columns: int
    extra: Extra | None
    token: int
    """Grows with each wish; a frame carries the token of its wish."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is to be drawn."""

    snapshot: Snapshot
    extra: object
    token: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished job: its result or its error, and who wants to know."""

    done: Callable[[object], None] | None
    result: object
    error: LivemonError | None


class Feed:
    """See the module. All public methods may be called from the UI loop and return at once.

    Args:
        source: The session, or what opens it.
        notify: Called in this thread whenever there is something to fetch with ``take_…``.
        failed: Called in this thread with an unexpected exception; the thread then ends.
        fps: Frames a second at most for news of a live session.
        clock: Where time comes from.
    """

    def __init__(
        self,
        source: ViewSource | Loader,
        notify: Callable[[], None],
        failed: Callable[[BaseException], None],
        *,
        fps: float,
        clock: Clock | None = None,
    ) -> None:
        self._opening: Loader | None = None
        self.source: ViewSource | None = None
        if callable(source):
            self._opening = source
        else:
            self.source = source
        self._notify = notify
        self._failed = failed
        self._clock = clock or SystemClock()
        self.fps = fps
        self._lock = threading.Condition()
        self._wish: Wish | None = None
        self._done_token = -1
        self._jobs: deque[tuple[Job, Callable[[object], None] | None]] = deque()
        self._frame: Frame | None = None
        self._outcomes: deque[Outcome] = deque()
        self._bounds: tuple[int, int] | None = None
        self._progress: tuple[float | None, str] | None = None
        self._open_error: LivemonError | None = None
        self._is_stopped = False
        self._last_frame_ns = 0
        self._last_pulse_ns = 0
        self._revision = 0
        self._is_unreadable = False
        self._owes = False
        self._switch_s = 0.0
        self._rest_until_ns = 0
        self._last_poll_ns = 0
        self._units_per_s = 0.0
        self._thread = threading.Thread(target=self._run, name="livemon-feed", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, wait_s: float = 2.0) -> None:
        """End the thread and close the session; a running open is cancelled."""
        with self._lock:
            self._is_stopped = True
            self._lock.notify()
        if self._thread.is_alive():
            self._thread.join(wait_s)

    def want(self, wish: Wish) -> None:
        """Ask for a frame; an older wish that is not served yet is forgotten."""
        with self._lock:
            self._wish = wish
            self._lock.notify()

    def rest(self) -> None:
        """A key was pressed: the judging of a recording waits until it has been drawn."""
        self._rest_until_ns = self._clock.monotonic_ns() + round(REST_S * 1e9)

    def submit(self, job: Job, done: Callable[[object], None] | None = None) -> None:
        """Run something against the session in this thread; the outcome goes to ``done`` in the UI loop."""
        with self._lock:
            self._jobs.append((job, done))
            self._lock.notify()

    def take_frame(self) -> Frame | None:
        """The newest frame not yet taken."""
        with self._lock:
            frame, self._frame = self._frame, None
            return frame

    def take_outcomes(self) -> list[Outcome]:
        """Finished jobs."""
        with self._lock:
            done = list(self._outcomes)
            self._outcomes.clear()
            return done

    def take_bounds(self) -> tuple[int, int] | None:
        """First and newest moment, when they moved while the view stood still."""
        with self._lock:
            bounds, self._bounds = self._bounds, None
            return bounds

    @property
    def progress(self) -> tuple[float | None, str] | None:
        """How far opening the session is; ``None`` before it starts and once it is open."""
        return self._progress

    @property
    def open_error(self) -> LivemonError | None:
        """Why the session could not be opened."""
        return self._open_error

    def _tell(self, fraction: float | None, text: str) -> None:
        if self._is_stopped:
            raise Cancelled
        self._progress = (fraction, text)
        self._notify()

    def _run(self) -> None:
        try:
            if self._opening is not None and not self._open(self._opening):
                return
            source = self.source
            assert source is not None
            self._notify()
            try:
                while not self._is_stopped:
                    self._round(source)
            finally:
                self._make_way(is_judging=False)
                source.close()
        except BaseException as error:  # noqa: BLE001 - the UI must hear of it, or the screen would stand still unexplained
            self._failed(error)

    def _open(self, opening: Loader) -> bool:
        try:
            self.source = opening(self._tell)
        except Cancelled:
            return False
        except LivemonError as error:
            self._open_error = error
            self._notify()
            return False
        self._progress = None
        return True

    def _round(self, source: ViewSource) -> None:
        is_judging = self._is_judging(source)
        self._make_way(is_judging=is_judging)
        with self._lock:
            if self._has_work():
                pass
            elif is_judging:
                self._lock.wait(BUSY_S if self._wish is None or self._must_rest() else YIELD_S)
            else:
                self._lock.wait(self._until_poll_s(self._wish) if source.is_live and not self._is_unreadable else None)
            wish = self._wish
            jobs = list(self._jobs)
        if self._is_stopped:
            return
        for job, done in jobs:
            self._run_job(source, job, done)
            self._jobs.popleft()
        if wish is None:
            # Nothing is asked for yet: judging would only delay the first frame.
            has_news = not is_judging and self._poll(source)
            return
        is_new = wish.token != self._done_token
        # A wish comes before the next step of the judging, and so does a frame that is not on the screen yet.
        if is_judging:
            may_poll = not (is_new or self._must_rest())
        else:
            may_poll = (is_new and wish.view.is_following) or self._until_poll_s(wish) <= 0.0
        # The time before the poll: what it brings is of then, and the next poll comes when the next frame is due.
        now_ns = self._clock.monotonic_ns()
        has_news = may_poll and self._poll(source)
        if is_new and is_judging:
            self.rest()
        if (
            is_new
            or (has_news and is_judging)
            or (has_news and self._is_due(source, wish, now_ns))
            or self._is_owed(wish, now_ns)
        ):
            self._make(source, wish, now_ns)
        elif has_news and not wish.view.is_following and now_ns - self._last_pulse_ns >= PULSE_S * 1e9:
            self._last_pulse_ns = now_ns
            with self._lock:
                self._bounds = source.bounds_ns()
            self._notify()

    def _is_judging(self, source: ViewSource) -> bool:
        from livemon.model.snapshot import Judges

        return not self._is_unreadable and isinstance(source, Judges) and source.judging is not None

    def _until_poll_s(self, wish: Wish | None) -> float:
        """Time until a live session is asked for news again; at most 0: now."""
        now_ns = self._clock.monotonic_ns()
        since_s = (now_ns - self._last_poll_ns) / 1e9
        if wish is not None and not wish.view.is_following:
            return PAUSED_S - since_s
        if self._units_per_s > 2 * self.fps:
            due_s = 1 / self.fps - (now_ns - self._last_frame_ns) / 1e9
            return max(min(due_s, STEADY_S - since_s), POLL_S - since_s)
        return POLL_S - since_s

    def _must_rest(self) -> bool:
        return self._frame is not None or self._clock.monotonic_ns() < self._rest_until_ns

    def _make_way(self, *, is_judging: bool) -> None:
        """Let the UI's thread in at shorter notice while this one has much to compute."""
        if is_judging and not self._switch_s:
            self._switch_s = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._switch_s))
        elif not is_judging and self._switch_s:
            sys.setswitchinterval(self._switch_s)
            self._switch_s = 0.0

    def _poll(self, source: ViewSource) -> bool:
        """Ask a live session for news; one that can't be read any more is said once and then left alone."""
        if self._is_unreadable or not (source.is_live or self._is_judging(source)):
            return False
        self._last_poll_ns = self._clock.monotonic_ns()
        try:
            return source.poll()
        except LivemonError as error:
            self._is_unreadable = True
            self._finish(Outcome(None, None, error))
            return False

    def _finish(self, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes.append(outcome)
        self._notify()

    def _has_work(self) -> bool:
        return self._is_stopped or bool(self._jobs) or (self._wish is not None and self._wish.token != self._done_token)

    def _is_due(self, source: ViewSource, wish: Wish, now_ns: int) -> bool:
        if not wish.view.is_following:
            return False
        from livemon.model.snapshot import HasRevision

        self._owes = True
        if isinstance(source, HasRevision):
            revision = source.revision()
            if revision != self._revision:
                self._revision = revision
                return True
        return now_ns - self._last_frame_ns >= 1e9 / self.fps

    def _is_owed(self, wish: Wish, now_ns: int) -> bool:
        return self._owes and wish.view.is_following and now_ns - self._last_frame_ns >= 1e9 / self.fps

    def _make(self, source: ViewSource, wish: Wish, now_ns: int) -> None:
        self._owes = False
        view = wish.view
        self._last_frame_ns = now_ns
        try:
            snapshot = source.snapshot(view.at_ns, view.span_ns(source.bounds_ns()), wish.columns)
            extra = wish.extra(source, view, snapshot) if wish.extra is not None else None
        except LivemonError as error:
            self._done_token = wish.token
            self._finish(Outcome(None, None, error))
            return
        self._units_per_s = snapshot.status.units_per_s or 0.0
        with self._lock:
            self._frame = Frame(snapshot, extra, wish.token)
        self._done_token = wish.token
        self._notify()

    def _run_job(self, source: ViewSource, job: Job, done: Callable[[object], None] | None) -> None:
        try:
            outcome = Outcome(done, job(source), None)
        except LivemonError as error:
            outcome = Outcome(done, None, error)
        self._finish(outcome)
