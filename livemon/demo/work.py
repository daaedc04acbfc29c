"""Real CPU work of a known size: hashing, which holds no interpreter lock while it runs."""

from __future__ import annotations

import hashlib
import time

_BLOCK = memoryview(bytes(4 << 20))


class CpuWork:
    """CPU work measured out in milliseconds of this machine when it is undisturbed.

    The amount of work is fixed, not the time: on a contended CPU the same work takes longer, and
    that is what the demo is there to show. Threads may share one instance.
    """

    def __init__(self) -> None:
        self._bytes_per_ms = _calibrate()

    def burn(self, milliseconds: float) -> None:
        """Do as much work as takes ``milliseconds`` of CPU time when nothing else is in the way."""
        left = int(milliseconds * self._bytes_per_ms)
        while left > 0:
            size = min(left, len(_BLOCK))
            hashlib.sha256(_BLOCK[:size])
            left -= size


def _calibrate() -> int:
    """Bytes hashed in a millisecond of CPU time: the best of several, so that a busy machine does not spoil it."""
    size = 512 << 10
    hashlib.sha256(_BLOCK[:size])
    best_ns = None
    for _ in range(8):
        before = time.thread_time_ns()
        hashlib.sha256(_BLOCK[:size])
        spent = time.thread_time_ns() - before
        if spent > 0 and (best_ns is None or spent < best_ns):
            best_ns = spent
    return int(size * 1_000_000 / best_ns) if best_ns else size
