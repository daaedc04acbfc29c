"""Whatever the engine may say, every form of the report can be made of it, and unknown never becomes a number."""

import json
import xml.dom.minidom
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from livemon.export.html import figures, render_html
from livemon.export.markdown import render_markdown
from livemon.export.metrics import judgement_families
from livemon.export.openmetrics import render_openmetrics
from livemon.export.perfetto import write_trace
from livemon.export.plots import PlotBuilder
from livemon.export.report_document import report_blocks
from livemon.export.report_json import report_json
from livemon.export.tables import finding_rows
from livemon.export.text import render_text
from livemon.model.findings import (
    CAUSES,
    Bucket,
    Cause,
    Finding,
    HostSlowTransient,
    LedgerRow,
    OversizedFinalize,
    ThreadEvidence,
    Transition,
)
from livemon.model.judgement import Gap, Judgement, StageStats, ThreadStats
from tests.export.judgements import FACTS, empty

NUMBERS = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1e-9, 1e12, -1.0]))
MS = st.floats(0, 1e6)
TEXTS = st.text(max_size=12)
NS = st.integers(0, 10**13)
COUNTS = st.integers(0, 10**6)
PAIRS = st.tuples(NUMBERS, NUMBERS)
SEVERITIES = st.sampled_from(["warning", "critical"])
BUCKETS = st.builds(
    Bucket, st.floats(-2, 20), st.floats(-2, 20), COUNTS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS
)
CAUSE = st.builds(
    Cause,
    st.sampled_from(CAUSES),
    st.sampled_from(["applies", "ruled_out", "unknown"]),
    TEXTS,
    NUMBERS,
    NUMBERS,
    st.lists(TEXTS, max_size=3).map(tuple),
)
LEDGER = st.builds(
    LedgerRow, TEXTS, NUMBERS, NUMBERS, st.lists(st.tuples(TEXTS, NUMBERS), max_size=3).map(tuple), NUMBERS, NUMBERS
)
EVIDENCE = st.builds(ThreadEvidence, TEXTS, st.none() | TEXTS, PAIRS, PAIRS, PAIRS, PAIRS, PAIRS)
TRANSIENT = st.builds(
    HostSlowTransient,
    id=st.just("T1"),
    severity=SEVERITIES,
    start_ns=NS,
    end_ns=st.none() | NS,
    detected_ns=NS,
    slowdown=NUMBERS,
    peak_p99_ms=NUMBERS,
    primary_cause=st.none() | st.sampled_from(CAUSES),
    causes=st.lists(CAUSE, max_size=3).map(tuple),
    ledger=st.lists(LEDGER, max_size=2).map(tuple),
    threads=st.lists(EVIDENCE, max_size=2).map(tuple),
    buckets=st.lists(BUCKETS, max_size=2).map(tuple),
    cost_ms=NUMBERS,
    not_recovered_by_5_s=st.booleans(),
    does_not_show=st.lists(TEXTS, max_size=2).map(tuple),
)
OVERSIZED = st.builds(
    OversizedFinalize,
    id=st.just("F1"),
    severity=SEVERITIES,
    class_key=st.none() | TEXTS | st.just("1/3"),
    stage=TEXTS,
    p50_ms=MS,
    budget_ms=st.none() | MS,
    device_stage=st.none() | TEXTS,
    device_p50_ms=NUMBERS,
    ratio_to_device=NUMBERS,
    share_of_total=NUMBERS,
    share_denominator=TEXTS,
    saving_ms_per_step=NUMBERS,
    saving_to_budget_ms_per_step=NUMBERS,
    units=COUNTS,
    start_ns=NS,
    end_ns=st.none() | NS,
    detected_ns=NS,
)
STAGE = st.builds(
    StageStats, st.none() | TEXTS, TEXTS, st.sampled_from(["device", "host", "total"]), COUNTS, MS, MS, MS, MS, MS, MS,
    MS, NUMBERS,
)  # fmt: skip
THREAD = st.builds(
    ThreadStats, COUNTS, COUNTS, TEXTS, NUMBERS, NUMBERS, TEXTS, NUMBERS,
    st.lists(st.tuples(TEXTS, NUMBERS), max_size=2).map(tuple), NUMBERS, st.none() | COUNTS,
)  # fmt: skip


def several(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


JUDGEMENTS = st.builds(
    lambda **parts: replace(empty(), facts=FACTS, **parts),
    path=TEXTS,
    start_ns=st.none() | NS,
    end_ns=st.none() | NS,
    anchors=several(st.tuples(NS, st.integers(0, 2**62))),
    records=COUNTS,
    stages=several(STAGE),
    threads=several(THREAD),
    findings=several(st.one_of(TRANSIENT, OVERSIZED)),
    transitions=several(st.builds(Transition, NS, TEXTS, several(BUCKETS), NUMBERS)),
    marks=several(st.tuples(NS, TEXTS)),
    gaps=several(st.builds(Gap, NS, NS, st.just("log"), TEXTS)),
    notes=several(TEXTS),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None, phases=[Phase.generate])
@given(JUDGEMENTS, st.sampled_from(["wall", "monotonic", "relative"]))
def test_every_form_can_be_made_of_it(judgement: Judgement, clock: str) -> None:
    value = report_json(judgement, clock)  # type: ignore[arg-type]
    json.dumps(value, allow_nan=False)
    blocks = list(report_blocks(judgement, clock))  # type: ignore[arg-type]
    text = render_text(blocks)
    for form in (text, render_markdown(blocks)):
        assert not [line for line in form.split("\n") if not line.isprintable()]
    assert not {"nan", "inf"} & set(text.split()) - _words(judgement)
    start_ns, end_ns = judgement.start_ns or 0, judgement.end_ns or 0
    plots = PlotBuilder(start_ns, end_ns, FACTS.topology).plots()
    for figure in figures(judgement, plots):
        xml.dom.minidom.parseString(figure.svg)
    render_html("t", [blocks])
    render_openmetrics(judgement_families(judgement)).encode()
    assert len(list(finding_rows(judgement))) == len(judgement.findings)
    parts: list[str] = []
    write_trace(judgement, list, parts.append)
    for event in json.loads("".join(parts))["traceEvents"]:
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0


def _words(judgement: Judgement) -> set[str]:
    """Words that the session's own names bring in."""
    return set(repr(judgement).replace("'", " ").split())


def test_kinds_of_findings_are_all_drawn() -> None:
    """The strategies above cover each kind there is: a new one must be added here too."""
    assert set(Finding.__args__) == {OversizedFinalize, HostSlowTransient}  # type: ignore[attr-defined]
