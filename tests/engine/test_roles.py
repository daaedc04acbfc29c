"""Roles of stage names."""

import pytest

from livemon.engine.classes import label_of, position_key
from livemon.engine.roles import RoleTable, role_of
from livemon.model.criteria import Classes, Criteria, Roles
from livemon.model.samples import TimingRecord


@pytest.mark.parametrize(
    ("stage", "role"),
    [
        ("runner_run", "device"),
        ("chip.run.runner_run.device_wall", "device"),
        ("forward_ms", "device"),
        ("evalTime", "device"),
        ("validate", "finalize"),
        ("chip.run.validate", "finalize"),
        ("detokenize_us", "finalize"),
        ("d2h_copy", "finalize"),
        ("gpu_queue_wait", "wait"),
        ("queue_time", "wait"),
        ("total", "total"),
        ("chip.run", "total"),
        ("TotalTime", "total"),
        ("cpu", "cpu"),
        ("sync_aicpu", "device"),
        ("prepare_ctx", "host"),
        ("validation_time", "host"),
        ("ein neuer Name", "host"),
        ("", "host"),
        ("...", "host"),
    ],
)
def test_a_name_has_the_role_that_engineers_give_it(stage: str, role: str) -> None:
    assert role_of(stage, Criteria()) == role


def test_the_criteria_win_over_the_lexicon() -> None:
    criteria = Criteria(roles=Roles(host=("validate",), finalize=("prepare_ctx",), device=("Odd Name",)))
    assert role_of("validate", criteria) == "host"
    assert role_of("prepare_ctx", criteria) == "finalize"
    assert role_of("odd_name", criteria) == "device"
    assert role_of("runner_run", criteria) == "device"
    table = RoleTable(criteria.roles)
    assert table.is_given("validate")
    assert not table.is_given("runner_run")


def record(label: str | None = None, **fields: str) -> TimingRecord:
    return TimingRecord(0, 0, "line", "t", None, label, (("a", 1.0),), tuple(fields.items()))


def test_key_fields_beat_the_label_and_missing_ones_are_left_out() -> None:
    criteria = Criteria(classes=Classes(keys=("kernel", "hid")))
    assert label_of(record("x", kernel="k", hid="h"), criteria) == "k/h"
    assert label_of(record("x", hid="h"), criteria) == "h"
    assert label_of(record("x"), criteria) == "x"
    assert label_of(record(None, other="1"), criteria) is None
    assert label_of(record("x", hid="h"), Criteria()) == "x"


def test_a_position_in_a_cycle_is_index_modulo_period() -> None:
    assert position_key(47, 3) == "2/3"
