"""Core classes of machines this project must know."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from livemon.collect.perf_groups import class_events, encode
from livemon.collect.topology import classes_of_new, read_topology
from livemon.model.facts import Topology
from tests.collect import fake_machine as machines


def classes_of(root: str, **options: int | str) -> dict[str, int]:
    return dict(Counter(cpu.core_class for cpu in read_topology(root, **options).cpus))


def test_an_intel_hybrid(tmp_path: Path) -> None:
    machine = machines.intel_hybrid(tmp_path)
    topology = read_topology(machine.root)
    assert topology.classes == ("P", "E")
    assert topology.efficiency_classes == ("E",)
    assert classes_of(machine.root) == {"P": 8, "E": 8}
    assert topology.class_of(5) == "P"
    assert "cpu_atom" in topology.class_source
    assert [cpu.core for cpu in topology.cpus[:4]] == [0, 0, 2, 2]
    assert {cpu.llc for cpu in topology.cpus} == {0}


def test_low_power_e_cores_are_a_class_of_their_own(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    topology = read_topology(machine.root)
    assert topology.classes == ("P", "E", "LP-E")
    assert topology.efficiency_classes == ("E", "LP-E")
    assert classes_of(machine.root) == {"P": 4, "E": 8, "LP-E": 2}


def test_low_power_e_cores_without_frequencies_are_told_by_their_cache(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    for number in range(14):
        machine.remove(f"sys/devices/system/cpu/cpu{number}/cpufreq/cpuinfo_max_freq")
    assert classes_of(machine.root) == {"P": 4, "E": 8, "LP-E": 2}


def test_low_power_e_cores_as_fast_as_the_e_cores_are_told_by_their_cache(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    machine.cpus((12, 13), cpufreq__cpuinfo_max_freq=3_700_000)
    assert classes_of(machine.root) == {"P": 4, "E": 8, "LP-E": 2}


def test_low_power_e_cores_with_a_pmu_of_their_own(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    machine.pmu("cpu_atom", 10, "4-11", cpu_cycles="event=0x3c", instructions="event=0xc0")
    machine.pmu("cpu_lowpower", 11, "12-13", cpu_cycles="event=0x3c", instructions="event=0xc0")
    topology = read_topology(machine.root)
    assert classes_of(machine.root) == {"P": 4, "E": 8, "LP-E": 2}
    events = class_events(topology, machine.root)
    assert [(e.core_class, e.kind, e.places) for e in events] == [
        ("P", 4, (-1,)),
        ("E", 10, (-1,)),
        ("LP-E", 11, (-1,)),
    ]


def test_e_cores_without_the_big_cache_are_e_cores_where_there_are_no_others(tmp_path: Path) -> None:
    machine = machines.FakeMachine(tmp_path)
    machine.online(range(8))
    machine.cpus(range(4), cpufreq__cpuinfo_max_freq=5_000_000)
    machine.cpus(range(4, 8), cpufreq__cpuinfo_max_freq=3_700_000)
    machine.cache(3, range(4))
    machine.cache(2, range(4, 8))
    machine.pmu("cpu_core", 4, "0-3")
    machine.pmu("cpu_atom", 10, "4-7")
    assert classes_of(machine.root) == {"P": 4, "E": 4}


def test_three_arm_clusters(tmp_path: Path) -> None:
    machine = machines.big_little(tmp_path)
    topology = read_topology(machine.root)
    assert topology.classes == ("P", "M", "E")
    assert classes_of(machine.root) == {"E": 4, "M": 3, "P": 1}
    assert topology.efficiency_classes == ("E",)


def test_arm_clusters_without_their_pmus_are_told_by_capacity(tmp_path: Path) -> None:
    machine = machines.FakeMachine(tmp_path)
    machine.online(range(8))
    for numbers, capacity in ((range(2), 160), (range(2, 4), 500), (range(4, 6), 800), (range(6, 8), 1024)):
        machine.cpus(numbers, cpu_capacity=capacity)
    topology = read_topology(machine.root)
    assert topology.classes == ("P", "M1", "M2", "E")
    assert topology.class_source == "cpu_capacity"


def test_arm_pmus_without_any_speed_stay_apart_without_a_rank(tmp_path: Path) -> None:
    machine = machines.big_little(tmp_path)
    for number in range(8):
        machine.remove(f"sys/devices/system/cpu/cpu{number}/cpu_capacity")
    topology = read_topology(machine.root)
    assert len(topology.classes) == 3
    assert all(name.startswith("unknown") for name in topology.classes)
    assert topology.efficiency_classes == ()


def test_amd_dense_cores(tmp_path: Path) -> None:
    topology = read_topology(machines.amd_dense(tmp_path).root)
    assert topology.classes == ("P", "E")
    assert topology.class_source == "cpufreq maximum"


def test_amd_ranking_alone(tmp_path: Path) -> None:
    machine = machines.amd_dense(tmp_path)
    for number in range(12):
        machine.remove(f"sys/devices/system/cpu/cpu{number}/cpufreq/cpuinfo_max_freq")
    assert read_topology(machine.root).class_source == "amd_pstate ranking"
    assert classes_of(machine.root) == {"P": 4, "E": 8}


def test_favoured_cores_and_a_ccd_under_a_stacked_cache_are_no_classes(tmp_path: Path) -> None:
    machine = machines.FakeMachine(tmp_path)
    machine.online(range(12))
    for number in range(12):
        speed = 5_650_000 - 25_000 * number if number < 6 else 5_000_000
        machine.cpus((number,), cpufreq__cpuinfo_max_freq=speed, cpufreq__amd_pstate_prefcore_ranking=236 - 5 * number)
    machine.pmu("cpu", 4, None)
    topology = read_topology(machine.root)
    assert topology.classes == ("P",)
    assert "uniform" in topology.class_source


def test_two_sockets_are_uniform_with_two_nodes(tmp_path: Path) -> None:
    topology = read_topology(machines.two_sockets(tmp_path).root)
    assert topology.classes == ("P",)
    assert "uniform" in topology.class_source
    assert Counter(cpu.node for cpu in topology.cpus) == {0: 4, 1: 4}
    assert {cpu.llc for cpu in topology.cpus} == {0, 4}
    assert topology.efficiency_classes == ()


def test_a_vm_that_says_nothing_is_unknown(tmp_path: Path) -> None:
    topology = read_topology(machines.plain_vm(tmp_path).root)
    assert topology.classes == ("unknown",)
    assert topology.class_of(0) == "unknown"
    assert "VM" in topology.class_source


def test_a_cpuset_is_the_axis_and_the_host_is_mentioned(tmp_path: Path) -> None:
    topology = read_topology(machines.big_host_with_cpuset(tmp_path).root, 7)
    assert len(topology.cpus) == 16
    assert topology.online == 224
    assert "16 of the host's 224" in topology.class_source
    assert topology.class_of(0) == "P"  # the cpuset may change, and that CPU's class is known
    assert len(topology.others) == 208
    assert topology.class_of(224) == "unknown"


def test_a_cpuset_of_e_cores_only_is_not_called_p(tmp_path: Path) -> None:
    machine = machines.intel_hybrid(tmp_path)
    machine.process(7, cgroup="0::/batch\n")
    machine.write("sys/fs/cgroup/batch/cpuset.cpus.effective", "8-11\n")
    topology = read_topology(machine.root, 7)
    assert topology.classes == ("E",)
    assert topology.efficiency_classes == ("E",)


def test_all_e_cores_offline(tmp_path: Path) -> None:
    machine = machines.intel_hybrid(tmp_path)
    machine.online(range(8))
    machine.write("sys/bus/event_source/devices/cpu_atom/cpus", "\n")
    topology = read_topology(machine.root)
    assert topology.classes == ("P",)
    assert [event.core_class for event in class_events(topology, machine.root)] == ["P"]


def test_an_empty_root_is_no_crash(tmp_path: Path) -> None:
    topology = read_topology(str(tmp_path))
    assert topology.cpus == ()
    assert topology.classes == ()


def test_groups_of_a_hybrid_are_by_pmu_and_never_generic(tmp_path: Path) -> None:
    machine = machines.intel_hybrid(tmp_path)
    events = class_events(read_topology(machine.root), machine.root)
    assert [(e.core_class, e.kind, e.cycles, e.instructions) for e in events] == [
        ("P", 4, 0x3C, 0xC0),
        ("E", 10, 0x3C, 0xC0),
    ]


def test_lp_e_cores_on_the_pmu_of_the_e_cores_are_counted_cpu_by_cpu(tmp_path: Path) -> None:
    machine = machines.intel_low_power(tmp_path)
    events = class_events(read_topology(machine.root), machine.root)
    assert [(e.core_class, e.pmu, e.cpus, e.is_rest) for e in events] == [
        ("P", "cpu_core", (), False),
        ("E", "cpu_atom", (), True),
        ("LP-E", "cpu_atom", (12, 13), False),
    ]


def test_dense_cores_behind_one_pmu_are_the_whole_less_the_others(tmp_path: Path) -> None:
    machine = machines.amd_dense(tmp_path)
    events = class_events(read_topology(machine.root), machine.root)
    assert [(e.core_class, e.kind, e.cpus, e.is_rest) for e in events] == [
        ("P", 0, (0, 1, 2, 3), False),
        ("E", 0, (), True),
    ]


def test_too_many_cpus_of_one_pmu_are_not_counted_one_by_one(tmp_path: Path) -> None:
    machine = machines.FakeMachine(tmp_path)
    machine.online(range(40))
    machine.cpus(range(20), cpufreq__cpuinfo_max_freq=3_900_000)
    machine.cpus(range(20, 40), cpufreq__cpuinfo_max_freq=2_900_000)
    machine.pmu("cpu", 4, None)
    (event,) = class_events(read_topology(machine.root), machine.root)
    assert (event.core_class, event.is_exclusive, event.kind, event.places) == ("P+E", False, 0, (-1,))


def test_a_pmu_without_listed_events_gets_the_codes_of_its_kind(tmp_path: Path) -> None:
    machine = machines.big_little(tmp_path)
    for pmu in ("armv8_cortex_a55", "armv8_cortex_a78", "armv8_cortex_x1"):
        machine.remove(f"sys/bus/event_source/devices/{pmu}/events/cpu_cycles")
    events = class_events(read_topology(machine.root), machine.root)
    assert {(e.cycles, e.instructions) for e in events} == {(0x11, 0x08)}


def test_an_unknown_pmu_gets_generic_events_tied_to_its_type(tmp_path: Path) -> None:
    machine = machines.FakeMachine(tmp_path)
    machine.online(range(4))
    machine.cpus((0, 1), cpu_capacity=1024)
    machine.cpus((2, 3), cpu_capacity=300)
    machine.pmu("new_big", 21, "0-1")
    machine.pmu("new_little", 22, "2-3")
    events = class_events(read_topology(machine.root), machine.root)
    assert [(e.kind, e.cycles, e.instructions) for e in events] == [
        (0, 21 << 32, 21 << 32 | 1),
        (0, 22 << 32, 22 << 32 | 1),
    ]


@pytest.mark.parametrize(
    ("event", "config"),
    [
        ("event=0x3c", 0x3C),
        ("event=0xc0,umask=0x01", 0x1C0),
        ("event=0x1c2", 0x1_0000_00C2),
        ("event=0x3c,edge", 0x4_003C),
        ("event=0x3c,ldlat=3", None),
        ("event=zz", None),
        ("event=0x12345678", None),
    ],
)
def test_events_are_encoded_by_the_format_files(tmp_path: Path, event: str, config: int | None) -> None:
    for name, layout in {
        "event": "config:0-7,32-35",
        "umask": "config:8-15",
        "edge": "config:18",
        "ldlat": "config1:0-15",
    }.items():
        (tmp_path / "format").mkdir(exist_ok=True)
        (tmp_path / "format" / name).write_text(layout + "\n")
    assert encode(event, str(tmp_path)) == config


def test_a_cluster_that_is_offline_is_no_class(tmp_path: Path) -> None:
    """Arm's PMUs list their offline CPUs too."""
    machine = machines.big_little(tmp_path)
    machine.online(range(7))
    topology = read_topology(machine.root)
    assert topology.classes == ("P", "E")
    assert topology.efficiency_classes == ("E",)
    machine.online(range(4, 7))
    assert read_topology(machine.root).classes == ("P",)


def only(machine: machines.FakeMachine, online: str, core: str, atom: str) -> Topology:
    """The Intel hybrid with some of its CPUs online: PMUs list those only, and one without any is not there."""
    machine.write("sys/devices/system/cpu/online", online + "\n")
    for name, kind, cpus in (("cpu_core", 4, core), ("cpu_atom", 10, atom)):
        if cpus:
            machine.pmu(name, kind, cpus)
        elif (machine.path / f"sys/bus/event_source/devices/{name}").exists():
            shutil.rmtree(machine.path / f"sys/bus/event_source/devices/{name}")
    return read_topology(machine.root)


def test_cpus_that_come_online_are_of_the_class_of_those_that_were_there(tmp_path: Path) -> None:
    machine = machines.intel_hybrid(tmp_path)
    start = only(machine, "0-5,8-11", "0-5", "8-11")
    now = only(machine, "0-15", "0-7", "8-15")
    found = classes_of_new(start, now)
    assert found == {6: "P", 7: "P", 12: "E", 13: "E", 14: "E", 15: "E"}
    assert classes_of_new(now, now) == {}
    # Those that were there have gone since: the class is known by its name.
    assert classes_of_new(start, only(machine, "0-5,12-15", "0-5", "12-15"))[12] == "E"


def test_a_class_that_was_not_there_at_the_start_is_none_of_the_known_ones(tmp_path: Path) -> None:
    machine = machines.intel_hybrid(tmp_path)
    start = only(machine, "0-7", "0-7", "")
    assert start.classes == ("P",)
    assert set(classes_of_new(start, only(machine, "0-8", "0-7", "8")).values()) == {None}


def test_a_faster_class_that_comes_is_not_taken_for_the_one_that_had_its_name(tmp_path: Path) -> None:
    """Without the prime core the middle ones are the fastest: they are P then, and M when it is there."""
    machine = machines.big_little(tmp_path)
    shutil.rmtree(machine.path / "sys/bus/event_source/devices")
    machine.online(range(7))
    start = read_topology(machine.root)
    assert start.classes == ("P", "E")
    machine.online(range(8))
    assert classes_of_new(start, read_topology(machine.root)) == {7: None}
    machine.online([*range(3), *range(4, 6)])
    start = read_topology(machine.root)
    machine.online(range(8))
    assert classes_of_new(start, read_topology(machine.root)) == {3: "E", 6: "P", 7: None}
