"""Counters that ``perf`` wrote: ``perf stat -I N -x,`` intervals and ``perf script`` events, as thread ticks.

``perf stat`` gives exact counts per interval (with ``--per-thread`` per thread, else for all of the
target together); they are summed up, because a session holds cumulative counters. On a hybrid machine
the ``cpu_core`` and ``cpu_atom`` PMUs are classes of their own; elsewhere there is one class.

``perf script`` gives events. Scheduler tracepoints (``sched:sched_stat_runtime``, ``sched:sched_switch``)
give exact CPU time; samples of a clock or a counter are estimates, each standing for its period.
Events without a CPU-time meaning are counted and left out.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from livemon.model.errors import UsageError
from livemon.model.samples import UNKNOWN, ClassColumns, Note, Sample, ThreadInfo, ThreadTick

ONE_CLASS = "CPU"
"""Name of the class on a machine whose PMU does not tell classes apart."""
_CLASS_OF_PMU = {"cpu_core": "P", "cpu_atom": "E", "cpu_lowpower": "LP-E"}
_UNIT_NS = {"msec": 1e6, "ms": 1e6, "sec": 1e9, "s": 1e9, "usec": 1e3, "us": 1e3, "nsec": 1.0, "ns": 1.0, "": 1.0}
_TICK_NS = 100_000_000
_STARTED = re.compile(r"# started on (.+)")
_THREAD = re.compile(r"(?P<name>.*)-(?P<tid>\d+)\Z")


@dataclass(slots=True)
class _Thread:
    """One thread's sums."""

    index: int
    pid: int
    tid: int
    name: str
    last_cpu: int = UNKNOWN
    classes: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """Sums by core class; class ``""``: what no PMU counts (CPU time, switches)."""

    def add(self, core_class: str, counter: str, value: int | None) -> None:
        """Add an interval's count; once one is missing the sum is unknown for good."""
        held = self.classes.setdefault(core_class, {})
        before = held.get(counter, 0)
        held[counter] = None if value is None or before is None else before + value


class _Threads:
    """The threads seen so far, and ticks of them."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int, str], _Thread] = {}
        self._new: list[_Thread] = []

    def get(self, pid: int, tid: int, name: str) -> _Thread:
        key = (pid, tid, name)
        thread = self._found.get(key)
        if thread is None:
            thread = self._found[key] = _Thread(len(self._found), pid, tid, name)
            self._new.append(thread)
        return thread

    def tick(self, at_ns: int) -> Iterator[Sample]:
        """All threads as they are now."""
        for thread in self._new:
            yield ThreadInfo(at_ns, thread.index, thread.pid, thread.tid, thread.name)
        self._new.clear()
        threads = list(self._found.values())
        if not threads:
            return
        names = sorted({name for thread in threads for name in thread.classes} - {""})
        plain = [thread.classes.get("", {}) for thread in threads]

        def column(values: list[int | None]) -> array[int]:
            return array("q", [UNKNOWN if value is None else value for value in values])

        classes = []
        for name in names:
            held = [thread.classes.get(name, {}) for thread in threads]
            if name == ONE_CLASS:
                # All CPU time is time on the only class.
                held = [{**sums, "cpu_ns": own.get("cpu_ns")} for sums, own in zip(held, plain, strict=True)]
            spent, cycles, instructions = (
                column([counters.get(counter) for counters in held]) for counter in ("cpu_ns", "cycles", "instructions")
            )
            classes.append(ClassColumns(name, spent, cycles, instructions))
        yield ThreadTick(
            at_ns,
            array("q", [thread.index for thread in threads]),
            column([sums.get("cpu_ns") for sums in plain]),
            column([None] * len(threads)),
            column([sums.get("switches") for sums in plain]),
            array("q", [thread.last_cpu for thread in threads]),
            tuple(classes),
        )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from enumerate(file, 1)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from None


def stat_start_wall_ns(path: Path) -> int | None:
    """Unix time of ``# started on``, which ``perf stat -o`` writes first; ``None`` without it.

    It has whole seconds and this machine's zone: good to a second.
    """
    for number, line in _lines(path):
        found = _STARTED.match(line)
        if found:
            try:
                return int(datetime.strptime(found[1].strip(), "%a %b %d %H:%M:%S %Y").timestamp() * 1e9)
            except ValueError:
                return None
        if number > 5:
            break
    return None


class StatSamples:
    """``perf stat -I N -x,``.

    Args:
        path: The output.
        start_ns: Session time at which ``perf stat`` started.
    """

    def __init__(self, path: Path, start_ns: int) -> None:
        self._path = path
        self._start_ns = start_ns
        self._separator: str | None = None
        self._uncounted = 0
        self.ticks = 0

    def samples(self) -> Iterator[Sample]:
        """One tick an interval.

        Raises:
            UsageError: There is no interval in it.
        """
        threads = _Threads()
        at_ns: int | None = None
        for number, line in _lines(self._path):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            stamp, rest = self._split(text, number)
            now_ns = self._start_ns + round(stamp * 1e9)
            if at_ns is not None and now_ns != at_ns:
                self.ticks += 1
                yield from threads.tick(at_ns)
            at_ns = now_ns
            self._take(threads, rest, number)
        if at_ns is None:
            raise UsageError(f"{self._path} holds no interval", "make it with 'perf stat -I 100 -x, -o FILE …'")
        self.ticks += 1
        yield from threads.tick(at_ns)
        if self._uncounted:
            text = f"{self._uncounted} counts of perf stat were <not counted>: the thread did not run, or the counter"
            yield Note(at_ns, "info", f"{text} had no turn; nothing was added for them")

    def _split(self, text: str, number: int) -> tuple[float, list[str]]:
        if self._separator is None:
            after = re.match(r"\s*\d+\.\d+(\D)", text)
            self._separator = after[1] if after else ","
        stamp, *rest = text.split(self._separator)
        try:
            return float(stamp), rest
        except ValueError:
            raise UsageError(
                f"{self._path}, line {number}: {stamp[:40]!r} is no time", "perf stat needs -I and -x,"
            ) from None

    def _take(self, threads: _Threads, rest: list[str], number: int) -> None:
        """One line: [thread,] count, unit, event, the counter's own run time, and what is of no use here."""
        at = next((n for n, text in enumerate(rest[:3]) if _COUNT.fullmatch(text.strip())), None)
        if at is None or len(rest) < at + 3:
            raise UsageError(f"{self._path}, line {number}: no count", "perf stat needs -I and -x,")
        who = rest[0].strip() if at else ""
        count, unit, event = rest[at].strip(), rest[at + 1], rest[at + 2]
        core_class, counter = _counter(event)
        if counter is None:
            return
        found = _THREAD.match(who)
        tid, name = (int(found["tid"]), found["name"]) if found else (UNKNOWN, who or "all threads")
        thread = threads.get(UNKNOWN, tid, name)
        if count == "<not counted>":
            # The thread did not run in this interval (on this PMU): the sum stays what it is.
            self._uncounted += 1
            value: int | None = 0
        elif count.startswith("<"):
            value = None
        elif counter == "cpu_ns":
            ran = rest[at + 3] if len(rest) > at + 3 else ""
            value = int(ran) if ran.isdigit() else round(float(count) * _UNIT_NS.get(unit, 1.0))
        else:
            value = round(float(count))
        thread.add(core_class or (ONE_CLASS if counter in _PMU_COUNTERS else ""), counter, value)


_COUNT = re.compile(r"\d+(\.\d+)?|<not (counted|supported)>")
_PMU_COUNTERS = ("cycles", "instructions")
_COUNTERS = {
    "cycles": "cycles",
    "cpu-cycles": "cycles",
    "instructions": "instructions",
    "task-clock": "cpu_ns",
    "cpu-clock": "cpu_ns",
    "context-switches": "switches",
    "cs": "switches",
}


def _counter(event: str) -> tuple[str | None, str | None]:
    """(core class or ``None``, counter or ``None``) of an event's name."""
    pmu, slash, name = event.strip().partition("/")
    core_class = _CLASS_OF_PMU.get(pmu) if slash else None
    bare = (name.partition("/")[0] if slash else pmu).partition(":")[0]
    return core_class, _COUNTERS.get(bare)


_SCRIPT_LINE = re.compile(
    r"\s*(?P<comm>.+?)\s+(?:(?P<pid>-?\d+)/\s*)?(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?"
    r"(?P<time>\d+\.\d+):\s+(?:(?P<period>\d+)\s+)?(?P<event>[\w:/,.-]+?):(?:\s+(?P<rest>.*))?\Z"
)
_RUNTIME = re.compile(r"comm=(?P<comm>.+?) pid=(?P<tid>\d+) runtime=(?P<runtime>\d+)")
_SWITCH = re.compile(
    r"(?:prev_comm=)?(?P<prev>.+?)(?: prev_pid=|:)(?P<prev_tid>\d+) .*?==> (?:next_comm=)?(?P<next>.+?)"
    r"(?: next_pid=|:)(?P<next_tid>\d+)"
)


class ScriptSamples:
    """``perf script``: events become ticks of ``_TICK_NS``; each tick says what was known when it ended.

    Args:
        path: The output.
        shift_ns: What to add to perf's clock to get session time.
    """

    def __init__(self, path: Path, shift_ns: int = 0) -> None:
        self._path = path
        self._shift_ns = shift_ns
        self._threads = _Threads()
        self._running: dict[int, tuple[int, int]] = {}
        """CPU -> thread that was switched in, and when."""
        self._ignored = 0
        self._is_sampled = False
        self.ticks = 0

    def samples(self) -> Iterator[Sample]:
        """Ticks in order of time.

        Raises:
            UsageError: No event says how long a thread ran.
        """
        tick_ns: int | None = None
        used = newest_ns = 0
        for _, line in _lines(self._path):
            found = _SCRIPT_LINE.match(line.rstrip())
            if not found or found["event"] is None:
                continue  # a line of a call chain, or a comment
            now_ns = _nanoseconds(found["time"]) + self._shift_ns
            newest_ns = max(newest_ns, now_ns)
            if tick_ns is None:
                tick_ns = now_ns + _TICK_NS
            if newest_ns >= tick_ns:
                self.ticks += 1
                yield from self._threads.tick(tick_ns)
                tick_ns += (newest_ns - tick_ns) // _TICK_NS * _TICK_NS + _TICK_NS
            if self._take(found, now_ns):
                used += 1
            else:
                self._ignored += 1
        if not used or tick_ns is None:
            raise UsageError(
                f"{self._path} has no event that says how long a thread ran",
                "record cpu-clock, cycles, sched:sched_switch or sched:sched_stat_runtime",
            )
        self.ticks += 1
        yield from self._threads.tick(newest_ns)
        if self._is_sampled:
            text = "CPU times and counters from perf script are estimates: each sample stands for its period"
            yield Note(newest_ns, "info", text)
        if self._ignored:
            yield Note(newest_ns, "info", f"{self._ignored} events of perf script say nothing of CPU time: left out")

    def _take(self, line: re.Match[str], now_ns: int) -> bool:
        event, rest = line["event"], line["rest"] or ""
        cpu = UNKNOWN if line["cpu"] is None else int(line["cpu"])
        if event.endswith("sched_stat_runtime"):
            found = _RUNTIME.search(rest)
            if found is None:
                return False
            self._ran(int(found["tid"]), found["comm"], int(found["runtime"]), cpu)
            return True
        if event.endswith("sched_switch"):
            return self._switch(_SWITCH.search(rest), cpu, now_ns)
        core_class, counter = _counter(event)
        if counter is None or counter == "switches" or line["period"] is None:
            return False
        self._is_sampled = True
        pid = UNKNOWN if line["pid"] is None else int(line["pid"])
        thread = self._threads.get(pid, int(line["tid"]), line["comm"])
        thread.last_cpu = cpu
        thread.add(core_class or (ONE_CLASS if counter in _PMU_COUNTERS else ""), counter, int(line["period"]))
        return True

    def _ran(self, tid: int, name: str, spent_ns: int, cpu: int) -> None:
        if tid:
            thread = self._threads.get(UNKNOWN, tid, name)
            thread.last_cpu = cpu
            thread.add("", "cpu_ns", spent_ns)

    def _switch(self, found: re.Match[str] | None, cpu: int, now_ns: int) -> bool:
        """From one thread to the next on a CPU: the first one's time is known if we saw it come."""
        if found is None or cpu == UNKNOWN:
            return False
        tid, since_ns = self._running.get(cpu, (None, now_ns))
        if tid == int(found["prev_tid"]):
            self._ran(tid, found["prev"], max(now_ns - since_ns, 0), cpu)
        following = int(found["next_tid"])
        self._running[cpu] = following, now_ns
        if following:
            thread = self._threads.get(UNKNOWN, following, found["next"])
            thread.last_cpu = cpu
            thread.add("", "switches", 1)
        return True


def _nanoseconds(text: str) -> int:
    """Seconds with any number of decimals, exactly."""
    whole, _, part = text.partition(".")
    return int(whole) * 1_000_000_000 + int(part[:9].ljust(9, "0"))
