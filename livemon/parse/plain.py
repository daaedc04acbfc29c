"""Whether a file is a log at all: by the bytes it begins with."""

from __future__ import annotations

from typing import Final

from livemon.model.errors import UsageError

HEAD_BYTES: Final = 8192
"""So much of the beginning is looked at."""
_MAGIC: Final = (
    (b"\x1f\x8b", "gzip-compressed", "zcat"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "zstdcat"),
    (b"\xfd7zXZ", "xz-compressed", "xzcat"),
    (b"BZh", "bzip2-compressed", "bzcat"),
)
_CONTROL: Final = bytes([*range(1, 8), 11, *range(14, 27), *range(28, 32), 127])


def check_text(head: bytes, name: str) -> None:
    """Refuse what is no log.

    Raises:
        UsageError: says what it is instead, and how to read it.
    """
    for magic, what, tool in _MAGIC:
        if head.startswith(magic):
            raise UsageError(f"{name} is {what}", f"'{tool} {name} | livemon parse -' reads it")
    if head.startswith(b"SQLite format 3\0"):
        raise UsageError(f"{name} is an SQLite file, maybe a session", "'livemon report' reads sessions")
    text = head.replace(b"\0", b"")
    if text.startswith(b"\x7fELF") or len(text) - len(text.translate(None, _CONTROL)) > len(text) // 20 + 4:
        raise UsageError(f"{name} is a binary file, not a log", "livemon reads text")
