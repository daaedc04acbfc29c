"""Containers: what is seen of a limited process from the host, from inside, and from the container beside it.

Each view is looked at twice: in real namespaces and groups of this machine, where root may make them (else
it is skipped with the reason), and in a built tree with the files that such a view has, which runs everywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livemon.collect.capabilities import probe
from livemon.collect.cgroups import cgroup_folders, cgroup_path, cpu_limit, mounted_groups, throttling
from livemon.collect.pressure import PressureSampler
from livemon.collect.topology import cpuset_cpus
from livemon.model.samples import MachineSample
from tests.collect import fake_machine as machines
from tests.collect.fake_machine import FakeMachine

PROJECT = str(Path(__file__).parent.parent.parent)
CGROUPS = Path("/sys/fs/cgroup")
V1 = (CGROUPS / "cpu").is_dir() and (CGROUPS / "cpuset").is_dir()
LAST_CPU = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
SPIN = "import time\nwhile True: pass"
BIND, OWN_NAMESPACE = "bind", "cgroup namespace"


def facts(root: str, pid: int | str) -> dict[str, Any]:
    """What the collectors say of a process's group."""
    folders = cgroup_folders(root, pid)
    told = {capability.name: capability.reason for capability in probe(int(pid), root)}
    (sample,) = [s for s in PressureSampler([int(pid)], root).sample(1) if isinstance(s, MachineSample)]
    return {
        "path": cgroup_path(root, pid),
        "folders": [folder.removeprefix(root.rstrip("/")) for folder in folders],
        "limit": cpu_limit(root, pid),
        "throttled_us": throttling(folders).get("throttled_us"),
        "sampled_us": dict(sample.values).get("cgroup_throttled_us"),
        "cpus": list(cpuset_cpus(root, pid)),
        "cpus told": told["CPUs of the process"],
    }


class Groups:
    """A real group: a fifth of a CPU, and the last CPU only."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folders = [CGROUPS / part / name for part in ("cpu", "cpuset")] if V1 else [CGROUPS / name]
        try:
            for folder in self.folders:
                folder.mkdir()
            if V1:
                (self.folders[0] / "cpu.cfs_quota_us").write_text("20000")
                mems = (CGROUPS / "cpuset/cpuset.mems").read_text()
                (self.folders[1] / "cpuset.mems").write_text(mems)
                (self.folders[1] / "cpuset.cpus").write_text(str(LAST_CPU))
            else:
                (self.folders[0] / "cpu.max").write_text("20000 100000")
                (self.folders[0] / "cpuset.cpus").write_text(str(LAST_CPU))
        except OSError as error:
            self.remove()
            pytest.skip(f"no group with a quota and a cpuset can be made here: {error}")

    def enter(self) -> None:
        """Move the calling process into it."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def mounts(self, how: str) -> str:
        """The commands by which a container's /sys/fs/cgroup comes about."""
        lines = []
        for folder in self.folders:
            point = folder.parent
            kind = f"cgroup -o {point.name}" if V1 else "cgroup2"
            lines.append(
                f"mount --bind {folder} {point}" if how == BIND else f"umount -l {point}; mount -t {kind} none {point}"
            )
        return "\n".join(lines)

    def remove(self) -> None:
        deadline = time.monotonic() + 20
        for folder in self.folders:
            while folder.is_dir():  # it stays busy until its last process has been reaped
                try:
                    folder.rmdir()
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)


@pytest.fixture
def groups() -> Iterator[tuple[Groups, Groups]]:
    if not sys.platform.startswith("linux") or os.geteuid() or not shutil.which("unshare"):
        pytest.skip("only root on Linux makes namespaces and groups; the built trees stand for them")
    made = [Groups(f"livemon-test-{os.getpid()}-{name}") for name in ("a", "b")]
    yield made[0], made[1]
    for group in made:
        group.remove()


def inside(group: Groups, how: str, code: str, *arguments: object, own_pids: bool = True) -> dict[str, Any]:
    """Run Python in namespaces of its own, in the group; what it prints as JSON."""
    script = f'{group.mounts(how)}\nexec "$@"'
    if own_pids:
        script = "mount -t proc proc /proc\n" + script
    namespaces = ["--mount", "--propagation", "private", "--kill-child", "--fork"]
    namespaces += ["--pid"] if own_pids else []
    namespaces += ["--cgroup"] if how == OWN_NAMESPACE else []
    program = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(
        ["unshare", *namespaces, "sh", "-ec", script, "sh", *program],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=group.enter,
        env={**os.environ, "PYTHONPATH": PROJECT, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
    )
    assert not done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


WATCH_A_CHILD = """
    import json, subprocess, sys, time
    from livemon.collect.cgroups import cgroup_folders, throttling
    from livemon.collect.threads import SamplingOptions, open_sampler
    from livemon.model.samples import ThreadInfo
    from tests.collect.test_containers import SPIN, facts
    child = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        sampler = open_sampler([child.pid], options=SamplingOptions(include_self=False))
        infos, deadline = [], time.monotonic() + 60
        while True:
            *samples, tick = sampler.sample(time.monotonic_ns(), keyframe=True)
            infos += [s for s in samples if isinstance(s, ThreadInfo)]
            throttled_us = throttling(cgroup_folders("/", child.pid))["throttled_us"]
            if throttled_us > 100_000 and tick.cpu_ns[0] > 0 and tick.run_delay_ns[0] > 0:
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        found = facts("/", child.pid) | {"pid": child.pid, "pids": sorted({i.pid for i in infos})}
        print(json.dumps(found | {"last_cpu": tick.last_cpu[0], "affinity": infos[0].affinity}))
    finally:
        child.kill(), child.wait()
"""


@pytest.mark.parametrize("how", [BIND, OWN_NAMESPACE])
def test_from_inside_it_is_its_own_group_by_its_own_numbers(groups: tuple[Groups, Groups], how: str) -> None:
    group = groups[0]
    found = inside(group, how, WATCH_A_CHILD)
    assert found["pid"] < 100  # in a namespace that has just begun
    assert found["pids"] == [found["pid"]]
    assert found["path"] == (f"/{group.name}" if how == BIND else "/")
    assert found["folders"] == [str(group.folders[0].parent)]
    assert found["limit"] == "0.2 CPUs"
    assert found["sampled_us"] >= found["throttled_us"] > 100_000
    assert found["cpus"] == [LAST_CPU]
    assert found["last_cpu"] == LAST_CPU
    assert found["affinity"] == str(LAST_CPU)


def test_from_the_host_it_is_its_group_by_its_numbers_here(groups: tuple[Groups, Groups]) -> None:
    group = groups[0]
    command = ["unshare", "--pid", "--fork", "--kill-child", "--cgroup", sys.executable, "-c", SPIN]
    with subprocess.Popen(command, preexec_fn=group.enter) as parent:
        try:
            deadline = time.monotonic() + 60
            children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            while not (numbers := children.read_text().split()):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            pid = int(numbers[0])
            while throttling(cgroup_folders("/", pid)).get("throttled_us", 0) <= 100_000:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            found = facts("/", pid)
            told = {capability.name: capability.reason for capability in probe(pid)}
        finally:
            parent.kill()
    assert found["path"] == f"/{group.name}"
    assert found["folders"][0] == str(group.folders[0])
    assert found["limit"] == "0.2 CPUs"
    assert found["sampled_us"] >= found["throttled_us"] > 100_000
    assert found["cpus"] == [LAST_CPU]
    assert "it is pid 1 in its own namespace" in told["pid namespace"]


@pytest.mark.parametrize("how", [BIND, OWN_NAMESPACE])
def test_from_the_container_beside_it_nothing_of_ones_own_group_is_told_of_it(
    groups: tuple[Groups, Groups], how: str
) -> None:
    """Containers that share a pid namespace, as a debug container and the one it looks at do."""
    mine, others = groups
    code = """
        import json, sys
        from tests.collect.test_containers import facts
        print(json.dumps(facts("/", int(sys.argv[1])) | {"own": facts("/", __import__("os").getpid())}))
    """
    with subprocess.Popen([sys.executable, "-c", SPIN], preexec_fn=others.enter) as target:
        try:
            found = inside(mine, how, code, target.pid, own_pids=False)
        finally:
            target.kill()
    assert found["path"] == (f"/{others.name}" if how == BIND else f"/../{others.name}")
    assert_nothing_is_told(found)
    assert found["own"]["limit"] == "0.2 CPUs"
    assert found["own"]["cpus"] == [LAST_CPU]


def assert_nothing_is_told(found: dict[str, Any]) -> None:
    assert found["folders"] == found["cpus"] == []
    assert found["limit"] is found["throttled_us"] is found["sampled_us"] is None
    assert "not to be seen from here" in found["cpus told"]


# -- the same views in built trees


def contained(root: Path, path: str, group: str, *, is_v2: bool, has_mountinfo: bool = True) -> FakeMachine:
    """What a container sees: ``path`` is its own in ``/proc/PID/cgroup``, ``group`` the root of its mounts."""
    machine = machines.plain_vm(root)
    lines = f"0::{path}\n" if is_v2 else f"3:cpuset:{path}\n1:cpu,cpuacct:{path}\n0::/\n"
    machine.process(1, cgroup=lines)
    machine.write("proc/self/cgroup", lines)
    stat = "nr_periods 9\nnr_throttled 4\n"
    if is_v2:
        machine.write("sys/fs/cgroup/cpu.max", "20000 100000\n")
        machine.write("sys/fs/cgroup/cpu.stat", f"{stat}throttled_usec 700\n")
        machine.write("sys/fs/cgroup/cpuset.cpus.effective", "3\n")
        machine.write("sys/fs/cgroup/cgroup.type", "domain\n")
        mounts = [f"31 23 0:27 {group} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate"]
    else:
        machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "20000\n")
        machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.stat", f"{stat}throttled_time 700000\n")
        machine.write("sys/fs/cgroup/cpuset/cpuset.cpus", "3\n")
        mounts = [
            "30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755",
            f"31 30 0:27 {group} /sys/fs/cgroup/cpu,cpuacct ro shared:9 - cgroup cgroup rw,cpu,cpuacct",
            f"32 30 0:28 {group} /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset",
        ]
    if has_mountinfo:
        machine.write("proc/self/mountinfo", "\n".join(["22 1 8:1 / / rw - ext4 /dev/sda1 rw", *mounts, ""]))
    return machine


VIEWS = [("/docker/a", "/docker/a"), ("/", "/"), ("/docker/a b", r"/docker/a\040b")]


@pytest.mark.parametrize("has_mountinfo", [True, False])
@pytest.mark.parametrize("is_v2", [True, False])
@pytest.mark.parametrize(("path", "group"), VIEWS)
def test_built_from_inside(tmp_path: Path, path: str, group: str, is_v2: bool, has_mountinfo: bool) -> None:
    machine = contained(tmp_path, path, group, is_v2=is_v2, has_mountinfo=has_mountinfo)
    found = facts(machine.root, 1)
    assert found["path"] == path
    assert found["folders"] == ["/sys/fs/cgroup" if is_v2 else "/sys/fs/cgroup/cpu,cpuacct"]
    assert found["limit"] == "0.2 CPUs"
    assert found["throttled_us"] == found["sampled_us"] == 700
    assert found["cpus"] == [3]
    assert found["cpus told"] == "3: a cpuset of 1 of 4"


@pytest.mark.parametrize("is_v2", [True, False])
@pytest.mark.parametrize(
    ("path", "group", "has_mountinfo", "other"),
    [
        ("/docker/a", "/docker/a", True, "/docker/b"),
        ("/docker/a", "/docker/a", False, "/docker/b"),
        ("/", "/", True, "/../b"),
        ("/", "/", False, "/../b"),
        # The host's whole tree, of which nobody can say from here where the own group is in it.
        ("/", "/../..", True, "/../b"),
    ],
)
def test_built_from_the_container_beside_it(
    tmp_path: Path, path: str, group: str, has_mountinfo: bool, other: str, is_v2: bool
) -> None:
    machine = contained(tmp_path, path, group, is_v2=is_v2, has_mountinfo=has_mountinfo)
    machine.process(8, cgroup=f"0::{other}\n" if is_v2 else f"3:cpuset:{other}\n1:cpu,cpuacct:{other}\n0::/\n")
    found = facts(machine.root, 8)
    assert found["path"] == other
    assert_nothing_is_told(found)


@pytest.mark.parametrize("is_v2", [True, False])
def test_built_groups_inside_a_container(tmp_path: Path, is_v2: bool) -> None:
    """A group without a cpuset of its own has that of the one above it."""
    machine = contained(tmp_path, "/docker/a", "/docker/a", is_v2=is_v2)
    lines = "/docker/a/worker\n"
    machine.process(8, cgroup=f"0::{lines}" if is_v2 else f"3:cpuset:{lines}1:cpu,cpuacct:{lines}0::/\n")
    for base in ("sys/fs/cgroup", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpuset"):
        machine.write(f"{base}/worker/cgroup.procs", "8\n")
    found = facts(machine.root, 8)
    assert found["folders"][0].endswith("/worker")
    assert found["limit"] == "0.2 CPUs"
    assert found["cpus"] == [3]


def test_a_mount_hides_the_one_before_it_and_odd_lines_are_passed_over(tmp_path: Path) -> None:
    machine = machines.plain_vm(tmp_path)
    lines = [
        "1 0 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
        "2 0 0:1 /a /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
        "3 0 0:2 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
        "4 0 0:3 / /sys/fs/cgroup/cpuset rw - tmpfs tmpfs rw",
        "torn",
        "5 0 - cgroup",
    ]
    machine.write("proc/self/mountinfo", "\n".join(lines))
    assert [mount.group for mount in mounted_groups(machine.root)] == [("a",)]
