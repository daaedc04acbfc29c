"""Hypothesis strategies for every kind of sample, extreme values and odd texts included."""

from array import array
from typing import Any

from hypothesis import strategies as st

from livemon.model.samples import (
    ClassColumns,
    ClockAnchor,
    LogCount,
    LogStream,
    Lost,
    MachineSample,
    Mark,
    Note,
    SelfSample,
    TargetEvent,
    ThreadGone,
    ThreadInfo,
    ThreadTick,
    TimingRecord,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
COUNTER = st.one_of(st.integers(-1, 2**40), st.just(-1), INT64)
TIME = st.one_of(st.integers(0, 2**53), st.integers(0, 10**9))
TEXT = st.text(max_size=12)
NAME = st.sampled_from(["validate", "runner_run", "total", "prepare", "x\x1fy", ""])
MS = st.one_of(
    st.floats(0, 1e9, allow_nan=False),
    st.integers(0, 10**6).map(lambda n: n / 100),
    st.integers(0, 10**6).map(lambda n: n / 1000),
)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


timings = st.builds(
    TimingRecord,
    arrival_ns=TIME,
    t_ns=TIME,
    time_from=st.sampled_from(["line", "arrival", "order"]),
    source=st.sampled_from(["c_api_timing", "keyvalue", "STRACE"]),
    unit=optional(TEXT | st.integers(0, 10**6).map(str)),
    label=optional(TEXT),
    stages=st.lists(st.tuples(NAME, MS), max_size=4).map(tuple),
    fields=st.lists(st.tuples(NAME, TEXT), max_size=3).map(tuple),
    pid=optional(st.integers(0, 2**22)),
    tid=optional(st.integers(0, 2**22)),
    start_ns=optional(TIME),
    stream=st.integers(0, 3),
    offset=st.integers(-1, 2**40),
    length=st.integers(0, 2**20),
    line=st.integers(0, 2**31),
)


@st.composite
def thread_ticks(draw: st.DrawFn) -> ThreadTick:
    index = draw(st.lists(st.integers(0, 12), max_size=6))

    def column() -> "array[int]":
        return array("q", draw(st.lists(COUNTER, min_size=len(index), max_size=len(index))))

    classes = tuple(
        ClassColumns(
            name,
            column(),
            column(),
            column(),
            column() if draw(st.booleans()) else None,
            column() if draw(st.booleans()) else None,
        )
        for name in draw(st.lists(st.sampled_from(["P", "E", "unknown"]), max_size=3, unique=True))
    )
    return ThreadTick(
        draw(TIME),
        array("q", index),
        column(),
        column(),
        column(),
        column(),
        classes,
        draw(st.booleans()),
        draw(st.integers(0, 10**10)),
    )


machines = st.builds(
    MachineSample,
    arrival_ns=TIME,
    values=st.lists(st.tuples(st.sampled_from(["steal_ticks", "cpu3_freq_khz", "psi"]), INT64), max_size=4).map(tuple),
)
infos = st.builds(
    ThreadInfo,
    arrival_ns=TIME,
    index=st.integers(0, 12),
    pid=st.integers(-1, 2**22),
    tid=st.integers(0, 2**22),
    name=TEXT,
    start_ticks=COUNTER,
    process=TEXT,
    affinity=optional(TEXT),
    policy=optional(TEXT),
    nice=optional(st.integers(-20, 19)),
    cgroup=optional(TEXT),
    is_self=st.booleans(),
)
rare = st.one_of(
    infos,
    st.builds(ThreadGone, arrival_ns=TIME, index=st.integers(0, 12), reason=TEXT),
    st.builds(LogStream, arrival_ns=TIME, index=st.integers(0, 9), path=TEXT, format=optional(TEXT)),
    st.builds(
        SelfSample,
        arrival_ns=TIME,
        cpu_ns=TIME,
        rss_bytes=TIME,
        ticks=TIME,
        late_ticks=TIME,
        interval_ns=TIME,
        session_bytes=TIME,
        degraded=TEXT,
    ),
    st.builds(Mark, arrival_ns=TIME, t_ns=TIME, text=TEXT, origin=st.sampled_from(["log", "key", "command", "signal"])),
    st.builds(
        Lost,
        arrival_ns=TIME,
        source=TEXT,
        count=TIME,
        unit=TEXT,
        reason=TEXT,
        start_ns=optional(TIME),
        end_ns=optional(TIME),
    ),
    st.builds(LogCount, arrival_ns=TIME, stream=TIME, lines=TIME, records=TIME, malformed=TIME, lag_ns=optional(TIME)),
    st.builds(TargetEvent, arrival_ns=TIME, pid=TIME, name=TEXT, event=st.just("found"), exit_status=optional(TIME)),
    st.builds(ClockAnchor, arrival_ns=TIME, mono_ns=TIME, wall_ns=TIME),
    st.builds(Note, arrival_ns=TIME, severity=st.just("info"), text=TEXT, remedy=TEXT),
)
samples = st.one_of(timings, thread_ticks(), machines, rare)
appends = st.lists(st.lists(samples, min_size=1, max_size=8), min_size=1, max_size=6)
