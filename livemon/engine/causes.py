"""Hypotheses about an episode: each applies, is ruled out, or can't be told, with its two figures.

Threads vote, as many of them as ran in the episode and are known from before. The order is that of
``CAUSES``: where work ran, how fast the cores ran, how well, whether it ran at all, and what else changed.
Counters show where time ran and at what rate, not why a scheduler chose it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median

from livemon.engine.pressure_words import speed_words, stall_words
from livemon.engine.scene import Scene
from livemon.engine.thread_figures import Witness, newly_busy
from livemon.engine.thread_work import CPU, INS
from livemon.model.criteria import Causes
from livemon.model.findings import CAUSES, Cause, Verdict
from livemon.model.wording import rounded

_NOTHING_COUNTED = "cycles and instructions are not counted here"
PRIMARY: tuple[str, ...] = (
    "placement",
    "cycle_rate",
    "ipc",
    "throttled",
    "steal",
    "off_cpu",
    "more_work",
    "device",
)
"""Causes that can be the primary one, the most telling first."""
_MOSTLY = 0.5
_THROTTLED_US_PER_S = 20_000.0
_STEAL_CPUS = 0.05
_SOFTIRQ_SHARE = 0.15
_FAULTS_PER_S = 10.0
_HOPS_PER_S = 5.0
_TIMES = 3.0
_QUICK_SLOWDOWN = 1.2
_EXPLAINS = 0.1
"""CPU time that grew by less than this part of what the units lost is not where the time went."""
_EXPLAINS_MUCH = 1 / 3
"""CPU time that grew by this part of it is where the time went, though most threads took no more."""


def _cause(
    name: str,
    verdict: Verdict,
    evidence: str,
    during: float | None = None,
    reference: float | None = None,
    threads: tuple[str, ...] = (),
) -> Cause:
    return Cause(name, verdict, evidence, during, reference, threads)


def _number(value: float | None) -> str:
    return "unknown" if value is None else rounded(value)


def _weighed(found: list[Witness], figure: str) -> tuple[float | None, float | None]:
    """Mean of a figure during and in the reference, weighed by CPU time in the episode."""
    sums = [0.0, 0.0, 0.0]
    for witness in found:
        during, reference = getattr(witness.during, figure), getattr(witness.reference, figure)
        if during is not None and reference is not None:
            weight = witness.during.work[CPU]
            sums = [sums[0] + weight, sums[1] + weight * during, sums[2] + weight * reference]
    return (sums[1] / sums[0], sums[2] / sums[0]) if sums[0] else (None, None)


def _majority(voters: list[Witness], yes: list[Witness]) -> bool:
    """Most of those who can tell, by number; or by far most of their CPU time, at least two of them."""
    if not voters or not yes:
        return False
    if len(yes) >= _MOSTLY * len(voters):
        return True
    weight = sum(witness.during.work[CPU] for witness in yes) / sum(witness.during.work[CPU] for witness in voters)
    return len(yes) >= 2 and weight >= 0.75


def _waits_more(during: float, reference: float, points: float) -> bool:
    """Whether run-queue delay's share of the runnable time rose.

    By so many points; or, near its ceiling, to three times the delay for each second on a CPU.
    """
    rise = during - reference
    return rise >= points or (rise >= points / 3 and during * (1 - reference) >= _TIMES * reference * (1 - during))


class CauseBench:
    """Tests the hypotheses one by one; ``get`` gives them all in order."""

    def __init__(self, scene: Scene, criteria: Causes) -> None:
        self._scene = scene
        self._c = criteria
        self._known = [witness for witness in scene.witnesses if witness.is_known]
        self._names = tuple(witness.name for witness in self._known)
        self._verdicts: dict[str, Cause] = {}

    def get(self) -> tuple[Cause, ...]:
        """All verdicts, in the order of ``CAUSES``."""
        tests: dict[str, Callable[[], Cause]] = {
            "placement": self._placement,
            "cycle_rate": self._cycle_rate,
            "ipc": self._ipc,
            "off_cpu": self._off_cpu,
            "throttled": self._throttled,
            "steal": self._steal,
            "softirq": self._softirq,
            "migrations": self._migrations,
            "page_faults": self._page_faults,
            "blocked": self._blocked,
            "more_work": self._more_work,
            "device": lambda: self._stage("device", self._scene.device_ms),
            "completion_path": lambda: self._stage("completion_path", self._scene.completion_ms),
        }
        for name in CAUSES:
            self._verdicts[name] = self._with_changes(tests[name]())
        return tuple(self._verdicts[name] for name in CAUSES)

    def _with_changes(self, cause: Cause) -> Cause:
        """What somebody changed about the threads' scheduling stands beside where and whether they ran."""
        is_told = cause.cause == "off_cpu" or (cause.cause == "placement" and cause.verdict != "ruled_out")
        return replace(cause, evidence=cause.evidence + self._scene.changes) if is_told else cause

    def primary(self) -> str | None:
        """The most telling cause that applies; ``None`` if nothing that was measured does."""
        return next((name for name in PRIMARY if self._applies(name) and self._explains(name)), None)

    def _explains(self, name: str) -> bool:
        """A device that slowed less than the host stages did is not what made them slow."""
        device, slowdown = self._scene.device_ms, self._scene.slowdown
        if name != "device" or device is None or slowdown is None:
            return True
        return device[1] >= slowdown * device[2]

    def _applies(self, name: str) -> bool:
        return name in self._verdicts and self._verdicts[name].verdict == "applies"

    def _no_threads(self, name: str) -> Cause | None:
        if not self._scene.has_threads:
            return _cause(name, "unknown", "no thread counters in this session")
        if not self._known and not self._scene.is_cold:
            return _cause(name, "unknown", "no thread that worked in the episode is known from before it")
        return None

    def _placement(self) -> Cause:
        scene, c = self._scene, self._c
        if not scene.has_threads:
            return _cause("placement", "unknown", "no thread counters in this session")
        if not scene.tells_placement:
            return _cause(
                "placement", "unknown", "core classes can't be told apart: one class, or no per-class counters"
            )
        how = " (estimated from the last CPU)" if scene.is_estimated else ""
        if scene.is_cold:
            cold = [w for w in scene.witnesses if (w.during.efficiency_share or 0.0) > 0.9]
            telling = [w for w in scene.witnesses if w.during.efficiency_share is not None]
            if _majority(telling, cold):
                during, reference = _weighed([w for w in cold if w.is_known], "efficiency_share")
                if during is None:
                    during = median([w.during.efficiency_share or 0.0 for w in cold])
                after = "no healthy state is known yet" if reference is None else f"{reference:.2f} afterwards"
                evidence = f"efficiency share {during:.2f} from the start against {after}{how}"
                return _cause("placement", "applies", evidence, during, reference, tuple(w.name for w in cold))
        voters = [w for w in self._known if w.share_rise is not None]
        if not voters:
            return _cause("placement", "unknown", "no thread with a known efficiency share worked in the episode")
        moved = [w for w in voters if (w.share_rise or 0.0) >= c.efficiency_share_points]
        shown = moved if _majority(voters, moved) else voters
        during, reference = _weighed(shown, "efficiency_share")
        evidence = (
            f"efficiency share {_number(during)} against {_number(reference)}, "
            f"{len(moved)} of {len(voters)} threads up by {c.efficiency_share_points:.2f} or more{how}"
        )
        verdict: Verdict = "applies" if _majority(voters, moved) else "ruled_out"
        return _cause("placement", verdict, evidence, during, reference, tuple(w.name for w in shown))

    def _cycle_rate(self) -> Cause:
        """Where it is not ruled out, frequency and heat are told beside it: they decide nothing."""
        found = self._counted_rate()
        if found.verdict == "ruled_out":
            return found
        return replace(found, evidence=found.evidence + speed_words(self._scene.pressure))

    def _counted_rate(self) -> Cause:
        if missing := self._no_threads("cycle_rate"):
            return missing
        voters = [w for w in self._known if w.ratio("fast_cycles_per_ns") is not None]
        if not voters:
            is_counted = any(w.during.cycles_per_ns is not None for w in self._scene.witnesses)
            reason = "no cycles counted on fast cores in the episode" if is_counted else "cycles are not counted here"
            return _cause("cycle_rate", "unknown", reason)
        low = [w for w in voters if (w.ratio("fast_cycles_per_ns") or 1.0) <= self._c.cycle_rate_ratio]
        shown = low if _majority(voters, low) else voters
        during, reference = _weighed(shown, "fast_cycles_per_ns")
        evidence = (
            f"{_number(during)} cycles per CPU ns on fast cores against {_number(reference)}, "
            f"{len(low)} of {len(voters)} threads at {self._c.cycle_rate_ratio:g} times or less"
        )
        verdict: Verdict = "applies" if _majority(voters, low) else "ruled_out"
        return _cause("cycle_rate", verdict, evidence, during, reference, tuple(w.name for w in shown))

    def _ipc(self) -> Cause:
        if missing := self._no_threads("ipc"):
            return missing
        voters = [w for w in self._known if w.ratio("ipc") is not None]
        if not voters:
            return _cause("ipc", "unknown", self._why_no_ipc())
        low = [w for w in voters if (w.ratio("ipc") or 1.0) <= self._c.ipc_ratio]
        shown = low if _majority(voters, low) else voters
        during, reference = _weighed(shown, "ipc")
        evidence = f"IPC {_number(during)} against {_number(reference)}"
        if self._applies("placement") and _majority(voters, low):
            evidence += ", but on other cores: a difference of the cores, not to be told from contention"
            return _cause("ipc", "unknown", evidence, during, reference, tuple(w.name for w in shown))
        evidence += f", {len(low)} of {len(voters)} threads at {self._c.ipc_ratio:g} times or less"
        verdict: Verdict = "applies" if _majority(voters, low) else "ruled_out"
        return _cause("ipc", verdict, evidence, during, reference, tuple(w.name for w in shown))

    def _why_no_ipc(self) -> str:
        """Which of the two is missing."""
        found = [w.during for w in self._scene.witnesses]
        if any(side.ipc is not None for side in found):
            return "cycles and instructions of no thread are known both in the episode and from before it"
        has_cycles = any(side.cycles_per_ns is not None for side in found)
        has_instructions = any(side.work[INS] > 0 for side in found)
        if has_cycles:
            other = " of the same cores" if has_instructions else ", only cycles"
            return f"instructions are not counted here{other}"
        return "cycles are not counted here, only instructions" if has_instructions else _NOTHING_COUNTED

    def _cpu_ratio(self) -> tuple[float, float, float, str] | None:
        """CPU per unit: (ratio, during, reference, where from)."""
        stated = self._scene.cpu_stage
        if stated is not None and stated[1] > 0:
            return stated[0] / stated[1], stated[0], stated[1], "by the lines"
        ratios = [ratio for w in self._known if (ratio := w.ratio("cpu_ms_per_unit")) is not None]
        if not ratios:
            return None
        during = sum(w.during.cpu_ms_per_unit or 0.0 for w in self._known)
        reference = sum(w.reference.cpu_ms_per_unit or 0.0 for w in self._known)
        return median(ratios), during, reference, "in the median thread"

    def _run_delay(self) -> tuple[float, float] | None:
        during, reference = _weighed(self._known, "run_delay_share")
        return (during, reference) if during is not None and reference is not None else None

    def _off_cpu(self) -> Cause:
        c, slowdown = self._c, self._scene.slowdown
        if self._scene.stopped:
            return _cause("off_cpu", "applies", f"{self._scene.stopped}: no thread of it could run")
        delay, cpu = self._run_delay(), self._cpu_ratio()
        waited = delay is not None and _waits_more(*delay, c.run_delay_points)
        if delay is not None and waited:
            evidence = f"waiting for a CPU {delay[0]:.0%} of the runnable time against {delay[1]:.0%}"
            names = tuple(
                w.name
                for w in self._known
                if _waits_more(w.during.run_delay_share or 0, w.reference.run_delay_share or 0, c.run_delay_points)
            )
            for busy in newly_busy(self._scene.witnesses, names)[:2]:
                took = _number(busy.during.cpu_ms_per_unit), _number(busy.reference.cpu_ms_per_unit)
                evidence += f"; {busy.name} took {took[0]} ms of CPU per unit against {took[1]}"
            return _cause("off_cpu", "applies", evidence, delay[0], delay[1], names or self._names)
        if cpu is None or slowdown is None:
            reason = (
                "neither CPU time per unit nor run-queue delay is known" if cpu is None else "no slowdown to explain"
            )
            if delay is not None:
                evidence = f"waiting for a CPU {delay[0]:.0%} of the runnable time against {delay[1]:.0%}"
                return _cause("off_cpu", "ruled_out", evidence, *delay, self._names)
            return _cause("off_cpu", "unknown", reason)
        ratio, during, reference, source = cpu
        # With a small slowdown, flat means flatter: half of it on a log scale.
        flat = ratio <= min(c.off_cpu_ratio, slowdown**0.5) and slowdown >= _QUICK_SLOWDOWN
        lost = self._scene.lost_ms
        if lost is not None and lost > 0:
            grew = (during - reference) / lost
            flat = grew < _EXPLAINS_MUCH if flat else grew <= _EXPLAINS
        evidence = (
            f"CPU per unit {_number(during)} ms against {_number(reference)} ms ({ratio:.2f} times {source}) "
            f"while stages took {slowdown:.2f} times as long"
        )
        if lost is not None:
            evidence += f", slow units {_number(lost)} ms longer" if lost > 0 else "; slow units took no longer in all"
        return _cause("off_cpu", "applies" if flat else "ruled_out", evidence, during, reference, self._names)

    def _rates(self, *names: str) -> tuple[float | None, float | None]:
        during, reference = self._scene.pressure
        return (
            during.get(*names) if during is not None else None,
            reference.get(*names) if reference is not None else None,
        )

    def _pressure(self, name: str, what: str, pair: tuple[float | None, float | None], least: float) -> Cause:
        during, reference = pair
        if during is None:
            return _cause(name, "unknown", f"{what}: not recorded in the episode")
        rose = during >= least and (reference is None or during >= 2 * reference)
        evidence = f"{what}: {_number(during)} against {_number(reference)}"
        return _cause(name, "applies" if rose else "ruled_out", evidence, during, reference)

    def _throttled(self) -> Cause:
        pair = self._rates("cgroup_throttled_us")
        return self._pressure("throttled", "cgroup throttling, µs per s", pair, _THROTTLED_US_PER_S)

    def _steal(self) -> Cause:
        during, reference = self._scene.pressure
        pair = (during.steal if during else None, reference.steal if reference else None)
        return self._pressure("steal", "CPUs taken by the hypervisor", pair, _STEAL_CPUS)

    def _softirq(self) -> Cause:
        during, reference = self._scene.pressure
        pair = (during.busiest_softirq if during else None, reference.busiest_softirq if reference else None)
        return self._pressure("softirq", "interrupt share of the busiest CPU", pair, _SOFTIRQ_SHARE)

    def _page_faults(self) -> Cause:
        return self._pressure(
            "page_faults", "major page faults per s", self._rates("target_majflt", "cgroup_pgmajfault"), _FAULTS_PER_S
        )

    def _migrations(self) -> Cause:
        if missing := self._no_threads("migrations"):
            return missing
        during = sum(w.during.hops for w in self._known)
        reference = sum(w.reference.hops for w in self._known)
        seconds = self._scene.seconds
        if during + reference == 0 or seconds[0] <= 0 or seconds[1] <= 0:
            return _cause("migrations", "unknown", "no CPU numbers recorded, or no change of CPU seen")
        per_s = (during / seconds[0], reference / seconds[1])
        rose = per_s[0] >= _HOPS_PER_S and per_s[0] >= _TIMES * per_s[1]
        evidence = f"{per_s[0]:.1f} changes of CPU per s against {per_s[1]:.1f} (seen between samples: a lower bound)"
        return _cause("migrations", "applies" if rose else "ruled_out", evidence, *per_s, self._names)

    def _blocked(self) -> Cause:
        if self._scene.stopped:
            return _cause("blocked", "unknown", f"{self._scene.stopped}: more can't be told of that time")
        off_cpu, delay = self._verdicts["off_cpu"], self._run_delay()
        if off_cpu.verdict == "unknown":
            reason = f"needs CPU time per unit and run-queue delay{stall_words(self._scene.pressure)}"
            return _cause("blocked", "unknown", reason)
        if off_cpu.verdict == "ruled_out":
            return _cause("blocked", "ruled_out", "the time went to the CPU")
        stalls = stall_words(self._scene.pressure)
        if delay is None:
            reason = f"off the CPU, but whether runnable is not recorded (run-queue delay){stalls}"
            return _cause("blocked", "unknown", reason)
        if _waits_more(*delay, self._c.run_delay_points):
            return _cause("blocked", "ruled_out", "runnable, waiting for a CPU", *delay)
        if self._scene.is_early:
            return _cause("blocked", "unknown", "too early: a wait for a CPU is told once threads run", *delay)
        evidence = (
            f"neither on a CPU nor waiting for one ({delay[0]:.0%} against {delay[1]:.0%}): a lock, I/O or the GIL"
            f"{stalls}"
        )
        return _cause("blocked", "applies", evidence, *delay, self._names)

    def _more_work(self) -> Cause:
        if missing := self._no_threads("more_work"):
            return missing
        voters = [w for w in self._known if w.ratio("instructions_per_unit") is not None]
        if not voters:
            reason, cpu = "instructions per unit are not known", self._cpu_ratio()
            if cpu is not None and cpu[1] >= self._c.cpu_ratio * cpu[2]:
                reason += (
                    f": CPU per unit rose to {_number(cpu[1])} ms from {_number(cpu[2])}, by work or by slower cores"
                )
            return _cause("more_work", "unknown", reason)
        more = [w for w in voters if (w.ratio("instructions_per_unit") or 1.0) >= self._c.more_work_ratio]
        during, reference = _weighed(voters, "instructions_per_unit")
        evidence = (
            f"{_number((during or 0) / 1e6)} M instructions per unit against {_number((reference or 0) / 1e6)} M, "
            f"{len(more)} of {len(voters)} threads at {self._c.more_work_ratio:g} times or more"
        )
        verdict: Verdict = "applies" if _majority(voters, more) else "ruled_out"
        return _cause("more_work", verdict, evidence, during, reference, tuple(w.name for w in more or voters))

    def _stage(self, name: str, pair: tuple[str, float, float] | None) -> Cause:
        c = self._c
        what = "device stage" if name == "device" else "completion stage"
        if pair is None:
            return _cause(name, "unknown", f"no {what} in the lines")
        stage, during, reference = pair
        ratio, plus = (
            (c.device_ratio, c.device_plus_ms) if name == "device" else (c.completion_ratio, c.completion_plus_ms)
        )
        applies = during > ratio * reference and during - reference > plus
        evidence = f"{stage} P50 {_number(during)} ms against {_number(reference)} ms"
        return _cause(name, "applies" if applies else "ruled_out", evidence, during, reference)
