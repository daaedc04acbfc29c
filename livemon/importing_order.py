"""A log's samples in order of arrival, and stamps that the lines around them contradict."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from livemon.model.samples import Note, Sample, TimingRecord

REORDER_LINES = 25_000
"""Lines that were written out of order by no more lines than this are put in order."""
LEAP_NS = 2_000_000_000
"""A stamp further than this from the one before has to agree with the lines that follow."""
VOTERS = 8
"""So many lines before and after are asked."""
_MOST_WAITING = 2000
"""Samples that wait at most, where single lines hold very many records."""
_MOST = 0.75
"""Share of them that has to contradict: two writers with clocks of their own are half and half."""


def in_order(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples by arrival: what was late by up to ``REORDER_LINES`` is put in order, what is later arrives late."""
    waiting: list[Sample] = []
    last = -(1 << 62)
    for sample in samples:
        waiting.append(sample)
        if len(waiting) >= 2 * REORDER_LINES:
            waiting.sort(key=_arrival)
            for first in waiting[:REORDER_LINES]:
                last = max(last, first.arrival_ns)
                yield first if first.arrival_ns == last else replace(first, arrival_ns=last)
            del waiting[:REORDER_LINES]
    waiting.sort(key=_arrival)
    for first in waiting:
        last = max(last, first.arrival_ns)
        yield first if first.arrival_ns == last else replace(first, arrival_ns=last)


class Believed:
    """Samples of a log whose lines arrive at their own time, without the leaps of single stamps.

    A stamp far from the one before is right when the lines that follow go on from it (the log was silent,
    or its clock was set); when they go on from the one before, the line is placed there, as one without a stamp.
    """

    def __init__(self, samples: Iterable[Sample], path: str) -> None:
        self._samples = samples
        self._path = path
        self._stamps: deque[tuple[int, int]] = deque()
        """(line, time) of the waiting samples that have one."""
        self._lines = 0
        """Different lines among them."""
        self._past: deque[int] = deque(maxlen=VOTERS)
        """Stamps of lines that were believed."""
        self._past_line = -1
        self._before_ns: int | None = None
        self._disbelieved_ns: int | None = None
        self._contradicted_line = -1
        self.contradicted = 0
        """Lines that were placed by their neighbours."""

    @property
    def note(self) -> str:
        """What is said of them."""
        lines = f"{self.contradicted:,} line{'s' * (self.contradicted != 1)}"
        return f"{self._path}: the time in {lines} is contradicted by the lines around; placed beside these instead"

    def __iter__(self) -> Iterator[Sample]:
        waiting: deque[Sample] = deque()
        for sample in self._samples:
            waiting.append(sample)
            if isinstance(sample, TimingRecord) and sample.time_from == "line":
                self._lines += not self._stamps or self._stamps[-1][0] != sample.line
                self._stamps.append((sample.line, sample.arrival_ns))
            while self._lines > VOTERS + 1 or len(waiting) > _MOST_WAITING:
                yield self._placed(waiting.popleft())
        for sample in waiting:
            yield self._placed(sample)
        if self.contradicted and self._before_ns is not None:
            yield Note(self._before_ns, "warning", self.note)

    def _placed(self, sample: Sample) -> Sample:
        if isinstance(sample, TimingRecord) and sample.time_from == "line":
            line, t_ns = self._stamps.popleft()
            self._lines -= not self._stamps or self._stamps[0][0] != line
            place_ns = self._contradiction(t_ns, sample)
            if place_ns is not None:
                self.contradicted += line != self._contradicted_line
                self._contradicted_line = line
                self._disbelieved_ns, self._before_ns = t_ns, place_ns
                return replace(sample, arrival_ns=place_ns, t_ns=place_ns, time_from="arrival", start_ns=None)
            self._disbelieved_ns, self._before_ns = None, t_ns
            if line != self._past_line:
                self._past_line = line
                self._past.append(t_ns)
            return sample
        if self._before_ns is not None and sample.arrival_ns == self._disbelieved_ns:
            # It has no stamp of its own, and was given that of the line before it.
            sample = replace(sample, arrival_ns=self._before_ns)
            return replace(sample, t_ns=self._before_ns) if isinstance(sample, TimingRecord) else sample
        return sample

    def _contradiction(self, t_ns: int, record: TimingRecord) -> int | None:
        """Where the line belongs by the lines around it; ``None`` where its own stamp may stand."""
        before_ns = self._before_ns
        # A line stamped at the start of its unit may lie back by as long as the unit took.
        back_ns = LEAP_NS + int(max((ms for _, ms in record.stages), default=0.0) * 1e6)
        if before_ns is not None and -back_ns <= t_ns - before_ns <= LEAP_NS:
            return None
        voters = self._voters(record.line)
        if before_ns is None:
            against = sorted(v for v in voters if v < t_ns - LEAP_NS)
            return against[0] if 2 * len(against) > len(voters) else None
        past = sum(abs(v - before_ns) < abs(v - t_ns) for v in self._past)
        following = sum(before_ns - LEAP_NS <= v and abs(v - before_ns) < abs(v - t_ns) for v in voters)
        most = past + following >= _MOST * (len(self._past) + len(voters))
        return before_ns if most and 2 * following > len(voters) else None

    def _voters(self, line: int) -> list[int]:
        """The first stamp of each of the lines that follow."""
        voters: dict[int, int] = {}
        for number, t_ns in self._stamps:
            if number != line and len(voters) < VOTERS:
                voters.setdefault(number, t_ns)
        return list(voters.values())


def _arrival(sample: Sample) -> int:
    return sample.arrival_ns
