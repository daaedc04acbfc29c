"""Facts of the machine that a reader of a recording wants to know, and command lines without secrets."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from livemon.collect.cgroups import cgroup_version, cpu_limit
from livemon.collect.procfs import read_text

_SECRET_NAME = re.compile(
    r"(pass(word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|auth(?!or)|credential|private)", re.I
)
_SECRET_VALUE = re.compile(r"^(sk-|gh[pousr]_|xox[abprs]-|AKIA|ASIA|eyJ|hf_|glpat-|Bearer\s)")
_URL_PASSWORD = re.compile(r"(\w+://[^/\s:@]*:)[^@/\s]+@")
_ASSIGNMENT = re.compile(r"^(-{0,2}[\w.-]+)([=:])(.*)$", re.S)
HIDDEN = "***"


def redact_command(argv: Sequence[str]) -> str:
    """A command line as one text, with what looks like a secret replaced by ``***``.

    >>> redact_command(["serve", "--port", "80", "--api-key", "abc", "--db=postgres://u:pw@h/x", "TOKEN=1"])
    'serve --port 80 --api-key *** --db=postgres://u:***@h/x TOKEN=***'
    """
    shown: list[str] = []
    is_value_secret = False
    for argument in argv:
        text = "".join(c if c.isprintable() else " " for c in argument)
        match = _ASSIGNMENT.match(text)
        if is_value_secret and not text.startswith("-"):
            text = HIDDEN
            is_value_secret = False
        elif match and (_SECRET_NAME.search(match[1]) or _SECRET_VALUE.match(match[3])):
            text = f"{match[1]}{match[2]}{HIDDEN}"
        elif _SECRET_VALUE.match(text):
            text = HIDDEN
        else:
            is_value_secret = text.startswith("-") and bool(_SECRET_NAME.search(text))
        shown.append(_URL_PASSWORD.sub(rf"\1{HIDDEN}@", text))
    return " ".join(shown)


def environment(root: str = "/") -> tuple[tuple[str, str], ...]:
    """Kernel, CPU model, governor, limits: name and value as text; what can't be read is left out."""
    facts: list[tuple[str, str | None]] = [
        ("system", f"{platform.system()} {platform.release()}"),
        ("machine", platform.machine()),
        ("python", platform.python_version()),
    ]
    if root != "/" or platform.system() == "Linux":
        facts += _linux(root)
    elif platform.system() == "Darwin":
        facts.append(("cpu", platform.processor() or None))
    return tuple((name, value) for name, value in facts if value)


def _linux(root: str) -> list[tuple[str, str | None]]:
    base = root.rstrip("/")
    cpuinfo = read_text(f"{base}/proc/cpuinfo") or ""
    fields = dict(_pair(line) for line in reversed(cpuinfo.splitlines()) if ":" in line)
    cpu0 = f"{base}/sys/devices/system/cpu/cpu0/cpufreq"
    memory = re.search(r"^MemTotal:\s+(\d+) kB", read_text(f"{base}/proc/meminfo") or "", re.M)
    return [
        ("cpu", fields.get("model name") or fields.get("Model") or fields.get("CPU part")),
        ("hypervisor", "yes" if "hypervisor" in fields.get("flags", "").split() else None),
        ("container", "yes" if is_container(root) else None),
        ("online_cpus", read_text(f"{base}/sys/devices/system/cpu/online")),
        ("memory_bytes", str(int(memory[1]) * 1024) if memory else None),
        ("governor", read_text(f"{cpu0}/scaling_governor")),
        ("cpufreq_driver", read_text(f"{cpu0}/scaling_driver")),
        ("energy_performance_preference", read_text(f"{cpu0}/energy_performance_preference")),
        ("smt", read_text(f"{base}/sys/devices/system/cpu/smt/control")),
        ("isolated_cpus", read_text(f"{base}/sys/devices/system/cpu/isolated")),
        ("numa_nodes", read_text(f"{base}/sys/devices/system/node/online")),
        ("perf_event_paranoid", read_text(f"{base}/proc/sys/kernel/perf_event_paranoid")),
        ("cgroup_version", cgroup_version(root)),
        ("cgroup_cpu_limit", cpu_limit(root)),
        ("boot_id", read_text(f"{base}/proc/sys/kernel/random/boot_id")),
    ]


def host_name() -> str:
    """This machine's name."""
    return platform.node()


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def is_container(root: str = "/") -> bool:
    """Whether livemon seems to run inside a container."""
    base = Path(root)
    if (base / ".dockerenv").exists() or (base / "run/.containerenv").exists():
        return True
    return root == "/" and os.environ.get("container", "") != ""  # noqa: SIM112  (the name systemd sets)
