"""The /proc sampler on real processes of this machine: churn, recycled ids, hostile names, forks, kill -9."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator

import pytest

from livemon.collect.threads import SamplingOptions, ThreadSampler, open_sampler
from livemon.model.errors import TargetError
from livemon.model.samples import Lost, Sample, TargetEvent, ThreadGone, ThreadInfo, ThreadTick

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the live /proc"),
    pytest.mark.usefixtures("thread_reader"),
]

DEADLINE_S = 90.0


class Child:
    """A Python program that answers each line on stdin with one on stdout."""

    def __init__(self, code: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.wait()

    def wait(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, order: str = "go") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def ask(self, order: str = "go") -> str:
        self.say(order)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Watched:
    """A sampler on a child, and what it has said so far."""

    def __init__(self, sampler: ThreadSampler) -> None:
        self.sampler = sampler
        self.infos: dict[int, ThreadInfo] = {}
        self.gone: list[int] = []
        self.samples: list[Sample] = []
        self.cpu_ns: dict[int, int] = {}

    def tick(self) -> ThreadTick:
        samples = self.sampler.sample(time.monotonic_ns())
        self.samples += samples
        self.infos.update({s.index: s for s in samples if isinstance(s, ThreadInfo)})
        self.gone += [s.index for s in samples if isinstance(s, ThreadGone)]
        tick = samples[-1]
        assert isinstance(tick, ThreadTick)
        for index, cpu_ns in zip(tick.index, tick.cpu_ns, strict=True):
            assert cpu_ns >= self.cpu_ns.get(index, 0), "CPU time went back: two threads taken for one"
            self.cpu_ns[index] = cpu_ns
        return tick

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < end, "did not come about"
            self.tick()
            time.sleep(0.02)

    @property
    def alive(self) -> set[int]:
        return set(self.infos) - set(self.gone)

    def names(self) -> set[str]:
        return {self.infos[index].name for index in self.alive}

    def events(self) -> list[tuple[int, str]]:
        return [(s.pid, s.event) for s in self.samples if isinstance(s, TargetEvent)]


Start = Callable[..., tuple[Child, Watched]]


@pytest.fixture
def start() -> Iterator[Start]:
    opened: list[tuple[Child, Watched]] = []

    def begin(code: str, **options: object) -> tuple[Child, Watched]:
        child = Child(code)
        settings = {"include_self": False, "counters": False, **options}
        sampler = open_sampler([child.process.pid], options=SamplingOptions(**settings))  # type: ignore[arg-type]
        opened.append((child, Watched(sampler)))
        return opened[-1]

    yield begin
    for child, watched in opened:
        watched.sampler.close()
        child.kill()


READY = "import sys; print('ready', flush=True)\n"


def test_cpu_time_is_that_of_the_thread(start: Start) -> None:
    child, watched = start(
        """
        import sys, threading, time
        def spin():
            while time.thread_time_ns() < 200_000_000: pass
            print(time.thread_time_ns(), flush=True); time.sleep(300)
        print('ready', flush=True); sys.stdin.readline()
        threading.Thread(target=spin, daemon=True).start(); sys.stdin.readline()
        """
    )
    watched.tick()
    own_ns = int(child.ask())
    watched.until(lambda: any(cpu_ns >= own_ns for cpu_ns in watched.cpu_ns.values()))
    assert own_ns <= max(watched.cpu_ns.values()) < own_ns + 20_000_000


def test_ten_thousand_threads_created_and_joined_are_survived_and_accounted_for(start: Start) -> None:
    """Most live for less than a tick: what they used is told, to the last tenth of a second of CPU time."""
    child, watched = start(
        """
        import resource, sys, threading
        def work(): sum(range(20000))
        print('ready', flush=True); sys.stdin.readline()
        for _ in range(500):
            threads = [threading.Thread(target=work) for _ in range(20)]
            for t in threads: t.start()
            for t in threads: t.join()
        used = resource.getrusage(resource.RUSAGE_SELF)
        print('done', round((used.ru_utime + used.ru_stime) * 1e9), flush=True); sys.stdin.readline()
        """
    )
    watched.tick()
    child.say()
    os.set_blocking(child.process.stdout.fileno(), False)  # type: ignore[union-attr]
    done = b""
    while not done.endswith(b"\n"):
        watched.tick()
        with contextlib.suppress(BlockingIOError):
            done += os.read(child.process.stdout.fileno(), 100)  # type: ignore[union-attr]
        time.sleep(0.05)
    used_ns = int(done.split()[1])
    watched.until(lambda: len(watched.alive) == 1)

    def accounted_ns() -> int:
        told_ms = sum(s.count for s in watched.samples if isinstance(s, Lost) and s.source == "threads:unseen")
        return sum(watched.cpu_ns.values()) + told_ms * 1_000_000

    watched.until(lambda: accounted_ns() > used_ns - 100_000_000)
    assert accounted_ns() < used_ns + 100_000_000
    assert len(set(watched.infos)) == len({(i.pid, i.tid, i.start_ticks, i.index) for i in watched.infos.values()})
    assert all(s.unit in {"threads", "ms of CPU time"} for s in watched.samples if isinstance(s, Lost))


def test_cpu_time_of_a_thread_that_was_seen_is_not_told_as_unseen(start: Start) -> None:
    child, watched = start(
        """
        import sys, threading, time
        def spin():
            while time.thread_time_ns() < 400_000_000: pass
            print('spun', flush=True); sys.stdin.readline()
        print('ready', flush=True); sys.stdin.readline()
        t = threading.Thread(target=spin); t.start(); t.join()
        print('joined', flush=True); sys.stdin.readline()
        """
    )
    watched.tick()
    child.ask()
    watched.until(lambda: max(watched.cpu_ns.values()) >= 400_000_000)
    child.ask()
    watched.until(lambda: len(watched.alive) == 1)
    end = time.monotonic() + 2.2  # two looks at the process follow, each of which would tell
    watched.until(lambda: time.monotonic() > end)
    assert sum(s.count for s in watched.samples if isinstance(s, Lost) and s.source == "threads:unseen") < 200


def test_a_recycled_tid_is_another_thread(start: Start) -> None:
    """The kernel gives numbers again only after all others; ``ns_last_pid`` asks for one, where we may."""
    child, watched = start(
        """
        import sys, threading, time
        def park(stop): stop.wait()
        def begin(tid):
            if tid:
                with open('/proc/sys/kernel/ns_last_pid', 'w') as f: f.write(str(tid - 1))
            stop = threading.Event(); t = threading.Thread(target=park, args=(stop,), name='park'); t.start()
            return stop, t
        print('ready', flush=True)
        stop, t = begin(0); sys.stdin.readline(); print(t.native_id, flush=True)
        sys.stdin.readline(); stop.set(); t.join()
        for _ in range(50):
            try: stop, new = begin(t.native_id)
            except OSError: print('denied', flush=True); break
            if new.native_id == t.native_id: print('again', flush=True); break
            stop.set(); new.join()
        else: print('missed', flush=True)
        sys.stdin.readline(); stop.set()
        """
    )
    watched.tick()
    tid = int(child.ask())
    watched.tick()
    assert len([i for i in watched.infos.values() if i.tid == tid]) == 1
    answer = child.ask()
    if answer != "again":
        pytest.skip(f"the kernel did not give the number again ({answer})")
    watched.until(lambda: len([i for i in watched.infos.values() if i.tid == tid]) == 2)
    first, second = sorted(i.index for i in watched.infos.values() if i.tid == tid)
    assert first in watched.gone
    assert second in watched.alive


def test_hostile_thread_names(start: Start) -> None:
    names = [b") S 1", b"a b\tc\n", b"\xff\xfe", b"\x1b[2J", b"(((", b"x" * 15]
    _, watched = start(
        f"""
        import ctypes, sys, threading
        libc = ctypes.CDLL(None)
        def park(name, named, stop=threading.Event()):
            libc.prctl(15, ctypes.c_char_p(name), 0, 0, 0); named.set(); stop.wait()
        for name in {names!r}:
            named = threading.Event()
            threading.Thread(target=park, args=(name, named), daemon=True).start(); named.wait()
        print('ready', flush=True); sys.stdin.readline()
        """
    )
    watched.tick()
    expected = {") S 1", "a b\\tc\\n", "\\xff\\xfe", "\\x1b[2J", "(((", "x" * 15}
    assert expected <= watched.names()
    tick = watched.tick()
    assert all(0 <= cpu < (os.cpu_count() or 1) for cpu in tick.last_cpu)


def test_a_thread_whose_name_nice_or_affinity_changes_is_told_each_time(start: Start) -> None:
    child, watched = start(
        """
        import ctypes, os, sys, threading
        libc = ctypes.CDLL(None)
        print('ready', flush=True)
        while (order := sys.stdin.readline()):
            what, _, value = order.strip().partition(' ')
            if what == 'name': libc.prctl(15, ctypes.c_char_p(value.encode()), 0, 0, 0)
            if what == 'nice': os.setpriority(os.PRIO_PROCESS, 0, int(value))
            if what == 'cpus': os.sched_setaffinity(0, {int(value)})
            print('done', flush=True)
        """,
        interval_ns=5_000_000_000,  # every thread's turn comes in every tick
    )

    def info() -> ThreadInfo:
        return watched.infos[max(watched.alive)]

    watched.tick()
    watched.tick()
    for name in ("first", "second", ") S 1 9"):
        child.ask(f"name {name}")
        watched.until(lambda name=name: info().name == name)
        before = len(watched.samples)
        watched.tick()
        assert not [s for s in watched.samples[before:] if isinstance(s, ThreadInfo)]
    child.ask("nice 7")
    watched.until(lambda: info().nice == 7)
    for cpu in sorted(os.sched_getaffinity(0)):
        child.ask(f"cpus {cpu}")
        watched.until(lambda cpu=cpu: info().affinity == str(cpu))


def test_forked_workers_are_followed_and_their_end_is_told(start: Start) -> None:
    child, watched = start(
        """
        import os, sys, time
        print('ready', flush=True); sys.stdin.readline()
        pids = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0: time.sleep(300); os._exit(0)
            pids.append(pid)
        print(*pids, flush=True); sys.stdin.readline()
        for pid in pids: os.kill(pid, 9)
        print('killed', flush=True); sys.stdin.readline()
        """
    )
    watched.tick()
    pids = {int(pid) for pid in child.ask().split()}
    watched.until(lambda: {pid for pid, event in watched.events() if event == "forked"} == pids)
    assert pids <= {watched.infos[index].pid for index in watched.alive}
    child.ask()  # they are zombies from now on: nobody waits for them
    watched.until(lambda: {pid for pid, event in watched.events() if event == "exited"} == pids)
    assert watched.sampler.is_anything_alive


def test_exec_is_told_and_keeps_the_process(start: Start) -> None:
    child, watched = start(
        "import os, sys; print('ready', flush=True); sys.stdin.readline(); os.execv('/bin/sleep', ['sleep', '300'])"
    )
    watched.tick()
    child.say()
    watched.until(lambda: (child.process.pid, "exec") in watched.events())
    watched.until(lambda: "sleep" in watched.names())
    assert watched.sampler.is_anything_alive


def test_kill_9_between_any_two_reads(start: Start) -> None:
    """Killed while its 64 threads are being read: everything is told as ended, nothing is raised."""
    for delay in (0.0, 0.0005, 0.002):
        child, watched = start(
            """
            import sys, threading, time
            def spin():
                while True: sum(range(500)); time.sleep(0.001)
            for _ in range(64): threading.Thread(target=spin, daemon=True).start()
            print('ready', flush=True); sys.stdin.readline()
            """
        )
        watched.tick()
        assert len(watched.alive) == 65
        pid = child.process.pid
        killer = subprocess.Popen(["sh", "-c", f"sleep {delay}; kill -9 {pid}"])
        watched.until(lambda watched=watched: not watched.sampler.is_anything_alive)
        killer.wait()
        assert watched.alive == set()
        assert watched.events()[-1] == (pid, "exited")


def test_the_end_of_a_process_is_told_with_the_next_tick_even_if_nobody_reaps_it(start: Start) -> None:
    child, watched = start(READY + "sys.stdin.readline()")
    watched.tick()
    child.process.kill()
    os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)  # it has ended and stays a zombie
    watched.tick()
    assert watched.events()[-1] == (child.process.pid, "exited")
    assert not watched.sampler.is_anything_alive


def test_many_new_threads_are_taken_in_over_several_ticks_and_none_is_lost(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, watched = start(
        """
        import sys, threading
        def wait(): threading.Event().wait()
        print('ready', flush=True); sys.stdin.readline()
        for _ in range(40): threading.Thread(target=wait, daemon=True).start()
        print('there', flush=True); sys.stdin.readline()
        """
    )
    watched.tick()
    assert child.ask() == "there"
    spent_ns = itertools.count(0, 10_000_000)  # each thread takes 10 ms, of the 25 ms of a tick
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(spent_ns))
    watched.until(lambda: len(watched.alive) == 41)
    arrivals = [info.arrival_ns for info in watched.infos.values()]
    assert len(set(arrivals)) >= 20
    assert not [s for s in watched.samples if isinstance(s, Lost)]


def test_livemon_is_a_row_of_its_own_and_does_not_count_as_alive(start: Start) -> None:
    child, watched = start(READY + "sys.stdin.readline()", include_self=True)
    watched.tick()
    own = [info for info in watched.infos.values() if info.is_self]
    assert {info.pid for info in own} == {os.getpid()}
    child.kill()
    watched.until(lambda: not watched.sampler.is_anything_alive)
    assert (os.getpid(), "found") not in watched.events()


def test_nothing_stays_open(start: Start) -> None:
    gc.collect()  # what other tests left behind is not closed in between
    before = len(os.listdir("/proc/self/fd"))
    sampler = open_sampler([os.getpid()], options=SamplingOptions())
    sampler.sample(time.monotonic_ns())
    sampler.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_only_reads_are_done_on_the_target(start: Start, tmp_path: object) -> None:
    """Under strace: no ptrace, no signal, no write, no file of the target opened for writing."""
    child, _ = start(READY + "sys.stdin.readline()")
    code = (
        "import time; from livemon.collect.threads import SamplingOptions, open_sampler\n"
        "from livemon.collect.pressure import PressureSampler\n"
        f"pids = [{child.process.pid}]\n"
        "s = open_sampler(pids, options=SamplingOptions()); p = PressureSampler(pids)\n"
        "import os; os.write(1, b'begin')\n"
        "for _ in range(12): s.sample(time.monotonic_ns()); p.sample(time.monotonic_ns()); time.sleep(0.1)\n"
    )
    log = f"{tmp_path}/strace.txt"
    strace = ["strace", "-f", "-o", log, sys.executable, "-B", "-c", code]
    try:
        done = subprocess.run(strace, capture_output=True, text=True, timeout=200)
    except FileNotFoundError:
        pytest.skip("no strace here")
    if done.returncode:
        pytest.skip(f"strace does not work here: {done.stderr[:200]}")
    with open(log) as file:
        calls = file.read().split('write(1, "begin', 1)[1].splitlines()[1:]
    calls = [call for call in calls if "exited with" not in call and "rt_sigaction" not in call]
    names = {call.split("(")[0].split()[-1] for call in calls if "(" in call}
    assert names & {"pread64", "openat"}
    forbidden = {"ptrace", "kill", "tkill", "tgkill", "process_vm_readv", "process_vm_writev", "pidfd_send_signal"}
    assert not names & (forbidden | {"write", "pwrite64", "unlink", "rename", "sched_setaffinity", "setpriority"})
    assert not [call for call in calls if "openat" in call and ("O_WRONLY" in call or "O_RDWR" in call)]


@pytest.mark.parametrize("pid", [2**22 + 1])
def test_no_such_process(pid: int) -> None:
    with pytest.raises(TargetError, match=f"no process {pid}"):
        open_sampler([pid])
