"""Counters per class on a scripted kernel: exact, scaled, refused, vanished, too dear, too many."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from livemon.collect.perf_errors import explain
from livemon.collect.perf_layer import EXCLUDE_KERNEL
from livemon.collect.procfs_sampler import ProcSampler
from livemon.collect.threads import SamplingOptions
from livemon.model.clock import ManualClock
from livemon.model.samples import UNKNOWN, ClassColumns, Note, Sample, ThreadInfo, ThreadTick
from tests.collect import fake_machine as machines
from tests.collect.fake_machine import FakeMachine
from tests.collect.scripted_perf import ScriptedPerf

P, E = 4, 10
MS = 1_000_000


class Run:
    """A sampler on a built tree with scripted counters; time in ms by hand."""

    def __init__(self, machine: FakeMachine, perf: ScriptedPerf, **options: object) -> None:
        self.machine, self.perf = machine, perf
        self.clock = ManualClock()
        self.sampler = ProcSampler(
            [7],
            options=SamplingOptions(**options),
            root=machine.root,
            clock=self.clock,
            perf=perf,  # type: ignore[arg-type]
        )
        self.infos: dict[int, ThreadInfo] = {}
        self.cpu: dict[int, tuple[int, int]] = {}
        self.notes: list[Note] = []

    def work(self, tid: int, kind: int, ms: int, *, switches: int = 1, cpu: int = 0, **how: float) -> None:
        """A thread runs, in the counters and in ``schedstat``."""
        self.perf.run(tid, kind, ms * MS, on=cpu, **how)  # type: ignore[arg-type]
        cpu_ns, slices = self.cpu.get(tid, (0, 0))
        self.cpu[tid] = cpu_ns + ms * MS, slices + switches
        self.machine.thread(7, tid, f"t{tid}", schedstat=(self.cpu[tid][0], 0, self.cpu[tid][1]), cpu=cpu)

    def tick(self, ms: int = 100) -> ThreadTick:
        self.clock.sleep(ms / 1000)
        samples: list[Sample] = self.sampler.sample(self.clock.monotonic_ns())
        self.infos.update({s.index: s for s in samples if isinstance(s, ThreadInfo)})
        self.notes += [s for s in samples if isinstance(s, Note)]
        assert isinstance(samples[-1], ThreadTick)
        return samples[-1]

    def row(self, tick: ThreadTick, tid: int) -> dict[str, tuple[int, ...]]:
        """By class: CPU ns, cycles, instructions, enabled, running."""
        at = [self.infos[i].tid for i in tick.index].index(tid)
        return {c.core_class: values(c, at) for c in tick.classes}


def values(columns: ClassColumns, at: int) -> tuple[int, ...]:
    assert columns.enabled_ns is not None
    assert columns.running_ns is not None
    return (
        columns.cpu_ns[at],
        columns.cycles[at],
        columns.instructions[at],
        columns.enabled_ns[at],
        columns.running_ns[at],
    )


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    machine = machines.intel_hybrid(tmp_path)
    machine.process(7, "serve")
    machine.thread(7, 8, "worker")
    return machine


def test_time_and_counts_are_per_class_and_exact(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 30, ipc=2.0, cycles_per_ns=5)
    run.work(8, E, 60, ipc=1.0, cycles_per_ns=3)
    row = run.row(run.tick(), 8)
    assert row["P"] == (30 * MS, 150 * MS, 300 * MS, 30 * MS, 30 * MS)
    assert row["E"] == (60 * MS, 180 * MS, 180 * MS, 60 * MS, 60 * MS)
    run.work(8, E, 5)
    assert run.row(run.tick(), 8)["E"][0] == 65 * MS


def test_a_thread_that_did_not_run_is_not_read(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 3)
    tick = run.tick()
    assert [run.infos[i].tid for i in tick.index] == [8]
    assert len(tick.classes[0].cycles) == 1


def test_a_new_thread_has_its_groups_in_its_first_tick(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    machine.thread(7, 9, "late", schedstat=(1, 0, 1))
    run.tick(1000)
    assert 9 in run.perf.tids_counted()
    run.work(9, E, 7)
    assert run.row(run.tick(), 9)["E"][0] == 7 * MS


def test_a_shared_pmu_is_marked_and_never_extrapolated(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 100, active=0.5, cycles_per_ns=4)
    cpu_ns, cycles, _, enabled_ns, running_ns = run.row(run.tick(), 8)["P"]
    assert (cpu_ns, enabled_ns, running_ns) == (100 * MS, 100 * MS, 50 * MS)
    assert cycles == 200 * MS


def test_time_that_nothing_counted_goes_to_the_class_of_the_last_cpu_as_uncounted(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, E, 100, active=0.0, cpu=9)
    row = run.row(run.tick(), 8)
    assert row["E"] == (100 * MS, 0, 0, 100 * MS, 0)
    assert row["P"][0] == 0


def test_shares_out_in_proportion_and_only_for_the_tick_it_was_shared_in(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 90)
    run.tick()
    run.work(8, P, 40, active=0.5)
    run.work(8, E, 40, active=0.5)
    row = run.row(run.tick(), 8)
    assert (row["P"][0], row["E"][0]) == (130 * MS, 40 * MS)
    assert (row["P"][4], row["E"][4]) == (110 * MS, 20 * MS)


def test_events_that_vanish_leave_unknown_and_are_tried_again(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 10)
    run.tick()
    run.perf.vanished.add(E)
    run.work(8, P, 10)
    assert run.row(run.tick(), 8)["P"] == (UNKNOWN,) * 5
    run.perf.vanished.clear()
    run.tick(1000)
    run.work(8, P, 10)
    assert run.row(run.tick(), 8)["P"] == (20 * MS, 40 * MS, 40 * MS, 20 * MS, 20 * MS)  # goes on, without the gap


def test_without_an_instruction_event_cycles_stay(machine: FakeMachine) -> None:
    perf = ScriptedPerf(refuse={(-1, 0xC0): errno.ENOENT})
    run = Run(machine, perf)
    run.tick()
    run.work(8, P, 10)
    row = run.row(run.tick(), 8)
    assert row["P"][1] == 20 * MS
    assert row["P"][2] == UNKNOWN
    assert any("no instructions" in c.reason for c in run.sampler.capabilities)


def test_without_a_cycle_event_instructions_stay(machine: FakeMachine) -> None:
    """Groups of one event have one value each: it is not taken for the other one's."""
    run = Run(machine, ScriptedPerf(refuse={(-1, 0x3C): errno.ENOENT}))
    run.tick()
    run.work(8, P, 10, ipc=3.0)
    run.tick()
    run.work(8, E, 10, ipc=0.5)
    row = run.row(run.tick(), 8)
    assert row["P"] == (10 * MS, UNKNOWN, 60 * MS, 10 * MS, 10 * MS)
    assert row["E"] == (10 * MS, UNKNOWN, 10 * MS, 10 * MS, 10 * MS)
    assert sum("counts no cycles" in c.reason for c in run.sampler.capabilities if c.available) == 2
    run.sampler.close()
    assert run.perf.open_count == 0


def test_a_pmu_that_counts_only_one_of_the_two_leaves_the_other_class_whole(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf(refuse={(E, 0xC0): errno.EOPNOTSUPP}))
    run.tick()
    run.work(8, P, 10, ipc=2.0)
    run.work(8, E, 10)
    row = run.row(run.tick(), 8)
    assert row["P"][1:3] == (20 * MS, 40 * MS)
    assert row["E"][1:3] == (20 * MS, UNKNOWN)


def test_a_refusal_of_cycles_for_another_reason_is_no_pmu_without_them(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf(refuse={(-1, 0x3C): errno.EACCES}))
    assert run.tick().classes == ()
    assert not run.perf.open_count


def test_a_class_whose_pmu_refuses_has_no_column_and_says_why(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf(refuse={(E, 0x3C): errno.EINVAL}))
    run.tick()
    run.work(8, P, 10)
    assert set(run.row(run.tick(), 8)) == {"P"}
    (refused,) = [c for c in run.sampler.capabilities if c.name == "hardware counters E"]
    assert not refused.available
    assert "EINVAL" in refused.reason


def test_user_space_only_where_the_kernel_may_not_be_counted(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf(kernel_refused=True))
    run.tick()
    assert {event.flags for event in run.perf.events.values() if event.is_open} == {EXCLUDE_KERNEL}
    (remedy,) = {c.remedy for c in run.sampler.capabilities if "user space only" in c.reason}
    assert remedy == "sudo sysctl kernel.perf_event_paranoid=1"


@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOENT, errno.ENOSYS, errno.EPERM])
def test_without_counters_threads_are_sampled_all_the_same(machine: FakeMachine, code: int) -> None:
    run = Run(machine, ScriptedPerf(refuse={(-1, 0x3C): code, (-1, 0xC0): code}))
    tick = run.tick()
    assert tick.classes == ()
    assert len(tick.index) == 2
    assert [c.available for c in run.sampler.capabilities if "counters" in c.name] == [False, False]


def test_a_thread_that_is_refused_is_told_once_and_the_others_count(machine: FakeMachine) -> None:
    for tid in (9, 10):
        machine.thread(7, tid)
    run = Run(machine, ScriptedPerf(refuse_tids={9: errno.EACCES, 10: errno.EACCES}))
    run.tick()
    run.tick(1000)
    assert run.perf.tids_counted() == {7, 8}
    assert len([note for note in run.notes if "EACCES" in note.text]) == 1


def test_a_thread_that_switches_very_often_loses_its_counters_until_it_is_calm(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf(), counter_switches_per_s=1000)
    run.tick()
    run.work(8, P, 10, switches=5000)
    run.tick(1000)
    assert run.perf.tids_counted() == {7}
    assert any("taken off" in note.text for note in run.notes)
    run.work(8, P, 10, switches=10)
    run.tick(1000)
    assert run.perf.tids_counted() == {7, 8}
    run.work(8, P, 10)
    assert run.row(run.tick(), 8)["P"][0] == 10 * MS  # what ran without counters stays uncounted


def test_the_cost_is_announced_once(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    for _ in range(5):
        run.tick(1000)
    (note,) = [note for note in run.notes if "dearer" in note.text]
    assert "--no-counters" in note.remedy


def test_no_counters_opens_none(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf(), counters=False)
    assert run.tick().classes == ()
    assert run.perf.events == {}


def test_switching_off_and_on_closes_all_and_goes_on_counting(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 10)
    run.tick()
    run.sampler.switch_counters(False)
    assert run.perf.open_count == 0
    run.work(8, P, 10)
    assert run.tick().classes == ()
    run.sampler.switch_counters(True)
    run.tick()
    run.work(8, P, 10)
    assert run.row(run.tick(), 8)["P"][0] == 20 * MS  # what ran uncounted stays uncounted


def test_where_descriptors_are_short_the_busiest_threads_keep_counters(machine: FakeMachine) -> None:
    for tid in range(20, 40):
        machine.thread(7, tid, schedstat=(0, 0, 0))
    run = Run(machine, ScriptedPerf(), max_descriptors=100)
    run.tick()
    counted = run.perf.tids_counted()
    assert 4 <= len(counted) < 20
    assert any("less busy" in note.text for note in run.notes)
    busy = sorted(set(range(20, 40)) - counted)[:3]
    for _ in range(3):
        for tid in busy:
            run.work(tid, P, 500)
        run.tick(1000)
    assert set(busy) <= run.perf.tids_counted()
    assert len(run.perf.tids_counted()) == len(counted)


def test_threads_of_one_kind_do_not_take_counters_from_each_other(machine: FakeMachine) -> None:
    for tid in range(20, 40):
        machine.thread(7, tid, schedstat=(0, 0, 0))
    run = Run(machine, ScriptedPerf(), max_descriptors=100)
    run.tick()
    opened = len(run.perf.events)
    for second in range(5):
        for tid in range(20, 40):
            run.work(tid, P, 10 + (tid + second) % 3)
        run.tick(1000)
    assert len(run.perf.events) - opened < 10  # idle ones may have lost theirs, but nothing goes to and fro


def test_everything_is_closed_at_the_end_and_when_threads_end(machine: FakeMachine) -> None:
    run = Run(machine, ScriptedPerf())
    run.tick()
    machine.end_thread(7, 8)
    run.tick(1000)
    assert run.perf.tids_counted() == {7}
    run.sampler.close()
    assert run.perf.open_count == 0


def test_cores_that_come_online_get_their_class(machine: FakeMachine) -> None:
    machine.online(range(8))
    machine.write("sys/bus/event_source/devices/cpu_atom/cpus", "\n")
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 10)
    assert set(run.row(run.tick(), 8)) == {"P"}
    machine.online(range(16))
    machine.write("sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n")
    run.tick(1000)
    run.work(8, E, 40)
    row = run.row(run.tick(), 8)
    assert (row["P"][0], row["E"][0]) == (10 * MS, 40 * MS)


def test_three_classes(tmp_path: Path) -> None:
    machine = machines.big_little(tmp_path)
    machine.process(7)
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(7, 8, 10)
    run.work(7, 11, 30)
    row = run.row(run.tick(), 7)
    assert {name: row[name][0] for name in ("P", "M", "E")} == {"P": 30 * MS, "M": 0, "E": 10 * MS}


def test_low_power_cores_on_the_pmu_of_the_e_cores_are_exact(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    machine.process(7)
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(7, P, 10, cpu=2)
    run.work(7, E, 20, cpu=5, cycles_per_ns=3)
    run.work(7, E, 30, cpu=12, cycles_per_ns=2)
    run.work(7, E, 5, cpu=13, cycles_per_ns=2, ipc=0.5)
    row = run.row(run.tick(), 7)
    assert row["P"] == (10 * MS, 20 * MS, 20 * MS, 10 * MS, 10 * MS)
    assert row["E"] == (20 * MS, 60 * MS, 60 * MS, 20 * MS, 20 * MS)
    assert row["LP-E"] == (35 * MS, 70 * MS, 65 * MS, 35 * MS, 35 * MS)
    run.work(7, E, 40, cpu=6)
    row = run.row(run.tick(), 7)
    assert (row["E"][0], row["LP-E"][0]) == (60 * MS, 35 * MS)


def test_dense_cores_behind_one_pmu_are_exact(tmp_path: Path) -> None:
    machine = machines.amd_dense(tmp_path)
    machine.process(7)
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(7, 0, 30, cpu=1, cycles_per_ns=5, ipc=2.0)
    run.work(7, 0, 60, cpu=9, cycles_per_ns=3, ipc=1.0)
    row = run.row(run.tick(), 7)
    assert row["P"] == (30 * MS, 150 * MS, 300 * MS, 30 * MS, 30 * MS)
    assert row["E"] == (60 * MS, 180 * MS, 180 * MS, 60 * MS, 60 * MS)
    assert run.perf.open_count == 2 * (4 + 1)


def test_a_difference_of_counts_never_goes_back(tmp_path: Path) -> None:
    """The parts of a PMU are read before its whole: what runs between is the rest's until the next reading."""
    machine = machines.amd_dense(tmp_path)
    machine.process(7)
    perf = ScriptedPerf()
    run = Run(machine, perf)
    run.tick()
    whole = next(fd for fd, event in perf.events.items() if event.cpu == -1 and event.is_open)
    read = perf.read

    def read_late(descriptor: int) -> object:
        if descriptor == whole:
            perf.run(7, 0, MS, on=1)  # on a P core, after that one's group was read
        return read(descriptor)

    perf.read = read_late  # type: ignore[method-assign, assignment]
    run.work(7, 0, 10, cpu=9)
    before = run.row(run.tick(), 7)
    assert (before["P"][4], before["E"][4]) == (0, 11 * MS)
    perf.read = read  # type: ignore[method-assign]
    run.work(7, 0, 10, cpu=1)
    now = run.row(run.tick(), 7)
    assert all(b >= a for name in now for a, b in zip(before[name], now[name], strict=True))
    run.work(7, 0, 5, cpu=9)
    now = run.row(run.tick(), 7)
    assert (now["P"][4], now["E"][4]) == (11 * MS, 15 * MS)  # all is where it ran


def test_classes_that_no_counter_tells_apart_are_not_counted_and_it_is_said(tmp_path: Path) -> None:
    """Placement then comes from the last CPU: a column of both classes would hide that."""
    machine = machines.FakeMachine(tmp_path)
    machine.online(range(40))
    machine.cpus(range(20), cpufreq__cpuinfo_max_freq=3_900_000)
    machine.cpus(range(20, 40), cpufreq__cpuinfo_max_freq=2_900_000)
    machine.pmu("cpu", 4, None)
    machine.process(7)
    run = Run(machine, ScriptedPerf())
    assert run.tick().classes == ()
    assert run.perf.events == {}
    (counters,) = [c for c in run.sampler.capabilities if "counters" in c.name]
    assert "counts P and E cores alike" in counters.reason


def test_classes_of_one_pmu_are_counted_all_or_none(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    machine.process(7)
    run = Run(machine, ScriptedPerf(refuse_cpus={13: errno.EINVAL}))
    run.work(7, P, 10)
    assert set(run.row(run.tick(), 7)) == {"P"}
    assert run.perf.open_count == 2
    refused = {c.name: c.reason for c in run.sampler.capabilities if not c.available}
    assert set(refused) == {"hardware counters LP-E", "hardware counters E"}
    assert "EINVAL" in refused["hardware counters LP-E"]


def test_a_cpuset_that_grows_to_other_classes_gets_their_groups(machine: FakeMachine) -> None:
    machine.process(7, cgroup="0::/pod\n")
    machine.write("sys/fs/cgroup/pod/cpuset.cpus.effective", "0-3\n")
    run = Run(machine, ScriptedPerf())
    run.tick()
    run.work(8, P, 10)
    assert set(run.row(run.tick(), 8)) == {"P"}
    machine.write("sys/fs/cgroup/pod/cpuset.cpus.effective", "0-15\n")
    run.tick(1000)
    run.work(8, E, 40)
    row = run.row(run.tick(), 8)
    assert (row["P"][0], row["E"][0]) == (10 * MS, 40 * MS)


def test_each_reason_has_its_own_words_and_remedy(machine: FakeMachine) -> None:
    machine.write("proc/sys/kernel/perf_event_paranoid", "4")
    reasons = {code: explain(code, machine.root) for code in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOSYS)}
    assert len({reason for reason, _ in reasons.values()}) == 4
    assert reasons[errno.EACCES][1] == "sudo sysctl kernel.perf_event_paranoid=1"
    assert "security policy" in reasons[errno.EPERM][0]
    assert "CONFIG_PERF_EVENTS" in reasons[errno.ENOSYS][1]


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS])
def test_under_a_seccomp_filter_the_remedy_is_the_containers(machine: FakeMachine, code: int) -> None:
    machine.write("proc/self/status", "Name:\tpython\nSeccomp:\t2\nSeccomp_filters:\t1\n")
    reason, remedy = explain(code, machine.root)
    assert "seccomp filter" in reason
    assert "docker run --cap-add PERFMON" in remedy


@pytest.mark.parametrize(
    ("level", "part", "remedy"),
    [("4", "forbids every use", "sysctl"), ("2", "another user's", "as root"), ("1", "another user's", "as root")],
)
def test_eacces_is_explained_by_the_paranoid_level(machine: FakeMachine, level: str, part: str, remedy: str) -> None:
    """Up to level 2 it is not the level: one's own processes could be counted, and lowering it would not help."""
    machine.write("proc/sys/kernel/perf_event_paranoid", level)
    reason, found = explain(errno.EACCES, machine.root)
    assert part in reason
    assert remedy in found


def test_enoent_in_a_vm_says_so(tmp_path: Path) -> None:
    assert "virtual machine" in explain(errno.ENOENT, machines.plain_vm(tmp_path).root)[0]
