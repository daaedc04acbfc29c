"""Blocks to samples for the reader, and the short read of a stretch."""

from __future__ import annotations

from dataclasses import replace

from livemon.model.samples import Lost, Sample, ThreadTick
from livemon.session.batch import Chain
from livemon.session.codec import load_batch
from livemon.session.columns import ColumnError
from livemon.session.damage import DamageLog
from livemon.session.decoder import Decoder, full_state
from livemon.session.encoder import Encoder
from livemon.session.format import RECENT, THINNED, Block
from livemon.session.recent import load_samples
from livemon.session.source import BlockSource


def decode_block(decoder: Decoder, block: Block, damage: DamageLog, after_ns: int | None) -> list[Sample]:
    """The samples of an intact block; none, and a message, if they are not of this format.

    One of the newest appends stands on its own: the decoder is left as it is, for the row that it goes into.
    """
    try:
        samples = load_samples(block) if block.level == RECENT else decoder.decode(load_batch(block.data))
    except ColumnError:
        damage.unreadable(block.id, len(block.data), after_ns)
        decoder.lose()
        return []
    if block.level == THINNED:
        decoder.lose()
    return samples


def not_seen(block: Block, samples: list[Sample], seen: int, end_ns: int | None) -> list[Sample]:
    """The samples of a merged block that came after append ``seen``, which arrived at ``end_ns``."""
    if block.last_id <= seen:
        return []
    if block.level != THINNED:
        return samples[sum(load_batch(block.data).appends[: seen - block.id + 1]) :]
    after = -1 if end_ns is None else end_ns
    later = [sample for sample in samples if sample.arrival_ns > after]
    return [
        replace(sample, start_ns=after)
        if isinstance(sample, Lost) and sample.start_ns is not None and sample.start_ns < after
        else sample
        for sample in later
    ]


def read_range(source: BlockSource, start_ns: int, end_ns: int) -> list[Sample]:
    """See ``SessionReader.read_range``."""
    decoder = Decoder()
    found: list[Sample] = []
    state: ThreadTick | None = None
    after_ns: int | None = None
    expected: int | None = None
    for block in source.blocks_for(start_ns, end_ns):
        if expected is not None and block.id > expected:
            source.damage.hole(expected, block.id - 1, after_ns, block.start_ns)
            decoder.lose()
        before = _chain_at(block, decoder)
        samples = decode_block(decoder, block, source.damage, after_ns)
        if block.start_ns < start_ns and before is not None:
            early = [sample for sample in samples if sample.arrival_ns < start_ns]
            state = full_state(_moved_on(before, early))
        if block.level == RECENT and decoder.chain is not None:
            decoder.chain = _moved_on(decoder.chain, samples)
        found += [sample for sample in samples if start_ns <= sample.arrival_ns <= end_ns]
        expected, after_ns = block.last_id + 1, block.end_ns
    return _preamble(source, start_ns, found, state) + found


def _chain_at(block: Block, decoder: Decoder) -> Chain | None:
    """The newest values before a block's own samples."""
    if block.has_state:
        return load_batch(block.data).state
    return None if decoder.chain is None else decoder.chain.without_gone()


def _moved_on(chain: Chain, samples: list[Sample]) -> Chain:
    encoder = Encoder()
    encoder.chain = chain
    encoder.needs_state = False
    encoder.encode(samples)
    return encoder.chain


def _preamble(source: BlockSource, start_ns: int, found: list[Sample], state: ThreadTick | None) -> list[Sample]:
    """What must be known to read the stretch."""
    wanted = set() if state is None else set(state.index)
    for sample in found:
        if isinstance(sample, ThreadTick):
            wanted.update(sample.index)
    infos = source.thread_infos(start_ns - 1)
    preamble: list[Sample] = [*source.log_streams(start_ns - 1)]
    preamble += [infos[index] for index in sorted(wanted) if index in infos]
    if state is not None:
        preamble.append(state)
    return preamble
