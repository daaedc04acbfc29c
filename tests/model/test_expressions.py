"""Regular expressions that a person gave."""

import pytest

from livemon.model.errors import UsageError
from livemon.model.expressions import bytes_expression, expression


@pytest.mark.parametrize("text", ["(", "a{99999999999}", "(" * 5_000 + ")" * 5_000, "(?P<1>x)"])
def test_what_is_no_expression_is_the_users_mistake(text: str) -> None:
    with pytest.raises(UsageError, match=r"--name .* is no valid expression"):
        expression(text, "--name")
    with pytest.raises(UsageError, match=r"--name .* is no valid expression"):
        bytes_expression(text, "--name")


def test_bytes_of_the_command_line_that_are_no_text_stand_for_themselves() -> None:
    pattern = bytes_expression("caf\udce9|ö", "--mark-pattern")
    assert pattern.search(b"a caf\xe9 here")
    assert pattern.search("hören".encode())
