"""Watching without screens: a line for each finding when it is found and when it is over."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from livemon.engine.engine import Engine
from livemon.export.finding_document import verdict
from livemon.export.report_json import finding_json
from livemon.export.times import SessionTimes
from livemon.finding_lines import FindingLine, FindingLines
from livemon.keeping import keep_episodes
from livemon.model.clock import Clock, SystemClock
from livemon.model.criteria import load_criteria
from livemon.model.judgement import Judgement, Steps
from livemon.model.samples import ClockAnchor, LogCount, Lost, Note, Sample, TargetEvent, ThreadTick, TimingRecord
from livemon.session.reader import SessionReader
from livemon.watch_options import WatchOptions

POLL_S = 0.05


@dataclass(slots=True)
class Outcome:
    """What a watch came to."""

    has_ticks: bool = False
    target_end: str = ""
    """How the last process of the target ended, in words; empty while one runs."""
    lines: int = 0
    records: int = 0
    malformed: int = 0
    lost: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be observed at all."""
        return not (self.records or self.has_ticks)


class Headless:
    """Follows a session that is being recorded, judges it and prints what is found.

    Args:
        session_path: The session.
        options: What to print and where to hand it on.
        out: Where results go.
        messages: Where everything else goes.
        clock: For waiting.
    """

    def __init__(
        self,
        session_path: str,
        options: WatchOptions,
        *,
        out: TextIO | None = None,
        messages: TextIO | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._options = options
        self._out = out or sys.stdout
        self._messages = messages or sys.stderr
        self._clock = clock or SystemClock()
        self._path = session_path
        self._reader = SessionReader(session_path)
        self._engine = Engine(load_criteria(options.criteria_toml), self._reader.facts)
        self._anchors: list[tuple[int, int]] = []
        self._bounds: tuple[int, int] | None = None
        self._alive: set[int] = {target.pid for target in self._reader.facts.targets}
        self._outcome = Outcome()
        self._lines = FindingLines()

    def follow(self, is_over: Callable[[], bool]) -> Outcome:
        """Print until ``is_over``, and then what is still there to be read.

        Raises:
            BrokenPipeError: nobody reads the results any more.
        """
        with contextlib.ExitStack() as stack:
            stack.callback(self._reader.close)
            while True:
                # Asked first: what was written until then is read below.
                is_last = is_over()
                samples = self._reader.read_new()
                if samples:
                    self._take(samples)
                    changes = self._engine.feed(samples)
                    keep_episodes(self._reader, changes)
                    self._print(self._lines.take(changes, samples[-1].arrival_ns))
                if is_last:
                    break
                self._clock.sleep(POLL_S)
            last_ns = self._bounds[1] if self._bounds else 0
            self._print(self._lines.take(self._engine.finish(), last_ns) + self._lines.finish())
        self._summarise()
        return self._outcome

    def _take(self, samples: list[Sample]) -> None:
        first, last = samples[0].arrival_ns, samples[-1].arrival_ns
        self._bounds = (self._bounds[0] if self._bounds else first, last)
        for sample in samples:
            if isinstance(sample, TimingRecord):
                self._outcome.records += 1
            elif isinstance(sample, ThreadTick):
                self._outcome.has_ticks = True
            elif isinstance(sample, ClockAnchor):
                self._anchors.append((sample.mono_ns, sample.wall_ns))
            elif isinstance(sample, LogCount):
                self._outcome.lines += sample.lines
                self._outcome.malformed += sample.malformed
            elif isinstance(sample, Lost):
                self._outcome.lost += 1
            elif isinstance(sample, Note):
                self._tell(sample)
            elif isinstance(sample, TargetEvent):
                self._follow_target(sample)

    def _tell(self, note: Note) -> None:
        if note.severity != "info":
            text = f"{note.text}; {note.remedy}" if note.remedy else note.text
            print(f"livemon: {note.severity}: {text}", file=self._messages, flush=True)

    def _follow_target(self, event: TargetEvent) -> None:
        if event.event in ("found", "forked"):
            self._alive.add(event.pid)
            self._outcome.target_end = ""
        elif event.event in ("exited", "vanished"):
            self._alive.discard(event.pid)
            if not self._alive:
                at = self._times().text(event.arrival_ns)
                self._outcome.target_end = f"{event.name} (pid {event.pid}) {_how_it_ended(event)} at {at}"

    def _judgement(self) -> Judgement:
        """What the sentences and objects of findings need to know of the session."""
        start_ns, end_ns = self._bounds or (None, None)
        return Judgement(
            facts=self._reader.facts,
            path=self._path,
            start_ns=start_ns,
            end_ns=end_ns,
            anchors=tuple(self._anchors),
            criteria_sha256=self._options.criteria_sha256,
            criteria_toml=self._options.criteria_toml,
            records=self._outcome.records,
            lines=self._outcome.lines,
            malformed=self._outcome.malformed,
            stages=(),
            steps=Steps(period=None, n=0, mean_ms=None),
            threads=(),
            findings=self._engine.get(),
        )

    def _times(self) -> SessionTimes:
        return SessionTimes(self._judgement())

    def _print(self, lines: list[FindingLine]) -> None:
        for told in lines:
            if told.is_implied and not self._options.json:
                continue
            judgement = self._judgement()
            times = SessionTimes(judgement)
            if self._options.json:
                line = json.dumps({"event": told.event, **finding_json(told.finding, judgement, times)})
            else:
                said = verdict(told.finding, judgement, times).text
                line = f"{times.text(told.at_ns)} {told.event:<9} {told.finding.severity:<8} {said}"
                line += f" ({told.note})" if told.note else ""
            self._out.write(line + "\n")
            self._out.flush()

    def _summarise(self) -> None:
        findings = self._engine.get()
        slow = sum(finding.kind == "host_slow_transient" for finding in findings)
        oversized = len(findings) - slow
        outcome = self._outcome
        # Where not all could be recorded, the counts of the last lines may be missing though their records are there.
        lines = max(outcome.lines, outcome.records + outcome.malformed)
        text = (
            f"livemon: {slow} host-slow {_plural('transient', slow)}, {oversized} oversized finalize "
            f"{_plural('phase', oversized)}; {lines:,} lines read, {outcome.records:,} timing records"
        )
        if outcome.malformed:
            text += f", {outcome.malformed:,} malformed"
        print(text, file=self._messages, flush=True)


def _how_it_ended(event: TargetEvent) -> str:
    status = event.exit_status
    if status is None:
        return event.event
    if status >= 0:
        return f"exited with {status}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
