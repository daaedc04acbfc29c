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


def run_words(class_key: str | None) -> str:
    """A position in a cycle as a run of it, counted from 1; nothing for a label, none, or a cycle of one.

    >>> run_words("2/3"), run_words("decode"), run_words("0/1")
    ('run 3 of 3', '', '')
    """
    position, slash, period = (class_key or "").partition("/")
    if not (slash and position.isdecimal() and period.isdecimal()) or period == "1":
        return ""
    return f"run {int(position) + 1} of {int(period)}"
