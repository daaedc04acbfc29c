"""Why the kernel refuses a counter, and what to do: a different answer for each errno."""

from __future__ import annotations

import errno

from livemon.collect.procfs import read_int, read_text

REFUSED = frozenset({errno.EACCES, errno.EPERM})
NOT_THERE = frozenset({errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO})


def explain(code: int | None, root: str = "/", event: str = "hardware counters") -> tuple[str, str]:
    """Reason and remedy for an errno of ``perf_event_open``; the remedy may be empty.

    Args:
        code: The errno.
        root: Where ``/proc`` is looked for: the reason depends on this machine's settings.
        event: What was asked for, to begin the sentence.
    """
    base = root.rstrip("/")
    level = read_int(f"{base}/proc/sys/kernel/perf_event_paranoid")
    if code == errno.EACCES:
        return _not_allowed(event, level)
    if code == errno.EPERM:
        return (
            f"{event} are not allowed (EPERM): a seccomp filter or missing capability, as in a container",
            "docker run --cap-add PERFMON --security-opt seccomp=unconfined …; Kubernetes: capabilities.add PERFMON",
        )
    if code in NOT_THERE:
        if " hypervisor" in (read_text(f"{base}/proc/cpuinfo") or ""):
            return (
                f"{event} do not exist here ({_name(code)}): this virtual machine exposes no PMU",
                "give the VM a PMU (libvirt: <pmu state='on'/>; QEMU: -cpu host,pmu=on; cloud: a metal instance)",
            )
        return f"{event} do not exist here ({_name(code)}): this kernel has no driver for this CPU's PMU", ""
    if code == errno.ENOSYS:
        return (
            f"{event} are not in this kernel (ENOSYS): perf_event_open does not exist",
            "boot a kernel with CONFIG_PERF_EVENTS=y (a sandbox such as gVisor has none: run livemon outside it)",
        )
    if code in {errno.EMFILE, errno.ENFILE}:
        return f"{event} need more open files than allowed ({_name(code)})", "ulimit -n 65536 before starting livemon"
    if code == errno.EBUSY:
        return f"{event} are taken (EBUSY): another tool holds this PMU exclusively", "stop the other profiler"
    if code == errno.ESRCH:
        return f"{event}: the thread has ended (ESRCH)", ""
    return f"{event} were refused by the kernel ({_name(code)})", ""


def _not_allowed(event: str, level: int | None) -> tuple[str, str]:
    """EACCES comes from the paranoid level, or from the process being another user's."""
    setting = f"{event} are not allowed (EACCES): kernel.perf_event_paranoid is"
    allow = "sudo sysctl kernel.perf_event_paranoid=1"
    if level is None:
        return f"{setting} unreadable", allow
    if level > 2:
        return f"{setting} {level}, which forbids every use without privileges", allow
    if level == 2:
        return f"{setting} 2, which allows user-space counts of one's own processes only", allow
    return (
        f"{setting} {level}, which should allow it: the process belongs to another user",
        "run livemon as the process's user or as root",
    )


def _name(code: int | None) -> str:
    return errno.errorcode.get(code, f"errno {code}") if code is not None else "no errno"
