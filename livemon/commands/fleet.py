"""``livemon fleet``: rank hosts from a Prometheus server."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys

from livemon.commands.report import is_coloured, terminal_width
from livemon.export.fleet import PrometheusApi, fleet_blocks, fleet_json, rank_hosts
from livemon.export.text import render_text
from livemon.model.errors import EXIT_OK, UsageError
from livemon.screen_options import number_between

HEADER_VARIABLE = "LIVEMON_PROMETHEUS_HEADER"
"""Environment variable with a request header, such as ``Authorization: Bearer …``."""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fleet``."""
    parser.add_argument("--prometheus-url", required=True, metavar="URL", help="such as http://prometheus.lan:9090")
    parser.add_argument("--json", action="store_true", help="JSON on stdout (schema 1)")
    parser.add_argument("--top", type=int, default=30, metavar="N", help="hosts to list (default 30)")
    parser.add_argument("--window", default="15m", metavar="TIME", help="how far to look back (default 15m)")
    parser.add_argument("--label", default="instance", metavar="NAME", help="label that names hosts (default instance)")
    parser.add_argument(
        "--timeout", type=_timeout, default=10.0, metavar="S", help="seconds a query may take (default 10)"
    )


def _timeout(text: str) -> float:
    return number_between(text, 0.1, 3600, "seconds")


def run(args: argparse.Namespace) -> int:
    """Ask the server and print the ranking."""
    if not re.fullmatch(r"(\d+(ms|[smhdwy]))+", args.window):
        raise UsageError(f"--window {args.window}: not a length of time", "such as 15m or 1h30m")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", args.label):
        raise UsageError(f"--label {args.label}: not a label's name", "such as instance")
    if args.top < 1:
        raise UsageError("--top must be more than 0")
    header = os.environ.get(HEADER_VARIABLE, "")
    name, colon, value = header.partition(":")
    if header and (not colon or not name.strip() or "\n" in header or "\r" in header):
        raise UsageError(f"{HEADER_VARIABLE} must be 'NAME: VALUE'")
    headers = ((name.strip(), value.strip()),) if header else ()
    api = PrometheusApi(args.prometheus_url, headers=headers, timeout_s=args.timeout)
    rows = rank_hosts(api, label=args.label, window=args.window)
    if args.json:
        print(json.dumps(fleet_json(rows), indent=1, allow_nan=False))
    else:
        blocks = fleet_blocks(rows, args.window, args.top)
        sys.stdout.write(render_text(blocks, width=terminal_width(), is_coloured=is_coloured()))
    return EXIT_OK
