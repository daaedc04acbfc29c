"""Tagged lines: what the tag means, and what is torn."""

import pytest

from livemon.parse.options import ParseOptions
from tests.parse.reading_lines import one, read, stages

ROW = "[c_api_timing] run= 7  prepare_ctx=0.55  runner_run=21.40   validate=18.05  total=47.31"
READ = {"prepare_ctx": 0.55, "runner_run": 21.4, "validate": 18.05, "total": 47.31}


def test_under_a_tag_bare_numbers_are_ms_and_the_run_is_the_unit() -> None:
    record = one(ROW)
    assert (record.source, record.unit, dict(record.stages)) == ("c_api_timing", "7", READ)
    assert (record.t_ns, record.clock, record.pid, record.label) == (None, None, None, None)


def test_any_timing_tag_with_fields_inside_and_a_monotonic_prefix() -> None:
    record = one(
        "[mono_ns=1016280542266041][T0x7f21][TIMING] serve: [decode_timing dev=2] step=9 kernel=lm_head hid=b52e "
        "batch=16 embed=1.25ms  attn=3.5ms  cpu=0.75ms"
    )
    assert dict(record.stages) == {"embed": 1.25, "attn": 3.5, "cpu": 0.75}
    assert (record.t_ns, record.clock) == (1016280542266041, "monotonic")
    assert (record.source, record.unit, record.label) == ("decode_timing", "9", "lm_head")
    assert record.fields == (("dev", "2"), ("kernel", "lm_head"), ("hid", "b52e"), ("batch", "16"))


def test_the_hash_is_the_label_when_nothing_names_the_kernel() -> None:
    assert one("[c_api_timing] run=1 validate=3.5 hid=12e5").label == "12e5"


def test_beside_values_with_units_a_bare_integer_is_a_count() -> None:
    record = one("[req_timing] id=4 stream=short len=128 width=7 prepare=0.25ms total=9.5ms")
    assert dict(record.stages) == {"prepare": 0.25, "total": 9.5}
    assert ("width", "7") in record.fields


def test_units_override_the_tags_default() -> None:
    assert stages("[c_api_timing] run=3 a=250us b=1.5s c=2000ns d=4.5") == {
        "a": 0.25,
        "b": 1500.0,
        "c": 0.002,
        "d": 4.5,
    }


@pytest.mark.parametrize(
    "bad", ["nan", "-inf", "1e309", "18.0.5", "0x12", "18.05parsec", "1_8.05", "18,05", "-18.05", "99999999"]
)
def test_of_a_damaged_value_nothing_is_read_and_the_rest_stays(bad: str) -> None:
    records, stats = read(ROW.replace("18.05", bad) + "\n")
    assert dict(records[0].stages) == {k: v for k, v in READ.items() if k != "validate"}
    assert stats.malformed == 1


@pytest.mark.parametrize("absent", ["-", "-1", "null", "N/A", ""])
def test_absent_is_neither_zero_nor_malformed(absent: str) -> None:
    records, stats = read(ROW.replace("18.05", absent) + "\n")
    assert dict(records[0].stages) == {k: v for k, v in READ.items() if k != "validate"}
    assert stats.malformed == 0


def test_an_empty_value_does_not_take_the_next_key() -> None:
    assert stages("[c_api_timing] run=1  validate=  total=12.5") == {"total": 12.5}


def test_zero_is_a_value() -> None:
    assert stages("[c_api_timing] run=0 bind=0.00 total=1.5") == {"bind": 0.0, "total": 1.5}


def test_records_merged_on_one_line_are_cut_at_the_tag() -> None:
    records, stats = read(ROW + ROW.replace("run= 7", "run= 8") + "\n")
    assert [(r.unit, dict(r.stages), r.line) for r in records] == [("7", READ, 1), ("8", READ, 1)]
    assert (stats.lines, stats.malformed) == (1, 0)


def test_a_lost_newline_and_tag_is_cut_at_the_counter() -> None:
    records, stats = read(ROW + "run= 8  prepare_ctx=0.50  total=40.00\n")
    assert [(r.unit, dict(r.stages)) for r in records] == [
        ("7", {k: v for k, v in READ.items() if k != "total"}),
        ("8", {"prepare_ctx": 0.5, "total": 40.0}),
    ]
    assert stats.malformed >= 1


def test_a_record_inside_anothers_gap_is_read_and_the_torn_one_counted() -> None:
    head, tail = ROW.split("ner_run")
    records, stats = read(f"{head}{ROW.replace('run= 7', 'run= 8')}\nner_run{tail}\n")
    assert ("8", READ) in [(r.unit, dict(r.stages)) for r in records]
    assert all(set(r.stages) <= set(READ.items()) for r in records)
    assert stats.malformed >= 1


@pytest.mark.parametrize(
    ("line", "malformed"),
    [
        ("[c_api_timing]", 1),
        ("[c_api_timing] run= 3", 1),
        ('grep "\\[c_api_timing\\] run=" timing.log', 0),
        ("the tag is [c_api_timing] here", 0),
        ("alidate=51.88  total=117.21", 0),
    ],
)
def test_a_tag_without_durations(line: str, malformed: int) -> None:
    records, stats = read(line + "\n")
    assert (records, stats.malformed) == ([], malformed)


def test_events_name_the_stage_and_use_the_key_as_the_unit() -> None:
    record = one("[V4] f: [CHIP_TIMING] run=3 clk=host name=host_wall ev=WALL us=1250.500")
    assert (dict(record.stages), record.unit) == ({"host_wall": 1.2505}, "3")
    for line in (
        'x "[CHIP_TIMING] clk=dev name=wall ev=B tid=311 t=500000000"',
        "[CHIP_TIMING] run=0 name=v ev=E t=1121",
    ):
        assert stages(line) == {}


def test_a_counter_that_starts_again_is_a_new_unit() -> None:
    records, _ = read("".join(f"[c_api_timing] run={n} total=1.5\n" for n in (0, 1, 0, 1)))
    assert [r.unit for r in records] == ["0", "1", "0", "1"]


def test_declared_units_for_rows_without_a_tag() -> None:
    row = ROW.removeprefix("[c_api_timing] ")
    assert stages(row) == {}
    record = one(row, ParseOptions(units=(("*", "us"),)))
    assert (record.unit, dict(record.stages)["total"]) == ("7", 0.04731)
    assert stages(row + " pid=44 status=200 tokens=1024", ParseOptions(units=(("*", "ms"),))) == READ


@pytest.mark.parametrize("value", ["4 8.25", "48.25 parsec", "1 2"])
def test_a_number_in_two_pieces_or_of_an_unknown_unit_is_not_read(value: str) -> None:
    records, stats = read(f"[c_api_timing] run=5 a=1.5 validate={value}  total=9.5\n")
    assert dict(records[0].stages) == {"a": 1.5, "total": 9.5}
    assert stats.malformed == 1


def test_a_word_behind_the_last_value_is_a_remark() -> None:
    records, _ = read("[c_api_timing] run=5 a=1.5 total=9.5 warm\n")
    assert dict(records[0].stages) == {"a": 1.5, "total": 9.5}
