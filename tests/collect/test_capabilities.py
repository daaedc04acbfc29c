"""What doctor finds: a reason for each thing, a remedy for what is missing, three answers for three errnos."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from livemon.collect.capabilities import probe
from livemon.model.facts import Capability
from tests.collect import fake_machine as machines
from tests.collect.fake_machine import FakeMachine
from tests.collect.scripted_perf import ScriptedPerf

BUILDERS = [
    machines.intel_hybrid,
    machines.intel_low_power,
    machines.big_little,
    machines.amd_dense,
    machines.two_sockets,
    machines.plain_vm,
    machines.big_host_with_cpuset,
]


def by_name(capabilities: tuple[Capability, ...]) -> dict[str, Capability]:
    assert len({c.name for c in capabilities}) == len(capabilities)
    return {c.name: c for c in capabilities}


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_every_answer_has_a_reason(tmp_path: Path, build: object) -> None:
    machine = build(tmp_path)  # type: ignore[operator]
    machine.process(7)
    for capability in probe(7, machine.root, ScriptedPerf()):
        assert capability.reason, capability.name


def test_an_empty_root_is_answered_too(tmp_path: Path) -> None:
    found = by_name(probe(7, str(tmp_path), ScriptedPerf()))
    assert not found["threads of the process"].available
    assert not found["core classes"].available


def test_this_machine() -> None:
    found = by_name(probe(os.getpid()))
    assert found["threads of the process"].available
    assert all(c.reason for c in found.values())


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    machine = machines.intel_hybrid(tmp_path)
    machine.process(7)
    return machine


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        (errno.EACCES, "perf_event_paranoid is 3", "sysctl"),
        (errno.EPERM, "security policy", "root"),
        (errno.ENOENT, "no driver", ""),
        (errno.ENOSYS, "perf_event_open does not exist", "CONFIG_PERF_EVENTS"),
        (errno.EMFILE, "open files", "ulimit"),
    ],
)
def test_counters_by_errno(machine: FakeMachine, code: int, reason: str, remedy: str) -> None:
    machine.write("proc/sys/kernel/perf_event_paranoid", "3")
    capability = by_name(probe(7, machine.root, ScriptedPerf(refuse={(-1, 0x3C): code, (-1, 0xC0): code})))[
        "hardware counters P"
    ]
    assert not capability.available
    assert reason in capability.reason
    assert remedy in capability.remedy


def test_counters_are_tried_on_the_process_itself(machine: FakeMachine) -> None:
    perf = ScriptedPerf(refuse_tids={7: errno.EACCES})
    machine.write("proc/sys/kernel/perf_event_paranoid", "1")
    assert "another user" in by_name(probe(7, machine.root, perf))["hardware counters E"].reason
    assert by_name(probe(None, machine.root, perf))["hardware counters E"].available
    assert perf.open_count == 0


def remedy_of(machine: FakeMachine, name: str) -> str:
    return by_name(probe(7, machine.root, ScriptedPerf()))[name].remedy


def test_psi_that_is_off_has_another_remedy_than_none(machine: FakeMachine) -> None:
    psi = "pressure stall information"
    machine.write("proc/sys/kernel/osrelease", "5.14.0-427.el9")
    assert "psi=1" in remedy_of(machine, psi)
    assert "CONFIG_PSI=y" in remedy_of(machine, psi)  # nobody knows here which of the two it is
    machine.write("boot/config-5.14.0-427.el9", "CONFIG_PSI=y\nCONFIG_PSI_DEFAULT_DISABLED=y\n")
    assert remedy_of(machine, psi) == "boot with psi=1 on the kernel's command line"
    machine.write("boot/config-5.14.0-427.el9", "# CONFIG_PSI is not set\n")
    assert "psi=1" not in remedy_of(machine, psi)
    (machine.path / "proc/pressure/cpu").mkdir(parents=True)  # there, and refuses to be read
    assert remedy_of(machine, psi) == "boot with psi=1 on the kernel's command line"


def test_hidepid_and_a_pid_namespace_are_told(machine: FakeMachine) -> None:
    machine.write("proc/mounts", "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n")
    machine.write("proc/7/status", "Name:\tx\nTgid:\t7\nNSpid:\t7\t1\n")
    found = by_name(probe(7, machine.root, ScriptedPerf()))
    assert "hidepid=invisible" in found["threads of the process"].reason
    assert found["threads of the process"].remedy == "run livemon as root"
    assert "pid 1 in its own namespace" in found["pid namespace"].reason


@pytest.mark.parametrize(("capabilities", "is_told"), [("000001ffffffffff", False), ("0000000000000000", True)])
def test_hidepid_hides_nothing_from_who_may_trace(machine: FakeMachine, capabilities: str, is_told: bool) -> None:
    machine.write("proc/mounts", "proc /proc proc rw,hidepid=2 0 0\n")
    machine.write("proc/self/status", f"Name:\tx\nCapEff:\t{capabilities}\n")
    found = by_name(probe(7, machine.root, ScriptedPerf()))["threads of the process"]
    assert ("hidepid" in found.reason, bool(found.remedy)) == (is_told, is_told)


@pytest.mark.parametrize(
    ("build", "perf", "how"),
    [
        (machines.intel_hybrid, ScriptedPerf(), "exact"),
        (machines.amd_dense, ScriptedPerf(), "exact"),
        (machines.intel_hybrid, ScriptedPerf(refuse={(-1, 0x3C): errno.EACCES}), "estimate"),
        (machines.two_sockets, ScriptedPerf(), None),
    ],
)
def test_placement_says_how_it_is_known(tmp_path: Path, build: object, perf: ScriptedPerf, how: str | None) -> None:
    machine = build(tmp_path)  # type: ignore[operator]
    machine.process(7)
    found = by_name(probe(7, machine.root, perf)).get("placement on core classes")
    assert (found is None) == (how is None)
    assert found is None or str(how) in found.reason


def test_a_cgroup_without_the_cpu_controller_says_how_to_get_it(machine: FakeMachine) -> None:
    machine.process(7, cgroup="0::/app.slice/serve\n")
    machine.write("sys/fs/cgroup/app.slice/serve/cpu.stat", "usage_usec 5\n")
    machine.write("proc/self/cgroup", "0::/\n")
    found = by_name(probe(7, machine.root, ScriptedPerf()))["cgroup throttling"]
    assert not found.available
    assert f"echo +cpu > {machine.root}/sys/fs/cgroup/app.slice/cgroup.subtree_control" in found.remedy


def test_open_files_count_every_group_of_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machines.intel_low_power(tmp_path)
    machine.process(7)
    for tid in range(8, 17):
        machine.thread(7, tid)
    monkeypatch.setattr("resource.getrlimit", lambda _: (150, 200))
    found = by_name(probe(7, machine.root, ScriptedPerf()))["open files"]
    assert not found.available
    # Two files and four groups (P, E, two LP-E cores) of two events for each of the 10 threads.
    assert found.reason.startswith("228 needed for 10 threads; the limit is 150, which livemon raises to 200")
    assert "ulimit -n 456" in found.remedy


def test_a_kernel_without_schedstat(machine: FakeMachine) -> None:
    machine.remove("proc/7/schedstat")
    found = by_name(probe(7, machine.root, ScriptedPerf()))
    assert found["thread CPU time"].available
    assert "10 ms" in found["thread CPU time"].reason
    assert not found["run-queue delay"].available
    assert "CONFIG_SCHED_INFO" in found["run-queue delay"].remedy
