"""``livemon criteria``: print, write or check the criteria file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from livemon.model.criteria_toml import read, sha256, write
from livemon.model.errors import EXIT_OK, UsageError


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = "Print the criteria (every threshold with unit and default), write them, or check a file."
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--init", metavar="PATH", type=Path, help="write the defaults to PATH (never over a file)")
    group.add_argument("--check", metavar="PATH", type=Path, help="validate PATH; prints its sha256")


def read_text(path: Path) -> str:
    """A criteria file's text.

    Raises:
        UsageError: it can't be read or is not UTF-8.
    """
    try:
        return path.read_bytes().decode()  # no newline translation: the sha256 is that of the bytes
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text", "criteria are TOML") from None
    except OSError as error:
        hint = "'livemon criteria --init PATH' writes one" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"can't read {path}: {error.strerror}", hint) from None


def run(options: argparse.Namespace) -> int:
    """Print, write or check; returns the exit code."""
    if options.check is not None:
        text = read_text(options.check)
        read(text, name=str(options.check))
        print(f"{options.check}: ok, sha256 {sha256(text)}")
    elif options.init is not None:
        try:
            with options.init.open("x", encoding="utf-8") as file:
                file.write(write())
        except FileExistsError:
            raise UsageError(f"{options.init} exists", "choose another path or remove it") from None
        except OSError as error:
            raise UsageError(f"can't write {options.init}: {error.strerror}") from None
        print(f"wrote {options.init}", file=sys.stderr)
    else:
        sys.stdout.write(write())
    return EXIT_OK
