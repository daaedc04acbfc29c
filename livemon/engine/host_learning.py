"""When units and threads are taken into the healthy state: late, and only from quiet time.

Seconds of arrival time are the unit of learning. A second is taken in when the next one is over too
and neither had evidence above the gate; rows of an episode, rows since an onset and cold rows are
never learned. Twenty active seconds in a row that were kept out although no episode came of them are
let in: a state that never raises an alarm must not stay unlearned for ever.

After an episode units are held back until ``host_recheck`` has compared them with the healthy state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from livemon.engine.host_episode import TickWork
from livemon.engine.host_evidence import Block, EvidenceMaker, Flags
from livemon.engine.logbins import Ints
from livemon.engine.thread_health import ThreadHealth, is_awake
from livemon.engine.thread_work import CPU, ROWS

CELL_NS = 1_000_000_000
GATE = 1024
"""Height of evidence (see ``OnsetWatch.update``) from which a second is not quiet."""
_STARVED_CELLS = 20
_RECENT_CELLS = 6
_RECENT_ROWS = 20_000


@dataclass(slots=True)
class Cell:
    """One second of arrivals."""

    number: int
    blocks: list[tuple[Block, Flags]] = field(default_factory=list)
    """With each block: which of its rows may be learned."""
    ticks: list[TickWork] = field(default_factory=list)
    height: int = 0
    units: int = 0
    is_disturbed: bool = False
    """An episode was open."""
    has_moved: bool = False
    """The threads of a tick had left their healthy state."""

    @property
    def rows(self) -> int:
        """Rows of evidence in the cell."""
        return sum(len(block) for block, _ in self.blocks)


class RecentLoad:
    """When units were at work in the last seconds."""

    def __init__(self) -> None:
        self._spans: deque[tuple[Ints, Ints]] = deque(maxlen=2 * _RECENT_CELLS)

    def add(self, cell: Cell) -> None:
        """Take a finished cell's units."""
        if cell.blocks:
            start = np.sort(np.concatenate([block.start for block, _ in cell.blocks]))
            self._spans.append((start, np.sort(np.concatenate([block.end for block, _ in cell.blocks]))))

    def ticks_with_units(self, ticks: list[TickWork]) -> list[bool]:
        """For each tick whether a unit was at work in it."""
        last = np.array([tick.arrival_ns for tick in ticks], np.int64)
        first = last - np.array([tick.tick_ns for tick in ticks], np.int64)
        at_work = np.zeros(len(ticks), np.bool_)
        for start, end in self._spans:
            at_work |= start.searchsorted(last) > end.searchsorted(first, side="right")
        return at_work.tolist()


class Learning:
    """The newest cells, and what becomes of them."""

    def __init__(self, maker: EvidenceMaker, health: ThreadHealth, half_life_s: float) -> None:
        self._maker = maker
        self._health = health
        self._factor = float(2.0 ** (-1.0 / half_life_s))
        self._load = RecentLoad()
        self.cell: Cell | None = None
        self.recent: deque[Cell] = deque()
        """Cells before the current one, oldest first; the newest is not learned yet."""
        self.held: deque[tuple[Cell, bool]] | None = None
        """While units are held back: the undisturbed seconds since, and whether each was quiet."""
        self.held_kinds: Collection[int] = ()
        """The kinds whose units are held back."""
        self._pending: Cell | None = None
        self._starved = 0
        self._moved_cells = 0
        self.active_cells = 0
        """Seconds with units or thread work so far."""
        self.learned_cells = 0.0
        """Seconds of quiet time that the thread sums stand for, after forgetting."""

    def start(self, number: int) -> None:
        """A new second begins; learn what has waited long enough."""
        done = self.cell
        self.cell = Cell(number)
        if done is None:
            return
        self._load.add(done)
        if done.rows or done.ticks:
            self.active_cells += 1
        pending, self._pending = self._pending, done
        if pending is not None:
            self._settle(pending, done)
        self.recent.append(done)
        rows = sum(cell.rows for cell in self.recent)
        while len(self.recent) > _RECENT_CELLS or (len(self.recent) > 2 and rows > _RECENT_ROWS):
            rows -= self.recent.popleft().rows

    def _settle(self, pending: Cell, after: Cell) -> None:
        quiet = pending.height < GATE and after.height < GATE
        undisturbed = not pending.is_disturbed and not after.is_disturbed
        if self.held is not None:
            if undisturbed and pending.rows:
                self.held.append((pending, quiet))
        elif not quiet and undisturbed:
            self._starved += bool(pending.rows)
            quiet = self._starved > _STARVED_CELLS
        elif quiet and pending.rows:
            self._starved = 0
        if not quiet:
            return
        self.learn_units([pending], self.held_kinds, others=True)
        if pending.ticks and undisturbed:
            self._moved_cells = self._moved_cells + 1 if pending.has_moved else 0
            if not pending.has_moved or self._moved_cells > _STARVED_CELLS:
                self._learn_threads(pending)

    def learn_units(self, cells: Iterable[Cell], kinds: Collection[int], *, others: bool) -> None:
        """Take units of some seconds in: those of some kinds, or of all others."""
        for cell in cells:
            gathered: dict[int, list[Ints]] = {}
            for block, may in cell.blocks:
                for k, part in block.kinds.items():
                    chosen = may[part.rows]
                    if (k in kinds) != others and chosen.any():
                        gathered.setdefault(k, []).append(part.fine if chosen.all() else part.fine[chosen])
            for k, parts in gathered.items():
                self._maker.baselines[k].forget(self._factor)
                self._maker.baselines[k].learn(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _learn_threads(self, cell: Cell) -> None:
        names = len(self._health.ticks)
        busy = self._load.ticks_with_units(cell.ticks) if cell.units else [True] * len(cell.ticks)
        ticks = [tick for tick, has_units in zip(cell.ticks, busy, strict=True) if has_units]
        if not ticks:
            return
        numbers = np.concatenate([tick.numbers for tick in ticks])
        work = np.concatenate([tick.work for tick in ticks], axis=1)
        # Without units to say that there is load, the threads' own CPU time has to.
        awake = work[CPU] > 0 if cell.units else np.concatenate([is_awake(tick.work, tick.tick_ns) for tick in ticks])
        if not awake.any():
            return
        numbers, work = numbers[awake], work[:, awake]
        worked = np.bincount(numbers, minlength=names)
        flat = np.zeros(ROWS * names, np.int64)
        told = np.flatnonzero(work.any(axis=1))  # without core classes most rows are empty
        np.add.at(flat, (told[:, None] * names + numbers).ravel(), work[told].ravel())
        sums: Ints = flat.reshape(ROWS, names)
        self._health.learn(sums, worked, cell.units, self._factor)
        self.learned_cells = self.learned_cells * self._factor + 1

    @property
    def current(self) -> Cell:
        """The cell that goes on."""
        assert self.cell is not None
        return self.cell

    def keep_out_since(self, start_ns: int, current: Block | None, row: int) -> None:
        """An episode began at that time: nothing submitted since, up to ``row`` of ``current``, is learned."""
        for cell in (self._pending, self.cell):
            if cell is None:
                continue
            for block, may in cell.blocks:
                upto = row + 1 if block is current else len(block)
                may[:upto] &= block.start[:upto] < start_ns

    def working_ticks(self, before_ns: int) -> list[TickWork]:
        """Those of ``recent_ticks`` in which units were at work, as far as finished cells tell; all without units."""
        ticks = self.recent_ticks(before_ns)
        if not any(cell.rows for cell in self.recent_cells()):
            return ticks
        known = (self.cell.number if self.cell is not None else 0) * CELL_NS
        flags = self._load.ticks_with_units(ticks)
        return [tick for tick, has_units in zip(ticks, flags, strict=True) if has_units or tick.arrival_ns >= known]

    def ratios_since(self, start_ns: int, current: Block, row: int) -> Ints:
        """Log ratios of the units submitted since a moment, up to ``row`` of ``current``."""
        out = []
        for cell in self.recent_cells():
            for block, _ in cell.blocks:
                upto = row + 1 if block is current else len(block)
                out.append(block.ratio[:upto][(block.start[:upto] >= start_ns) & block.ready[:upto]])
                if block is current:
                    return np.concatenate(out)
        return np.concatenate(out) if out else np.zeros(0, np.int64)

    def recent_ticks(self, before_ns: int) -> list[TickWork]:
        """The ticks of the newest cells that came before a moment."""
        return [tick for cell in self.recent_cells() for tick in cell.ticks if tick.arrival_ns < before_ns]

    def recent_cells(self) -> list[Cell]:
        """The newest cells with the current one, oldest first."""
        return [*self.recent, *([self.cell] if self.cell is not None else [])]

    def drop_before(self, start_ns: int) -> None:
        """Forget what waits and was submitted before that: it belongs to a state that was not healthy."""
        for cell in (self._pending, self.cell):
            if cell is None:
                continue
            for block, may in cell.blocks:
                may &= block.start >= start_ns
            cell.ticks = [tick for tick in cell.ticks if tick.middle_ns >= start_ns]
            cell.is_disturbed = False
