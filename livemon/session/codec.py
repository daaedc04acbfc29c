"""Batches to the bytes of a block and back.

A block's bytes are the sections below one after the other, compressed as a whole: order and append
sizes, chain state, rows, timings, ticks, machine samples. Each is a run of columns (see ``columns``).
Any byte string that this module did not write raises ``ColumnError`` or is caught by the block's
checksum before it gets here.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache

from livemon.session.batch import (
    HAS_LABEL,
    HAS_PID,
    HAS_START,
    HAS_TID,
    HAS_UNIT,
    Batch,
    Chain,
    Machines,
    Ticks,
    TickShape,
    TimingColumns,
    Timings,
    TimingShape,
)
from livemon.session.columns import (
    ColumnError,
    Cursor,
    get_bytes,
    get_floats,
    get_ints,
    get_json,
    get_steps,
    get_texts,
    put_bytes,
    put_floats,
    put_ints,
    put_json,
    put_steps,
    put_texts,
    put_varint,
)

STORED_MOST = 16 << 10
COMPRESSED_A_STEP = 32 << 10
_NUMBERS_A_STEP = 10_000


def dump_batch(batch: Batch, level: int = 1) -> bytes:
    """The bytes of a block; ``level`` is zlib's, 0 leaves small ones as they are.

    Setting up a compressor costs more than a row of a second's tenth saves, and rows are merged soon.
    """
    out = bytearray()
    for _ in _fill(out, batch):
        pass
    if level == 0 and len(out) <= STORED_MOST:
        return stored(out)
    return zlib.compress(out, level or 1)


def dump_steps(batch: Batch, level: int) -> Generator[None, None, bytes]:
    """The bytes of a big block, made in steps of some milliseconds each."""
    out = bytearray()
    yield from _fill(out, batch)
    packer, parts = zlib.compressobj(level), []
    for start in range(0, len(out), COMPRESSED_A_STEP):
        parts.append(packer.compress(out[start : start + COMPRESSED_A_STEP]))
        yield
    return b"".join((*parts, packer.flush()))


def _fill(out: bytearray, batch: Batch) -> Iterator[None]:
    """A block's bytes before they are compressed."""
    put_bytes(out, bytes(batch.order))
    put_ints(out, batch.appends)
    _put_state(out, batch.state)
    put_varint(out, len(batch.rows))
    for kind, rows in batch.rows.items():
        out.append(kind)
        put_json(out, rows)
    out.append(bool(batch.timings.arrival))
    if batch.timings.arrival:
        _put_timings(out, batch.timings)
        if len(batch.timings.arrival) > _NUMBERS_A_STEP // 10:
            yield
    out.append(bool(batch.ticks.arrival))
    if batch.ticks.arrival:
        yield from _put_ticks(out, batch.ticks)
    out.append(bool(batch.machines.arrival))
    if batch.machines.arrival:
        _put_machines(out, batch.machines)


def stored(data: bytes | bytearray) -> bytes:
    """A zlib stream that holds up to 64 KB uncompressed, made without setting up a compressor."""
    size = len(data)
    head = b"\x78\x01\x01" + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
    return b"".join((head, data, zlib.adler32(data).to_bytes(4, "big")))


def load_batch(data: bytes) -> Batch:
    """Read the bytes of a block.

    Raises:
        ColumnError: The bytes are not a block of this version.
    """
    try:
        cursor = Cursor(zlib.decompress(data))
        batch = Batch(bytearray(get_bytes(cursor)), list(get_ints(cursor)), state=_get_state(cursor))
        for _ in range(cursor.varint()):
            kind = cursor.byte()
            batch.rows[kind] = [tuple(row) for row in get_json(cursor)]
        if cursor.byte():
            batch.timings = _get_timings(cursor)
        if cursor.byte():
            batch.ticks = _get_ticks(cursor)
        if cursor.byte():
            batch.machines = _get_machines(cursor)
    except (zlib.error, ValueError, IndexError, TypeError, KeyError) as error:
        raise ColumnError(str(error)) from error
    return batch


def _put_state(out: bytearray, state: Chain | None) -> None:
    out.append(state is not None)
    if state is None:
        return
    put_json(out, [state.tick_ns, list(state.columns)])
    for held in state.columns.values():
        indices = sorted(held)
        put_steps(out, indices)
        put_ints(out, [held[i] for i in indices])
    put_texts(out, list(state.machine))
    put_ints(out, list(state.machine.values()))


def _get_state(cursor: Cursor) -> Chain | None:
    if not cursor.byte():
        return None
    tick_ns, keys = get_json(cursor)
    state = Chain(tick_ns=tick_ns)
    for key in keys:
        indices = get_steps(cursor)
        state.columns[key] = dict(zip(indices, get_ints(cursor), strict=True))
    state.machine = dict(zip(get_texts(cursor), get_ints(cursor), strict=True))
    return state


@lru_cache(maxsize=64)
def _tick_shapes(shapes: tuple[TickShape, ...], columns: tuple[str, ...]) -> bytes:
    """The same few again and again."""
    out = bytearray()
    put_json(out, [shapes, columns])
    return bytes(out)


@lru_cache(maxsize=64)
def _timing_shapes(shapes: tuple[TimingShape, ...]) -> bytes:
    """The same few again and again."""
    out = bytearray()
    put_json(out, shapes)
    return bytes(out)


def _put_timings(out: bytearray, timings: Timings) -> None:
    out += _timing_shapes(tuple(timings.shapes))
    put_ints(out, timings.shape_of)
    put_steps(out, timings.arrival)
    put_ints(out, timings.lag)
    put_steps(out, timings.offset)
    put_ints(out, timings.length)
    put_steps(out, timings.line)
    for (*_, names, keys, has), columns in timings.shapes.items():
        stages: Sequence[Sequence[float]] = list(zip(*columns.stages, strict=True)) if names else ()
        for stage in stages:
            put_floats(out, list(stage))
        texts: Sequence[Sequence[str]] = list(zip(*columns.fields, strict=True)) if keys else ()
        for text in texts:
            put_texts(out, text)
        if has & HAS_UNIT:
            put_texts(out, columns.unit)
        if has & HAS_LABEL:
            put_texts(out, columns.label)
        if has & HAS_PID:
            put_ints(out, columns.pid)
        if has & HAS_TID:
            put_ints(out, columns.tid)
        if has & HAS_START:
            put_ints(out, columns.start_before)


def _get_timings(cursor: Cursor) -> Timings:
    shapes: list[TimingShape] = [
        (source, time_from, stream, tuple(names), tuple(keys), has)
        for source, time_from, stream, names, keys, has in get_json(cursor)
    ]
    timings = Timings(
        shape_of=list(get_ints(cursor)),
        arrival=get_steps(cursor),
        lag=list(get_ints(cursor)),
        offset=get_steps(cursor),
        length=list(get_ints(cursor)),
        line=get_steps(cursor),
    )
    for place, shape in enumerate(shapes):
        *_, names, keys, has = shape
        columns = TimingColumns(place)
        stages = [get_floats(cursor) for _ in names]
        texts = [get_texts(cursor) for _ in keys]
        columns.stages = list(zip(*stages, strict=True)) if names else [()] * timings.shape_of.count(place)
        columns.fields = list(zip(*texts, strict=True))
        if has & HAS_UNIT:
            columns.unit = get_texts(cursor)
        if has & HAS_LABEL:
            columns.label = get_texts(cursor)
        if has & HAS_PID:
            columns.pid = list(get_ints(cursor))
        if has & HAS_TID:
            columns.tid = list(get_ints(cursor))
        if has & HAS_START:
            columns.start_before = list(get_ints(cursor))
        timings.shapes[shape] = columns
    return timings


def _put_ticks(out: bytearray, ticks: Ticks) -> Iterator[None]:
    is_big = len(ticks.index) > _NUMBERS_A_STEP
    out += _tick_shapes(tuple(ticks.shapes), tuple(ticks.columns))
    put_ints(out, ticks.shape_of)
    put_steps(out, ticks.arrival)
    put_ints(out, ticks.late)
    put_ints(out, ticks.count)
    put_steps(out, ticks.index)
    for values in ticks.columns.values():
        if is_big:
            yield
        put_ints(out, values)


def _get_ticks(cursor: Cursor) -> Ticks:
    listed, keys = get_json(cursor)
    shapes: list[TickShape] = [
        (is_keyframe, tuple((core_class, flags) for core_class, flags in classes)) for is_keyframe, classes in listed
    ]
    ticks = Ticks(
        shapes,
        list(get_ints(cursor)),
        get_steps(cursor),
        list(get_ints(cursor)),
        list(get_ints(cursor)),
        get_steps(cursor),
    )
    for key in keys:
        ticks.columns[key] = get_ints(cursor)  # type: ignore[assignment]
    return ticks


@lru_cache(maxsize=16)
def _machine_shapes(shapes: tuple[tuple[str, ...], ...]) -> bytes:
    """The same few again and again."""
    out = bytearray()
    put_json(out, shapes)
    return bytes(out)


def _put_machines(out: bytearray, machines: Machines) -> None:
    out += _machine_shapes(tuple(machines.shapes))
    put_ints(out, machines.shape_of)
    put_steps(out, machines.arrival)
    put_ints(out, machines.values)


def _get_machines(cursor: Cursor) -> Machines:
    shapes = [tuple(names) for names in get_json(cursor)]
    return Machines(shapes, list(get_ints(cursor)), get_steps(cursor), list(get_ints(cursor)))
