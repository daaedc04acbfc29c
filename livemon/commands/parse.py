"""``livemon parse``: what livemon reads in a log, as JSON lines."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from livemon.model.clock import SystemClock
from livemon.model.errors import EXIT_OK, UsageError
from livemon.parse.options import ParseOptions, add_parse_arguments, options_from
from livemon.parse.plain import HEAD_BYTES, check_text

CHUNK_BYTES = 1 << 18


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``parse``."""
    add_parse_arguments(parser)
    parser.add_argument("--explain", action="store_true", help="line by line: which rule read it, or why none did")
    parser.add_argument("--list-formats", action="store_true", help="print the formats livemon knows")
    parser.add_argument("file", nargs="?", metavar="FILE|-", help="the log; '-' reads standard input")


def run(args: argparse.Namespace) -> int:
    """Read the log and print what it says.

    Raises:
        UsageError: no file, a file that can't be read or is no text, an option that can't work.
    """
    if args.list_formats:
        list_formats()
        return EXIT_OK
    options = options_from(args)
    if args.file is None:
        if sys.stdin.isatty():
            raise UsageError("no log named", "give a FILE, or '-' for standard input")
        args.file = "-"
    # Reading makes no reference cycles; without the collector's passes it is a fifth faster.
    gc.disable()
    if args.explain:
        explain(args.file, options)
    else:
        convert(args.file, options)
    return EXIT_OK


def convert(name: str, options: ParseOptions) -> None:
    """Records to stdout, the summary to stderr."""
    from livemon.parse.jsontext import json_lines
    from livemon.parse.stream import TimingStream

    stream = TimingStream(options)
    sys.stdout.flush()
    write = sys.stdout.buffer.write
    with opened(name) as file:
        stream.calendar.reference_ns = reference_ns(name)
        for chunk in chunks(file, name):
            write(json_lines(stream.feed_columns(chunk)))
        write(json_lines([*stream.finish()]))
    sys.stdout.buffer.flush()
    print(json.dumps(stream.stats.as_json()), file=sys.stderr)


def explain(name: str, options: ParseOptions) -> None:
    """Every line with the rule that read it to stdout, the summary to stderr."""
    from livemon.parse.explain import Explainer
    from livemon.parse.linewise import LineReader

    explainer = Explainer(options)
    reader = LineReader(options, explainer=explainer)
    with opened(name) as file:
        reader.calendar.reference_ns = reference_ns(name)
        for chunk in chunks(file, name):
            reader.feed(chunk)
            for line in explainer.take():
                print(line)
        reader.finish()
        for line in explainer.take():
            print(line)
    if reader.stats.unterminated:
        print("the last line has no terminator and may be torn: not read (--accept-unterminated reads it)")
    sys.stdout.flush()
    print(json.dumps(reader.stats.as_json()), file=sys.stderr)


def list_formats() -> None:
    """The table of formats, one line of example each."""
    from livemon.parse.formats import BUILT_IN, FORMATS

    for name, (what, example) in BUILT_IN.items():
        print(f"{name:20} {what}\n{'':20} {example}")
    for row in FORMATS:
        how = "" if row.is_automatic else "  [only with --format]"
        if row.gives != "record":
            how = "  [known, gives no records]"
        print(f"{row.name:20} {row.what}{how}\n{'':20} {row.example}")


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
    except ValueError:
        raise UsageError(f"{name!r} is no file name") from None


def reference_ns(name: str) -> int:
    """When the log was written at the latest: what stamps without a year are dated by."""
    if name == "-":
        return SystemClock().wall_ns()
    return Path(name).stat().st_mtime_ns


def chunks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The bytes of a file in pieces.

    Raises:
        UsageError: it is no text, or reading fails.
    """
    read = getattr(file, "read1", file.read)
    try:
        chunk = read(CHUNK_BYTES)
        check_text(chunk[:HEAD_BYTES], name)
        while chunk:
            yield chunk
            chunk = read(CHUNK_BYTES)
    except OSError as error:
        raise UsageError(f"can't read {name}: {error.strerror}") from None
