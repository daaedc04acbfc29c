"""What can be observed on this machine and of this process, what can't, why, and the exact remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from livemon.collect.cgroups import (
    cgroup_folders,
    cgroup_path,
    cgroup_version,
    cpu_limit,
    is_out_of_sight,
    is_root_group,
    throttling,
)
from livemon.collect.perf_groups import class_events
from livemon.collect.perf_layer import KernelPerf, PerfLayer
from livemon.collect.perf_probe import Probed
from livemon.collect.perf_probe import probe as probe_counters
from livemon.collect.procfs import DENIED, list_numbers, read_file, read_text
from livemon.collect.procfs_table import reader_capability
from livemon.collect.thread_opening import schedstat_capabilities
from livemon.collect.topology import cpuset_cpus, read_topology
from livemon.model.facts import Capability, Topology
from livemon.parse.procfs import format_cpu_list, parse_cpu_times, parse_schedstat, parse_status_field

_CAP_SYS_PTRACE = 19
_OWN_DESCRIPTORS = 128
"""What livemon needs besides its threads: logs, the session, files of the machine."""


def probe(pid: int | None = None, root: str = "/", perf: PerfLayer | None = None) -> tuple[Capability, ...]:
    """Every capability, in the order in which a person asks for them.

    Args:
        pid: The process to check it against; ``None``: livemon itself stands for it.
        root: Where ``/proc`` and ``/sys`` are looked for.
        perf: The kernel's perf events, or a script of them.
    """
    if root == "/" and not sys.platform.startswith("linux"):
        return _elsewhere()
    base = root.rstrip("/")
    subject = str(pid) if pid is not None else ("self" if Path(f"{base}/proc/self").exists() else "1")
    topology = read_topology(root, subject)
    counters = probe_counters(perf or KernelPerf(), class_events(topology, root), tid=pid or 0, root=root)
    return (
        _processes(base, subject),
        *_scheduling(base, subject),
        _core_classes(topology),
        *counters.capabilities,
        *_placement(topology, counters),
        *_pressure(base),
        _frequency(base),
        _heat(base),
        _cgroup(root, subject),
        _cpuset(root, subject, topology),
        _descriptors(base, subject, counters),
        *_namespace(base, subject),
    )


def _processes(base: str, subject: str) -> Capability:
    name = "threads of the process"
    mounts = [line.split() for line in (read_text(f"{base}/proc/mounts") or "").splitlines()]
    options = next((mount[3] for mount in reversed(mounts) if mount[1:3] == ["/proc", "proc"]), "")
    hidden = next((option for option in options.split(",") if option.startswith("hidepid=")), "")
    is_hiding = hidden not in {"", "hidepid=0", "hidepid=off"} and not _may_trace(base)
    note = f"; /proc is mounted with {hidden}: other users' processes are hidden" if is_hiding else ""
    try:
        count = len(list_numbers(f"{base}/proc/{subject}/task"))
    except OSError as error:
        if error.errno in DENIED:
            return Capability(
                name, False, f"its task folder is not readable ({error.strerror}){note}", "run livemon as root"
            )
        return Capability(name, False, f"its task folder is not there ({error.strerror}){note}", "mount /proc")
    return Capability(name, True, f"{count} in /proc{note}", "run livemon as root" if note else "")


def _may_trace(base: str) -> bool:
    """Whether livemon has CAP_SYS_PTRACE, from which ``hidepid`` hides nothing."""
    try:
        effective = parse_status_field(read_file(f"{base}/proc/self/status"), b"CapEff")
        return bool(int(effective or "0", 16) >> _CAP_SYS_PTRACE & 1)
    except (OSError, ValueError):
        return False


def _scheduling(base: str, subject: str) -> tuple[Capability, ...]:
    try:
        # A kernel that keeps none may show zeroes; a process that never ran has them too, livemon itself has run.
        has = any(parse_schedstat(read_file(f"{base}/proc/{subject}/schedstat"))) or subject != "self"
    except (OSError, ValueError):
        has = False
    return (*schedstat_capabilities(has), reader_capability(has_schedstat=has))


def _core_classes(topology: Topology) -> Capability:
    if topology.classes in {(), ("unknown",)}:
        remedy = "a kernel that shows cpu_capacity or cpufreq; in a VM the host must pass them on"
        return Capability("core classes", False, topology.class_source, remedy)
    if len(topology.classes) == 1:
        return Capability("core classes", True, topology.class_source)
    return Capability("core classes", True, f"{', '.join(topology.classes)} from {topology.class_source}")


def _placement(topology: Topology, counters: Probed) -> Iterator[Capability]:
    """On which class a thread ran; nothing to be told where there is only one."""
    if len(topology.classes) > 1:
        counted = {event.core_class for event in counters.usable}
        how = "exact, from the counters" if counted >= set(topology.classes) else "an estimate, from the last CPU"
        yield Capability("placement on core classes", True, how)


def _pressure(base: str) -> Iterator[Capability]:
    try:
        read_file(f"{base}/proc/pressure/cpu")
        yield Capability("pressure stall information", True, "/proc/pressure")
    except OSError as error:
        yield Capability("pressure stall information", False, *_no_pressure(base, error))
    try:
        times = parse_cpu_times(read_file(f"{base}/proc/stat"))
    except OSError as error:
        times = ()
        yield Capability("steal and interrupt time", False, f"/proc/stat is not readable ({error.strerror})")
    if times:
        yield Capability("steal and interrupt time", True, "/proc/stat")


def _no_pressure(base: str, error: OSError) -> tuple[str, str]:
    """Kernels that have it may be built to start without it: those of RHEL and its kin are."""
    release = read_text(f"{base}/proc/sys/kernel/osrelease") or ""
    config = read_text(f"{base}/boot/config-{release}") or ""
    if "CONFIG_PSI=y" in config.split() or Path(f"{base}/proc/pressure/cpu").exists():
        return f"this kernel has it, but it is off ({error.strerror})", "boot with psi=1 on the kernel's command line"
    if "# CONFIG_PSI is not set" in config:
        return "not in this kernel (CONFIG_PSI is not set)", "boot a kernel with CONFIG_PSI=y"
    return (
        "off, or not in this kernel (no /proc/pressure)",
        "boot with psi=1 on the kernel's command line; if that changes nothing, a kernel with CONFIG_PSI=y",
    )


def _frequency(base: str) -> Capability:
    cpu0 = f"{base}/sys/devices/system/cpu/cpu0/cpufreq"
    if read_text(f"{cpu0}/scaling_cur_freq") is not None:
        return Capability("CPU frequency", True, f"cpufreq ({read_text(f'{cpu0}/scaling_driver') or 'unknown driver'})")
    stand_in = "cycles per ns stand in where counters are"
    if _is_vm(base):
        return Capability("CPU frequency", False, f"this VM shows none; {stand_in}")
    remedy = "modprobe acpi_cpufreq  (as root), or boot without intel_pstate=disable or amd_pstate=disable"
    return Capability("CPU frequency", False, f"no cpufreq driver; {stand_in}", remedy)


def _is_vm(base: str) -> bool:
    return " hypervisor" in (read_text(f"{base}/proc/cpuinfo") or "")


def _heat(base: str) -> Capability:
    if Path(f"{base}/sys/devices/system/cpu/cpu0/thermal_throttle").is_dir():
        return Capability("thermal throttling", True, "counts in sysfs")
    why = "this VM shows none" if _is_vm(base) else "this kernel keeps them for Intel CPUs only"
    return Capability("thermal throttling", False, f"no throttle counts: {why}")


def _cgroup(root: str, subject: str) -> Capability:
    name = "cgroup throttling"
    version = cgroup_version(root)
    if version is None:
        return Capability(name, False, "no cgroups", "mount -t cgroup2 none /sys/fs/cgroup  (as root)")
    folders, path = cgroup_folders(root, subject), cgroup_path(root, subject)
    limit = cpu_limit(root, subject)
    if is_root_group(folders):
        return Capability(name, True, f"cgroup {version}, the root group: no limit can throttle it")
    if throttling(folders):
        return Capability(name, True, f"cgroup {version}, {path}, {f'limit {limit}' if limit else 'no CPU limit'}")
    if not any(Path(f"{folder}/cpu.stat").exists() for folder in folders):
        remedy = "docker run -v /sys/fs/cgroup:/sys/fs/cgroup:ro …, or run livemon outside the container"
        return Capability(name, False, f"cgroup {version}, but {path} is not under /sys/fs/cgroup here", remedy)
    reason = (
        f"cgroup {version}, but {path} and the groups above it have no cpu controller: no limit of theirs throttles it"
    )
    above = folders[1] if len(folders) > 1 else folders[0]
    return Capability(name, False, reason, f"echo +cpu > {above}/cgroup.subtree_control  (as root)")


def _cpuset(root: str, subject: str, topology: Topology) -> Capability:
    allowed = cpuset_cpus(root, subject)
    cpus = format_cpu_list(cpu.cpu for cpu in topology.cpus)
    if allowed and len(topology.cpus) < topology.online:
        return Capability("CPUs of the process", True, f"{cpus}: a cpuset of {len(topology.cpus)} of {topology.online}")
    which = "all that are online"
    if is_out_of_sight(root, subject, "cpuset"):
        which += "; whether a cpuset leaves it fewer is not to be seen from here, its group is outside /sys/fs/cgroup"
    return Capability("CPUs of the process", bool(cpus), f"{cpus}: {which}" if cpus else "no CPU list in sysfs")


def _descriptors(base: str, subject: str, counters: Probed) -> Capability:
    import resource  # not there on Windows, where the rest of this module may be imported

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        threads = len(list_numbers(f"{base}/proc/{subject}/task"))
    except OSError:
        threads = 1
    needed = threads * (2 + 2 * sum(len(event.places) for event in counters.usable)) + _OWN_DESCRIPTORS
    has_room = hard == resource.RLIM_INFINITY or hard >= needed
    limit = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    reason = f"{needed} needed for {threads} thread{'s' if threads != 1 else ''}"
    reason += f"; the limit is {limit}" if soft == hard else f"; the limit is {soft}, which livemon raises to {limit}"
    if has_room:
        return Capability("open files", True, reason)
    reason += ": threads beyond it are read once a second, without counters"
    remedy = (
        f"as root: ulimit -n {2 * needed}, and start livemon from there (docker run --ulimit nofile={2 * needed} …)"
    )
    return Capability("open files", False, reason, remedy)


def _namespace(base: str, subject: str) -> Iterator[Capability]:
    try:
        numbers = (parse_status_field(read_file(f"{base}/proc/{subject}/status"), b"NSpid") or "").split()
    except OSError:
        return
    if len(numbers) > 1:
        reason = f"it is pid {numbers[-1]} in its own namespace: thread ids in its log are not those that livemon shows"
        yield Capability("pid namespace", False, reason, "run livemon inside the container (docker exec) to match ids")
    if subject not in {"self", "1"}:
        try:
            os.readlink(f"{base}/proc/{subject}/exe")  # noqa: PTH115  (a permission check, not a path)
            yield Capability("exec events", True, "/proc/PID/exe")
        except OSError as error:
            remedy = "run livemon as its user or as root" if error.errno in DENIED else ""
            yield Capability("exec events", False, f"/proc/PID/exe is not readable ({error.strerror})", remedy)


def _elsewhere() -> tuple[Capability, ...]:
    if sys.platform == "darwin":
        from livemon.collect.darwin import capabilities
    else:
        from livemon.collect.portable import capabilities
    return capabilities()
