"""Watching: a recorder process, the command that it watches if there is one, and a viewer on its session."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal

from livemon.collect.child import FORWARDED, Child, shell_status
from livemon.collect.log_request import LogRequest
from livemon.model.clock import SystemClock
from livemon.model.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_TARGET, SessionError
from livemon.recording_config import RecordingConfig
from livemon.watch_options import WatchOptions
from livemon.watch_processes import RecorderProcess

if TYPE_CHECKING:
    from livemon.headless import Outcome
    from livemon.watch_exports import ExportProcess


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched."""

    name: str
    """For the session's name and the title."""
    pids: tuple[int, ...] = ()
    logs: tuple[LogRequest, ...] = ()
    command: tuple[str, ...] = ()
    """A command to start; its output is followed and its process tree sampled."""
    follow_names: tuple[str, ...] = ()
    """Processes that match are taken in whenever they appear."""
    origin: Literal["live", "demo"] = "live"
    is_ours: bool = False
    """The command is livemon's own demo: it ends with the viewer."""

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        """Descriptors that the recorder reads from."""
        return tuple(log.fd for log in self.logs if log.fd is not None)


def watch(watched: Watched, options: WatchOptions) -> int:
    """Record and show, until the person leaves or there is nothing more to watch.

    Returns:
        The exit code of the contract; that of the command if there is one.

    Raises:
        LivemonError: it can't be done, with what to do instead.
    """
    if options.web is not None:
        from livemon.ui.web import check_web

        check_web(options.web)
    elif not options.headless:
        _check_terminal()
    with _session_place(watched, options) as session_path:
        watching = _Watching(watched, options)
        with watching.signals():
            watching.start(session_path)
            return watching.run()


class _Watching:
    """One watch while it runs: who ends when, and with what exit code."""

    def __init__(self, watched: Watched, options: WatchOptions) -> None:
        self._watched = watched
        self._options = options
        self._recorder = RecorderProcess(inherit=watched.inherited_fds)
        self._exporter: ExportProcess | None = None
        self._child: Child | None = None
        self._waiter: threading.Thread | None = None
        self._interrupted: int | None = None
        self._is_time_over = False
        self._was_nothing = False
        self._status: int | None = None
        self._unwritten_since = ""

    def start(self, session_path: Path) -> None:
        """Start the command, if there is one, and the recording.

        Raises:
            LivemonError: one of them can't be started; nothing is left behind.
        """
        try:
            if self._watched.command:
                self._child = Child(
                    self._watched.command,
                    Path(f"{session_path}-out"),
                    dies_with_parent=self._watched.is_ours,
                    reads_stdin=self._options.headless,
                )
            config = _config(self._watched, self._options, session_path, self._child)
            # Another process opens the session: what will show it is imported beside that, not after it.
            self._recorder.configure(config, meanwhile=None if self._options.web else self._import_viewer)
            self._exporter = self._start_exporter()
        except BaseException:
            self._undo()
            raise

    def _import_viewer(self) -> None:
        importlib.import_module("livemon.headless" if self._options.headless else "livemon.ui.navigation")

    def _undo(self) -> None:
        """Leave nothing behind of a start that failed."""
        if self._child is not None:
            self._child.stop()
        if not self._recorder.session_path:
            self._recorder.abandon()
            return
        self._recorder.stop()
        self._recorder.dispose()
        self._forget()

    def _forget(self) -> None:
        """A recording of nothing would only stand in the list, and be the one that ``last`` means."""
        from livemon.session.store import remove_session

        with contextlib.suppress(SessionError):
            remove_session(Path(self._recorder.session_path))

    def _start_exporter(self) -> ExportProcess | None:
        options = self._options
        if options.prometheus is None and options.otlp is None:
            return None
        from livemon.watch_exports import ExportConfig, ExportProcess

        path = self._recorder.session_path
        exporter = ExportProcess(ExportConfig(path, options.prometheus, options.otlp, options.keep))
        if exporter.url:
            say(f"metrics at {exporter.url}")
        return exporter

    def run(self) -> int:
        """Show until it is over; then leave nothing behind but the recording."""
        if self._child is not None:
            self._waiter = threading.Thread(target=self._wait_for_child, args=(self._child,), daemon=True)
            self._waiter.start()
        timer = self._start_timer()
        try:
            code = self._headless() if self._options.headless else self._screens()
        finally:
            if timer is not None:
                timer.cancel()
            self._finish()
        if self._was_nothing and self._options.record is None:
            self._forget()
        if self._child is not None and not self._watched.is_ours:
            return self._command_status()
        return code

    def _wait_for_child(self, child: Child) -> None:
        self._status = child.wait()
        self._recorder.tell({"exited": self._status})

    def _start_timer(self) -> threading.Timer | None:
        """A command is ended when the time is over; without one the recorder ends by itself."""
        if self._options.duration_s is None:
            return None
        timer = threading.Timer(self._options.duration_s, self._time_over)
        timer.daemon = True
        timer.start()
        return timer

    def _time_over(self) -> None:
        self._is_time_over = True
        if self._child is not None:
            self._child.stop()
        if not self._options.headless:
            os.kill(os.getpid(), signal.SIGTERM)  # the screens leave in order

    def _headless(self) -> int:
        from livemon.headless import Headless

        outcome = Headless(self._recorder.session_path, self._options).follow(self._is_over)
        self._say_where(outcome)
        if self._interrupted is not None:
            return EXIT_INTERRUPTED if self._interrupted == signal.SIGINT else 128 + self._interrupted
        if self._watched.is_ours:
            return EXIT_OK
        if outcome.is_empty:
            say("nothing could be observed")
            self._was_nothing = not outcome.lines
        if outcome.target_end and not self._is_time_over:
            say(f"{outcome.target_end}")
            return EXIT_TARGET
        return EXIT_TARGET if outcome.is_empty or self._recorder.has_lost_end else EXIT_OK

    def _say_where(self, outcome: Outcome) -> None:
        """Where the recording is, and whether it came to a clean end."""
        failure = self._recorder.failure()
        if failure:
            say(f"the recorder {failure}; what was recorded until then can be read")
        if not self._options.no_record and not outcome.is_empty:
            path = self._recorder.session_path
            say(f"recorded in {path}" if Path(path).exists() else f"{path} is gone: nothing of the recording is left")

    def _is_over(self) -> bool:
        """Whether nothing more will be recorded."""
        if self._interrupted is not None and self._child is None:
            if self._options.keep:
                return True
            self._recorder.stop()
        self._say_troubles()
        return not self._recorder.is_running

    def _say_troubles(self) -> None:
        """What the recorder can't write into the session, because it can't write the session."""
        for trouble in self._recorder.troubles():
            if trouble:
                self._unwritten_since = self._unwritten_since or _time_of_day()
                hint = "; what comes meanwhile may be lost" if self._recorder.is_running else ""
                say(
                    f"warning: the session can't be written ({trouble}): "
                    f"no findings after {self._unwritten_since} until it can{hint}"
                )
            else:
                self._unwritten_since = ""
                say("the session can be written again")
        while self._recorder.endings:
            say(f"warning: {self._recorder.endings.pop(0)}")
            if self._recorder.has_lost_end:
                say(f"findings after {self._unwritten_since or _time_of_day()} could not be made")

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Pass signals on to the command; without one they end the watch."""

        def handle(number: int, _frame: FrameType | None) -> None:
            if self._child is not None and not self._watched.is_ours:
                self._child.send_signal(number)
                return
            self._interrupted = number
            if self._child is not None:
                self._child.send_signal(signal.SIGTERM)

        before = {number: signal.signal(number, handle) for number in FORWARDED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _screens(self) -> int:
        if self._options.web is not None:
            from livemon.ui.web import serve

            return serve(self._recorder.session_path, self._options.web)
        from livemon.watch_screens import show

        if self._interrupted is not None:
            return 128 + self._interrupted
        code = show(self._recorder.session_path, self._options, title=self._watched.name)
        if self._is_time_over:
            return EXIT_OK
        if code > 128 and self._child is not None:
            self._child.send_signal(code - 128)
        return code

    def _finish(self) -> None:
        child = self._child
        if child is not None and (self._watched.is_ours or self._is_time_over):
            child.stop()
        elif child is not None and child.poll() is None:
            self._stay_with(child)
        if self._waiter is not None:
            self._waiter.join(1.0)
        if self._options.keep and child is None and self._recorder.is_running:
            self._recorder.release()
            if self._exporter is not None:
                self._exporter.release()
            path, pid = self._recorder.session_path, self._recorder.pid
            say(f"recorder {pid} goes on; screens: livemon attach {path}; end it: kill {pid}")
            return
        # A command's last lines are still to be read; the recorder ends by itself a second after it.
        if child is None or not self._recorder.wait(3.0):
            self._recorder.stop()
        self._say_troubles()
        self._recorder.dispose()
        if self._exporter is not None:
            self._exporter.stop()
            self._exporter.dispose()
        if not self._options.headless and not self._options.no_record:
            say(f"recorded; look again with: livemon replay {self._recorder.session_path}")

    def _stay_with(self, child: Child) -> None:
        """The person left the screens: the command goes on in the foreground, recorded, until it ends."""
        if not self._recorder.is_running:
            say(f"{self._watched.name} (pid {child.pid}) goes on, unrecorded; Ctrl-C is passed on to it")
        else:
            path = self._recorder.session_path
            say(
                f"{self._watched.name} (pid {child.pid}) goes on and is recorded; Ctrl-C is passed on to it; "
                f"screens: livemon attach {path}"
            )
        with self.signals():
            while child.poll() is None:
                with contextlib.suppress(InterruptedError):
                    assert self._waiter is not None
                    self._waiter.join(0.5)

    def _command_status(self) -> int:
        status = self._status if self._status is not None else (self._child.poll() if self._child else None)
        if status is None:
            return EXIT_TARGET
        if self._is_time_over and status == -signal.SIGTERM:
            return EXIT_OK
        return shell_status(status)


def _config(watched: Watched, options: WatchOptions, session_path: Path, child: Child | None) -> RecordingConfig:
    logs = tuple(replace(log, from_start=log.from_start or options.from_start) for log in watched.logs)
    if child is not None:
        logs = (LogRequest(f"{session_path}-out", from_start=True, is_child=True), *logs)
    return RecordingConfig(
        session_path=str(session_path),
        origin=watched.origin,
        pids=watched.pids if child is None else (child.pid, *watched.pids),
        child_pid=None if child is None else child.pid,
        child_name=watched.name if child is not None else "",
        follow_names=watched.follow_names,
        logs=logs,
        metrics_urls=options.metrics_urls,
        parse=options.parse,
        mark_patterns=options.mark_patterns,
        interval_ns=options.interval_ms * 1_000_000,
        counters=options.counters,
        max_cpu_percent=options.max_cpu_percent,
        has_screen=not options.headless,
        duration_s=options.duration_s if child is None else None,
        criteria_toml=options.criteria_toml,
        criteria_sha256=options.criteria_sha256,
        keep=options.keep,
        is_durable=options.durable,
        discard=options.no_record,
    )


@contextlib.contextmanager
def _session_place(watched: Watched, options: WatchOptions) -> Iterator[Path]:
    """Where the session goes; a temporary place is removed at the end."""
    from livemon.session.store import new_session_path, prune

    if options.no_record:
        folder = Path(tempfile.mkdtemp(prefix="livemon-"))
        try:
            yield new_session_path(watched.name, folder=folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    if options.record is None:
        with contextlib.suppress(OSError):
            prune()
        path = new_session_path(watched.name)
    elif options.record.is_dir():
        path = new_session_path(watched.name, folder=options.record)
    else:
        path = options.record
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "choose another place with --record, or keep nothing with --no-record"
        raise SessionError(f"{path.parent} can't be made: {error.strerror}", hint) from error
    yield path


def _time_of_day() -> str:
    return time.strftime("%H:%M:%S", time.localtime(SystemClock().wall_ns() / 1e9))


def say(text: str) -> None:
    """A message for the person, on standard error; nobody may be listening any more."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"livemon: {text}\n")
        sys.stderr.flush()


def _check_terminal() -> None:
    """Make sure that screens can be drawn before anything is started."""
    from livemon.ui.terminal import check_terminal

    check_terminal(os.environ)
