"""Which stops are told, and when."""

from collections.abc import Sequence

from livemon.collect.process_tree import Process, ProcessTree
from livemon.collect.stopped import CONFIRMED_NS, StoppedProcesses
from livemon.parse.procfs import Stat

PROCESS = Process(7, "serve", 100, -1, 3)


class Tree(ProcessTree):
    """Says the state that it is told."""

    state: str | None = "R"

    def stat(self, process: Process) -> Stat | None:
        return None if self.state is None else Stat(7, "serve", self.state, 1, 0, 0, 0, 1, 100, 0, None, 0)


def told(states: Sequence[str | None], *, step_ns: int, process: Process = PROCESS) -> list[tuple[int, str]]:
    """What is told of a process that a look at the start found in the first of these states, one a step."""
    tree = Tree("/")
    stopped = StoppedProcesses(tree)
    stopped.meet(process, states[0] or "", 0)
    out: list[tuple[int, str]] = []
    for number, state in enumerate(states):
        tree.state = state
        out += [(number, event.event) for event in stopped.follow(number * step_ns)]
    return out


def test_a_stop_is_told_once_it_is_confirmed_and_so_is_its_end() -> None:
    assert told(["T"] * 6 + ["S"] * 3, step_ns=CONFIRMED_NS // 3) == [(3, "stopped"), (6, "continued")]


def test_a_debugger_that_stops_it_is_told_too() -> None:
    assert told(["t", "t", "R"], step_ns=CONFIRMED_NS) == [(1, "stopped"), (2, "continued")]


def test_a_stop_too_short_to_matter_a_running_process_and_livemon_itself_are_not_told() -> None:
    assert told(["T", "T", "R", "R"], step_ns=CONFIRMED_NS // 4) == []
    assert told(["S", "S", "S"], step_ns=CONFIRMED_NS) == []
    own = Process(7, "livemon", 100, -1, 3, is_self=True)
    assert told(["T", "T", "T"], step_ns=CONFIRMED_NS, process=own) == []


def test_a_process_that_ends_while_it_is_stopped_does_not_go_on() -> None:
    assert told(["T", "T", None], step_ns=CONFIRMED_NS) == [(1, "stopped")]
