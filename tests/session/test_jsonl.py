"""Samples as JSON Lines and back: nothing is lost, and bad lines are refused with a reason."""

import json
from array import array

import pytest
from hypothesis import given, settings

from livemon.model.facts import Capability, Cpu, SessionFacts, Target, Topology
from livemon.model.samples import ClassColumns, Sample, ThreadInfo, ThreadTick
from livemon.session.facts_json import facts_from_json, facts_to_json
from livemon.session.jsonl import LineWriter, facts_to_line, read_line
from tests.session.samples_strategy import appends

FACTS = SessionFacts(
    origin="demo",
    host="h",
    targets=(Target(1, "x", "x --y"),),
    topology=Topology((Cpu(0, "P", 0, 1, 2, 1024, 5_000_000),), ("P", "E"), "cpu_capacity", ("E",), 4, (Cpu(1, "E"),)),
    capabilities=(Capability("cycles", False, "paranoid is 4", "sysctl kernel.perf_event_paranoid=1"),),
    environment=(("kernel", "6.18"),),
    criteria_toml="[finalize]\nbudget_ms = 5\n",
)


@given(appends)
@settings(max_examples=100, deadline=None)
def test_every_sample_comes_back(batches: list[list[Sample]]) -> None:
    writer = LineWriter()
    for batch in batches:
        for sample, line in zip(batch, writer.lines(batch), strict=True):
            assert "\n" not in line
            assert read_line(line) == sample


def test_facts_come_back_and_unknown_fields_of_a_later_version_are_passed_over() -> None:
    assert read_line(facts_to_line(FACTS)) == FACTS
    assert facts_from_json(facts_to_json(FACTS)) == FACTS
    value = json.loads(facts_to_json(FACTS))
    value["later"] = 1
    value["topology"]["later"] = 2
    assert facts_from_json(json.dumps(value)) == FACTS
    assert facts_from_json('{"host": "h"}') == SessionFacts(host="h")


def test_a_tick_is_the_line_that_other_tools_use() -> None:
    writer = LineWriter()
    writer.line(ThreadInfo(1, 7, 42, 43, "client"))
    columns = [array("q", [n]) for n in (11, -1, 13, 3)]
    tick = ThreadTick(
        5, array("q", [7]), *columns, (ClassColumns("P", array("q", [9]), array("q", [-1]), array("q", [8])),)
    )
    value = json.loads(writer.line(tick))
    assert value["t_ns"] == 5
    (thread,) = value["threads"]
    assert (thread["tid"], thread["name"], thread["pid"]) == (43, "client", 42)
    assert thread["P"] == [8, None, 9]
    assert (thread["cpu_ns"], thread["run_delay_ns"], thread["switches"], thread["last_cpu"]) == (11, None, 13, 3)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{}",
        '{"kind": "Nothing"}',
        '{"kind": ["Mark"]}',
        '{"kind": "Mark"}',
        '{"kind": "Mark", "arrival_ns": "x", "t_ns": 1, "text": "a"}',
        '{"kind": "Mark", "arrival_ns": 1.5, "t_ns": 1, "text": "a"}',
        '{"kind": "ThreadTick", "t_ns": 1, "threads": [{}]}',
        '{"kind": "ThreadTick", "t_ns": 1, "threads": [{"index": 1, "cpu_ns": 9223372036854775808}]}',
        '{"kind": "ThreadTick", "t_ns": 1, "threads": [{"index": 1, "cpu_ns": "5"}]}',
        '{"kind": "SessionFacts", "targets": [5]}',
        "not json",
    ],
)
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error is one too
        read_line(line)
