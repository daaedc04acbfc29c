"""Values as people read them in a sentence: numbers without exponents, text that a terminal can take in one line."""

from __future__ import annotations


def rounded(value: float) -> str:
    """Three significant digits, never an exponent: 0.58, 19.7, 150, 8011.

    >>> rounded(8011.2)
    '8011'
    """
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def one_line(text: str) -> str:
    r"""Control characters, line breaks and bytes that are no text as escapes: names and paths may hold any of them.

    >>> one_line("a\x1b[2J\n")
    'a\\x1b[2J\\n'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
