"""Series for drawings, and the HTML page: right buckets, gaps stay gaps, nothing hostile gets through."""

import re
import xml.dom.minidom
from array import array
from dataclasses import replace

import pytest

from livemon.export.html import figures, render_html
from livemon.export.plots import PlotBuilder, Plots
from livemon.export.report_document import report_blocks
from livemon.export.thread_deltas import ThreadDelta, ThreadDeltas
from livemon.model.facts import Topology
from livemon.model.judgement import ThreadStats
from livemon.model.samples import UNKNOWN, Lost, Sample, ThreadGone, ThreadInfo, ThreadTick, TimingRecord
from tests.export.judgements import FACTS, T0, S, judgement, oversized, stage
from tests.export.streams import EPISODE, classed


def plots(samples: list[tuple[Sample, str | None]], *, buckets: int = 200, **options: int) -> Plots:
    builder = PlotBuilder(T0, T0 + 20 * S - 1, FACTS.topology, buckets=buckets, **options)
    builder.add(samples)
    return builder.plots()


def tick(t_ns: int, *rows: tuple[int, int, int]) -> ThreadTick:
    """Rows of (index, cpu_ns, last_cpu)."""
    index, cpu_ns, last_cpu = (array("q", column) for column in zip(*rows, strict=True))
    unknown = array("q", [UNKNOWN] * len(rows))
    return ThreadTick(t_ns, index, cpu_ns, unknown, unknown, last_cpu)


def deltas(*samples: Sample, topology: Topology = FACTS.topology) -> list[ThreadDelta]:
    reader = ThreadDeltas(topology)
    return [delta for sample in samples for delta in reader.update(sample)]


def test_a_thread_that_was_not_listed_covers_only_the_newest_interval() -> None:
    found = deltas(tick(0, (1, 0, 0), (2, 0, 0)), tick(100, (2, 50, 0)), tick(200, (1, 30, 2)))
    assert [(d.thread, d.start_ns, d.end_ns, d.cpu_ns, d.core_class) for d in found] == [
        (2, 0, 100, 50, "P"),
        (1, 100, 200, 30, "E"),
    ]


def test_gaps_resets_and_recycled_threads_give_no_figures() -> None:
    gap = Lost(150, "threads", 1, "ticks", "late", 100, 200)
    assert [
        d.start_ns
        for d in deltas(tick(0, (1, 0, 0)), tick(100, (1, 5, 0)), gap, tick(200, (1, 9, 0)), tick(300, (1, 10, 0)))
    ] == [0, 200]
    assert [d.cpu_ns for d in deltas(tick(0, (1, 50, 0)), tick(100, (1, 5, 0)), tick(200, (1, 8, 0)))] == [None, 3]
    gone = ThreadGone(150, 1)
    assert [d.cpu_ns for d in deltas(tick(0, (1, 50, 0)), gone, tick(200, (1, 99, 0)))] == []
    assert [d.core_class for d in deltas(tick(0, (1, 0, 9)), tick(100, (1, 5, 9)))] == [None]
    assert [d.last_cpu for d in deltas(tick(0, (1, 0, 0)), tick(100, (1, 5, UNKNOWN)))] == [None]


def test_peaks_survive_and_silence_is_a_gap() -> None:
    records: list[tuple[Sample, str | None]] = [
        (TimingRecord(t, t, "line", "x", None, None, (("a", ms),)), "k")
        for t, ms in ((T0, 1.0), (T0 + 1, 50.0), (T0 + 2, 2.0), (T0 + 19 * S, 3.0))
    ]
    (plot,) = plots(records, buckets=20).stages
    assert (plot.series.low[0], plot.series.high[0]) == (1.0, 50.0)
    assert plot.series.high[1:19] == (None,) * 18
    assert plot.series.high[19] == 3.0


def test_lanes_follow_the_counters_and_gaps_stay_gaps() -> None:
    samples = classed()
    at = next(i for i, (s, _) in enumerate(samples) if s.arrival_ns > T0 + 12 * S)
    gap = Lost(T0 + 12 * S, "threads", 15, "ticks", "stopped", T0 + 12 * S, T0 + 27 * S // 2)
    found = plots([*samples[:at], (gap, None), *samples[at:]], buckets=200)
    short = next(t for t in found.threads if t.tid == 4712)
    bucket = found.bucket_ns
    in_episode = range((EPISODE[0] + S // 2 - T0) // bucket, (EPISODE[1] - S // 2 - T0) // bucket)
    assert {short.lane.classes[k] for k in in_episode} == {"E"}
    assert short.lane.is_exact
    assert short.cpu.high[in_episode[0]] == pytest.approx(60, abs=1)
    assert short.lane.classes[(5 * S) // bucket] == "P"
    assert set(short.lane.classes[(125 * S // 10) // bucket : (130 * S // 10) // bucket]) == {None}
    other = next(t for t in found.threads if t.tid == 4713)
    assert not other.lane.is_exact
    assert sum(v for v in other.cpu.high if v is not None) * bucket / 100 == pytest.approx(183 * 5e6, rel=0.01)


def test_caps_hold_and_are_told() -> None:
    many: list[tuple[Sample, str | None]] = [
        (TimingRecord(T0, T0, "line", "x", None, None, (("a", 1.0),)), f"k{i}") for i in range(100)
    ]
    found = plots(many, max_stages=60)
    assert (len(found.stages), found.left_out) == (60, 40)
    infos: list[tuple[Sample, str | None]] = [(ThreadInfo(T0, i, 1, i, f"t{i}"), None) for i in range(50)]
    ticks = [(tick(T0 + k * S, *((i, i * k * 1000, 0) for i in range(50))), None) for k in range(3)]
    assert [t.name for t in plots([*infos, *ticks]).threads] == [f"t{i}" for i in range(49, 25, -1)]


def page(**changes: object) -> str:
    judged = judgement(**changes)
    return render_html("t", [report_blocks(judged, figures=list(figures(judged, plots(classed()))))])


def test_the_drawings_are_well_formed_and_show_episodes_budgets_and_core_classes() -> None:
    drawings = re.findall(r"<svg.*?</svg>", page(), re.DOTALL)
    assert len(drawings) == 4
    for drawing in drawings:
        xml.dom.minidom.parseString(drawing)
        assert 'class="episode"' in drawing
        assert "T1 host-slow" in drawing
        assert "nan" not in drawing.lower().replace("finance", "")
    assert 'class="budget"' in drawings[1]
    assert 'fill="url(#hatch)"' in drawings[3]
    assert 'class="p"' in drawings[3]


def test_hostile_names_stay_text() -> None:
    evil = '<script>alert(1)</script>"\x00\x1b'
    text = page(
        path=f"/tmp/{evil}",
        stages=(stage(evil, evil, "host"),),
        threads=(ThreadStats(1, 2, evil, 1.0, None, evil, None, (), None, None),),
        findings=(oversized(evil, stage=evil),),
        notes=(evil,),
        facts=replace(FACTS, host=evil),
    )
    assert "<script" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", text)
    assert text.count("&lt;script&gt;") >= 5


def test_the_page_allows_no_network() -> None:
    text = page()
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert not re.search(r"<(script|link|img|iframe|object)\b", text)
