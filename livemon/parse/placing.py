"""A parsed record onto the session clock: the line's own time where it can be, else its arrival, and it says which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from livemon.model.clock import WallMapping
from livemon.model.samples import TimingRecord
from livemon.model.unfrozen import unfrozen
from livemon.parse.record import ParsedRecord

_Unfrozen: Final = unfrozen(TimingRecord)
FUTURE_NS: Final = 2_000_000_000
"""A line can't be from later than this after it was read; such a stamp is another clock's (or a wrong zone)."""


def place_all(
    records: Sequence[ParsedRecord],
    *,
    arrival_ns: int,
    wall: WallMapping,
    stream: int,
    session_clock: Literal["monotonic", "unix"],
) -> list[TimingRecord]:
    """Put records on the session clock that were read together; see ``place``.

    A followed log gives a line or two a look: those without a stamp need nothing but their fields.
    """
    out = []
    for record in records:
        line, offset, length, t_ns, _, source, unit, label, pid, tid, stages, fields, _ = record
        if t_ns is not None:
            out.append(place(record, arrival_ns=arrival_ns, wall=wall, stream=stream, session_clock=session_clock))
            continue
        placed: TimingRecord = _Unfrozen(
            arrival_ns, arrival_ns, "arrival", source, unit, label, stages, fields, pid, tid, None,
            stream, offset, length, line,
        )  # fmt: skip
        placed.__class__ = TimingRecord
        out.append(placed)
    return out


def place(
    record: ParsedRecord,
    *,
    arrival_ns: int,
    wall: WallMapping,
    stream: int,
    session_clock: Literal["monotonic", "unix", "order"],
) -> TimingRecord:
    """Put a record on the session clock.

    Args:
        record: What the line said.
        arrival_ns: When it was read, session clock.
        wall: Session clock to wall clock, for stamps in wall time on a monotonic session and back.
        stream: Index of its ``LogStream``.
        session_clock: What the session clock is.

    Returns:
        ``time_from`` is ``line`` when the stamp could be mapped and is not from the future; else ``arrival``.
    """
    t_ns, start_ns = arrival_ns, None
    time_from: Literal["line", "arrival", "order"] = "order" if session_clock == "order" else "arrival"
    if record.t_ns is not None:
        shift = _shift_ns(record, arrival_ns, wall, session_clock)
        own = -1 if shift is None else record.t_ns + shift
        if shift is not None and 0 <= own <= arrival_ns + FUTURE_NS:
            t_ns, time_from = own, "line"
            start_ns = None if record.start_ns is None else record.start_ns + shift
    placed: TimingRecord = _Unfrozen(
        arrival_ns,
        t_ns,
        time_from,
        record.source,
        record.unit,
        record.label,
        record.stages,
        record.fields,
        record.pid,
        record.tid,
        start_ns,
        stream,
        record.offset,
        record.length,
        record.line,
    )
    placed.__class__ = TimingRecord
    return placed


def _shift_ns(record: ParsedRecord, arrival_ns: int, wall: WallMapping, session_clock: str) -> int | None:
    """What to add to the record's clock to get session time; ``None`` if nothing ties the two."""
    if record.t_ns is None or record.clock is None or session_clock == "order":
        return None
    if record.clock == session_clock:
        return 0
    if record.clock == "unix":
        at = wall.wall_ns(arrival_ns)
        return None if at is None else arrival_ns - at
    mapped = wall.wall_ns(record.t_ns)
    return None if mapped is None else mapped - record.t_ns
