"""What a transition's transient differs in from its steady state, by fixed comparisons."""

from __future__ import annotations

import numpy as np

from livemon.engine.thread_figures import Witness, witnesses
from livemon.engine.transition_window import BEFORE_S, TransitionWindow
from livemon.model.criteria import Criteria
from livemon.model.findings import Cause

STEADY_S = (10.0, 20.0)
_LATE_REFERENCE_S = (4.0, 5.0)


def _rises(name: str, what: str, pair: tuple[float | None, float | None], ratio: float, plus_ms: float) -> Cause:
    during, steady = pair
    if during is None or steady is None:
        return Cause(name, "unknown", f"no {what} in both the transient and the steady state")
    applies = during > ratio * steady and during - steady > plus_ms
    evidence = f"{what} {during:.3g} ms in the transient against {steady:.3g} ms steady"
    return Cause(name, "applies" if applies else "ruled_out", evidence, during, steady)


def _heaviest(found: list[Witness], figure: str) -> tuple[float | None, float | None]:
    """(during, reference) of a figure, over the known witnesses, weighed by their CPU time."""
    rows = [
        (w.during.work[0], getattr(w.during, figure), getattr(w.reference, figure))
        for w in found
        if getattr(w.during, figure) is not None and getattr(w.reference, figure) is not None
    ]
    weight = sum(row[0] for row in rows)
    if not weight:
        return None, None
    return sum(w * d for w, d, _ in rows) / weight, sum(w * r for w, _, r in rows) / weight


def _against(what: str, pair: tuple[float | None, float | None], unit: str = "") -> str:
    during, reference = pair
    if during is None or reference is None:
        return f"{what} unknown"
    return f"{what} {during:.3g}{unit} against {reference:.3g}{unit}"


def read_window(window: TransitionWindow, names: tuple[str, ...], criteria: Criteria) -> tuple[Cause, ...]:
    """The readings of one transition; none where there was no transient."""
    transient = window.transient_s()
    if not transient:
        return ()
    c = criteria.causes
    during, during_units = window.sums(0.0, transient, len(names))
    steady, steady_units = window.sums(*STEADY_S, len(names))
    placed_s = _LATE_REFERENCE_S if transient <= _LATE_REFERENCE_S[0] else (-BEFORE_S, 0.0)
    placed, placed_units = window.sums(*placed_s, len(names))
    device, completion = window.stage_ms(0.0, transient)
    steady_device, steady_completion = window.stage_ms(*STEADY_S)
    against_steady = _witnesses(names, (during, during_units), (steady, steady_units))
    against_placed = _witnesses(names, (during, during_units), (placed, placed_units))
    cpu = [w for w in against_steady if (w.ratio("cpu_ms_per_unit") or 0.0) >= c.cpu_ratio]
    moved = [
        w
        for w in against_placed
        if (w.share_rise or 0.0) >= c.efficiency_share_points
        or (w.ratio("fast_cycles_per_ns") or 1.0) <= c.cycle_rate_ratio
    ]
    low_ipc = [w for w in against_steady if (w.ratio("ipc") or 1.0) <= c.ipc_ratio]
    out = [
        _rises("device", "device time", (device, steady_device), c.device_ratio, c.device_plus_ms),
        _rises(
            "completion_path",
            "completion time",
            (completion, steady_completion),
            c.completion_ratio,
            c.completion_plus_ms,
        ),
    ]
    if not against_steady:
        out.append(Cause("placement", "unknown", "no thread counters in both the transient and the steady state"))
    else:
        shares = _heaviest(moved or against_placed, "efficiency_share")
        spent = _heaviest(cpu or against_steady, "cpu_ms_per_unit")
        placement = bool(cpu) and bool(moved)
        evidence = (
            f"{_against('CPU per unit', spent, ' ms')}, {_against('efficiency share', shares)}; "
            f"{len(moved)} of {len(against_placed)} threads moved or ran at a lower rate"
        )
        shown = tuple(w.name for w in moved)
        out.append(Cause("placement", "applies" if placement else "ruled_out", evidence, *shares, shown))
        ipc = _heaviest(low_ipc or against_steady, "ipc")
        unexplained = bool(cpu) and not placement and bool(low_ipc)
        why = ", placement explains the rise" if placement else ""
        out.append(Cause("ipc", "applies" if unexplained else "ruled_out", _against("IPC", ipc) + why, *ipc))
    quick = transient <= c.quick_recovery_s
    evidence = f"recovered {transient:g} s after the mark"
    limit = c.quick_recovery_s
    out.append(Cause("quick_recovery", "applies" if quick else "ruled_out", evidence, transient, limit))
    return tuple(out)


def _witnesses(
    names: tuple[str, ...], during: tuple[np.ndarray, int], reference: tuple[np.ndarray, int]
) -> list[Witness]:
    known = reference[0][0] > 0
    found = witnesses(names, during[0], reference[0].astype(np.float64), (during[1], reference[1]), known)
    return [witness for witness in found if witness.is_known]
