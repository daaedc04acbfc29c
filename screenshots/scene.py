"""The recorded session of the pictures: 100 s of a serving process, made up from a seed.

Requests come each 33 ms; three kernels run in a cycle and validate takes too long in each. At 40 s and 78 s
the threads ``dispatch`` and ``client-short`` run on efficiency cores for 3.2 s and 4 s: their cycle rate and IPC
fall, the requests' host stages grow. ``livemon import`` makes the session from a log and thread counters.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from livemon.cli import main as livemon
from livemon.session.reader import SessionReader

START_NS = 1_016_281_687_533_807
WALL_NS = 1_767_261_600_000_000_000
EPISODES = ((40.0, 43.2), (78.0, 82.0))
SECONDS = 100.0
SECOND_DEVICE_S = 20.0
KERNELS = ((0.58, 19.7, 16.0, 5.0), (0.55, 22.4, 86.0, 26.0), (0.61, 33.1, 52.0, 24.0))
THREADS = (
    # name, CPU ms in each 100 ms, instructions per cycle, moves in an episode
    ("dispatch", 2.8, 3.3, True), ("client-short", 1.7, 3.1, True), ("client-long", 0.5, 2.9, False),
    ("gpu-worker", 0.9, 2.2, False), ("tokenizer", 0.4, 2.6, False), ("detok", 0.2, 2.4, False),
    ("io-loop", 0.1, 1.3, False), ("metrics", 0.02, 1.1, False),
)  # fmt: skip


def is_slow(t_s: float) -> bool:
    return any(start <= t_s < end for start, end in EPISODES)


def write_log(path: Path, chance: random.Random) -> None:
    lines: list[tuple[float, str]] = []
    t, unit = 0.4, 0
    while t < SECONDS:
        factor = 5.5 if is_slow(t) else 1.0
        prepare, features, native = (base * chance.gauss(1, 0.04) for base in (0.62 * factor, 1.12 * factor, 9.6))
        total = prepare + features + native + 0.2 * factor
        stages = f"prepare={prepare:.3f}ms features={features:.3f}ms native={native:.3f}ms total={total:.3f}ms"
        lines.append((t + total / 1000, f"[req_timing] id={unit} stream=short {stages}"))
        t, unit = t + max(0.033, total / 1000) * chance.gauss(1, 0.02), unit + 1
    t, unit = 0.1, 0
    while t < SECONDS:
        prepare, run, validate, rest = (value * chance.gauss(1, 0.03) for value in KERNELS[unit % 3])
        total = prepare + run + validate + rest
        t += total / 1000
        kernel = ("decode_layer", "final_rms", "lm_head")[unit % 3]
        stages = f"prepare_ctx={prepare:.2f}ms runner_run={run:.2f}ms validate={validate:.2f}ms total={total:.2f}ms"
        lines.append((t, f"[c_api_timing] run={unit} kernel={kernel} {stages}"))
        unit += 1
    lines.append((SECOND_DEVICE_S, "INFO scheduler: device 2 on"))
    lines.sort()
    with path.open("w", encoding="utf-8") as out:
        out.write(f"[CLOCK_ANCHOR] v=1 pid=4711 mono_ns={START_NS} wall_ns={WALL_NS}\n")
        for when, text in lines:
            out.write(f"[mono_ns={START_NS + round(when * 1e9)}] {text}\n")


def write_threads(path: Path, chance: random.Random) -> None:
    totals = {name: {"P": [0, 0, 0], "E": [0, 0, 0]} for name, *_ in THREADS}
    waits = dict.fromkeys(totals, 0)
    with path.open("w", encoding="utf-8") as out:
        for tick in range(round(SECONDS * 10)):
            t_s = tick / 10
            rows = []
            for number, (name, cpu_ms, ipc, moves) in enumerate(THREADS):
                on_e = moves and is_slow(t_s)
                core, rate, got_ipc, factor = ("E", 1.4, ipc * 0.52, 5.5) if on_e else ("P", 4.0, ipc, 1.0)
                cpu_ns = round(cpu_ms * 1e6 * factor * chance.gauss(1, 0.05))
                cycles = round(cpu_ns * rate * chance.gauss(1, 0.01))
                counters = totals[name][core]
                for place, value in enumerate((round(cycles * got_ipc), cycles, cpu_ns)):
                    counters[place] += value
                waits[name] += round(cpu_ns * 0.01 * chance.random())
                cpu = 8 + number % 4 if core == "E" else number % 8
                facts = {"run_delay_ns": waits[name], "last_cpu": cpu}
                rows.append({"pid": 4711, "tid": 4720 + number, "name": name, **totals[name], **facts})
            out.write(json.dumps({"t_ns": START_NS + round(t_s * 1e9), "threads": rows}) + "\n")


def make_session(folder: Path) -> Path:
    """Write the files, import them; the session's path."""
    chance = random.Random(7)
    log, threads, session = folder / "serve.log", folder / "threads.jsonl", folder / "serve.livemon"
    write_log(log, chance)
    write_threads(threads, chance)
    arguments = ["import", "--log", str(log), "--threads", str(threads), "-o", str(session), "--force"]
    code = livemon(arguments)
    if code != 0:
        raise SystemExit(f"import failed with {code}")
    reader = SessionReader(session)
    reader.add_mark("device 2 on", START_NS + round(SECOND_DEVICE_S * 1e9), "command")
    reader.close()
    return session
