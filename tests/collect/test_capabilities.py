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
        (errno.EACCES, "perf_event_paranoid is 2", "sysctl"),
        (errno.EPERM, "seccomp", "PERFMON"),
        (errno.ENOENT, "no driver", ""),
        (errno.ENOSYS, "perf_event_open does not exist", "CONFIG_PERF_EVENTS"),
        (errno.EMFILE, "open files", "ulimit"),
    ],
)
def test_counters_by_errno(machine: FakeMachine, code: int, reason: str, remedy: str) -> None:
    capability = by_name(probe(7, machine.root, ScriptedPerf(refuse={(-1, 0x3C): code})))["hardware counters P"]
    assert not capability.available
    assert reason in capability.reason
    assert remedy in capability.remedy


def test_counters_are_tried_on_the_process_itself(machine: FakeMachine) -> None:
    perf = ScriptedPerf(refuse_tids={7: errno.EACCES})
    machine.write("proc/sys/kernel/perf_event_paranoid", "1")
    assert "another user" in by_name(probe(7, machine.root, perf))["hardware counters E"].reason
    assert by_name(probe(None, machine.root, perf))["hardware counters E"].available
    assert perf.open_count == 0


def test_psi_that_is_built_but_off_has_another_remedy_than_none(machine: FakeMachine) -> None:
    assert "CONFIG_PSI" in by_name(probe(7, machine.root, ScriptedPerf()))["pressure stall information"].remedy
    (machine.path / "proc/pressure/cpu").mkdir(parents=True)
    assert "psi=1" in by_name(probe(7, machine.root, ScriptedPerf()))["pressure stall information"].remedy


def test_hidepid_and_a_pid_namespace_are_told(machine: FakeMachine) -> None:
    machine.write("proc/mounts", "proc /proc proc rw,nosuid,hidepid=2 0 0\n")
    machine.write("proc/7/status", "Name:\tx\nTgid:\t7\nNSpid:\t7\t1\n")
    found = by_name(probe(7, machine.root, ScriptedPerf()))
    assert "hidepid=2" in found["threads of the process"].reason
    assert "pid 1 in its own namespace" in found["pid namespace"].reason


def test_a_kernel_without_schedstat(machine: FakeMachine) -> None:
    machine.remove("proc/7/schedstat")
    found = by_name(probe(7, machine.root, ScriptedPerf()))
    assert found["thread CPU time"].available
    assert "10 ms" in found["thread CPU time"].reason
    assert not found["run-queue delay"].available
    assert "CONFIG_SCHED_INFO" in found["run-queue delay"].remedy
