"""The psutil sampler, on this machine's real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from livemon.collect.capabilities import probe
from livemon.collect.portable import PortableSampler, capabilities
from livemon.collect.portable_ledger import Ledger, RawThread
from livemon.collect.threads import SamplingOptions, open_sampler
from livemon.collect.topology import read_topology
from livemon.model.errors import TargetError
from livemon.model.samples import UNKNOWN, TargetEvent, ThreadGone, ThreadInfo, ThreadTick


def test_own_threads_with_what_psutil_knows() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    run = PortableSampler([os.getpid()], options=SamplingOptions())
    samples = run.sample(time.monotonic_ns())
    stop.set()
    thread.join()
    tick = samples[-1]
    assert isinstance(tick, ThreadTick)
    assert thread.native_id in {s.tid for s in samples if isinstance(s, ThreadInfo)}
    assert max(tick.cpu_ns) > 0
    assert set(tick.run_delay_ns) | set(tick.last_cpu) | set(tick.slices) == {UNKNOWN}


def test_children_and_their_end() -> None:
    inner = "import sys; print(1, flush=True); sys.stdin.read()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        run = PortableSampler([child.pid], options=SamplingOptions(include_self=False))
        events = [s for s in run.sample(0) if isinstance(s, TargetEvent)]
        assert [event.event for event in events] == ["found", "forked"]
        child.communicate()
        ended = [s for s in run.sample(1) if isinstance(s, TargetEvent)]
        assert {(event.pid, event.event) for event in ended} == {(event.pid, "exited") for event in events}
        assert not run.is_anything_alive
    finally:
        child.kill()
        child.wait()


def test_other_systems_get_the_sampler_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert isinstance(open_sampler([os.getpid()]), PortableSampler)
    assert {c.name for c in probe()} == {c.name for c in capabilities()}
    assert "freebsd14" in read_topology().class_source
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(TargetError, match="libSystem"):
        open_sampler([os.getpid()])
    assert "libSystem" in read_topology().class_source
    assert [c.available for c in probe()] == [False]


def test_no_such_process() -> None:
    with pytest.raises(TargetError, match="no process"):
        PortableSampler([2**22 + 1], options=SamplingOptions())


def test_what_is_missing_is_said() -> None:
    missing = [c for c in capabilities() if not c.available]
    assert missing
    assert all(c.reason and c.remedy for c in missing)


def test_a_number_whose_cpu_time_goes_back_is_another_thread() -> None:
    ledger = Ledger()
    first = ledger.tick(1, [RawThread(1, 5, 900)], {}, {1: ("x", False)}, keyframe=False, late_ns=0)
    again = ledger.tick(2, [RawThread(1, 5, 10)], {}, {1: ("x", False)}, keyframe=False, late_ns=0)
    assert [type(s) for s in first] == [ThreadInfo, ThreadTick]
    assert [type(s) for s in again] == [ThreadGone, ThreadInfo, ThreadTick]
