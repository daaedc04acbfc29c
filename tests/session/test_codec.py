"""Samples to bytes and back: what is read is what was written, in order, whatever it is."""

import math
import pickle
from array import array
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.model.samples import Sample, ThreadGone, ThreadTick, TimingRecord
from livemon.session import decoder
from livemon.session.batch import MergeError, merge
from livemon.session.codec import dump_batch, load_batch
from livemon.session.columns import (
    ColumnError,
    Cursor,
    get_floats,
    get_ints,
    get_steps,
    get_texts,
    put_floats,
    put_ints,
    put_steps,
    put_texts,
)
from livemon.session.decoder import Decoder
from livemon.session.encoder import Encoder
from tests.session.samples_strategy import appends


def encoded(batches: list[list[Sample]], state_every: int = 3) -> list[bytes]:
    encoder = Encoder()
    out = []
    for number, batch in enumerate(batches):
        if number % state_every == 0:
            encoder.needs_state = True
        out.append(dump_batch(encoder.encode(batch)))
    return out


@given(st.lists(st.integers(-(2**70), 2**70)) | st.lists(st.integers(-200, 200)))
def test_integers_come_back(values: list[int]) -> None:
    for put, get in ((put_ints, get_ints), (put_steps, get_steps)):
        out = bytearray()
        put(out, values)
        assert list(get(Cursor(bytes(out)))) == values


@given(st.lists(st.text() | st.text(st.characters(categories=["Cs", "Cc"]))))
def test_texts_come_back_even_with_lone_surrogates_and_separators(values: list[str]) -> None:
    out = bytearray()
    put_texts(out, values)
    assert get_texts(Cursor(bytes(out))) == values


@given(st.lists(st.floats(allow_nan=False, min_value=0)) | st.lists(st.integers(0, 10**7).map(lambda n: n / 1000)))
def test_floats_come_back_bit_for_bit(values: list[float]) -> None:
    out = bytearray()
    put_floats(out, values)
    back = get_floats(Cursor(bytes(out)))
    assert [math.copysign(1, v) * v for v in back] == [math.copysign(1, v) * v for v in values]


def test_decimals_of_a_log_take_two_bytes_each() -> None:
    out = bytearray()
    put_floats(out, [n / 100 for n in range(1000, 9000, 7)])
    assert len(out) < 2 * 1143 + 10


@given(appends)
@settings(max_examples=150, deadline=None)
def test_what_is_read_is_what_was_written(batches: list[list[Sample]]) -> None:
    reader = Decoder()
    assert [reader.decode(load_batch(data)) for data in encoded(batches)] == batches


@given(appends, st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_merging_changes_nothing(batches: list[list[Sample]], state_every: int) -> None:
    blobs = [load_batch(data) for data in encoded(batches, state_every)]
    try:
        packed = dump_batch(merge(blobs), 6)
    except MergeError:
        return
    samples = [sample for batch in batches for sample in batch]
    assert Decoder().decode(load_batch(packed)) == samples
    assert load_batch(packed).appends == [len(batch) for batch in batches]


@given(appends)
@settings(max_examples=60, deadline=None)
def test_numpy_and_plain_adding_agree(batches: list[list[Sample]]) -> None:
    blobs = encoded(batches)
    plain = [reader.decode(load_batch(data)) for reader in [Decoder()] for data in blobs]
    before = decoder._NUMPY_FROM
    decoder._NUMPY_FROM = 0
    try:
        fast = [reader.decode(load_batch(data)) for reader in [Decoder()] for data in blobs]
    finally:
        decoder._NUMPY_FROM = before
    assert fast == plain == batches


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ColumnError):
        load_batch(data)


def tick(at_ns: int, index: list[int], cpu_ns: list[int]) -> ThreadTick:
    zeros = array("q", [0] * len(index))
    return ThreadTick(at_ns, array("q", index), array("q", cpu_ns), zeros, zeros, zeros)


def test_a_batch_behind_a_lost_one_gives_no_ticks_until_the_next_full_state() -> None:
    blobs = encoded([[tick(n, [0, 1], [n * 10, n * 20])] for n in range(1, 7)], state_every=3)
    reader = Decoder()
    assert reader.decode(load_batch(blobs[0]))
    reader.lose()
    assert reader.decode(load_batch(blobs[2])) == []
    assert reader.decode(load_batch(blobs[3])) == [tick(4, [0, 1], [40, 80])]


def test_a_full_state_leaves_out_threads_that_ended_and_marks_nothing_else() -> None:
    encoder = Encoder()
    encoder.encode([tick(1, [0, 1], [10, 20]), ThreadGone(2, 0)])
    encoder.needs_state = True
    state = encoder.encode([tick(3, [1], [30])]).state
    assert state is not None
    assert state.columns["cpu_ns"] == {1: 20}


def test_columns_of_different_length_are_refused() -> None:
    broken = ThreadTick(1, array("q", [1, 2]), *(array("q", [1]) for _ in range(4)))
    with pytest.raises(ValueError, match="1 values of 2 threads"):
        Encoder().encode([broken])


def test_what_is_not_a_sample_is_refused() -> None:
    with pytest.raises(TypeError, match="not a sample"):
        Encoder().encode(["tick"])  # type: ignore[list-item]


def test_records_read_back_are_frozen_records_like_any_other() -> None:
    made = TimingRecord(5, 4, "line", "m", "1", None, (("a", 1.0), ("b", 2.0)), (("k", "v"),), start_ns=3)
    (read,) = Decoder().decode(load_batch(dump_batch(Encoder().encode([made]))))
    assert type(read) is TimingRecord
    assert (read, hash(read), repr(read)) == (made, hash(made), repr(made))
    with pytest.raises(FrozenInstanceError):
        read.t_ns = 1  # type: ignore[misc]
    assert replace(read, unit="2") == replace(made, unit="2")
    assert pickle.loads(pickle.dumps(read)) == made
