"""Threads in an episode against their healthy state: shares, rates, CPU per unit, and the ledger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livemon.engine.logbins import Floats, Ints
from livemon.engine.thread_health import Flags
from livemon.engine.thread_work import (
    CPU,
    DELAY,
    DELAY_CPU,
    E_CPU,
    E_CYC_CPU,
    E_CYCLES,
    F_CPU,
    F_CYC_CPU,
    F_CYCLES,
    HOPS,
    INS,
    INS_CPU,
    IPC_CYCLES,
    IPC_INS,
)
from livemon.model.findings import LedgerRow, ThreadEvidence

_LEAST_CPU_NS = 1_000_000
"""CPU time in the episode below which a thread is no witness."""
_LEAST_PART = 0.01
_INSTRUCTED_PART = 0.8
"""Of a thread's CPU time: if instructions are known for less, a share of them would pass for all."""
_SHOWN = 12
_NEWLY_BUSY_PART = 0.25
"""Part of all CPU time in the episode from which a thread that took far less before is named."""
_NEWLY_BUSY_TIMES = 3.0


def quotient(over: float, under: float) -> float | None:
    """A quotient; ``None`` where there is nothing below."""
    return over / under if under > 0 else None


@dataclass(frozen=True, slots=True)
class Side:
    """One thread name's work on one side (during or reference), and the units of that side."""

    work: tuple[float, ...]
    units: float

    @property
    def cpu_ms_per_unit(self) -> float | None:
        """CPU time per unit."""
        return quotient(self.work[CPU] / 1e6, self.units)

    @property
    def efficiency_share(self) -> float | None:
        """Of the CPU time whose core class is known."""
        return quotient(self.work[E_CPU], self.work[E_CPU] + self.work[F_CPU])

    @property
    def cycles_per_ns(self) -> float | None:
        """Over all cores; relative, not a clock frequency."""
        return quotient(self.work[E_CYCLES] + self.work[F_CYCLES], self.work[E_CYC_CPU] + self.work[F_CYC_CPU])

    @property
    def fast_cycles_per_ns(self) -> float | None:
        """On the fast cores, where the thread ran there long enough to tell."""
        if self.work[F_CYC_CPU] < max(200_000, 0.02 * self.work[CPU]):
            return None
        return quotient(self.work[F_CYCLES], self.work[F_CYC_CPU])

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle, all cores."""
        return quotient(self.work[IPC_INS], self.work[IPC_CYCLES])

    @property
    def instructions_per_unit(self) -> float | None:
        """Instructions per unit; ``None`` where they are not counted, or for a part of the CPU time only."""
        instructions = self.work[INS]
        if instructions <= 0 or self.work[INS_CPU] < _INSTRUCTED_PART * self.work[CPU]:
            return None
        return quotient(instructions, self.units)

    @property
    def run_delay_share(self) -> float | None:
        """Run-queue delay's part of the time in which the thread was runnable."""
        return quotient(self.work[DELAY], self.work[DELAY] + self.work[DELAY_CPU])

    @property
    def hops(self) -> float:
        """CPU changes seen."""
        return self.work[HOPS]


@dataclass(frozen=True, slots=True)
class Witness:
    """A thread name that worked in the episode."""

    name: str
    during: Side
    reference: Side
    is_known: bool
    """Whether its healthy state is known."""

    def ratio(self, figure: str) -> float | None:
        """During divided by reference of a figure of ``Side``."""
        during, reference = getattr(self.during, figure), getattr(self.reference, figure)
        return quotient(during, reference) if during is not None and reference is not None else None

    @property
    def share_rise(self) -> float | None:
        """Rise of the efficiency share, 0..1."""
        during, reference = self.during.efficiency_share, self.reference.efficiency_share
        return during - reference if during is not None and reference is not None else None


def witnesses(
    names: tuple[str, ...], during: Ints, reference: Floats, units: tuple[float, float], known: Flags
) -> list[Witness]:
    """The names with enough CPU time in the episode, most first.

    Args:
        names: Thread names; two processes may share one.
        during: (ROWS, names) sums in the episode.
        reference: The same of the healthy state.
        units: Units during and in the reference.
        known: (names,) whether the healthy state is known.
    """
    least = max(_LEAST_CPU_NS, _LEAST_PART * float(during[CPU].sum()))
    order = sorted(np.flatnonzero(during[CPU] >= least).tolist(), key=lambda k: (-int(during[CPU, k]), k))
    return [
        Witness(
            names[k],
            Side(tuple(float(v) for v in during[:, k]), units[0]),
            Side(tuple(float(v) for v in reference[:, k]), units[1]),
            bool(known[k]),
        )
        for k in order
    ]


def newly_busy(found: list[Witness], waiting: tuple[str, ...]) -> list[Witness]:
    """Threads with much of the episode's CPU time that took far less before; those that waited left out."""
    least = _NEWLY_BUSY_PART * sum(w.during.work[CPU] for w in found)
    return [
        w
        for w in found
        if w.name not in waiting
        and w.during.work[CPU] >= least
        and (before := w.reference.cpu_ms_per_unit) is not None
        and (w.during.cpu_ms_per_unit or 0.0) >= _NEWLY_BUSY_TIMES * before
    ]


def evidence_rows(found: list[Witness], classes: tuple[str, str]) -> tuple[ThreadEvidence, ...]:
    """The witnesses as shown; ``classes``: names of the fast and the efficiency class."""

    def pair(witness: Witness, figure: str) -> tuple[float | None, float | None]:
        return getattr(witness.during, figure), getattr(witness.reference, figure)

    rows = []
    for witness in found[:_SHOWN]:
        share = witness.during.efficiency_share
        core_class = None if share is None else classes[1] if share >= 0.5 else classes[0]
        rows.append(
            ThreadEvidence(
                thread=witness.name,
                core_class=core_class,
                cpu_ms_per_unit=pair(witness, "cpu_ms_per_unit"),
                efficiency_share=pair(witness, "efficiency_share"),
                cycles_per_ns=pair(witness, "cycles_per_ns"),
                ipc=pair(witness, "ipc"),
                run_delay_share=pair(witness, "run_delay_share"),
            )
        )
    return tuple(rows)


def ledger_rows(found: list[Witness]) -> tuple[LedgerRow, ...]:
    """CPU per unit multiplied out: instructions / (IPC x cycle rate), each as a multiplier on CPU time."""
    rows = []
    for witness in found[:_SHOWN]:
        observed = witness.ratio("cpu_ms_per_unit")
        ipc, rate = witness.ratio("ipc"), witness.ratio("cycles_per_ns")
        factors = (
            ("instructions", witness.ratio("instructions_per_unit")),
            ("ipc", 1 / ipc if ipc else None),
            ("cycle_rate", 1 / rate if rate else None),
        )
        explained: float | None = 1.0
        for _, factor in factors:
            explained = explained * factor if explained is not None and factor is not None else None
        rows.append(
            LedgerRow(
                thread=witness.name,
                cpu_ms_during=witness.during.cpu_ms_per_unit,
                cpu_ms_reference=witness.reference.cpu_ms_per_unit,
                factors=factors,
                explained=explained,
                residual=observed / explained if observed is not None and explained else None,
            )
        )
    return tuple(rows)
