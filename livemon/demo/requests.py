"""The demo's fast stream: short requests that pass from thread to thread, tens of them a second.

``client-short`` submits, ``dispatch`` and ``tokenizer`` prepare, ``features`` computes, ``gpu-worker``
waits for the device, and ``client-short`` prints the line. ``prepare`` and ``features`` are CPU work of the host
and include the hand-over to the thread that does it, as in a real server: a host thread that waits
for a CPU shows there.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from queue import SimpleQueue

from livemon.demo.osthread import name_this_thread
from livemon.demo.output import print_line, timing_line
from livemon.demo.work import CpuWork

DISPATCH_MS = 0.3
TOKENIZE_MS = 0.8
FEATURES_MS = 1.1
NATIVE_S = 0.0098
PERIOD_S = 0.02
"""Fifty requests a second when healthy."""


@dataclass(slots=True)
class _Request:
    """One request on its way; times are ``perf_counter`` seconds."""

    submitted: float
    prepared: float = 0.0
    computed: float = 0.0
    answered: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)


class RequestStream:
    """Starts the threads; they run until the process ends."""

    def __init__(self, work: CpuWork, *, seed: int = 1) -> None:
        self._work = work
        self._random = random.Random(seed)  # spread of the simulated device, nothing secret
        self._to_dispatch: SimpleQueue[_Request] = SimpleQueue()
        self._to_tokenizer: SimpleQueue[_Request] = SimpleQueue()
        self._to_features: SimpleQueue[_Request] = SimpleQueue()
        self._to_device: SimpleQueue[_Request] = SimpleQueue()

    def start(self) -> None:
        """Start all five threads."""
        for name, target in (
            ("dispatch", self._dispatch),
            ("tokenizer", self._tokenize),
            ("features", self._features),
            ("gpu-worker", self._device),
            ("client-short", self._client),
        ):
            threading.Thread(target=target, name=name, daemon=True).start()

    def _client(self) -> None:
        name_this_thread("client-short")
        number = 0
        due = time.perf_counter()
        while True:
            request = _Request(submitted=time.perf_counter())
            self._to_dispatch.put(request)
            request.done.wait()
            finished = time.perf_counter()
            stages = (
                ("prepare", (request.prepared - request.submitted) * 1e3),
                ("features", (request.computed - request.prepared) * 1e3),
                ("native", (request.answered - request.computed) * 1e3),
                ("total", (finished - request.submitted) * 1e3),
            )
            print_line(timing_line("req_timing", f"id= {number} stream=short", stages))
            number += 1
            due = max(due + PERIOD_S, finished)
            time.sleep(max(due - time.perf_counter(), 0.0))

    def _dispatch(self) -> None:
        name_this_thread("dispatch")
        while True:
            request = self._to_dispatch.get()
            self._work.burn(DISPATCH_MS)
            self._to_tokenizer.put(request)

    def _tokenize(self) -> None:
        name_this_thread("tokenizer")
        while True:
            request = self._to_tokenizer.get()
            self._work.burn(TOKENIZE_MS)
            request.prepared = time.perf_counter()
            self._to_features.put(request)

    def _features(self) -> None:
        name_this_thread("features")
        while True:
            request = self._to_features.get()
            self._work.burn(FEATURES_MS)
            request.computed = time.perf_counter()
            self._to_device.put(request)

    def _device(self) -> None:
        name_this_thread("gpu-worker")
        while True:
            request = self._to_device.get()
            time.sleep(NATIVE_S * self._random.uniform(0.96, 1.06))
            request.answered = time.perf_counter()
            request.done.set()
