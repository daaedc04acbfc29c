"""The /proc sampler on built trees: kernels, limits and events that this machine does not have."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from livemon.collect.procfs_sampler import ProcSampler
from livemon.collect.threads import SamplingOptions, open_sampler
from livemon.model.clock import ManualClock
from livemon.model.errors import TargetError
from livemon.model.samples import UNKNOWN, Lost, Note, Sample, TargetEvent, ThreadGone, ThreadInfo, ThreadTick
from tests.collect import fake_machine as machines
from tests.collect.fake_machine import FakeMachine

pytestmark = pytest.mark.usefixtures("thread_reader")
SECOND = 1_000_000_000


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    machine = machines.plain_vm(tmp_path)
    machine.process(7, "serve")
    machine.thread(7, 8, "worker-0", cpu=2, schedstat=(5_000, 70, 9))
    return machine


Opener = Callable[..., "Run"]


class Run:
    """A sampler with a clock that is moved on by hand."""

    def __init__(self, machine: FakeMachine, **options: object) -> None:
        self.clock = ManualClock()
        self.sampler = open_sampler(
            [7],
            options=SamplingOptions(**options),
            root=machine.root,
            clock=self.clock,  # type: ignore[arg-type]
        )
        self.infos: dict[int, ThreadInfo] = {}

    def tick(self, seconds: float = 0.1, *, keyframe: bool = False) -> list[Sample]:
        self.clock.sleep(seconds)
        samples = self.sampler.sample(self.clock.monotonic_ns(), keyframe=keyframe)
        self.infos.update({s.index: s for s in samples if isinstance(s, ThreadInfo)})
        assert isinstance(samples[-1], ThreadTick)
        assert sum(isinstance(s, ThreadTick) for s in samples) == 1
        return samples

    def rows(self, samples: list[Sample]) -> dict[int, tuple[int, int, int, int]]:
        """By tid: CPU ns, delay ns, slices, last CPU."""
        tick = samples[-1]
        assert isinstance(tick, ThreadTick)
        columns = zip(tick.cpu_ns, tick.run_delay_ns, tick.slices, tick.last_cpu, strict=True)
        return dict(zip([self.infos[i].tid for i in tick.index], columns, strict=True))


@pytest.fixture
def open_run(machine: FakeMachine) -> Iterator[Opener]:
    runs: list[Run] = []

    def start(**options: object) -> Run:
        runs.append(Run(machine, **options))
        return runs[-1]

    yield start
    for run in runs:
        run.sampler.close()


def of(kind: type, samples: list[Sample]) -> list:
    return [sample for sample in samples if isinstance(sample, kind)]


def test_the_first_tick_lists_all_and_later_ones_what_changed(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    first = run.tick()
    assert [event.event for event in of(TargetEvent, first)] == ["found"]
    assert run.rows(first) == {7: (1_000_000, 500, 3, 0), 8: (5_000, 70, 9, 2)}
    assert first[-1].is_keyframe
    assert run.infos[1].name == "worker-0"
    assert run.infos[1].affinity == "0-3"
    assert run.infos[1].start_ticks == 100
    assert run.rows(run.tick()) == {}
    machine.thread(7, 8, "worker-0", cpu=3, schedstat=(6_000, 80, 10))
    assert run.rows(run.tick()) == {8: (6_000, 80, 10, 3)}
    assert set(run.rows(run.tick(keyframe=True))) == {7, 8}


def test_the_last_cpu_is_read_again_only_after_a_switch(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.thread(7, 8, cpu=1, schedstat=(6_000, 70, 9))  # ran on without a switch: it can't have moved
    assert run.rows(run.tick())[8] == (6_000, 70, 9, 2)


def test_threads_that_come_and_go(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.thread(7, 9, "late", schedstat=(1, 0, 1))
    arrived = run.tick(1.0)
    assert [info.name for info in of(ThreadInfo, arrived)] == ["late"]
    assert 9 in run.rows(arrived)
    machine.end_thread(7, 8)
    gone = run.tick(1.0)
    assert [(event.index, event.reason) for event in of(ThreadGone, gone)] == [(1, "exited")]
    assert set(run.rows(run.tick(keyframe=True))) == {7, 9}


def test_children_enter_within_a_second_and_grandchildren_with_them(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.process(30, "child", ppid=7)
    machine.process(31, "grandchild", ppid=30)
    machine.process(32, "stranger", ppid=1)
    samples = run.tick(1.0)
    assert [(e.pid, e.event) for e in of(TargetEvent, samples)] == [(30, "forked"), (31, "forked")]
    assert {30, 31} <= set(run.rows(samples))
    machine.end_process(30)
    assert [(e.pid, e.event) for e in of(TargetEvent, run.tick(1.0))] == [(30, "exited")]
    assert run.sampler.is_anything_alive


def test_children_are_left_alone_when_told_so(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run(follow_children=False)
    machine.process(30, "child", ppid=7)
    assert of(TargetEvent, run.tick(1.0))[0].pid == 7
    assert len(run.infos) == 2


def test_a_process_that_ended_is_told_once_and_nothing_is_alive(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.end_process(7)
    samples = run.tick(1.0)
    assert [event.event for event in of(TargetEvent, samples)] == ["exited"]
    assert len(of(ThreadGone, samples)) == 2
    assert not run.sampler.is_anything_alive
    assert [type(sample) for sample in run.tick(1.0)] == [ThreadTick]


def test_a_zombie_has_ended(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.end_thread(7, 8)
    machine.thread(7, 7, "serve", state="Z")
    run.tick(1.0)
    run.tick(1.0)
    assert not run.sampler.is_anything_alive


def test_without_schedstat_times_come_from_stat_and_the_rest_is_unknown(tmp_path: Path) -> None:
    machine = machines.plain_vm(tmp_path)
    machine.process(7)
    machine.thread(7, 8, schedstat=None, ticks=25, cpu=2)
    for tid in (7,):
        machine.remove(f"proc/7/task/{tid}/schedstat")
    run = Run(machine)
    samples = run.tick()
    assert run.rows(samples)[8] == (250_000_000, UNKNOWN, UNKNOWN, 2)
    (note,) = of(Note, samples)
    assert "schedstat" in note.text
    assert "CONFIG_SCHED_INFO" in note.remedy
    assert {c.name: c.available for c in run.sampler.capabilities}["run-queue delay"] is False
    machine.thread(7, 8, schedstat=None, ticks=26, cpu=3)
    assert run.rows(run.tick()) == {8: (260_000_000, UNKNOWN, UNKNOWN, 3)}
    run.sampler.close()


def test_a_schedstat_that_is_zero_for_a_thread_that_ran_is_not_believed(tmp_path: Path) -> None:
    machine = machines.plain_vm(tmp_path)
    machine.process(7)
    machine.thread(7, 7, schedstat=(0, 0, 0), ticks=25)
    run = Run(machine)
    assert run.rows(run.tick())[7][:2] == (250_000_000, UNKNOWN)
    run.sampler.close()


def test_beyond_the_descriptor_limit_threads_are_read_in_turns_and_it_is_said(
    machine: FakeMachine, open_run: Opener
) -> None:
    for tid in range(10, 30):
        machine.thread(7, tid, "many", schedstat=(tid, 0, 1))
    run = open_run(max_descriptors=11)
    samples = run.tick()
    assert len(run.rows(samples)) == 22
    samples += run.tick()
    for tid in range(10, 30):
        machine.thread(7, tid, "many", schedstat=(tid + 1000, 0, 2))
    notes, seen = of(Note, samples), set()
    for _ in range(12):
        more = run.tick(0.1)
        notes += of(Note, more)
        seen |= {tid for tid, row in run.rows(more).items() if row[0] == tid + 1000}
    assert seen == set(range(10, 30))
    assert len([note for note in notes if "open files" in note.text]) == 1


def test_a_tid_that_is_used_again_beyond_the_limit_is_not_taken_for_the_old_thread(
    machine: FakeMachine, open_run: Opener
) -> None:
    run = open_run(max_descriptors=2)
    run.tick()
    machine.thread(7, 8, start=999, schedstat=(1, 0, 1))
    assert 8 not in run.rows(run.tick(keyframe=True))
    samples = run.tick(1.0)
    assert [event.index for event in of(ThreadGone, samples)] == [1]
    assert [(info.index, info.start_ticks) for info in of(ThreadInfo, samples)] == [(2, 999)]


def test_facts_that_change_are_told_within_their_round(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.thread(7, 8, "renamed", schedstat=(5_000, 70, 9))
    infos = [info for _ in range(55) for info in of(ThreadInfo, run.tick())]
    assert [(info.index, info.name) for info in infos] == [(1, "renamed")]


def test_new_threads_get_their_own_name_within_a_second(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    for _ in range(20):
        run.tick()
    for tid in range(100, 140):
        machine.thread(7, tid, "python3", schedstat=(1, 0, 1))
    run.tick()
    for tid in range(100, 139):
        machine.thread(7, tid, f"worker-{tid}", schedstat=(1, 0, 1))
    machine.end_thread(7, 139)
    infos = [info for _ in range(11) for info in of(ThreadInfo, run.tick())]
    assert {info.name for info in infos} == {f"worker-{tid}" for tid in range(100, 139)}


def test_hostile_names_come_through_escaped(machine: FakeMachine, open_run: Opener) -> None:
    machine.thread(7, 9, b") S 1 \xff\x1b[2J")
    run = open_run()
    run.tick()
    assert [info.name for info in run.infos.values() if info.tid == 9] == [") S 1 \\xff\\x1b[2J"]


def test_a_thread_whose_stat_makes_no_sense_is_counted_as_lost(machine: FakeMachine, open_run: Opener) -> None:
    machine.thread(7, 9)
    machine.write("proc/7/task/9/stat", "9 (torn")
    run = open_run()
    (lost,) = of(Lost, run.tick())
    assert (lost.count, lost.unit) == (1, "threads")
    assert set(run.rows(run.tick(keyframe=True))) == {7, 8}


@pytest.mark.parametrize("nonsense", [b"", b"6000 80", b"6000 80 ten\n", b"6000 80 18446744073709551615\n"])
def test_a_thread_whose_schedstat_no_longer_makes_sense_is_dropped_and_said_so(
    machine: FakeMachine, open_run: Opener, nonsense: bytes
) -> None:
    run = open_run()
    run.tick()
    machine.write("proc/7/task/8/schedstat", nonsense)
    samples = run.tick()
    assert [(event.index, event.reason) for event in of(ThreadGone, samples)] == [(1, "can no longer be read")]
    assert [lost.reason for lost in of(Lost, samples)] == ["of process 7 could not be read"]
    assert set(run.rows(run.tick(keyframe=True))) == {7}
    machine.thread(7, 8, "worker-0", schedstat=(6_000, 80, 10))
    assert run.rows(run.tick(1.0))[8] == (6_000, 80, 10, 0)


def test_a_schedstat_of_another_shape_is_none(tmp_path: Path) -> None:
    machine = machines.plain_vm(tmp_path)
    machine.process(7)
    machine.thread(7, 7, ticks=25)
    machine.write("proc/7/task/7/schedstat", "cpu: 1\n")
    run = Run(machine)
    assert run.rows(run.tick())[7][:2] == (250_000_000, UNKNOWN)
    run.sampler.close()


def test_threads_that_come_and_go_in_one_tick_leave_the_others_where_they_are(
    machine: FakeMachine, open_run: Opener
) -> None:
    for tid in range(10, 20):
        machine.thread(7, tid, schedstat=(tid, 0, 1))
    run = open_run()
    run.tick()
    for tid in (11, 13, 18):
        machine.write(f"proc/7/task/{tid}/schedstat", "gone")
    for tid in (12, 19):
        machine.thread(7, tid, cpu=3, schedstat=(tid + 1000, 5, 2))
    for tid in (11, 13, 18):
        machine.end_thread(7, tid)
    machine.thread(7, 30, schedstat=(30, 0, 1))
    rows = run.rows(run.tick(1.0))
    assert rows == {12: (1012, 5, 2, 3), 19: (1019, 5, 2, 3), 30: (30, 0, 1, 0)}
    everything = run.rows(run.tick(keyframe=True))
    assert {tid: row[0] for tid, row in everything.items()} == {
        7: 1_000_000,
        8: 5_000,
        10: 10,
        12: 1012,
        **{tid: tid for tid in (14, 15, 16, 17)},
        19: 1019,
        30: 30,
    }


def test_cpu_time_of_threads_that_were_never_seen_is_told(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.thread(7, 9, schedstat=(0, 0, 1))
    run.tick(1.0)
    machine.end_thread(7, 9)
    machine.write("proc/7/stat", machines.stat_line(7, "serve", ticks=60))  # 500 ms more than the threads account for
    lost = [one for _ in range(3) for one in of(Lost, run.tick(1.0))]
    assert [(one.source, one.count, one.unit) for one in lost] == [("threads:unseen", 500, "ms of CPU time")]


@pytest.mark.parametrize("pid", [99, 0])
def test_a_process_that_is_not_there(machine: FakeMachine, pid: int) -> None:
    with pytest.raises(TargetError, match=f"no process {pid}"):
        ProcSampler([pid], options=SamplingOptions(), root=machine.root, clock=ManualClock())


def test_a_process_that_is_already_a_zombie(machine: FakeMachine) -> None:
    machine.write("proc/7/stat", machines.stat_line(7, "serve", state="Z"))
    with pytest.raises(TargetError, match="already ended"):
        ProcSampler([7], options=SamplingOptions(), root=machine.root, clock=ManualClock())


def test_a_move_to_another_cgroup_is_told_and_its_threads_have_it(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run()
    run.tick()
    machine.write("proc/7/cgroup", "0::/limited\n")
    samples = run.tick(1.0)
    assert any("from cgroup / to /limited" in note.text for note in of(Note, samples))
    assert {run.infos[index].cgroup for index in (0, 1)} == {"/limited"}


def test_many_processes_are_looked_at_in_turns_and_none_is_forgotten(machine: FakeMachine, open_run: Opener) -> None:
    for pid in range(100, 150):
        machine.process(pid, "worker", ppid=7)
    run = open_run()
    run.tick()
    for pid in range(100, 150, 2):
        machine.end_process(pid)
    ended = [event.pid for _ in range(20) for event in of(TargetEvent, run.tick()) if event.event == "exited"]
    assert sorted(ended) == list(range(100, 150, 2))


def test_running_out_of_descriptors_ends_no_process(
    machine: FakeMachine, open_run: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run()
    run.tick()
    real_open, real_listdir = os.open, os.listdir

    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    samples = run.tick(1.0)
    monkeypatch.setattr(os, "open", real_open)
    monkeypatch.setattr(os, "listdir", real_listdir)
    assert of(TargetEvent, samples) == []
    assert run.sampler.is_anything_alive
    assert set(run.rows(run.tick(keyframe=True))) == {7, 8}


def test_descriptors_of_ended_threads_are_there_for_new_ones(machine: FakeMachine, open_run: Opener) -> None:
    run = open_run(max_descriptors=8)
    for tid in range(50, 60):
        machine.thread(7, tid)
        samples = run.tick(1.0)
        machine.end_thread(7, tid)
        samples += run.tick(1.0)
        assert of(Note, samples) == []
