"""What the demo asks of the operating system: thread names, CPU affinity, dying with the parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15


def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None


_LIBC = _libc()


def name_this_thread(name: str) -> None:
    """Give the calling thread its operating system name (15 bytes at most on Linux); a no-op where there is none."""
    if _LIBC is None:
        return
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]), 0, 0, 0)
    elif sys.platform == "darwin":
        _LIBC.pthread_setname_np(ctypes.c_char_p(name.encode()[:63]))


def die_with(parent_pid: int) -> None:
    """Make the kernel kill this process when its parent ends, however it ends (Linux).

    The parent may have ended before the kernel was asked: then leave at once.
    """
    if sys.platform == "linux" and _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def leave_when_closed(fd: int) -> None:
    """Leave this process when the other end of ``fd`` is gone: the portable half of dying with the parent."""

    def wait() -> None:
        name_this_thread("watchdog")
        with contextlib.suppress(OSError):
            while os.read(fd, 4096):
                pass
        os._exit(0)

    threading.Thread(target=wait, name="watchdog", daemon=True).start()


def allowed_cpus() -> tuple[int, ...]:
    """CPUs this process may run on, ascending; empty where the system does not say (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return ()


def threads_of(pid: int) -> tuple[int, ...]:
    """Thread ids of a process; empty when it is gone or the system has no ``/proc``."""
    try:
        return tuple(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return ()


def thread_name(pid: int, tid: int) -> str:
    """Name of a thread as the kernel has it; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/task/{tid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def confine(tids: tuple[int, ...], cpus: tuple[int, ...]) -> None:
    """Let threads run on ``cpus`` only; threads that ended meanwhile are passed over."""
    if hasattr(os, "sched_setaffinity"):
        for tid in tids:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(tid, cpus)
