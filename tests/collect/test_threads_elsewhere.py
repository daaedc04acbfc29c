"""Targets that are not simply one's own: other users' processes, hidden ones, other pid namespaces."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from livemon.collect.threads import SamplingOptions, open_sampler
from livemon.model.samples import Lost, Note, TargetEvent, ThreadInfo
from tests.collect.test_threads_real import Watched

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the live /proc")

NOBODY = 65534
PROJECT = str(Path(__file__).parent.parent.parent)
TARGET = """
import sys, threading, time
def spin():
    while True: sum(range(1000)); time.sleep(0.001)
threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True); sys.stdin.readline()
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": PROJECT, "PYTHONDONTWRITEBYTECODE": "1"}


def as_nobody(*command: str) -> list[str]:
    """A command as a user without any rights; skipped where it can't be started so."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can become another user")
    changed = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    probe = [*changed[:4], sys.executable, "-c", "import livemon, os; assert os.geteuid()"]
    done = subprocess.run(probe, capture_output=True, text=True, env=ENVIRONMENT, cwd="/")
    if done.returncode:
        pytest.skip(f"another user can't run livemon here: {done.stderr[-200:]}")
    return changed


@pytest.fixture
def target() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
        child.kill()


def test_another_users_process_is_sampled_as_far_as_its_files_are_readable(target: subprocess.Popen[str]) -> None:
    """``stat`` and ``schedstat`` are for everybody; what is not (``exe``, counters) is said, and nothing is raised."""
    code = """
        import sys, time
        from livemon.collect.capabilities import probe
        from livemon.collect.threads import SamplingOptions, open_sampler
        from livemon.model.samples import ThreadInfo
        pid = int(sys.argv[1])
        sampler = open_sampler([pid], options=SamplingOptions(include_self=False))
        names, cpu = set(), {}
        deadline = time.monotonic() + 30
        while not any(cpu.values()) and time.monotonic() < deadline:
            samples = sampler.sample(time.monotonic_ns(), keyframe=True)
            names |= {s.tid for s in samples if isinstance(s, ThreadInfo)}
            tick = samples[-1]
            cpu = {i: ns for i, ns in zip(tick.index, tick.cpu_ns)}
            time.sleep(0.05)
        print("threads", len(names), "ran", any(cpu.values()))
        found = {c.name: c for c in probe(pid)}
        print("exec", found["exec events"].available, found["exec events"].remedy)
    """
    command = as_nobody(sys.executable, "-c", textwrap.dedent(code), str(target.pid))
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd="/")
    printed = done.stdout + done.stderr
    assert "threads 2 ran True" in printed
    assert "exec False run livemon as its user or as root" in printed


def test_a_hidden_process_is_told_as_hidden_not_as_gone() -> None:
    """Under ``hidepid`` in a namespace of its own: a mount there changes nothing outside."""
    if not shutil.which("unshare"):
        pytest.skip("needs unshare to mount /proc anew")
    nobodys = " ".join(as_nobody(sys.executable, "-m", "livemon", "doctor"))
    script = f"""
        mount -t proc -o hidepid=2 proc /proc || exit 77
        sleep 1000 & hidden=$!
        {nobodys} --pid $hidden
        echo "status $?"
        {nobodys}
        {sys.executable} -m livemon doctor --pid $hidden
    """
    command = ["unshare", "--pid", "--fork", "--mount", "--propagation", "private", "--kill-child", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd="/", timeout=120)
    if done.returncode == 77 or "unshare" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip(f"no such namespace here: {done.stderr[-200:]}")
    assert "it runs, but /proc is mounted with hidepid" in done.stderr
    refused, own, roots = (
        done.stdout.partition("status 3\n")[0],
        *done.stdout.partition("status 3\n")[2].split("not;")[:2],
    )
    assert not refused
    assert "other users' processes are hidden" in " ".join(own.split())
    assert "hidden" not in roots.split("threads of the process")[1].partition("\n")[0]  # root sees through it


def test_a_process_in_another_pid_namespace_is_followed_by_its_numbers_here() -> None:
    if not shutil.which("unshare"):
        pytest.skip("no unshare here")
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *rights, "--pid", "--fork", "--kill-child", sys.executable, "-c", TARGET]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        if parent.stdout.readline() != "ready\n":
            pytest.skip("no pid namespace can be made here")
        sampler = open_sampler([parent.pid], options=SamplingOptions(include_self=False, counters=False))
        watched = Watched(sampler)
        try:
            # The namespace's first process is a child of unshare: it is found by following forks.
            watched.until(lambda: {event for _, event in watched.events()} >= {"found", "forked"})
            inner = next(s for s in watched.samples if isinstance(s, TargetEvent) and s.event == "forked")
            assert inner.detail == "pid 1 in its own namespace"
            watched.until(lambda: len([i for i in watched.infos.values() if i.pid == inner.pid]) == 2)
            spinning = [i.index for i in watched.infos.values() if i.pid == inner.pid and i.tid != inner.pid]
            watched.until(lambda: watched.cpu_ns.get(spinning[0], 0) > 5_000_000)
            with contextlib.suppress(BrokenPipeError):
                parent.communicate("go\n")
            watched.until(lambda: (inner.pid, "exited") in watched.events())
            assert not [s for s in watched.samples if isinstance(s, Lost | Note)]
            assert all(isinstance(info, ThreadInfo) for info in watched.infos.values())
        finally:
            sampler.close()
            parent.kill()
