"""macOS counters against a C library that exports the same functions and fills the same structures."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from livemon.collect.darwin import DarwinSampler, LibProc, capabilities, class_names, topology
from livemon.collect.threads import SamplingOptions
from livemon.model.errors import TargetError
from livemon.model.samples import UNKNOWN, Note, Sample, TargetEvent, ThreadGone, ThreadInfo, ThreadTick

COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
FIRST = 0x100000000


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("libproc") / "libfake.so"
    source = Path(__file__).parent / "fake_libproc.c"
    subprocess.run(
        [str(COMPILER), "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", str(out), str(source)], check=True
    )
    return out


@pytest.fixture
def library(built: Path, tmp_path: Path) -> str:
    """A copy of its own for each test: it keeps state."""
    return shutil.copy(built, tmp_path / "libfake.so")


def put(library: str, name: str, value: int, kind: type = ctypes.c_int) -> None:
    kind.in_dll(ctypes.CDLL(library), name).value = value  # type: ignore[attr-defined]


def sampler(library: str, **options: object) -> DarwinSampler:
    put(library, "fake_pid", os.getpid())
    settings = {"include_self": False, "follow_children": False, **options}
    return DarwinSampler([os.getpid()], options=SamplingOptions(**settings), library=library)  # type: ignore[arg-type]


def tick_of(samples: list[Sample]) -> ThreadTick:
    assert isinstance(samples[-1], ThreadTick)
    return samples[-1]


def test_counts_per_level_with_mach_time_as_ns(library: str) -> None:
    put(library, "fake_pid", 7)
    lib = LibProc(library)
    assert lib.levels == ("Performance", "Efficiency")
    assert lib.thread_ids(7) == [FIRST, FIRST + 1, FIRST + 2]
    assert lib.counts(7, FIRST + 1) == ((24 * 2 * 125 // 3, 2000, 8000), (24 * 4 * 125 // 3, 4000, 16000))


def test_more_threads_than_the_first_buffer_holds(library: str) -> None:
    put(library, "fake_pid", 7)
    put(library, "fake_threads", 1000)
    assert len(LibProc(library).thread_ids(7)) == 1000
    put(library, "fake_threads", 256)
    assert len(LibProc(library).thread_ids(7)) == 256


def test_a_short_answer_leaves_the_missing_level_unknown(library: str) -> None:
    put(library, "fake_pid", 7)
    put(library, "fake_short", 1)
    counts = LibProc(library).counts(7, FIRST)
    assert counts is not None
    assert counts[0][1] == 1000
    assert counts[1] == (UNKNOWN, UNKNOWN, UNKNOWN)


def test_a_mac_that_counts_nothing_gives_times_and_unknown_counts_never_zero(library: str) -> None:
    put(library, "fake_pid", 7)
    put(library, "fake_uncounted", 1)
    assert LibProc(library).counts(7, FIRST) == ((1000, UNKNOWN, UNKNOWN), (2000, UNKNOWN, UNKNOWN))
    tick = tick_of(sampler(library).sample(1))
    assert list(tick.cpu_ns) == [3000, 6000, 9000]
    assert set(tick.classes[0].cycles) == {UNKNOWN}


def test_a_thread_that_names_itself_after_its_start_gets_that_name_within_a_second(library: str) -> None:
    run = sampler(library)
    assert next(s.name for s in run.sample(1) if isinstance(s, ThreadInfo)) == "main"
    put(library, "fake_renamed", 1)
    assert not [s for s in run.sample(100_000_000) if isinstance(s, ThreadInfo)]
    (info,) = [s for s in run.sample(900_000_000) if isinstance(s, ThreadInfo)]
    assert (info.index, info.tid, info.name) == (0, FIRST, "worker-0")
    put(library, "fake_renamed", 0)
    assert not [s for s in run.sample(5_000_000_000) if isinstance(s, ThreadInfo)]  # one more look, not one a tick


def test_an_intel_mac_counts_in_ns_and_a_translated_livemon_in_the_ticks_of_the_real_clock(library: str) -> None:
    """Rosetta tells Intel's 1/1, while the kernel counts ticks of 24 MHz."""
    put(library, "fake_pid", 7)
    for name in ("fake_numer", "fake_denom"):
        put(library, name, 1, ctypes.c_uint32)
    assert LibProc(library).counts(7, FIRST) == ((24, 1000, 4000), (48, 2000, 8000))
    put(library, "fake_translated", 1)
    assert LibProc(library).counts(7, FIRST) == ((1000, 1000, 4000), (2000, 2000, 8000))
    put(library, "fake_denom", 0, ctypes.c_uint32)
    put(library, "fake_translated", 0)
    assert LibProc(library).counts(7, FIRST) == ((24, 1000, 4000), (48, 2000, 8000))


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_macos_without_these_counters_gives_cpu_time_and_says_so(library: str, code: int) -> None:
    put(library, "fake_counts_errno", code)
    run = sampler(library)
    tick = tick_of(run.sample(1))
    assert tick.classes == ()
    assert list(tick.cpu_ns) == [5050, 10050, 15050]
    told = {c.name: c for c in run.capabilities}
    assert not told["hardware counters"].available
    assert "macOS keeps none" in told["hardware counters"].reason
    assert told["core classes"].available


def test_a_process_whose_threads_are_all_gone_has_ended_whatever_failed_before(library: str) -> None:
    put(library, "fake_pid", 7)
    put(library, "fake_denied", 1)
    lib = LibProc(library)
    with pytest.raises(PermissionError):
        lib.thread_ids(7)
    put(library, "fake_denied", 0)
    put(library, "fake_emptied", 1)
    with pytest.raises(ProcessLookupError):
        lib.thread_ids(7)


def test_more_levels_than_are_named_leave_the_named_ones_right(library: str) -> None:
    put(library, "fake_pid", 7)
    lib = LibProc(library)
    put(library, "fake_levels", 3)  # the answer is cut to the buffer
    assert lib.counts(7, FIRST) == ((1000, 1000, 4000), (2000, 2000, 8000))


def test_where_no_level_is_called_efficiency_the_slowest_one_is(library: str) -> None:
    put(library, "fake_first_name", 2)
    found = topology(LibProc(library))
    assert (found.classes, found.efficiency_classes) == (("S", "P"), ("P",))
    put(library, "fake_levels", 1)
    assert topology(LibProc(library)).efficiency_classes == ()


def test_a_failed_read_is_none_and_a_dead_process_an_error(library: str) -> None:
    put(library, "fake_pid", 7)
    lib = LibProc(library)
    assert lib.counts(7, FIRST + 9) is None
    assert lib.thread_info(7, FIRST + 9) is None
    with pytest.raises(ProcessLookupError):
        lib.thread_ids(8)


def test_a_tick(library: str) -> None:
    run = sampler(library)
    samples = run.sample(1)
    assert [s.event for s in samples if isinstance(s, TargetEvent)] == ["found"]
    infos = [s for s in samples if isinstance(s, ThreadInfo)]
    assert [info.tid for info in infos] == [FIRST, FIRST + 1, FIRST + 2]
    assert infos[0].name == "main"
    assert infos[1].name == "com.apple.\\x1b[31m"
    assert infos[2].name == infos[2].process  # without a name of its own
    tick = tick_of(samples)
    performance, efficiency = tick.classes
    assert (performance.core_class, efficiency.core_class) == ("P", "E")
    assert list(performance.cycles) == [1000, 2000, 3000]
    assert list(efficiency.instructions) == [8000, 16000, 24000]
    assert [p + e for p, e in zip(performance.cpu_ns, efficiency.cpu_ns, strict=True)] == list(tick.cpu_ns)
    assert set(tick.last_cpu) == {UNKNOWN}
    assert len(tick_of(run.sample(2)).index) == 0
    put(library, "fake_base", 3, ctypes.c_uint64)
    assert list(tick_of(run.sample(3)).classes[0].cycles) == [3000, 6000, 9000]


def test_threads_come_and_go(library: str) -> None:
    run = sampler(library)
    run.sample(1)
    put(library, "fake_threads", 2)
    assert [s.index for s in run.sample(2) if isinstance(s, ThreadGone)] == [2]
    put(library, "fake_threads", 3)
    assert [s.index for s in run.sample(3) if isinstance(s, ThreadInfo)] == [3]


def test_a_thread_without_counters_keeps_its_cpu_time(library: str) -> None:
    run = sampler(library, counters=False)
    tick = tick_of(run.sample(1))
    assert tick.classes == ()
    assert list(tick.cpu_ns) == [5050, 10050, 15050]


def test_a_mac_without_levels(library: str) -> None:
    put(library, "fake_levels", 0)
    run = sampler(library)
    assert tick_of(run.sample(1)).classes == ()
    assert {c.name: c.available for c in run.capabilities}["hardware counters"] is False


def test_what_may_not_be_read_is_told_once(library: str) -> None:
    run = sampler(library)
    put(library, "fake_denied", 1)
    notes = [s for _ in range(3) for s in run.sample(1) if isinstance(s, Note)]
    assert len(notes) == 1
    assert "sudo" in notes[0].remedy


def test_levels_have_short_names_whatever_they_are_called() -> None:
    assert class_names(["Performance", "Efficiency"]) == ("P", "E")
    assert class_names(["Super", "Performance", "Efficiency"]) == ("S", "P", "E")
    assert class_names(["Performance", "Performance"]) == ("P0", "P1")
    assert class_names([""]) == ("L",)


def test_topology_from_levels(library: str) -> None:
    found = topology(LibProc(library))
    assert found.classes == ("P", "E")
    assert found.efficiency_classes == ("E",)
    assert found.online == 16
    assert [cpu.core_class for cpu in found.cpus] == ["E"] * 4 + ["P"] * 12


def test_elsewhere_it_explains_itself() -> None:
    with pytest.raises(TargetError, match="run livemon on macOS"):
        LibProc("/nowhere/libSystem.dylib")
    with pytest.raises(TargetError, match="proc_pidinfo"):
        LibProc(ctypes.util.find_library("c") or "libc.so.6")
    (capability,) = capabilities("/nowhere/libSystem.dylib")
    assert not capability.available
    assert capability.reason
