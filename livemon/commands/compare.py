"""``livemon compare``: what changed between two sessions."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from livemon.commands.report import is_coloured, terminal_width
from livemon.export.text import render_text
from livemon.model.criteria import load_criteria
from livemon.model.errors import EXIT_FAIL_ON, EXIT_OK
from livemon.model.judgement import Judgement
from livemon.model.samples import TimingRecord

if TYPE_CHECKING:
    from livemon.export.comparison import SessionData

KINDS = ("host_slow_transient", "oversized_finalize", "any", "worse")


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    parser.add_argument("before", metavar="BEFORE", help="a session: a path, a name, or 'last'")
    parser.add_argument("after", metavar="AFTER", help="the session to compare with it")
    parser.add_argument("--json", action="store_true", help="JSON on stdout (schema 1)")
    parser.add_argument("--criteria", metavar="FILE", help="judge both by this criteria file")
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="KIND",
        help=f"exit 1 if such a finding appeared or got worse, or any stage did ('worse'): {', '.join(KINDS)}",
    )


def run(args: argparse.Namespace) -> int:
    """Judge both sessions and print what changed."""
    from livemon.export.comparison import compare
    from livemon.export.comparison_report import (
        check_kinds,
        comparison_blocks,
        comparison_failures,
        comparison_json,
    )
    from livemon.judge import judge, load_criteria_text
    from livemon.session.store import resolve_session

    check_kinds(args.fail_on)
    criteria_toml = None if args.criteria is None else load_criteria_text(args.criteria)
    before, after = (judge(resolve_session(text), criteria_toml) for text in (args.before, args.after))
    before, after, note = _in_one_cycle(before, after)
    comparison = compare(_data(before), _data(after), notes=note)
    if args.json:
        print(json.dumps(comparison_json(comparison), indent=1, allow_nan=False))
    else:
        blocks = comparison_blocks(comparison)
        sys.stdout.write(render_text(blocks, width=terminal_width(), is_coloured=is_coloured()))
    met = comparison_failures(comparison, args.fail_on)
    if met:
        print(f"livemon compare: --fail-on is met: {'; '.join(met[:5])}", file=sys.stderr)
    return EXIT_FAIL_ON if met else EXIT_OK


def _in_one_cycle(before: Judgement, after: Judgement) -> tuple[Judgement, Judgement, tuple[str, ...]]:
    """Group both by one cycle where only one of them shows it: a fix may have made all runs alike."""
    from livemon.judge import judge
    from livemon.model.criteria_toml import override, write

    periods = [j.steps.period if j.steps.period and j.steps.period > 1 else None for j in (before, after)]
    if None not in periods or periods[0] == periods[1]:
        return before, after, ()
    period = periods[0] or periods[1]
    lacking, name = (before, "BEFORE") if periods[0] is None else (after, "AFTER")
    if any(row.class_key not in (None, "0/1") for row in lacking.stages):
        return before, after, ()
    text = write(override(load_criteria(lacking.criteria_toml), "classes.cycle.period", str(period)))
    again = judge(lacking.path, text)
    note = f"{name} shows no cycle of its own: its units were grouped by the other's, {period} runs."
    return (again, after, (note,)) if lacking is before else (before, again, (note,))


def _data(judgement: Judgement) -> SessionData:
    """The session's raw durations by class and stage."""
    from livemon.export.comparison import collect
    from livemon.judge import classed_samples
    from livemon.session.reader import SessionReader

    reader = SessionReader(judgement.path)
    try:
        samples = classed_samples(reader, load_criteria(judgement.criteria_toml))
        return collect(judgement, ((s, key) for s, key in samples if isinstance(s, TimingRecord)))
    finally:
        reader.close()
