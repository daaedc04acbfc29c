"""Text of ``/proc`` and ``/sys`` to numbers: bytes in, values out, no files.

Rules that every function here holds: a name may contain anything (spaces, ``)``, newlines, bytes
that are no UTF-8), so a ``stat`` line is cut at its *last* ``)``; what does not parse is ``None`` or
raises ``ValueError``, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from livemon.model.wording import one_line

POLICIES = {
    0: "SCHED_OTHER",
    1: "SCHED_FIFO",
    2: "SCHED_RR",
    3: "SCHED_BATCH",
    5: "SCHED_IDLE",
    6: "SCHED_DEADLINE",
    7: "SCHED_EXT",
}

_NUMBER = rb"(?:0|[1-9][0-9]{0,17})"
_SCHEDSTAT = rb"%b %b %b\n" % (_NUMBER, _NUMBER, _NUMBER)
is_schedstat = re.compile(_SCHEDSTAT).fullmatch
"""Whether bytes are a whole ``schedstat``: three plain numbers that fit into 63 bits (18 digits of ns are 31 years)."""
_are_schedstats = re.compile(rb"%b(?:\|%b)*+" % (_SCHEDSTAT, _SCHEDSTAT)).fullmatch
_CPU_DIGITS = 9
_NEWLINE = ord("\n")

# Numbers after the name in `stat`, counted from the state (index 0); see proc_pid_stat(5).
_STATE, _PPID, _MINFLT, _MAJFLT, _UTIME, _STIME = 0, 1, 7, 9, 11, 12
_NICE, _THREADS, _STARTTIME, _PROCESSOR, _RT_PRIORITY, _POLICY = 16, 17, 19, 36, 37, 38


@dataclass(frozen=True, slots=True)
class Stat:
    """What a ``stat`` line of a process or thread says."""

    tid: int
    name: str
    state: str
    ppid: int
    cpu_ticks: int
    """User + system time in clock ticks."""
    majflt: int
    nice: int
    threads: int
    start_ticks: int
    """Clock ticks since boot."""
    last_cpu: int
    policy: str | None
    """With its priority when real-time: ``SCHED_FIFO 50``."""
    fields_after_cpu: int
    """Fields behind the CPU number: with it, ``last_cpu_of`` finds the number from the end."""


def parse_stat(data: bytes) -> Stat:
    """A whole ``/proc/PID/stat`` or ``/proc/PID/task/TID/stat``.

    Raises:
        ValueError: it is empty, torn or not a ``stat`` line.

    >>> parse_stat(b"7 (a) S 1) R 1 7 7 0 -1 0 0 0 3 0 5 6 0 0 20 0 1 0 99").name
    'a) S 1'
    """
    opening, closing = data.find(b" ("), data.rfind(b")")
    if opening < 0 or closing < opening:
        raise ValueError("not a stat line")
    rest = data[closing + 1 :].split()
    if len(rest) <= _STARTTIME:
        raise ValueError("a stat line that ends early")
    has_cpu = len(rest) > _PROCESSOR
    if has_cpu and len(rest[_PROCESSOR]) > _CPU_DIGITS:
        raise ValueError("a stat line without a CPU number")
    policy = POLICIES.get(int(rest[_POLICY]), rest[_POLICY].decode()) if len(rest) > _POLICY else None
    if policy in {"SCHED_FIFO", "SCHED_RR"}:
        policy = f"{policy} {int(rest[_RT_PRIORITY])}"
    return Stat(
        tid=int(data[:opening]),
        name=printable(data[opening + 2 : closing]),
        state=rest[_STATE].decode("ascii", "replace"),
        ppid=int(rest[_PPID]),
        cpu_ticks=int(rest[_UTIME]) + int(rest[_STIME]),
        majflt=int(rest[_MAJFLT]),
        nice=int(rest[_NICE]),
        threads=int(rest[_THREADS]),
        start_ticks=int(rest[_STARTTIME]),
        last_cpu=int(rest[_PROCESSOR]) if has_cpu else -1,
        policy=policy,
        fields_after_cpu=len(rest) - _PROCESSOR - 1 if has_cpu else -1,
    )


def last_cpu_of(data: bytes, fields_after_cpu: int) -> int:
    r"""The CPU number of a ``stat`` line, found from its end: four times faster than ``parse_stat``.

    -1 (unknown) if the line is torn, or there is no CPU number in that place.

    >>> last_cpu_of(b"7 (a) S 1) R 1 17 3 0 0\n", 2)
    3
    """
    parts = data.rsplit(b" ", fields_after_cpu + 1)
    if fields_after_cpu < 1 or len(parts) != fields_after_cpu + 2 or data[-1] != _NEWLINE:
        return -1
    cpu = parts[1]
    if not 0 <= data.rfind(b")") < len(parts[0]):
        return -1  # that is in the name
    return int(cpu) if cpu.isdigit() and len(cpu) <= _CPU_DIGITS else -1


def slow_fields(data: bytes) -> tuple[bytes, ...]:
    """What of a ``stat`` line seldom changes (name, nice, policy and its priority) as it stands there, to compare.

    Raises:
        ValueError: it is empty, torn or not a ``stat`` line.
    """
    closing = data.rfind(b")")
    rest = data[closing + 1 :].split()
    if closing < 0 or len(rest) <= _NICE:
        raise ValueError("not a stat line")
    return data[data.find(b"(") : closing], rest[_NICE], *rest[_RT_PRIORITY : _POLICY + 1]


def are_schedstats(several: list[bytes]) -> bool:
    """``is_schedstat`` of each, in half the time."""
    joined = b"|".join(several)
    return not several or (joined.count(b"|") == len(several) - 1 and _are_schedstats(joined) is not None)


def parse_schedstat(data: bytes) -> tuple[int, int, int]:
    """CPU ns, run-queue delay ns, time slices of a ``schedstat``.

    Raises:
        ValueError: it is not what a kernel prints (see ``is_schedstat``).
    """
    if not is_schedstat(data):
        raise ValueError("not a schedstat")
    cpu_ns, run_delay_ns, slices = data.split()
    return int(cpu_ns), int(run_delay_ns), int(slices)


def printable(raw: bytes) -> str:
    r"""A name as text that can go to any terminal: bad bytes and control characters as escapes.

    >>> printable(b"a\x1b[2J\xff")
    'a\\x1b[2J\\xff'
    """
    return one_line(raw.decode("utf-8", "backslashreplace"))


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """``0-3,8`` as ``(0, 1, 2, 3, 8)``; empty text is no CPU.

    Raises:
        ValueError: it is not a list of CPUs.
    """
    cpus: list[int] = []
    for part in text.strip().split(","):
        if not part.strip():
            continue
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if low < 0 or high < low or high - low > 1 << 20:
            raise ValueError(f"not a CPU list: {text!r}")
        cpus.extend(range(low, high + 1))
    return tuple(sorted(set(cpus)))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """The inverse of ``parse_cpu_list``.

    >>> format_cpu_list([8, 0, 1, 2, 3])
    '0-3,8'
    """
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def parse_status_field(data: bytes, name: bytes) -> str | None:
    """One ``Name:<tab>value`` of a ``status`` file; ``None`` if it is not there."""
    start = data.find(b"\n" + name + b":")
    if start < 0:
        if not data.startswith(name + b":"):
            return None
        start = -1
    start += len(name) + 2
    end = data.find(b"\n", start)
    return data[start : end if end >= 0 else None].strip().decode("utf-8", "backslashreplace")


def parse_cgroups(data: bytes) -> tuple[tuple[frozenset[str], str], ...]:
    """The lines of ``/proc/PID/cgroup``: controllers (empty for v2) and path."""
    found = []
    for line in data.splitlines():
        parts = line.split(b":", 2)
        if len(parts) == 3:
            controllers = frozenset(c.decode("utf-8", "replace") for c in parts[1].split(b",") if c)
            found.append((controllers, parts[2].decode("utf-8", "backslashreplace")))
    return tuple(found)


def parse_pressure(data: bytes) -> dict[str, int]:
    """Total stalled µs of a PSI file, by ``some`` and ``full``."""
    totals = {}
    for line in data.decode("ascii", "replace").splitlines():
        kind, _, rest = line.partition(" ")
        for pair in rest.split():
            key, _, value = pair.partition("=")
            if key == "total" and value.isdigit():
                totals[kind] = int(value)
    return totals


def parse_keyed(data: bytes) -> dict[str, int]:
    """``name number`` lines (``cpu.stat``, ``vmstat``); other lines are left out."""
    values = {}
    for line in data.decode("ascii", "replace").splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[1].isdigit():
            values[parts[0]] = int(parts[1])
    return values


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Clock ticks of one CPU (or of all, ``cpu`` -1) since boot, from ``/proc/stat``."""

    cpu: int
    irq_ticks: int
    softirq_ticks: int
    steal_ticks: int | None
    busy_ticks: int
    total_ticks: int


def parse_cpu_times(data: bytes) -> tuple[CpuTimes, ...]:
    """The ``cpu`` lines of ``/proc/stat``; the first is the sum."""
    times: list[CpuTimes] = []
    for line in data.split(b"\n"):
        if not line.startswith(b"cpu"):
            if times:
                break  # the cpu lines come first; behind them the interrupt line is long
            continue
        name, *fields = line.split()
        try:
            values = [int(field) for field in fields]
            cpu = int(name[3:]) if len(name) > 3 else -1
        except ValueError:
            continue
        if len(values) < 7:
            continue
        steal = values[7] if len(values) > 7 else None
        total = sum(values[:8])  # guest time is inside user time
        times.append(CpuTimes(cpu, values[5], values[6], steal, total - values[3] - values[4], total))
    return tuple(times)
