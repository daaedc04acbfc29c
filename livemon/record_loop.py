"""What a recorder does when: thread ticks on a grid, logs in between, the machine once a second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from livemon import __version__
from livemon.collect.budget import Budget
from livemon.collect.capabilities import probe
from livemon.collect.environment import environment, host_name
from livemon.collect.own_memory import OwnMemory
from livemon.collect.pressure import PressureSampler
from livemon.collect.processes import describe, find_by_name
from livemon.collect.threads import SamplingOptions, ThreadSampler, open_sampler
from livemon.collect.topology import read_topology
from livemon.model.clock import Clock, WallMapping
from livemon.model.errors import TargetError
from livemon.model.facts import Capability, SessionFacts, Target
from livemon.model.samples import Lost, Mark, Note, Sample, SelfSample, TargetEvent
from livemon.record_agenda import SLACK_NS, Agenda
from livemon.record_clock import ClockWatch
from livemon.record_logs import LogReader
from livemon.recording_config import RecordingConfig
from livemon.session.rescue import Rescue
from livemon.session.store import state_dir
from livemon.session.writer import SessionWriter

if TYPE_CHECKING:
    from livemon.collect.metrics_endpoint import MetricsEndpoints

GRACE_NS = 400_000_000
"""Logs are read on for so long after the target has ended: its last lines come late."""
STATUS_NS = 3_000_000_000
"""So long the exit status of a command is waited for: only its parent knows it."""
FOLLOW_NAMES_S = 2
STALLED_NS = 2_000_000_000
"""A tick later than this is told as a gap of its own."""
MANY_LINES = 50
"""So many records of logs are written by themselves, so that their cost is known."""


class Recorder:
    """All the collectors of one recording and its session.

    Args:
        config: What to record.
        clock: Where times come from.

    Raises:
        TargetError: a process can't be observed.
        SessionError: the session can't be written.
        UsageError: an option that can't work.
    """

    def __init__(self, config: RecordingConfig, *, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._wall = WallMapping()
        self._clocks = ClockWatch(clock, self._wall)
        self._logs = LogReader(
            config.logs, config.parse, config.mark_patterns, clock, self._wall, keeps_output=not config.discard
        )
        self._child_end: TargetEvent | None = None
        self._batch: list[Sample] = []
        self._sampling = SamplingOptions(
            interval_ns=config.interval_ns, counters=config.counters, max_cpu_percent=config.max_cpu_percent
        )
        self._known_pids = set(config.pids)
        targets, self._sampler = self._open_sampler()
        topology = read_topology("/", config.pids[0] if config.pids else "self")
        self._pressure = PressureSampler(config.pids, "/", clock, topology)
        self._metrics = _metrics(config)
        facts = SessionFacts(
            origin=config.origin,
            host=host_name(),
            livemon_version=__version__,
            interval_ns=config.interval_ns,
            clock="monotonic",
            targets=targets,
            topology=topology,
            capabilities=self._capabilities(),
            environment=environment("/"),
            criteria_toml=config.criteria_toml,
            criteria_sha256=config.criteria_sha256,
        )
        self._writer = SessionWriter(
            config.session_path,
            facts,
            max_bytes=config.max_bytes,
            clock=clock,
            is_durable=config.is_durable,
            rescue_folder=None if config.discard else state_dir(),
        )
        self._budget = Budget(
            max_cpu_percent=config.max_cpu_percent, interval_ns=config.interval_ns, counters=self._has_counters
        )
        self._memory = OwnMemory()
        self._degraded = ""
        self._has_maintenance = False
        self._has_changes = True
        """Whether anything came or went with the last tick: the end does not come without."""
        self.trouble = ""
        """Why the session can't be written at the moment; empty when it can."""
        self._lost_ticks = 0
        self._logs_cpu_ns = 0
        """CPU time that reading logs and writing their records took."""
        self._gone_ns: int | None = None
        self._child_status: int | None = None
        self._has_told_end = False
        self.end_reason = ""
        """Why there is nothing more to record; empty while there is."""
        self._agenda = Agenda(config.interval_ns, self._begin(), is_watched=config.has_screen)
        self._ticks = self._agenda.ticks
        self.waitable_fds = self._logs.logs.waitable_fds
        """Pipes whose readiness means new lines."""
        self.due_ns = 0
        """When the next step is due, on the session clock; 0: at once, old lines are being caught up with."""

    def _begin(self) -> int:
        """Open and read everything once; returns the time from which on there are ticks.

        Logs come first: what is written from now on is new. Opening a thread costs many times what
        reading it does: with thousands, the first tick would be late.
        """
        self._batch += self._logs.poll()
        if self._sampler is not None:
            self._batch += self._seen(self._sampler.sample(self._clock.monotonic_ns(), keyframe=True))
        self._write()
        return self._clock.monotonic_ns()

    def _look_for_names(self) -> None:
        """Take in processes that match by name and were not there before, such as a restarted server."""
        for expression in self._config.follow_names:
            for target in find_by_name(expression):
                if target.pid in self._known_pids:
                    continue
                self._known_pids.add(target.pid)
                try:
                    if self._sampler is None:
                        self._sampler = open_sampler((target.pid,), options=self._sampling, clock=self._clock)
                    else:
                        self._sampler.add_process(target.pid)
                except TargetError:
                    continue  # gone again, or not ours to read
                self._pressure.add_process(target.pid)

    @property
    def _has_counters(self) -> bool:
        """Whether switching hardware counters off would save anything."""
        own = self._sampler.capabilities if self._sampler else ()
        return any(c.available for c in own if c.name.startswith("hardware counters"))

    def _capabilities(self) -> tuple[Capability, ...]:
        """What the sampler could open, then what else can be observed of the first process, as doctor tells it."""
        own = self._sampler.capabilities if self._sampler else ()
        if not self._config.pids:
            return own
        names = {capability.name for capability in own}
        return (*own, *(c for c in probe(self._config.pids[0]) if c.name not in names))

    def _open_sampler(self) -> tuple[tuple[Target, ...], ThreadSampler | None]:
        """The processes and what samples them; a short command may be over by now."""
        config, child = self._config, self._config.child_pid
        options = self._sampling
        others = tuple(pid for pid in config.pids if pid != child)
        targets = tuple(describe(pid) for pid in others)
        if child is not None:
            try:
                all_of_them = open_sampler((*others, child), options=options, clock=self._clock)
                return (*targets, describe(child)), all_of_them
            except TargetError:
                now_ns, name = self._clock.monotonic_ns(), config.child_name
                targets = (*targets, Target(child, name))
                self._batch.append(TargetEvent(now_ns, child, name, "found"))
                self._child_end = TargetEvent(now_ns, child, name, "exited", None, "before its threads could be read")
        sampler = open_sampler(others, options=options, clock=self._clock) if others else None
        return targets, sampler

    @property
    def loss(self) -> str:
        """After the end: what could not be written for good, and why; empty if all was."""
        lost = self._writer.lost_samples
        return f"{self.trouble or 'for a while'}: {lost:,} samples are not in it" if lost else ""

    @property
    def rescue(self) -> Rescue | None:
        """After the end: what became of a session whose file was removed meanwhile."""
        return self._writer.rescue

    def step(self) -> None:
        """Do what is due, then write it in one piece. The caches went to others: what need not be called is not."""
        now_ns = self._clock.monotonic_ns()
        agenda, sampler, logs, batch = self._agenda, self._sampler, self._logs.logs, self._batch
        soon_ns = now_ns + SLACK_NS
        if sampler is not None and now_ns >= self._ticks.due_ns:
            self._tick(sampler, now_ns)
        if self._child_status is not None:
            self._tell_child_end()
        has_old_lines = logs.is_catching_up
        if is_for_logs := soon_ns >= agenda.logs.due_ns:
            agenda.logs.take(now_ns)
        lines = self._read_logs() if is_for_logs or has_old_lines or self.waitable_fds else []
        is_second = soon_ns >= agenda.seconds.due_ns and agenda.take(agenda.seconds, now_ns)
        if is_second:
            self._every_second()
        if len(lines) >= MANY_LINES:
            self._write()
            before_ns = time.thread_time_ns()
            self._writer.append(lines)
            self._logs_cpu_ns += time.thread_time_ns() - before_ns
        elif lines or batch:
            batch += lines
            self._batch = []
            self._writer.append(batch)
        if (is_second or self._has_maintenance) and not has_old_lines:
            self._has_maintenance = self._writer.maintain()
        if soon_ns >= agenda.marks.due_ns and agenda.take(agenda.marks, now_ns):
            # After writing: what SQLite needs is in the caches then. They carry their own time.
            self._batch += self._writer.take_marks()
        if self._has_changes or is_second:
            self._look_for_end(now_ns)
        if logs.has_pipes:
            self.waitable_fds = logs.waitable_fds
        has_logs = logs.has_files or logs.has_anything_to_come
        self.trouble = self._writer.problem or ""
        self.due_ns = 0
        if not logs.is_catching_up:
            self.due_ns = agenda.due_ns(has_ticks=self._sampler is not None, has_logs=has_logs)

    def _read_logs(self) -> list[Sample]:
        before_ns = time.thread_time_ns()
        lines = self._logs.poll()
        self._logs_cpu_ns += time.thread_time_ns() - before_ns
        return lines

    def take_messages(self, messages: Sequence[dict[str, Any]]) -> None:
        """What the caller tells: ``{"exited": status}`` of the command that it started."""
        for message in messages:
            if isinstance(message.get("exited"), int):
                self._child_status = message["exited"]
        if self._child_status is not None:
            self._tell_child_end()

    def mark(self, text: str, origin: Literal["log", "key", "command", "signal"]) -> None:
        """Put a named moment into the session."""
        now_ns = self._clock.monotonic_ns()
        self._batch.append(Mark(now_ns, now_ns, text, origin))

    def note(self, text: str) -> None:
        """Put a warning into the session."""
        self._batch.append(Note(self._clock.monotonic_ns(), "warning", text))

    def close(self, reason: str) -> None:
        """Read what is still there, and close the session cleanly."""
        now_ns = self._clock.monotonic_ns()
        if self._sampler is not None:
            self._batch += self._seen(self._sampler.sample(now_ns, keyframe=True))
            self._sampler.close()
        self._batch += self._logs.finish()
        if self._metrics is not None:
            self._batch += self._metrics.close()
        self._tell_child_end()
        self._batch += self._summary_notes()
        self._batch += self._writer.take_marks()
        self._batch.append(self._about_self())
        self._write()
        self._pressure.close()
        self._memory.close()
        self._writer.close(reason)
        self.trouble = self._writer.problem or ""

    def _write(self) -> None:
        if self._batch:
            batch, self._batch = self._batch, []
            self._writer.append(batch)

    def _tick(self, sampler: ThreadSampler, now_ns: int) -> None:
        before = self._ticks.missed_ticks
        late_ns = self._ticks.take(now_ns)
        missed = self._ticks.missed_ticks - before
        if late_ns > STALLED_NS:
            reason = f"livemon itself did not run for {late_ns / 1e9:.1f} s (stopped, or no CPU for it)"
            start_ns = now_ns - late_ns
            self._batch.append(Lost(now_ns, "threads", missed, "ticks", reason, start_ns=start_ns, end_ns=now_ns))
        else:
            self._lost_ticks += missed
        samples = sampler.sample(now_ns, late_ns=late_ns)
        self._has_changes = len(samples) > 1 or self._gone_ns is not None
        self._batch += self._seen(samples) if self._has_changes else samples

    def _seen(self, samples: list[Sample]) -> list[Sample]:
        """Take note of processes that came and went.

        The end of the command that livemon started is held back until its parent has told the exit status.
        """
        if len(samples) == 1:
            return samples  # a tick in which nothing came or went
        passed = []
        for sample in samples:
            if isinstance(sample, TargetEvent):
                is_end = sample.event in ("exited", "vanished")
                if is_end:
                    self._pressure.remove_process(sample.pid)
                elif sample.event != "exec":
                    self._pressure.add_process(sample.pid)
                if is_end and sample.pid == self._config.child_pid and self._child_end is None:
                    self._child_end = sample
                    continue
            passed.append(sample)
        return passed

    def _tell_child_end(self) -> None:
        end = self._child_end
        if end is None or self._has_told_end:
            return
        self._has_told_end = True
        now_ns = self._clock.monotonic_ns()
        event = end.event if self._child_status is None else "exited"
        self._batch.append(TargetEvent(now_ns, end.pid, end.name, event, self._child_status, end.detail))

    def _every_second(self) -> None:
        now_ns = self._clock.monotonic_ns()
        self._batch += self._clocks.look()
        self._batch += self._pressure.sample(now_ns)
        self._batch += self._logs.count()
        if self._metrics is not None:
            self._batch += self._metrics.poll(now_ns)
        if self._lost_ticks:
            lost, self._lost_ticks = self._lost_ticks, 0
            reason = "livemon got no CPU in time"
            self._batch.append(Lost(now_ns, "threads", lost, "ticks", reason))
        if self._config.follow_names and self._agenda.seconds.ticks % FOLLOW_NAMES_S == 0:
            self._look_for_names()
        self._keep_budget(now_ns)
        self._batch.append(self._about_self())

    def _keep_budget(self, now_ns: int) -> None:
        """Read threads less when that takes too much; reading fewer lines is the tails' own business."""
        decision = self._budget.update(time.process_time_ns() - self._logs_cpu_ns, now_ns)
        if not decision.changed:
            return
        self._degraded = decision.degraded
        self._agenda.change_interval(decision.interval_ns, now_ns)
        if self._sampler is not None:
            self._sampler.switch_counters(decision.counters)
        text = decision.degraded or "livemon is within its CPU budget again: full detail"
        remedy = "--max-cpu PERCENT allows more" if decision.degraded else ""
        self._batch.append(Note(now_ns, "warning" if decision.degraded else "info", text, remedy))

    def _about_self(self) -> SelfSample:
        return SelfSample(
            arrival_ns=self._clock.monotonic_ns(),
            cpu_ns=time.process_time_ns(),
            rss_bytes=self._memory.resident_bytes(),
            ticks=self._ticks.ticks,
            late_ticks=self._ticks.late_ticks,
            interval_ns=self._ticks.interval_ns,
            session_bytes=self._writer.size_bytes,
            degraded=self._degraded,
        )

    def _look_for_end(self, now_ns: int) -> None:
        """Find out whether there is anything left to record."""
        if self._config.follow_names:
            return
        sampler = self._sampler
        if sampler is not None or self._child_end is not None:
            if sampler is not None and sampler.is_anything_alive:
                self._gone_ns = None
            elif self._gone_ns is None:
                self._gone_ns = now_ns
            elif now_ns - self._gone_ns >= (STATUS_NS if self._awaits_status else GRACE_NS):
                self.end_reason = "the target has ended"
        elif self._config.logs and not self._config.metrics_urls and not self._logs.logs.has_anything_to_come:
            self.end_reason = "the input has ended"

    @property
    def _awaits_status(self) -> bool:
        return self._child_end is not None and self._child_status is None

    def _summary_notes(self) -> list[Sample]:
        """What the person must know who finds nothing in the session."""
        return self._logs.nothing_read(self._clock.monotonic_ns()) if self._config.logs else []


def _metrics(config: RecordingConfig) -> MetricsEndpoints | None:
    """The poller of metrics endpoints; ``None`` when none is asked for."""
    if not config.metrics_urls:
        return None
    from livemon.collect.metrics_endpoint import MetricsEndpoints

    return MetricsEndpoints(config.metrics_urls, units=dict(config.parse.units))
