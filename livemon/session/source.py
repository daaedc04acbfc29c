"""Where a reader gets its blocks: through SQLite, past it when the file is damaged, the newest from beside it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from livemon.model.clock import WallMapping
from livemon.model.errors import SessionError
from livemon.model.facts import SessionFacts
from livemon.model.samples import ClockAnchor, LogStream, Sample, ThreadInfo
from livemon.session import tables
from livemon.session.batch import KINDS, Row
from livemon.session.codec import load_batch
from livemon.session.columns import ColumnError
from livemon.session.damage import DamageLog, clock_text
from livemon.session.facts_json import facts_from_json
from livemon.session.format import BLOCK_COLUMNS, RECENT, Block, text_crc
from livemon.session.opening import DAMAGE_ERRORS, Connection, check_is_ours, connect_writable
from livemon.session.recent import RecentReader
from livemon.session.recorder_state import RecorderState, read_recorder_state
from livemon.session.salvage import log_tail, salvage

_SELECT = f"SELECT {BLOCK_COLUMNS} FROM block"
_PASSING = ("locked", "busy", "interrupted")


class BlockSource:
    """The rows of a session.

    As long as SQLite can read the file, through SQLite. Once it complains, or rows are missing, the
    pages are read directly (``salvage``) and everything is answered from what was found there.

    Raises:
        SessionError: There is no such session, it is of a newer format, or nothing of it can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = DamageLog(self.when)
        self._connection: Connection | None = None
        self._salvaged: list[Block] | None = None
        self._recent = RecentReader(path, None)
        self._recent_then: list[Block] = []
        """The newest appends as they were when the pages were read directly."""
        self._wall: WallMapping | None = None
        self._start_ns: int | None = None
        try:
            self._connection = Connection(path)
            self._recent.close()
            self._recent = RecentReader(self._connection.place, self._created_wall_ns())
        except DAMAGE_ERRORS as error:
            check_is_ours(path)
            self._recover(error)
        self.facts = self._read_facts()
        self._check_end()

    def _recover(self, error: Exception | None) -> None:
        """Read the pages directly from now on."""
        if self._salvaged is not None:
            return
        self._recent_then = self._recent.after(0)
        self._salvaged = salvage(self.path)
        if not self._salvaged:
            raise SessionError(f"nothing in {self.path} can be read: {error or 'all rows are damaged'}")
        if error is not None:
            self.damage.add("sqlite", f"the file is damaged ({error}): its rows were read one by one")

    def _check_end(self) -> None:
        """Say how the session ended, if it did not end well."""
        state = self.recorder()
        if state.closed_reason is not None or state.is_alive is not False:
            return
        bounds = self.bounds_ns()
        torn = log_tail(self.path)
        if torn and self._salvaged is None:
            self._read_past_log(bounds)
            bounds = self.bounds_ns()
        torn += self._recent.torn_bytes()
        last = "no sample" if bounds is None else f"last good sample {self.when(bounds[1])}"
        ignored = f", {torn} bytes ignored" if torn else ""
        who = f"recorder pid {state.pid}" if state.pid is not None else "the recorder"
        # Only the machine itself can take what was written but not yet synced.
        after = "; if it went down with the machine, up to a second after that is missing"
        self.damage.add(
            "end",
            f"not closed cleanly ({who} is gone): {last}{ignored}{after if state.is_of_earlier_boot else ''}",
        )

    def _read_past_log(self, bounds: tuple[int, int] | None) -> None:
        """SQLite reads a log up to its first bad byte; whole rows may stand behind it."""
        found = salvage(self.path)
        if found and (bounds is None or found[-1].end_ns > bounds[1]):
            self._salvaged = found
            self.damage.add("sqlite", "the log of the file is damaged: its rows were read one by one")

    def when(self, t_ns: int) -> str:
        """A moment in words."""
        if self._wall is None:
            self._wall = WallMapping(self.anchors())
        bounds = self.bounds_ns()
        return clock_text(t_ns, self._wall, bounds[0] if bounds else None)

    def _query(self, statement: str, values: tuple[int | str, ...] = ()) -> list[tuple[Any, ...]] | None:
        """Rows; ``None`` when the pages have to be read directly."""
        if self._salvaged is None and self._connection is not None:
            try:
                return self._connection.db.execute(statement, values).fetchall()
            except DAMAGE_ERRORS as error:
                if any(word in str(error) for word in _PASSING):
                    return []
                self._recover(error)
        return None

    def blocks_after(self, seen: int, most_blocks: int, most_bytes: int) -> list[Block]:
        """The next blocks that hold appends after ``seen``, in order; the newest ones are of level ``RECENT``."""
        blocks = self._next_blocks(seen, most_blocks, most_bytes)
        if self._salvaged is None and _has_hole(blocks, seen):
            if self.recorder().is_alive is True:
                # The newest appends were being written while they were read: they are there at the next look.
                while blocks and blocks[-1].level == RECENT and _has_hole(blocks, seen):
                    blocks.pop()
                return blocks
            # Rows are missing: they may still stand somewhere in the file.
            self._recover(None)
            blocks = self._next_blocks(seen, most_blocks, most_bytes)
        return blocks

    def _next_blocks(self, seen: int, most_blocks: int, most_bytes: int) -> list[Block]:
        recent = self._newest(seen)  # before the database: what moves there in between is found there
        blocks = self._read_after(seen, most_blocks, most_bytes)
        is_cut = len(blocks) >= most_blocks or sum(len(block.data) for block in blocks) >= most_bytes
        return _in_order(blocks, recent, seen, is_cut=is_cut) if recent else blocks

    def _newest(self, seen: int) -> list[Block]:
        """The appends after ``seen`` that stand beside the database; some of them are in it too, maybe."""
        if self._salvaged is not None:
            return [block for block in self._recent_then if block.id > seen]
        return self._recent.after(seen)

    def _read_after(self, seen: int, most_blocks: int, most_bytes: int) -> list[Block]:
        if self._salvaged is None and self._connection is not None:
            try:
                cursor = self._connection.db.execute(f"{_SELECT} WHERE last_id > ? AND id > 0 ORDER BY id", (seen,))
                blocks: list[Block] = []
                size = 0
                while len(blocks) < most_blocks and size < most_bytes and (row := cursor.fetchone()):
                    if self._is_good(block := Block(*row)):
                        blocks.append(block)
                        size += len(block.data)
                cursor.close()
            except DAMAGE_ERRORS as error:
                if any(word in str(error) for word in _PASSING):
                    return []
                self._recover(error)
            else:
                return blocks
        return [b for b in self._salvaged or () if b.last_id > seen and b.id > 0][:most_blocks]

    def _is_good(self, block: Block) -> bool:
        """Whether a row is what was written; says so if not."""
        if block.is_intact():
            return True
        try:
            size = len(block.data)
        except TypeError:
            size = 0  # the damage has made it another type
        self.damage.add(("bad", block.id), f"a block of {size} bytes is damaged and was ignored")
        return False

    def blocks_for(self, start_ns: int, end_ns: int) -> list[Block]:
        """The blocks of a stretch, from the full state before it on."""
        recent = self._newest(0)
        rows = self._query("SELECT id, last_id, start_ns, end_ns, has_state FROM block WHERE id > 0 ORDER BY id")
        if rows is None:
            rows = [(b.id, b.last_id, b.start_ns, b.end_ns, b.has_state) for b in self._salvaged or () if b.id > 0]
        newest = max((row[1] for row in rows if isinstance(row[1], int)), default=0)
        recent = [block for block in recent if block.id > newest]
        rows += [(b.id, b.last_id, b.start_ns, b.end_ns, b.has_state) for b in recent]
        state_id = first = last = None
        for id_, _, block_start, block_end, has_state in rows:
            if not (isinstance(block_start, int) and isinstance(block_end, int)):
                continue  # damaged: its checksum would say so
            if has_state and first is None:
                state_id = id_
            if block_end >= start_ns and block_start <= end_ns:
                first = first or state_id or id_
                last = id_
        if first is None or last is None:
            return []
        found = self._query(f"{_SELECT} WHERE id BETWEEN ? AND ? ORDER BY id", (first, last))
        recent = [block for block in recent if first <= block.id <= last]
        if found is None:
            return [b for b in self._salvaged or () if first <= b.id <= last] + recent
        return [block for block in (Block(*row) for row in found) if self._is_good(block)] + recent

    def bounds_ns(self) -> tuple[int, int] | None:
        """Arrival of the first and the newest sample, of blocks that are intact."""
        recent = self._newest(0)
        if self._start_ns is None:
            self._start_ns = next((block.start_ns for block in self._all_blocks()), None)
        if self._start_ns is None:
            return (recent[0].start_ns, recent[-1].end_ns) if recent else None
        rows = self._query(f"{_SELECT} WHERE id > 0 ORDER BY id DESC LIMIT 8")
        blocks = (self._salvaged or ())[-8:][::-1] if rows is None else [Block(*row) for row in rows]
        newest = next((block for block in blocks if block.is_intact()), None)
        if newest is None:
            newest = max(self._all_blocks(), key=lambda block: block.end_ns)
        if recent and recent[-1].id > newest.last_id:
            newest = recent[-1]
        return self._start_ns, newest.end_ns

    def recorder(self) -> RecorderState:
        """Who writes it."""
        return read_recorder_state(None if self._connection is None else self._connection.db, self.path)

    def _rare(self, kind: type[Sample]) -> list[Row]:
        """All samples of a rare kind, as rows, without reading the others."""
        number = KINDS.index(kind)
        table = tables.TABLES[number][0]
        rows = self._query(f"SELECT * FROM {table} ORDER BY rowid")
        if rows is not None:
            sound = tables.sound_rows(rows)
            if len(sound) == len(rows):
                return sound
            self.damage.add(table, f"{len(rows) - len(sound)} damaged entries of {table} ignored")
        found: list[Row] = []
        for block in self._all_blocks():
            try:
                found += load_batch(block.data).rows.get(number, ())
            except ColumnError:
                continue
        return found

    def _all_blocks(self) -> Iterator[Block]:
        """Every intact block in order."""
        seen = 0
        while blocks := self._read_after(seen, 256, 8 << 20):
            for block in blocks:
                seen = block.last_id
                yield block

    def anchors(self) -> list[tuple[int, int]]:
        """(session ns, unix ns) pairs."""
        return [(row[1], row[2]) for row in self._rare(ClockAnchor)]

    def thread_infos(self, until_ns: int) -> dict[int, ThreadInfo]:
        """What was known of each thread at a time, by index."""
        found = {}
        for row in self._rare(ThreadInfo):
            if row[0] <= until_ns:
                fields = (*row[:-1], bool(row[-1]))
                found[row[1]] = ThreadInfo(*fields)
        return found

    def log_streams(self, until_ns: int) -> list[LogStream]:
        """The streams known at a time."""
        return [LogStream(*row) for row in self._rare(LogStream) if row[0] <= until_ns]

    def _read_facts(self) -> SessionFacts:
        rows = self._query("SELECT value, crc FROM meta WHERE key = 'facts'") or []
        texts = [str(value) for value, crc in rows if text_crc("facts", value) == crc]
        copies = self._query(f"{_SELECT} WHERE id = 0")
        blocks = [b for b in self._salvaged or () if b.id == 0] if copies is None else [Block(*row) for row in copies]
        texts += [block.data.decode() for block in blocks if block.is_intact()]
        for text in texts:
            try:
                return facts_from_json(text)
            except ValueError:
                continue
        self.damage.add("facts", "the facts of the session (targets, topology, criteria) are damaged: unknown")
        return SessionFacts()

    def _created_wall_ns(self) -> int | None:
        """When the session was made, which tells its newest appends from another session's; ``None``: unknown."""
        for value, crc in self._query("SELECT value, crc FROM meta WHERE key = 'created_wall_ns'") or []:
            if isinstance(value, str) and text_crc("created_wall_ns", value) == crc:
                return int(value)
        return None

    def close(self) -> None:
        """Let go of the file; the last viewer of a session that was closed takes its log away."""
        self._recent.close()
        if self._connection is None:
            return
        is_closed = not self._connection.is_copy and self.recorder().closed_reason is not None
        self._connection.close()
        wal = self.path.with_name(self.path.name + "-wal")
        if is_closed and self._salvaged is None and wal.exists():
            # Refused while another viewer is there, or where nothing can be written.
            with contextlib.suppress(sqlite3.Error), contextlib.closing(connect_writable(self.path)) as db:
                db.execute("PRAGMA journal_mode=DELETE")


def _in_order(blocks: list[Block], recent: list[Block], seen: int, *, is_cut: bool) -> list[Block]:
    """Blocks of the database and the newest appends that are not in it; ``is_cut``: further blocks follow."""
    merged: list[Block] = []
    for block in blocks:
        merged += [one for one in recent if seen < one.id < block.id]
        merged.append(block)
        seen = max(seen, block.last_id)
    return merged if is_cut else merged + [one for one in recent if one.id > seen]


def _has_hole(blocks: list[Block], seen: int) -> bool:
    for block in blocks:
        if block.id > seen + 1:
            return True
        seen = block.last_id
    return False
