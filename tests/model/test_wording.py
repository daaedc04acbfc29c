"""Numbers and names in sentences."""

import pytest

from livemon.model.wording import one_line, rounded


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.581, "0.581"),
        (19.72, "19.7"),
        (999.4, "999"),
        (999.6, "1000"),
        (14_012.3, "14012"),
        (-2e6, "-2000000"),
    ],
)
def test_numbers_have_no_exponent(value: float, shown: str) -> None:
    assert rounded(value) == shown


def test_text_stays_on_its_line_and_commands_no_terminal() -> None:
    assert one_line("plain ünï 日本") == "plain ünï 日本"
    assert one_line("a\x1b[31m\nb\u202e\udcff\t") == "a\\x1b[31m\\nb\\u202e\\udcff\\t"
