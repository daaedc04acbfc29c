"""Criteria: what is written reads back, what is wrong says where."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tomllib

import pytest

from livemon.model.criteria import Criteria, criteria_sha256, load_criteria
from livemon.model.criteria_toml import override, write
from livemon.model.errors import UsageError

CONTRACT = """
[roles]
device = ["runner_run"]
finalize = ["validate"]
host = ["prepare", "features"]
cpu = ["cpu"]
[classes]
keys = ["kernel", "hid"]
[classes.cycle]
period = 3
[finalize]
budget_ms = 5.0
device_ratio = 1.5
"""


def test_the_keys_that_scripts_set() -> None:
    criteria = load_criteria(CONTRACT)
    assert criteria.roles.host == ("prepare", "features")
    assert criteria.roles.cpu == ("cpu",)
    assert criteria.classes.keys == ("kernel", "hid")
    assert criteria.classes.cycle.period == 3
    assert (criteria.finalize.budget_ms, criteria.finalize.device_ratio) == (5.0, 1.5)
    assert criteria.host_slow == Criteria().host_slow


def test_false_switches_off_and_leaving_out_keeps_the_default() -> None:
    criteria = load_criteria("[finalize]\nbudget_ms = false\ndevice_ratio = false\n[classes.cycle]\nperiod = false\n")
    assert criteria.finalize.budget_ms is None
    assert criteria.finalize.device_ratio is None
    assert criteria.classes.cycle.period is False
    assert load_criteria("").classes.cycle.period is None
    assert load_criteria("") == Criteria()


def test_an_order_of_tables_or_dotted_keys_changes_nothing() -> None:
    assert load_criteria("finalize.budget_ms = 7\n").finalize.budget_ms == 7.0
    assert load_criteria("[classes]\ncycle = { period = 4 }\n").classes.cycle.period == 4


def test_what_is_written_reads_back_and_has_every_key_with_a_meaning_and_a_unit() -> None:
    text = write()
    assert load_criteria(text) == Criteria()
    changed = load_criteria(CONTRACT)
    assert load_criteria(write(changed)) == changed

    def keys(value: object, path: str) -> list[tuple[str, str]]:
        out = []
        for field in dataclasses.fields(value):  # type: ignore[arg-type]
            item = getattr(value, field.name)
            if dataclasses.is_dataclass(item):
                out += keys(item, f"{path}.{field.name}" if path else field.name)
            else:
                out.append((path, field.name))
        return out

    sections = re.split(r"^\[([\w.]+)\].*$", text, flags=re.MULTILINE)[1:]
    bodies = dict(zip(sections[::2], sections[1::2], strict=True))
    for section, name in keys(Criteria(), ""):
        line = next(line for line in bodies[section].splitlines() if re.match(rf"(# )?{name} =", line))
        assert re.search(r"# .{8,}", line.split("=", 1)[1]), line
        unit = {"per_s": "[units/s]", "_ms": "[ms]", "_s": "[s]", "_ratio": "[ratio]"}.get(
            next(iter(re.findall(r"per_s$|_(?:ms|s|ratio)$", name)), "")
        )
        assert unit is None or unit in line


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[roles]\n\nhost = 3\n", 3, "list of strings"),
        ("[finalize]\nbudget_ms = -1\n", 2, "at least 0"),
        ("[finalize]\nbudget_ms = true\n", 2, "a number (ms), or false, not true"),
        ("[finalize]\nbudgetms = 1\n", 2, "did you mean budget_ms"),
        ("# a comment\n[finalise]\nbudget_ms = 1\n", 2, "did you mean finalize"),
        ("[host_slow]\nthreshold = nan\n", 2, "must be a number"),
        ("[host_slow]\nthreshold = inf\n", 2, "must be a number"),
        ("[host_slow]\nmin_units = 2.5\n", 2, "whole number"),
        ("[classes.cycle]\nperiod = 0\n", 2, "at least 1"),
        ("[classes.cycle]\nperiod = true\n", 2, "whole number"),
        ("[classes]\ncycle = 3\n", 2, "write [classes.cycle]"),
        ("[finalize]\nopen_of = [5, 4]\n", 2, "can't be"),
        ("[finalize]\nopen_of = [1]\n", 2, "2 whole numbers"),
        ("[roles]\nhost = ['a']\ncpu = ['a']\n", 3, "both host and cpu"),
        ("[finalize]\nbudget_ms = \n", 2, "not TOML"),
        ("[finalize\n", 1, "not TOML"),
        ("[finalize]\na = 1\na = 2\n", 3, "not TOML"),
    ],
)
def test_a_mistake_says_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as caught:
        load_criteria(text, name="my.toml")
    assert str(caught.value).startswith(f"my.toml:{line}: ")
    assert "\n" not in str(caught.value)


def test_the_sha256_is_that_of_the_file() -> None:
    assert criteria_sha256(CONTRACT) == hashlib.sha256(CONTRACT.encode()).hexdigest()
    assert criteria_sha256("") == hashlib.sha256(write().encode()).hexdigest()


def test_one_key_can_be_set_for_a_sweep() -> None:
    base = load_criteria(CONTRACT)
    assert override(base, "finalize.budget_ms", "3").finalize.budget_ms == 3.0
    assert override(base, "finalize.budget_ms", "3").roles == base.roles
    assert override(base, "finalize.budget_ms", "false").finalize.budget_ms is None
    assert override(base, "classes.cycle.period", "5").classes.cycle.period == 5
    assert override(base, "transitions.slow_stage", "features").transitions.slow_stage == "features"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nothing", "1"),
        ("finalize.nothing", "1"),
        ("finalize.budget_ms", "fast"),
        ("a b", "1"),
        ("finalize", "1"),
        ("", "1"),
    ],
)
def test_a_wrong_override_is_the_users_mistake(key: str, value: str) -> None:
    with pytest.raises(UsageError):
        override(Criteria(), key, value)


def test_the_defaults_are_toml_that_any_reader_takes() -> None:
    assert tomllib.loads(write())["finalize"]["budget_ms"] == 5.0


def test_no_text_and_a_text_that_says_nothing_are_the_defaults() -> None:
    assert load_criteria("") == load_criteria("# nothing\n") == Criteria()
