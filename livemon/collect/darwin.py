"""macOS: per-thread counters of each performance level through libproc, own and other processes alike.

``proc_pidinfo`` with flavor 34 fills, for one thread id, a header and five numbers for each level:
instructions, cycles, user time, system time (both in Mach time units) and energy. The kernel keeps
them itself, so they cost the target nothing. The interface is private: numbers, sizes and errors are
those of XNU's ``proc_info.h``, ``proc_info.c`` and ``recount.c``. Sizes are checked, and a read that
fails is a thread without counters, never an error. A process of another user is refused with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Sequence

from livemon.collect.portable_ledger import ClassValues, Ledger, RawThread
from livemon.collect.portable_sampler import LedgerSampler
from livemon.collect.threads import SamplingOptions
from livemon.model.errors import TargetError
from livemon.model.facts import Capability, Cpu, Topology
from livemon.model.samples import UNKNOWN
from livemon.parse.procfs import printable

LIBRARY = "/usr/lib/libSystem.B.dylib"

_THREAD_ID_INFO, _LIST_THREAD_IDS, _THREAD_COUNTS = 15, 28, 34
_HEADER = struct.Struct("=HHI")
_LEVEL = struct.Struct("=5Q")
_THREAD_INFO_BYTES, _NAME_OFFSET, _NAME_BYTES = 112, 48, 64
_HAS_NO_COUNTS = frozenset({errno.EINVAL, errno.ENOTSUP})
"""Of a kernel that does not know the flavor (before macOS 13), or that was built without counters."""


class LibProc:
    """The C functions.

    Args:
        library: Path of the library that has them.

    Raises:
        TargetError: there is no such library, or it lacks one of the functions.
    """

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self._lib = ctypes.CDLL(library, use_errno=True)
            self._pidinfo = self._lib.proc_pidinfo
            self._sysctl = self._lib.sysctlbyname
            timebase = self._lib.mach_timebase_info
        except (OSError, AttributeError) as error:
            raise TargetError(
                f"per-thread counters of macOS need {library}: {error}", "run livemon on macOS"
            ) from error
        self._pidinfo.restype = ctypes.c_int
        self._pidinfo.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int]
        self._sysctl.restype = ctypes.c_int
        self._sysctl.argtypes = [
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_size_t),
            ctypes.c_void_p,
            ctypes.c_size_t,
        ]
        ratio = (ctypes.c_uint32 * 2)()
        timebase(ratio)
        self._numer, self._denom = self._ticks(ratio[0], ratio[1])
        self.levels = self._read_levels()
        """Names of the performance levels, fastest first, as the system has them."""
        self._counts_size = _HEADER.size + max(len(self.levels), 1) * _LEVEL.size
        self._buffer = ctypes.create_string_buffer(max(self._counts_size, _THREAD_INFO_BYTES))
        self._ids = (ctypes.c_uint64 * 256)()

    def thread_ids(self, pid: int) -> list[int]:
        """The 64-bit ids of a process's threads; they are never used again.

        Raises:
            OSError: the process has ended or may not be read.
        """
        while True:
            size = ctypes.sizeof(self._ids)
            ctypes.set_errno(errno.ESRCH)  # of a process whose threads are all gone the list is empty: no error is set
            filled = self._pidinfo(pid, _LIST_THREAD_IDS, 0, self._ids, size)
            if filled <= 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code))
            if filled < size:
                return list(self._ids[: filled // 8])
            self._ids = (ctypes.c_uint64 * (2 * len(self._ids)))()

    def counts(self, pid: int, tid: int) -> tuple[ClassValues, ...] | None:
        """What a thread did on each level so far; ``None`` if it could not be read."""
        filled = self._pidinfo(pid, _THREAD_COUNTS, tid, self._buffer, self._counts_size)
        if filled < _HEADER.size + _LEVEL.size:
            return None
        levels = min((filled - _HEADER.size) // _LEVEL.size, len(self.levels))
        data = self._buffer.raw
        rows: list[ClassValues] = []
        for level in range(levels):
            instructions, cycles, user, system, _ = _LEVEL.unpack_from(data, _HEADER.size + level * _LEVEL.size)
            rows.append(((user + system) * self._numer // self._denom, cycles, instructions))
        if any(cpu_ns for cpu_ns, _, _ in rows) and not any(cycles for _, cycles, _ in rows):
            # What ran took cycles: this Mac (a virtual one, say) counts none.
            rows = [(cpu_ns, UNKNOWN, UNKNOWN) for cpu_ns, _, _ in rows]
        rows += [(UNKNOWN, UNKNOWN, UNKNOWN)] * (len(self.levels) - levels)
        return tuple(rows)

    def why_no_counts(self) -> str:
        """Why this Mac gives no counters; empty if it does: asked of a thread of livemon's own."""
        if not self.levels:
            return "this Mac has no performance levels"
        try:
            tid = self.thread_ids(os.getpid())[0]
        except OSError:
            return ""
        ctypes.set_errno(0)
        if self.counts(os.getpid(), tid) is None and ctypes.get_errno() in _HAS_NO_COUNTS:
            return f"this macOS keeps none ({errno.errorcode[ctypes.get_errno()]})"
        return ""

    def _ticks(self, numer: int, denom: int) -> tuple[int, int]:
        """Numerator and denominator of a Mach tick in ns.

        Translated by Rosetta, livemon is told Intel's ratio, while the kernel counts the ticks of the real clock.
        """
        hertz = self.sysctl_int("hw.tbfrequency") if self.sysctl_int("sysctl.proc_translated") == 1 else None
        if hertz and hertz > 0:
            return 1_000_000_000, hertz
        return (numer, denom) if denom else (1, 1)

    def thread_info(self, pid: int, tid: int) -> tuple[int, str] | None:
        """CPU time in ns and name of a thread; ``None`` if it could not be read."""
        filled = self._pidinfo(pid, _THREAD_ID_INFO, tid, self._buffer, _THREAD_INFO_BYTES)
        if filled < _THREAD_INFO_BYTES:
            return None
        data = self._buffer.raw
        user_ns, system_ns = struct.unpack_from("=2Q", data)
        raw = data[_NAME_OFFSET : _NAME_OFFSET + _NAME_BYTES].split(b"\0", 1)[0]
        return user_ns + system_ns, printable(raw)

    def sysctl_int(self, name: str) -> int | None:
        """A number from ``sysctl``; ``None`` if there is no such name."""
        value = ctypes.create_string_buffer(8)
        size = ctypes.c_size_t(ctypes.sizeof(value))
        if self._sysctl(name.encode(), value, ctypes.byref(size), None, 0) != 0:
            return None
        # Some names have 32 bits, some 64; some as many as are asked for.
        return int.from_bytes(value.raw[: size.value], sys.byteorder, signed=True)

    def _sysctl_text(self, name: str) -> str | None:
        buffer = ctypes.create_string_buffer(128)
        size = ctypes.c_size_t(ctypes.sizeof(buffer))
        if self._sysctl(name.encode(), buffer, ctypes.byref(size), None, 0) != 0:
            return None
        return printable(buffer.value)

    def _read_levels(self) -> tuple[str, ...]:
        count = self.sysctl_int("hw.nperflevels") or 0
        return tuple(self._sysctl_text(f"hw.perflevel{level}.name") or f"level {level}" for level in range(count))


def class_names(levels: Sequence[str]) -> tuple[str, ...]:
    """Class names of the levels: the initial where that is unique, else with the level's number.

    >>> class_names(["Performance", "Efficiency"])
    ('P', 'E')
    """
    initials = [level[:1].upper() or "L" for level in levels]
    return tuple(
        initial if initials.count(initial) == 1 else f"{initial}{number}" for number, initial in enumerate(initials)
    )


def _efficient(levels: Sequence[str]) -> tuple[str, ...]:
    """The classes of efficiency cores: so called, else those of the slowest level where there are several.

    >>> _efficient(["Super", "Performance"])
    ('P',)
    """
    names = class_names(levels)
    called = tuple(name for name, level in zip(names, levels, strict=True) if level == "Efficiency")
    return called or (names[-1:] if len(names) > 1 else ())


def topology(library: LibProc) -> Topology:
    """Levels with their CPUs; macOS numbers CPUs from the slowest level up, but does not promise it."""
    names = class_names(library.levels)
    cpus: list[Cpu] = []
    for level in reversed(range(len(names))):
        count = library.sysctl_int(f"hw.perflevel{level}.logicalcpu") or 0
        cpus += [Cpu(len(cpus) + n, names[level]) for n in range(count)]
    return Topology(
        cpus=tuple(cpus),
        classes=names,
        class_source="hw.perflevel of sysctl (which CPU number has which level is not told)",
        efficiency_classes=_efficient(library.levels),
        online=len(cpus),
    )


def capabilities(library: str = LIBRARY) -> tuple[Capability, ...]:
    """What macOS gives and what it does not."""
    try:
        libproc = LibProc(library)
    except TargetError as error:
        return (Capability("hardware counters", False, str(error), error.hint),)
    missing = "macOS does not tell it"
    levels = ", ".join(libproc.levels)
    trouble = libproc.why_no_counts()
    remedy = "macOS 13 or newer, on a Mac with Apple silicon" if trouble else ""
    return (
        Capability("thread CPU time", True, "libproc"),
        Capability("core classes", bool(levels), f"hw.perflevel: {levels}" if levels else trouble),
        Capability("hardware counters", not trouble, trouble or f"PROC_PIDTHREADCOUNTS: {levels}", remedy),
        Capability("run-queue delay", False, missing),
        Capability("last CPU", False, f"{missing}; the class is exact all the same"),
    )


class DarwinSampler(LedgerSampler):
    """A ``ThreadSampler`` over libproc.

    Raises:
        TargetError: a process does not exist, or this is no macOS.
    """

    def __init__(self, pids: Sequence[int], *, options: SamplingOptions, library: str = LIBRARY) -> None:
        self._lib = LibProc(library)
        self._has_counters = options.counters and not self._lib.why_no_counts()
        super().__init__(
            pids,
            options=options,
            ledger=Ledger(class_names(self._lib.levels) if self._has_counters else (), reuses_ids=False),
            capabilities=capabilities(library),
            rights="run livemon as its user or with sudo",
        )

    def _threads(self, pid: int) -> list[RawThread]:
        return [thread for tid in self._lib.thread_ids(pid) if (thread := self._read(pid, tid)) is not None]

    def _name(self, thread: RawThread) -> str:
        info = self._lib.thread_info(thread.pid, thread.tid)
        return info[1] if info else ""

    def _read(self, pid: int, tid: int) -> RawThread | None:
        """A thread's counters, or its CPU time alone; ``None`` if it ended in between."""
        counts = self._lib.counts(pid, tid) if self._has_counters else None
        if counts is not None:
            return RawThread(pid, tid, sum(max(cpu_ns, 0) for cpu_ns, _, _ in counts), counts)
        info = self._lib.thread_info(pid, tid)
        return RawThread(pid, tid, info[0]) if info else None
