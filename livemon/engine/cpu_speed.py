"""How fast the CPUs ran that the watched threads ran on: frequencies weighed by the CPU time spent there."""

from __future__ import annotations

import re

import numpy as np

from livemon.engine.core_classes import CoreClasses
from livemon.engine.logbins import Floats, Ints
from livemon.model.samples import MachineSample

_FREQUENCY = re.compile(r"cpu(\d{1,5})_freq_khz", re.ASCII)
_MOST_CPUS = 100_000
"""CPU numbers from here on are no kernel's: they count as unknown."""


def frequencies_khz(sample: MachineSample) -> dict[int, int]:
    """CPU number -> momentary frequency."""
    return {
        int(match[1]): khz
        for name, khz in sample.values
        if khz > 0 and name.endswith("_freq_khz") and (match := _FREQUENCY.fullmatch(name))
    }


class CpuSpeed:
    """Sums over a stream in which frequencies come about once a second.

    Where there are efficiency cores only the others count: cores of another kind are no slower clock.

    Args:
        cores: Which CPUs are efficiency cores.
    """

    def __init__(self, cores: CoreClasses) -> None:
        self._cores = cores
        self.is_on = False
        """Frequencies are recorded in this session."""
        self._khz: dict[int, int] = {}
        """Read in this second, by CPU."""
        self._ran_ns: Floats = np.zeros(1)
        """CPU time in this second by CPU number + 1; the first is that of an unknown CPU."""
        self.sums: tuple[int, int] = (0, 0)
        """Cumulative: kHz x CPU ns, CPU ns."""

    def add(self, last_cpu: Ints, cpu_ns: Ints) -> None:
        """Threads ran, each for so long, and were then seen on these CPUs; -1 is unknown."""
        place = np.where((last_cpu >= 0) & (last_cpu < _MOST_CPUS), last_cpu + 1, 0)
        # Sums of a second as floats are exact: they are far below 2**53.
        ran: Floats = np.bincount(place, cpu_ns, len(self._ran_ns)).astype(np.float64)
        ran[: len(self._ran_ns)] += self._ran_ns
        self._ran_ns = ran

    def read(self, sample: MachineSample) -> None:
        """Frequencies were read, if the sample has any."""
        if khz := frequencies_khz(sample):
            self.is_on = True
            self._khz |= khz

    def settle(self) -> None:
        """A second is over: what was read in it goes with the time that was spent in it."""
        for place in np.flatnonzero(self._ran_ns[1:]).tolist() if self._khz else ():
            if place in self._khz and not self._cores.is_slow_cpu(place):
                ran_ns = int(self._ran_ns[place + 1])
                self.sums = self.sums[0] + self._khz[place] * ran_ns, self.sums[1] + ran_ns
        self._khz.clear()
        self._ran_ns[:] = 0
