"""What the recorder itself keeps in memory."""

from __future__ import annotations

import contextlib
import os
import resource
import sys


class OwnMemory:
    """Memory of this process, out of a file that is kept open."""

    def __init__(self) -> None:
        self._fd = -1
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        with contextlib.suppress(OSError):
            self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def resident_bytes(self) -> int:
        """What is in memory now; the peak where the system gives only that."""
        try:
            return int(os.pread(self._fd, 256, 0).split()[1]) * self._page_bytes
        except OSError:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return peak if sys.platform == "darwin" else peak * 1024

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
