"""Thread ticks with known work, for tests."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from livemon.model.samples import UNKNOWN, ClassColumns, ThreadInfo, ThreadTick

TICK_NS = 100_000_000


@dataclass
class Work:
    """Cumulative readings of some threads; ``run`` adds a tick's work, ``tick`` reads."""

    threads: int
    classes: tuple[str, ...] = ("P", "E")
    t_ns: int = 1_000_000_000_000
    cpu: list[int] = field(default_factory=list)
    delay: list[int] = field(default_factory=list)
    cpus: list[int] = field(default_factory=list)
    by_class: dict[str, list[list[int]]] = field(default_factory=dict)
    """Class -> [cpu ns, cycles, instructions] by thread."""
    uncounted: tuple[tuple[str, int], ...] = ()
    """(class, place in its list) of what its PMU has no event for."""

    def __post_init__(self) -> None:
        self.cpu, self.delay = [5_000_000] * self.threads, [1_000_000] * self.threads
        self.cpus = [0] * self.threads
        self.by_class = {
            name: [[1_000_000, 4_000_000, 8_000_000] for _ in range(self.threads)] for name in self.classes
        }

    def infos(self) -> list[ThreadInfo]:
        return [ThreadInfo(self.t_ns, k, 100, 1000 + k, f"worker-{k}", process="serve") for k in range(self.threads)]

    def run(
        self,
        thread: int,
        cpu_ns: int,
        *,
        on: str = "P",
        rate: float = 4.0,
        ipc: float = 3.0,
        delay_ns: int = 0,
        cpu: int = 0,
    ) -> None:
        """A thread works."""
        self.cpu[thread] += cpu_ns
        self.delay[thread] += delay_ns
        self.cpus[thread] = cpu
        if self.classes:
            counts = self.by_class[on][thread]
            counts[0] += cpu_ns
            counts[1] += round(cpu_ns * rate)
            counts[2] += round(cpu_ns * rate * ipc)

    def tick(self, listed: list[int] | None = None, *, knows_delay: bool = True, step_ns: int = TICK_NS) -> ThreadTick:
        """The readings, ``step_ns`` after those before."""
        self.t_ns += step_ns
        index = list(range(self.threads)) if listed is None else listed
        pick = lambda values: array("q", [values[k] for k in index])  # noqa: E731
        classes = tuple(
            ClassColumns(
                name,
                *(
                    array("q", [UNKNOWN if (name, column) in self.uncounted else counts[k][column] for k in index])
                    for column in range(3)
                ),
            )
            for name, counts in self.by_class.items()
        )
        unknown = array("q", [UNKNOWN] * len(index))
        return ThreadTick(
            self.t_ns,
            array("q", index),
            pick(self.cpu),
            pick(self.delay) if knows_delay else unknown,
            unknown,
            pick(self.cpus),
            classes,
            is_keyframe=listed is None,
        )
