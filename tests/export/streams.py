"""Sample streams built by hand: units of three classes and threads with per-class counters."""

import random
from array import array
from collections.abc import Iterator

from livemon.export.plots import ClassedSample
from livemon.model.samples import UNKNOWN, ClassColumns, ThreadInfo, ThreadTick, TimingRecord
from tests.export.judgements import T0, S

CLASSES = ("0/3", "1/3", "2/3")
VALIDATE_MS = {"0/3": 50.0, "1/3": 90.6, "2/3": 16.0}
EPISODE = (T0 + 8 * S, T0 + 11 * S)


def records(
    n: int = 48, *, scale: float = 1.0, seed: int = 1, step_ns: int = S // 3, classes: tuple[str, ...] = CLASSES
) -> Iterator[tuple[TimingRecord, str]]:
    """Units every third of a second; validate scaled by ``scale``."""
    noise = random.Random(seed)
    for i in range(n):
        key = classes[i % len(classes)]
        prepare, run = 0.6 + noise.random() / 10, 28 + noise.gauss(0, 1)
        validate = VALIDATE_MS.get(key, 20.0) * scale * (1 + noise.gauss(0, 0.02))
        t_ns = T0 + S // 2 + i * step_ns
        total = prepare + run + validate + 5
        yield (
            TimingRecord(
                t_ns + 1000, t_ns, "line", "c_api_timing", str(i), None,
                (("prepare", prepare), ("runner_run", run), ("validate", validate), ("total", total)),
                fields=(("dev", "0"),), pid=4711, stream=0, offset=i * 100, length=100, line=i + 1,
            ),
            key,
        )  # fmt: skip


def threads(seconds: int = 20, hz: int = 10) -> Iterator[ThreadInfo | ThreadTick]:
    """One thread that moves to E cores in the episode, one that idles, one without counters."""
    yield ThreadInfo(T0, 0, 4711, 4712, "client-short", process="serve")
    yield ThreadInfo(T0, 1, 4711, 4713, "dispatch", process="serve")
    p, e, other = [0, 0, 0], [0, 0, 0], 0
    for tick in range(seconds * hz):
        t_ns = T0 + tick * S // hz
        if 12.0 <= tick / hz < 13.5:
            continue
        on_e = EPISODE[0] <= t_ns < EPISODE[1]
        rate, ipc, cpu_ns = (1.4, 1.7, 60_000_000) if on_e else (4.0, 3.3, 20_000_000)
        lane = e if on_e else p
        lane[0] += cpu_ns
        lane[1] += int(cpu_ns * rate)
        lane[2] += int(cpu_ns * rate * ipc)
        other += 5_000_000
        yield ThreadTick(
            t_ns, array("q", [0, 1]), array("q", [p[0] + e[0], other]), array("q", [tick * 1000, UNKNOWN]),
            array("q", [tick * 3, tick]), array("q", [2 if on_e else 0, 1]),
            (
                ClassColumns("P", *(array("q", [v, UNKNOWN]) for v in p)),
                ClassColumns("E", *(array("q", [v, UNKNOWN]) for v in e)),
            ),
            is_keyframe=tick % 50 == 0,
        )  # fmt: skip


def classed(**options: object) -> list[ClassedSample]:
    """Units and threads together, in order of arrival."""
    both: list[ClassedSample] = [*records(**options), *((s, None) for s in threads())]  # type: ignore[arg-type]
    return sorted(both, key=lambda pair: pair[0].arrival_ns)
