"""A small serving process as samples: units with host stages, threads with counters, episodes on purpose."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from livemon.model.samples import UNKNOWN, ClassColumns, MachineSample, Sample, ThreadInfo, ThreadTick, TimingRecord

T0 = 50_000_000_000_000
HEALTHY_MS = {"prepare": 0.12, "features": 0.16, "handoff": 0.02, "action_head": 0.06}
NATIVE_MS = 9.4
THREADS = {"client": (0.14, 4.2, 4.4), "dispatch": (0.31, 4.0, 3.2), "callback": (0.07, 1.9, 1.7)}
"""Name -> CPU ms per unit, cycles per ns and IPC on fast cores."""
E_RATE, E_IPC_FACTOR = 1.35, 0.53


@dataclass
class Episode:
    """Slow from start to end (s); ``share`` of the units, all host stages or ``only`` one."""

    start: float
    end: float
    cause: str = "placement"
    factor: float = 5.0
    share: float = 1.0
    only: str | None = None


@dataclass
class Serving:
    """What to make; times in s from the start."""

    duration: float = 30.0
    seed: int = 1
    rate: float = 100.0
    """Units per s; the unit before must be done."""
    at_random: bool = False
    """Units come at random times (Poisson) instead of evenly."""
    episodes: list[Episode] = field(default_factory=list)
    noise: float = 0.15
    label: str | None = "short"
    classes: tuple[str, ...] = ("P", "E")
    """Core classes with exact counters; none: only CPU time, run-queue delay and the last CPU."""
    counts: bool = True
    """Cycles and instructions are counted."""
    threads: bool = True
    units: bool = True
    idle: list[tuple[float, float]] = field(default_factory=list)
    stalls: list[tuple[float, float]] = field(default_factory=list)
    """The log's lines of that time arrive in a heap at its end."""
    clock_steps: list[tuple[float, float]] = field(default_factory=list)
    """At that time the log's clock moves by so many s."""
    shape: Callable[[float, int, dict[str, float], random.Random], None] | None = None
    """Changes a unit's stages: (time, number, stages, random)."""
    machine: Callable[[float], dict[str, int]] | None = None
    last_cpu: Callable[[float, str], int] | None = None
    delay: Callable[[float], float] | None = None
    """Run-queue delay as a multiple of CPU time at a moment."""

    def samples(self) -> list[Sample]:
        """Everything, in arrival order."""
        r = random.Random(self.seed)
        out: list[tuple[int, int, Sample]] = []
        work: dict[int, list[tuple[str, float, float, float, bool]]] = {}
        t, number = 0.0, 0
        while t < self.duration:
            pause = next((end for start, end in self.idle if start <= t < end), None)
            if pause is not None:
                t = pause
                continue
            done = self._unit(t, number, r, out, work)
            number += 1
            t = max(t + (r.expovariate(self.rate) if self.at_random else 1 / self.rate), done)
        if self.threads:
            out += self._ticks(work)
        if self.machine is not None:
            for second in range(int(self.duration) + 1):
                values = tuple(sorted(self.machine(float(second)).items()))
                out.append((ns(second), 2, MachineSample(ns(second), values)))
        out.sort(key=lambda row: row[:2])
        return [sample for _, _, sample in out]

    def _episode(self, t: float) -> Episode | None:
        return next((e for e in self.episodes if e.start <= t < e.end), None)

    def _unit(
        self,
        t: float,
        number: int,
        r: random.Random,
        out: list[tuple[int, int, Sample]],
        work: dict[int, list[tuple[str, float, float, float, bool]]],
    ) -> float:
        stages = {name: ms * math.exp(r.gauss(0, self.noise)) for name, ms in HEALTHY_MS.items()}
        if self.shape is not None:
            self.shape(t, number, stages, r)
        e = self._episode(t)
        slow = e is not None and r.random() < e.share
        if slow and e is not None:
            for name in stages:
                if e.only in (None, name):
                    stages[name] *= e.factor * math.exp(r.gauss(0, 0.08))
        native = NATIVE_MS * math.exp(r.gauss(0, 0.01))
        total = sum(stages.values()) + native
        done = t + total / 1e3
        cpu = {}
        for name, (ms, rate, ipc) in THREADS.items():
            cause = e.cause if slow and e is not None else ""
            factor = e.factor if e is not None else 1.0
            on_e = cause == "placement"
            if on_e:
                spent = ms * (rate * ipc) / (E_RATE * ipc * E_IPC_FACTOR)
                figures = E_RATE, ipc * E_IPC_FACTOR
            elif cause == "cycle_rate":
                spent, figures = ms * factor, (rate / factor, ipc)
            elif cause == "ipc":
                spent, figures = ms * factor, (rate, ipc / factor)
            else:
                spent, figures = ms, (rate, ipc)
            cpu[name] = spent
            work.setdefault(int(done * 10), []).append((name, spent, *figures, on_e))
        if self.units:
            stamp = done + sum(step for at, step in self.clock_steps if at <= done)
            arrival = next(
                (end + r.random() * 0.02 for start, end in self.stalls if start <= done < end), done + 0.0004
            )
            columns = (*((n, round(v, 4)) for n, v in stages.items()), ("native", round(native, 4)))
            values = (*columns, ("cpu", round(cpu["client"], 4)), ("total", round(total, 4)))
            record = TimingRecord(ns(arrival), ns(stamp), "line", "serve", str(number), self.label, values)
            out.append((ns(arrival), 3, record))
        return done

    def _ticks(self, work: dict[int, list[tuple[str, float, float, float, bool]]]) -> list[tuple[int, int, Sample]]:
        names = list(THREADS)
        out: list[tuple[int, int, Sample]] = [
            (ns(0), 0, ThreadInfo(ns(0), k, 7, 70 + k, name)) for k, name in enumerate(names)
        ]
        cpu, delay = dict.fromkeys(names, 10**7), dict.fromkeys(names, 10**6)
        sums = {(name, level): [10**7, 4 * 10**7, 8 * 10**7] for name in names for level in self.classes or ("P",)}
        for k in range(int(self.duration * 10)):
            for name, spent, rate, ipc, on_e in work.get(k, ()):
                cpu[name] += round(spent * 1e6)
                delay[name] += round(spent * 1e6 * (self.delay(k / 10) if self.delay else 0.01))
                level = "E" if on_e and "E" in self.classes else (self.classes or ("P",))[0]
                column = sums[name, level]
                column[0] += round(spent * 1e6)
                column[1] += round(spent * 1e6 * rate)
                column[2] += round(spent * 1e6 * rate * ipc)
            t = (k + 1) / 10
            where = [self.last_cpu(t, name) if self.last_cpu else 0 for name in names]
            unknown = array("q", [UNKNOWN] * len(names))
            classes = tuple(
                ClassColumns(
                    level,
                    array("q", [sums[name, level][0] for name in names]),
                    array("q", [sums[name, level][1] for name in names]) if self.counts else unknown,
                    array("q", [sums[name, level][2] for name in names]) if self.counts else unknown,
                )
                for level in self.classes
            )
            tick = ThreadTick(
                ns(t),
                array("q", range(len(names))),
                array("q", [cpu[name] for name in names]),
                array("q", [delay[name] for name in names]),
                unknown,
                array("q", where),
                classes,
            )
            out.append((ns(t), 1, tick))
        return out


def ns(t: float) -> int:
    """Session time of a moment in s from the start."""
    return T0 + round(t * 1e9)


def seconds(t_ns: int) -> float:
    """And back."""
    return (t_ns - T0) / 1e9
