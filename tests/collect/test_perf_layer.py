"""The three calls on the running kernel: software events work without a PMU."""

from __future__ import annotations

import errno
import os
import platform
import struct
import time
from pathlib import Path

import pytest

from livemon.collect.perf_layer import EXCLUDE_KERNEL, KernelPerf, Reading

SOFTWARE, TASK_CLOCK, CONTEXT_SWITCHES = 1, 1, 3


@pytest.fixture
def descriptor() -> int:
    try:
        return KernelPerf().open(SOFTWARE, TASK_CLOCK, 0, -1, EXCLUDE_KERNEL)
    except OSError as error:
        pytest.skip(f"this kernel or sandbox refuses perf events: {error}")


def test_a_group_counts_from_its_opening(descriptor: int) -> None:
    layer = KernelPerf()
    member = layer.open(SOFTWARE, CONTEXT_SWITCHES, 0, descriptor, EXCLUDE_KERNEL)
    first = layer.read(descriptor)
    start_ns = time.thread_time_ns()
    while time.thread_time_ns() - start_ns < 20_000_000:
        pass
    second = layer.read(descriptor)
    assert first is not None
    assert second is not None
    assert len(second.values) == 2
    assert second.running_ns - first.running_ns >= 19_000_000
    assert second.values[0] - first.values[0] >= 19_000_000
    layer.close(member)
    layer.close(descriptor)
    with pytest.raises(OSError, match=r".*"):
        layer.read(descriptor)


def test_a_descriptor_is_not_inherited(descriptor: int) -> None:
    assert not os.get_inheritable(descriptor)
    KernelPerf().close(descriptor)


def test_errnos_come_through(descriptor: int) -> None:
    os.close(descriptor)
    for kind, config, tid, expected in ((SOFTWARE, TASK_CLOCK, 2**22 + 1, errno.ESRCH), (9999, 0, 0, errno.ENOENT)):
        with pytest.raises(OSError, match=r".+") as raised:
            KernelPerf().open(kind, config, tid, -1, EXCLUDE_KERNEL)
        assert raised.value.errno == expected


def test_an_event_in_its_error_state_reads_as_nothing() -> None:
    with open(os.devnull, "rb") as empty:
        assert KernelPerf().read(empty.fileno()) is None


def test_counts_beyond_32_bits(tmp_path: Path) -> None:
    (tmp_path / "group").write_bytes(struct.pack("=5Q", 2, 7, 5, 2**40, 2**63 - 1))
    with (tmp_path / "group").open("rb") as file:
        assert KernelPerf().read(file.fileno()) == Reading(7, 5, (2**40, 2**63 - 1))


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "sparc64")])
def test_elsewhere_it_is_not_there(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(OSError, match=machine) as raised:
        KernelPerf().open(SOFTWARE, TASK_CLOCK, 0, -1, 0)
    assert raised.value.errno == errno.ENOSYS
