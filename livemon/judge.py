"""Judges a recording: session reader -> engine and totals -> ``Judgement``; wiring only."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

from livemon.engine.classes import Classifier
from livemon.engine.engine import DETECTORS, Engine
from livemon.engine.totals import Totals
from livemon.judge_apart import SecondProcess, is_worth_it
from livemon.judge_stretch import Stretch, StretchOf
from livemon.model.criteria import Criteria, criteria_sha256
from livemon.model.criteria import load_criteria as criteria_from_text
from livemon.model.errors import UsageError
from livemon.model.judgement import Judgement
from livemon.model.samples import Sample, TimingRecord
from livemon.session.collector import collector_resting
from livemon.session.reader import SessionReader

BATCH_SAMPLES = 32_768
"""Samples handed on at once; no finding depends on it."""

Progress = Callable[[float], None]
"""Called with the share of the session that was read, 0..1."""


def load_criteria_text(path: str | os.PathLike[str]) -> str:
    """The text of a criteria file, checked.

    Raises:
        UsageError: it can't be read, or it says something that is no criterion (with the line).
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"can't read the criteria file {path}: {reason}") from None
    criteria_from_text(text, name=str(path))
    return text


def judge(
    path: str | os.PathLike[str],
    criteria_toml: str | None = None,
    *,
    stretch: Stretch | None = None,
    progress: Progress | None = None,
) -> Judgement:
    """Judge a session with the criteria it was recorded with, or with others.

    Args:
        path: The session file.
        criteria_toml: Text of other criteria; ``None``: those of the session (else the defaults).
        stretch: Tell of this stretch only: its figures, and the findings that touch it.
        progress: Called now and then while reading.

    Raises:
        SessionError: the session can't be opened.
        UsageError: the criteria are wrong.
    """
    reader = SessionReader(path)
    try:
        if is_worth_it(reader):
            judgement = _judge_by_two(reader, criteria_toml, stretch, progress)
            if judgement is not None:
                return judgement
            reader.rewind()
        return judge_reader(reader, criteria_toml, stretch=stretch, progress=progress)
    finally:
        reader.close()


def _judge_by_two(
    reader: SessionReader, criteria_toml: str | None, stretch: Stretch | None, progress: Progress | None
) -> Judgement | None:
    """The host detector here, the rest in a second process; ``None`` if that one failed."""
    text = reader.facts.criteria_toml if criteria_toml is None else criteria_toml
    engine = Engine(criteria_from_text(text), reader.facts, ("host_slow_transient",))
    part = StretchOf(engine, None, stretch)
    with SecondProcess(reader.path, text, stretch) as second, collector_resting():
        for samples in batches(reader, progress):
            for piece, place in part.pieces(samples):
                engine.feed(piece)
                part.passed(place)
        engine.finish()
        part.passed(None)
        half = second.result()
    if half is None:
        return None
    findings = sorted((*part.findings(), *half.findings), key=lambda finding: finding.detected_ns)
    return replace(
        half,
        findings=tuple(findings),
        transitions=part.transitions(),
        blips=part.blips,
        newest_blips=part.blips_told(),
    )


def judge_reader(
    reader: SessionReader,
    criteria_toml: str | None = None,
    *,
    stretch: Stretch | None = None,
    progress: Progress | None = None,
    kinds: Collection[str] = DETECTORS.keys(),
) -> Judgement:
    """Judge what an open reader has; see ``judge``. ``kinds``: the detectors that run."""
    facts = reader.facts
    text = facts.criteria_toml if criteria_toml is None else criteria_toml
    criteria = criteria_from_text(text)
    classifier = Classifier(criteria)
    engine, totals = Engine(criteria, facts, kinds), Totals(criteria, facts, classifier)
    part = StretchOf(engine, totals, stretch)
    with collector_resting():
        for samples in batches(reader, progress):
            for piece, place in part.pieces(samples):
                classed = classifier.update(piece)
                engine.feed(piece, classed)
                part.passed(place, piece, classed)
        rest = classifier.finish()
        engine.finish(rest)
        part.passed(None, (), rest)
    return Judgement(
        facts=facts,
        path=str(reader.path),
        start_ns=totals.start_ns,
        end_ns=totals.end_ns,
        anchors=totals.anchors(),
        criteria_sha256=criteria_sha256(text),
        criteria_toml=text,
        records=totals.records,
        lines=totals.lines,
        malformed=totals.malformed,
        stages=totals.stages(),
        steps=totals.steps(),
        threads=totals.threads(),
        findings=part.findings(),
        transitions=part.transitions(),
        marks=totals.marks(),
        gaps=totals.gaps(),
        losses=totals.losses(),
        notes=(*reader.damage, *totals.notes()),
        blips=part.blips,
        newest_blips=part.blips_told(),
        whole_ns=None if stretch is None else reader.bounds_ns,
        asked_ns=stretch,
    )


def batches(reader: SessionReader, progress: Progress | None = None) -> Iterator[list[Sample]]:
    """The whole session from where the reader stands, in batches, telling how far it is."""
    bounds = reader.bounds_ns
    while samples := reader.read_new(BATCH_SAMPLES):
        if progress is not None and bounds is not None:
            start_ns, end_ns = bounds
            progress((samples[-1].arrival_ns - start_ns) / max(end_ns - start_ns, 1))
        yield samples


def classed_samples(
    reader: SessionReader, criteria: Criteria, stretch: Stretch | None = None
) -> Iterator[tuple[Sample, str | None]]:
    """Every sample, timing records with their class key.

    A record whose class is settled later (a cycle that is still being found) comes when it is. Of a
    stretch first what must be known of before (``SessionReader.read_range``).
    """
    classifier = Classifier(criteria)
    first, last = stretch or (-1 << 63, 1 << 63)
    for sample in () if stretch is None else before_stretch(reader, first):
        yield sample, None
    for samples in batches(reader):
        for sample in samples:
            if not first <= sample.arrival_ns <= last:
                continue
            if not isinstance(sample, TimingRecord):
                yield sample, None
            elif not sample.stages:
                yield sample, sample.label
        for item in classifier.update(samples):
            if first <= item.record.arrival_ns <= last:
                yield item.record, item.class_key
    for item in classifier.finish():
        if first <= item.record.arrival_ns <= last:
            yield item.record, item.class_key


def before_stretch(reader: SessionReader, start_ns: int) -> list[Sample]:
    """What must be known to read a session from a moment on: streams, threads with their newest readings."""
    return [sample for sample in reader.read_range(start_ns, start_ns) if sample.arrival_ns < start_ns]


def stretch_told(judgement: Judgement) -> Stretch | None:
    """The stretch that a judgement tells of; ``None``: the whole session."""
    if judgement.whole_ns is None:
        return None
    if judgement.start_ns is None or judgement.end_ns is None:
        return judgement.whole_ns[1] + 1, judgement.whole_ns[1]
    return judgement.start_ns, judgement.end_ns
