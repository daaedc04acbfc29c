"""The cgroup of a process: which version, where its files are, which CPU limit it has, how it is throttled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from livemon.collect.procfs import read_file, read_int, read_text
from livemon.parse.procfs import parse_cgroups, parse_keyed


def cgroup_version(root: str = "/") -> str | None:
    """``v2``, ``v1`` (cpu controller there) or ``v1 and v2``; ``None`` without cgroups."""
    lines = _lines(root, "self")
    has_v1 = any("cpu" in controllers for controllers, _ in lines)
    has_v2 = any(not controllers for controllers, _ in lines)
    if has_v1:
        return "v1 and v2" if has_v2 else "v1"
    return "v2" if has_v2 else None


def cgroup_path(root: str, pid: int | str) -> str | None:
    """The group in the hierarchy that has the cpu controller, as the kernel names it; ``None`` if unknown."""
    found = _place(root, pid)
    return found[1] if found else None


def cgroup_folders(root: str, pid: int | str) -> list[str]:
    """The folders of a process's group and of those above it, in the hierarchy that has the cpu controller."""
    found = _place(root, pid)
    if found is None:
        return []
    bases, path = found
    base = next((base for base in bases if Path(base).is_dir()), None)
    if base is None:
        return []
    parts = [part for part in path.split("/") if part and part != ".."]
    folders = ["/".join([base, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    # Inside a container the host's path does not exist here: then only the mount's own group is left.
    return [folder for folder in folders if Path(folder).is_dir()]


def throttling(folders: Sequence[str]) -> dict[str, int]:
    """µs, times and periods throttled, of a group and those above it together; empty if none of them tells.

    A quota anywhere above stops a process too. The real root group of v2 can have none, and tells nothing.
    """
    if is_root_group(folders):
        return {"throttled_us": 0, "nr_throttled": 0, "nr_periods": 0}
    sums: dict[str, int] = {}
    for folder in folders:
        try:
            stat = parse_keyed(read_file(f"{folder}/cpu.stat"))
        except OSError:
            continue
        throttled_us = stat.get("throttled_usec")
        if throttled_us is None and "throttled_time" in stat:
            throttled_us = stat["throttled_time"] // 1000  # v1 counts in ns
        if throttled_us is None or "nr_throttled" not in stat:
            continue
        here = {
            "throttled_us": throttled_us,
            "nr_throttled": stat["nr_throttled"],
            "nr_periods": stat.get("nr_periods", 0),
        }
        sums = {name: sums.get(name, 0) + value for name, value in here.items()}
    return sums


def is_root_group(folders: Sequence[str]) -> bool:
    """Whether this is cgroup v2's real root: unlike any other group, a container's root included, it has no type."""
    if len(folders) != 1:
        return False
    folder = Path(folders[0])
    return (folder / "cgroup.controllers").exists() and not (folder / "cgroup.type").exists()


def cpu_limit(root: str = "/", pid: int | str = "self") -> str | None:
    """The least CPU quota of a process's group and those above it, such as ``1.5 CPUs``; ``None`` if there is none."""
    limits = [limit for folder in cgroup_folders(root, pid) if (limit := _quota(folder)) is not None]
    return f"{min(limits):g} CPUs" if limits else None


def _quota(folder: str) -> float | None:
    quota, _, period = (read_text(f"{folder}/cpu.max") or "").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period):
        return int(quota) / int(period)
    limit, every = read_int(f"{folder}/cpu.cfs_quota_us"), read_int(f"{folder}/cpu.cfs_period_us")
    return limit / every if limit and every and limit > 0 else None


def _place(root: str, pid: int | str) -> tuple[list[str], str] | None:
    """Where the hierarchy may be mounted, and the group's path in it."""
    lines = _lines(root, pid)
    mount = f"{root.rstrip('/')}/sys/fs/cgroup"
    for controllers, path in lines:
        if "cpu" in controllers:
            return [f"{mount}/cpu", f"{mount}/cpu,cpuacct"], path
    for controllers, path in lines:
        if not controllers:
            return [f"{mount}/unified", mount], path
    return None


def _lines(root: str, pid: int | str) -> tuple[tuple[frozenset[str], str], ...]:
    try:
        return parse_cgroups(read_file(f"{root.rstrip('/')}/proc/{pid}/cgroup"))
    except OSError:
        return ()
