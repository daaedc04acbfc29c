"""``livemon parse``: what livemon reads in a log, as JSON lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from livemon.model.errors import EXIT_OK, UsageError
from livemon.parse.jsontext import json_lines
from livemon.parse.options import add_parse_arguments, options_from
from livemon.parse.stream import TimingStream

CHUNK_BYTES = 1 << 18


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``parse``."""
    add_parse_arguments(parser)
    parser.add_argument("--explain", action="store_true", help="line by line: which rule read it, or why none did")
    parser.add_argument("--list-formats", action="store_true", help="print the formats livemon knows")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE|-", help="the log; '-' reads standard input")


def run(args: argparse.Namespace) -> int:
    """Read the log and print what it says."""
    options = options_from(args)
    stream = TimingStream(options)
    sys.stdout.flush()
    write = sys.stdout.buffer.write
    with opened(args.file) as file:
        for chunk in chunks(file):
            write(json_lines(stream.feed_columns(chunk)))
        write(json_lines([*stream.finish()]))
    sys.stdout.buffer.flush()
    print(json.dumps(stream.stats.as_json()), file=sys.stderr)
    return EXIT_OK


def opened(name: str) -> IO[bytes]:
    """The log, open for reading bytes.

    Raises:
        UsageError: missing, a directory, not readable.
    """
    if name == "-":
        return sys.stdin.buffer
    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a directory", "name a log file")
        return path.open("rb", buffering=0)
    except OSError as error:
        raise UsageError(f"can't read {name}: {error.strerror}") from None


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file in pieces."""
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
