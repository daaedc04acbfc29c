"""``livemon report``: the triage report of one or more sessions."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from livemon.commands.time_range import add_range_arguments, stretch_of
from livemon.export.document import Block, Blocks
from livemon.export.failing import KINDS, failures, parse_fail_on
from livemon.export.files import check_output, write_text
from livemon.export.markdown import render_markdown
from livemon.export.plots import PlotBuilder, Plots
from livemon.export.report_document import nothing_read, report_blocks, sessions_overview
from livemon.export.report_json import reports_json
from livemon.export.sweep import parse_sweep, sweep_blocks, sweep_json
from livemon.export.text import render_text
from livemon.export.times import CLOCKS, ClockName
from livemon.model.criteria import load_criteria
from livemon.model.errors import EXIT_FAIL_ON, EXIT_OK, UsageError
from livemon.model.judgement import Judgement


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    parser.add_argument("sessions", nargs="+", metavar="SESSION", help="a session: a path, a name, or 'last'")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help='JSON on stdout (schema 1); several sessions as {"schema": 1, "sessions": [...]}',
    )
    form.add_argument("--markdown", action="store_true", help="Markdown on stdout, for an issue")
    form.add_argument("--html", metavar="FILE", help="one HTML file with plots; needs no network")
    parser.add_argument("--criteria", metavar="FILE", help="judge by this criteria file, not by the recorded one")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="times as unix time (default, where known), seconds of the session's own clock, or from its start",
    )
    add_range_arguments(parser)
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="KIND[:SEVERITY]",
        help=f"exit 1 if there is such a finding (at least that severe): {', '.join(KINDS)}; warning, critical",
    )
    parser.add_argument(
        "--sweep",
        metavar="KEY=a,b,c",
        help="judge again with each value of a criteria key (such as finalize.budget_ms=3,5,8) and show what changes",
    )


def run(args: argparse.Namespace) -> int:
    """Judge the sessions and print the report."""
    from livemon.judge import judge, load_criteria_text
    from livemon.session.store import resolve_session

    conditions = parse_fail_on(args.fail_on)
    if args.html is not None:
        check_output(args.html)
    criteria_toml = None if args.criteria is None else load_criteria_text(args.criteria)
    paths = [str(resolve_session(text)) for text in args.sessions]
    if args.sweep is not None:
        return _sweep(paths, criteria_toml, args)
    stretches = [stretch_of(path, args.from_, args.until, criteria_toml) for path in paths]
    judgements = [judge(path, criteria_toml, stretch=part) for path, part in zip(paths, stretches, strict=True)]
    _print(judgements, args)
    for judgement in judgements:
        if nothing := nothing_read(judgement):
            print(f"livemon report: {judgement.path}: {nothing}", file=sys.stderr)
    met = failures(conditions, chain.from_iterable(j.findings for j in judgements))
    if met:
        named = ", ".join(f"{f.id} {f.kind} ({f.severity})" for f in met[:5])
        print(f"livemon report: --fail-on is met by {len(met)}: {named}", file=sys.stderr)
    return EXIT_FAIL_ON if met else EXIT_OK


def _print(judgements: Sequence[Judgement], args: argparse.Namespace) -> None:
    clock: ClockName = args.clock
    if args.json:
        print(json.dumps(reports_json(judgements, clock), indent=1, allow_nan=False))
    elif args.html is not None:
        _write_html(judgements, clock, args.html)
    elif args.markdown:
        sys.stdout.write(render_markdown(_blocks(judgements, clock)))
    else:
        sys.stdout.write(_as_text(_blocks(judgements, clock)))


def _as_text(blocks: Blocks) -> str:
    return render_text(blocks, width=terminal_width(), is_coloured=is_coloured())


def terminal_width() -> int:
    """Columns to write: those of the terminal (or ``COLUMNS``), at most 160; 80 when piped."""
    return min(shutil.get_terminal_size((80, 24)).columns, 160)


def is_coloured() -> bool:
    """Whether colour is wanted: only on a terminal, and not with ``NO_COLOR`` or a dumb one."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _blocks(judgements: Sequence[Judgement], clock: ClockName) -> list[Block]:
    blocks: list[Block] = list(sessions_overview(judgements)) if len(judgements) > 1 else []
    for judgement in judgements:
        blocks += report_blocks(judgement, clock)
    return blocks


def _write_html(judgements: Sequence[Judgement], clock: ClockName, path: str) -> None:
    from livemon.export.html import figures, render_html

    sections: list[Blocks] = [sessions_overview(judgements)] if len(judgements) > 1 else []
    sections += [report_blocks(j, clock, figures=list(figures(j, _plots(j)))) for j in judgements]
    title = "livemon report" if len(judgements) > 1 else f"livemon report: {Path(judgements[0].path).name}"
    write_text(path, render_html(title, sections))
    print(f"livemon report: wrote {path}", file=sys.stderr)


def _plots(judgement: Judgement) -> Plots:
    """The series of the drawings: a second pass over the session, with the judgement's own criteria."""
    from livemon.judge import classed_samples, stretch_told
    from livemon.session.reader import SessionReader

    builder = PlotBuilder(judgement.start_ns or 0, judgement.end_ns or 0, judgement.facts.topology)
    reader = SessionReader(judgement.path)
    try:
        builder.add(classed_samples(reader, load_criteria(judgement.criteria_toml), stretch_told(judgement)))
    finally:
        reader.close()
    return builder.plots()


def _sweep(paths: Sequence[str], criteria_toml: str | None, args: argparse.Namespace) -> int:
    """Judge one session with each value of a key."""
    from livemon.judge import judge
    from livemon.model.criteria_toml import override, write
    from livemon.session.reader import SessionReader

    if len(paths) != 1:
        raise UsageError(f"--sweep takes one session, not {len(paths)}")
    if args.html is not None or args.markdown:
        raise UsageError("--sweep prints text or --json")
    if args.from_ is not None or args.until is not None:
        raise UsageError("--sweep is of a whole session: no --from and --until")
    key, values = parse_sweep(args.sweep)
    if criteria_toml is None:
        reader = SessionReader(paths[0])
        criteria_toml = reader.facts.criteria_toml
        reader.close()
    base = load_criteria(criteria_toml)
    texts = [write(override(base, key, value)) for value in values]
    results = []
    for value, text in zip(values, texts, strict=True):
        print(f"livemon report: {key} = {value}", file=sys.stderr)
        results.append((value, judge(paths[0], text)))
    if args.json:
        print(json.dumps(sweep_json(key, results, args.clock), indent=1, allow_nan=False))
    else:
        sys.stdout.write(_as_text(sweep_blocks(key, results)))
    met = any(failures(parse_fail_on(args.fail_on), judgement.findings) for _, judgement in results)
    return EXIT_FAIL_ON if met else EXIT_OK
