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
    path: str | os.PathLike[str], criteria_toml: str | None = None, *, progress: Progress | None = None
) -> Judgement:
    """Judge a session with the criteria it was recorded with, or with others.

    Args:
        path: The session file.
        criteria_toml: Text of other criteria; ``None``: those of the session (else the defaults).
        progress: Called now and then while reading.

    Raises:
        SessionError: the session can't be opened.
        UsageError: the criteria are wrong.
    """
    reader = SessionReader(path)
    try:
        if is_worth_it(reader):
            judgement = _judge_by_two(reader, criteria_toml, progress)
            if judgement is not None:
                return judgement
            reader.rewind()
        return judge_reader(reader, criteria_toml, progress=progress)
    finally:
        reader.close()


def _judge_by_two(reader: SessionReader, criteria_toml: str | None, progress: Progress | None) -> Judgement | None:
    """The host detector here, the rest in a second process; ``None`` if that one failed."""
    text = reader.facts.criteria_toml if criteria_toml is None else criteria_toml
    engine = Engine(criteria_from_text(text), reader.facts, ("host_slow_transient",))
    with SecondProcess(reader.path, text) as second, collector_resting():
        for samples in batches(reader, progress):
            engine.feed(samples)
        engine.finish()
        half = second.result()
    if half is None:
        return None
    findings = sorted((*engine.get(), *half.findings), key=lambda finding: finding.detected_ns)
    return replace(half, findings=tuple(findings), transitions=engine.transitions(), blips=engine.blips)


def judge_reader(
    reader: SessionReader,
    criteria_toml: str | None = None,
    *,
    progress: Progress | None = None,
    kinds: Collection[str] = DETECTORS.keys(),
) -> Judgement:
    """Judge what an open reader has; see ``judge``. ``kinds``: the detectors that run."""
    facts = reader.facts
    text = facts.criteria_toml if criteria_toml is None else criteria_toml
    criteria = criteria_from_text(text)
    classifier = Classifier(criteria)
    engine, totals = Engine(criteria, facts, kinds), Totals(criteria, facts, classifier)
    with collector_resting():
        for samples in batches(reader, progress):
            classed = classifier.update(samples)
            engine.feed(samples, classed)
            totals.update(samples, classed)
        rest = classifier.finish()
        engine.finish(rest)
        totals.finish(rest)
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
        findings=engine.get(),
        transitions=engine.transitions(),
        marks=totals.marks(),
        gaps=totals.gaps(),
        losses=totals.losses(),
        notes=(*reader.damage, *totals.notes()),
        blips=engine.blips,
    )


def batches(reader: SessionReader, progress: Progress | None = None) -> Iterator[list[Sample]]:
    """The whole session from where the reader stands, in batches, telling how far it is."""
    bounds = reader.bounds_ns
    while samples := reader.read_new(BATCH_SAMPLES):
        if progress is not None and bounds is not None:
            start_ns, end_ns = bounds
            progress((samples[-1].arrival_ns - start_ns) / max(end_ns - start_ns, 1))
        yield samples


def classed_samples(reader: SessionReader, criteria: Criteria) -> Iterator[tuple[Sample, str | None]]:
    """Every sample, timing records with their class key.

    A record whose class is settled later (a cycle that is still being found) comes when it is.
    """
    classifier = Classifier(criteria)
    for samples in batches(reader):
        for sample in samples:
            if not isinstance(sample, TimingRecord):
                yield sample, None
            elif not sample.stages:
                yield sample, sample.label
        for item in classifier.update(samples):
            yield item.record, item.class_key
    for item in classifier.finish():
        yield item.record, item.class_key
