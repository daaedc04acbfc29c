"""The processes of the target: their task folders, what they fork, and how they end."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from livemon.collect.procfs import DENIED, GONE, list_numbers, read_file, read_text
from livemon.collect.procfs_table import Thread
from livemon.model.errors import TargetError
from livemon.parse.procfs import Stat, parse_cgroups, parse_stat, parse_status_field

ZOMBIE_STATES = frozenset({"Z", "X", "x"})
_ASKED_ONE_BY_ONE = 16
_ASKED_MOST = 10
"""After so many times ``/proc`` is listed all the same."""


@dataclass(slots=True, eq=False)
class Process:
    """One process of the target (or livemon itself) while it lives."""

    pid: int
    name: str
    start_ticks: int
    task_fd: int
    """Its task folder: refers to this very process even when the pid is used again."""
    links: int
    """Link count of the task folder at the last listing: 2 + threads on procfs."""
    is_self: bool = False
    exe: str | None = None
    cgroup: str | None = None
    threads: dict[int, Thread] = field(default_factory=dict)
    gone_cpu_ns: int = 0
    """CPU time of its threads that ended, as last read."""
    unseen_cpu_ns: int | None = None
    """CPU time that no thread accounts for, at the last check."""
    has_churn: bool = False
    """Threads came or went since the last check."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a look at a process found."""

    has_ended: bool = False
    name: str | None = None
    """As it is now; ``None`` if it could not be read this time."""
    state: str = ""
    """Of its first thread, a letter."""
    new_exe: str | None = None
    new_cgroup: str | None = None


class ProcessTree:
    """Opens processes and finds their children under one ``/proc``."""

    def __init__(self, root: str) -> None:
        self.proc = f"{root.rstrip('/')}/proc"
        self._known: set[int] = set()
        self._last_pid: int | None = None
        self._are_own_numbers = _are_own_numbers(self.proc)
        self._given: range | None = None
        """The numbers that the kernel gave since the last look, where they can be told."""
        self._coming: set[int] = set()
        """Numbers that nothing was seen behind yet: asked for once more."""
        self._asked = _ASKED_MOST
        """Times that numbers were asked for one by one since ``/proc`` was listed."""

    def open(self, pid: int) -> tuple[Process, Stat]:
        """A process and its ``stat``, with its task folder open.

        Raises:
            OSError: it is gone or can't be read.
            ValueError: its ``stat`` makes no sense.
        """
        base = f"{self.proc}/{pid}"
        task_fd = os.open(f"{base}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            stat = parse_stat(read_file(f"{base}/stat"))
        except (OSError, ValueError):
            os.close(task_fd)
            raise
        process = Process(pid=pid, name=stat.name, start_ticks=stat.start_ticks, task_fd=task_fd, links=-1)
        process.exe = self.executable(pid)
        process.cgroup = self.cgroup(pid)
        return process, stat

    def stat(self, process: Process) -> Stat | None:
        """The process-wide ``stat``; ``None`` if it has ended or the pid is another process now."""
        try:
            stat = parse_stat(read_file(f"{self.proc}/{process.pid}/stat"))
        except (OSError, ValueError):
            return None
        return stat if stat.start_ticks == process.start_ticks else None

    def check(self, process: Process) -> Check:
        """What has become of a process since the last look.

        A first thread that is a zombie means an ended process only if it is alone: the others of a
        process whose first thread has left go on.
        """
        try:
            stat = parse_stat(read_file(f"{process.pid}/stat", dir_fd=process.task_fd))
        except OSError as error:
            return Check(has_ended=error.errno in GONE)  # anything else says nothing about the process
        except ValueError:
            return Check()
        if stat.state in ZOMBIE_STATES and os.fstat(process.task_fd).st_nlink <= 3:
            return Check(has_ended=True)
        exe, cgroup = self.executable(process.pid), self.cgroup(process.pid)
        return Check(
            name=stat.name,
            state=stat.state,
            new_exe=exe if exe is not None and exe != process.exe else None,
            new_cgroup=cgroup if cgroup is not None and cgroup != process.cgroup else None,
        )

    def namespace_detail(self, pid: int) -> str:
        """Its pid inside its own namespace, in words; empty if that is the same."""
        try:
            numbers = parse_status_field(read_file(f"{self.proc}/{pid}/status"), b"NSpid")
        except OSError:
            return ""
        inner = numbers.split()[1:] if numbers else []
        return f"pid {inner[-1]} in its own namespace" if inner else ""

    def executable(self, pid: int) -> str | None:
        """What it executes; ``None`` where that is not ours to see."""
        try:
            return os.readlink(f"{self.proc}/{pid}/exe")  # noqa: PTH115  (text, not a path)
        except OSError:
            return None

    def cgroup(self, pid: int) -> str | None:
        """Its cgroup: the v2 path, on v1 that of the cpu controller."""
        try:
            lines = parse_cgroups(read_file(f"{self.proc}/{pid}/cgroup"))
        except OSError:
            return None
        v1 = next((path for controllers, path in lines if "cpu" in controllers), None)
        v2 = next((path for controllers, path in lines if not controllers), None)
        return v1 if v1 is not None else v2

    def count_created(self) -> int | None:
        """How many threads and processes began since the last call; ``None`` if it can't be told.

        The kernel hands out numbers in order, so it is how far the last one given has moved.
        """
        text = read_text(f"{self.proc}/loadavg")
        last, self._last_pid = self._last_pid, int(text.split()[-1]) if text else None
        self._given = None
        if last is None or self._last_pid is None or self._last_pid < last:
            return None
        self._given = range(last + 1, self._last_pid + 1)
        return len(self._given)

    @property
    def is_anything_coming(self) -> bool:
        """Whether ``find_children`` is to be called again even if nothing began since."""
        return bool(self._coming)

    def forget(self) -> None:
        """Look at every pid again in the next ``find_children``: there are other parents now."""
        self._known.clear()
        self._asked = _ASKED_MOST

    def find_children(self, parents: set[int]) -> list[int]:
        """Pids that descend from ``parents`` and were not there at the last call, parents first.

        Only pids that are new since the last call are read. While few numbers were given since, these are
        asked for one by one: a big machine has thousands of processes to list.
        """
        given, again = self._given or range(0), self._coming
        is_known = self._given is not None and self._asked < _ASKED_MOST
        is_listed = not is_known or len(given) + len(again) > _ASKED_ONE_BY_ONE
        if is_listed:
            try:
                pids = set(list_numbers(self.proc))
            except OSError:
                return []
            fresh, again = pids - self._known, pids
            self._known = pids
            self._asked = 0 if self._are_own_numbers else _ASKED_MOST
            # The last ones may be of processes that are just being made.
            self._coming = set(given[-_ASKED_ONE_BY_ONE:]) - pids if self._are_own_numbers else set()
        else:
            self._asked += 1
            fresh, self._coming = again.union(given), set()
        waiting: dict[int, int] = {}
        for pid in fresh:
            if pid in parents:
                continue
            try:
                stat = parse_stat(read_file(f"{self.proc}/{pid}/stat"))
            except OSError as error:
                if error.errno not in GONE:
                    continue
                self._known.discard(pid)
                if pid not in again:
                    self._coming.add(pid)
                continue
            except ValueError:
                continue
            if stat.state not in ZOMBIE_STATES:
                waiting[pid] = stat.ppid
        family, found = set(parents), list[int]()
        while True:
            children = sorted(pid for pid, ppid in waiting.items() if ppid in family)
            if not children:
                return found
            for pid in children:
                del waiting[pid]
            children = [pid for pid in children if is_listed or self._is_process(pid)]
            family.update(children)
            found.extend(children)

    def _is_process(self, number: int) -> bool:
        """Whether a number is a process's and not a thread's, which can be read by its number too."""
        try:
            return parse_status_field(read_file(f"{self.proc}/{number}/status"), b"Tgid") == str(number)
        except OSError:
            return False


def _are_own_numbers(proc: str) -> bool:
    """Whether the numbers of this ``/proc`` are those of livemon's own pid namespace, which ``loadavg`` tells of."""
    try:
        return proc == "/proc" and os.readlink("/proc/self") == str(os.getpid())  # noqa: PTH115  (text, not a path)
    except OSError:
        return False


def unreadable(pid: int, error: OSError | ValueError) -> TargetError:
    """The error for a process that can't be opened."""
    if isinstance(error, OSError) and error.errno in GONE:
        return TargetError(f"there is no process {pid}", "see 'ps -e' for those that run")
    if isinstance(error, OSError) and error.errno in DENIED:
        return TargetError(f"process {pid} can't be read: it is another user's", "run livemon as that user or root")
    return TargetError(f"process {pid} can't be read: {error}")
