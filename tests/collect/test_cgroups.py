"""The cgroup of a process: versions, limits, throttling, containers on built trees; a real group of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from livemon.collect.cgroups import cgroup_folders, cgroup_version, cpu_limit, is_root_group, throttling
from tests.collect import fake_machine as machines
from tests.collect.fake_machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return machines.plain_vm(tmp_path)


def test_cpu_limits_of_both_versions(machine: FakeMachine) -> None:
    machine.process(7, cgroup="0::/a/b\n")
    machine.write("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n")
    assert cpu_limit(machine.root, 7) == "1.5 CPUs"
    machine.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    assert cpu_limit(machine.root, 7) is None
    machine.process(8, cgroup="3:cpu:/c\n")
    machine.write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "400000\n")
    machine.write("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n")
    assert cpu_limit(machine.root, 8) == "4 CPUs"
    machine.write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n")
    assert cpu_limit(machine.root, 8) is None


def test_the_least_limit_of_the_groups_above_counts(machine: FakeMachine) -> None:
    machine.process(7, cgroup="0::/pod/ctr\n")
    machine.write("sys/fs/cgroup/pod/ctr/cpu.max", "400000 100000\n")
    machine.write("sys/fs/cgroup/pod/cpu.max", "200000 100000\n")
    machine.write("sys/fs/cgroup/cpu.max", "max 100000\n")
    assert cpu_limit(machine.root, 7) == "2 CPUs"


def test_v2_beside_v1_has_a_mount_of_its_own(machine: FakeMachine) -> None:
    """With the cpu controller on v2, in systemd's hybrid layout."""
    machine.process(7, cgroup="4:memory:/x\n1:name=systemd:/x\n0::/srv\n")
    machine.write("sys/fs/cgroup/unified/srv/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_usec 9\n")
    assert throttling(cgroup_folders(machine.root, 7)) == {"throttled_us": 9, "nr_throttled": 2, "nr_periods": 4}


def test_nothing_throttles_the_real_root_group_and_a_containers_root_is_not_that(machine: FakeMachine) -> None:
    machine.process(7, cgroup="0::/\n")
    machine.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
    machine.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\nuser_usec 2\nsystem_usec 3\n")
    assert is_root_group(cgroup_folders(machine.root, 7))
    assert throttling(cgroup_folders(machine.root, 7)) == {"throttled_us": 0, "nr_throttled": 0, "nr_periods": 0}
    machine.write("sys/fs/cgroup/cgroup.type", "domain\n")
    assert not is_root_group(cgroup_folders(machine.root, 7))
    assert throttling(cgroup_folders(machine.root, 7)) == {}


def test_without_cgroups(tmp_path: Path) -> None:
    assert cgroup_version(str(tmp_path)) is None
    assert cgroup_folders(str(tmp_path), 7) == []
    assert throttling([]) == {}


@pytest.fixture
def limited_group() -> Iterator[Path]:
    """A real group that may use a tenth of a CPU; skipped where this user may not make one."""
    v1, v2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    group = (v1 if v1.is_dir() else v2) / f"livemon-test-{os.getpid()}"
    try:
        group.mkdir()
        if v1.is_dir():
            (group / "cpu.cfs_quota_us").write_text("10000")
        else:
            (group / "cpu.max").write_text("10000 100000")
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        pytest.skip(f"no cgroup can be made here: {error}")
    yield group
    deadline = time.monotonic() + 20
    while True:  # a group stays busy until its last process has been reaped
        try:
            group.rmdir()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cgroups are Linux's")
def test_a_process_that_is_really_throttled(limited_group: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        (limited_group / "cgroup.procs").write_text(str(child.pid))
        assert cpu_limit("/", child.pid) == "0.1 CPUs"
        folders = cgroup_folders("/", child.pid)
        assert folders[0] == str(limited_group)
        deadline = time.monotonic() + 30
        while not (found := throttling(folders))["throttled_us"] > 100_000:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert 0 < found["nr_throttled"] <= found["nr_periods"]
    finally:
        child.kill()
        child.wait()
