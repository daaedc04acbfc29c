"""Being run soon after waking up, on a machine whose CPUs are all busy, without any right to more CPU time.

Linux 6.12 and later let a process ask for a short time slice of its own: then it need not wait for the
slice of another to end. Its share of the CPU stays the same. Measured beside busy loops, the median tick
came 1 ms sooner (of 2.4 to 5.4 ms late) and the slowest tenth 4 to 7 ms (of 20 to 23); the slowest hundredth
varied too much to tell. Elsewhere the request is without effect. A finer timer slack gained nothing.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

SLICE_NS = 100_000
"""The shortest that the kernel grants."""
_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274, "ppc64le": 355, "s390x": 345}
"""Number of the system call ``sched_setattr``."""
_ATTR = "=IIQiIQQQ"
"""``struct sched_attr`` up to its first version: size, policy, flags, nice, priority, runtime, deadline, period."""


def ask_for_short_slices() -> bool:
    """Ask for them; false where that can't be asked for, or where a scheduling policy was chosen for livemon."""
    number = _SETATTR.get(platform.machine())
    if not sys.platform.startswith("linux") or number is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    try:
        if os.sched_getscheduler(0) != os.SCHED_OTHER:
            return False
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        size = struct.calcsize(_ATTR)
        attributes = ctypes.create_string_buffer(
            struct.pack(_ATTR, size, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0), size
        )
        return bool(ctypes.CDLL(None).syscall(number, 0, attributes, 0) == 0)
    except (OSError, AttributeError):
        return False
