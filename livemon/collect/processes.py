"""Finding the processes to watch, by pid or by name."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from livemon.collect.environment import is_container, redact_command
from livemon.collect.procfs import DENIED, list_numbers, read_file
from livemon.model.errors import TargetError
from livemon.model.expressions import expression
from livemon.model.facts import Target
from livemon.parse.procfs import parse_stat, printable

MOST_PID = (1 << 31) - 1
"""What a pid can be at most; the kernel's calls take no more, and take 0 and less for groups."""


def describe(pid: int, root: str = "/") -> Target:
    """A process by its pid.

    Raises:
        TargetError: there is no such process, it is a thread, or it can't be seen.
    """
    if not 0 < pid <= MOST_PID:
        raise TargetError(f"there is no process {pid}", "see 'ps -e' for those that run")
    if not _has_proc(root):
        return _describe_portable(pid)
    base = f"{root.rstrip('/')}/proc/{pid}"
    try:
        stat = parse_stat(read_file(f"{base}/stat"))
    except OSError as error:
        if error.errno in DENIED:
            raise TargetError(
                f"process {pid} belongs to another user", "run livemon as that user or as root"
            ) from error
        hint = "see 'ps -e' for those that run"
        if root == "/" and _is_hidden(pid):
            hint = "it runs, but /proc is mounted with hidepid: run livemon as its user or as root"
        elif is_container(root):
            hint += "; a container sees its own only: docker run --pid=host …, or --pid=container:NAME"
        raise TargetError(f"there is no process {pid}", hint) from error
    except ValueError as error:
        raise TargetError(f"process {pid} can't be read: {error}") from error
    if not Path(f"{base}/task/{pid}").exists():
        raise TargetError(f"{pid} is no process", "name the pid of its process, see 'ps -eLf'")
    group = _thread_group(base)
    if group is not None and group != pid:
        raise TargetError(f"{pid} is a thread of process {group}", f"use --pid {group}")
    return Target(pid, stat.name, _command(base))


def find_by_name(regex: str, root: str = "/") -> list[Target]:
    """Processes whose name or command line matches, by pid; never livemon itself.

    Raises:
        UsageError: the expression is not valid.
    """
    pattern = expression(regex, "--name")
    if not _has_proc(root):
        return _find_portable(pattern)
    own = _own_family(root)
    found = []
    for pid in sorted(list_numbers(f"{root.rstrip('/')}/proc")):
        base = f"{root.rstrip('/')}/proc/{pid}"
        if root == "/" and pid in own:
            continue
        try:
            raw = read_file(f"{base}/cmdline")
            stat = parse_stat(read_file(f"{base}/stat"))
        except (OSError, ValueError):
            continue
        if stat.state in "ZX":
            continue
        command = " ".join(printable(part) for part in raw.split(b"\0"))
        if pattern.search(stat.name) or pattern.search(command):
            found.append(Target(pid, stat.name, _command(base)))
    return found


def _own_family(root: str) -> set[int]:
    """This process and those that started it: their command lines hold the expression too."""
    family: set[int] = set()
    pid = os.getpid()
    while pid > 1 and pid not in family:
        family.add(pid)
        try:
            pid = parse_stat(read_file(f"{root.rstrip('/')}/proc/{pid}/stat")).ppid
        except (OSError, ValueError):
            break
    return family


def _command(base: str) -> str:
    try:
        raw = read_file(f"{base}/cmdline")
    except OSError:
        return ""
    return redact_command([part.decode("utf-8", "backslashreplace") for part in raw.rstrip(b"\0").split(b"\0")])


def _thread_group(base: str) -> int | None:
    try:
        status = read_file(f"{base}/status")
    except OSError:
        return None
    match = re.search(rb"^Tgid:\s*(\d+)", status, re.M)
    return int(match[1]) if match else None


def _is_hidden(pid: int) -> bool:
    try:
        os.getpgid(pid)  # needs no permission, unlike a look into a /proc with hidepid
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _has_proc(root: str) -> bool:
    return root != "/" or sys.platform.startswith("linux")


def _describe_portable(pid: int) -> Target:
    import psutil

    try:
        process = psutil.Process(pid)
        return Target(pid, process.name(), redact_command(process.cmdline()))
    except psutil.NoSuchProcess as error:
        raise TargetError(f"there is no process {pid}") from error
    except psutil.AccessDenied as error:
        raise TargetError(f"process {pid} belongs to another user", "run livemon as that user or as root") from error


def _find_portable(pattern: re.Pattern[str]) -> list[Target]:
    import psutil

    found = []
    for process in psutil.process_iter(["pid", "name", "cmdline"]):
        name, argv = process.info["name"] or "", process.info["cmdline"] or []
        if process.pid != os.getpid() and (pattern.search(name) or pattern.search(" ".join(argv))):
            found.append(Target(process.pid, name, redact_command(argv)))
    return found
