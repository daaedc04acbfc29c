"""What all threads did, in rings of ever coarser time: ticks, 1 s, 10 s, 1 min, 10 min.

A block holds the threads that ran in its stretch as one float32 matrix, so a view over thousands of
threads is a handful of array operations. Sums add up exactly from level to level; the lowest and
highest CPU percent of a tick survive as such, so peaks are kept at every zoom. Every level drops its
oldest blocks beyond its bytes; a coarser level reaches further back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from livemon.engine.core_classes import CoreClasses
from livemon.engine.rolling.ring_memory import Floats, RingMemory
from livemon.engine.tick_deltas import TickDelta, TickDeltas, TickRun
from livemon.model.samples import ThreadTick

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CPU, DELAY, HOPS, LISTED, CYCLES, INSTRUCTIONS, COUNTED, LOW, HIGH = range(9)
"""Rows of a block: CPU ns, run-queue delay ns, CPU changes, ticks it ran in, cycles, instructions, CPU ns that goes
with the cycles, lowest and highest CPU percent of those ticks. Then CPU ns by core class."""
CLASSES = 9
MAX_CLASSES = 4
ROWS = CLASSES + MAX_CLASSES
_SUMS = [row for row in range(ROWS) if row not in (LOW, HIGH)]

SECOND = 1_000_000_000
WIDTHS_NS: tuple[int, ...] = (0, SECOND, 10 * SECOND, 60 * SECOND, 600 * SECOND)
"""Width of a block at each level; 0: one tick."""
BYTES: tuple[int, ...] = (10 << 20, 19 << 20, 7 << 20, 5 << 20, 3 << 20)
"""What each level may hold."""
_NEARLY = 0.4


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A stretch of time."""

    start_ns: int
    end_ns: int
    ticks: int
    index: npt.NDArray[np.int32]
    """(threads,) indexes of the threads that ran."""
    held: Floats
    """(held rows, threads)."""
    numbers: tuple[int, ...] = tuple(range(ROWS))
    """Which rows are held; the others are zero, or follow from those of a single tick."""

    @property
    def rows(self) -> Floats:
        """(ROWS, threads), all of them."""
        if len(self.numbers) == ROWS:
            return self.held
        rows: Floats = np.stack([self.row(number) for number in range(ROWS)])
        return rows

    def row(self, number: int) -> Floats:
        """One row, (threads,)."""
        if number in self.numbers:
            held: Floats = self.held[self.numbers.index(number)]
            return held
        if self.ticks == 1 and number == LISTED:
            return np.ones(len(self.index), np.float32)
        if self.ticks == 1 and number in (LOW, HIGH):
            percent: Floats = self.row(CPU) * percent_of(self.end_ns - self.start_ns)
            return percent
        return np.zeros(len(self.index), np.float32)

    def packed(self, memory: RingMemory) -> Block:
        """The same with only the rows that have to be held, in the memory of the rings."""
        told: npt.NDArray[np.bool_] = np.logical_or.reduce(self.held != 0, axis=1)
        if self.ticks == 1:
            told[[LISTED, LOW, HIGH]] = False
        numbers = np.flatnonzero(told)
        held = memory.floats(len(numbers), len(self.index))
        held[:] = self.held[numbers]
        index = memory.numbers(len(self.index))
        index[:] = self.index
        return Block(self.start_ns, self.end_ns, self.ticks, index, held, tuple(numbers.tolist()))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.index.nbytes + self.held.nbytes) + 200


def percent_of(dt_ns: int) -> np.float32:
    """What CPU ns of a tick are multiplied by to be percent of one core; 0 for a tick of no length."""
    return np.float32(100.0 / dt_ns if dt_ns else 0.0)


class _Level:
    """Blocks of one width."""

    def __init__(self, width_ns: int, max_bytes: int) -> None:
        self.width_ns = width_ns
        self._memory = RingMemory()
        self._max_bytes = max_bytes
        self._bytes = 0
        self.blocks: deque[Block] = deque()
        self.has_dropped = False
        self._sum: Floats = np.zeros((ROWS, 64), np.float32)
        self._sum[LOW] = np.inf
        self._open: tuple[int, int] | None = None
        self._open_until_ns = 0
        self._ticks = 0

    def add(self, block: Block) -> Block | None:
        """Take a finer block with all of its rows; returns one of this level if it is complete with it."""
        if not self.width_ns:
            self._keep(block)
            return block
        done = None
        # A block belongs where it ends: a tick tells of the time before it.
        bucket = (block.end_ns - 1) // self.width_ns
        if self._open is not None and bucket != self._open[0]:
            done = self.unfinished()
            if done is not None:
                self._keep(done)
                self._sum[:, done.index] = 0.0
                self._sum[LOW, done.index] = np.inf
            self._open = None
        if self._open is None:
            self._open = (bucket, block.start_ns)
            self._ticks = 0
        self._open_until_ns = block.end_ns
        self._ticks += block.ticks
        if len(block.index):
            highest = int(block.index.max())
            if highest >= self._sum.shape[1]:
                grown = np.zeros((ROWS, 2 * highest), np.float32)
                grown[LOW] = np.inf
                grown[:, : self._sum.shape[1]] = self._sum
                self._sum = grown
            index = block.index
            low, high = self._sum[LOW, index], self._sum[HIGH, index]
            self._sum[:, index] += block.held
            self._sum[LOW, index] = np.minimum(low, block.held[LOW])
            self._sum[HIGH, index] = np.maximum(high, block.held[HIGH])
        return done

    def unfinished(self) -> Block | None:
        """What the open stretch holds so far."""
        if self._open is None:
            return None
        index = np.flatnonzero(self._sum[LISTED]).astype(np.int32)
        return Block(self._open[1], self._open_until_ns, self._ticks, index, self._sum[:, index])

    def _keep(self, block: Block) -> None:
        block = block.packed(self._memory)
        self.blocks.append(block)
        self._bytes += block.nbytes
        while self._bytes > self._max_bytes and len(self.blocks) > 1:
            self._bytes -= self.blocks.popleft().nbytes
            self.has_dropped = True

    def between(self, start_ns: int, end_ns: int) -> list[Block]:
        """Blocks that end in ``(start_ns, end_ns]``, the open one included."""
        found: list[Block] = []
        for block in reversed(self.blocks):
            if block.end_ns <= start_ns:
                break
            if block.end_ns <= end_ns:
                found.append(block)
        found.reverse()
        last = self.unfinished() if self.width_ns else None
        if last is not None and start_ns < last.end_ns <= end_ns:
            found.append(last)
        return found

    def reaches(self, start_ns: int) -> bool:
        """Whether everything since ``start_ns`` is still held."""
        return not self.has_dropped or (bool(self.blocks) and self.blocks[0].start_ns <= start_ns)


class ThreadRings:
    """The rings of one session.

    Args:
        cores: Core classes, for placement by last CPU where there are no per-class counters.
        levels: How many levels; 1 for a short stretch that was read back.
    """

    def __init__(self, cores: CoreClasses, levels: int = len(WIDTHS_NS), *, is_bounded: bool = True) -> None:
        self._cores = cores
        self._levels = [
            _Level(WIDTHS_NS[k], BYTES[k] if is_bounded else 1 << 40) for k in range(levels)
        ]  # fmt: skip
        self.class_names: list[str] = list(cores.names[:MAX_CLASSES])
        self.is_exact = False
        """Core classes come from per-class counters."""
        self.newest_ns = 0
        self._last_cpu: Ints = np.full(64, -1, np.int64)
        self._was_listed: npt.NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.lacks_cpu: npt.NDArray[np.bool_] = np.zeros(64, np.bool_)
        """The newest reading gave no CPU time (not measured, or an impossible rate); a first one has none to give."""
        self.has_delay: npt.NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.has_where: npt.NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.has_counters: npt.NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.is_unpaired: npt.NDArray[np.bool_] = np.zeros(64, np.bool_)
        """Cycles came without their instructions, or the other way round: their quotient would be no IPC."""
        self.is_scaled = False

    @property
    def last_cpu(self) -> Ints:
        """Newest CPU number by thread index; -1 unknown."""
        return self._last_cpu

    def take(self, ticks: Sequence[ThreadTick], deltas: TickDeltas) -> None:
        """Take ticks; ``deltas`` has the readings before them."""
        run = deltas.update_run(ticks)
        if run is not None:
            self.update_run(run, [tick.arrival_ns for tick in ticks])
            return
        for tick in ticks:
            self.update(deltas.update(tick))

    def update(self, delta: TickDelta) -> None:
        """Take a tick."""
        self.update_run(TickRun(delta, [delta.dt_ns], [0, len(delta.index)]), [delta.arrival_ns])

    def update_run(self, run: TickRun, arrivals_ns: Sequence[int]) -> None:
        """Take several ticks, as one by one, with the arrival of each."""
        self.newest_ns = arrivals_ns[-1]
        index = run.delta.index
        if len(index):
            self._grow(int(index.max()) + 1)
            self._remember(run.delta)
        rows = self._rows(run)
        numbers = index.astype(np.int32)
        for arrival_ns, dt_ns, (first, stop) in zip(arrivals_ns, run.dt_ns, pairwise(run.edges), strict=True):
            if not dt_ns:
                continue
            whole = stop - first == len(index)
            mine, what = (numbers, rows) if whole else (numbers[first:stop], rows[:, first:stop])
            block: Block | None = Block(arrival_ns - dt_ns, arrival_ns, 1, mine, what)
            for level in self._levels:
                if block is None:
                    break
                block = level.add(block)

    def _remember(self, delta: TickDelta) -> None:
        """What the newest reading of each thread told; of a thread that comes several times the last one stays."""
        index = delta.index
        seen = delta.last_cpu >= 0
        self._last_cpu[index[seen]] = delta.last_cpu[seen]
        self.has_where[index[seen]] = True
        self.has_delay[index[delta.delay_known]] = True
        order = np.argsort(index, kind="stable")
        again = np.zeros(len(index), np.bool_)
        again[order[1:]] = index[order[1:]] == index[order[:-1]]
        self.lacks_cpu[index] = ~delta.cpu_known & (self._was_listed[index] | again)
        self._was_listed[index] = True

    def _rows(self, run: TickRun) -> Floats:
        """The entries of a run as rows of blocks."""
        delta, index = run.delta, run.delta.index
        rows = np.zeros((ROWS, len(index)), np.float32)
        if not any(run.dt_ns):
            return rows
        rows[CPU] = delta.cpu_ns
        rows[DELAY] = delta.delay_ns
        rows[HOPS] = delta.hops
        rows[LISTED] = 1.0
        to_percent = np.array([percent_of(dt_ns) for dt_ns in run.dt_ns])
        rows[LOW] = rows[HIGH] = rows[CPU] * np.repeat(to_percent, np.diff(run.edges))
        # A first tick has nothing before it: what it says of classes and counters does not count yet.
        counts = np.repeat(np.array(run.dt_ns) > 0, np.diff(run.edges))
        if delta.classes:
            self.is_exact = True
            for c in delta.classes:
                rows[CYCLES] += c.cycles
                rows[INSTRUCTIONS] += c.instructions
                rows[COUNTED] += c.counted_cpu_ns
                k = self._class(c.core_class)
                if k is not None:
                    rows[CLASSES + k] += c.cpu_ns
                self.is_scaled = self.is_scaled or c.is_scaled
                if c.paired_cycles is not c.cycles:
                    apart = (c.paired_cycles != c.cycles) | (c.paired_instructions != c.instructions)
                    self.is_unpaired[index[apart & counts]] = True
            self.has_counters[index[((rows[COUNTED] > 0) | (rows[INSTRUCTIONS] > 0)) & counts]] = True
        elif self.class_names and len(index):
            where = self._cores.classes_of(delta.last_cpu)
            for k in range(len(self.class_names)):
                rows[CLASSES + k] = np.where(where == k, rows[CPU], 0)
        return rows

    def _class(self, name: str) -> int | None:
        if name not in self.class_names:
            if len(self.class_names) >= MAX_CLASSES:
                return None
            self.class_names.append(name)
        return self.class_names.index(name)

    def _grow(self, need: int) -> None:
        size = len(self._last_cpu)
        if need > size:
            more = max(2 * size, need) - size
            self._last_cpu = np.concatenate([self._last_cpu, np.full(more, -1, np.int64)])
            no = np.zeros(more, np.bool_)
            self._was_listed = np.concatenate([self._was_listed, no])
            self.lacks_cpu = np.concatenate([self.lacks_cpu, no])
            self.has_delay = np.concatenate([self.has_delay, no])
            self.has_where = np.concatenate([self.has_where, no])
            self.has_counters = np.concatenate([self.has_counters, no])
            self.is_unpaired = np.concatenate([self.is_unpaired, no])

    def reaches(self, start_ns: int, bucket_ns: int) -> bool:
        """Whether a view from ``start_ns`` with such buckets can be drawn in full detail."""
        return self._best(start_ns, bucket_ns)[1]

    def _best(self, start_ns: int, bucket_ns: int) -> tuple[_Level, bool]:
        """The coarsest level that is fine enough and reaches back far enough; else the finest that reaches.

        When ticks are gone, seconds serve for buckets down to ``_NEARLY`` of one.
        """
        for nearly in (1.0, _NEARLY):
            fine = [v for v in self._levels if v.width_ns * nearly <= bucket_ns and v.reaches(start_ns)]
            if fine:
                return fine[-1], True
        reaching = [level for level in self._levels if level.reaches(start_ns)]
        return (reaching or self._levels[-1:])[0], False

    def blocks(self, start_ns: int, end_ns: int, bucket_ns: int) -> list[Block]:
        """Blocks for a view of ``(start_ns, end_ns]``, each within one bucket where that is still held."""
        level = self._best(start_ns, bucket_ns)[0]
        found = level.between(start_ns, end_ns)
        # Coarser levels know of a stretch only when it is complete: the newest part comes from finer ones.
        finer = self._levels[: self._levels.index(level)]
        last_ns = found[-1].end_ns if found else start_ns
        for other in reversed(finer):
            rest = [block for block in other.between(last_ns, end_ns) if block.start_ns >= last_ns]
            if rest:
                found += rest
                last_ns = rest[-1].end_ns
        return found

    def sums(self, start_ns: int, end_ns: int, threads: int, rows: Sequence[int]) -> tuple[Doubles, int]:
        """Sums of some rows over ``(start_ns, end_ns]``: ((ROWS, threads), zeros in the others; ns covered)."""
        out = np.zeros((ROWS, threads))
        blocks = self.blocks(start_ns, end_ns, SECOND // 2)
        covered = sum(block.end_ns - block.start_ns for block in blocks)
        if blocks:
            index = np.concatenate([block.index for block in blocks]).astype(np.int64)
            keep = index < threads
            is_whole = bool(keep.all())
            if not is_whole:
                index = index[keep]
            # What no block holds is zero, but for what follows from other rows.
            told = {LISTED, LOW, HIGH}.union(*(block.numbers for block in blocks))
            for row in told.intersection(rows):
                values = np.concatenate([block.row(row) for block in blocks])
                out[row] = np.bincount(index, values if is_whole else values[keep], threads)
        return out, covered
