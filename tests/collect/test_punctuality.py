"""A short slice is asked for, and nothing else about how this process is scheduled changes."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a system call of Linux")

ASK = """
import ctypes, json, os, struct, sys
from livemon.collect import punctuality

def look():
    number = punctuality._SETATTR.get(os.uname().machine)
    if number is None:
        return None
    buffer = ctypes.create_string_buffer(56)
    if ctypes.CDLL(None).syscall(number + 1, 0, buffer, 56, 0):
        return None
    _, policy, flags, nice, priority, runtime_ns, _, _ = struct.unpack_from(punctuality._ATTR, buffer.raw)
    return [policy, flags, nice, priority, runtime_ns]

exec(sys.argv[1])
before = look()
asked = punctuality.ask_for_short_slices()
print(json.dumps([before, asked, look(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)]))
"""


def ask(first: str) -> list:
    done = subprocess.run([sys.executable, "-c", ASK, first], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("nice", [0, 7])
def test_policy_and_niceness_stay_as_they_were(nice: int) -> None:
    before, asked, after, nice_after, _ = ask(f"os.nice({nice} - os.getpriority(os.PRIO_PROCESS, 0))")
    if before is None or not asked:
        pytest.skip("no such system call here")
    assert before[:4] == after[:4]
    assert nice_after == nice
    if before[4]:  # this kernel tells slices
        assert after[4] == 100_000


def test_a_policy_that_was_chosen_is_left_alone() -> None:
    before, asked, after, _, policy = ask("os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))")
    assert not asked
    assert before == after
    assert policy == 3
