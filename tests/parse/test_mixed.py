"""Lines that mix forms: every clear stage is read, and nothing else."""

import time

import pytest

from tests.parse.mixed_lines import MIXED
from tests.parse.reading_lines import LABELS, stages


@pytest.mark.parametrize(("line", "expected"), MIXED)
def test_all_that_is_clear_is_read_and_nothing_else(line: str, expected: dict[str, float]) -> None:
    assert stages(line) == expected
    assert list(stages(line)) == list(expected), "in the order of the line"


def test_prose_is_read_beside_pairs_where_asked_for() -> None:
    line = "decode=45ms request finished in 60 ms"
    assert stages(line) == {"decode": 45.0}
    assert stages(line, LABELS) == {"decode": 45.0, "request": 60.0}


@pytest.mark.parametrize("part", ["1 ms pre ", "pre 1 ms ", "pre: 1 ms ", "word "])
def test_the_cost_of_a_line_grows_with_its_length_only(part: str) -> None:
    """CPU time of a line four times as long, as a ratio: 4 is linear, 16 is quadratic."""

    def cost(times: int) -> float:
        line = "a=5ms " + part * times + "x 3 ms"
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            stages(line)
            best = min(best, time.process_time() - start)
        return best

    assert cost(1600) / cost(400) < 10
