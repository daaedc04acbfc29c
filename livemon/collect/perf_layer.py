"""``perf_event_open`` through ctypes: open, read, close; the seam that tests replace."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass
from typing import Protocol

PERF_TYPE_HARDWARE = 0
HW_CYCLES, HW_INSTRUCTIONS = 0, 1
EXCLUDE_KERNEL = 1 << 5

_SYSCALLS = {
    "x86_64": 298,
    "aarch64": 241,
    "arm64": 241,
    "riscv64": 241,
    "loongarch64": 241,
    "ppc64le": 319,
    "ppc64": 319,
    "s390x": 331,
    "i686": 336,
    "armv7l": 364,
}
_ATTR_SIZE = 64
"""PERF_ATTR_SIZE_VER0: every kernel takes it, and nothing newer is needed."""
_READ_FORMAT = 1 | 2 | 8
"""Time enabled, time running, whole group in one read."""
_FD_CLOEXEC = 8
_HEADER_BYTES = 24


@dataclass(frozen=True, slots=True)
class Reading:
    """One read of a group: cumulative since it was opened."""

    enabled_ns: int
    """Time the thread ran while the group existed, whatever the CPU."""
    running_ns: int
    """Of that, the time the group was counting."""
    values: tuple[int, ...]
    """Counts in the order in which the group's events were opened."""


class PerfLayer(Protocol):
    """The three calls."""

    def open(self, kind: int, config: int, tid: int, leader: int, flags: int, cpu: int = -1) -> int:
        """Attach a counting event to a thread; returns a descriptor.

        Args:
            kind: Event type: ``PERF_TYPE_HARDWARE`` or the type of a PMU device.
            config: The event in that type's encoding.
            tid: Thread; 0 is the calling one.
            leader: Descriptor of the group's first event; -1 opens a new group.
            flags: ``EXCLUDE_KERNEL`` or 0.
            cpu: Count only while it runs on this CPU; -1 on whatever CPU it runs.

        Raises:
            OSError: the kernel refused; ``errno`` says why (see ``perf_errors``).
        """
        ...

    def read(self, descriptor: int) -> Reading | None:
        """A group's counts; ``None`` if the kernel has nothing for it any more.

        Raises:
            OSError: it can't be read.
        """
        ...

    def close(self, descriptor: int) -> None:
        """Take the event off."""
        ...


class KernelPerf:
    """The running kernel's perf events."""

    def __init__(self) -> None:
        self._number = _SYSCALLS.get(platform.machine()) if platform.system() == "Linux" else None
        self._libc = ctypes.CDLL(None, use_errno=True) if self._number is not None else None

    def open(self, kind: int, config: int, tid: int, leader: int, flags: int, cpu: int = -1) -> int:
        """See ``PerfLayer.open``."""
        if self._libc is None or self._number is None:
            raise OSError(errno.ENOSYS, f"perf events are not known for {platform.system()} {platform.machine()}")
        attr = struct.pack("=IIQQQQQIIQ", kind, _ATTR_SIZE, config, 0, 0, _READ_FORMAT, flags, 0, 0, 0)
        descriptor: int = self._libc.syscall(
            ctypes.c_long(self._number),
            ctypes.c_char_p(attr),
            ctypes.c_int(tid),
            ctypes.c_int(cpu),
            ctypes.c_int(leader),
            ctypes.c_ulong(_FD_CLOEXEC),
        )
        if descriptor < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return descriptor

    def read(self, descriptor: int) -> Reading | None:
        """See ``PerfLayer.read``."""
        data = os.read(descriptor, 256)
        if len(data) < _HEADER_BYTES:
            return None  # end of file: the event is in its error state and never counts again
        count, enabled_ns, running_ns, *values = struct.unpack(f"={len(data) // 8}Q", data)
        return Reading(enabled_ns, running_ns, tuple(values[:count]))

    def close(self, descriptor: int) -> None:
        """See ``PerfLayer.close``."""
        os.close(descriptor)
