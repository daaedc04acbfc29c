"""Which core classes count as efficiency cores, and the class of a CPU number, as arrays for many threads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livemon.model.criteria import Criteria
from livemon.model.facts import SessionFacts
from livemon.model.samples import MachineSample

_EFFICIENCY_NAMES = frozenset({"e", "lp-e", "lpe", "little", "efficiency", "efficient", "atom", "silver"})
"""What counts when neither the criteria nor the topology say."""


class CoreClasses:
    """The core classes of a session under one set of criteria."""

    def __init__(self, criteria: Criteria, facts: SessionFacts) -> None:
        named = criteria.causes.efficiency_classes or facts.topology.efficiency_classes
        self._efficiency = frozenset(name.lower() for name in named) or _EFFICIENCY_NAMES
        self.names = facts.topology.classes
        """Classes of the topology, fastest first."""
        every = (*facts.topology.cpus, *facts.topology.others)
        known = [cpu for cpu in every if cpu.core_class in self.names]
        self.cpu_class: npt.NDArray[np.int64] = np.full(max((c.cpu for c in known), default=-1) + 2, -1, np.int64)
        """(highest CPU number + 2,) int64: position in ``names`` of each CPU; -1 unknown, also for CPU -1."""
        for cpu in known:
            self.cpu_class[cpu.cpu] = self.names.index(cpu.core_class)
        self.is_hybrid = len(self.names) > 1
        """Whether the machine has core classes to tell apart by CPU number."""

    def is_efficiency(self, core_class: str) -> bool:
        """Whether a class counts as efficiency cores."""
        return core_class.lower() in self._efficiency

    def is_slow_cpu(self, cpu: int) -> bool:
        """Whether a CPU is an efficiency core of a machine that has others too."""
        at = self._class_of(cpu)
        return at >= 0 and self.is_efficiency(self.names[at]) and not all(map(self.is_efficiency, self.names))

    def news(self, sample: MachineSample) -> dict[int, int]:
        """Positions in ``names`` of CPUs that came online later, by CPU number; those that are known left out."""
        told = sample.core_classes
        return {cpu: at for cpu, at in told.items() if at < len(self.names) and self._class_of(cpu) != at}

    def learn(self, news: dict[int, int]) -> None:
        """Take in the classes of CPUs that came online: ticks from here on may name them."""
        missing = max(news, default=-1) + 2 - len(self.cpu_class)
        if missing > 0:
            self.cpu_class = np.concatenate([self.cpu_class, np.full(missing, -1, np.int64)])
        for cpu, at in news.items():
            self.cpu_class[cpu] = at

    def _class_of(self, cpu: int) -> int:
        return int(self.cpu_class[cpu]) if cpu < len(self.cpu_class) - 1 else -1

    @staticmethod
    def is_joined(core_class: str) -> bool:
        """Whether a class stands for several that its counters can't tell apart (``P+E``): it tells no placement."""
        return "+" in core_class

    def classes_of(self, cpus: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Position in ``names`` for each CPU number; -1 where it is not known."""
        return self.cpu_class[np.clip(cpus, -1, len(self.cpu_class) - 1)]
