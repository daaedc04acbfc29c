"""Builds a ``/proc`` and ``/sys`` in a folder: the machines this project must know but does not run on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from livemon.parse.procfs import format_cpu_list


class FakeMachine:
    """A root folder; every method writes the files that a kernel would show."""

    def __init__(self, root: Path) -> None:
        self.path = root
        self.root = str(root)
        self.write("proc/cpuinfo", "processor : 0\nmodel name : Fake CPU\nflags : fpu sse\n")
        self.write("proc/sys/kernel/perf_event_paranoid", "2")
        (root / "sys/bus/event_source/devices").mkdir(parents=True)

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file in place, so that descriptors that are kept open see the new text."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode() if isinstance(text, str) else text
        with file.open("r+b" if file.exists() else "wb") as out:
            out.write(data)
            out.truncate()

    def remove(self, path: str) -> None:
        (self.path / path).unlink()

    # -- CPUs

    def cpus(self, numbers: Iterable[int], **files: int | str) -> None:
        """CPUs that are alike; keyword arguments are files, ``__`` standing for ``/``."""
        for number in numbers:
            base = f"sys/devices/system/cpu/cpu{number}"
            self.write(f"{base}/topology/core_id", str(number))
            self.write(f"{base}/topology/physical_package_id", "0")
            for name, value in files.items():
                self.write(f"{base}/{name.replace('__', '/')}", f"{value}\n")

    def online(self, numbers: Iterable[int]) -> None:
        self.write("sys/devices/system/cpu/online", format_cpu_list(numbers) + "\n")

    def siblings(self, *groups: Iterable[int]) -> None:
        for group in groups:
            numbers = list(group)
            for number in numbers:
                self.write(f"sys/devices/system/cpu/cpu{number}/topology/core_cpus_list", format_cpu_list(numbers))

    def cache(self, level: int, *groups: Iterable[int]) -> None:
        for group in groups:
            numbers = list(group)
            for number in numbers:
                base = f"sys/devices/system/cpu/cpu{number}/cache/index{level}"
                self.write(f"{base}/level", str(level))
                self.write(f"{base}/shared_cpu_list", format_cpu_list(numbers))

    def nodes(self, *groups: Iterable[int]) -> None:
        for node, group in enumerate(groups):
            for number in group:
                (self.path / f"sys/devices/system/cpu/cpu{number}/node{node}").mkdir(parents=True)

    def pmu(self, name: str, kind: int, cpus: str | None, **events: str) -> None:
        base = f"sys/bus/event_source/devices/{name}"
        self.write(f"{base}/type", str(kind))
        if cpus is not None:
            self.write(f"{base}/cpus", cpus + "\n")
        self.write(f"{base}/format/event", "config:0-7\n")
        for event, code in events.items():
            self.write(f"{base}/events/{event.replace('_', '-') if name.startswith('cpu') else event}", code)

    # -- processes

    def process(self, pid: int, name: str = "serve", *, ppid: int = 1, cgroup: str = "0::/\n") -> None:
        """A process with its first thread."""
        self.write(f"proc/{pid}/stat", stat_line(pid, name, ppid=ppid))
        self.write(f"proc/{pid}/status", f"Name:\t{name}\nTgid:\t{pid}\nNSpid:\t{pid}\n")
        self.write(f"proc/{pid}/cmdline", f"{name}\0--port\00080\0")
        self.write(f"proc/{pid}/cgroup", cgroup)
        self.thread(pid, pid, name, ppid=ppid)

    def thread(
        self,
        pid: int,
        tid: int,
        name: str | bytes = "worker",
        *,
        schedstat: tuple[int, int, int] | None = (1_000_000, 500, 3),
        **stat: int,
    ) -> None:
        """A thread, new or with new readings."""
        base = f"proc/{pid}/task/{tid}"
        self.write(f"{base}/stat", stat_line(tid, name, **stat))
        self.write(f"{base}/status", "Name:\tx\nCpus_allowed_list:\t0-3\n")
        if schedstat is not None:
            self.write(f"{base}/schedstat", "{} {} {}\n".format(*schedstat))
            if pid == tid:
                self.write(f"proc/{pid}/schedstat", "{} {} {}\n".format(*schedstat))

    def end_thread(self, pid: int, tid: int) -> None:
        base = self.path / f"proc/{pid}/task/{tid}"
        for file in base.iterdir():
            file.unlink()
        base.rmdir()

    def end_process(self, pid: int) -> None:
        os.rename(self.path / f"proc/{pid}", self.path / f"ended-{pid}")
        for tid in (self.path / f"ended-{pid}/task").iterdir():
            for file in tid.iterdir():
                file.unlink()


def stat_line(
    tid: int,
    name: str | bytes = "worker",
    *,
    state: str = "S",
    ppid: int = 1,
    cpu: int = 0,
    ticks: int = 10,
    start: int = 100,
    majflt: int = 0,
) -> bytes:
    raw = name.encode() if isinstance(name, str) else name
    head = f"{state} {ppid} 1 1 0 -1 0 0 0 {majflt} 0 {ticks} 0 0 0 20 0 1 0 {start} 0 0 "
    return f"{tid} (".encode() + raw + b") " + (head + "0 " * 13 + f"17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n").encode()


def intel_hybrid(root: Path) -> FakeMachine:
    """4 P cores with SMT (0-7), 8 E cores (8-15)."""
    machine = FakeMachine(root)
    machine.online(range(16))
    machine.cpus(range(8), cpufreq__cpuinfo_max_freq=5_200_000)
    machine.cpus(range(4, 6), cpufreq__cpuinfo_max_freq=5_400_000)  # a favoured core, no class of its own
    machine.cpus(range(8, 16), cpufreq__cpuinfo_max_freq=3_900_000)
    machine.siblings(*[(n, n + 1) for n in range(0, 8, 2)], *[(n,) for n in range(8, 16)])
    machine.cache(3, range(16))
    machine.pmu("cpu_core", 4, "0-7", cpu_cycles="event=0x3c", instructions="event=0xc0")
    machine.pmu("cpu_atom", 10, "8-15", cpu_cycles="event=0x3c", instructions="event=0xc0")
    machine.pmu("uncore_imc_0", 20, None)
    return machine


def intel_low_power(root: Path) -> FakeMachine:
    """4 P (0-3), 8 E (4-11), 2 LP-E (12-13) that have no share of the big cache; E and LP-E on one PMU."""
    machine = FakeMachine(root)
    machine.online(range(14))
    machine.cpus(range(4), cpufreq__cpuinfo_max_freq=4_800_000)
    machine.cpus(range(4, 12), cpufreq__cpuinfo_max_freq=3_800_000)
    machine.cpus(range(12, 14), cpufreq__cpuinfo_max_freq=2_500_000)
    machine.cache(3, range(12))
    machine.cache(2, (12, 13))
    machine.pmu("cpu_core", 4, "0-3", cpu_cycles="event=0x3c", instructions="event=0xc0")
    machine.pmu("cpu_atom", 10, "4-13", cpu_cycles="event=0x3c", instructions="event=0xc0")
    return machine


def big_little(root: Path) -> FakeMachine:
    """Three clusters: 4 little (0-3), 3 middle (4-6), 1 prime (7), each with its PMU."""
    machine = FakeMachine(root)
    machine.online(range(8))
    machine.cpus(range(4), cpu_capacity=250)
    machine.cpus(range(4, 7), cpu_capacity=870)
    machine.cpus((7,), cpu_capacity=1024)
    machine.pmu("armv8_cortex_a55", 8, "0-3", cpu_cycles="event=0x0011", inst_retired="event=0x0008")
    machine.pmu("armv8_cortex_a78", 9, "4-6", cpu_cycles="event=0x0011", inst_retired="event=0x0008")
    machine.pmu("armv8_cortex_x1", 11, "7", cpu_cycles="event=0x0011", inst_retired="event=0x0008")
    return machine


def amd_dense(root: Path) -> FakeMachine:
    """4 classic cores (0-3), 8 dense ones (4-11): one PMU, told apart by frequency."""
    machine = FakeMachine(root)
    machine.online(range(12))
    machine.cpus(range(4), cpufreq__cpuinfo_max_freq=5_100_000, cpufreq__amd_pstate_prefcore_ranking=230)
    machine.cpus(range(4, 12), cpufreq__cpuinfo_max_freq=3_300_000, cpufreq__amd_pstate_prefcore_ranking=140)
    machine.pmu("cpu", 4, None, cpu_cycles="event=0x76", instructions="event=0xc0")
    return machine


def two_sockets(root: Path) -> FakeMachine:
    """2 sockets of 4 cores, alike: two nodes, two last-level caches."""
    machine = FakeMachine(root)
    machine.online(range(8))
    machine.cpus(range(8), cpufreq__cpuinfo_max_freq=3_000_000)
    machine.cpus(range(4, 8), topology__physical_package_id=1)
    machine.nodes(range(4), range(4, 8))
    machine.cache(3, range(4), range(4, 8))
    machine.pmu("cpu", 4, None, cpu_cycles="event=0x3c", instructions="event=0xc0")
    return machine


def plain_vm(root: Path) -> FakeMachine:
    """A VM: no PMU, no frequencies, no capacities."""
    machine = FakeMachine(root)
    machine.write("proc/cpuinfo", "processor : 0\nflags : fpu hypervisor sse\n")
    machine.online(range(4))
    machine.cpus(range(4))
    return machine


def big_host_with_cpuset(root: Path) -> FakeMachine:
    """224 CPUs, of which the container has 16."""
    machine = FakeMachine(root)
    machine.online(range(224))
    machine.cpus(range(224), cpufreq__cpuinfo_max_freq=3_500_000)
    machine.process(7, cgroup="0::/kubepods/pod1/c1\n")
    machine.write("sys/fs/cgroup/kubepods/pod1/c1/cpuset.cpus.effective", "32-39,144-151\n")
    return machine
