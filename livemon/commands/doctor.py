"""``livemon doctor``: what can be observed here, what can't, why, and the remedy."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Sequence

from livemon.collect.capabilities import probe
from livemon.collect.environment import environment
from livemon.collect.processes import describe
from livemon.collect.topology import read_topology
from livemon.model.facts import Capability


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--pid", type=int, help="check it against this process")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--root", default="/", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Print the table, or the JSON object."""
    target = describe(args.pid, args.root) if args.pid is not None else None
    capabilities = probe(args.pid, args.root)
    if not args.json:
        if target is not None:
            print(f"process {target.pid} ({target.name})  {target.command}\n")
        print("\n".join(table(capabilities, shutil.get_terminal_size((100, 24)).columns)))
        return 0
    topology = read_topology(args.root, args.pid if args.pid is not None else "self")
    classes = {name: [cpu.cpu for cpu in topology.cpus if cpu.core_class == name] for name in topology.classes}
    result = {
        "schema": 1,
        "target": None if target is None else {"pid": target.pid, "name": target.name, "command": target.command},
        "capabilities": [
            {"name": c.name, "available": c.available, "reason": c.reason, "remedy": c.remedy or None}
            for c in capabilities
        ],
        "topology": {"classes": classes, "source": topology.class_source, "online": topology.online},
        "environment": dict(environment(args.root)),
    }
    print(json.dumps(result, indent=2, ensure_ascii=False))
    return 0


def table(capabilities: Sequence[Capability], width: int) -> list[str]:
    """Lines of the table: a sign and a word, the name, the reason; the remedy below.

    Args:
        capabilities: What was probed.
        width: Columns to stay within.
    """
    name_width = max((len(c.name) for c in capabilities), default=0)
    indent = " " * (6 + name_width + 2)
    lines = []
    for capability in capabilities:
        head = f"{'yes' if capability.available else 'no':<6}{capability.name:<{name_width}}  "
        room = max(width, len(head) + 20)
        wrapper = textwrap.TextWrapper(room, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False)
        lines += wrapper.wrap(capability.reason)
        if capability.remedy:
            # Unwrapped: it is meant to be copied.
            lines.append(f"{indent}> {capability.remedy}")
    missing = sum(not c.available for c in capabilities)
    lines += [
        "",
        f"{len(capabilities) - missing} available, {missing} not; what is missing is shown as unknown, never as 0",
    ]
    return lines
