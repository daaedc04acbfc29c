"""Errors that a person reads: what happened, what livemon did, what they can do."""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAIL_ON = 1
EXIT_USAGE = 2
EXIT_TARGET = 3
EXIT_INTERRUPTED = 130


class LivemonError(Exception):
    """A failure with a message for the person; never shown as a traceback.

    Args:
        message: What happened and what livemon did about it.
        hint: What they can do; printed on the same line.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}; {self.hint}" if self.hint else message


class UsageError(LivemonError):
    """The user's mistake: a bad option, a missing file, a bad config (exit 2)."""


class TargetError(LivemonError):
    """The target vanished or could not be observed (exit 3)."""

    exit_code = EXIT_TARGET


class SessionError(LivemonError):
    """A recording that can't be opened, written or understood (exit 2)."""
