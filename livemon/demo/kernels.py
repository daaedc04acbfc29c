"""The demo's slow stream: a decode loop of three interleaved kernels whose finalize phase is oversized.

Per step it runs ``decode_layer``, ``final_rms`` and ``lm_head`` once each and prints one
``[c_api_timing]`` line per run, without the kernel's name, as the real log had it. Device time and
device-to-host copies are sleeps, the rest is CPU work. The first run is cold.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from livemon.demo.output import print_line, timing_line
from livemon.demo.work import CpuWork


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of the step; all figures in ms."""

    name: str
    validate_ms: tuple[float, float]
    """Host finalize after the device is done, oversized variant."""
    pooled_ms: tuple[float, float]
    """The same with its buffers kept between runs: the fixed variant."""
    outside_ms: float
    """Between the stages that the line names: shows as unaccounted time."""


LM_HEAD = Kernel("lm_head", (48.0, 55.5), (2.4, 3.1), 26.5)
DECODE_LAYER = Kernel("decode_layer", (14.2, 19.6), (0.7, 1.1), 1.6)
FINAL_RMS = Kernel("final_rms", (82.0, 90.5), (3.3, 4.2), 38.5)
CYCLE = (LM_HEAD, DECODE_LAYER, FINAL_RMS)
"""Kernel of run ``n`` is ``CYCLE[n % 3]``."""

DEVICE_MODES_MS = (18.9, 33.9)
"""The device stage has two modes that are not bound to the kernel."""
PREPARE_MS = 0.55
CPU_SHARE = 0.12
"""Share of the finalize phase that is CPU work; the rest waits for copies."""
STEP_PAUSE_S = 0.25
COLD = {"prepare_ctx": 0.25, "runner_run": 40.0, "validate": 25.0, "outside": 310.0}
"""What the first run takes on top, ms."""


def run_kernels(work: CpuWork, *, is_oversized: bool, seed: int = 1) -> None:
    """Run the decode loop for ever, in the calling thread."""
    spread = random.Random(seed)  # spread of the simulated device, nothing secret
    number = 0
    while True:
        _run(number, work, spread, is_oversized)
        number += 1
        if number % len(CYCLE) == 0:
            time.sleep(STEP_PAUSE_S)


def _run(number: int, work: CpuWork, spread: random.Random, is_oversized: bool) -> None:
    kernel = CYCLE[number % len(CYCLE)]
    cold = COLD if number == 0 else dict.fromkeys(COLD, 0.0)
    finalize_ms = spread.uniform(*(kernel.validate_ms if is_oversized else kernel.pooled_ms)) + cold["validate"]
    device_ms = spread.choice(DEVICE_MODES_MS) * spread.uniform(0.97, 1.04) + cold["runner_run"]

    start = time.perf_counter()
    work.burn(PREPARE_MS + cold["prepare_ctx"])
    prepared = time.perf_counter()
    time.sleep(device_ms / 1e3)
    device_done = time.perf_counter()
    time.sleep(finalize_ms * (1 - CPU_SHARE) / 1e3)
    work.burn(finalize_ms * CPU_SHARE)
    validated = time.perf_counter()
    time.sleep((kernel.outside_ms + cold["outside"]) / 1e3)
    end = time.perf_counter()

    stages = (
        ("prepare_ctx", (prepared - start) * 1e3),
        ("runner_run", (device_done - prepared) * 1e3),
        ("validate", (validated - device_done) * 1e3),
        ("total", (end - start) * 1e3),
    )
    print_line(timing_line("c_api_timing", f"run= {number}", stages))
