"""Machine pressure on built trees: both cgroup versions, many CPUs, what is missing, what changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from livemon.collect.pressure import PressureSampler
from livemon.collect.topology import read_topology
from livemon.model.samples import MachineSample, Note
from tests.collect import fake_machine as machines
from tests.collect.fake_machine import FakeMachine

SECOND_NS = 1_000_000_000


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    machine = machines.two_sockets(tmp_path)
    machine.process(7, cgroup="0::/kube/pod/ctr\n")
    return machine


def read(sampler: PressureSampler, now_ns: int = 1) -> dict[str, int]:
    sample = sampler.sample(now_ns)[-1]
    assert isinstance(sample, MachineSample)
    return dict(sample.values)


def test_a_machine_that_shows_nothing_gives_no_values_and_no_zeroes(tmp_path: Path) -> None:
    assert read(PressureSampler([], str(tmp_path))) == {}


def test_pressure_and_interrupts(machine: FakeMachine) -> None:
    machine.write(
        "proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=11\nfull avg10=0 avg60=0 avg300=0 total=2\n"
    )
    machine.write("proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=5\n")
    machine.write("proc/stat", "cpu 9 0 0 90 0 3 4 6\ncpu0 5 0 0 45 0 1 2 3\ncpu1 4 0 0 45 0 2 2 3\nintr 1\n")
    values = read(PressureSampler([7], machine.root))
    assert values["psi_cpu_some_us"] == 11
    assert "psi_cpu_full_us" not in values  # the kernel does not define it for the whole machine, and shows 0
    assert values["psi_io_some_us"] == 5
    assert "psi_memory_some_us" not in values
    assert values["steal_ticks"] == 6
    assert (values["cpu1_irq_ticks"], values["cpu1_softirq_ticks"]) == (2, 2)


def test_throttling_on_v2_counts_the_groups_above_too(machine: FakeMachine) -> None:
    machine.write(
        "sys/fs/cgroup/kube/pod/ctr/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 2\nthrottled_usec 700\n"
    )
    machine.write("sys/fs/cgroup/kube/pod/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 1\nthrottled_usec 50\n")
    machine.write("sys/fs/cgroup/kube/cpu.stat", "usage_usec 5\n")
    machine.write("sys/fs/cgroup/kube/pod/ctr/cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=3\n")
    values = read(PressureSampler([7], machine.root))
    assert (values["cgroup_throttled_us"], values["cgroup_nr_throttled"]) == (750, 3)
    assert values["cgroup_psi_cpu_some_us"] == 3


def test_a_group_has_its_own_full_cpu_pressure(machine: FakeMachine) -> None:
    machine.write("sys/fs/cgroup/kube/pod/ctr/cpu.pressure", "some avg10=0 total=9\nfull avg10=0 total=4\n")
    values = read(PressureSampler([7], machine.root))
    assert (values["cgroup_psi_cpu_some_us"], values["cgroup_psi_cpu_full_us"]) == (9, 4)


def test_throttling_on_v1_is_in_ns(machine: FakeMachine) -> None:
    machine.write("proc/7/cgroup", "4:memory:/a\n2:cpu,cpuacct:/kube/ctr\n0::/\n")
    machine.write("sys/fs/cgroup/cpu/kube/ctr/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 7000000\n")
    values = read(PressureSampler([7], machine.root))
    assert (values["cgroup_throttled_us"], values["cgroup_nr_throttled"], values["cgroup_nr_periods"]) == (7000, 2, 4)


def test_inside_a_container_the_mount_is_the_group(machine: FakeMachine) -> None:
    machine.write("sys/fs/cgroup/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_usec 7\n")
    assert read(PressureSampler([7], machine.root))["cgroup_throttled_us"] == 7


def test_frequencies_of_a_cpuset_only_and_in_turns_on_a_big_host(tmp_path: Path) -> None:
    machine = machines.big_host_with_cpuset(tmp_path)
    machine.cpus(range(224), cpufreq__scaling_cur_freq=2_000_000)
    assert len([n for n in read(PressureSampler([7], machine.root)) if n.endswith("_freq_khz")]) == 16
    machine.remove("sys/fs/cgroup/kubepods/pod1/c1/cpuset.cpus.effective")
    sampler = PressureSampler([7], machine.root)
    rounds = [{n for n in read(sampler) if n.endswith("_freq_khz")} for _ in range(4)]
    assert max(len(names) for names in rounds) == 64
    assert len(set().union(*rounds)) == 224
    machine.cpus((3,), cpufreq__scaling_cur_freq=900_000)
    seen = [read(sampler) for _ in range(4)]
    assert {values["cpu3_freq_khz"] for values in seen if "cpu3_freq_khz" in values} == {900_000}
    sampler.close()


def test_heat_counts_each_core_and_each_package_once(machine: FakeMachine) -> None:
    machine.cpus(range(4), thermal_throttle__core_throttle_count=1, thermal_throttle__package_throttle_count=10)
    machine.cpus(
        range(4, 8),
        topology__physical_package_id=1,
        thermal_throttle__core_throttle_count=0,
        thermal_throttle__package_throttle_count=5,
    )
    for number in range(4):
        machine.write(f"sys/devices/system/cpu/cpu{number}/topology/physical_package_id", "0")
    assert read(PressureSampler([7], machine.root))["thermal_throttle_count"] == 4 + 10 + 5
    for number in (1, 3):  # siblings of 0 and 2: their core's count is the same one
        machine.write(f"sys/devices/system/cpu/cpu{number}/topology/core_id", str(number - 1))
    assert read(PressureSampler([7], machine.root))["thermal_throttle_count"] == 2 + 10 + 5


def test_major_faults_count_from_the_first_look_and_never_go_back(machine: FakeMachine) -> None:
    machine.write("proc/7/stat", machines.stat_line(7, majflt=100))
    sampler = PressureSampler([7], machine.root)
    assert read(sampler)["target_majflt"] == 0
    machine.write("proc/7/stat", machines.stat_line(7, majflt=130))
    machine.process(8)
    machine.write("proc/8/stat", machines.stat_line(8, majflt=999))
    sampler.add_process(8)
    assert read(sampler)["target_majflt"] == 30
    machine.end_process(8)
    assert read(sampler)["target_majflt"] == 30


def test_major_faults_of_a_process_that_ended_stay_counted_and_its_pid_is_no_longer_looked_at(
    machine: FakeMachine,
) -> None:
    sampler = PressureSampler([7], machine.root)
    sampler.remove_process(7)
    assert "target_majflt" not in read(sampler)
    machine.process(8)
    for faults in (5, 9):
        machine.write("proc/8/stat", machines.stat_line(8, majflt=faults))
        sampler.add_process(8)
        assert read(sampler)["target_majflt"] == faults - 5
    sampler.remove_process(8)
    machine.write("proc/8/stat", machines.stat_line(8, majflt=100))  # another process by now
    assert read(sampler)["target_majflt"] == 4


def test_hotplug_and_cpuset_changes_are_told(tmp_path: Path) -> None:
    machine = machines.big_host_with_cpuset(tmp_path)
    sampler = PressureSampler([7], machine.root)
    assert [s for s in sampler.sample(1) if isinstance(s, Note)] == []
    machine.online(range(200))
    machine.write("sys/fs/cgroup/kubepods/pod1/c1/cpuset.cpus.effective", "0-3\n")
    texts = [s.text for s in sampler.sample(10 * SECOND_NS) if isinstance(s, Note)]
    assert texts == ["CPU 200-223 went offline", "the target's cpuset changed from 32-39,144-151 to 0-3"]
    machine.online(range(224))
    assert [s.text for s in sampler.sample(20 * SECOND_NS) if isinstance(s, Note)] == ["CPU 200-223 came online"]
    assert [s for s in sampler.sample(30 * SECOND_NS) if isinstance(s, Note)] == []


def stat(machine: FakeMachine, cpus: Iterable[int]) -> None:
    """``/proc/stat`` lists the CPUs that are online."""
    lines = [f"{name} 9 0 0 90 0 3 4 6\n" for name in ("cpu", *(f"cpu{n}" for n in cpus))]
    machine.write("proc/stat", "".join(lines) + "intr 1\n")


def test_the_core_class_of_a_cpu_that_comes_online_is_told_with_the_next_sample(tmp_path: Path) -> None:
    machine = machines.big_little(tmp_path)
    machine.process(7)
    machine.online(range(6))
    stat(machine, range(6))
    topology = read_topology(machine.root)
    assert topology.classes == ("P", "E")  # the prime core is offline, the middle ones are the fastest
    sampler = PressureSampler([7], machine.root, topology=topology)
    assert not any(name.endswith("_core_class") for name in read(sampler, SECOND_NS))
    machine.online(range(7))
    stat(machine, range(7))
    note, sample = sampler.sample(2 * SECOND_NS)
    assert isinstance(note, Note)
    assert isinstance(sample, MachineSample)
    assert note.text == "CPU 6 came online"
    assert sample.core_classes == {6: 0}
    machine.online(range(8))
    stat(machine, range(8))
    *notes, sample = sampler.sample(3 * SECOND_NS)
    assert isinstance(sample, MachineSample)
    assert sample.core_classes == {6: 0}  # a class of its own, for which the session has no name
    assert [s.severity for s in notes if isinstance(s, Note)] == ["info", "warning"]
    assert "CPU 7 is of a core class (P) of which no CPU was online" in notes[-1].text  # type: ignore[union-attr]
    machine.online(range(6))
    stat(machine, range(6))
    *_, sample = sampler.sample(4 * SECOND_NS)
    assert isinstance(sample, MachineSample)
    assert sample.core_classes == {6: 0}


def test_frequencies_follow_the_cpus_that_come_and_the_cpuset(tmp_path: Path) -> None:
    machine = machines.big_host_with_cpuset(tmp_path)
    machine.cpus(range(224), cpufreq__scaling_cur_freq=2_000_000)
    sampler = PressureSampler([7], machine.root)
    machine.write("sys/fs/cgroup/kubepods/pod1/c1/cpuset.cpus.effective", "0-1\n")
    names = {name for name in read(sampler) if name.endswith("_freq_khz")}
    assert names == {"cpu0_freq_khz", "cpu1_freq_khz"}
    machine.remove("sys/fs/cgroup/kubepods/pod1/c1/cpuset.cpus.effective")
    machine.online(range(60))
    sampler = PressureSampler([7], machine.root)
    assert len([name for name in read(sampler) if name.endswith("_freq_khz")]) == 60
    machine.online(range(61))
    assert "cpu60_freq_khz" in read(sampler, 10 * SECOND_NS)
    sampler.close()


def test_files_that_come_and_change_are_read_as_they_are(machine: FakeMachine) -> None:
    machine.write("proc/stat", "cpu 9 0 0 90 0 3 4 6\n")
    sampler = PressureSampler([7], machine.root)
    assert read(sampler)["steal_ticks"] == 6
    machine.write("proc/stat", "cpu 9 0 0 90 0 3 4 777777\n")
    machine.write("proc/pressure/irq", "full avg10=0 avg60=0 avg300=0 total=8\n")
    assert read(sampler, SECOND_NS)["steal_ticks"] == 777777
    assert read(sampler, 10 * SECOND_NS)["psi_irq_full_us"] == 8
    sampler.close()


def test_a_target_that_starts_again_is_looked_up_at_once(machine: FakeMachine) -> None:
    machine.write("sys/fs/cgroup/kube/pod/ctr/cpu.pressure", "some avg10=0 total=9\n")
    machine.write("sys/fs/cgroup/kube/other/cpu.pressure", "some avg10=0 total=4\n")
    sampler = PressureSampler([7], machine.root)
    assert read(sampler)["cgroup_psi_cpu_some_us"] == 9
    machine.process(8, cgroup="0::/kube/other\n")
    machine.end_process(7)
    sampler.remove_process(7)
    sampler.add_process(8)
    assert read(sampler, SECOND_NS)["cgroup_psi_cpu_some_us"] == 4
