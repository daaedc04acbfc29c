"""The cgroup of a process: which version, where its files are, which CPU limit it has, how it is throttled."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from livemon.collect.procfs import read_file, read_int, read_text
from livemon.parse.procfs import parse_cgroups, parse_keyed

_ESCAPE = re.compile(r"\\([0-7]{3})")


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
    found = _group(root, pid, "cpu")
    return found[1] if found else None


def cgroup_folders(root: str, pid: int | str, controller: str = "cpu") -> list[str]:
    """The folders of a process's group and of those above it, in the hierarchy that has the controller.

    Empty where the group is outside what is mounted here, as that of another container is: the folders
    that are here would tell of somebody else.
    """
    found = _group(root, pid, controller)
    if found is None:
        return []
    is_v2, path = found
    parts = _parts(path)
    mounts = mounted_groups(root)
    for mount in reversed(mounts):
        if controller in mount.controllers if not is_v2 else mount.is_v2:
            below = parts[len(mount.group) :]
            is_below = parts[: len(mount.group)] == mount.group and ".." not in below
            if is_below and (folders := _chain(mount.folder, below)):
                return folders
    return [] if mounts else _usual_folders(root, controller, is_v2, parts)


def is_out_of_sight(root: str, pid: int | str, controller: str) -> bool:
    """Whether a process is in a group whose files are not here, such as that of another container."""
    return _group(root, pid, controller) is not None and not cgroup_folders(root, pid, controller)


def _usual_folders(root: str, controller: str, is_v2: bool, parts: tuple[str, ...]) -> list[str]:
    """Where hierarchies usually are, when ``mountinfo`` does not say.

    Inside a container the host's path does not exist here: then only the mount's own group is left, if it
    is the process's.
    """
    mount = f"{root.rstrip('/')}/sys/fs/cgroup"
    bases = [f"{mount}/unified", mount] if is_v2 else [f"{mount}/{controller}", f"{mount}/cpu,cpuacct"]
    base = next((base for base in bases if Path(base).is_dir()), None)
    own = _group(root, "self", controller)
    if base is None or ".." in parts:
        return []
    if parts and not Path(base, *parts).is_dir() and own is not None and _parts(own[1]) != parts:
        return []
    return _chain(base, parts)


def _chain(base: str, parts: tuple[str, ...]) -> list[str]:
    """A group's folder and those above it, as far as they are here."""
    folders = ["/".join([base, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return [folder for folder in folders if Path(folder).is_dir()]


def throttling(folders: Sequence[str], read: Callable[[str], bytes] = read_file) -> dict[str, int]:
    """µs, times and periods throttled, of a group and those above it together; empty if none of them tells.

    A quota anywhere above stops a process too. The real root group of v2 can have none, and tells nothing.
    """
    if is_root_group(folders):
        return {"throttled_us": 0, "nr_throttled": 0, "nr_periods": 0}
    sums: dict[str, int] = {}
    for folder in folders:
        try:
            stat = parse_keyed(read(f"{folder}/cpu.stat"))
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


class Mounted(NamedTuple):
    """A cgroup hierarchy, or the part of one below a group, that is mounted here."""

    folder: str
    group: tuple[str, ...]
    """Path of the group that is seen at ``folder``, counted from livemon's own cgroup namespace like paths
    in ``/proc/PID/cgroup``; ``..`` leads out of it."""
    controllers: frozenset[str]
    is_v2: bool


@lru_cache(maxsize=4)
def mounted_groups(root: str) -> tuple[Mounted, ...]:
    """What ``/proc/self/mountinfo`` says, in order: a later one at the same place hides the earlier.

    Asked for again every second, while mounts of cgroups never change in practice: read once.
    """
    try:
        lines = read_file(f"{root.rstrip('/')}/proc/self/mountinfo").decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ()
    found: dict[str, Mounted] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, (kind, *rest) = before.split(" "), after.split(" ") or [""]
        if len(fields) < 5:
            continue
        folder = root.rstrip("/") + _plain(fields[4])
        found.pop(folder, None)
        if kind in {"cgroup", "cgroup2"}:
            options = frozenset(rest[-1].split(",") if rest else ())
            found[folder] = Mounted(folder, _parts(_plain(fields[3])), options, kind == "cgroup2")
    return tuple(found.values())


def _plain(text: str) -> str:
    """A path of ``mountinfo`` without its octal escapes."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _group(root: str, pid: int | str, controller: str) -> tuple[bool, str] | None:
    """Whether the hierarchy that has a controller is that of v2, and the path of the process's group in it."""
    lines = _lines(root, pid)
    for controllers, path in lines:
        if controller in controllers:
            return False, path
    for controllers, path in lines:
        if not controllers:
            return True, path
    return None


def _lines(root: str, pid: int | str) -> tuple[tuple[frozenset[str], str], ...]:
    try:
        return parse_cgroups(read_file(f"{root.rstrip('/')}/proc/{pid}/cgroup"))
    except OSError:
        return ()
