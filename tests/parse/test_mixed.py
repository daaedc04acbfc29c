"""Lines that mix forms: every clear stage is read, and nothing else."""

import pytest

from tests.parse.mixed_lines import MIXED
from tests.parse.reading_lines import stages


@pytest.mark.parametrize(("line", "expected"), MIXED)
def test_all_that_is_clear_is_read_and_nothing_else(line: str, expected: dict[str, float]) -> None:
    assert stages(line) == expected
    assert list(stages(line)) == list(expected), "in the order of the line"
