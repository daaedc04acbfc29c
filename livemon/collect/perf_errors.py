"""Why the kernel refuses a counter, and what to do: a different answer for each errno."""

from __future__ import annotations

import errno

from livemon.collect.procfs import read_int, read_text
from livemon.parse.procfs import parse_status_field

REFUSED = frozenset({errno.EACCES, errno.EPERM})
_UNCONFINED = (
    "docker run --cap-add PERFMON --security-opt seccomp=unconfined …; Kubernetes: capabilities.add PERFMON"
    " and seccompProfile Unconfined"
)
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
        if _is_filtered(base):
            return f"{event} are not allowed (EPERM): a seccomp filter is in force, as in a container", _UNCONFINED
        policy = "a security policy (SELinux, AppArmor, lockdown) or a missing capability"
        return f"{event} are not allowed (EPERM): {policy}", "run livemon as root, or: journalctl -k --grep 'denied'"
    if code in NOT_THERE:
        if " hypervisor" in (read_text(f"{base}/proc/cpuinfo") or ""):
            return (
                f"{event} do not exist here ({_name(code)}): this virtual machine exposes no PMU",
                "give the VM a PMU (libvirt: <pmu state='on'/>; QEMU: -cpu host,pmu=on; cloud: a metal instance)",
            )
        return f"{event} do not exist here ({_name(code)}): this kernel has no driver for this CPU's PMU", ""
    if code == errno.ENOSYS and _is_filtered(base):
        filtered = "perf_event_open does not exist, or a seccomp filter hides it, as in a container"
        return f"{event} are not in this kernel (ENOSYS): {filtered}", _UNCONFINED
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
    """EACCES comes from the paranoid level, or from the process being another user's (or not dumpable).

    Up to level 2 user-space counts of one's own processes are allowed, and these have been tried.
    """
    setting = f"{event} are not allowed (EACCES): kernel.perf_event_paranoid is"
    allow = "sudo sysctl kernel.perf_event_paranoid=1"
    if level is None:
        return f"{setting} unreadable", allow
    if level > 2:
        return f"{setting} {level}, which forbids every use without privileges", allow
    return (
        f"{setting} {level}, which allows counts of one's own processes only: this one is another user's or protected",
        "run livemon as the process's user or as root (or with CAP_PERFMON: docker run --cap-add PERFMON …)",
    )


def _is_filtered(base: str) -> bool:
    """Whether livemon itself runs under a seccomp filter."""
    status = read_text(f"{base}/proc/self/status") or ""
    return parse_status_field(status.encode(), b"Seccomp") == "2"


def _name(code: int | None) -> str:
    return errno.errorcode.get(code, f"errno {code}") if code is not None else "no errno"
