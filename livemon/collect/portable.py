"""Threads through psutil, where nothing better is: CPU time per thread, and what is missing said."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import psutil

from livemon.collect.portable_ledger import Ledger, RawThread
from livemon.collect.portable_sampler import LedgerSampler
from livemon.collect.threads import SamplingOptions
from livemon.model.facts import Capability


def capabilities() -> tuple[Capability, ...]:
    """What psutil gives and what it does not."""
    missing = f"psutil on {sys.platform} does not tell it"
    remedy = "run livemon on Linux or macOS"
    return (
        Capability("thread CPU time", True, "psutil"),
        Capability("run-queue delay", False, missing, remedy),
        Capability("last CPU", False, missing, remedy),
        Capability("core classes", False, missing, remedy),
        Capability("hardware counters", False, missing, remedy),
        Capability("thread names", False, missing, remedy),
    )


class PortableSampler(LedgerSampler):
    """A ``ThreadSampler`` over psutil.

    Raises:
        TargetError: a process does not exist.
    """

    def __init__(self, pids: Sequence[int], *, options: SamplingOptions) -> None:
        rights = "run livemon as its user or as administrator"
        super().__init__(pids, options=options, ledger=Ledger(), capabilities=capabilities(), rights=rights)

    def _threads(self, pid: int) -> list[RawThread]:
        try:
            listed = self._processes.process(pid).threads()
        except psutil.AccessDenied as error:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error
        except psutil.Error as error:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from error
        return [RawThread(pid, t.id, round((t.user_time + t.system_time) * 1e9)) for t in listed]

    def _name(self, thread: RawThread) -> str:
        return ""
