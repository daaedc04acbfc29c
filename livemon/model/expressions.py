"""Regular expressions that a person gave: compiled, or refused in one line that names the option."""

from __future__ import annotations

import os
import re

from livemon.model.errors import UsageError


def expression(text: str, option: str) -> re.Pattern[str]:
    """The expression, for text.

    Raises:
        UsageError: it is none, or is too much for the engine; names ``option``.
    """
    try:
        return re.compile(text)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise _refused(text, option, error) from None


def bytes_expression(text: str, option: str) -> re.Pattern[bytes]:
    """The same for bytes; bytes of the command line that are no UTF-8 stand for themselves.

    Raises:
        UsageError: it is none, or is too much for the engine; names ``option``.
    """
    try:
        return re.compile(os.fsencode(text))
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise _refused(text, option, error) from None


def _refused(text: str, option: str, error: Exception) -> UsageError:
    return UsageError(f"{option} {text!r} is no valid expression: {error}")
