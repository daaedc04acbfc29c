"""The command line: a table of subcommands, imported only when they are asked for."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from livemon import __version__
from livemon.model.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, LivemonError
from livemon.model.wording import one_line

COMMANDS: dict[str, str] = {
    "demo": "start the bundled serving process and watch it: no set-up",
    "run": "start a command, read its output, watch its process tree",
    "watch": "attach to running processes and follow logs",
    "attach": "a second viewer on a running recorder",
    "replay": "the same screens over a recording, with time travel",
    "report": "the triage report of one or more sessions",
    "compare": "what changed between two sessions",
    "sessions": "list, prune, remove recordings",
    "mark": "put a named moment into a session",
    "import": "build a session from files made elsewhere",
    "export": "hand a session's data to other tools",
    "parse": "show what livemon reads in a log",
    "doctor": "what can be observed here, what can't, why, and the remedy",
    "criteria": "print, write or check the criteria file",
    "fleet": "rank hosts from a Prometheus server",
}
"""Subcommand -> its line of help; the module is ``livemon.commands.<name>`` (``import_`` for ``import``)."""

STARTING_GC = (50_000, 20, 50)
"""What is imported at the start stays: a collector that comes after each 700 objects finds nothing of it to free (1 %
of the instructions up to the first paint)."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one clear line on stderr, exit 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Print the mistake and leave."""
        self.exit(EXIT_USAGE, f"{self.prog}: {one_line(message)} (see '{self.prog} --help')\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print; argparse would say nothing of a text for stdout that could not be written."""
        if file is not None and file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


def command_module(name: str) -> str:
    """The module that implements a subcommand."""
    return "livemon.commands." + (f"{name}_" if name == "import" else name)


def build_parser(command: str | None, *, is_alone: bool = False) -> Parser:
    """The parser; only ``command``'s module is imported, the others are a line of help each.

    Args:
        command: The subcommand, if it is known.
        is_alone: Leave the others out: nothing will ask for them.
    """
    parser = Parser(prog="livemon", description="A live monitor that runs beside a serving process.")
    parser.add_argument("--version", action="version", version=f"livemon {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, summary in COMMANDS.items():
        if is_alone and name != command:
            continue
        sub = subparsers.add_parser(name, help=summary, description=summary)
        if name == command:
            importlib.import_module(command_module(name)).prepare_parser(sub)
    return parser


def _replace_closed_streams() -> None:
    """A standard stream that was closed leads nowhere; else the next file that is opened would take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            taken = os.open(os.devnull, os.O_RDWR)
            if taken != number:
                os.dup2(taken, number)
                os.close(taken)
            setattr(sys, name, os.fdopen(number, mode))


def _drop_output() -> None:
    """What is still held back for stdout goes nowhere, so that leaving does not fail on it once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options; ``--help`` and ``--version`` leave only after their text was really written."""
    try:
        return parser.parse_args(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (see the contract: 0, 1, 2, 3, 130)."""
    gc.set_threshold(*STARTING_GC)
    _replace_closed_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = next((a for a in arguments if not a.startswith("-")), None)
    known = command if command in COMMANDS else None
    # Fourteen more parsers would delay the first paint by several milliseconds.
    parser = build_parser(known, is_alone=known is not None and arguments[0] == known)
    who = "livemon" if known is None else f"livemon {known}"
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal or pipe that can't take a sign (LANG=C, names that are no UTF-8) gets "?" for it, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    try:
        options = _parse(parser, arguments)
        if options.command is None:
            parser.print_help(sys.stderr)
            return EXIT_USAGE
        who = f"livemon {options.command}"
        code: int = importlib.import_module(command_module(options.command)).run(options)
        sys.stdout.flush()
    except LivemonError as error:
        print(f"{who}: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (``| head``): not an error, and nothing may be flushed to it at exit.
        _drop_output()
        return EXIT_OK if not hasattr(signal, "SIGPIPE") else 128 + signal.SIGPIPE
    except OSError as error:
        # Files that are named are dealt with where they are opened; what is left is the output, or the machine.
        _drop_output()
        what = error.strerror or str(error)
        name = f"{error.filename}: " if error.filename else "can't go on or write the output: "
        print(f"{who}: {one_line(name + what)}", file=sys.stderr)
        return EXIT_USAGE
    return code
