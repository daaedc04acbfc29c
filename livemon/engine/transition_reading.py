"""What the transients of a group of transitions differ in from their steady states, by fixed comparisons.

Transitions with one mark text are one group and are read together: figures are pooled over the group,
placement must have changed in *every* transition, and recovery is quick only if it was in every one.
"""

from __future__ import annotations

from dataclasses import dataclass

from livemon.engine.thread_figures import Side, Witness
from livemon.engine.thread_work import CPU, ROWS
from livemon.engine.transition_window import BEFORE_S, TransitionWindow
from livemon.model.criteria import Causes
from livemon.model.findings import Cause, Verdict
from livemon.model.wording import rounded

STEADY_S = (10.0, 20.0)
_LATE_REFERENCE_S = (4.0, 5.0)
_NAMES = 16
_LEAST_CPU_NS = 1_000_000
_Sums = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """What is kept of one transition: the transient, the steady state, and where placement is compared with."""

    transient_s: float | None
    work: dict[str, tuple[_Sums, _Sums, _Sums]]
    """Thread name -> work (transient, steady, placement's reference)."""
    units: tuple[int, int, int]
    device: tuple[tuple[float, int], tuple[float, int]]
    """(sum of ms, units) of the device stages, transient and steady."""
    completion: tuple[tuple[float, int], tuple[float, int]]
    """(median ms x units, units) likewise."""

    def moved(self, c: Causes) -> list[Witness]:
        """Threads whose placement or cycle rate changed against the reference of this transition."""
        return [
            w
            for name, (during, _, placed) in self.work.items()
            if during[CPU] >= _LEAST_CPU_NS and placed[CPU] > 0
            for w in (Witness(name, Side(during, self.units[0]), Side(placed, self.units[2]), True),)
            if (w.share_rise or 0.0) >= c.efficiency_share_points
            or (w.ratio("fast_cycles_per_ns") or 1.0) <= c.cycle_rate_ratio
        ]


def figures(window: TransitionWindow, names: tuple[str, ...]) -> WindowFigures:
    """The figures of a transition."""
    transient = window.transient_s()
    length = transient or 0.0
    placed_s = _LATE_REFERENCE_S if length <= _LATE_REFERENCE_S[0] else (-BEFORE_S, 0.0)
    parts = [window.sums(*span, len(names)) for span in ((0.0, length), STEADY_S, placed_s)]
    most = sorted(range(len(names)), key=lambda k: (-int(parts[0][0][CPU, k] + parts[1][0][CPU, k]), k))[:_NAMES]
    work: dict[str, tuple[_Sums, _Sums, _Sums]] = {}
    for k in most:
        columns = [tuple(float(value) for value in sums[:, k]) for sums, _ in parts]
        if names[k] not in work and any(column[CPU] for column in columns):
            work[names[k]] = (columns[0], columns[1], columns[2])
    stages = (window.stage_sums(0.0, length), window.stage_sums(*STEADY_S))
    return WindowFigures(
        transient,
        work,
        (parts[0][1], parts[1][1], parts[2][1]),
        (stages[0][0], stages[1][0]),
        (stages[0][1], stages[1][1]),
    )


def _mean(parts: list[tuple[float, int]]) -> float | None:
    n = sum(count for _, count in parts)
    return sum(total for total, _ in parts) / n if n else None


def _rises(name: str, what: str, pair: tuple[float | None, float | None], ratio: float, plus_ms: float) -> Cause:
    during, steady = pair
    if during is None or steady is None:
        return Cause(name, "unknown", f"no {what} in both the transient and the steady state")
    applies = during > ratio * steady and during - steady > plus_ms
    evidence = f"{what} {rounded(during)} ms in the transient against {rounded(steady)} ms steady"
    return Cause(name, "applies" if applies else "ruled_out", evidence, during, steady)


def _pooled(group: list[WindowFigures]) -> list[Witness]:
    """Threads over all transitions of the group, transient against steady."""
    units = sum(f.units[0] for f in group), sum(f.units[1] for f in group)
    out = []
    for name in dict.fromkeys(name for f in group for name in f.work):
        sums = [[0.0] * ROWS, [0.0] * ROWS]
        for f in group:
            for side in (0, 1):
                for row, value in enumerate(f.work[name][side] if name in f.work else ()):
                    sums[side][row] += value
        if sums[0][CPU] >= _LEAST_CPU_NS and sums[1][CPU] > 0:
            out.append(Witness(name, Side(tuple(sums[0]), units[0]), Side(tuple(sums[1]), units[1]), True))
    return sorted(out, key=lambda w: (-w.during.work[CPU], w.name))


def _against(
    witnesses: list[Witness], figure: str, what: str, unit: str = ""
) -> tuple[str, float | None, float | None]:
    """The figure of the witness that used most CPU time, in words and both sides."""
    for w in witnesses:
        during, steady = getattr(w.during, figure), getattr(w.reference, figure)
        if during is not None and steady is not None:
            return f"{what} {rounded(during)}{unit} against {rounded(steady)}{unit} steady ({w.name})", during, steady
    return f"{what} unknown", None, None


def _of_threads(threads: list[Witness], changed: int, transitions: int, c: Causes) -> tuple[Cause, Cause]:
    """Placement and IPC; a figure that is not known on both sides rules nothing out."""
    risen = [w for w in threads if (w.ratio("cpu_ms_per_unit") or 0.0) >= c.cpu_ratio]
    placement = bool(risen) and changed == transitions
    cpu, *_ = _against(risen or threads, "cpu_ms_per_unit", "CPU per unit", " ms")
    share, during, steady = _against(risen or threads, "efficiency_share", "efficiency share")
    evidence = f"{cpu}, {share}; placement or cycle rate changed in {changed} of {transitions} transitions"
    names = tuple(w.name for w in risen)
    is_placed = any(w.share_rise is not None or w.ratio("fast_cycles_per_ns") is not None for w in threads)
    ruled_out: Verdict = "ruled_out" if is_placed else "unknown"
    first = Cause("placement", "applies" if placement else ruled_out, evidence, during, steady, names)
    low = [w for w in threads if (w.ratio("ipc") or 1.0) <= c.ipc_ratio]
    ipc, during, steady = _against(low or threads, "ipc", "IPC")
    if during is None:
        return first, Cause("ipc", "unknown", ipc)
    unexplained = bool(risen) and bool(low) and not placement
    why = ", placement explains the rise" if placement else ""
    return first, Cause("ipc", "applies" if unexplained else "ruled_out", ipc + why, during, steady)


def read_group(group: list[WindowFigures], c: Causes) -> tuple[Cause, ...]:
    """The readings of a group of transitions; none where none had a transient."""
    found = [f for f in group if f.transient_s]
    if not found:
        return ()
    device = _mean([f.device[0] for f in found]), _mean([f.device[1] for f in found])
    back = _mean([f.completion[0] for f in found]), _mean([f.completion[1] for f in found])
    out = [
        _rises("device", "device time", device, c.device_ratio, c.device_plus_ms),
        _rises("completion_path", "completion time", back, c.completion_ratio, c.completion_plus_ms),
    ]
    threads = _pooled(found)
    if threads:
        out += _of_threads(threads, sum(bool(f.moved(c)) for f in found), len(found), c)
    else:
        reason = "no thread counters in both the transient and the steady state"
        out += [Cause("placement", "unknown", reason), Cause("ipc", "unknown", reason)]
    longest = max(f.transient_s or 0.0 for f in found)
    quick = longest <= c.quick_recovery_s
    evidence = f"the longest of {len(found)} transients took {longest:g} s"
    out.append(Cause("quick_recovery", "applies" if quick else "ruled_out", evidence, longest, c.quick_recovery_s))
    return tuple(out)
