"""What livemon's counters say inside the guest, against work of a known size. Runs in the guest.

``python3 tests/guest/checks.py CHECK…`` prints a line per statement and exits 1 if one does not hold.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from livemon.collect.perf_layer import HW_CYCLES, HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, KernelPerf
from livemon.collect.threads import SamplingOptions, open_sampler
from livemon.model.samples import UNKNOWN, ThreadInfo, ThreadTick

IPC = 0.5
"""Of code that runs: the guest takes 2 ns, at a cycle a ns, for an instruction."""
failures: list[str] = []


def state(text: str, holds: bool) -> None:
    print(("ok   " if holds else "FAIL ") + text, flush=True)
    if not holds:
        failures.append(text)


def near(value: float, expected: float, tolerance: float = 0.01) -> bool:
    return abs(value - expected) <= tolerance * expected


class Work:
    """The worker process, and livemon's sampler on it."""

    def __init__(self) -> None:
        program = [sys.executable, str(Path(__file__).parent / "exact_work.py")]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer()
        self.sampler = open_sampler([self.process.pid], options=SamplingOptions(include_self=False))
        self.infos: dict[int, ThreadInfo] = {}
        self.values: dict[tuple[int, str], tuple[int, ...]] = {}
        """By tid and class: CPU ns, cycles, instructions, enabled ns, running ns."""
        self.sample()

    def _answer(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def send(self, order: dict) -> None:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def run(self, order: dict) -> dict:
        self.send(order)
        return self._answer()

    def sample(self) -> ThreadTick:
        for sample in self.sampler.sample(time.monotonic_ns(), keyframe=True):
            if isinstance(sample, ThreadInfo):
                self.infos[sample.index] = sample
            elif isinstance(sample, ThreadTick):
                tick = sample
        for columns in tick.classes:
            for row, index in enumerate(tick.index):
                self.values[self.infos[index].tid, columns.core_class] = (
                    columns.cpu_ns[row],
                    columns.cycles[row],
                    columns.instructions[row],
                    columns.enabled_ns[row],
                    columns.running_ns[row],
                )
        return tick

    def delta(self, order: dict, name: str) -> dict[str, tuple[int, ...]]:
        """Run an order between two samples: what each class counted for a thread."""
        before = dict(self.values)
        tid = self.run(order)[name]
        self.sample()
        return {
            core_class: tuple(b - a for a, b in zip(before[tid, core_class], after, strict=True))
            for (one, core_class), after in self.values.items()
            if one == tid
        }

    def close(self) -> None:
        self.sampler.close()
        self.process.stdin.close()
        self.process.wait()


def exact() -> None:
    """Cycles and instructions of a known workload, within 1 %."""
    work = Work()
    work.run({"thread": "a", "instructions": 1000})
    work.sample()
    for instructions in (20_000_000, 100_000_000):
        got = work.delta({"thread": "a", "instructions": instructions}, "a")["P"]
        state(f"{instructions:,} instructions: counted {got[2]:,}", near(got[2], instructions))
        state(f"  cycles {got[1]:,}, expected {instructions / IPC:,.0f}", near(got[1], instructions / IPC))
        state(f"  CPU time {got[0] / 1e6:.1f} ms, running {got[4] / 1e6:.1f} ms", near(got[0], got[1], 0.02))
    work.close()


def moved() -> None:
    """A thread moved from a big to a LITTLE CPU: class share, per-class cycles and IPC."""
    work = Work()
    work.run({"thread": "a", "instructions": 1000, "cpu": 0})
    work.sample()
    for cpu, ours, other in ((0, "P", "E"), (3, "E", "P"), (1, "P", "E")):
        got = work.delta({"thread": "a", "instructions": 40_000_000, "cpu": cpu}, "a")
        share = got["E"][0] / (got["P"][0] + got["E"][0])
        state(f"on CPU {cpu}: efficiency share {share:.3f}", abs(share - (ours == "E")) < 0.01)
        state(f"  {ours}: instructions {got[ours][2]:,}", near(got[ours][2], 40_000_000))
        state(f"  {ours}: IPC {got[ours][2] / got[ours][1]:.4f}", near(got[ours][2] / got[ours][1], IPC))
        state(f"  {other}: instructions {got[other][2]:,}", got[other][2] < 1_000_000)
    before = dict(work.values)
    tid = None
    for cpu in (0, 3):  # both between two readings: the last CPU alone would say E only
        tid = work.run({"thread": "a", "instructions": 20_000_000, "cpu": cpu})["a"]
    tick = work.sample()
    row = [work.infos[i].tid for i in tick.index].index(tid)
    cpu_ns = {c: work.values[tid, c][0] - before[tid, c][0] for c in ("P", "E")}
    share = cpu_ns["E"] / sum(cpu_ns.values())
    state(
        f"half and half inside one tick: efficiency share {share:.3f}, last CPU {tick.last_cpu[row]}", near(share, 0.5)
    )
    work.close()


def trap() -> None:
    """A generic event counts nothing on one of the classes; livemon's groups count on both."""
    work = Work()
    tid = work.run({"thread": "a", "instructions": 1000, "cpu": 0})["a"]
    work.sample()
    layer = KernelPerf()
    leader = layer.open(PERF_TYPE_HARDWARE, HW_CYCLES, tid, -1, 0)
    layer.open(PERF_TYPE_HARDWARE, HW_INSTRUCTIONS, tid, leader, 0)
    generic, ours = [], []
    last = layer.read(leader)
    for cpu in (0, 3):
        got = work.delta({"thread": "a", "instructions": 20_000_000, "cpu": cpu}, "a")
        reading = layer.read(leader)
        generic.append(reading.values[1] - last.values[1])
        ours.append(got["P"][2] + got["E"][2])
        last = reading
    state(f"generic event on big and LITTLE: {generic[0]:,} and {generic[1]:,}", min(generic) < 200_000 < max(generic))
    state(f"livemon on big and LITTLE: {ours[0]:,} and {ours[1]:,}", all(near(n, 20_000_000, 0.02) for n in ours))
    work.close()


def unequal() -> None:
    """Threads of different IPC are told apart."""
    work = Work()
    names = {"spin": 0, "half": 1_000_000, "tenth": 200_000}
    for name in names:
        work.run({"thread": name, "instructions": 1000})
    work.sample()
    layer = KernelPerf()
    for name, wait_every in names.items():
        order = {"thread": name, "instructions": 40 * (wait_every or 1_000_000), "wait_every": wait_every}
        tid = work.run({"thread": name, "instructions": 1000})[name]
        work.sample()
        leader = layer.open(PERF_TYPE_HARDWARE, HW_CYCLES, tid, -1, 0)
        layer.open(PERF_TYPE_HARDWARE, HW_INSTRUCTIONS, tid, leader, 0)
        got = work.delta(order, name)["P"]
        cycles, instructions = layer.read(leader).values
        # A busy host lengthens the guest's waits: then the IPC is lower than by the guest's own clock.
        most = wait_every / 4_000_000 if wait_every else IPC
        ipc = got[2] / got[1]
        state(
            f"{name}: IPC {ipc:.4f}, a group of the check's own says {instructions / cycles:.4f}, at most {most:.4f}",
            near(ipc, instructions / cycles, 0.02) and 0.4 * most < ipc < 1.1 * most,
        )
    before = dict(work.values)
    orders = [
        {"thread": "spin", "instructions": 100_000_000},
        {"thread": "tenth", "instructions": 8_000_000, "wait_every": 200_000},
    ]
    tids = work.run({"together": orders})
    work.sample()
    ipcs = {}
    for name, tid in tids.items():
        _, cycles, instructions, _, _ = (b - a for a, b in zip(before[tid, "P"], work.values[tid, "P"], strict=True))
        ipcs[name] = instructions / cycles
    state(f"beside each other: {ipcs['spin']:.4f} and {ipcs['tenth']:.4f}", ipcs["spin"] > 4 * ipcs["tenth"])
    work.close()


def arriving() -> None:
    """A thread that starts while livemon looks has its group within a tick."""
    work = Work()
    answer: list[dict] = []
    order = {"thread": "late", "instructions": 400_000_000}
    runner = threading.Thread(target=lambda: answer.append(work.run(order)))
    runner.start()
    ticks = 0
    while runner.is_alive():
        work.sample()
        ticks += 1
        time.sleep(0.1)
    runner.join()
    work.sample()
    _, _, instructions, enabled_ns, running_ns = work.values[answer[0]["late"], "P"]
    share = instructions / order["instructions"]
    state(f"of a thread that ran {ticks} ticks, {share:.2f} of its instructions were seen", 0.75 < share < 1.05)
    state("  none of it scaled", enabled_ns == running_ns)
    work.close()


def shared() -> None:
    """Other users of the PMU: what is counted in part only says so, and is not extrapolated."""
    work = Work()
    tid = work.run({"thread": "a", "instructions": 1000})["a"]
    work.sample()
    layer = KernelPerf()
    for _ in range(5):
        leader = layer.open(PERF_TYPE_HARDWARE, HW_CYCLES, tid, -1, 0)
        layer.open(PERF_TYPE_HARDWARE, HW_INSTRUCTIONS, tid, leader, 0)
    _, cycles, instructions, enabled_ns, running_ns = work.delta({"thread": "a", "instructions": 200_000_000}, "a")["P"]
    active = running_ns / enabled_ns
    state(f"active share {active:.2f} with five more groups on the PMU", 0.2 < active < 0.95)
    state(f"  counted {instructions:,} of 200,000,000", near(instructions, 200_000_000 * active, 0.1))
    state(f"  IPC {instructions / cycles:.4f}", near(instructions / cycles, IPC, 0.02))
    work.close()


def capabilities() -> dict[str, tuple[bool, str, str]]:
    sampler = open_sampler([os.getpid()], options=SamplingOptions(include_self=False))
    found = {c.name: (c.available, c.reason, c.remedy) for c in sampler.capabilities if "counters" in c.name}
    sampler.close()
    return found


def one_pmu() -> None:
    """Two classes on one PMU are told apart by a group bound to each CPU of one of them."""
    work = Work()
    work.run({"thread": "a", "instructions": 1000, "cpu": 0})
    work.sample()
    for cpu, ours, other in ((0, "P", "E"), (1, "E", "P"), (0, "P", "E")):
        got = work.delta({"thread": "a", "instructions": 40_000_000, "cpu": cpu}, "a")
        share = got["E"][0] / (got["P"][0] + got["E"][0])
        state(f"on CPU {cpu}: efficiency share {share:.3f}", abs(share - (ours == "E")) < 0.02)
        state(f"  {ours}: instructions {got[ours][2]:,}", near(got[ours][2], 40_000_000))
        state(f"  {other}: instructions {got[other][2]:,}", got[other][2] < 1_000_000)
    before = dict(work.values)
    for cpu in (0, 1):  # both between two readings: the last CPU alone would say E only
        tid = work.run({"thread": "a", "instructions": 20_000_000, "cpu": cpu})["a"]
    work.sample()
    cpu_ns = {c: work.values[tid, c][0] - before[tid, c][0] for c in ("P", "E")}
    state(
        f"half and half inside one tick: efficiency share {cpu_ns['E'] / sum(cpu_ns.values()):.3f}",
        near(cpu_ns["E"] / sum(cpu_ns.values()), 0.5, 0.02),
    )
    state(f"it says how: {capabilities()}", any("bound to CPU 1" in reason for _, reason, _ in capabilities().values()))
    work.close()


def no_instructions() -> None:
    """A PMU without an instruction counter gives cycles, and unknown instructions."""
    work = Work()
    tid = work.run({"thread": "a", "instructions": 50_000_000})["a"]
    work.sample()
    work.run({"thread": "a", "instructions": 50_000_000})
    work.sample()
    _, cycles, instructions, _, _ = work.values[tid, "P"]
    state(f"cycles {cycles:,}, instructions {instructions}", cycles > 0 and instructions == UNKNOWN)
    work.close()


def no_pmu() -> None:
    """Without a PMU the reason is told, and threads are sampled all the same."""
    work = Work()
    work.run({"thread": "a", "instructions": 1_000_000})
    tick = work.sample()
    state(
        f"threads are sampled: {len(tick.index)}, classes {tick.classes}", len(tick.index) >= 2 and tick.classes == ()
    )
    found = capabilities()
    state(f"{found}", all(not available and "ENOENT" in reason for available, reason, _ in found.values()))
    work.close()


def rights() -> None:
    """perf_event_paranoid 1, 2 and 3 for a user without privileges: three different answers."""
    code = "import sys; sys.path.insert(0, '.'); from tests.guest.checks import capabilities; print(capabilities())"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code]
    expected = {1: "user space and kernel", 2: "user space only", 3: "perf_event_paranoid is 3"}
    for level, part in expected.items():
        Path("/proc/sys/kernel/perf_event_paranoid").write_text(str(level))
        done = subprocess.run(user, capture_output=True, text=True)
        state(f"paranoid {level}: {done.stdout.strip()} {done.stderr.strip()}", part in done.stdout)


def episode() -> None:
    """From counters to the finding: slow units on a LITTLE CPU are one transient, and placement is its cause."""
    folder = Path(__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        session = f"{scratch}/session.livemon"
        livemon = [sys.executable, "-m", "livemon"]
        serve = [sys.executable, str(folder / "serve.py"), "160", "50", "60", f"{session}-recent"]
        watch = [*livemon, "run", "--headless", "--max-cpu", "100", "--record", session, "--", *serve]
        subprocess.run(watch, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([*livemon, "report", session, "--json"], check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    (worker,) = [thread for thread in report["threads"] if thread["name"].startswith("host-prepare")]
    state(f"the worker: {worker}", 0.1 < worker["efficiency_share"] < 0.9)
    findings = [finding for finding in report["findings"] if finding["kind"] == "host_slow_transient"]
    state(f"{len(findings)} transient", len(findings) == 1)
    for finding in findings[:1]:
        state(
            f"  slowdown {finding['slowdown']:.2f}, primary cause {finding['primary_cause']}", finding["slowdown"] > 2
        )
        causes = {cause["cause"]: cause for cause in finding["causes"]}
        for cause in causes.values():
            print(f"     {cause['cause']}: {cause['verdict']}: {cause['evidence']}", flush=True)
        state(f"  placement {causes['placement']['verdict']}", causes["placement"]["verdict"] == "applies")
        share = causes["placement"]["during"]
        state(f"  efficiency share during the episode {share}", share is not None and share > 0.9)


CHECKS = {
    check.__name__: check
    for check in (exact, moved, trap, unequal, arriving, shared, episode, one_pmu, no_instructions, no_pmu, rights)
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"-- {name}: {CHECKS[name].__doc__}", flush=True)
        CHECKS[name]()
    sys.exit(1 if failures else 0)
