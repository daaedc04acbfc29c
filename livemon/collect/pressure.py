"""What presses on the target from outside, once a second: PSI, steal, interrupts, frequency, quota, heat.

All values are cumulative as the kernel has them (frequencies are momentary). A file that is not there
leaves its name out; nothing is filled in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from livemon.collect.cgroups import cgroup_folders, throttling
from livemon.collect.procfs import read_file, read_text
from livemon.collect.topology import classes_of_new, cpuset_cpus, online_cpus, read_topology
from livemon.model.clock import Clock
from livemon.model.facts import Topology
from livemon.model.samples import MachineSample, Note, Sample
from livemon.parse.procfs import (
    CpuTimes,
    format_cpu_list,
    parse_cpu_times,
    parse_pressure,
    parse_stat,
)

_FILES_A_SAMPLE = 64
"""Per-CPU files read in one sample; on bigger machines they take turns."""
_KEPT_BYTES = 1 << 16
_LOOK_NS = 5_000_000_000
"""What seldom changes (CPUs, cpuset, cgroup, which files there are) is looked up again after so long."""


class PressureSampler:
    """Reads the machine's pressure for some processes.

    Args:
        pids: The target; its first living process names the cgroup.
        root: Where ``/proc`` and ``/sys`` are looked for.
        clock: Unused but for symmetry with the other samplers: times come with each call.
        topology: The CPUs as the session has them: the core class of one that comes online later is told in
            every sample from then on, as ``cpuN_core_class``, its place among these classes.
    """

    def __init__(
        self, pids: Iterable[int], root: str = "/", clock: Clock | None = None, topology: Topology | None = None
    ) -> None:
        self._pids = list(pids)
        self._root = root
        self._base = root.rstrip("/")
        self._online = online_cpus(root)
        self._topology = topology
        self._new_classes: dict[str, int] = {}
        self._counted: frozenset[int] = frozenset()
        """CPUs that ``/proc/stat`` lists: those online."""
        self._cpuset = self._target_cpuset()
        self._majflt: dict[int, tuple[int, int]] = {}
        """By pid: faults at the first and at the newest look."""
        self._past_majflt: int | None = None
        """Faults of processes that ended; ``None`` while there are none."""
        self._look_ns = 0
        self._folders: list[str] = []
        """The target's cgroup and those above it."""
        self._kept = _KeptFiles()
        self._frequencies = _PerCpuFiles()
        self._throttles = _PerCpuFiles()
        self._open_files()

    def add_process(self, pid: int) -> None:
        """Count this process's page faults too."""
        if pid not in self._pids:
            self._pids.append(pid)
            self._look_ns = 0

    def remove_process(self, pid: int) -> None:
        """A process has ended: its page faults up to the last look stay counted."""
        if pid in self._pids:
            self._pids.remove(pid)
            self._look_ns = 0
        if pid in self._majflt:
            first, last = self._majflt.pop(pid)
            self._past_majflt = (self._past_majflt or 0) + last - first

    def sample(self, now_ns: int) -> list[Sample]:
        """A ``MachineSample``, after notes about CPUs that came, went or were taken away."""
        out: list[Sample] = []
        times = parse_cpu_times(self._kept.read(f"{self._base}/proc/stat"))
        counted = frozenset(time.cpu for time in times)
        if now_ns >= self._look_ns or counted != self._counted:
            self._counted = counted
            self._look_ns = now_ns + _LOOK_NS
            out += self._changes(now_ns)
            self._folders = next(filter(None, (cgroup_folders(self._root, pid) for pid in self._pids)), [])
            self._kept.look_again()
        values: dict[str, int] = {}
        self._read_psi(values)
        self._take_cpu_times(times, values)
        self._read_cgroup(values)
        values.update(self._frequencies.read())
        self._throttles.read()
        if self._throttles.is_complete:
            values["thermal_throttle_count"] = sum(self._throttles.last.values())
        self._read_faults(values)
        values |= self._new_classes
        out.append(MachineSample(now_ns, tuple(values.items())))
        return out

    def close(self) -> None:
        """Close the kept files."""
        self._kept.close()
        self._frequencies.close()
        self._throttles.close()

    def _open_files(self) -> None:
        """Open the files of the CPUs that are there now."""
        cpus = f"{self._base}/sys/devices/system/cpu"
        self._frequencies.open(
            {f"cpu{n}_freq_khz": f"{cpus}/cpu{n}/cpufreq/scaling_cur_freq" for n in self._cpuset or self._online}
        )
        self._throttles.open(_throttle_files(Path(cpus), self._online))

    def _read_psi(self, values: dict[str, int]) -> None:
        for resource in ("cpu", "memory", "io", "irq"):
            data = self._kept.read(f"{self._base}/proc/pressure/{resource}")
            for kind, total in parse_pressure(data).items():
                if (resource, kind) != ("cpu", "full"):  # not defined for the whole machine: the kernel shows 0
                    values[f"psi_{resource}_{kind}_us"] = total

    def _take_cpu_times(self, several: Iterable[CpuTimes], values: dict[str, int]) -> None:
        for times in several:
            if times.cpu < 0:
                if times.steal_ticks is not None:
                    values["steal_ticks"] = times.steal_ticks
                values["machine_busy_ticks"] = times.busy_ticks
                values["machine_total_ticks"] = times.total_ticks
            elif not self._cpuset or times.cpu in self._cpuset:
                values[f"cpu{times.cpu}_irq_ticks"] = times.irq_ticks
                values[f"cpu{times.cpu}_softirq_ticks"] = times.softirq_ticks

    def _read_cgroup(self, values: dict[str, int]) -> None:
        for name, value in throttling(self._folders, self._kept.read).items():
            values[f"cgroup_{name}"] = value
        for folder in self._folders[:1]:
            for resource in ("cpu", "memory", "io"):
                for kind, total in parse_pressure(self._kept.read(f"{folder}/{resource}.pressure")).items():
                    values[f"cgroup_psi_{resource}_{kind}_us"] = total

    def _read_faults(self, values: dict[str, int]) -> None:
        """Major faults since livemon looks at each process, those that ended included."""
        for pid in self._pids:
            try:
                faults = parse_stat(read_file(f"{self._base}/proc/{pid}/stat")).majflt
            except (OSError, ValueError):
                continue
            first, _ = self._majflt.setdefault(pid, (faults, faults))
            self._majflt[pid] = first, max(first, faults)
        if self._majflt or self._past_majflt is not None:
            now = sum(last - first for first, last in self._majflt.values())
            values["target_majflt"] = now + (self._past_majflt or 0)

    def _target_cpuset(self) -> tuple[int, ...]:
        for pid in self._pids:
            cpus = cpuset_cpus(self._root, pid)
            if cpus:
                return cpus
        return ()

    def _changes(self, now_ns: int) -> Iterable[Sample]:
        online, cpuset = online_cpus(self._root), self._target_cpuset()
        if online and online != self._online:
            went, came = set(self._online) - set(online), set(online) - set(self._online)
            if went:
                yield Note(now_ns, "warning", f"CPU {format_cpu_list(went)} went offline")
            if came:
                yield Note(now_ns, "info", f"CPU {format_cpu_list(came)} came online")
                yield from self._take_classes(now_ns, came)
            self._online = online
            self._open_files()
        if cpuset and cpuset != self._cpuset:
            before = format_cpu_list(self._cpuset) or "none"
            yield Note(now_ns, "warning", f"the target's cpuset changed from {before} to {format_cpu_list(cpuset)}")
            self._cpuset = cpuset
            self._open_files()

    def _take_classes(self, now_ns: int, came: set[int]) -> Iterable[Sample]:
        """The core classes of CPUs that were not there when the session began."""
        if self._topology is None:
            return
        now = read_topology(self._root, next(iter(self._pids), "self"))
        found = classes_of_new(self._topology, now)
        order = {name: place for place, name in enumerate(self._topology.classes)}
        places = {cpu: order[name] for cpu, name in found.items() if name in order}
        self._new_classes |= {f"cpu{cpu}_core_class": place for cpu, place in places.items()}
        strange = [cpu for cpu in came if cpu in found and cpu not in places]
        if strange:
            names = ", ".join(sorted({now.class_of(cpu) for cpu in strange}))
            text = (
                f"CPU {format_cpu_list(strange)} is of a core class ({names}) of which no CPU was online when the"
                " recording began: without hardware counters, placement on it is unknown"
            )
            yield Note(now_ns, "warning", text, "start livemon again")


class _KeptFiles:
    """Whole small files, kept open; one that is not there is not asked for again before ``look_again``."""

    def __init__(self) -> None:
        self._fds: dict[str, int | None] = {}

    def read(self, path: str) -> bytes:
        """The file's text as it is now; empty if it can't be read."""
        try:
            fd = self._fds[path] if path in self._fds else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._fds[path] = fd
            return b"" if fd is None else os.pread(fd, _KEPT_BYTES, 0)
        except OSError:
            self._drop(path)
            return b""

    def _drop(self, path: str) -> None:
        fd = self._fds.get(path)
        if fd is not None:
            os.close(fd)
        self._fds[path] = None

    def look_again(self) -> None:
        """Try once more what could not be read."""
        self._fds = {path: fd for path, fd in self._fds.items() if fd is not None}

    def close(self) -> None:
        for path in list(self._fds):
            self._drop(path)


class _PerCpuFiles:
    """Numbers in many small files, kept open and read some at a time."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        self._next = 0
        self.last: dict[str, int] = {}
        """The newest value of each file, those of CPUs that went included."""

    def open(self, files: dict[str, str]) -> None:
        """Read these files from now on."""
        self.close()
        for name, path in files.items():
            try:
                self._open.append((name, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
            except OSError:
                continue  # not there, or no descriptor left: its name stays out of the samples

    @property
    def is_complete(self) -> bool:
        """Whether there are files and each has been read at least once."""
        return bool(self._open) and all(name in self.last for name, _ in self._open)

    def read(self) -> dict[str, int]:
        """The values of this sample's share."""
        values = {}
        for _ in range(min(len(self._open), _FILES_A_SAMPLE)):
            self._next = (self._next + 1) % len(self._open)
            name, descriptor = self._open[self._next]
            try:
                values[name] = int(os.pread(descriptor, 64, 0))
            except (OSError, ValueError):
                continue
        self.last.update(values)
        return values

    def close(self) -> None:
        for _, descriptor in self._open:
            os.close(descriptor)
        self._open.clear()


def _throttle_files(cpus: Path, online: Iterable[int]) -> dict[str, str]:
    """The count of one CPU of each core, and of each package: the others of it repeat them."""
    files: dict[str, str] = {}
    for number in online:
        base = cpus / f"cpu{number}"
        if not (base / "thermal_throttle").is_dir():
            continue
        package = read_text(f"{base}/topology/physical_package_id")
        core = read_text(f"{base}/topology/core_id")
        files.setdefault(f"core{package}.{core}", f"{base}/thermal_throttle/core_throttle_count")
        files.setdefault(f"package{package}", f"{base}/thermal_throttle/package_throttle_count")
    return files
