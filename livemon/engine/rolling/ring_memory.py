"""Memory of the thread rings: blocks that come and go in order, apart from everything else.

Megabytes of blocks among millions of short-lived values would tear the heap to pieces, and what is freed there
stays with the process. Here blocks are put one after the other into chunks of their own; a chunk goes back to
the system with its last block. A page that was never written takes no memory.
"""

from __future__ import annotations

from mmap import mmap

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int32]

CHUNK_BYTES = 256 << 10


class RingMemory:
    """Gives arrays of 4-byte values, not set to anything; the oldest are let go first."""

    def __init__(self) -> None:
        self._free: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)

    def floats(self, rows: int, columns: int) -> Floats:
        """(rows, columns)."""
        return self._take(4 * rows * columns).view(np.float32).reshape(rows, columns)

    def numbers(self, count: int) -> Numbers:
        """(count,)."""
        return self._take(4 * count).view(np.int32)

    def _take(self, size_bytes: int) -> npt.NDArray[np.uint8]:
        if size_bytes > len(self._free):
            self._free = np.frombuffer(mmap(-1, max(CHUNK_BYTES, size_bytes)), np.uint8)
        taken, self._free = self._free[:size_bytes], self._free[size_bytes:]
        return taken
